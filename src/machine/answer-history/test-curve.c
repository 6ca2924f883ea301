/* A curve of more than a day, put together from summaries, is the curve that all ticks give. */
#include "machine/answer-why/test-stored.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data/clock.h"
#include "machine/answer-history/curve.h"

#define EVERY	 5				/* s: a tick */
#define HOURS	 28
#define SECONDS	 (HOURS * 3600)
#define RESTART	 (11 * 3600) /* s: another recorder continues */
#define PARTS	 (SECONDS / (2 * SEGMENT))
#define PID	 77
#define KB	 1024ll
#define MEASURED (FEATURE_BIT(FEATURE_CPU_TIME) | FEATURE_BIT(FEATURE_MEM_ANON) | FEATURE_BIT(FEATURE_THREADS))

struct machine {
	struct stored stored;
	struct entity *worker, *late;
	int64_t values[2][FEATURES_MAX];
};

static struct entity *process(const char *name, uint32_t pid)
{
	struct entity *e = entity_new(ENTITY_PROCESS, name);

	e->info.pid = pid;
	e->info.start = 1000;
	return e;
}

/* Works in some hours, more and less; its memory stays, grows, stays, and is another one between two segments (at 20 h). */
static void live(struct machine *m, int second)
{
	int hour = second / 3600;
	bool works = hour % 5 != 3;

	m->values[0][FEATURE_CPU_TIME] += works ? EVERY * NS_PER_SEC / (10 + second / 60 % 17) : 0;
	m->values[0][FEATURE_MEM_ANON] = KB * (hour < 4 ? 50000 : hour < 7 ? 50000 + (second - 4 * 3600) : hour < 20 ? 60800 : 90000);
	m->values[0][FEATURE_THREADS] = second / SEGMENT % 9 == 4 && second % SEGMENT > 300 ? 8 : 4;
	m->values[1][FEATURE_CPU_TIME] += EVERY * NS_PER_SEC / 2;
	m->values[1][FEATURE_MEM_ANON] = 70000 * KB;
	m->values[1][FEATURE_THREADS] = 1;
	stored_tick_begin(&m->stored, second);
	tick_put(&m->stored.tick, m->worker, m->values[0], MEASURED);
	if (hour >= 15 && hour < 18)
		tick_put(&m->stored.tick, m->late, m->values[1], MEASURED);
	if (second == 18 * 3600)
		assert_int_equal(VEC_PUSH(m->stored.tick.ended, m->late), 0);
}

/* The same processes, by other numbers. */
static void begin_anew(struct machine *m)
{
	entity_free(m->worker);
	m->worker = process("worker", PID);
	m->stored.encoder = (struct frame_encoder){.next_id = 1000};
}

static void record(struct machine *m)
{
	for (int second = 0; second < SECONDS; second += EVERY) {
		if (second == RESTART)
			begin_anew(m);
		live(m, second);
		stored_tick_end(&m->stored, second);
	}
}

static int set_up(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));

	stored_begin(&m->stored);
	m->worker = process("worker", PID);
	m->late = process("late", PID + 1);
	record(m);
	*state = m;
	return 0;
}

static int tear_down(void **state)
{
	struct machine *m = *state;

	entity_free(m->worker);
	entity_free(m->late);
	stored_end(&m->stored);
	free(m);
	return 0;
}

static struct curve_request request_of(const char *who, int feature)
{
	return (struct curve_request){.who = who, .feature = (size_t)feature, .at = START + 17 * 3600 * NS_PER_SEC, .from = START,
				      .to = START + SECONDS * NS_PER_SEC, .points = PARTS};
}

static void near(double a, double b)
{
	if (fabs(a - b) > 0.02 * fmax(fabs(a), fabs(b)) || isnan(a) != isnan(b))
		fail_msg("%g is not near %g", a, b);
}

/* Each part against every tick in it. */
static void is_what_the_ticks_say(struct machine *m, const char *who, int feature)
{
	struct curve_request q = request_of(who, feature);
	struct load_filter filter = {curve_wanted, &q, NULL};
	const struct subject *s;
	struct entity_info info;
	struct dataset d = {};
	struct curve c;
	unsigned damaged;

	assert_int_equal(curve_of_summaries(m->stored.store, &q, &info, &c), 0);
	assert_int_equal(c.n, PARTS);
	assert_int_equal(store_load_filtered(m->stored.store, q.from, q.to, &filter, &d, &damaged), 0);
	s = curve_choose(&d, &q);
	assert_int_equal(info.pid, s->info.pid);
	for (size_t i = 0; i < c.n; i++) {
		double low = NAN, high = NAN, sum = 0, n = 0;

		for (uint32_t t = s->first; t <= s->last; t++) {
			double value = subject_value(&d, s, q.feature, t);

			if ((d.ticks.v[t].wall - c.from) / c.step != (int64_t)i || isnan(value))
				continue;
			low = fmin(low, value);
			high = fmax(high, value);
			sum += value;
			n++;
		}
		near(c.low[i], low);
		near(c.high[i], high);
		near(c.mean[i], n > 0 ? sum / n : NAN);
	}
	entity_info_free(&info);
	curve_free(&c);
	dataset_free(&d);
}

static void a_counter(void **state)
{
	is_what_the_ticks_say(*state, "worker", FEATURE_CPU_TIME);
}

static void a_level(void **state)
{
	is_what_the_ticks_say(*state, "worker", FEATURE_MEM_ANON);
	is_what_the_ticks_say(*state, "worker", FEATURE_THREADS);
}

static void one_that_came_and_went(void **state)
{
	is_what_the_ticks_say(*state, "late", FEATURE_CPU_TIME);
	is_what_the_ticks_say(*state, "late", FEATURE_MEM_ANON);
}

static void short_windows_have_every_tick(void **state)
{
	struct machine *m = *state;
	struct curve_request q = request_of("worker", FEATURE_CPU_TIME);
	struct entity_info info;
	struct curve c;

	q.from = q.to - 3600 * NS_PER_SEC;
	q.points = 100000;
	assert_int_equal(curve_read(m->stored.store, &q, &info, &c), 0);
	assert_int_equal(c.n, 3600 / EVERY);
	entity_info_free(&info);
	curve_free(&c);
	q.who = "nobody";
	assert_int_equal(curve_read(m->stored.store, &q, &info, &c), -ESRCH);
	q.from = START;
	assert_int_equal(curve_read(m->stored.store, &q, &info, &c), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_counter), cmocka_unit_test(a_level), cmocka_unit_test(one_that_came_and_went),
		cmocka_unit_test(short_windows_have_every_tick),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
