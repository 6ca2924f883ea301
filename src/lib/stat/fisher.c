#include "lib/stat/fisher.h"

#include <math.h>

static double log_choose(unsigned n, unsigned k)
{
	return lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0);
}

double fisher_p(unsigned both, unsigned first, unsigned second, unsigned all)
{
	unsigned most = first < second ? first : second;
	double p = 0;

	if (first > all || second > all || both > most)
		return 1;
	for (unsigned k = both; k <= most; k++)
		if (second - k <= all - first) /* the others must have room */
			p += exp(log_choose(first, k) + log_choose(all - first, second - k) - log_choose(all, second));
	return p < 1 ? p : 1;
}
