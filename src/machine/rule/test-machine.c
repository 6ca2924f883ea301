#include "lib/data/test.h"

#include "lib/data/clock.h"
#include "machine/rule/machine.h"
#include "machine/rule/smooth.h"

enum { LOW, BETWEEN, HIGH_ };

/* Every state, every kind of sample, before and when the time is up. */
static const struct {
	const char *fact;
	enum trigger_state from;
	int64_t elapsed;
	int level;
	enum trigger_state to;
	int64_t now_elapsed;
	enum trigger_action action;
} transitions[] = {
	{"1: begins and stays in Normal", TRIGGER_NORMAL, 0, LOW, TRIGGER_NORMAL, 0, TRIGGER_NOTHING},
	{"between the thresholds is not high", TRIGGER_NORMAL, 0, BETWEEN, TRIGGER_NORMAL, 0,
	 TRIGGER_NOTHING},
	{"2: promoted to High", TRIGGER_NORMAL, 0, HIGH_, TRIGGER_HIGH, 0, TRIGGER_RISE},
	{"3a: back below before the time is up", TRIGGER_HIGH, 4, LOW, TRIGGER_NORMAL, 0, TRIGGER_FALL},
	{"3a: no longer above", TRIGGER_HIGH, 4, BETWEEN, TRIGGER_NORMAL, 0, TRIGGER_FALL},
	{"3: High goes on", TRIGGER_HIGH, 3, HIGH_, TRIGGER_HIGH, 4, TRIGGER_NOTHING},
	{"3b: promoted to Diagnosis", TRIGGER_HIGH, 4, HIGH_, TRIGGER_DIAGNOSIS, 0, TRIGGER_BEGIN},
	{"4: remains at Diagnosis", TRIGGER_DIAGNOSIS, 0, HIGH_, TRIGGER_DIAGNOSIS, 0, TRIGGER_COLLECT},
	{"4: between the thresholds it remains", TRIGGER_DIAGNOSIS, 0, BETWEEN, TRIGGER_DIAGNOSIS, 0,
	 TRIGGER_COLLECT},
	{"4: advances to Normal-Wait", TRIGGER_DIAGNOSIS, 0, LOW, TRIGGER_NORMAL_WAIT, 0, TRIGGER_PAUSE},
	{"5a: regresses to Diagnosis", TRIGGER_NORMAL_WAIT, 6, HIGH_, TRIGGER_DIAGNOSIS, 0, TRIGGER_RESUME},
	{"5b: remains in Normal-Wait", TRIGGER_NORMAL_WAIT, 5, LOW, TRIGGER_NORMAL_WAIT, 6, TRIGGER_NOTHING},
	{"5b: between, the time begins anew", TRIGGER_NORMAL_WAIT, 5, BETWEEN, TRIGGER_NORMAL_WAIT, 0,
	 TRIGGER_NOTHING},
	{"5c: back to Normal", TRIGGER_NORMAL_WAIT, 6, LOW, TRIGGER_NORMAL, 0, TRIGGER_END},
};

static void every_transition(void **state)
{
	const struct trigger_limits limits = {5 * NS_PER_SEC, 7 * NS_PER_SEC};

	for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
		struct trigger t = {.state = transitions[i].from,
				    .elapsed = transitions[i].elapsed * NS_PER_SEC};
		struct trigger_sample s = {NS_PER_SEC, transitions[i].level == HIGH_,
					   transitions[i].level == LOW};
		enum trigger_action action;

		t = trigger_step(t, &limits, &s, &action);
		if (t.state != transitions[i].to || t.elapsed != transitions[i].now_elapsed * NS_PER_SEC ||
		    action != transitions[i].action)
			fail_msg("%s", transitions[i].fact);
	}
}

static void without_durations_it_begins_and_ends_at_once(void **state)
{
	const struct trigger_limits limits = {};
	struct trigger t = {};
	enum trigger_action action;

	t = trigger_step(t, &limits, &(struct trigger_sample){NS_PER_SEC, true, false}, &action);
	assert_int_equal(action, TRIGGER_BEGIN);
	t = trigger_step(t, &limits, &(struct trigger_sample){NS_PER_SEC, false, true}, &action);
	assert_int_equal(action, TRIGGER_END);
	assert_int_equal(t.state, TRIGGER_NORMAL);
}

/* CPU utilisation of the article's figure 2 at a second, in percent. */
static double figure_2(int second)
{
	if (second < 50 || second >= 170)
		return 12;
	if ((second >= 109 && second < 112) || (second >= 149 && second < 152))
		return 40;
	return 93;
}

static void two_dips_are_one_event_in_three_phases(void **state)
{
	const struct trigger_limits limits = {5 * NS_PER_SEC, 5 * NS_PER_SEC};
	unsigned counted[TRIGGER_FALL + 1] = {}, phases = 0;
	struct trigger t = {};
	int began = 0, ended = 0;

	for (int second = 0; second < 220; second++) {
		bool high = figure_2(second) >= 85;
		enum trigger_action action;

		t = trigger_step(t, &limits, &(struct trigger_sample){NS_PER_SEC, high, !high}, &action);
		counted[action]++;
		phases = t.phases ? t.phases : phases;
		began = action == TRIGGER_BEGIN ? second : began;
		ended = action == TRIGGER_END ? second : ended;
	}
	assert_int_equal(counted[TRIGGER_BEGIN], 1);
	assert_int_equal(counted[TRIGGER_END], 1);
	assert_int_equal(counted[TRIGGER_RESUME], 2);
	assert_int_equal(counted[TRIGGER_PAUSE], 3);
	assert_int_equal(phases, 3);
	assert_int_equal(began, 55);
	assert_int_equal(ended, 175);
}

static void smoothed_values(void **state)
{
	static const double values[] = {1, 2, 100, 3, 4};
	struct smoother average = {}, median = {}, robust = {};
	double a = 0, m = 0, o = 0;

	for (size_t i = 0; i < 5; i++) {
		a = smooth(&average, SMOOTHING_AVERAGE, 3, values[i]);
		m = smooth(&median, SMOOTHING_MEDIAN, 5, values[i]);
		o = smooth(&robust, SMOOTHING_NO_OUTLIERS, 5, values[i]);
	}
	assert_true(a == (100.0 + 3 + 4) / 3);
	assert_true(m == 3);
	assert_true(o == 2.5); /* 100 is left out */
	assert_true(smooth(&median, SMOOTHING_MEDIAN, 5, 4) == 4);
}

RUN_TESTS(cmocka_unit_test(every_transition), cmocka_unit_test(without_durations_it_begins_and_ends_at_once),
	  cmocka_unit_test(two_dips_are_one_event_in_three_phases), cmocka_unit_test(smoothed_values))
