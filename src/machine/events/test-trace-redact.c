/* Another user's part of a trace does not depend on when strangers did what they did, only on how much of a tick they had. */
#include "machine/events/trace-redact.h"

#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/test.h"

#define MS	  1000000ull
#define TICK	  ((uint64_t)VISIBLE_TICK)
#define FROM	  (10 * TICK + 400 * MS)
#define TO	  (14 * TICK + 300 * MS)
#define LOCK_AT	  0x7f0000001000ull
#define KERNEL_AT 0xffffffff81000010ull

enum { MINE = 3, THEIRS = 4, EDITOR = 5, KWORKER = 6, MINE_TOO = 7, THEIR_THREAD = 8 };

static const struct viewer user = {.uid = 1000}, group = {.uid = 1000, .in_group = true}, hidden = {.uid = 1000, .hides_others = true};

static void add(struct trace *t, const struct event *e)
{
	assert_int_equal(trace_add(t, e), 0);
}

static void add_switch(struct trace *t, uint64_t time, uint32_t thread, uint32_t next, uint8_t state)
{
	add(t, &(struct event){.time = time, .thread = thread, .kind = EVENT_SWITCH, .out = {.next = next, .state = state, .call = CALL_POLL}});
}

static void add_threads(struct trace *t)
{
	const struct trace_thread threads[] = {
		{.tid = MINE, .tgid = MINE, .uid = 1000, .comm = "mine"},
		{.tid = MINE_TOO, .tgid = MINE, .uid = 1000, .comm = "mine-too"},
		{.tid = THEIRS, .tgid = THEIRS, .comm = "theirs", .cpu_time = 77, .run_delay = 78, .state_since = 79},
		{.tid = THEIR_THREAD, .tgid = THEIRS, .comm = "their-thread"},
		{.tid = EDITOR, .tgid = EDITOR, .uid = 1001, .comm = "editor"},
		{.tid = KWORKER, .tgid = KWORKER, .flags = THREAD_IS_KERNEL, .comm = "kworker/0:1"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		struct trace_thread one = threads[i];

		one.exe = one.flags & THREAD_IS_KERNEL ? NULL : strdup(one.uid == 1000 ? "/home/me/mine" : "/home/other/private/theirs");
		one.unit = strdup("/user.slice/user-1001.slice/secret/app.scope");
		assert_int_equal(trace_add_thread(t, &one), 0);
	}
}

static void begin(struct trace *t)
{
	assert_int_equal(trace_begin(t, 1), 0);
	t->cpus[0].from = FROM;
	t->cpus[0].to = TO;
	t->cpus[0].written = 12345;
	add_threads(t);
}

/* A key of the editor's user: an interrupt, the kernel's worker, the editor, its request. All from an idle CPU. */
static void press_key(struct trace *t, uint64_t at)
{
	add(t, &(struct event){.time = at, .kind = EVENT_IRQ, .interrupt = {.took = 5000, .number = 1}});
	add(t, &(struct event){.time = at + 1000, .kind = EVENT_WAKEUP, .thread = KWORKER, .flags = WAKEUP_IN_IRQ, .wakeup = {.vector = 1}});
	add_switch(t, at + 2000, 0, KWORKER, 0);
	add(t, &(struct event){.time = at + 10000, .kind = EVENT_WAKEUP, .thread = EDITOR, .wakeup = {.waker = KWORKER}});
	add_switch(t, at + 20000, KWORKER, EDITOR, 1);
	add(t, &(struct event){.time = at + 30000, .kind = EVENT_BLOCK_INSERT, .thread = EDITOR, .block = {.request = at}});
	add(t, &(struct event){.time = at + 40000, .kind = EVENT_SAMPLE, .thread = EDITOR, .sample = {.ip = at}});
	add_switch(t, at + 300000, EDITOR, 0, 1);
}

/* The viewer's thread runs 1 ms in each tenth of a second, at its beginning; keys are pressed when they are. */
static void build(struct trace *t, const uint64_t *keys, size_t n)
{
	size_t k = 0;

	begin(t);
	add_switch(t, FROM, 0, 0, 0);
	for (uint64_t at = FROM + 100 * MS; at < TO; at += 100 * MS) {
		for (; k < n && keys[k] < at; k++)
			press_key(t, keys[k]);
		add(t, &(struct event){.time = at, .kind = EVENT_WAKEUP, .thread = MINE, .wakeup = {.vector = EVENT_TIMER_VECTOR}, .flags = WAKEUP_IN_IRQ});
		add_switch(t, at, 0, MINE, 0);
		add_switch(t, at + MS, MINE, 0, 1);
	}
	assert_int_equal(trace_finish(t), 0);
}

static void assert_same(const struct trace *a, const struct trace *b)
{
	assert_int_equal(a->n_events, b->n_events);
	for (size_t i = 0; i < a->n_events; i++)
		assert_memory_equal(&a->events[i], &b->events[i], sizeof(a->events[i]));
	assert_int_equal(a->threads.n, b->threads.n);
	for (size_t i = 0; i < a->threads.n; i++) {
		struct trace_thread x = a->threads.v[i], y = b->threads.v[i];

		x.exe = x.unit = y.exe = y.unit = NULL;
		assert_memory_equal(&x, &y, sizeof(x));
	}
	assert_memory_equal(a->cpus, b->cpus, sizeof(*a->cpus));
}

/* Three keys in one tick: whichever moments they were pressed at, the other user gets the same bytes. */
static void moments_of_strangers_do_not_show(void **state)
{
	const uint64_t early[] = {11 * TICK + 12 * MS, 11 * TICK + 130 * MS, 11 * TICK + 270 * MS},
		       late[] = {11 * TICK + 505 * MS, 11 * TICK + 733 * MS, 11 * TICK + 981 * MS};
	_cleanup_(trace_clear) struct trace a = {}, b = {};

	build(&a, early, 3);
	build(&b, late, 3);
	assert_int_equal(trace_redact(&a, &user), 0);
	assert_int_equal(trace_redact(&b, &user), 0);
	assert_same(&a, &b);
}

/* Or else the one that asks every millisecond would see the last tick grow, and the first one shrink. */
static void what_lies_in_half_a_tick_does_not_show(void **state)
{
	const uint64_t keys[] = {10 * TICK + 650 * MS, 14 * TICK + 120 * MS};
	_cleanup_(trace_clear) struct trace a = {}, b = {};

	build(&a, keys, 2);
	build(&b, keys, 0);
	assert_int_equal(trace_redact(&a, &user), 0);
	assert_int_equal(trace_redact(&b, &user), 0);
	assert_same(&a, &b);
}

/* Theirs has 40 % of the CPU while nothing else wants it, and its two threads are one. */
static uint64_t build_busy(struct trace *t, uint64_t burst)
{
	uint64_t sum = 0;

	begin(t);
	add_switch(t, FROM, 0, 0, 0);
	for (uint64_t at = FROM + MS; at + burst < TO; at += burst * 5 / 2) {
		uint32_t who = at / MS % 2 ? THEIRS : THEIR_THREAD;

		add_switch(t, at, 0, who, 0);
		add_switch(t, at + burst, who, 0, 1);
		sum += burst;
	}
	assert_int_equal(trace_finish(t), 0);
	return sum;
}

static uint64_t time_of(const struct trace *t, uint32_t process)
{
	uint64_t sum = 0, since = 0;

	for (size_t i = 0; i < t->n_events; i++) {
		const struct event *e = &t->events[i];

		if (e->kind != EVENT_SWITCH)
			continue;
		if (e->thread && trace_thread(t, e->thread, e->time)->tgid == process)
			sum += e->time - since;
		since = e->time;
	}
	return sum;
}

static void sums_stay(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	uint64_t sum;

	sum = build_busy(&t, 700000);
	assert_int_equal(trace_redact(&t, &user), 0);
	assert_true(time_of(&t, THEIRS) > sum - 4 * VISIBLE_SLICE && time_of(&t, THEIRS) < sum + 4 * VISIBLE_SLICE);
	for (size_t i = 1; i < t.n_events; i++)
		assert_true(t.events[i].time == t.events[0].time || t.events[i].time % VISIBLE_SLICE == 0);
}

/* The viewer's thread is ready and waits, 10 ms in each 50, for theirs; the editor runs when the viewer's does not want to. */
static void build_wait(struct trace *t)
{
	begin(t);
	add_switch(t, FROM, 0, 0, 0);
	for (uint64_t at = FROM + 5 * MS; at + 40 * MS < TO; at += 50 * MS) {
		add_switch(t, at, 0, THEIRS, 0);
		add(t, &(struct event){.time = at + MS, .kind = EVENT_WAKEUP, .thread = MINE, .wakeup = {.waker = THEIRS, .since_waking = 99}});
		add_switch(t, at + 11 * MS, THEIRS, MINE, 1);
		add_switch(t, at + 12 * MS, MINE, EDITOR, 1);
		add_switch(t, at + 32 * MS, EDITOR, 0, 1);
	}
	assert_int_equal(trace_finish(t), 0);
}

static void who_waits_sees_for_whom(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	uint64_t woken = 0, waited = 0, theirs = 0;
	uint32_t runs = 0;

	build_wait(&t);
	assert_int_equal(trace_redact(&t, &user), 0);
	for (size_t i = 0; i < t.n_events; i++) {
		const struct event *e = &t.events[i];

		if (e->kind == EVENT_WAKEUP && e->thread == MINE) {
			assert_int_equal(e->wakeup.waker, 0);
			assert_int_equal(e->wakeup.since_waking, 0);
			assert_true(e->flags & WAKEUP_NO_WAKING);
			woken = e->time;
		} else if (e->kind == EVENT_SWITCH) {
			if (woken && runs == THEIRS)
				theirs += e->time - (woken > t.events[i - 1].time ? woken : t.events[i - 1].time);
			if (e->out.next == MINE) {
				waited += e->time - woken;
				woken = 0;
			}
			runs = e->out.next;
		}
	}
	assert_true(waited > 600 * MS);
	assert_true(theirs > waited / 2);
	assert_true(time_of(&t, EDITOR) > 1200 * MS);
}

static const struct event *find_event(const struct trace *t, uint8_t kind, uint32_t thread)
{
	for (size_t i = 0; i < t->n_events; i++)
		if (t->events[i].kind == kind && t->events[i].thread == thread)
			return &t->events[i];
	return NULL;
}

static void no_event_of_a_stranger_is_left(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	const uint64_t keys[] = {11 * TICK + 12 * MS, 12 * TICK + 130 * MS};

	build(&t, keys, 2);
	assert_int_equal(trace_redact(&t, &user), 0);
	for (size_t i = 0; i < t.n_events; i++) {
		assert_int_not_equal(t.events[i].kind, EVENT_IRQ);
		assert_int_not_equal(t.events[i].kind, EVENT_BLOCK_INSERT);
		assert_true(t.events[i].kind != EVENT_WAKEUP || t.events[i].thread == MINE || t.events[i].flags & WAKEUP_NO_WAKING);
	}
	assert_int_equal(find_event(&t, EVENT_SAMPLE, EDITOR)->time, 11 * TICK + TICK / 2);
	assert_int_equal(find_event(&t, EVENT_SAMPLE, EDITOR)->sample.ip, 0);
	assert_int_equal(t.cpus[0].written, 0);
}

static void strangers_are_named_and_no_more(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	const struct trace_thread *theirs;

	build_wait(&t);
	assert_int_equal(trace_redact(&t, &user), 0);
	theirs = trace_thread(&t, THEIRS, TO);
	assert_string_equal(theirs->comm, "theirs");
	assert_true(theirs->flags & THREAD_IS_HIDDEN);
	assert_null(theirs->exe);
	assert_string_equal(theirs->unit, "app.scope");
	assert_int_equal(theirs->cpu_time + theirs->run_delay + theirs->state_since, 0);
	assert_string_equal(trace_thread(&t, MINE, TO)->exe, "/home/me/mine");
	assert_null(trace_thread(&t, THEIR_THREAD, TO));
}

static void with_hidepid_they_have_no_name(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	uint64_t others = 0;

	build_wait(&t);
	assert_int_equal(trace_redact(&t, &hidden), 0);
	for (size_t i = 0; i < t.threads.n; i++) {
		const struct trace_thread *one = &t.threads.v[i];

		assert_true(one->tid == 0 || one->tgid == MINE || strcmp(one->comm, "others") == 0);
		if (one->flags & THREAD_IS_HIDDEN)
			others += time_of(&t, one->tgid);
	}
	assert_true(others > 1800 * MS);
}

static void the_group_sees_all(void **state)
{
	_cleanup_(trace_clear) struct trace a = {}, b = {};

	build_wait(&a);
	build_wait(&b);
	assert_int_equal(trace_redact(&a, &group), 0);
	assert_same(&a, &b);
	assert_string_equal(trace_thread(&a, THEIRS, TO)->exe, "/home/other/private/theirs");
}

/* One of the viewer's, one of another user's; both wait for the lock at one address. */
static void add_places(struct trace *t)
{
	const uint64_t frames[] = {KERNEL_AT, 0x401000}, others[] = {KERNEL_AT, 0x501000};
	uint64_t at = 12 * TICK;

	begin(t);
	trace_add_stack(t, 8, frames, 2);
	trace_add_stack(t, 9, others, 2);
	for (uint32_t thread = MINE; thread <= THEIRS; thread++, at += MS) {
		stack_ref user_stack = thread == MINE ? 8 : 9;

		add_switch(t, at, 0, thread, 0);
		add(t, &(struct event){.time = at + 10, .thread = thread, .kind = EVENT_SAMPLE, .sample = {thread == MINE ? 0x401000 : 0x501000, user_stack, user_stack}});
		add(t, &(struct event){.time = at + 20, .thread = thread, .kind = EVENT_MARKER, .text = "told"});
		add(t, &(struct event){.time = at + 30, .thread = thread, .kind = EVENT_LOCK, .flags = LOCK_MUTEX,
				       .lock = {.object = LOCK_AT, .owner = thread == MINE ? THEIRS : MINE}});
		add(t, &(struct event){.time = at + 30, .thread = thread, .kind = EVENT_SWITCH, .out = {.state = 1, .object = LOCK_AT}});
		assert_int_equal(VEC_PUSH(t->modules, ((struct trace_module){.path = strdup(thread == MINE ? "/bin/mine" : "/bin/theirs")})), 0);
		assert_int_equal(VEC_PUSH(t->mappings, ((struct trace_mapping){thread, thread - MINE, 0x400000, 0x600000, 0})), 0);
	}
	assert_int_equal(VEC_PUSH(t->symbols, ((struct trace_symbol){0, KERNEL_AT, strdup("schedule")})), 0);
	assert_int_equal(trace_finish(t), 0);
}

static void places_and_texts_of_strangers_are_hidden(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	const struct trace_stack *mine;

	add_places(&t);
	assert_int_equal(trace_redact(&t, &user), 0);
	/* the kernel's functions keep their names, not their places */
	mine = trace_stack(&t, find_event(&t, EVENT_SAMPLE, MINE)->sample.user);
	assert_int_equal(mine->n, 2);
	assert_int_equal(mine->frames[1], 0x401000);
	assert_int_not_equal(mine->frames[0], KERNEL_AT);
	assert_string_equal(trace_symbol(&t, 0, mine->frames[0]), "schedule");
	assert_int_equal(trace_stack(&t, 9)->n, 0);
	assert_int_equal(find_event(&t, EVENT_SAMPLE, THEIRS)->sample.user, 0);
	/* one lock is still one lock, and its holder is not reported */
	assert_int_not_equal(find_event(&t, EVENT_LOCK, MINE)->lock.object, LOCK_AT);
	assert_int_equal(find_event(&t, EVENT_LOCK, MINE)->lock.object, find_event(&t, EVENT_SWITCH, MINE)->out.object);
	assert_int_equal(find_event(&t, EVENT_LOCK, MINE)->lock.owner, 0);
	assert_null(find_event(&t, EVENT_LOCK, THEIRS));
	assert_non_null(find_event(&t, EVENT_MARKER, MINE));
	assert_null(find_event(&t, EVENT_MARKER, THEIRS));
	assert_string_equal(t.modules.v[trace_mapping(&t, MINE, 0x401000)->module].path, "/bin/mine");
	assert_null(trace_mapping(&t, THEIRS, 0x501000));
	for (size_t i = 0; i < t.modules.n; i++)
		assert_string_not_equal(t.modules.v[i].path, "/bin/theirs");
}

/* As a damaged file says: no more is asked of the memory than a trace can need. */
static void a_trace_of_centuries_is_refused(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};

	begin(&t);
	add_switch(&t, FROM, 0, THEIRS, 0);
	t.to = t.cpus[0].to = UINT64_MAX / 2;
	assert_int_equal(trace_finish(&t), 0);
	assert_int_equal(trace_redact(&t, &user), -E2BIG);
}

RUN_TESTS(cmocka_unit_test(moments_of_strangers_do_not_show), cmocka_unit_test(what_lies_in_half_a_tick_does_not_show),
	  cmocka_unit_test(sums_stay), cmocka_unit_test(who_waits_sees_for_whom), cmocka_unit_test(no_event_of_a_stranger_is_left),
	  cmocka_unit_test(strangers_are_named_and_no_more), cmocka_unit_test(with_hidepid_they_have_no_name),
	  cmocka_unit_test(the_group_sees_all), cmocka_unit_test(places_and_texts_of_strangers_are_hidden),
	  cmocka_unit_test(a_trace_of_centuries_is_refused))
