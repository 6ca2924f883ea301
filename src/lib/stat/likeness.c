#include "lib/stat/likeness.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void fingerprint_free(struct fingerprint *f)
{
	VEC_FREE_EACH(f->parts, free(each->key));
}

static const struct fingerprint_part *find(const struct fingerprint *f, const char *key)
{
	return VEC_FIND(x, f->parts, strcmp(x->key, key) == 0);
}

int fingerprint_add(struct fingerprint *f, const char *key, double weight)
{
	char *copy;

	if (find(f, key))
		return 0;
	copy = strdup(key);
	return VEC_PUSH_OWNER(f->parts, copy, (struct fingerprint_part){copy, weight});
}

static double square_of(const struct fingerprint *f)
{
	double sum = 0;

	for (size_t i = 0; i < f->parts.n; i++)
		sum += f->parts.v[i].weight * f->parts.v[i].weight;
	return sum;
}

double fingerprint_likeness(const struct fingerprint *a, const struct fingerprint *b)
{
	double aa = square_of(a), bb = square_of(b), ab = 0;

	for (size_t i = 0; i < a->parts.n; i++) {
		const struct fingerprint_part *other = find(b, a->parts.v[i].key);

		ab += other ? a->parts.v[i].weight * other->weight : 0;
	}
	return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

json_t *fingerprint_json(const struct fingerprint *f)
{
	json_t *object = json_object();

	for (size_t i = 0; object && i < f->parts.n; i++)
		json_object_set_new_nocheck(object, f->parts.v[i].key, json_real(f->parts.v[i].weight));
	return object;
}

int fingerprint_read(json_t *from, struct fingerprint *ret)
{
	struct fingerprint f = {};
	const char *key;
	json_t *value;

	if (!json_is_object(from))
		return -EBADMSG;
	json_object_foreach(from, key, value)
		if (fingerprint_add(&f, key, json_number_value(value)) < 0) {
			fingerprint_free(&f);
			return -ENOMEM;
		}
	*ret = f;
	return 0;
}
