#include "lib/system/own-limits.h"

#include <errno.h>
#include <stddef.h>

const char *own_limits_reason(int r)
{
	switch (r) {
	case -EMFILE:
		return "this process may not open more files: raise its limit ('ulimit -n 1024', LimitNOFILE=)";
	case -ENFILE:
		return "the machine has no more open files: raise fs.file-max";
	case -ENOMEM:
		return "there is not enough memory";
	default:
		return NULL;
	}
}
