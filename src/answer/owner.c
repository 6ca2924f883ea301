#include "answer/owner.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/folder.h"
#include "base/str.h"

/* Whether a file has a line that is `path`. Debian merged /bin into /usr/bin: the list may say either. */
static bool lists(const char *file, const char *path, char **buffer, size_t *allocated)
{
	_cleanup_fclose_ FILE *f = fopen(file, "re");
	const char *short_path = text_starts(path, "/usr/") ? path + strlen("/usr") : path;
	ssize_t n;

	while (f && (n = getline(buffer, allocated, f)) > 0) {
		(*buffer)[strcspn(*buffer, "\n")] = '\0';
		if (strcmp(*buffer, path) == 0 || strcmp(*buffer, short_path) == 0)
			return true;
	}
	return false;
}

static int find_package(const char *root, const char *path, char **ret)
{
	_cleanup_(close_folder) DIR *folder = NULL;
	_cleanup_free_ char *name = NULL, *buffer = NULL;
	int64_t until = boot_now() + 2 * NS_PER_SEC;
	size_t allocated = 0;
	struct dirent *e;

	if (asprintf(&name, "%s/var/lib/dpkg/info", root) < 0)
		return -ENOMEM;
	folder = opendir(name);
	while (folder && (e = readdir(folder))) {
		_cleanup_free_ char *file = NULL;
		size_t n = strlen(e->d_name);

		if (n < 6 || strcmp(e->d_name + n - 5, ".list") != 0)
			continue;
		if (boot_now() > until)
			return -ETIME;
		if (asprintf(&file, "%s/%s", name, e->d_name) < 0)
			return -ENOMEM;
		if (!lists(file, path, &buffer, &allocated))
			continue;
		*ret = strndup(e->d_name, strcspn(e->d_name, ":") < n - 5 ? strcspn(e->d_name, ":") : n - 5);
		return *ret ? 0 : -ENOMEM;
	}
	return -ENOENT;
}

/* "Package: bash" ... "Version: 5.2.15-2+b2" */
static char *find_version(const char *root, const char *package)
{
	_cleanup_free_ char *name = NULL, *line = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	size_t allocated = 0;
	bool ours = false;

	if (asprintf(&name, "%s/var/lib/dpkg/status", root) < 0)
		return NULL;
	f = fopen(name, "re");
	while (f && getline(&line, &allocated, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (text_starts(line, "Package: "))
			ours = strcmp(line + strlen("Package: "), package) == 0;
		else if (ours && text_starts(line, "Version: "))
			return strdup(line + strlen("Version: "));
	}
	return NULL;
}

int package_of(const char *root, const char *path, char **ret_package, char **ret_version)
{
	int r = find_package(root, path, ret_package);

	if (r == 0)
		*ret_version = find_version(root, *ret_package);
	return r;
}
