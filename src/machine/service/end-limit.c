#include "machine/service/end-limit.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/folder.h"
#include "lib/data/log.h"
#include "lib/data/str.h"

#define WORD_MAX 64

static void read_word(const char *thread, const char *file, char ret[WORD_MAX])
{
	_cleanup_fclose_ FILE *f = fopen(STR_TEXT(PATH_MAX, "/proc/self/task/%s/%s", thread, file), "re");

	if (!f || !fgets(ret, WORD_MAX, f))
		strcpy(ret, "?");
	ret[strcspn(ret, "\n")] = '\0';
}

static void *end_later(void *seconds)
{
	_cleanup_str_ struct str left = {};
	unsigned wait = (unsigned)(uintptr_t)seconds;

	while (wait)
		wait = sleep(wait);
	FOLDER_EACH(thread, opendir("/proc/self/task")) {
		char name[WORD_MAX], place[WORD_MAX];

		read_word(thread.name, "comm", name);
		read_word(thread.name, "wchan", place);
		(void)str_printf(&left, "%s%s in %s", left.len ? ", " : "", name, place);
	}
	log_error("it did not end within %u s, and ends without what is left: %s", (unsigned)(uintptr_t)seconds, left.data ? left.data : "?");
	_exit(EXIT_FAILURE);
}

void end_limit_begin(unsigned seconds)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, end_later, (void *)(uintptr_t)seconds) != 0)
		return; /* the service manager has a limit, too */
	pthread_setname_np(thread, "end-limit");
	pthread_detach(thread);
}
