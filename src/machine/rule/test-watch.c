#include "lib/data/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/clock.h"
#include "machine/rule/watch.h"

#define PROCESSES 4

/* A machine of two CPUs and some processes, whose counters a test moves. */
struct machine {
	struct tick tick;
	struct entity *system, *cpus[2], *processes[PROCESSES];
	int64_t system_values[SYSTEM_FEATURE_COUNT], cpu_values[2][CPU_FEATURE_COUNT],
		values[PROCESSES][PROCESS_FEATURE_COUNT];
	int64_t boot;
	bool sleeps; /* the processes are left out of ticks */
	struct rules rules;
	struct watch *watch;
	unsigned counted[TRIGGER_FALL + 1];
	struct watch_event last;
	char last_name[32];
};

static struct entity *new_entity(enum entity_kind kind, const char *name, uint32_t id)
{
	struct entity *e = entity_new(kind, name);

	assert_non_null(e);
	e->info.id = id;
	e->measured = UINT64_MAX;
	e->fresh = false;
	return e;
}

static struct machine *machine_new(const char *text)
{
	struct machine *m = calloc(1, sizeof(*m));
	char *error = NULL;

	if (rules_parse(text, "rules", &m->rules, &error) < 0)
		fail_msg("%s", error);
	assert_int_equal(watch_new(&m->rules, &m->watch), 0);
	m->system = new_entity(ENTITY_SYSTEM, "machine", 1);
	m->cpus[0] = new_entity(ENTITY_CPU, "cpu0", 2);
	m->cpus[1] = new_entity(ENTITY_CPU, "cpu1", 3);
	for (uint32_t i = 0; i < PROCESSES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "prog%u", i);
		m->processes[i] = new_entity(ENTITY_PROCESS, name, 10 + i);
		m->processes[i]->info.uid = i;
	}
	m->boot = 1000 * NS_PER_SEC;
	return m;
}

static void machine_free(struct machine *m)
{
	watch_free(m->watch, NULL, NULL);
	rules_free(&m->rules);
	tick_free(&m->tick);
	entity_free(m->system);
	entity_free(m->cpus[0]);
	entity_free(m->cpus[1]);
	for (size_t i = 0; i < PROCESSES; i++)
		entity_free(m->processes[i]);
	free(m);
}

static void count(const struct watch_event *event, void *data)
{
	struct machine *m = data;

	m->counted[event->action]++;
	m->last = *event;
	snprintf(m->last_name, sizeof(m->last_name), "%s", event->entity->info.name);
}

static void remember(struct entity *e, const int64_t *values, size_t n)
{
	memcpy(e->previous, values, n * sizeof(*values));
}

static void run_tick(struct machine *m, int64_t passed)
{
	m->boot += passed;
	tick_begin(&m->tick, m->boot, m->boot);
	for (size_t i = 0; i < PROCESSES; i++)
		if (m->processes[i] && !m->sleeps)
			tick_put(&m->tick, m->processes[i], m->values[i],
				 FEATURES_BELOW(PROCESS_FEATURE_COUNT));
	tick_put(&m->tick, m->cpus[0], m->cpu_values[0], FEATURES_BELOW(CPU_FEATURE_COUNT));
	tick_put(&m->tick, m->cpus[1], m->cpu_values[1], FEATURES_BELOW(CPU_FEATURE_COUNT));
	tick_put(&m->tick, m->system, m->system_values, FEATURES_BELOW(SYSTEM_FEATURE_COUNT));
	watch_tick(m->watch, &m->tick, count, m);
	remember(m->system, m->system_values, SYSTEM_FEATURE_COUNT);
	for (size_t i = 0; i < 2; i++)
		remember(m->cpus[i], m->cpu_values[i], CPU_FEATURE_COUNT);
	for (size_t i = 0; i < PROCESSES; i++)
		remember(m->processes[i], m->values[i], PROCESS_FEATURE_COUNT);
}

/* A second in which pressure was there for a share of the time. */
static void pressure(struct machine *m, double share)
{
	m->system_values[FEATURE_PSI_CPU_SOME] += (int64_t)(share * 1e9);
	run_tick(m, NS_PER_SEC);
}

static void pressures(struct machine *m, double share, unsigned seconds)
{
	while (seconds--)
		pressure(m, share);
}

static void an_event_is_told_from_beginning_to_end(void **state)
{
	struct machine *m = machine_new("when psi.cpu.some > 50 % for 3 s until < 10 % for 2 s capture");

	pressures(m, 0, 3);
	pressures(m, 0.6, 3);
	assert_int_equal(m->counted[TRIGGER_BEGIN], 0);
	pressures(m, 0.9, 1);
	assert_int_equal(m->counted[TRIGGER_BEGIN], 1);
	assert_int_equal(m->last.began, 1004 * NS_PER_SEC);
	assert_true(fabs(m->last.highest - 9e8) < 1e6);
	pressures(m, 0.3, 20); /* neither */
	assert_int_equal(m->counted[TRIGGER_PAUSE], 0);
	pressures(m, 0.05, 3);
	assert_int_equal(m->counted[TRIGGER_PAUSE], 1);
	assert_int_equal(m->counted[TRIGGER_END], 1);
	assert_int_equal(m->last.phases, 1);
	machine_free(m);
}

static void each_process_has_its_own_event(void **state)
{
	struct machine *m =
		machine_new("when process name = \"prog[12]\" user != 2 u1 >= 85 % for 2 s notify");

	run_tick(m, NS_PER_SEC);
	for (unsigned i = 0; i < 4; i++) {
		for (size_t k = 0; k < PROCESSES; k++)
			m->values[k][FEATURE_CPU_TIME] += 900000000;
		run_tick(m, NS_PER_SEC);
	}
	assert_int_equal(m->counted[TRIGGER_BEGIN],
			 1); /* prog0 and prog3 have other names, prog2 another user */
	assert_string_equal(m->last_name, "prog1");
	machine_free(m);
}

static void who_sleeps_on_is_seen_in_every_tick(void **state)
{
	struct machine *m = machine_new("when process name = \"prog1\" threads.count >= 7 for 3 s notify\n"
					"when process name = \"prog[0-2]\" u1 > 50 % for 2 s until u1 < 10 % for 3 s notify");

	m->values[1][FEATURE_THREADS] = 7;
	run_tick(m, NS_PER_SEC);
	m->sleeps = true;
	for (unsigned i = 0; i < 3; i++)
		run_tick(m, NS_PER_SEC);
	assert_int_equal(m->counted[TRIGGER_BEGIN], 1);
	m->sleeps = false;
	for (unsigned i = 0; i < 3; i++) {
		for (size_t k = 0; k < 3; k++)
			m->values[k][FEATURE_CPU_TIME] += 900000000;
		run_tick(m, NS_PER_SEC);
	}
	assert_int_equal(m->counted[TRIGGER_BEGIN], 4);
	m->sleeps = true;
	m->processes[1]->info.id = 99; /* as one that was away when a segment began */
	for (unsigned i = 0; i < 4; i++)
		run_tick(m, NS_PER_SEC);
	assert_int_equal(m->counted[TRIGGER_END], 3);
	machine_free(m);
}

static void who_sleeps_on_is_seen_when_the_machine_changes(void **state)
{
	struct machine *m = machine_new("when process threads.count >= 7 and psi.cpu.some > 20 % for 2 s notify");

	m->values[1][FEATURE_THREADS] = 7;
	pressures(m, 0, 2);
	m->sleeps = true;
	pressures(m, 0, 5);
	assert_int_equal(m->counted[TRIGGER_BEGIN], 0);
	pressures(m, 0.5, 3);
	assert_int_equal(m->counted[TRIGGER_BEGIN], 1);
	assert_string_equal(m->last_name, "prog1");
	pressures(m, 0, 3);
	assert_int_equal(m->counted[TRIGGER_END], 1);
	machine_free(m);
}

/* prog1 is the program itself, prog2 asks it, prog3 is another. */
static void a_question_is_not_caught(const char *rule, unsigned caught)
{
	struct machine *m = machine_new(rule);

	for (size_t i = 0; i < PROCESSES; i++) {
		m->processes[i]->info.exe = strdup(i == 3 ? "/usr/bin/other" : "/usr/bin/whyslow");
		m->processes[i]->info.pid = (uint32_t)(100 + i);
	}
	assert_int_equal(watch_leave_out(m->watch, "/usr/bin/whyslow", 101), 0);
	run_tick(m, NS_PER_SEC);
	for (unsigned i = 0; i < 4; i++) {
		for (size_t k = 1; k < PROCESSES; k++)
			m->values[k][FEATURE_CPU_TIME] += 900000000;
		run_tick(m, NS_PER_SEC);
	}
	assert_int_equal(m->counted[TRIGGER_BEGIN], caught);
	machine_free(m);
}

static void who_asks_is_caught_only_by_name(void **state)
{
	a_question_is_not_caught("when process u1 >= 85 % for 2 s notify", 2);
	a_question_is_not_caught("when process name = \"whyslow\" u1 >= 85 % for 2 s notify", 2);
}

static void a_process_beside_pressure(void **state)
{
	struct machine *m = machine_new("when process u1 >= 85 % and psi.cpu.some > 20 % for 2 s capture");

	run_tick(m, NS_PER_SEC);
	for (unsigned i = 0; i < 5; i++) {
		m->values[0][FEATURE_CPU_TIME] += NS_PER_SEC;
		run_tick(m, NS_PER_SEC);
	}
	assert_int_equal(m->counted[TRIGGER_BEGIN], 0);
	for (unsigned i = 0; i < 5; i++) {
		m->values[0][FEATURE_CPU_TIME] += NS_PER_SEC;
		m->system_values[FEATURE_PSI_CPU_SOME] += NS_PER_SEC / 2;
		run_tick(m, NS_PER_SEC);
	}
	assert_int_equal(m->counted[TRIGGER_BEGIN], 1);
	machine_free(m);
}

/* Equations 1 and 2: one of two CPUs fully used is u1 = 100 %, u2 = 50 %. */
static void both_utilisations(void **state)
{
	struct machine *m = machine_new(
		"a: when u1 >= 99 % capture b: when u2 >= 51 % capture c: when u2 >= 49 % capture\n"
		"d: when process u2 >= 49 % capture e: when process u2 >= 51 % capture");

	run_tick(m, NS_PER_SEC);
	m->cpu_values[0][FEATURE_CORE_USER] += 700000000;
	m->cpu_values[1][FEATURE_CORE_SYSTEM] += 300000000;
	m->cpu_values[1][FEATURE_CORE_IDLE] += 700000000;
	m->values[2][FEATURE_CPU_TIME] += NS_PER_SEC;
	run_tick(m, NS_PER_SEC);
	assert_int_equal(m->counted[TRIGGER_BEGIN], 3);
	machine_free(m);
}

static void frequent_short_spikes(void **state)
{
	struct machine *m =
		machine_new("when psi.cpu.some > 50 % 3 times in 20 s until < 10 % for 30 s capture");

	for (unsigned i = 0; i < 5; i++) { /* every 15 s: too seldom */
		pressures(m, 0.9, 1);
		pressures(m, 0, 14);
	}
	assert_int_equal(m->counted[TRIGGER_BEGIN], 0);
	for (unsigned i = 0; i < 5; i++) {
		pressures(m, 0.9, 2); /* two samples are one spike */
		pressures(m, 0, 5);
	}
	assert_int_equal(m->counted[TRIGGER_BEGIN], 1);
	pressures(m, 0, 40);
	assert_int_equal(m->counted[TRIGGER_END], 1);
	machine_free(m);
}

static void one_outlier_is_smoothed_away(void **state)
{
	struct machine *m =
		machine_new("when median of 5 samples of psi.cpu.some > 50 % until < 40 % for 1 s capture");

	pressures(m, 0.2, 6);
	pressures(m, 1, 2);
	assert_int_equal(m->counted[TRIGGER_BEGIN], 0);
	pressures(m, 1, 1);
	assert_int_equal(m->counted[TRIGGER_BEGIN], 1);
	pressures(m, 0, 2);
	assert_int_equal(m->counted[TRIGGER_PAUSE], 0);
	pressures(m, 0, 3);
	assert_int_equal(m->counted[TRIGGER_END], 1);
	machine_free(m);
}

static void who_ends_ends_the_event(void **state)
{
	struct machine *m = machine_new("when process u1 >= 85 % capture");

	run_tick(m, NS_PER_SEC);
	m->values[1][FEATURE_CPU_TIME] += NS_PER_SEC;
	run_tick(m, NS_PER_SEC);
	assert_int_equal(m->counted[TRIGGER_BEGIN], 1);
	m->boot += NS_PER_SEC;
	tick_begin(&m->tick, m->boot, m->boot);
	assert_int_equal(VEC_PUSH(m->tick.ended, m->processes[1]), 0);
	watch_tick(m->watch, &m->tick, count, m);
	assert_int_equal(m->counted[TRIGGER_END], 1);
	assert_int_equal(m->last.number, 1);
	m->tick.ended.n = 0;
	machine_free(m);
}

/* A value that is missing says nothing: neither that it is high nor that it is low. */
static void what_is_missing_changes_nothing(void **state)
{
	struct machine *m = machine_new("when psi.cpu.some > 50 % for 2 s until < 10 % for 1 s capture");

	pressures(m, 0.9, 5);
	assert_int_equal(m->counted[TRIGGER_BEGIN], 1);
	m->system->measured = 0;
	pressures(m, 0, 5);
	assert_int_equal(m->counted[TRIGGER_PAUSE], 0);
	machine_free(m);
}

#define UP   5
#define DOWN 5

struct pattern {
	unsigned char high[600];
	unsigned n;
	unsigned must,
		may; /* events longer than the threshold + 2 samples, and those within 2 samples of it */
};

static unsigned add(struct pattern *p, unsigned char high, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		p->high[p->n++] = high;
	return n;
}

static unsigned from_to(unsigned from, unsigned to)
{
	return from + (unsigned)random() % (to - from + 1);
}

/* Groups of high times with dips between them (shorter than the time it takes to end), far enough apart. */
static void draw(struct pattern *p)
{
	*p = (struct pattern){};
	add(p, 0, 10);
	while (p->n < 400) {
		unsigned longest = 0, parts = from_to(1, 4);

		for (unsigned i = 0; i < parts; i++) {
			unsigned n = add(p, 1, from_to(1, 14));

			longest = n > longest ? n : longest;
			if (i + 1 < parts)
				add(p, 0, from_to(1, DOWN - 2));
		}
		p->must += longest > UP + 2;
		p->may += longest >= UP - 2 && longest <= UP + 2;
		add(p, 0, from_to(DOWN + 3, 20));
	}
}

static void random_patterns_of_load(void **state)
{
	srandom(20170422);
	for (unsigned i = 0; i < 500; i++) {
		struct machine *m =
			machine_new("when psi.cpu.some >= 85 % for 5 s until < 85 % for 5 s capture");
		struct pattern p;

		draw(&p);
		for (unsigned k = 0; k < p.n; k++) {
			int64_t span = NS_PER_SEC +
				       (random() % 200 - 100) * NS_PER_MS; /* ticks are moved by a tenth */
			double share = p.high[k] ? 0.86 + (double)(random() % 14) / 100
						 : (double)(random() % 84) / 100;

			m->system_values[FEATURE_PSI_CPU_SOME] += (int64_t)(share * (double)span);
			run_tick(m, span);
		}
		assert_in_range(m->counted[TRIGGER_BEGIN], p.must, p.must + p.may);
		assert_int_equal(m->counted[TRIGGER_END], m->counted[TRIGGER_BEGIN]);
		machine_free(m);
	}
}

RUN_TESTS(cmocka_unit_test(an_event_is_told_from_beginning_to_end),
	  cmocka_unit_test(each_process_has_its_own_event), cmocka_unit_test(who_sleeps_on_is_seen_in_every_tick), cmocka_unit_test(who_sleeps_on_is_seen_when_the_machine_changes),
	  cmocka_unit_test(a_process_beside_pressure),
	  cmocka_unit_test(both_utilisations), cmocka_unit_test(frequent_short_spikes),
	  cmocka_unit_test(one_outlier_is_smoothed_away), cmocka_unit_test(who_ends_ends_the_event),
	  cmocka_unit_test(who_asks_is_caught_only_by_name),
	  cmocka_unit_test(what_is_missing_changes_nothing), cmocka_unit_test(random_patterns_of_load))
