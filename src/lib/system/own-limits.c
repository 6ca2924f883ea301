#include "lib/system/own-limits.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

#define FILES_LEAST 128 /* a recorder holds some sixty */

/* A library that finds no descriptor left often reports another error than EMFILE. */
static bool has_few_files(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < FILES_LEAST;
}

const char *own_limits_reason(int r)
{
	if (r == -EMFILE || has_few_files())
		return "this process may not open more files: raise its limit ('ulimit -n 1024', LimitNOFILE=)";
	if (r == -ENFILE)
		return "the machine has no more open files: raise fs.file-max";
	return r == -ENOMEM ? "there is not enough memory" : NULL;
}
