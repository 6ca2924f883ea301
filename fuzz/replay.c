/* Replays the inputs that lie next to a corpus's README, and of each also all that is cut off at its end: a parser meets
 * torn files more often than unusual ones. */
#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/target.h"

#define INPUT_MAX (1 << 20)
#define CUTS	  64

static size_t replay(const char *path)
{
	static uint8_t bytes[INPUT_MAX];
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(bytes, 1, sizeof(bytes), f) : 0, step = n / CUTS + 1;

	if (!f) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(1);
	}
	fclose(f);
	for (size_t end = 0; end < n; end += step) {
		uint8_t *cut = malloc(end + 1); /* of its own size, so that a sanitizer sees a step too far */

		memcpy(cut, bytes, end);
		LLVMFuzzerTestOneInput(cut, end);
		free(cut);
	}
	LLVMFuzzerTestOneInput(bytes, n);
	return 1;
}

int main(int argc, char **argv)
{
	char path[PATH_MAX], *folder = argc > 1 ? dirname(argv[1]) : NULL;
	DIR *dir = folder ? opendir(folder) : NULL;
	struct dirent *entry;
	size_t replayed = 0;

	if (!dir) {
		fputs("usage: replay-NAME CORPUS/README\n", stderr);
		return 2;
	}
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.' && strcmp(entry->d_name, "README") != 0 &&
		    snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) < (int)sizeof(path))
			replayed += replay(path);
	closedir(dir);
	printf("%zu inputs\n", replayed);
	return replayed ? 0 : 1;
}
