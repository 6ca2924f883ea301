#include "machine/process/container-name.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"

#define NUMBER_LENGTH 64

/* The first of a folder's names for which `match` makes a text. */
static char *find_in_folder(const char *root, const char *folder, const char *wanted, char *(*match)(const char *name, const char *wanted))
{
	int looked_at = 0;

	FOLDER_EACH(entry, opendir(STR_TEXT(4096, "%s%s", root, folder))) {
		char *found = looked_at++ < CONTAINER_FOLDERS_MAX ? match(entry.name, wanted) : NULL;

		if (found || looked_at > CONTAINER_FOLDERS_MAX)
			return found;
	}
	return NULL;
}

/* --- Kubernetes --- */

/* "cart-x2x7q_shop_web-0123...ef.log" -> "shop/cart-x2x7q/web"; names of Kubernetes have no '_' */
static char *name_in_link(const char *link, const char *id)
{
	const char *namespace = strchr(link, '_'), *name = namespace ? strchr(namespace + 1, '_') : NULL, *number = name ? strrchr(name, '-') : NULL;
	char *text;

	if (!number || strlen(number) != 1 + NUMBER_LENGTH + strlen(".log") || strncmp(number + 1, id, strlen(id)) != 0)
		return NULL;
	return asprintf(&text, "%.*s/%.*s/%.*s", (int)(name - namespace - 1), namespace + 1, (int)(namespace - link), link, (int)(number - name - 1), name + 1) < 0 ?
		       NULL : text;
}

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

/* "shop_cart_UID" and "UID/ID" -> "shop/cart/ID" */
static char *name_in_folder(const char *folder, const char *uid)
{
	const char *pod = strchr(folder, '_'), *end = pod ? strchr(pod + 1, '_') : NULL, *id = strchr(uid, '/');
	char *name;

	if (!end || !is_uid(end + 1, uid, (size_t)(id - uid)))
		return NULL;
	return asprintf(&name, "%.*s/%.*s/%s", (int)(pod - folder), folder, (int)(end - pod - 1), pod + 1, id + 1) < 0 ? NULL : name;
}

/* --- Docker, podman --- */

static char *read_state(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	char *text;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (size_t)st.st_size > CONTAINER_STATE_MAX)
		return NULL;
	text = malloc((size_t)st.st_size + 1);
	n = text ? read(fd, text, (size_t)st.st_size) : -1;
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	return text;
}

/* Copies what stands between `before` and a quote. Within a text of JSON quotes are escaped: so this is a key and its value, whatever users wrote into texts. */
static char *value_after(const char *json, const char *before)
{
	const char *at = json ? strstr(json, before) : NULL;
	size_t n;

	if (!at)
		return NULL;
	at += strlen(before);
	n = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
	return n && at[n] == '"' ? strndup(at, n) : NULL;
}

static char *is_container_folder(const char *name, const char *id)
{
	return strlen(name) == NUMBER_LENGTH && str_starts(name, id) ? strdup(name) : NULL;
}

static char *docker_name(const char *root, const char *id)
{
	static const char folder[] = "/var/lib/docker/containers";
	_cleanup_free_ char *number = find_in_folder(root, folder, id, is_container_folder);
	_cleanup_free_ char *json = number ? read_state(STR_TEXT(4096, "%s%s/%s/config.v2.json", root, folder, number)) : NULL;

	return value_after(json, "\"Name\":\"/");
}

static char *podman_name(const char *root, const char *id)
{
	static const char *const files[] = {
		"/var/lib/containers/storage/overlay-containers/containers.json", "/var/lib/containers/storage/overlay-containers/volatile-containers.json",
		"/run/containers/storage/overlay-containers/volatile-containers.json", "/var/lib/containers/storage/vfs-containers/containers.json",
	};
	char *name = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(files) && !name; i++) {
		_cleanup_free_ char *json = read_state(STR_TEXT(4096, "%s%s", root, files[i]));
		char *at = json ? strstr(json, STR_TEXT(100, "\"id\":\"%s", id)) : NULL, *next = at ? strstr(at + 1, "\"id\":\"") : NULL;

		if (next)
			*next = '\0';
		name = value_after(at, "\"names\":[\"");
	}
	return name;
}

char *container_name(const char *root, const char *container)
{
	const char *id = container ? strrchr(container, '/') : NULL;
	const bool in_pod = id && str_starts(container, "pod");
	char *name;

	id = id ? id + 1 : container;
	if (!id || strlen(id) != 12 || strspn(id, "0123456789abcdef") != 12)
		return NULL;
	name = find_in_folder(root, "/var/log/containers", id, name_in_link);
	if (!name && in_pod && container[3] != '/')
		name = find_in_folder(root, "/var/log/pods", container + 3, name_in_folder);
	name = name || in_pod ? name : docker_name(root, id);
	return name || in_pod ? name : podman_name(root, id);
}
