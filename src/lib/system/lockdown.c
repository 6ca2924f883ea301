#include "lib/system/lockdown.h"

#include <string.h>

#include "lib/data/file.h"
#include "lib/data/str.h"

bool lockdown_is_confidential(const char *sys_root)
{
	char line[80];

	return file_first_line(STR_TEXT(4096, "%s/kernel/security/lockdown", sys_root), line, sizeof(line)) && strstr(line, "[confidentiality]");
}
