#include "machine/answer-inspect/owner-read.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/file.h"

#define FILE_MAX (64 << 20) /* of one list or of the status; a full desktop's status has 6 MB */

struct text {
	char *data;
	size_t n;
};

/* Takes the descriptor. What lies beyond FILE_MAX is not read; empty where nothing can be. */
static struct text read_whole(int fd)
{
	_cleanup_close_ int file = fd;
	struct text t = {};
	struct stat st;
	ssize_t n;

	if (fstat(file, &st) < 0 || st.st_size <= 0)
		return t;
	t.n = st.st_size < FILE_MAX ? (size_t)st.st_size : FILE_MAX;
	t.data = malloc(t.n);
	n = t.data && lseek(file, 0, SEEK_SET) == 0 ? file_read(file, t.data, t.n) : 0;
	t.n = n > 0 ? (size_t)n : 0;
	return t;
}

/* Whether a line of it is `line`, which is not empty. */
static bool has_line(const struct text *t, const char *line)
{
	size_t n = strlen(line), left = t->data ? t->n : 0;
	const char *from = t->data, *at;

	while (left && (at = memmem(from, left, line, n))) {
		const char *end = at + n;

		if ((at == t->data || at[-1] == '\n') && (end == t->data + t->n || *end == '\n'))
			return true;
		left -= (size_t)(end - from);
		from = end;
	}
	return false;
}

static bool lists(int fd, const char *path)
{
	struct text t = read_whole(fd);
	/* Debian merged /bin into /usr/bin: the list may say either */
	bool found = has_line(&t, path) || (str_starts(path, "/usr/") && has_line(&t, path + strlen("/usr")));

	free(t.data);
	return found;
}

static bool line_starts(const char *line, size_t n, const char *prefix)
{
	return n >= strlen(prefix) && memcmp(line, prefix, strlen(prefix)) == 0;
}

/* "Package: bash" ... "Version: 5.2.15-2+b2" */
static void put_version(int fd, const char *package, struct str *answer)
{
	static const char name[] = "Package: ", version[] = "Version: ";
	size_t n_package = strlen(package);
	struct text t = read_whole(fd);
	bool ours = false, found = false;

	for (size_t at = 0; t.data && at < t.n && !found;) {
		const char *line = t.data + at, *end = memchr(line, '\n', t.n - at);
		size_t n = end ? (size_t)(end - line) : t.n - at;

		if (line_starts(line, n, name))
			ours = n - strlen(name) == n_package && memcmp(line + strlen(name), package, n_package) == 0;
		found = ours && line_starts(line, n, version) && n - strlen(version) < VERSION_MAX;
		if (found)
			(void)str_append(answer, line + strlen(version), n - strlen(version));
		at += n + 1;
	}
	free(t.data);
}

static int take_file(struct sandbox_request *r, size_t i)
{
	return TAKE_FD(r->files[i]);
}

void owner_read(void *data, struct sandbox_request *request, struct str *answer)
{
	uint64_t kind = reader_varint(&request->bytes), found = 0;
	_cleanup_free_ char *text = reader_text(&request->bytes);

	(void)data;
	if (!text || !*text || !request->n_files)
		return;
	if (kind == OWNER_VERSION) {
		put_version(take_file(request, 0), text, answer);
		return;
	}
	for (size_t i = 0; !found && i < request->n_files; i++)
		found = lists(take_file(request, i), text) ? i + 1 : 0;
	(void)str_put_varint(answer, found);
}
