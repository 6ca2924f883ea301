#include "fleet/model/counter-name.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "lib/data/cleanup.h"

#define BETWEEN "._-: /"

static bool word_is(const char *word, size_t n, const char *text)
{
	return strlen(text) == n && strncasecmp(word, text, n) == 0;
}

static bool is_statistic(const char *word, size_t n)
{
	static const char *const words[] = {"avg", "average", "mean", "median", "min", "minimum", "max", "maximum", "sum", "count", "total",
					    "std", "stddev"};
	size_t digits = 0;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (word_is(word, n, words[i]))
			return true;
	while (digits + 1 < n && isdigit((unsigned char)word[digits + 1]))
		digits++;
	return n > 1 && tolower((unsigned char)*word) == 'p' && digits == n - 1;
}

/* The next word that is not a statistic; its length, 0 at the end. */
static size_t next_word(const char **p)
{
	size_t n;

	for (;; *p += n) {
		*p += strspn(*p, BETWEEN);
		n = strcspn(*p, BETWEEN);
		if (!n || !is_statistic(*p, n))
			return n;
	}
}

bool counter_same_quantity(const char *a, const char *b)
{
	for (;;) {
		size_t n = next_word(&a), m = next_word(&b);

		if (n != m || strncasecmp(a, b, n) != 0)
			return false;
		if (!n)
			return true;
		a += n;
		b += n;
	}
}

/* "requests_per_sec", "bytes_per_second": the unit of what is counted in each second; NULL: of something else. */
static const char *unit_of_rate(const char *before, size_t length, const char *per, size_t n)
{
	static const struct {
		const char *word, *unit;
	} units[] = {{"bytes", "B/s"}, {"kb", "kB/s"}, {"mb", "MB/s"}, {"kib", "KiB/s"}, {"mib", "MiB/s"}, {"bits", "bit/s"}, {"requests", "requests/s"}, {"pages", "pages/s"}};

	if (!word_is(per, n, "s") && !word_is(per, n, "sec") && !word_is(per, n, "second"))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (before && word_is(before, length, units[i].word))
			return units[i].unit;
	return "/s";
}

const char *counter_unit_of_name(const char *name)
{
	static const struct {
		const char *word, *unit;
	} units[] = {
		{"ns", "ns"}, {"nanoseconds", "ns"}, {"us", "us"}, {"usec", "us"}, {"microseconds", "us"}, {"ms", "ms"}, {"msec", "ms"},
		{"millis", "ms"}, {"milliseconds", "ms"}, {"s", "s"}, {"sec", "s"}, {"seconds", "s"}, {"bytes", "B"}, {"kb", "kB"},
		{"kib", "KiB"}, {"mb", "MB"}, {"mib", "MiB"}, {"bits", "bit"}, {"percent", "%"}, {"pct", "%"}, {"celsius", "C"}, {"watts", "W"},
		{"volts", "V"}, {"hertz", "Hz"}, {"hz", "Hz"}, {"joules", "J"}, {"pages", "pages"}, {"requests", "requests"},
	};
	const char *last = NULL, *before = NULL;
	size_t length = 0, before_length = 0, n;

	for (const char *p = name; (n = next_word(&p)); p += n) {
		if (last && word_is(last, length, "per"))
			return unit_of_rate(before, before_length, p, n);
		before = last;
		before_length = length;
		last = p;
		length = n;
	}
	if (!last || (last == name && !last[length])) /* a name of one word is a quantity: `requests` says nothing of its unit */
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (word_is(last, length, units[i].word))
			return units[i].unit;
	return NULL;
}
