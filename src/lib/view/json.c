#include "lib/view/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/clock.h"
#include "lib/data/str.h"

json_t *json_number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

/* A value that is not UTF-8 would end all output where it stands. */
static json_t *printable(const char *value)
{
	char *copy = strdup(value);
	json_t *text;

	str_make_printable(copy);
	text = copy ? json_string(copy) : NULL;
	free(copy);
	return text;
}

json_t *json_text(const char *value)
{
	json_t *text = value ? json_string(value) : json_null();

	return text ?: printable(value);
}

json_t *json_texts(char *const *values, size_t n)
{
	return JSON_FIRST(x, values, n, json_text(*x));
}

json_t *json_moment(int64_t wall)
{
	return wall ? json_string(CLOCK_RFC3339(wall)) : json_null();
}

int json_print(json_t *root, size_t flags, FILE *out)
{
	int r;

	if (!root)
		return -ENOMEM;
	r = json_dumpf(root, out, flags);
	json_decref(root);
	fputc('\n', out);
	return r < 0 ? -EIO : 0;
}
