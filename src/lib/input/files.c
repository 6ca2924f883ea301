#include "lib/input/files.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/input/stream.h"

#define DEPTH_MAX 8

static const char *const packed[] = {".gz", ".zst", ".xz", NULL};

/* Length without such an ending, or 0. */
static size_t without(const char *name, size_t n, const char *const *endings)
{
	for (; *endings; endings++) {
		size_t e = strlen(*endings);

		if (n > e && strncasecmp(name + n - e, *endings, e) == 0)
			return n - e;
	}
	return 0;
}

static size_t stem(const char *name, const char *const *endings)
{
	size_t n = strlen(name), unpacked = without(name, n, packed), bare = without(name, unpacked ? unpacked : n, endings);

	return bare ? bare : unpacked ? unpacked : n;
}

int file_has_ending(const char *name, const char *const *endings)
{
	size_t n = strlen(name), unpacked = without(name, n, packed);

	return without(name, unpacked ? unpacked : n, endings) > 0;
}

static int add(struct file_list *l, const char *path, const char *name, const char *const *endings)
{
	char *p = strdup(path), *n = strndup(name, stem(name, endings));
	struct stat st;

	if (!p || !n || VEC_GROW(l->paths) < 0 || VEC_GROW(l->names) < 0) {
		FREE_ALL(p, n);
		return -ENOMEM;
	}
	l->paths.v[l->paths.n++] = p;
	l->names.v[l->names.n++] = n;
	if (stat(path, &st) == 0)
		l->bytes += (uint64_t)st.st_size;
	return 0;
}

static int walk(struct file_list *l, const char *top, const char *below, const char *const *endings, int depth);

static int visit(struct file_list *l, const char *top, const char *below, const char *entry, const char *const *endings,
		 int depth)
{
	_cleanup_free_ char *path = NULL, *name = NULL;
	struct stat st;

	if (asprintf(&name, "%s%s%s", below, *below ? "/" : "", entry) < 0 || asprintf(&path, "%s/%s", top, name) < 0)
		return -ENOMEM;
	if (entry[0] == '.' || stat(path, &st) < 0)
		return 0;
	if (S_ISDIR(st.st_mode))
		return depth < DEPTH_MAX ? walk(l, top, name, endings, depth + 1) : 0;
	return file_has_ending(entry, endings) ? add(l, path, name, endings) : 0;
}

static int walk(struct file_list *l, const char *top, const char *below, const char *const *endings, int depth)
{
	_cleanup_free_ char *path = NULL;
	struct dirent **entries;
	int n, r = 0;

	if (asprintf(&path, "%s/%s", top, below) < 0)
		return -ENOMEM;
	n = scandir(path, &entries, NULL, versionsort);
	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		r = r ?: visit(l, top, below, entries[i]->d_name, endings, depth);
		free(entries[i]);
	}
	free(entries);
	return r;
}

static int walk_glob(struct file_list *l, const char *pattern, const char *const *endings)
{
	glob_t g = {};
	int r = glob(pattern, 0, NULL, &g);

	r = r == GLOB_NOSPACE ? -ENOMEM : 0;
	for (size_t i = 0; r == 0 && i < g.gl_pathc; i++) {
		const char *slash = strrchr(g.gl_pathv[i], '/');

		r = add(l, g.gl_pathv[i], slash ? slash + 1 : g.gl_pathv[i], endings);
	}
	globfree(&g);
	return r;
}

int files_list(const char *location, const char *const *endings, struct file_list *ret)
{
	struct file_list l = {};
	const char *slash = strrchr(location, '/');
	struct stat st;
	int r;

	if (strcmp(location, "-") == 0)
		r = add(&l, location, "stdin", endings);
	else if (stat(location, &st) < 0)
		r = walk_glob(&l, location, endings);
	else if (S_ISDIR(st.st_mode))
		r = walk(&l, location, "", endings, 0);
	else
		r = add(&l, location, slash ? slash + 1 : location, endings);
	if (r == 0 && !l.paths.n)
		r = -ENOENT;
	if (r < 0) {
		file_list_free(&l);
		return r;
	}
	*ret = l;
	return 0;
}

int files_list_in_words(const char *location, const char *const *endings, struct file_list *ret, char **ret_error)
{
	int r = files_list(location, endings, ret);

	if (r == -ENOENT)
		return str_fail(ret_error, r, "%s: there is no such file, and no %s%s%s file in a folder of this name", location, endings[0],
				endings[1] ? " or " : "", endings[1] ? endings[1] : "");
	return r < 0 ? str_fail(ret_error, r, "%s: %s", location, strerror(-r)) : 0;
}

void file_list_free(struct file_list *l)
{
	VEC_FREE_EACH(l->paths, free(*each));
	VEC_FREE_EACH(l->names, free(*each));
}

static int recognise(const char *location, const char *const *endings, bool by_name, int (*look)(const char *piece, size_t n))
{
	struct file_list files;
	struct stream *s;
	char *piece;
	size_t n;
	int score = 0;

	if (files_list(location, endings, &files) < 0)
		return 0;
	if (by_name && file_has_ending(files.paths.v[0], endings)) {
		score = 50;
	} else if (stream_open(files.paths.v[0], &s) == 0) {
		score = stream_next(s, &piece, &n) == 1 ? look(piece, n) : 0;
		stream_close(s);
	}
	file_list_free(&files);
	return score;
}

int files_recognise(const char *location, const char *const *endings, int (*look)(const char *piece, size_t n))
{
	return recognise(location, endings, true, look);
}

int files_recognise_by_content(const char *location, const char *const *endings, int (*look)(const char *piece, size_t n))
{
	return recognise(location, endings, false, look);
}
