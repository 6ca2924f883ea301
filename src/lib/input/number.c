#include "lib/input/number.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/data/cleanup.h"
#include "lib/data/vec.h"

#define NUMBER_MAX 63 /* longer ones are cut before the exponent could matter: nothing writes them */

static bool means_nothing(const char *text)
{
	static const char *const words[] = {"nan", "null", "na", "n/a", "none", "nil", "-", "--", "?", "-nan"};

	return ANY_WHERE(i, ARRAY_SIZE(words), strcasecmp(text, words[i]) == 0);
}

const char *number_parse_slowly(const char *p, const char *end, double *ret)
{
	char text[NUMBER_MAX + 1], *after;
	const char *begin = p;
	size_t n;
	double value;

	while (begin < end && (*begin == ' ' || *begin == '\t'))
		begin++;
	n = (size_t)(end - begin);
	while (n && isspace((unsigned char)begin[n - 1]))
		n--;
	if (!n || n > NUMBER_MAX)
		return NULL;
	memcpy(text, begin, n);
	text[n] = 0;
	value = strtod(text, &after);
	if (*after) {
		if (!means_nothing(text))
			return NULL;
		value = NAN;
	} else if (strpbrk(text, "xXpP")) {
		return NULL;
	}
	*ret = value;
	return end;
}
