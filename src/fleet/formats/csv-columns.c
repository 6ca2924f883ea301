#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/formats/csv-table.h"
#include "lib/data/cleanup.h"
#include "lib/data/str.h"

#define PERFMON "(PDH-"
#define NUMBERED_LEAST 3 /* columns */

bool csv_is_perfmon(const char *first_name)
{
	return str_starts(first_name, PERFMON);
}

/* "(PDH-CSV 4.0) (Pacific Standard Time)(480)": the minutes that are added to be UTC. */
int64_t csv_perfmon_zone(const char *first_name)
{
	const char *open = strrchr(first_name, '(');

	return open ? strtol(open + 1, NULL, 10) * 60ll * 1000000000 : 0;
}

/* "\\HOST\Object(Instance)\Counter". The server's length; 0 = it is not one. */
static size_t perfmon_server(const char *name)
{
	return strncmp(name, "\\\\", 2) == 0 && strchr(name + 2, '\\') ? (size_t)(strchr(name + 2, '\\') - name - 2) : 0;
}

/* "cpu{instance="web-1",mode="idle"}", as Grafana names columns: where the label of the server begins and ends with its comma; NULL = none. */
static const char *server_label(const char *name, const char *given, const char **ret_value, const char **ret_end)
{
	static const char *const labels[] = {"instance", "host", "hostname", "server", "node", "pod", NULL};
	const char *const only[] = {given, NULL}, *brace = strchr(name, '{');

	for (const char *const *label = given ? only : labels; brace && *label; label++)
		for (const char *at = strstr(brace, *label); at; at = strstr(at + 1, *label)) {
			size_t n = strlen(*label);

			if (!strchr("{, ", at[-1]) || strncmp(at + n, "=\"", 2) != 0 || !strchr(at + n + 2, '"'))
				continue;
			*ret_value = at + n + 2;
			*ret_end = strchr(*ret_value, '"') + 1;
			return at;
		}
	return NULL;
}

/* Takes the server out of a column's name, if it is not all of it. 1 = there is one, 0, or -ENOMEM. */
static int split_name(struct csv_table *t, struct csv_column *c)
{
	_cleanup_free_ char *server = NULL, *counter = NULL;
	const char *value, *end, *label = server_label(c->name, t->input->server_column, &value, &end);
	size_t n = perfmon_server(c->name);

	if (t->input->columns_are_servers) {
		server = strdup(c->name);
		counter = strdup(t->name);
	} else if (n) {
		server = strndup(c->name + 2, n);
		counter = strdup(c->name + 2 + n + 1);
	} else if (label) {
		bool alone = label[-1] == '{' && *end == '}';
		const char *rest = alone ? end + 1 : *end == ',' ? end + 1 + strspn(end + 1, " ") : end;
		size_t before = (size_t)(label - c->name);

		while (before && (alone ? c->name[before - 1] == '{' : *end != ',' && strchr(", ", c->name[before - 1])))
			before--;
		server = strndup(value, (size_t)(end - 1 - value));
		if (asprintf(&counter, "%.*s%s", (int)before, c->name, rest) < 0)
			counter = NULL;
		if (counter && !*counter) {
			free(counter);
			counter = strdup("value");
		}
	} else {
		return 0;
	}
	c->server = server && counter ? intake_server(t->into, server) : -ENOMEM;
	if (c->server < 0)
		return -ENOMEM;
	free(c->name);
	c->name = TAKE(counter);
	return 1;
}

int csv_split_names(struct csv_table *t)
{
	size_t numbers = 0, split = 0;

	for (size_t i = 0; i < t->columns.n; i++) {
		int r = t->columns.v[i].use == USE_NUMBER && t->columns.v[i].server < 0 ? split_name(t, &t->columns.v[i]) : 0;

		if (r < 0)
			return r;
		numbers += t->columns.v[i].use == USE_NUMBER;
		split += r;
	}
	t->has_server |= split && split == numbers;
	return 0;
}

/* "web-12.example.net": where its number begins; NULL = it has no name before one. */
static const char *number_of(const char *name)
{
	const char *at = strpbrk(name, "0123456789");

	return at && at > name ? at : NULL;
}

bool csv_names_are_numbered(const struct csv_table *t)
{
	const char *first = NULL, *at;
	long least = LONG_MAX, most = 0, number;
	size_t n = 0, stem = 0;

	for (size_t i = 0; i < t->columns.n; i++) {
		const struct csv_column *c = &t->columns.v[i];

		if (c->use != USE_NUMBER)
			continue;
		at = number_of(c->name);
		if (!first && at) {
			first = c->name;
			stem = (size_t)(at - c->name);
		}
		if (!at || (size_t)(at - c->name) != stem || strncmp(c->name, first, stem) != 0)
			return false;
		number = strtol(at, NULL, 10);
		least = number < least ? number : least;
		most = number > most ? number : most;
		n++;
	}
	return n >= NUMBERED_LEAST && (size_t)(most - least) + 1 == n;
}
