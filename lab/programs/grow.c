/* Takes more and more memory and keeps using all of it. */
#include <string.h>

#include "pace.h"

#define PAGE 4096

static void use(char **blocks, long n)
{
	for (long i = 0; i < n; i++)
		for (size_t at = 0; at < MEBIBYTE; at += PAGE)
			blocks[i][at]++;
}

int main(int argc, char **argv)
{
	static const char usage[] = "MEGABYTES_A_SECOND MEGABYTES";
	long rate = number_argument(argc, argv, 1, usage), limit = number_argument(argc, argv, 2, usage), n = 0;
	int64_t next = clock_now(CLOCK_MONOTONIC);
	char **blocks = calloc((size_t)limit, sizeof(*blocks));

	for (;;) {
		for (long i = 0; blocks && i < rate / 10 && n < limit; i++) {
			blocks[n] = malloc(MEBIBYTE);
			if (!blocks[n])
				return 1;
			memset(blocks[n++], 1, MEBIBYTE);
		}
		use(blocks, n);
		next += NS_PER_SEC / 10;
		if (next < clock_now(CLOCK_MONOTONIC))
			next = clock_now(CLOCK_MONOTONIC);
		sleep_until(next);
	}
}
