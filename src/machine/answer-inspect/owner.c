#include "machine/answer-inspect/owner.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"
#include "lib/rights/outside.h"
#include "lib/rights/sandbox.h"
#include "machine/answer-inspect/owner-read.h"

#define INFO	    "/var/lib/dpkg/info"
#define PATIENCE    (2 * NS_PER_SEC)
#define LISTS_MAX   100000	     /* Debian has 60,000 packages */
#define PACKAGE_MAX 128

struct search {
	struct sandbox sandbox;
	struct str request, answer;
	int64_t until; /* monotonic ns */
	int files[SANDBOX_FILES_MAX];
	char names[SANDBOX_FILES_MAX][PACKAGE_MAX];
	size_t n;
};

static int ask(struct search *s, enum owner_request kind, const char *text, struct reader *ret)
{
	const struct sandbox_call call = {
		.request = &s->request, .files = s->files, .n_files = s->n, .patience = s->until - clock_monotonic()};
	int r;

	str_clear(&s->request);
	(void)str_put_varint(&s->request, (uint64_t)kind);
	(void)str_put_blob(&s->request, text, strlen(text));
	r = sandbox_call(&s->sandbox, &call, &s->answer);
	for (size_t i = 0; i < s->n; i++)
		close(s->files[i]);
	s->n = 0;
	*ret = (struct reader){(const uint8_t *)s->answer.data, (const uint8_t *)s->answer.data + s->answer.len, false};
	return r == -ETIMEDOUT ? -ETIME : r;
}

static bool consists_of(const char *text, const char *others)
{
	for (const char *c = text; *c; c++)
		if (!isascii(*c) || (!isalnum(*c) && !strchr(others, *c)))
			return false;
	return *text;
}

/* "libc6:amd64.list" -> "libc6"; false for what dpkg would not have named so. */
static bool package_name(const char *file, char ret[PACKAGE_MAX])
{
	size_t n = strlen(file), end = strcspn(file, ":");

	if (n < 6 || strcmp(file + n - 5, ".list") != 0)
		return false;
	if (end > n - 5)
		end = n - 5;
	if (end >= PACKAGE_MAX)
		return false;
	memcpy(ret, file, end);
	ret[end] = '\0';
	return consists_of(ret, "+-.");
}

/* Looks among those that were collected. 0, -ENOENT, -errno. */
static int look_through(struct search *s, const char *path, char **ret)
{
	struct reader answer;
	uint64_t found;
	int r = s->n ? ask(s, OWNER_LISTS, path, &answer) : -ENOENT;

	if (r < 0)
		return r;
	found = reader_varint(&answer);
	if (!found || found > SANDBOX_FILES_MAX)
		return answer.bad ? -EBADMSG : -ENOENT;
	*ret = strdup(s->names[found - 1]);
	return *ret ? 0 : -ENOMEM;
}

static int find_package(struct search *s, int info, const char *path, char **ret)
{
	DIR *folder = fdopendir(info);
	unsigned lists = 0;
	int r = -ENOENT;

	if (!folder) {
		close(info);
		return -ENOMEM;
	}
	FOLDER_EACH(e, folder) {
		if (r != -ENOENT || lists++ >= LISTS_MAX)
			break;
		if (clock_monotonic() > s->until)
			return -ETIME;
		if (!package_name(e.name, s->names[s->n]))
			continue;
		s->files[s->n] = outside_open_in_folder(info, e.name);
		s->n += s->files[s->n] >= 0;
		if (s->n == SANDBOX_FILES_MAX)
			r = look_through(s, path, ret);
	}
	return r == -ENOENT ? look_through(s, path, ret) : r;
}

static char *find_version(struct search *s, const char *root, const char *package)
{
	int fd = outside_open_below(root, "/var/lib/dpkg/status");
	struct reader answer;

	if (fd < 0)
		return NULL;
	s->files[0] = fd;
	s->n = 1;
	if (ask(s, OWNER_VERSION, package, &answer) < 0 || !answer.at || strlen((const char *)answer.at) != s->answer.len || !consists_of((const char *)answer.at, ".+-:~"))
		return NULL;
	return strndup((const char *)answer.at, VERSION_MAX);
}

int owner_package(const char *root, const char *path, char **ret_package, char **ret_version)
{
	struct search s = {.until = clock_monotonic() + PATIENCE};
	int info = outside_open_folder_below(root, INFO), r;

	if (info < 0)
		return info;
	r = sandbox_start(owner_read, NULL, &s.sandbox);
	if (r < 0) {
		close(info);
		return r;
	}
	r = find_package(&s, info, path, ret_package);
	if (r == 0)
		*ret_version = find_version(&s, root, *ret_package);
	for (size_t i = 0; i < s.n; i++)
		close(s.files[i]);
	sandbox_stop(&s.sandbox);
	str_free(&s.request);
	str_free(&s.answer);
	return r;
}
