#include "fleet/formats/fleet-calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"

#define LINES_MAX 1000000 /* more is not a file of calls */

/* The next field of a line: text without quotes and blanks around it; NULL at the end. */
static char *next_field(char **rest)
{
	char *field = *rest ? strsep(rest, ",;\t\r\n") : NULL;

	while (field && (*field == ' ' || *field == '"'))
		field++;
	for (size_t n = field ? strlen(field) : 0; n && (field[n - 1] == ' ' || field[n - 1] == '"');)
		field[--n] = 0;
	return field;
}

struct matrix {
	VEC(int) columns; /* the callee of each column after the first; -ENOENT = not in the fleet */
};

static int read_columns(const struct fleet *f, char *rest, struct matrix *m)
{
	int r = 0;

	for (char *field = next_field(&rest); field && r == 0; field = next_field(&rest))
		if (*field)
			r = VEC_PUSH(m->columns, fleet_find_server(f, field));
	return r;
}

static int add(struct fleet_calls *calls, int caller, int callee)
{
	if (caller < 0 || callee < 0 || caller == callee)
		return 0;
	return VEC_PUSH(calls->list, (struct fleet_call){caller, callee});
}

static int read_line(const struct fleet *f, const struct matrix *m, char *line, struct fleet_calls *calls)
{
	char *rest = line, *name = next_field(&rest), *field = next_field(&rest);
	int caller = name ? fleet_find_server(f, name) : -ENOENT, r = 0;

	if (!m->columns.n)
		return field ? add(calls, caller, fleet_find_server(f, field)) : 0;
	for (size_t i = 0; field && i < m->columns.n && r == 0; i++, field = next_field(&rest))
		if (strtod(field, NULL) != 0)
			r = add(calls, caller, m->columns.v[i]);
	return r;
}

int fleet_calls_read(const char *path, const struct fleet *f, struct fleet_calls *ret, char **ret_error)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	struct fleet_calls calls = {};
	struct matrix m = {};
	size_t size = 0;
	int r = file ? 0 : -errno;

	if (r < 0)
		return str_fail(ret_error, r, "%s: %s", path, strerror(-r));
	for (unsigned i = 0; r == 0 && i < LINES_MAX && getline(&line, &size, file) > 0; i++)
		r = i == 0 && *line == ',' ? read_columns(f, line + 1, &m) : read_line(f, &m, line, &calls);
	VEC_FREE(m.columns);
	if (r == 0 && !calls.list.n)
		r = str_fail(ret_error, -EINVAL, "%s: no call between servers of this data; expected lines CALLER,CALLEE, or a matrix of names and 0 or 1",
			      path);
	if (r < 0) {
		VEC_FREE(calls.list);
		return r;
	}
	*ret = calls;
	return 0;
}
