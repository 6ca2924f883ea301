/* Ftrace read as the flight recorder's events: format files recorded from a machine, pages put together
 * record by record; and where the kernel allows it, an instance that is made, read and removed. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/data/test.h"
#include "machine/events/test-event-names.h"
#include "machine/flight/test-sleeper.h"
#include "machine/tracefs/tracefs-events.h"
#include "machine/tracefs/tracefs.h"

#define PAGE	  4096
#define PAGES	  4
#define TIME_BITS 27
#define START	  5000000000ull

static struct tracefs_layout layout;

static int read_layout(void **state)
{
	return tracefs_layout_read(FIXTURES "/tracefs", &layout);
}

static int free_layout(void **state)
{
	tracefs_layout_free(&layout);
	return 0;
}

/* --- pages, as the kernel writes them --- */

struct buffer {
	uint8_t bytes[PAGES * PAGE];
	size_t n, at;
	uint64_t time;
};

static void put_word(struct buffer *b, uint32_t word)
{
	memcpy(b->bytes + (b->n - 1) * PAGE + b->at, &word, sizeof(word));
	b->at += sizeof(word);
	*(uint64_t *)(b->bytes + (b->n - 1) * PAGE + 8) = b->at - 16;
}

static void begin(struct buffer *b, uint64_t time)
{
	assert_true(b->n < PAGES);
	b->n++;
	b->at = 16;
	b->time = time;
	memcpy(b->bytes + (b->n - 1) * PAGE, &time, sizeof(time));
}

static void put_record(struct buffer *b, uint64_t time, const void *data, size_t n)
{
	uint64_t delta = time - b->time;

	if (delta >> TIME_BITS) {
		put_word(b, 30 | (uint32_t)(delta & ((1u << TIME_BITS) - 1)) << 5);
		put_word(b, (uint32_t)(delta >> TIME_BITS));
		delta = 0;
	}
	b->time = time;
	if (n <= 28 * 4) {
		put_word(b, (uint32_t)(n / 4) | (uint32_t)delta << 5);
	} else {
		put_word(b, (uint32_t)delta << 5);
		put_word(b, (uint32_t)n + 4);
	}
	for (size_t i = 0; i < n; i += 4) {
		uint32_t word;

		memcpy(&word, (const char *)data + i, sizeof(word));
		put_word(b, word);
	}
}

struct saved_answer {
	enum trace_point point;
	uint32_t thread;
	uint8_t context;
	int64_t values[TRACEFS_VALUES];
	const char *text;
};

static void put_field(uint8_t *record, struct tracefs_field f, const void *value, size_t n)
{
	if (f.size)
		memcpy(record + f.offset, value, n < f.size ? n : f.size);
}

static void tell(struct buffer *b, uint64_t time, struct saved_answer what)
{
	uint8_t record[64] = {};
	const uint16_t id = layout.points[what.point].id;

	put_field(record, layout.type, &id, sizeof(id));
	put_field(record, layout.context, &what.context, 1);
	put_field(record, layout.thread, &what.thread, sizeof(what.thread));
	for (size_t i = 0; i < TRACEFS_VALUES; i++)
		put_field(record, layout.points[what.point].values[i], &what.values[i], sizeof(int64_t));
	if (what.text)
		put_field(record, layout.points[what.point].text, what.text, strlen(what.text));
	put_record(b, START + time, record, sizeof(record));
}

static struct tracefs_pages pages_of(const struct buffer *b, uint16_t cpu)
{
	return (struct tracefs_pages){.layout = &layout, .bytes = b->bytes, .n = b->n, .cpu = cpu};
}

/* --- layout --- */

static void the_layout_is_what_the_format_files_say(void **state)
{
	assert_int_equal(layout.page_size, 4096);
	assert_int_equal(layout.page_data, 16);
	assert_int_equal(layout.points[POINT_SWITCH].id, 372);
	assert_int_equal(layout.points[POINT_SWITCH].values[2].offset, 32);
	assert_int_equal(layout.points[POINT_SWITCH].values[2].size, 8);
	assert_int_equal(layout.points[POINT_SWITCH].text.offset, 8);
	assert_int_equal(layout.of_id.v[372], POINT_SWITCH + 1);
	assert_int_equal(layout.states_mask, 0xff);
	assert_int_equal(layout.states[0], TASK_STATE_SLEEPS);
	assert_int_equal(layout.states[1], TASK_STATE_BLOCKED);
	for (int i = 0; i < POINT_COUNT; i++)
		assert_true(layout.points[i].there);
}

static void a_kernel_without_the_scheduler_s_points_is_refused(void **state)
{
	struct tracefs_layout l;
	char folder[] = "/tmp/whyslow-test-XXXXXX", command[300];

	assert_non_null(mkdtemp(folder));
	snprintf(command, sizeof(command), "cp -r '%s/tracefs/events' %s && rm -r %s/events/lock", FIXTURES, folder, folder);
	assert_int_equal(system(command), 0);
	assert_int_equal(tracefs_layout_read(folder, &l), 0);
	assert_false(l.points[POINT_LOCK].there);
	tracefs_layout_free(&l);
	snprintf(command, sizeof(command), "rm -r %s/events/sched/sched_waking", folder);
	assert_int_equal(system(command), 0);
	assert_int_equal(tracefs_layout_read(folder, &l), -ENOENT);
	snprintf(command, sizeof(command), "echo nonsense >%s/events/header_page", folder);
	assert_int_equal(system(command), 0);
	assert_int_equal(tracefs_layout_read(folder, &l), -EBADMSG);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

/* --- pages --- */

static void times_long_apart_and_several_pages_are_read(void **state)
{
	struct buffer b = {};
	struct tracefs_record r;
	struct tracefs_pages p;

	begin(&b, START);
	tell(&b, 10, (struct saved_answer){POINT_WAKING, .thread = 3, .values = {7}});
	put_word(&b, 29 | 100 << 5); /* padding that takes 8 bytes */
	put_word(&b, 8);
	put_word(&b, 0);
	b.time += 100;
	tell(&b, 1ull << 40, (struct saved_answer){POINT_WAKING, .values = {8}});
	put_word(&b, 31 | 5 << 5); /* the time itself, with its lowest bits 5 */
	put_word(&b, 1u << 20);
	put_record(&b, b.time = 5 | 1ull << 47, "\0\0\0\0", 4); /* none of ours */
	begin(&b, START + (1ull << 48));
	tell(&b, (1ull << 48) + 1, (struct saved_answer){POINT_WAKING, .values = {-2}});
	p = pages_of(&b, 1);
	assert_int_equal(tracefs_next(&p, &r), 1);
	assert_int_equal(r.time, START + 10);
	assert_int_equal(r.thread, 3);
	assert_int_equal(r.values[0], 7);
	assert_int_equal(tracefs_next(&p, &r), 1);
	assert_int_equal(r.time, START + (1ull << 40));
	assert_int_equal(tracefs_next(&p, &r), 1);
	assert_int_equal(r.time, START + (1ull << 48) + 1);
	assert_int_equal(r.values[0], -2);
	assert_int_equal(r.cpu, 1);
	assert_int_equal(tracefs_next(&p, &r), 0);
	assert_int_equal(p.damaged, 0);
}

static void a_cut_page_ends_where_it_is_cut(void **state)
{
	struct buffer b = {};
	struct tracefs_record r;

	begin(&b, START);
	for (uint64_t i = 0; i < 10; i++)
		tell(&b, i, (struct saved_answer){POINT_WAKING, .values = {7}});
	for (uint64_t cut = 0; cut < b.at; cut++) {
		struct tracefs_pages p = pages_of(&b, 0);
		size_t n = 0;

		*(uint64_t *)(b.bytes + 8) = cut;
		while (tracefs_next(&p, &r))
			n++;
		assert_int_equal(n, cut / 68 > 10 ? 10 : cut / 68);
	}
}

static void damage_does_no_harm(void **state)
{
	struct buffer b = {}, broken;
	unsigned seed = 1;

	begin(&b, START);
	for (uint64_t i = 0; i < 50; i++)
		tell(&b, i, (struct saved_answer){(enum trace_point)(i % POINT_COUNT), .thread = 5, .values = {1, 1, 1, 1, 1}});
	for (int round = 0; round < 5000; round++) {
		_cleanup_(trace_clear) struct trace t = {};
		struct tracefs_pages p;

		broken = b;
		for (int i = 0; i < 4; i++)
			broken.bytes[rand_r(&seed) % PAGE] ^= (uint8_t)(1 << rand_r(&seed) % 8);
		p = pages_of(&broken, 0);
		trace_begin(&t, 1);
		assert_int_equal(tracefs_translate(&p, 1, "/nowhere", UINT64_MAX, &t), 0);
		assert_int_equal(trace_finish(&t), 0);
	}
}

/* --- events --- */

static void translate(struct buffer *cpus, uint32_t n, struct trace *t)
{
	struct tracefs_pages pages[4];

	for (uint16_t i = 0; i < n; i++)
		pages[i] = pages_of(&cpus[i], i);
	assert_int_equal(tracefs_translate(pages, n, "/nowhere", UINT64_MAX, t), 0);
}

static const struct event *event(const struct trace *t, enum event_kind kind, size_t n)
{
	for (size_t i = 0; i < t->n_events; i++)
		if (t->events[i].kind == kind && n-- == 0)
			return &t->events[i];
	fail_msg("no %s", trace_event_name(kind));
	return NULL;
}

#define FUTEX_CALL 202

/* On CPU 0 thread 7 waits for a futex; on CPU 1 thread 9 wakes it, which an interrupt of CPU 0 carries out. */
static void a_wait_and_its_waker_are_put_together(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	struct buffer cpus[2] = {};
	const struct event *e;

#ifndef __x86_64__
	skip();
#endif
	begin(&cpus[0], START);
	begin(&cpus[1], START);
	tell(&cpus[0], 100, (struct saved_answer){POINT_CALL, 7, .values = {FUTEX_CALL, 0x1234, 128, 2}});
	tell(&cpus[0], 200, (struct saved_answer){POINT_SWITCH, 7, .values = {7, 120, 1, 0, 120}, .text = "sleeper"});
	tell(&cpus[1], 900, (struct saved_answer){POINT_WAKING, 9, .values = {7}});
	tell(&cpus[0], 950, (struct saved_answer){POINT_WAKEUP, 0, CONTEXT_HARDIRQ, {7, 0}, "sleeper"});
	tell(&cpus[0], 990, (struct saved_answer){POINT_SWITCH, 0, .values = {0, 120, 0, 7, 120}, .text = "swapper/0"});
	tell(&cpus[0], 995, (struct saved_answer){POINT_RETURN, 7, .values = {FUTEX_CALL}});
	tell(&cpus[0], 996, (struct saved_answer){POINT_CALL, 7, .values = {FUTEX_CALL, 0x1234, 128, 0}}); /* a word without a lock */
	tell(&cpus[0], 997, (struct saved_answer){POINT_SWITCH, 7, .values = {7, 120, 1, 0, 120}, .text = "sleeper"});
	trace_begin(&t, 2);
	translate(cpus, 2, &t);
	e = event(&t, EVENT_SWITCH, 0);
	assert_int_equal(classify(event_facts(e)), STATE_LOCK);
	assert_int_equal(e->out.object, 0x1234);
	assert_int_equal(e->out.syscall, FUTEX_CALL);
	e = event(&t, EVENT_WAKEUP, 0);
	assert_int_equal(e->time, START + 950);
	assert_int_equal(e->wakeup.waker, 9);
	assert_int_equal(e->wakeup.since_waking, 50);
	assert_int_equal(e->flags, WAKEUP_REMOTE);
	assert_int_equal(event(&t, EVENT_SWITCH, 1)->out.next, 7);
	assert_int_equal(classify(event_facts(event(&t, EVENT_SWITCH, 2))), STATE_CONDITION);
	assert_int_equal(trace_finish(&t), 0);
	assert_string_equal(trace_thread(&t, 7, START)->comm, "sleeper");
	assert_true(trace_thread(&t, 7, START)->flags & THREAD_HAS_ENDED); /* it is not in /nowhere */
}

/* It leaves ready to run: overtaken by the one that was woken, of a higher class; `preempted` stands above the states. */
static void who_was_overtaken_did_not_sleep(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	struct buffer cpu = {};
	const struct event *e;

	begin(&cpu, START);
	tell(&cpu, 10, (struct saved_answer){POINT_SWITCH, 0, .values = {0, 120, 0, 7, 120}});
	tell(&cpu, 20, (struct saved_answer){POINT_WAKING, 7, CONTEXT_HARDIRQ, {8}, NULL});
	tell(&cpu, 21, (struct saved_answer){POINT_WAKEUP, 7, CONTEXT_HARDIRQ, {8, 0}, NULL});
	tell(&cpu, 30, (struct saved_answer){POINT_SWITCH, 7, .values = {7, 120, 0x101, 8, 98}});
	tell(&cpu, 40, (struct saved_answer){POINT_WAKING, 8, .values = {7}});
	tell(&cpu, 41, (struct saved_answer){POINT_WAKEUP, 8, .values = {7, 0}});
	trace_begin(&t, 1);
	translate(&cpu, 1, &t);
	e = event(&t, EVENT_SWITCH, 1);
	assert_int_equal(classify(event_facts(e)), STATE_PREEMPTED_CLASS);
	assert_int_equal(e->out.object, 8);
	assert_true(e->flags & WAIT_ARRIVAL);
	e = event(&t, EVENT_WAKEUP, 0);
	assert_true(e->flags & WAKEUP_IN_IRQ);
	assert_int_equal(e->wakeup.vector, EVENT_TIMER_VECTOR);
	assert_true(event(&t, EVENT_WAKEUP, 1)->flags & WAKEUP_STILL_QUEUED);
}

/* The end of a request wakes who waited for it: that is a wait for the disk, whatever call it was in. */
static void a_request_s_end_tells_what_was_waited_for(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	struct buffer cpu = {};
	const struct event *e;

	begin(&cpu, START);
	tell(&cpu, 10, (struct saved_answer){POINT_ISSUE, 7, .values = {8 << 20, 4096, 8}, .text = "WS"});
	tell(&cpu, 20, (struct saved_answer){POINT_SWITCH, 7, .values = {7, 120, 2, 0, 120}});
	tell(&cpu, 900, (struct saved_answer){POINT_SOFTIRQ, 0, CONTEXT_HARDIRQ, {4}, NULL});
	tell(&cpu, 910, (struct saved_answer){POINT_COMPLETE, 0, CONTEXT_SOFTIRQ, {8 << 20, 4096, 8, 0}, "WS"});
	tell(&cpu, 920, (struct saved_answer){POINT_WAKING, 0, CONTEXT_SOFTIRQ, {7}, NULL});
	tell(&cpu, 921, (struct saved_answer){POINT_WAKEUP, 0, CONTEXT_SOFTIRQ, {7, 0}, NULL});
	tell(&cpu, 950, (struct saved_answer){POINT_SOFTIRQ_END, 0, CONTEXT_SOFTIRQ, {4}, NULL});
	trace_begin(&t, 1);
	translate(&cpu, 1, &t);
	assert_int_equal(classify(event_facts(event(&t, EVENT_SWITCH, 0))), STATE_DISK);
	e = event(&t, EVENT_BLOCK_ISSUE, 0);
	assert_int_equal(e->flags, BLOCK_WRITE | BLOCK_SYNC);
	assert_int_equal(e->block.request, event(&t, EVENT_BLOCK_COMPLETE, 0)->block.request);
	assert_int_equal(event(&t, EVENT_WAKEUP, 0)->flags, WAKEUP_IN_SOFTIRQ);
	assert_int_equal(event(&t, EVENT_WAKEUP, 0)->wakeup.vector, 4);
	assert_int_equal(event(&t, EVENT_SOFTIRQ, 0)->interrupt.took, 50);
}

static void threads_and_processes_are_told_apart(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	struct buffer cpu = {};

	begin(&cpu, START);
	tell(&cpu, 10, (struct saved_answer){POINT_NEW_TASK, 7, .values = {8, 0x00010000}, .text = "worker"});
	tell(&cpu, 20, (struct saved_answer){POINT_NEW_TASK, 8, .values = {9, 0}, .text = "child"});
	tell(&cpu, 30, (struct saved_answer){POINT_RENAME, 9, .values = {9}, .text = "renamed"});
	tell(&cpu, 40, (struct saved_answer){POINT_EXIT, 9, .values = {9, 1}});
	trace_begin(&t, 1);
	translate(&cpu, 1, &t);
	assert_int_equal(event(&t, EVENT_FORK, 0)->fork.process, 7);
	assert_int_equal(event(&t, EVENT_FORK, 1)->fork.process, 9);
	assert_int_equal(event(&t, EVENT_FORK, 1)->fork.parent_process, 7);
	assert_int_equal(event(&t, EVENT_EXIT, 0)->flags, EXIT_GROUP);
	assert_int_equal(trace_finish(&t), 0);
	assert_string_equal(trace_thread(&t, 9, START + 50)->comm, "renamed");
	assert_int_equal(trace_thread(&t, 8, START + 50)->tgid, 7);
}

/* --- a real one --- */

static struct tracefs *open_or_skip(void)
{
	struct tracefs_options options = {.bytes = 64 << 20}; /* other tests may switch a lot in the meantime */
	const char *why = NULL;
	struct tracefs *f;

	if (tracefs_open(&options, &f, &why) < 0) {
		print_message("skipped: %s\n", why ? why : "no memory");
		skip();
	}
	return f;
}

static size_t own_instances(void)
{
	DIR *folder = opendir("/sys/kernel/tracing/instances");
	char mine[32];
	size_t n = 0;

	snprintf(mine, sizeof(mine), "-%d-", (int)getpid());
	for (struct dirent *e; folder && (e = readdir(folder));)
		n += str_starts(e->d_name, "whyslow-") && strstr(e->d_name, mine);
	if (folder)
		closedir(folder);
	return n;
}

static size_t naps_of(const struct trace *t, uint32_t pid)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_events; i++)
		n += t->events[i].kind == EVENT_SWITCH && t->events[i].thread == pid &&
		     classify(event_facts(&t->events[i])) == STATE_TIMER;
	return n;
}

static void a_life_is_told_and_told_again(void **state)
{
	_cleanup_(trace_clear) struct trace t = {}, again = {}, later = {};
	struct tracefs *f = open_or_skip();
	uint32_t pid = sleeper();

	assert_int_equal(own_instances(), 1);
	assert_int_equal(tracefs_freeze_since(f, 0, &t), 0);
	/* some kernels leave out a few switches in a thousand */
	assert_in_range(naps_of(&t, pid), 1, 2);
	assert_true(trace_thread(&t, pid, t.to)->flags & THREAD_HAS_ENDED);
	assert_int_equal(trace_thread(&t, (uint32_t)getpid(), t.to)->tgid, getpid());
	for (size_t i = 1; i < t.n_events; i++)
		assert_true(t.events[i - 1].time <= t.events[i].time);
	pid = sleeper();
	assert_int_equal(tracefs_freeze_since(f, t.frozen, &later), 0);
	assert_in_range(naps_of(&later, pid), 1, 2);
	for (size_t i = 0; i < later.n_events; i++)
		assert_true(later.events[i].time > t.frozen);
	assert_int_equal(tracefs_freeze_since(f, 0, &again), 0);
	assert_true(again.from <= t.frozen); /* what was read before is still known */
	tracefs_close(f);
	assert_int_equal(own_instances(), 0);
}

static void what_a_killed_recorder_left_is_swept(void **state)
{
	struct tracefs *f = open_or_skip();
	size_t there = own_instances();
	struct stat ns;
	char path[200];

	assert_int_equal(stat("/proc/self/ns/pid", &ns), 0);
	/* this process's number, and another start: something who had it before */
	snprintf(path, sizeof(path), "/sys/kernel/tracing/instances/whyslow-%llu-%d-12345-0", (unsigned long long)ns.st_ino, (int)getpid());
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(own_instances(), there + 1);
	assert_true(tracefs_sweep(NULL) >= 1);
	assert_int_equal(own_instances(), there);
	tracefs_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_layout_is_what_the_format_files_say),
		cmocka_unit_test(a_kernel_without_the_scheduler_s_points_is_refused),
		cmocka_unit_test(times_long_apart_and_several_pages_are_read),
		cmocka_unit_test(a_cut_page_ends_where_it_is_cut),
		cmocka_unit_test(damage_does_no_harm),
		cmocka_unit_test(a_wait_and_its_waker_are_put_together),
		cmocka_unit_test(who_was_overtaken_did_not_sleep),
		cmocka_unit_test(a_request_s_end_tells_what_was_waited_for),
		cmocka_unit_test(threads_and_processes_are_told_apart),
		cmocka_unit_test(a_life_is_told_and_told_again),
		cmocka_unit_test(what_a_killed_recorder_left_is_swept),
	};

	return cmocka_run_group_tests(tests, read_layout, free_layout);
}
