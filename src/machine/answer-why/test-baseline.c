/* More than one past: what a moment is compared with is chosen, and the answer says which time that was. */
#include "machine/answer-why/test-stored.h"

#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "machine/answer-waits/program-waits.h"
#include "machine/answer-why/why.h"

#define HOUR	 3600
#define DAY	 (24 * HOUR)
#define MB	 1000000ll
#define DAYS	 3
#define AT	 (DAYS * DAY + HOUR) /* the moment asked about */
#define NIGHTLY	 1500		     /* s: for so long before and after the same time of each day a backup reads */
#define BEGUN	 (AT - NIGHTLY + 300)
#define UPGRADED (AT - 2 * HOUR)     /* since then the server reads more */

struct machine {
	struct stored stored;
	struct entity *system, *backup, *server;
	int64_t values[3][FEATURES_MAX];
	bool reads_always; /* its backup runs all day */
};

static struct entity *program(const char *name, const char *exe)
{
	struct entity *e = entity_new(ENTITY_PROCESS, name);

	entity_describe(e, strdup(exe), NULL, NULL, NULL);
	return e;
}

static void record_second(struct machine *m, int second)
{
	bool nightly = m->reads_always || (second % DAY > HOUR - NIGHTLY && second % DAY <= HOUR + NIGHTLY), upgraded = second >= UPGRADED;

	m->values[0][FEATURE_PSI_IO_SOME] += (nightly ? 60 : upgraded ? 30 : 1) * NS_PER_SEC / 100;
	m->values[1][FEATURE_IO_READ_BYTES] += nightly ? 80 * MB : 4096;
	m->values[1][FEATURE_WAIT_DISK] += nightly ? NS_PER_SEC * (upgraded ? 9 : 5) / 10 : NS_PER_SEC / 100;
	m->values[2][FEATURE_IO_READ_BYTES] += upgraded ? 50 * MB : 4096;
	m->values[2][FEATURE_WAIT_DISK] += nightly ? NS_PER_SEC * 4 / 10 : NS_PER_SEC / 100;
	stored_tick_begin(&m->stored, second);
	if (second == UPGRADED)
		tick_note(&m->stored.tick, NOTE_PACKAGE, START + second * NS_PER_SEC, "upgraded server-core:amd64 from 1.0 to 1.1");
	tick_put(&m->stored.tick, m->system, m->values[0], FEATURE_BIT(FEATURE_PSI_IO_SOME));
	tick_put(&m->stored.tick, m->backup, m->values[1], FEATURE_BIT(FEATURE_IO_READ_BYTES) | FEATURE_BIT(FEATURE_WAIT_DISK));
	tick_put(&m->stored.tick, m->server, m->values[2], FEATURE_BIT(FEATURE_IO_READ_BYTES) | FEATURE_BIT(FEATURE_WAIT_DISK));
	stored_tick_end(&m->stored, second);
}

static struct machine *new_machine(void)
{
	struct machine *m = calloc(1, sizeof(*m));

	stored_begin(&m->stored);
	m->system = entity_new(ENTITY_SYSTEM, "machine");
	m->backup = program("backup", "/usr/bin/backup");
	m->server = program("server", "/usr/bin/server");
	return m;
}

/* The three hours before the moment, and the two around the same time of each day before. */
static int set_up(void **state)
{
	struct machine *m = new_machine();

	for (int day = 0; day < DAYS; day++)
		for (int second = 0; second < 2 * HOUR; second++)
			record_second(m, day * DAY + second);
	for (int second = AT - 3 * HOUR; second <= AT; second++)
		record_second(m, second);
	*state = m;
	return 0;
}

static void free_machine(struct machine *m)
{
	entity_free(m->system);
	entity_free(m->backup);
	entity_free(m->server);
	stored_end(&m->stored);
	free(m);
}

static int tear_down(void **state)
{
	free_machine(*state);
	return 0;
}

static struct why_request question(enum baseline baseline, int second, int64_t hours)
{
	return (struct why_request){.at = START + second * NS_PER_SEC, .baseline = baseline, .window = hours * HOUR * NS_PER_SEC + HOUR / 2 * NS_PER_SEC};
}

/* The score of a program; 0 where it does not appear among the suspects. */
static double score_of(const struct answer *a, const char *name)
{
	for (size_t i = 0; i < a->ranking.suspects.n; i++)
		if (strcmp(a->ranking.suspects.v[i].subject->info.name, name) == 0)
			return a->ranking.suspects.v[i].score;
	return 0;
}

static char remarks[2000]; /* of the last answer */

/* The score of a program; *ret_said is the sentence and what it was compared with. */
static double ask(struct machine *m, const struct why_request *request, const char *program, char **ret_said)
{
	struct why_data data = {};
	struct answer a;
	double score;

	assert_int_equal(why_from_store(m->stored.store, request, &data, &a), 0);
	score = score_of(&a, program);
	remarks[0] = '\0';
	VEC_EACH(text, a.remarks)
		snprintf(remarks + strlen(remarks), sizeof(remarks) - strlen(remarks), "%s\n", *text);
	assert_true(asprintf(ret_said, "%s (%s)", a.summary, a.baseline ?: "the time before") > 0);
	answer_free(&a);
	why_data_free(&data);
	return score;
}

static void what_comes_every_day_is_normal_at_this_hour(void **state)
{
	struct why_request before = question(BASELINE_WINDOW, BEGUN, 1), same_hour = question(BASELINE_SAME_HOUR, BEGUN, DAYS * 24);
	char *before_said, *said;
	double alone = ask(*state, &before, "backup", &before_said), known = ask(*state, &same_hour, "backup", &said);

	assert_true(alone > 0.1);
	assert_non_null(strstr(before_said, "backup: io.read_bytes 80 MB/s, normally 4.1 kB/s (the time before)"));
	assert_true(known < 0.2 * alone); /* the server, which was upgraded two hours ago, is what is new at this hour */
	assert_non_null(strstr(said, "server: io.read_bytes 50 MB/s, normally 4.1 kB/s at this hour (the same hour of the days before, since "));
	FREE_ALL(before_said, said);
}

static void an_hour_that_no_day_has_leaves_no_past(void **state)
{
	struct why_request request = question(BASELINE_SAME_HOUR, AT - 2 * HOUR, 1);
	struct machine *m = *state;
	struct why_data data = {};
	struct answer a;

	assert_int_equal(why_from_store(m->stored.store, &request, &data, &a), 0);
	assert_false(a.has_history);
	assert_null(a.baseline);
	answer_free(&a);
	why_data_free(&data);
}

/* Another machine's backup reads all day: there it is normal. A file that cannot be read is reported, and the others count. */
static void what_another_machine_always_does_is_normal(void **state)
{
	struct machine *other = new_machine();
	struct why_request here = question(BASELINE_WINDOW, BEGUN, 1), elsewhere = here;
	char *said, *known_said, text[160];
	double alone = ask(*state, &here, "backup", &said), known;
	char folder[] = "/tmp/test-shipped-XXXXXX", *error = NULL;
	FILE *f;

	other->reads_always = true;
	for (int second = 0; second < 5 * HOUR; second++)
		record_second(other, second);
	assert_non_null(mkdtemp(folder));
	snprintf(text, sizeof(text), "%s/other.db", folder);
	assert_int_equal(store_export(other->stored.store, text, false, &error), 0);
	snprintf(text, sizeof(text), "%s/broken.db", folder);
	f = fopen(text, "w");
	assert_true(f && fputs("no recording", f) >= 0 && fclose(f) == 0);
	elsewhere.elsewhere = folder;
	known = ask(*state, &elsewhere, "backup", &known_said);
	assert_true(known < 0.5 * alone);
	assert_non_null(strstr(remarks, "normally includes what 1 other recording says of the same programs"));
	assert_non_null(strstr(remarks, "not read: "));
	assert_int_equal(unlink(text), 0);
	assert_int_equal(mkdir(text, 0700), 0); /* an empty folder has none */
	elsewhere.elsewhere = text;
	assert_int_equal(why_from_store(((struct machine *)*state)->stored.store, &elsewhere, &(struct why_data){}, &(struct answer){}), -ENOMEDIUM);
	assert_int_equal(rmdir(text), 0);
	snprintf(text, sizeof(text), "%s/other.db", folder);
	assert_true(unlink(text) == 0 && rmdir(folder) == 0);
	free_machine(other);
	FREE_ALL(said, known_said);
}

/* The reads of the server are new in the last hours, and has been so since the upgrade. */
static void since_an_upgrade_all_is_as_it_is_now(void **state)
{
	struct why_request since = question(BASELINE_UPGRADE, AT - NIGHTLY - 60, 1);
	struct machine *m = *state;
	struct why_data data = {};
	struct answer a;

	since.package = "server";
	assert_int_equal(why_from_store(m->stored.store, &since, &data, &a), 0);
	assert_int_equal(a.window_start, START + UPGRADED * NS_PER_SEC);
	assert_non_null(strstr(a.baseline, "since software changed: upgraded server-core:amd64 from 1.0 to 1.1"));
	assert_false(a.culprit_is_named);
	answer_free(&a);
	why_data_free(&data);
	data = (struct why_data){};
	since.package = "serv";
	assert_int_equal(why_from_store(m->stored.store, &since, &data, &a), -ENOPKG);
	why_data_free(&data);
	data = (struct why_data){};
	since.package = NULL;
	since.at = START + (UPGRADED - 60) * NS_PER_SEC;
	assert_int_equal(why_from_store(m->stored.store, &since, &data, &a), -ENOPKG);
	why_data_free(&data);
}

static double normal_disk_waits(struct machine *m, int64_t hours, bool same_hour)
{
	_cleanup_(program_waits_free) struct program_waits p = {};
	const struct viewer root = {};
	int64_t at = START + AT * NS_PER_SEC;

	assert_int_equal(program_waits_read(m->stored.store, "backup", at - hours * HOUR * NS_PER_SEC, at, same_hour, &root, &p), 0);
	VEC_EACH(w, p.waits)
		if (strcmp(w->words, "disks") == 0)
			return w->p90 / 1e9;
	fail();
	return 0;
}

static void waits_of_a_program_have_the_same_pasts(void **state)
{
	assert_true(normal_disk_waits(*state, 2, false) < 0.1);
	assert_true(normal_disk_waits(*state, DAYS * 24 + 1, true) > 0.5);
}

static void hours_of_days_are_found(void **state)
{
	const int64_t hour = HOUR * NS_PER_SEC, at = 1000 * 24 * hour;

	assert_true(store_is_same_hour(at, at, at));
	assert_true(store_is_same_hour(at - 24 * hour, at - 24 * hour, at));
	assert_true(store_is_same_hour(at - 48 * hour - hour / 2, at - 48 * hour - hour / 2, at));
	assert_false(store_is_same_hour(at - 25 * hour, at - 25 * hour, at));
	assert_false(store_is_same_hour(at - 23 * hour, at - 23 * hour, at));
	assert_true(store_is_same_hour(at - 26 * hour, at - 22 * hour, at)); /* all of it lies inside */
	assert_false(store_is_same_hour(at - 23 * hour, at - hour, at));
	assert_false(store_is_same_hour_before(at - hour / 4, at));
	assert_true(store_is_same_hour_before(at - 24 * hour, at));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(what_comes_every_day_is_normal_at_this_hour), cmocka_unit_test(an_hour_that_no_day_has_leaves_no_past),
					   cmocka_unit_test(since_an_upgrade_all_is_as_it_is_now), cmocka_unit_test(waits_of_a_program_have_the_same_pasts),
					   cmocka_unit_test(hours_of_days_are_found), cmocka_unit_test(what_another_machine_always_does_is_normal)};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
