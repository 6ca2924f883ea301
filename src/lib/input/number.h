/* Numbers as tables of counters write them, quickly. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Slow and complete: strtod() in the C locale over a copy, and the words for "no value" (nan, null, na, n/a, none, nil,
 * -, --, ?), which give NaN. NULL unless all of [p, end) is one of these. */
const char *number_parse_slowly(const char *p, const char *end, double *ret);

/* A plain decimal number at p, rounded correctly: its end, or NULL where it takes number_parse_slowly() to say. `point` is
 * '.' or ','. A byte that is not a part of a number (a delimiter, '\n', NUL) must stand behind it. */
static inline const char *number_parse_plain(const char *p, char point, double *ret)
{
	static const double tens[] = {1e0,  1e1,  1e2,	1e3,  1e4,  1e5,  1e6,	1e7,  1e8,  1e9,  1e10, 1e11,
				      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
	const char *digits, *dot;
	bool negative = *p == '-';
	uint64_t m = 0;
	unsigned d;
	int scale = 0, n;

	p += negative;
	digits = p;
	while ((d = (unsigned)(unsigned char)*p - '0') < 10) {
		m = m * 10 + d;
		p++;
	}
	n = (int)(p - digits);
	if (*p == point) {
		dot = ++p;
		while ((d = (unsigned)(unsigned char)*p - '0') < 10) {
			m = m * 10 + d;
			p++;
		}
		scale = -(int)(p - dot);
		n -= scale;
	}
	if (n == 0 || n > 19 || scale < -22 || m >> 53)
		return NULL;
	*ret = scale ? (double)m / tens[-scale] : (double)m;
	if (negative)
		*ret = -*ret;
	return p;
}
