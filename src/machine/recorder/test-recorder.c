#include "lib/data/test.h"

#include <string.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "machine/recorder/recorder.h"

static int64_t boot, wall;

static int64_t injected_boot(void)
{
	return boot;
}

static int64_t injected_wall(void)
{
	return wall;
}

static const struct recorder_clock injected = {injected_boot, injected_wall};

static struct recorder *open_recorder(void)
{
	struct recorder_options options = {
		.clock = &injected, .source = {"/proc", "/sys", false, false, 0}, .force_proc = true, .processes_only = true};
	struct recorder *r;
	char *error;

	boot = 1000 * NS_PER_SEC;
	wall = 5000000 * NS_PER_SEC;
	assert_int_equal(recorder_open(&options, &r, &error), 0);
	return r;
}

static bool tick(struct recorder *r, int64_t passed, int64_t step, struct str *frames)
{
	bool stepped;

	boot += passed;
	wall += passed + step;
	stepped = recorder_read_clocks(r, NS_PER_SEC);
	assert_int_equal(recorder_tick(r, frames->len == 0 || stepped, frames), 0);
	return stepped;
}

static bool has_note(const struct dataset *d, const char *text)
{
	for (size_t i = 0; i < d->notes.n; i++)
		if (d->notes.v[i].kind == NOTE_CLOCK && strstr(d->notes.v[i].text, text))
			return true;
	return false;
}

static void read_back(struct str *frames, struct dataset *d)
{
	size_t used;

	assert_int_equal(frames_read(frames->data, frames->len, INT64_MIN, INT64_MAX, d, &used), 0);
	dataset_finish(d);
}

/* CLOCK_BOOTTIME continues while the machine sleeps: what was done is spread over that time, not over a second. */
static void a_sleep_is_noted_and_thins_the_rates(void **state)
{
	struct recorder *r = open_recorder();
	struct str frames = {};
	struct dataset d = {};
	const struct subject *self = NULL;

	tick(r, 0, 0, &frames);
	tick(r, NS_PER_SEC, 0, &frames);
	assert_false(tick(r, 3600 * NS_PER_SEC, 0, &frames));
	read_back(&frames, &d);
	assert_true(has_note(&d, "nothing recorded for 60 min"));
	assert_int_equal(d.ticks.v[2].span, 3600 * NS_PER_SEC);
	for (size_t i = 0; i < d.subjects.n; i++)
		if (d.subjects.v[i]->info.pid == (uint32_t)getpid())
			self = d.subjects.v[i];
	assert_non_null(self);
	assert_true(subject_value(&d, self, FEATURE_CPU_TIME, 2) < 1e9);
	dataset_free(&d);
	recorder_close(r);
	str_free(&frames);
}

/* Wall time steps back by two hours: noted, no rate is touched, and later moments are found by their own time. */
static void a_step_of_the_clock_moves_no_rate(void **state)
{
	struct recorder *r = open_recorder();
	struct str frames = {};
	struct dataset d = {};

	tick(r, 0, 0, &frames);
	tick(r, NS_PER_SEC, 0, &frames);
	assert_true(tick(r, NS_PER_SEC, -7200 * NS_PER_SEC, &frames));
	tick(r, NS_PER_SEC, 0, &frames);
	assert_true(tick(r, NS_PER_SEC, 60 * NS_PER_SEC, &frames));
	read_back(&frames, &d);
	assert_int_equal(d.ticks.n, 5);
	for (size_t i = 1; i < 5; i++)
		assert_int_equal(d.ticks.v[i].span, NS_PER_SEC);
	assert_true(has_note(&d, "set back by 2 h"));
	assert_true(has_note(&d, "set forward by 60 s"));
	assert_int_equal(dataset_find_wall(&d, d.ticks.v[3].wall), 3);
	assert_int_equal(dataset_find_wall(&d, d.ticks.v[4].wall), 4);
	dataset_free(&d);
	recorder_close(r);
	str_free(&frames);
}

RUN_TESTS(cmocka_unit_test(a_sleep_is_noted_and_thins_the_rates), cmocka_unit_test(a_step_of_the_clock_moves_no_rate))
