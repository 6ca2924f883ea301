#include "machine/process/pod.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/str.h"

/* systemd's control groups have '_' where a UID has '-' */
static bool is_uid(const char *text, const char *uid, size_t n)
{
	if (strlen(text) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (text[i] != (uid[i] == '_' ? '-' : uid[i]))
			return false;
	return true;
}

/* "shop_cart_UID" -> "shop/cart/ID"; names of Kubernetes have no '_' */
static char *name_of(const char *folder, const char *uid, size_t n, const char *id)
{
	const char *pod = strchr(folder, '_'), *end = pod ? strchr(pod + 1, '_') : NULL;
	char *name;

	if (!end || !is_uid(end + 1, uid, n))
		return NULL;
	return asprintf(&name, "%.*s/%.*s/%s", (int)(pod - folder), folder, (int)(end - pod - 1), pod + 1, id) < 0 ? NULL : name;
}

char *pod_name(const char *logs, const char *container)
{
	const char *uid = container && str_starts(container, "pod") ? container + 3 : NULL, *id = uid ? strchr(uid, '/') : NULL;
	DIR *dir = id && id > uid ? opendir(logs) : NULL;
	char *name = NULL;

	for (int i = 0; dir && i < POD_LOGS_MAX && !name; i++) {
		struct dirent *entry = readdir(dir);

		if (!entry)
			break;
		name = name_of(entry->d_name, uid, (size_t)(id - uid), id + 1);
	}
	if (dir)
		closedir(dir);
	return name;
}
