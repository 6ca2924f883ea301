#include "machine/model/totals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/test.h"

struct world {
	char folder[32];
	struct totals *totals;
	const struct totals_row *rows;
	struct tick tick;
};

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	strcpy(w->folder, "/tmp/test-totals-XXXXXX");
	assert_non_null(mkdtemp(w->folder));
	assert_int_equal(totals_open(w->folder, &w->rows), -ENOENT);
	assert_int_equal(totals_new(w->folder, &w->totals), 0);
	assert_int_equal(totals_open(w->folder, &w->rows), 0);
	*state = w;
	return 0;
}

static int end(void **state)
{
	struct world *w = *state;

	totals_close(w->rows);
	totals_free(w->totals);
	assert_int_equal(rmdir(w->folder), 0);
	tick_free(&w->tick);
	free(w);
	return 0;
}

static const struct totals_row *row_named(const struct world *w, const char *name)
{
	for (size_t i = 0; i < TOTALS_ROWS; i++) {
		const struct totals_row *row = totals_at(w->rows, i);

		if (row && strcmp(row->name, name) == 0)
			return row;
	}
	return NULL;
}

static struct entity *process(const char *name, bool born)
{
	struct entity *e = entity_new(ENTITY_PROCESS, name);

	assert_non_null(e);
	e->fresh = true;
	e->born = born;
	return e;
}

/* A tick with one sample of CPU time; then the entity stands as the encoder leaves it. */
static void sample(struct world *w, struct entity *e, int64_t cpu)
{
	int64_t values[PROCESS_FEATURE_COUNT] = {[FEATURE_CPU_TIME] = cpu, [FEATURE_MEM_ANON] = 4096};

	tick_begin(&w->tick, 1, 1);
	assert_int_equal(tick_put(&w->tick, e, values, FEATURE_BIT(FEATURE_CPU_TIME) | FEATURE_BIT(FEATURE_MEM_ANON)), 0);
	totals_take(w->totals, &w->tick);
	e->previous[FEATURE_CPU_TIME] = cpu;
	e->measured = FEATURE_BIT(FEATURE_CPU_TIME);
	e->fresh = e->changed = false;
	w->tick.samples.n = 0;
}

static void end_of(struct world *w, struct entity *e)
{
	tick_begin(&w->tick, 1, 1);
	assert_int_equal(VEC_PUSH(w->tick.ended, e), 0);
	totals_take(w->totals, &w->tick);
	w->tick.ended.n = 0;
	entity_free(e);
}

/* Sums begin with the recorder, and keep what processes had that ended. */
static void processes_of_a_program_are_added_up(void **state)
{
	struct world *w = *state;
	struct entity *before = process("cc1", false), *born = process("cc1", true);

	sample(w, before, 700);
	sample(w, before, 750);
	sample(w, born, 40);
	sample(w, born, 45);
	assert_int_equal(row_named(w, "cc1")->values[FEATURE_CPU_TIME], 50 + 45);
	assert_int_equal(row_named(w, "cc1")->living, 2);
	assert_true(row_named(w, "cc1")->present == FEATURE_BIT(FEATURE_CPU_TIME)); /* a level is not a sum */
	end_of(w, born);
	assert_int_equal(row_named(w, "cc1")->values[FEATURE_CPU_TIME], 95);
	sample(w, before, 760);
	assert_int_equal(row_named(w, "cc1")->values[FEATURE_CPU_TIME], 105);
	end_of(w, before);
	assert_int_equal(row_named(w, "cc1")->living, 0);
}

static void a_program_is_known_by_its_newest_name(void **state)
{
	struct world *w = *state;
	struct entity *e = process("sh", true);

	sample(w, e, 10);
	free(e->info.name);
	e->info.name = strdup("make");
	e->changed = true;
	sample(w, e, 25);
	assert_int_equal(row_named(w, "sh")->values[FEATURE_CPU_TIME], 10);
	assert_int_equal(row_named(w, "sh")->living, 0);
	assert_int_equal(row_named(w, "make")->values[FEATURE_CPU_TIME], 15);
	end_of(w, e);
}

/* However many programs there are: who ended long ago makes room; where all live, the others are one. */
static void rows_are_bounded(void **state)
{
	struct world *w = *state;
	struct entity *living[TOTALS_ROWS + 10];
	char name[16];

	for (int i = 0; i < 3 * TOTALS_ROWS; i++) {
		struct entity *e;

		snprintf(name, sizeof(name), "gone%c%c%c", 'a' + i / 676, 'a' + i / 26 % 26, 'a' + i % 26);
		e = process(name, true);
		sample(w, e, 1);
		end_of(w, e);
	}
	assert_null(row_named(w, TOTALS_OTHERS));
	for (int i = 0; i < TOTALS_ROWS + 10; i++) {
		snprintf(name, sizeof(name), "here%c%c%c", 'a' + i / 676, 'a' + i / 26 % 26, 'a' + i % 26);
		living[i] = process(name, true);
		sample(w, living[i], 3);
	}
	assert_int_equal(row_named(w, TOTALS_OTHERS)->values[FEATURE_CPU_TIME], 12 * 3); /* one row is theirs, one the recorder's */
	assert_int_equal(row_named(w, "hereaaa")->values[FEATURE_CPU_TIME], 3);
	for (int i = 0; i < TOTALS_ROWS + 10; i++)
		end_of(w, living[i]);
}

static void other_things_have_the_kernels_sums_until_they_end(void **state)
{
	struct world *w = *state;
	struct entity *disk = entity_new(ENTITY_DISK, "sda");
	int64_t values[FEATURES_MAX] = {12345};

	tick_begin(&w->tick, 1, 1);
	assert_int_equal(tick_put(&w->tick, disk, values, FEATURE_BIT(0)), 0);
	totals_take(w->totals, &w->tick);
	w->tick.samples.n = 0;
	assert_int_equal(row_named(w, "sda")->values[0], 12345);
	assert_int_equal(row_named(w, "sda")->kind, ENTITY_DISK);
	end_of(w, disk);
	assert_null(row_named(w, "sda"));
}

static const struct totals_row *row_in(const struct totals_row *rows, const char *name)
{
	for (size_t i = 0; i < TOTALS_ROWS; i++)
		if (totals_at(rows, i) && strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

/* A script of two users and one of a third: whose command line a viewer may not see is a plain python3, and these are one row. */
static void a_viewer_gets_the_names_that_it_may_see(void **state)
{
	static const struct viewer root = {}, one = {.uid = 1000}, alone = {.uid = 1000, .hides_others = true};
	struct world *w = *state;
	struct entity *e[3];
	struct totals_row *rows;

	for (uint32_t i = 0; i < 3; i++) {
		e[i] = process("python3", true);
		e[i]->info.uid = 1000 + i;
		e[i]->info.exe = strdup("/usr/bin/python3");
		e[i]->info.cmdline = strdup(i < 2 ? "python3 /srv/orders.py" : "python3 /home/secret.py");
		e[i]->info.unit = strdup("user.slice/app.slice/orders.service");
		sample(w, e[i], 10 << i);
	}
	assert_int_equal(totals_view(w->rows, &root, &rows), 0);
	assert_int_equal(row_in(rows, "python3 orders.py")->values[FEATURE_CPU_TIME], 30);
	assert_int_equal(row_in(rows, "python3 orders.py")->living, 2);
	assert_int_equal(row_in(rows, "python3 secret.py")->values[FEATURE_CPU_TIME], 40);
	assert_string_equal(row_in(rows, "python3 secret.py")->unit, "user.slice/app.slice/orders.service");
	free(rows);
	assert_int_equal(totals_view(w->rows, &one, &rows), 0);
	assert_int_equal(row_in(rows, "python3 orders.py")->values[FEATURE_CPU_TIME], 10);
	assert_int_equal(row_in(rows, "python3")->values[FEATURE_CPU_TIME], 60);
	assert_string_equal(row_in(rows, "python3")->unit, "orders.service");
	assert_null(row_in(rows, "python3 secret.py"));
	free(rows);
	assert_int_equal(totals_view(w->rows, &alone, &rows), 0);
	assert_non_null(row_in(rows, "python3 orders.py"));
	assert_null(row_in(rows, "python3"));
	free(rows);
	for (size_t i = 0; i < 3; i++)
		end_of(w, e[i]);
}

/* Nothing takes a rule's row from it, and there is one before it found anything. */
static void incidents_are_counted_by_rule(void **state)
{
	struct world *w = *state;
	struct entity *e;
	char name[16];

	totals_count_incidents(w->totals, "cpu", 0, 0);
	assert_int_equal(row_named(w, "cpu")->values[TOTALS_RULE_INCIDENTS], 0);
	totals_count_incidents(w->totals, "cpu", 1, 1);
	totals_count_incidents(w->totals, "cpu", 1, 1);
	totals_count_incidents(w->totals, "cpu", 0, -1);
	for (int i = 0; i < 2 * TOTALS_ROWS; i++) {
		snprintf(name, sizeof(name), "gone%c%c%c", 'a' + i / 676, 'a' + i / 26 % 26, 'a' + i % 26);
		e = process(name, true);
		sample(w, e, 1);
		end_of(w, e);
	}
	assert_int_equal(row_named(w, "cpu")->kind, TOTALS_RULE);
	assert_int_equal(row_named(w, "cpu")->values[TOTALS_RULE_INCIDENTS], 2);
	assert_int_equal(row_named(w, "cpu")->values[TOTALS_RULE_CONTINUING], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(processes_of_a_program_are_added_up, begin, end),
		cmocka_unit_test_setup_teardown(a_program_is_known_by_its_newest_name, begin, end),
		cmocka_unit_test_setup_teardown(rows_are_bounded, begin, end),
		cmocka_unit_test_setup_teardown(other_things_have_the_kernels_sums_until_they_end, begin, end),
		cmocka_unit_test_setup_teardown(incidents_are_counted_by_rule, begin, end),
		cmocka_unit_test_setup_teardown(a_viewer_gets_the_names_that_it_may_see, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
