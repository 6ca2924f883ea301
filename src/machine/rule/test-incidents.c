/* Each cause has incidents on which it is reported and near misses on which it is not: tests/incidents/CAUSE.N and
 * CAUSE.not.N, facts as `whyslow why --facts` prints them. The first line says where they are from: "# recorded ..." or
 * "# constructed ...", for what cannot be provoked on any machine. Prints what was reported about each, as a matrix.
 * docs/causes.md has the words of each cause; CAUSES_DOCUMENT=FILE writes them there. */
#include "lib/data/test.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "machine/findings/test-facts.h"
#include "machine/rule/cause.h"

#define INCIDENTS_MAX 1024

struct incident {
	char *expected, *file, *say, *next, *advice;
	struct facts facts;
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
	_cleanup_free_ char *path = NULL, *text = NULL;
	const struct cause *told;
	unsigned line;

	assert_true(n_incidents < INCIDENTS_MAX);
	assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
	text = read_whole(path);
	if (facts_read(text, &x->facts, &line) < 0)
		fail_msg("%s:%u: cannot be read", path, line);
	told = cause_find(&causes, &x->facts);
	x->file = strdup(name);
	x->expected = strndup(name, strcspn(name, "."));
	x->miss = strstr(name, ".not.") != NULL;
	x->constructed = strncmp(text, "# constructed", 13) == 0;
	x->told = told ? told->id : "(none)";
	x->say = told ? cause_words(told->say, &x->facts) : NULL;
	x->next = told ? cause_words(told->next, &x->facts) : NULL;
	x->advice = told ? cause_advice(told, &x->facts) : NULL;
	if (!x->constructed && strncmp(text, "# recorded", 10) != 0)
		fail_msg("%s: its first line does not say where it is from", path);
}

static int read_all(void **state)
{
	struct dirent **names;
	int n = scandir(INCIDENTS, &names, NULL, alphasort);

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
	for (size_t i = 0; i < n_incidents; i++) {
		free(incidents[i].expected);
		free(incidents[i].file);
		free(incidents[i].say);
		free(incidents[i].next);
		free(incidents[i].advice);
		facts_free(&incidents[i].facts);
	}
	causes_free(&causes);
	return 0;
}

static void what_was_told_of_each(void **state)
{
	unsigned recorded = 0, right = 0, recorded_right = 0, n = 0;

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

/* Rows: what it is; columns, by number: what was reported. Only those reported of another one are off the diagonal. */
static void confusion(void **state)
{
	unsigned off = 0;

	printf("confusion (incidents that must be told; row = what it is):\n");
	for (size_t i = 0; i < causes.list.n; i++) {
		if (causes.list.v[i].fleet)
			continue;
		printf("%-24s %3u as itself", causes.list.v[i].id, count(causes.list.v[i].id, causes.list.v[i].id));
		for (size_t k = 0; k < causes.list.n; k++) {
			unsigned n = strcmp(causes.list.v[k].id, causes.list.v[i].id) == 0 || causes.list.v[k].fleet ? 0 : count(causes.list.v[i].id, causes.list.v[k].id);

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
	for (size_t i = 0; i < causes.list.n; i++) {
		const struct cause *c = &causes.list.v[i];

		if (!c->fleet && (!has(c->id, false) || !has(c->id, true)))
			fail_msg("%s has no %s in tests/incidents", c->id, has(c->id, false) ? "near miss" : "incident");
	}
}

static const struct incident *first_of(const char *cause)
{
	for (size_t i = 0; i < n_incidents; i++)
		if (!incidents[i].miss && strcmp(incidents[i].expected, cause) == 0)
			return &incidents[i];
	return NULL;
}

static double more_of(const struct facts *f, const char *feature)
{
	const struct fact *x = facts_find(f, FACT_VICTIMS, feature);

	return x ? fmax(0, x->now - (isnan(x->usual) ? 0 : x->usual)) : 0;
}

/* "and other programs wait for the CPU" is said only where that is a good part of what they wait for. */
static const char *false_wait(const struct incident *x)
{
	double cpu = more_of(&x->facts, "cpu.run_delay"), disk = more_of(&x->facts, "delay.block") + more_of(&x->facts, "wait.disk");

	if (strstr(x->say, "other programs") && strstr(x->say, "wait for the CPU") && disk > 3 * cpu)
		return "they wait for the disk";
	if (strstr(x->say, "other programs") && strstr(x->say, "wait for the disk") && cpu > 3 * disk)
		return "they wait for the CPU";
	return NULL;
}

/* "normally" is said of what has a past, and is not less than normally. */
static const char *false_normal(const struct incident *x)
{
	bool has_past = false;

	for (size_t i = 0; i < x->facts.list.n; i++)
		has_past |= !isnan(x->facts.list.v[i].usual);
	return strstr(x->say, "normally") && !has_past ? "there is no past" : NULL;
}

/* An interface that moved nothing, and a limit of this machine, rule out other machines. */
static const char *false_machine(const struct incident *x)
{
	bool elsewhere = strstr(x->say, "ther machines") || strstr(x->say, "network loses");

	const struct fact *drops = facts_find(&x->facts, FACT_MACHINE, "tcp.listen_drops");

	if (elsewhere && drops && drops->now > 1)
		return "a queue of this machine is full";
	return elsewhere && x->facts.clauses[CLAUSE_LIMIT] ? "a limit of this machine is used up" : NULL;
}

static size_t sentences(const char *text)
{
	size_t n = *text != 0;

	for (const char *p = text; (p = strstr(p, ". ")); p++)
		n++;
	return n;
}

static const char *bad_advice(const char *advice)
{
	static const char *const placeholders[] = {"UNIT", " NAME", "HOST", "DISK", "..."};

	for (size_t i = 0; i < ARRAY_SIZE(placeholders); i++)
		if (strstr(advice, placeholders[i]))
			return "it has a placeholder";
	return sentences(advice) > 2 ? "it is longer than two sentences" : NULL;
}

static void no_sentence_contradicts_what_was_measured(void **state)
{
	for (size_t i = 0; i < n_incidents; i++) {
		const struct incident *x = &incidents[i];
		const char *wrong = x->say ? false_wait(x) ?: false_normal(x) ?: false_machine(x) : NULL;

		wrong = wrong ?: x->advice ? bad_advice(x->advice) : NULL;
		if (wrong)
			fail_msg("%s: '%s' '%s': %s", x->file, x->say, x->advice, wrong);
	}
}

/* A cell of a table of Markdown. */
static void write_cell(struct str *out, const char *text)
{
	str_puts(out, " ");
	for (; text && *text; text++)
		str_printf(out, strchr("|<*_`", *text) ? "\\%c" : "%c", *text == '\n' ? ' ' : *text);
	str_puts(out, " |");
}

/* Each cause as an answer says it of its first incident; those of a fleet as they stand. */
static void write_document(struct str *out)
{
	str_printf(out, "# Causes\n\nEach of the %zu causes that whyslow knows, in the words of an answer. The values are those of its first incident in\n"
		   "`tests/incidents`: recorded on a machine, or constructed where it cannot be provoked on any machine. `share/causes` has the\n"
		   "conditions; [answers.md](answers.md) has whole answers. A test compares this page with the causes;\n"
		   "`CAUSES_DOCUMENT=docs/causes.md build/tests/test-rule-incidents` writes it.\n\n"
		   "| cause | answer | what you can do | from |\n|---|---|---|---|\n", causes.list.n);
	for (size_t i = 0; i < causes.list.n; i++) {
		const struct cause *c = &causes.list.v[i];
		const struct incident *x = c->fleet ? NULL : first_of(c->id);

		str_puts(out, "|");
		write_cell(out, c->id);
		write_cell(out, x && x->say ? x->say : c->say);
		write_cell(out, x && x->next ? x->next : c->next);
		write_cell(out, !x ? "a fleet" : x->constructed ? "constructed" : "recorded");
		str_puts(out, "\n");
	}
}

static void document_is_up_to_date(void **state)
{
	const char *path = getenv("CAUSES_DOCUMENT");
	_cleanup_str_ struct str expected = {};
	_cleanup_free_ char *text = NULL;

	write_document(&expected);
	assert_int_equal(expected.error, 0);
	if (path) {
		_cleanup_fclose_ FILE *f = fopen(path, "we");

		assert_non_null(f);
		assert_true(fputs(expected.data, f) >= 0);
		return;
	}
	text = read_whole(INCIDENTS "/../../docs/causes.md");
	if (strcmp(text, expected.data) != 0)
		fail_msg("docs/causes.md is old; run CAUSES_DOCUMENT=docs/causes.md build/tests/test-rule-incidents");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_told_of_each),
		cmocka_unit_test(confusion),
		cmocka_unit_test(every_cause_has_both),
		cmocka_unit_test(no_sentence_contradicts_what_was_measured),
		cmocka_unit_test(document_is_up_to_date),
	};

	return cmocka_run_group_tests(tests, read_all, forget);
}
