#include "lib/system/lockdown.h"

#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"

bool lockdown_is_confidential(const char *sys_root)
{
	char path[4096], line[80] = "";
	_cleanup_fclose_ FILE *f = NULL;

	snprintf(path, sizeof(path), "%s/kernel/security/lockdown", sys_root);
	f = fopen(path, "re");
	return f && fgets(line, sizeof(line), f) && strstr(line, "[confidentiality]");
}
