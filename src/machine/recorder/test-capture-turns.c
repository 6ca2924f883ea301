/* Whom an event's inspections look at, on ticks that a test makes up. */
#include "lib/data/test.h"

#include <string.h>

#include "lib/data/clock.h"
#include "machine/recorder/capture-turns.h"

#define PROCESSES 80
#define EVENT	  7

struct machine {
	struct turns turns;
	struct tick tick;
	struct entity *processes[PROCESSES];
	int64_t values[PROCESSES][PROCESS_FEATURE_COUNT];
	int64_t boot;
	uint32_t looked[64]; /* pids, in order */
	unsigned n_looked, phase;
};

static int set_up(void **state)
{
	static struct machine m;

	memset(&m, 0, sizeof(m));
	m.boot = 1000 * NS_PER_SEC;
	for (uint32_t i = 0; i < PROCESSES; i++) {
		m.processes[i] = entity_new(ENTITY_PROCESS, "program");
		assert_non_null(m.processes[i]);
		m.processes[i]->info.id = 100 + i;
		m.processes[i]->info.pid = 1 + i;
		m.processes[i]->fresh = false;
	}
	*state = &m;
	return 0;
}

static int tear_down(void **state)
{
	struct machine *m = *state;

	for (uint32_t i = 0; i < PROCESSES; i++)
		entity_free(m->processes[i]);
	tick_free(&m->tick);
	return 0;
}

static void note_look(uint64_t number, unsigned phase, uint32_t pid, void *data)
{
	struct machine *m = data;

	assert_int_equal(number, EVENT);
	m->phase = phase;
	if (m->n_looked < 64)
		m->looked[m->n_looked++] = pid;
}

/* Each process of the first `n` uses that share of a CPU. */
static void run(struct machine *m, unsigned seconds, const double *shares, size_t n)
{
	while (seconds--) {
		m->boot += NS_PER_SEC;
		tick_begin(&m->tick, m->boot, m->boot);
		for (size_t i = 0; i < n; i++) {
			m->values[i][FEATURE_CPU_TIME] += (int64_t)(shares[i] * 1e9);
			assert_int_equal(tick_put(&m->tick, m->processes[i], m->values[i], FEATURE_BIT(FEATURE_CPU_TIME)), 0);
		}
		turns_tick(&m->turns, &m->tick, note_look, m);
		for (size_t i = 0; i < n; i++)
			m->processes[i]->previous[FEATURE_CPU_TIME] = m->values[i][FEATURE_CPU_TIME];
	}
}

#define RUN(m, seconds, ...) run(m, seconds, (const double[]){__VA_ARGS__}, sizeof((double[]){__VA_ARGS__}) / sizeof(double))

static unsigned looks_at(const struct machine *m, uint32_t pid)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m->n_looked; i++)
		n += m->looked[i] == pid;
	return n;
}

static void largest_of_one_tick_has_no_turn(void **state)
{
	struct machine *m = *state;

	RUN(m, 1, 0, 0);
	turns_begin(&m->turns, EVENT, 1, 0, RESOURCE_CPU);
	RUN(m, 1, 0.8, 1.9); /* the second one for a second only */
	RUN(m, 60, 0.8, 0);
	assert_true(m->n_looked >= 3);
	assert_int_equal(looks_at(m, 2), 0);
	assert_int_equal(looks_at(m, 1), m->n_looked);
}

static void first_turn_is_of_the_whole_phase(void **state)
{
	struct machine *m = *state;

	RUN(m, 1, 0, 0);
	turns_begin(&m->turns, EVENT, 0, 0, RESOURCE_CPU); /* the rule holds, and must for ten seconds */
	RUN(m, 9, 1.6, 0.3);
	assert_int_equal(m->n_looked, 0);
	turns_begin(&m->turns, EVENT, 1, 0, RESOURCE_CPU);
	RUN(m, 1, 0.9, 1.0); /* within the second in which it begins another program uses more */
	assert_int_equal(m->n_looked, 1);
	assert_int_equal(m->looked[0], 1);
	assert_int_equal(m->phase, 1);
	turns_end(&m->turns, EVENT);
	turns_begin(&m->turns, EVENT + 1, 0, 0, RESOURCE_CPU);
	RUN(m, 9, 1.6, 0.3);
	assert_int_equal(turns_end(&m->turns, EVENT + 1), 1); /* it did not last: for the caller to leave alone */
	RUN(m, 9, 1.6, 0.3);
	assert_int_equal(m->n_looked, 1);
}

static void turns_go_round_in_proportion(void **state)
{
	struct machine *m = *state;

	RUN(m, 1, 0, 0, 0);
	turns_begin(&m->turns, EVENT, 1, 0, RESOURCE_CPU);
	RUN(m, 400, 0.5, 0.9, 0.01);
	assert_int_equal(m->looked[0], 2);
	assert_int_equal(m->looked[1], 1);
	assert_int_equal(looks_at(m, 3), 0); /* 0.7 % of what is used */
	assert_int_equal(m->n_looked, 8);    /* after 3, 13, 23, 33, 53, 93, 173 and 333 s */
	assert_true(looks_at(m, 1) >= 2);
}

static void process_that_stopped_has_no_turn(void **state)
{
	struct machine *m = *state;

	RUN(m, 1, 0, 0);
	turns_begin(&m->turns, EVENT, 1, 0, RESOURCE_CPU);
	RUN(m, 40, 1.5, 0.3);
	m->n_looked = 0;
	RUN(m, 30, 0, 0);
	assert_int_equal(m->n_looked, 0); /* none matters */
	RUN(m, 60, 0, 0.3);
	assert_true(m->n_looked > 0);
	assert_int_equal(looks_at(m, 2), m->n_looked);
}

static void more_processes_than_places_do_no_harm(void **state)
{
	struct machine *m = *state;
	double shares[PROCESSES];

	for (size_t i = 0; i < PROCESSES; i++)
		shares[i] = 0.004;
	shares[PROCESSES - 1] = 0.6;
	run(m, 1, shares, PROCESSES);
	turns_begin(&m->turns, EVENT, 1, 0, RESOURCE_CPU);
	run(m, 30, shares, PROCESSES);
	assert_true(m->n_looked > 0);
	assert_int_equal(looks_at(m, PROCESSES), m->n_looked);
}

static void rule_about_a_process_looks_at_it_until_the_phase_ends(void **state)
{
	struct machine *m = *state;

	RUN(m, 1, 0, 0);
	turns_begin(&m->turns, EVENT, 1, 2, RESOURCE_CPU);
	RUN(m, 1, 0.9, 0.1);
	assert_int_equal(m->n_looked, 1); /* at once */
	RUN(m, 100, 0.9, 0.1);
	assert_int_equal(looks_at(m, 2), m->n_looked);
	assert_true(m->n_looked >= 5);
	assert_int_equal(turns_end(&m->turns, EVENT), 0);
	m->n_looked = 0;
	RUN(m, 100, 0.9, 0.1);
	assert_int_equal(m->n_looked, 0);
	turns_begin(&m->turns, EVENT, 2, 2, RESOURCE_CPU);
	RUN(m, 1, 0.9, 0.1);
	assert_int_equal(m->phase, 2);
}

static void a_phase_without_a_turn_names_who_would_have_had_it(void **state)
{
	struct machine *m = *state;

	RUN(m, 1, 0, 0);
	turns_begin(&m->turns, EVENT, 1, 0, RESOURCE_CPU);
	RUN(m, 2, 0.2, 0.9);
	assert_int_equal(m->n_looked, 0);
	assert_int_equal(turns_end(&m->turns, EVENT), 2);
	assert_int_equal(turns_end(&m->turns, EVENT), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

RUN_TESTS(TEST(largest_of_one_tick_has_no_turn), TEST(first_turn_is_of_the_whole_phase), TEST(turns_go_round_in_proportion), TEST(process_that_stopped_has_no_turn),
	  TEST(more_processes_than_places_do_no_harm), TEST(rule_about_a_process_looks_at_it_until_the_phase_ends),
	  TEST(a_phase_without_a_turn_names_who_would_have_had_it))
