/* Replays the inputs that lie next to a corpus's README while memory is short: one allocation fails, or all from one on, at up to
 * POINTS places of each input. Nothing may crash, and nothing may stay allocated that a run with memory frees. */
#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/target.h"
#include "tests/starve.h"

#define INPUT_MAX (1 << 20)
#define POINTS	  24   /* of an input; inputs of a corpus are many and alike */
#define RUNS_MAX  1500 /* of a target: a few seconds */

static char path[PATH_MAX]; /* of what runs now, and where it fails: for say() */
static unsigned failing;
static unsigned allocations; /* of the last run */
static size_t runs;
static jmp_buf checked;

/* abort() of a target (fuzz/meson.build): a check of its own that fails for want of memory says nothing. What it held stays. */
_Noreturn void starve_stop(void);
void starve_stop(void)
{
	if (!failing)
		raise(SIGABRT);
	longjmp(checked, 1);
}

static void say(int number)
{
	dprintf(STDERR_FILENO, "%s: signal %d when allocation %u fails\n", path, number, failing);
	signal(number, SIG_DFL);
	raise(number);
}

/* Whether it came to its end. */
static bool run(const uint8_t *bytes, size_t n, unsigned at, bool lasts)
{
	uint8_t *own = malloc(n + 1); /* of its own size, so that a sanitizer sees a step too far */
	volatile bool ended = false;

	memcpy(own, bytes, n);
	failing = at;
	runs++;
	starve_at(at, lasts);
	if (setjmp(checked) == 0) {
		LLVMFuzzerTestOneInput(own, n);
		ended = true;
	}
	allocations = starve_count();
	starve_at(0, false);
	free(own);
	return ended;
}

/* How many runs lost a block. */
static unsigned starve(const uint8_t *bytes, size_t n, unsigned input)
{
	unsigned lost = 0, all, step;
	size_t usual;

	run(bytes, n, 0, false); /* what is made once stays */
	usual = starve_live();
	run(bytes, n, 0, false);
	all = allocations;
	if (starve_live() > usual) {
		fprintf(stderr, "%s: %zu blocks stay allocated\n", path, starve_live() - usual);
		return 1;
	}
	step = all / POINTS + 1;
	for (unsigned at = 1 + input % step; at <= all && runs < RUNS_MAX; at += step) {
		const bool lasts = (at + input) % 2;
		const bool ended = run(bytes, n, at, lasts);

		if (ended && starve_live() > usual) {
			fprintf(stderr, "%s: %zu blocks stay allocated when allocation %u fails%s\n", path, starve_live() - usual, at,
				lasts ? " and all that follow" : "");
			lost++;
		}
		usual = starve_live() > usual ? starve_live() : usual;
	}
	return lost;
}

static unsigned starve_file(unsigned input)
{
	static uint8_t bytes[INPUT_MAX];
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(bytes, 1, sizeof(bytes), f) : 0;

	if (!f) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return 1;
	}
	fclose(f);
	return starve(bytes, n, input);
}

/* Under the address sanitizer: blocks of the rooms are counted here, and what a target itself has when it stops is not freed. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

int main(int argc, char **argv)
{
	char *folder = argc > 1 ? dirname(argv[1]) : NULL;
	struct dirent **entries;
	int n = folder ? scandir(folder, &entries, NULL, alphasort) : -1;
	unsigned lost = 0;

	if (n < 0) {
		fputs("usage: starved-NAME CORPUS/README\n", stderr);
		return 2;
	}
	signal(SIGSEGV, say);
	signal(SIGABRT, say);
	for (int i = 0; i < n; i++)
		if (entries[i]->d_name[0] != '.' && strcmp(entries[i]->d_name, "README") != 0 &&
		    snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name) < (int)sizeof(path))
			lost += starve_file((unsigned)i);
	printf("%zu runs\n", runs);
	return lost ? 1 : runs ? 0 : 2;
}
