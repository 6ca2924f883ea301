#include "machine/judge/method.h"

#include <string.h>

const struct method *const methods[] = {&method_blame, &method_gaussian, &method_unusual, NULL};

const struct method *method_find(const char *name)
{
	for (size_t i = 0; methods[i]; i++)
		if (strcmp(methods[i]->name, name) == 0)
			return methods[i];
	return NULL;
}

void method_spark(const struct dataset *d, const struct subject *s, size_t feature, uint32_t from, uint32_t to,
		     float spark[SPARK_POINTS])
{
	uint64_t n = (uint64_t)to - from + 1;

	for (uint64_t i = 0; i < SPARK_POINTS; i++) {
		uint32_t begin = from + (uint32_t)(i * n / SPARK_POINTS), end = from + (uint32_t)((i + 1) * n / SPARK_POINTS);

		spark[i] = (float)subject_mean(d, s, feature, begin, end > begin ? end - 1 : begin);
	}
}

double method_noticeable(const struct feature *f)
{
	bool counter = f->kind == COUNTER;

	switch (f->unit) {
	case NS:
		return counter ? 1e7 : 1e6; /* 1 % of a CPU */
	case BYTES:
		return counter ? 2e5 : 4e6;
	case COUNT:
		break;
	default:
		return 1;
	}
	if (f->resource == RESOURCE_HANDLES)
		return 10;
	if (f->resource == RESOURCE_THREADS)
		return 4;
	return counter ? 50 : 1;
}
