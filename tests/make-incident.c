/* Writes the events of a made-up incident, two seconds of two CPUs: make-incident FILE.trace [more]
 * or profiles of the same programs, kept of the last minute, and of the same of yesterday: make-incident FOLDER profiles
 *
 * "the culprit" and "bystander" share CPU 0, four milliseconds each. "editor", on CPU 1, waits ten times a second for a kernel's lock
 * that the culprit holds (29 ms), then for the disk (25 ms). Samples with stacks every 20 ms; with `more` the culprit also calls `rebuild`
 * in its innermost function, which is what a difference of two flame graphs shows. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "machine/trace/profile-file.h"
#include "machine/trace/trace-file.h"

#define MS	1000000ull
#define BEGIN	(1000 * MS)
#define PERIODS 20
#define PERIOD	(100 * MS)
#define DISK	(8u << 20)
#define WALL	1700000000000000000ll /* of CLOCK_MONOTONIC 0 */

enum { GUILTY = 101, INNOCENT = 102, EDITOR = 103 };
enum { STACK_SORT = 1, STACK_REBUILD, STACK_DRAW, STACK_SAVE, STACK_LOCK, STACK_DISK };
enum { MAIN = 0x1000, INDEX = 0x1100, SORT = 0x1200, REBUILD = 0x1300, FRAME = 0x1400, DRAW = 0x1500, EDIT = 0x1600, SAVE = 0x1700, LOCK = 0x1800 };
#define FSYNC 0xffffffff81000100ull
#define WAIT  0xffffffff81000200ull

static struct trace trace;

static void must(int r)
{
	if (r < 0) {
		fprintf(stderr, "make-incident: %s\n", strerror(-r));
		exit(1);
	}
}

static void say(uint64_t time, uint16_t cpu, struct event e)
{
	e.time = time;
	e.cpu = cpu;
	must(trace_add(&trace, &e));
}

static void leave(uint64_t time, uint16_t cpu, uint32_t prev, uint32_t next, struct wait_facts why, uint64_t object)
{
	say(time, cpu, (struct event){.kind = EVENT_SWITCH, .thread = prev, .flags = why.flags,
				      .out = {.next = next, .state = why.state, .call = why.call, .object = object}});
}

static void wake(uint64_t time, uint16_t cpu, uint32_t waker, uint32_t thread, uint8_t flags, uint16_t target)
{
	say(time, cpu, (struct event){.kind = EVENT_WAKEUP, .thread = thread, .flags = flags,
				      .wakeup = {.waker = waker, .target = target, .vector = flags & WAKEUP_IN_IRQ ? 30 : 0}});
}

static void waited(uint64_t time, uint16_t cpu, stack_ref user, stack_ref kernel)
{
	say(time, cpu, (struct event){.kind = EVENT_WAITED, .thread = EDITOR, .waited = {.ip = EDIT, .user = user, .kernel = kernel}});
}

static void block(uint64_t time, uint8_t kind, uint32_t current)
{
	say(time, 1, (struct event){.kind = kind, .thread = current, .flags = BLOCK_WRITE | BLOCK_SYNC,
				    .block = {.request = 7, .device = DISK, .sectors = 8}});
}

/* The one that runs on CPU 0 in the k-th slice of 4 ms. */
static uint32_t on_cpu0(uint64_t k)
{
	return k % 2 ? INNOCENT : GUILTY;
}

static void slices(uint64_t base)
{
	for (uint64_t k = 1; k <= PERIOD / (4 * MS); k++)
		leave(base + 4 * k * MS, 0, on_cpu0(k - 1), on_cpu0(k), (struct wait_facts){0, WAIT_SLICE, 0}, 0);
}

static void sample(uint64_t time, uint16_t cpu, uint32_t thread, stack_ref user, uint64_t ip)
{
	say(time, cpu, (struct event){.kind = EVENT_SAMPLE, .thread = thread, .flags = SAMPLE_USER, .sample = {.ip = ip, .user = user}});
}

static void samples(uint64_t base, bool more)
{
	for (uint64_t at = 1; at < 100; at += 20) {
		uint32_t who = on_cpu0(at / 4);

		if (who == GUILTY)
			sample(base + at * MS, 0, who, more && at > 40 ? STACK_REBUILD : STACK_SORT, SORT);
		else
			sample(base + at * MS, 0, who, STACK_DRAW, DRAW);
	}
	sample(base + 61 * MS, 1, EDITOR, STACK_SAVE, SAVE);
}

/* The editor: a key, the lock, the disk. */
static void edit(uint64_t base)
{
	const struct wait_facts lock = {TASK_STATE_BLOCKED, WAIT_KERNEL_LOCK, CALL_FILE}, disk = {TASK_STATE_BLOCKED, WAIT_IO, CALL_FILE}, idle = {TASK_STATE_SLEEPS, 0, CALL_POLL}, none = {};

	wake(base + MS / 2, 1, 0, EDITOR, WAKEUP_IN_IRQ, 1);
	leave(base + MS / 2 + 50000, 1, 0, EDITOR, none, 0);
	say(base + 3 * MS, 1, (struct event){.kind = EVENT_LOCK, .thread = EDITOR, .flags = LOCK_MUTEX, .lock = {.object = 0x5000, .owner = GUILTY}});
	leave(base + 3 * MS, 1, EDITOR, 0, lock, 0x5000);
	wake(base + 32 * MS + 1000, 0, GUILTY, EDITOR, 0, 1);
	waited(base + 32 * MS + 1000, 0, STACK_LOCK, 0);
	leave(base + 32 * MS + 50000, 1, 0, EDITOR, none, 0);
	block(base + 35 * MS - 2000, EVENT_BLOCK_INSERT, EDITOR);
	block(base + 35 * MS - 1000, EVENT_BLOCK_ISSUE, EDITOR);
	leave(base + 35 * MS, 1, EDITOR, 0, disk, 0);
	block(base + 60 * MS, EVENT_BLOCK_COMPLETE, 0);
	wake(base + 60 * MS + 1000, 1, 0, EDITOR, WAKEUP_IN_IRQ, 1);
	waited(base + 60 * MS + 1000, 1, STACK_SAVE, STACK_DISK);
	say(base + 60 * MS + 9000, 1, (struct event){.kind = EVENT_IRQ, .interrupt = {.took = 12000, .number = 30}});
	leave(base + 60 * MS + 50000, 1, 0, EDITOR, none, 0);
	leave(base + 63 * MS, 1, EDITOR, 0, idle, 0);
}

static void name(uint32_t process, uint64_t address, const char *text)
{
	struct trace_symbol s = {process, address, strdup(text)};

	must(s.name ? VEC_PUSH(trace.symbols, s) : -1);
}

static void stack(stack_ref ref, uint32_t n, const uint64_t *frames)
{
	must(trace_add_stack(&trace, ref, frames, n));
}

static void describe(void)
{
	static const struct {
		uint32_t tid;
		const char *comm;
	} cast[] = {{GUILTY, "guilty"}, {INNOCENT, "innocent"}, {EDITOR, "editor"}};

	for (size_t i = 0; i < sizeof(cast) / sizeof(cast[0]); i++) {
		struct trace_thread t = {.tid = cast[i].tid, .tgid = cast[i].tid, .ns_tid = cast[i].tid, .ns_tgid = cast[i].tid, .prio = 120};

		snprintf(t.comm, sizeof(t.comm), "%s", cast[i].comm);
		must(trace_add_thread(&trace, &t));
	}
	name(GUILTY, MAIN, "main");
	name(GUILTY, INDEX, "index_files");
	name(GUILTY, SORT, "sort_table");
	name(GUILTY, REBUILD, "rebuild");
	name(INNOCENT, MAIN, "main");
	name(INNOCENT, FRAME, "next_frame");
	name(INNOCENT, DRAW, "draw");
	name(EDITOR, MAIN, "main");
	name(EDITOR, EDIT, "edit");
	name(EDITOR, SAVE, "save_file");
	name(EDITOR, LOCK, "lock_index");
	name(0, FSYNC, "do_fsync");
	name(0, WAIT, "wait_on_page");
	stack(STACK_SORT, 3, (const uint64_t[]){SORT, INDEX, MAIN});
	stack(STACK_REBUILD, 4, (const uint64_t[]){REBUILD, SORT, INDEX, MAIN});
	stack(STACK_DRAW, 3, (const uint64_t[]){DRAW, FRAME, MAIN});
	stack(STACK_SAVE, 3, (const uint64_t[]){SAVE, EDIT, MAIN});
	stack(STACK_LOCK, 3, (const uint64_t[]){LOCK, EDIT, MAIN});
	stack(STACK_DISK, 2, (const uint64_t[]){WAIT, FSYNC});
}

/* Frames innermost first, up to NULL. */
static void keep(struct profile *p, const char *program, const char *const *frames, int64_t minute, struct profile_row row)
{
	uint32_t stack[8], n = 0;

	for (; n < 8 && frames[n]; n++)
		must(profile_named_frame(p, frames[n], &stack[n]));
	row.minute = minute;
	must(profile_text(p, program, &row.program));
	must(profile_stack(p, stack, n, &row.stack));
	must(profile_add(p, &row));
}

/* Today sort_table calls rebuild for two seconds, and the editor waits for the culprit's lock twice as long as yesterday. */
static void keep_day(const char *folder, int64_t now, bool today)
{
	static const char *const sort[] = {"sort_table", "index_files", "main", NULL}, *const draw[] = {"draw", "next_frame", "main", NULL},
		   *const rebuild[] = {"rebuild", "sort_table", "index_files", "main", NULL},
		   *const lock[] = {"main", "index_files", "[woken by guilty]", "[waiting for a lock]", "lock_index", "edit", "main", NULL};
	int64_t minute = now / NS_PER_SEC / 60;
	struct profile_file *f;
	struct profile *p;

	must(profile_file_new(folder, &f));
	p = profile_file_profile(f);
	keep(p, "guilty", sort, minute, (struct profile_row){.cpu = 3 * NS_PER_SEC});
	keep(p, "innocent", draw, minute, (struct profile_row){.cpu = NS_PER_SEC});
	keep(p, "editor", lock, minute, (struct profile_row){.waited = (today ? 4 : 2) * NS_PER_SEC});
	if (today)
		keep(p, "guilty", rebuild, minute, (struct profile_row){.cpu = 2 * NS_PER_SEC});
	must(profile_file_save(f, now, 100));
	profile_file_free(f);
}

/* The last whole minute, which must not be yesterday's. */
static int64_t last_minute(void)
{
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	if (tm.tm_hour == 0 && tm.tm_min == 0)
		sleep((unsigned)(61 - tm.tm_sec));
	return clock_wall() - 60 * NS_PER_SEC;
}

static int keep_profiles(const char *folder)
{
	int64_t now = last_minute();

	must(mkdir(folder, 0700));
	keep_day(folder, now - 86400 * NS_PER_SEC, false);
	keep_day(folder, now, true);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[2], "profiles") == 0)
		return keep_profiles(argv[1]);

	bool more = argc > 2 && strcmp(argv[2], "more") == 0;
	int fd = argc > 1 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;

	if (fd < 0) {
		fputs("usage: make-incident FILE.trace [more] | FOLDER profiles\n", stderr);
		return 2;
	}
	must(trace_begin(&trace, 2));
	trace.wall_offset = WALL;
	trace.has_lock_owners = trace.has_wakers = trace.has_block = trace.has_deadlines = true;
	describe();
	wake(BEGIN + 1000, 0, 0, GUILTY, WAKEUP_IN_IRQ, 0);
	wake(BEGIN + 2000, 0, 0, INNOCENT, WAKEUP_IN_IRQ, 0);
	leave(BEGIN + 3000, 0, 0, GUILTY, (struct wait_facts){}, 0);
	for (uint64_t p = 0; p < PERIODS; p++) {
		uint64_t base = BEGIN + p * PERIOD;

		if (p) /* the slices of a period end with bystander running: an unusual number of them */
			leave(base + 10000, 0, INNOCENT, GUILTY, (struct wait_facts){0, WAIT_SLICE, 0}, 0);
		slices(base);
		samples(base, more);
		edit(base);
	}
	for (int i = 0; i < 2; i++) {
		trace.cpus[i].there = true;
		trace.cpus[i].from = BEGIN;
		trace.cpus[i].to = BEGIN + PERIODS * PERIOD;
	}
	trace.from = BEGIN;
	trace.to = trace.frozen = BEGIN + PERIODS * PERIOD;
	must(trace_finish(&trace));
	must(trace_write(&trace, fd));
	trace_clear(&trace);
	return close(fd) < 0;
}
