/* The text of `whyslow waits` about many who waited for one: one line; and of one process who held its lock. */
#include "machine/threads/test-story.h"

#include <errno.h>
#include <string.h>

#include "machine/blame/path.h"
#include "machine/blame/wait-report.h"
#include "machine/view-waits/wait-pivot.h"
#include "machine/view-waits/waits.h"

#define HOLDER	9000
#define PROCESS	50
#define VICTIMS 40
#define LOCK	0x1000

/* Threads of a process wait for a lock that a holder has, which runs all the time on another CPU, until `end`. */
static void wait_for_holder(struct story *s, uint32_t holder, uint32_t first, uint32_t victims, int64_t end)
{
	cast_thread(s, holder, PROCESS, "holder", 0);
	leave(s, 1, (uint16_t)(1 + holder - HOLDER), 0, holder, 0, 0, 0);
	for (uint32_t i = first; i < first + victims; i++) {
		cast_thread(s, 100 + i, PROCESS, "victim", 0);
		leave(s, 10 + 20 * i, 0, 0, 100 + i, 0, 0, 0);
		wait_lock(s, 20 + 20 * i, 0, 100 + i, 0, LOCK + holder, holder);
	}
	for (uint32_t i = first; i < first + victims; i++) {
		wake(s, end + 20 * i, (uint16_t)(1 + holder - HOLDER), holder, 100 + i, 0);
		leave(s, end + 1 + 20 * i, 0, 0, 100 + i, 0, 0, 0);
		leave(s, end + 10 + 20 * i, 0, 100 + i, 0, TASK_STATE_SLEEPS, 0, CALL_POLL);
	}
}

static void begin(struct story *s, uint32_t victims)
{
	story_begin(s, 2);
	wait_for_holder(s, HOLDER, 0, victims, 100000);
	tell(s, 110000);
}

/* Many wait for the one for 0.1 s each, a few for the other for 0.2 s. */
static void begin_two_crowds(struct story *s, uint32_t victims)
{
	story_begin(s, 3);
	wait_for_holder(s, HOLDER, 0, victims, 100000);
	wait_for_holder(s, HOLDER + 1, victims, 6, 200000);
	tell(s, 210000);
}

static char *text_of(void (*tell_story)(struct story *s, uint32_t victims), uint32_t victims)
{
	const struct waits_options o = {.top = 8};
	struct blame_matrix m = {};
	struct story s;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	tell_story(&s, victims);
	assert_int_equal(blame_build(&s.line, 1, s.line.end, NULL, 0, LEVEL_THREAD, &m), 0);
	waits_text(&s.line, &m, &o, f);
	fclose(f);
	blame_matrix_free(&m);
	story_end(&s);
	return text;
}

static void one_holder_and_all_its_victims_are_one_line(void **state)
{
	_cleanup_free_ char *text = text_of(begin, VICTIMS);

	assert_non_null(strstr(text, "\n40 threads waited "));
	assert_non_null(strstr(text, "for a lock because of holder (50) thread 9000: victim (50)"));
	assert_non_null(strstr(text, ", and 37 more\n"));
	assert_null(strstr(text, "others waited less"));
}

static void crowds_are_in_the_order_of_their_time(void **state)
{
	_cleanup_free_ char *text = text_of(begin_two_crowds, VICTIMS);
	const char *many = strstr(text, "\n40 threads waited "), *few = strstr(text, "\n6 threads waited ");

	assert_non_null(many);
	assert_non_null(few);
	assert_true(many < few);
}

static void few_victims_are_told_one_by_one(void **state)
{
	_cleanup_free_ char *text = text_of(begin, 3);

	assert_null(strstr(text, "threads waited"));
	assert_non_null(strstr(text, "victim (50) thread 100 waited "));
}

/* B holds the lock that two threads want, and C has its CPU nearly all the time. Before that, D kept them from a CPU, for less. */
static void begin_inversion(struct story *s)
{
	static const uint64_t sleeps[] = {0xffffffff81000010, 0x5000}, wakes[] = {0x6000};

	story_begin(s, 3);
	cast_thread(s, A, A, "worker", 0);
	cast_thread(s, 100, A, "second", 0);
	cast_thread(s, B, A, "gcworker", 0);
	cast_process(s, C, "urgent");
	assert_int_equal(trace_add_stack(&s->trace, 1, sleeps, 2), 0);
	assert_int_equal(trace_add_stack(&s->trace, 2, wakes, 1), 0);
	leave(s, 1, 1, 0, B, 0, 0, 0);
	leave(s, 2, 0, 0, A, 0, 0, 0);
	leave(s, 2, 2, 0, 100, 0, 0, 0);
	wait_lock(s, 1000, 0, A, 0, LOCK, B);
	wait_lock(s, 1000, 2, 100, 0, LOCK, B);
	leave(s, 1100, 1, B, C, 0, WAIT_CLASS, 0);
	leave(s, 8900, 1, C, B, 0, WAIT_SLICE, 0);
	for (uint32_t i = 0; i < 2; i++) {
		say(s, (struct event){.kind = EVENT_WAKEUP, .cpu = 1, .thread = i ? 100 : A, .wakeup = {.waker = B, .target = (uint16_t)(2 * i), .stack = 2}},
		    9000);
		leave(s, 9001, (uint16_t)(2 * i), 0, i ? 100 : A, 0, 0, 0);
		say(s, (struct event){.kind = EVENT_WAITED, .cpu = (uint16_t)(2 * i), .thread = i ? 100 : A, .waited = {.kernel = 1}}, 9001);
	}
	tell(s, 10000);
}

/* As 'waits PID --path' says it. */
static char *text_of_inversion(void)
{
	const struct waits_options o = {.top = 8};
	struct blame_matrix m = {};
	struct critical_path path = {};
	struct wait_report report;
	struct story s;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	begin_inversion(&s);

	const uint32_t threads[] = {who(&s, A), who(&s, 100)};

	wait_report_init(&report, 1, s.line.end);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		wait_report_add(&report, &s.line.threads.v[threads[i]]);
	assert_int_equal(blame_build(&s.line, 1, s.line.end, threads, 2, LEVEL_THREAD, &m), 0);
	blame_join_victims(&m);
	assert_int_equal(blame_sort_by_holder(&m), 0);
	assert_int_equal(path_build(&s.line, threads[0], 1, s.line.end, &path), 0);
	waits_of_text(&s.line, &(struct waits_of){threads, 2, &m, &report, &path, true}, &o, f);
	fclose(f);
	path_free(&path);
	blame_matrix_free(&m);
	story_end(&s);
	return text;
}

static void who_held_the_lock_and_why_is_said_first(void **state)
{
	_cleanup_free_ char *text = text_of_inversion();
	const char *second = strchr(text, '\n') + 1;

	assert_memory_equal(second, "worker (101) thread gcworker 102 held the lock all the time, because urgent (103) kept it from a CPU for 15.6 ms.\n", 106);
	assert_non_null(strstr(text, "16.0 ms 100 %  worker (101) thread gcworker 102 held it all the time, because urgent (103) kept it"));
	assert_null(strstr(text, "others\n"));
}

static void the_path_has_the_stacks_of_sleeper_and_waker(void **state)
{
	_cleanup_free_ char *text = text_of_inversion();
	const char *path = strstr(text, "The critical path"), *slept = path ? strstr(path, "it slept in 0x5000 > 0xffffffff81000010\n") : NULL;

	assert_non_null(slept);
	assert_non_null(strstr(slept, "worker (101) thread gcworker 102 ended it in 0x6000\n"));
}

static char *kind_of_stack(void *user, const char *const *functions, size_t n)
{
	(void)user;
	return n == 3 && strcmp(functions[1], "0xffffffff81000010_[k]") == 0 && strcmp(functions[2], "woken-by:gcworker") == 0 ? strdup("a known stack") : NULL;
}

/* Both threads waited for gcworker's lock, at the same place, for 8.0 ms: the first group. The other ones are for a CPU. */
static void waits_are_grouped_by_what_is_chosen(void **state)
{
	struct pivot_question q = {.from = 1, .reason = kind_of_stack};
	const struct waits_options o = {.top = 1};
	struct wait_pivot p = {};
	struct story s;
	_cleanup_free_ char *csv = NULL;
	size_t size;
	FILE *f = open_memstream(&csv, &size);

	begin_inversion(&s);
	assert_int_equal(wait_pivot_parse("process,reason,waker,stack", p.chosen, &p.n_chosen), 0);
	q.to = s.line.end;
	assert_int_equal(wait_pivot_make(&s.line, &q, &p), 0);
	assert_true(p.groups.n > 1);
	assert_int_equal(p.groups.v[0].count, 2);
	assert_int_equal(p.groups.v[0].ns, 16 * MS);
	assert_int_equal(p.groups.v[0].median, 8 * MS);
	assert_int_equal(p.groups.v[0].longest, 8 * MS);
	wait_pivot_csv(&p, &o, f);
	fclose(f);
	assert_string_equal(csv, "process,reason,waker,stack,count,sum_ns,median_ns,maximum_ns\n"
				 "worker (101),a known stack,worker (101) thread gcworker 102,0x5000 > 0xffffffff81000010,2,16000000,8000000,8000000\n");
	wait_pivot_free(&p);
	story_end(&s);
}

static void a_median_is_that_of_the_group(void **state)
{
	struct wait_pivot p = {};
	struct story s;

	begin_two_crowds(&s, VICTIMS);
	assert_int_equal(wait_pivot_parse("lock", p.chosen, &p.n_chosen), 0);
	assert_int_equal(wait_pivot_make(&s.line, &(struct pivot_question){.from = 1, .to = s.line.end}, &p), 0);
	for (size_t i = 0; i < p.groups.n; i++) {
		const struct pivot_group *g = &p.groups.v[i];

		if (strcmp(p.texts.v[g->values[0]], "none") == 0)
			continue;
		assert_int_equal(g->count, i ? 6 : VICTIMS);
		assert_int_equal(g->median / MS, i ? 199 : 99);
	}
	wait_pivot_free(&p);
	story_end(&s);
}

static void a_list_of_fields_is_checked(void **state)
{
	static const char *const bad[] = {"", "lock,", ",lock", "lock,lock", "locks", "lock,waker,stack,thread,process"};
	enum pivot_field chosen[PIVOT_CHOSEN_MAX];
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(wait_pivot_parse(bad[i], chosen, &n), -EINVAL);
	assert_int_equal(wait_pivot_parse("lock,waker-stack", chosen, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(chosen[1], PIVOT_WAKER_STACK);
}

RUN_TESTS(cmocka_unit_test(one_holder_and_all_its_victims_are_one_line), cmocka_unit_test(few_victims_are_told_one_by_one),
	  cmocka_unit_test(crowds_are_in_the_order_of_their_time),
	  cmocka_unit_test(who_held_the_lock_and_why_is_said_first), cmocka_unit_test(waits_are_grouped_by_what_is_chosen),
	  cmocka_unit_test(a_median_is_that_of_the_group), cmocka_unit_test(a_list_of_fields_is_checked), cmocka_unit_test(the_path_has_the_stacks_of_sleeper_and_waker))
