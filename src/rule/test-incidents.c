/* Each cause has incidents on which it is told and near misses on which it is not: tests/incidents/CAUSE.N and
 * CAUSE.not.N, facts as `whyslow why --facts` prints them. The first line says where they are from: "# recorded ..." or
 * "# constructed ...", for what cannot be provoked on any machine. Prints what was reported of each, as a matrix. */
#include "base/data/test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "rule/cause.h"

#define INCIDENTS_MAX 1024

struct incident {
	char *expected, *file;
	const char *told; /* "(none)" */
	bool miss, constructed;
};

static struct incident incidents[INCIDENTS_MAX];
static size_t n_incidents;
static struct causes causes;

static char *read_whole(const char *path)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	assert_non_null(f);
	assert_true(getdelim(&text, &size, 0, f) > 0);
	return text;
}

static void judge(const char *folder, const char *name)
{
	struct incident *x = &incidents[n_incidents++];
	_cleanup_(facts_free) struct facts facts = {};
	_cleanup_free_ char *path = NULL, *text = NULL;
	const struct cause *told;
	unsigned line;

	assert_true(n_incidents < INCIDENTS_MAX);
	assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
	text = read_whole(path);
	if (facts_read(text, &facts, &line) < 0)
		fail_msg("%s:%u: cannot be read", path, line);
	told = cause_find(&causes, &facts);
	x->file = strdup(name);
	x->expected = strndup(name, strcspn(name, "."));
	x->miss = strstr(name, ".not.") != NULL;
	x->constructed = strncmp(text, "# constructed", 13) == 0;
	x->told = told ? told->id : "(none)";
	if (!x->constructed && strncmp(text, "# recorded", 10) != 0)
		fail_msg("%s: its first line does not say where it is from", path);
}

static int read_all(void **state)
{
	struct dirent **names;
	int n = scandir(INCIDENTS, &names, NULL, alphasort);

	(void)state;
	if (n < 0 || causes_default(&causes) < 0)
		return -1;
	for (int i = 0; i < n; i++) {
		if (names[i]->d_name[0] != '.')
			judge(INCIDENTS, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	return 0;
}

static int forget(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_incidents; i++) {
		free(incidents[i].expected);
		free(incidents[i].file);
	}
	causes_free(&causes);
	return 0;
}

static void what_was_told_of_each(void **state)
{
	unsigned recorded = 0, right = 0, recorded_right = 0, n = 0;

	(void)state;
	printf("%-28s %-12s  told\n", "incident", "from");
	for (size_t i = 0; i < n_incidents; i++) {
		const struct incident *x = &incidents[i];
		bool good = (strcmp(x->expected, x->told) == 0) != x->miss;

		printf("%-28s %-12s  %s%s\n", x->file, x->constructed ? "constructed" : "recorded", x->told, good ? "" : "   WRONG");
		n++;
		right += good;
		recorded += !x->constructed;
		recorded_right += good && !x->constructed;
	}
	printf("recorded: %u of %u right; constructed: %u of %u\n", recorded_right, recorded, right - recorded_right, n - recorded);
	assert_int_equal(right, n);
}

static unsigned count(const char *expected, const char *told)
{
	unsigned n = 0;

	for (size_t i = 0; i < n_incidents; i++)
		n += !incidents[i].miss && strcmp(incidents[i].expected, expected) == 0 && strcmp(incidents[i].told, told) == 0;
	return n;
}

/* Rows: what it is; columns, by number: what was reported. Only those told of another one are off the diagonal. */
static void confusion(void **state)
{
	unsigned off = 0;

	(void)state;
	printf("confusion (incidents that must be told; row = what it is):\n");
	for (size_t i = 0; i < causes.list.n; i++) {
		if (causes.list.v[i].fleet)
			continue;
		printf("%-24s %3u as itself", causes.list.v[i].id, count(causes.list.v[i].id, causes.list.v[i].id));
		for (size_t k = 0; k < causes.list.n; k++) {
			unsigned n = k == i || causes.list.v[k].fleet ? 0 : count(causes.list.v[i].id, causes.list.v[k].id);

			if (n)
				printf(", %u as %s", n, causes.list.v[k].id);
			off += n;
		}
		putchar('\n');
	}
	assert_int_equal(off, 0);
}

static bool has(const char *cause, bool miss)
{
	for (size_t i = 0; i < n_incidents; i++)
		if (incidents[i].miss == miss && strcmp(incidents[i].expected, cause) == 0)
			return true;
	return false;
}

static void every_cause_has_both(void **state)
{
	(void)state;
	for (size_t i = 0; i < causes.list.n; i++) {
		const struct cause *c = &causes.list.v[i];

		if (!c->fleet && (!has(c->id, false) || !has(c->id, true)))
			fail_msg("%s has no %s in tests/incidents", c->id, has(c->id, false) ? "near miss" : "incident");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_told_of_each),
		cmocka_unit_test(confusion),
		cmocka_unit_test(every_cause_has_both),
	};

	return cmocka_run_group_tests(tests, read_all, forget);
}
