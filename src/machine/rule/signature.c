#include "machine/rule/signature.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/data/trusted-file.h"

static void signature_free(struct signature *s)
{
	FREE_ALL(s->name, s->words);
	for (size_t i = 0; i < s->n_functions; i++)
		free(s->functions[i]);
}

void signatures_free(struct signatures *s)
{
	VEC_FREE_EACH(s->list, signature_free(each));
}

/* Without the blanks around it; in place. */
static char *trimmed(char *text)
{
	char *end;

	while (isspace((unsigned char)*text))
		text++;
	for (end = text + strlen(text); end > text && isspace((unsigned char)end[-1]); end--)
		end[-1] = '\0';
	return text;
}

/* "_[k]" marks a kernel function and is not a set of letters. */
static char *pattern_of(const char *word)
{
	static const char kernel[] = "_[k]";
	size_t n = strlen(word), k = strlen(kernel);
	char *pattern;

	if (n < k || strcmp(word + n - k, kernel) != 0)
		return strdup(word);
	return asprintf(&pattern, "%.*s_\\[k]", (int)(n - k), word) < 0 ? NULL : pattern;
}

static int take_functions(char *text, struct signature *s)
{
	char *rest = NULL;

	for (char *word = strtok_r(text, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
		if (s->n_functions == SIGNATURE_FUNCTIONS_MAX)
			return -E2BIG;
		s->functions[s->n_functions] = pattern_of(word);
		if (!s->functions[s->n_functions++])
			return -ENOMEM;
	}
	return s->n_functions ? 0 : -EINVAL;
}

/* "NAME | FUNCTIONS | WORDS" */
static int take_line(char *line, struct signatures *ret)
{
	char *functions = strchr(line, '|'), *words = functions ? strchr(functions + 1, '|') : NULL;
	struct signature s = {};
	int r;

	if (!words || ret->list.n >= SIGNATURES_MAX)
		return words ? -E2BIG : -EINVAL;
	*functions++ = *words++ = '\0';
	r = take_functions(trimmed(functions), &s);
	s.name = strdup(trimmed(line));
	s.words = strdup(trimmed(words));
	if (r == 0 && (!s.name || !s.words))
		r = -ENOMEM;
	if (r == 0 && (!*s.name || !*s.words))
		r = -EINVAL;
	if (r == 0)
		r = VEC_PUSH(ret->list, s);
	if (r < 0)
		signature_free(&s);
	return r;
}

static const char *wrong(int code)
{
	return code == -E2BIG ? "too many functions (8 at most) or signatures (1000 at most)" : "expected NAME | FUNCTIONS | WORDS";
}

int signatures_parse(const char *text, const char *file, struct signatures *ret, char **ret_error)
{
	_cleanup_free_ char *copy = strdup(text);
	unsigned number = 0;
	int r = copy ? 0 : -ENOMEM;

	*ret_error = NULL;
	for (char *line = copy, *end; r == 0 && line; line = end) {
		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		number++;
		line = trimmed(line);
		r = !*line || *line == '#' ? 0 : take_line(line, ret);
	}
	if (r < 0 && r != -ENOMEM && asprintf(ret_error, "%s:%u: %s", file, number, wrong(r)) < 0)
		*ret_error = NULL;
	return r < 0 && r != -ENOMEM ? -EINVAL : r;
}

static int take_signatures(const char *text, const char *path, void *to, char **ret_error)
{
	return signatures_parse(text, path, to, ret_error);
}

int signatures_load(const char *folder, struct signatures *ret, char **ret_error)
{
	int r = trusted_files_read(folder, take_signatures, ret, ret_error);

	/* where the administrator keeps them to itself, users have those compiled in */
	if (r == 0 || r == -ENOENT || r == -EACCES)
		r = signatures_parse(default_signatures, "built-in signatures", ret, ret_error);
	if (r < 0)
		signatures_free(ret);
	return r;
}

/* Most patterns are whole names, which are compared much faster. */
static bool is_like(const char *pattern, const char *name)
{
	return strpbrk(pattern, "*?[\\") ? fnmatch(pattern, name, 0) == 0 : strcmp(pattern, name) == 0;
}

/* Whether the names from the i-th on match the signature's functions from the k-th on. */
static bool matches(const struct signature *s, size_t k, const char *const *names, size_t i, size_t n)
{
	const char *function = k < s->n_functions ? s->functions[k] : NULL;
	bool directly = function && *function == '>';

	for (; function && i < n; i++) {
		if (is_like(function + directly, names[i])) {
			if (matches(s, k + 1, names, i + 1, n))
				return true;
			/* behind a later one there is less to match, unless the next pattern must follow at once */
			if (k + 1 >= s->n_functions || *s->functions[k + 1] != '>')
				return false;
		}
		if (directly)
			return false;
	}
	return !function;
}

const struct signature *signatures_find(const struct signatures *s, const char *const *names, size_t n)
{
	return VEC_FIND(x, s->list, matches(x, 0, names, 0, n));
}
