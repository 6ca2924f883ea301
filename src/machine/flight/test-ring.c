/* Slots that are torn, stale or never written do not become events; and where the kernel allows it, a real ring tells of
 * a wake-up that the test causes. */
#include "machine/flight/ring-inside.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/test.h"
#include "machine/flight/test-sleeper.h"

#define SLOTS 8

static void write_slot(struct event *slots, uint64_t at, uint64_t time)
{
	slots[at % SLOTS] = (struct event){.time = time, .thread = 1, .cpu = (uint16_t)(at / SLOTS), .kind = EVENT_SWITCH};
}

static void reads_a_ring_that_is_not_full(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	struct event slots[SLOTS] = {};

	trace_begin(&t, 3);
	for (uint64_t i = 5; i < 9; i++)
		write_slot(slots, i, 100 + i);
	assert_int_equal(ring_read_slice(&(struct ring_slice){slots, SLOTS, 5, 9, 50, NULL, NULL, 0}, 2, &t), 0);
	assert_int_equal(t.n_events, 4);
	assert_int_equal(t.events[3].time, 108);
	assert_int_equal(t.events[3].cpu, 2);
	assert_int_equal(t.cpus[2].torn, 0);
	assert_int_equal(t.cpus[2].from, 50);
}

static void only_the_newest_are_read_where_that_is_asked(void **state)
{
	struct event slots[SLOTS] = {};
	_cleanup_(trace_clear) struct trace t = {};

	trace_begin(&t, 1);
	for (uint64_t i = 0; i < 7; i++)
		write_slot(slots, i, 100 + i);
	assert_int_equal(ring_read_slice(&(struct ring_slice){slots, SLOTS, 0, 7, 50, NULL, NULL, 3}, 0, &t), 0);
	assert_int_equal(t.n_events, 3);
	assert_int_equal(t.events[0].time, 104);
	assert_int_equal(t.cpus[0].from, 104); /* what is known begins there */
}

static void what_was_overwritten_is_not_covered(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	struct event slots[SLOTS] = {};

	trace_begin(&t, 1);
	for (uint64_t i = 0; i < 21; i++)
		write_slot(slots, i, 100 + i);
	assert_int_equal(ring_read_slice(&(struct ring_slice){slots, SLOTS, 0, 21, 50, NULL, NULL, 0}, 0, &t), 0);
	assert_int_equal(t.n_events, SLOTS);
	assert_int_equal(t.cpus[0].from, 113);
	assert_int_equal(t.cpus[0].written, 21);
}

static void torn_slots_are_counted(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	struct event slots[SLOTS] = {};

	trace_begin(&t, 1);
	for (uint64_t i = 0; i < 16; i++)
		write_slot(slots, i, 100 + i);
	slots[3].kind = EVENT_NONE; /* was being written */
	slots[5].cpu = 0;	    /* reserved in this lap, and still of the one before */
	assert_int_equal(ring_read_slice(&(struct ring_slice){slots, SLOTS, 0, 16, 50, NULL, NULL, 0}, 0, &t), 0);
	assert_int_equal(t.n_events, SLOTS - 2);
	assert_int_equal(t.cpus[0].torn, 2);
}

/* A switch that the kernel did not tell of is reported when the next one is: with the time at which it was. */
static void what_was_told_late_stands_where_it_belongs(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	struct event slots[SLOTS] = {};

	trace_begin(&t, 1);
	for (uint64_t i = 0; i < 5; i++)
		write_slot(slots, i, 100 + 10 * i);
	write_slot(slots, 5, 115);
	write_slot(slots, 6, 150);
	assert_int_equal(ring_read_slice(&(struct ring_slice){slots, SLOTS, 0, 7, 50, NULL, NULL, 0}, 0, &t), 0);
	assert_int_equal(t.n_events, 7);
	assert_int_equal(t.events[2].time, 115);
	assert_int_equal(t.events[3].time, 120);
	assert_int_equal(t.events[6].time, 150);
}

#define PLACES 256

/* Records 0 to 199: the last ones are on the stage only. */
struct half_staged {
	struct event places[PLACES];
	struct ring_stage stage;
};

static void stage_200(struct half_staged *h)
{
	for (uint64_t at = 0; at < 200; at++) {
		struct event e = {.time = 100 + at, .thread = 1, .kind = EVENT_SWITCH};

		h->stage.blocks[at / RING_BLOCK % 2].records[at % RING_BLOCK] = e;
		if (ring_put_away_at(at) <= 200)
			h->places[at] = e;
	}
}

static void the_last_records_are_on_the_stage(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	static struct half_staged h;
	uint64_t live = 200 + 50; /* others write in the meantime */

	trace_begin(&t, 1);
	stage_200(&h);
	assert_int_equal(h.places[128].kind, EVENT_NONE);
	assert_int_equal(ring_read_slice(&(struct ring_slice){h.places, PLACES, 0, 200, 50, &h.stage, &live, 0}, 0, &t), 0);
	assert_int_equal(t.n_events, 200);
	assert_int_equal(t.cpus[0].torn, 0);
	assert_int_equal(t.events[199].time, 299);
}

/* The stage was used again while it was read: what stood there is at its place by now. */
static void what_left_the_stage_is_at_its_place(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	static struct half_staged h;
	uint64_t live = 199 + RING_STAGED + 1;

	trace_begin(&t, 1);
	stage_200(&h);
	for (uint64_t at = 128; at < 200; at++) {
		struct event *staged = &h.stage.blocks[at / RING_BLOCK % 2].records[at % RING_BLOCK];

		h.places[at] = *staged;
		staged->time += 1000; /* a later record's */
	}
	assert_int_equal(ring_read_slice(&(struct ring_slice){h.places, PLACES, 128, 200, 50, &h.stage, &live, 0}, 0, &t), 0);
	assert_int_equal(t.n_events, 72);
	for (size_t i = 0; i < t.n_events; i++)
		assert_int_equal(t.events[i].time, 228 + i);
}

static struct ring *open_with(struct ring_options options)
{
	const char *why = NULL;
	struct ring *r;

	if (ring_open(&options, &r, &why) < 0) {
		print_message("skipped: %s\n", why ? why : "no memory");
		skip();
	}
	return r;
}

static struct ring *open_or_skip(void)
{
	return open_with((struct ring_options){.bytes = 16 << 20, .stacks = true});
}

static void a_life_is_told_from_fork_to_exit(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	size_t naps = 0, woken = 0, came = 0, forks = 0, exits = 0;
	struct ring *r = open_or_skip();
	uint32_t pid = sleeper();

	assert_int_equal(ring_freeze_since(r, 0, 0, &t), 0);
	for (size_t i = 0; i < t.n_events; i++) {
		const struct event *e = &t.events[i];

		came += e->kind == EVENT_SWITCH && e->out.next == pid;
		if (e->thread != pid)
			continue;
		naps += e->kind == EVENT_SWITCH && classify(event_facts(e)) == STATE_TIMER;
		woken += e->kind == EVENT_WAKEUP && !(e->flags & WAKEUP_NEW);
		forks += e->kind == EVENT_FORK && e->fork.parent == (uint32_t)getpid();
		exits += e->kind == EVENT_EXIT && e->exit.code == 3 << 8;
	}
	/* some kernels leave out a few switches in a thousand */
	assert_in_range(naps, 1, 2);
	assert_true(woken >= 2);
	assert_true(came >= 2);
	assert_int_equal(forks, 1);
	assert_int_equal(exits, 1);
	assert_true(trace_thread(&t, pid, t.to)->flags & THREAD_HAS_ENDED);
	ring_close(r);
}

/* Datagrams to this machine itself: each is received in a soft interrupt on its sender's time. */
static void send_datagrams(int n)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(to);
	_cleanup_close_ int in = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), out = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(in, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(getsockname(in, (struct sockaddr *)&to, &size), 0);
	for (int i = 0; i < n; i++)
		assert_int_equal(sendto(out, "x", 1, 0, (struct sockaddr *)&to, size), 1);
}

static void short_soft_interrupts_are_told_together(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	const uint64_t sent = 4000;
	struct ring *r = open_or_skip();
	uint64_t told = 0, took = 0;

	send_datagrams((int)sent);
	assert_int_equal(ring_freeze_since(r, 0, 0, &t), 0);
	for (size_t i = 0; i < t.n_events; i++) {
		const struct event *e = &t.events[i];

		if (e->kind != EVENT_SOFTIRQ || e->interrupt.number != SOFTIRQ_NET_RX || e->thread != (uint32_t)getpid())
			continue;
		told++;
		took += e->interrupt.took;
	}
	print_message("%llu records of %llu ns for %llu datagrams\n", (unsigned long long)told, (unsigned long long)took, (unsigned long long)sent);
	assert_in_range(told, 1, sent / 4);
	assert_true(took > sent * 100); /* and no time is lost: receiving one takes a microsecond */
	ring_close(r);
}

/* The one that looks must not cost a later mark its past. */
static void freezes_leave_the_past_where_it_is(void **state)
{
	struct ring *r = open_or_skip();
	uint32_t pid = sleeper();

	for (int i = 0; i < 4; i++) {
		_cleanup_(trace_clear) struct trace t = {};
		size_t told = 0;

		assert_int_equal(ring_freeze_since(r, 0, 0, &t), 0);
		for (size_t k = 0; k < t.n_events; k++) {
			assert_true(t.events[k].time <= t.frozen);
			told += t.events[k].thread == pid && (t.events[k].kind == EVENT_FORK || t.events[k].kind == EVENT_EXIT);
		}
		assert_int_equal(told, 2);
	}
	ring_close(r);
}

static void two_freezes_do_not_tell_the_same(void **state)
{
	_cleanup_(trace_clear) struct trace t = {}, later = {};
	struct ring *r = open_or_skip();
	uint32_t pid;

	assert_int_equal(ring_freeze_since(r, 0, 0, &t), 0);
	pid = sleeper();
	assert_int_equal(ring_freeze_since(r, t.frozen, 0, &later), 0);
	for (size_t i = 0; i < later.n_events; i++)
		assert_true(later.events[i].time > t.frozen);
	assert_int_equal(trace_append(&t, &later), 0);
	assert_non_null(trace_thread(&t, pid, t.to));
	for (size_t i = 1; i < t.n_events; i++)
		assert_true(t.events[i - 1].time <= t.events[i].time);
	ring_close(r);
}

static void find_self(const struct ring_task *task, void *data)
{
	if (task->who.tid == (uint32_t)getpid())
		*(struct ring_task *)data = *task;
}

/* A thread that waits for `ns` each time, and again at once; until `to`. */
static void wait_again_and_again(struct ring_thread *t, uint64_t ns, uint64_t to)
{
	t->state = STATE_PEER;
	while (t->since + ns <= to) {
		ring_note_longest(t, t->since + ns);
		t->since += ns;
	}
}

static void the_longest_wait_of_the_minutes_before_is_known(void **state)
{
	struct ring_thread t = {.since = 1000 * NS_PER_SEC};
	uint64_t lately, before;

	wait_again_and_again(&t, 30 * NS_PER_MS, 1030 * NS_PER_SEC);
	ring_find_longest(&t, LONGEST_AWAITED, t.since, &lately, &before);
	assert_true(!lately && !before); /* too short a past */
	wait_again_and_again(&t, 30 * NS_PER_MS, 1300 * NS_PER_SEC);
	ring_find_longest(&t, LONGEST_AWAITED, t.since, &lately, &before);
	assert_in_range(lately, 29 * NS_PER_MS, 31 * NS_PER_MS);
	assert_in_range(before, 29 * NS_PER_MS, 31 * NS_PER_MS);
	/* a wait that continues, and one that hides all spells */
	ring_find_longest(&t, LONGEST_AWAITED, t.since + 7 * NS_PER_SEC, &lately, &before);
	assert_int_equal(lately, 7 * NS_PER_SEC);
	assert_in_range(before, 29 * NS_PER_MS, 31 * NS_PER_MS);
	ring_find_longest(&t, LONGEST_AWAITED, t.since + 400 * NS_PER_SEC, &lately, &before);
	assert_int_equal(lately, 400 * NS_PER_SEC);
	assert_in_range(before, 29 * NS_PER_MS, 31 * NS_PER_MS);
	/* each answer is late, and one is just there */
	wait_again_and_again(&t, 2 * NS_PER_SEC, t.since + 12 * NS_PER_SEC);
	ring_find_longest(&t, LONGEST_AWAITED, t.since, &lately, &before);
	assert_in_range(lately, 1999 * NS_PER_MS, 2002 * NS_PER_MS);
	assert_in_range(before, 29 * NS_PER_MS, 31 * NS_PER_MS);
	/* what it sleeps by its own will is none, and kept for itself */
	t.state = STATE_TIMER;
	for (int i = 0; i < 4; i++) {
		ring_note_longest(&t, t.since + 20 * NS_PER_SEC);
		t.since += 20 * NS_PER_SEC;
	}
	ring_find_longest(&t, LONGEST_AWAITED, t.since, &lately, &before);
	assert_in_range(lately, 0, 2002 * NS_PER_MS);
	assert_in_range(before, 29 * NS_PER_MS, 2002 * NS_PER_MS);
	ring_find_longest(&t, LONGEST_SLEPT, t.since, &lately, &before);
	assert_in_range(lately, 19 * NS_PER_SEC, 21 * NS_PER_SEC);
	assert_in_range(before, 19 * NS_PER_SEC, 21 * NS_PER_SEC);
}

static void sums_follow_a_thread(void **state)
{
	struct ring *r = open_or_skip();
	struct ring_task before = {}, after = {};
	volatile uint64_t work = 0;

	assert_int_equal(ring_look(r, find_self, &before), 0);
	nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	for (uint64_t i = 0; i < 100000000; i++)
		work += i;
	(void)work;
	assert_int_equal(ring_look(r, find_self, &after), 0);
	assert_true(before.has_sums && after.has_sums);
	assert_true(after.sum[SUM_IDLE] - before.sum[SUM_IDLE] >= 25000000); /* the timer runs already before it sleeps */
	assert_true(after.sum[SUM_RUNNING] - before.sum[SUM_RUNNING] > 10000000);
	assert_int_equal(after.state, STATE_RUNNING);
	ring_close(r);
}

/* Checking the programs takes the kernel longer than most questions do. A ring that joins another loads none of its own, and sees the same sums. */
static void who_joins_a_ring_loads_nothing(void **state)
{
	struct ring *r = open_or_skip(), *joined;
	struct bpf_link_info link = {};
	struct ring_task own = {}, seen = {};
	struct ring_shared shared, other;
	uint32_t size = sizeof(link);

	(void)state;
	assert_int_equal(ring_shares(r, &shared), 0);
	other = shared;
	other.task_size--;
	assert_int_equal(ring_join(&other, &joined), -ESTALE);
	assert_int_equal(ring_join(&shared, &joined), 0);
	assert_null(joined->skel);
	assert_int_equal(bpf_obj_get_info_by_fd(joined->look, &link, &size), 0);
	assert_int_equal(link.prog_id, shared.look);
	assert_int_equal(ring_look(r, find_self, &own), 0);
	ring_close(r); /* the recorder ends */
	assert_int_equal(ring_look(joined, find_self, &seen), 0);
	assert_int_equal(seen.who.start, own.who.start);
	assert_true(seen.has_sums && seen.sum[SUM_RUNNING] >= own.sum[SUM_RUNNING]);
	ring_close(joined);
}

static void end_and_reap(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* A child that waits, with that number if it is not 0. */
static pid_t child_with_number(pid_t number)
{
	struct clone_args args = {.exit_signal = SIGCHLD, .set_tid = number ? (uintptr_t)&number : 0, .set_tid_size = number ? 1 : 0};
	pid_t child = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (child == 0)
		for (;;)
			pause();
	return child;
}

static struct ring_thread slot_of(const struct ring *r, pid_t number)
{
	uint32_t key = (uint32_t)number & (RING_THREADS - 1);
	struct ring_thread slot = {};

	assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(r->skel->maps.thread_slots), &key, &slot), 0);
	return slot;
}

/* Else more and more of them would be no one's, and asking the kernel takes longer than all the rest of a record. */
static void the_slot_of_one_that_ended_is_taken(void **state)
{
	struct ring *r = open_or_skip();
	bool met = false;

	for (int i = 0; i < 100 && !met; i++) {
		pid_t first = child_with_number(0), second;

		assert_true(first > 0);
		end_and_reap(first);
		if (slot_of(r, first).thread != (uint32_t)first) /* it has one that lives */
			continue;
		second = child_with_number(first ^ RING_THREADS);
		if (second < 0) /* there is such a process */
			continue;
		assert_int_equal(slot_of(r, second).thread, second);
		assert_false(slot_of(r, second).ended);
		end_and_reap(second);
		met = true;
	}
	assert_true(met);
	ring_close(r);
}

struct added_up {
	struct ring *ring;
	uint64_t samples, frames;
	char comm[RING_COMM];
};

static void add_own(const struct ring_profile_key *key, const struct ring_profile_sum *sum, void *data)
{
	struct added_up *a = data;
	uint64_t frames[RING_FRAMES];

	if (key->process != (uint32_t)getpid() || key->state != STATE_RUNNING)
		return;
	a->samples += sum->samples;
	a->frames += ring_copy_stack(a->ring, key->user, frames);
	memcpy(a->comm, sum->comm, sizeof(a->comm));
	assert_int_equal(sum->uid, getuid());
	assert_true(sum->start);
}

/* Works until it was sampled, however busy the machine is; then what was taken is not there any more. */
static void samples_are_added_up_by_process(void **state)
{
	struct ring *r = open_with((struct ring_options){.bytes = 1 << 20, .stacks = true, .profile = true, .keep_profile = true});
	struct added_up a = {.ring = r}, again = {.ring = r};
	volatile uint64_t work = 0;

	ring_profile(r, true);
	for (int k = 0; k < 600 && a.samples < 3; k++) {
		for (uint64_t i = 0; i < 20000000; i++)
			work += i;
		assert_int_equal(ring_take_profile(r, add_own, &a), 0);
	}
	assert_true(work > 0);
	ring_profile(r, false);
	assert_true(a.samples >= 3);
	assert_true(a.frames > 0);
	assert_memory_equal(a.comm, "test-flight-", strlen("test-flight-"));
	assert_int_equal(ring_take_profile(r, add_own, &again), 0);
	again.samples = 0;
	assert_int_equal(ring_take_profile(r, add_own, &again), 0);
	assert_int_equal(again.samples, 0);
	ring_close(r);
}

RUN_TESTS(cmocka_unit_test(samples_are_added_up_by_process), cmocka_unit_test(reads_a_ring_that_is_not_full), cmocka_unit_test(what_was_overwritten_is_not_covered),
	  cmocka_unit_test(only_the_newest_are_read_where_that_is_asked),
	  cmocka_unit_test(torn_slots_are_counted), cmocka_unit_test(what_was_told_late_stands_where_it_belongs),
	  cmocka_unit_test(the_last_records_are_on_the_stage), cmocka_unit_test(what_left_the_stage_is_at_its_place),
	  cmocka_unit_test(a_life_is_told_from_fork_to_exit),
	  cmocka_unit_test(short_soft_interrupts_are_told_together),
	  cmocka_unit_test(freezes_leave_the_past_where_it_is), cmocka_unit_test(two_freezes_do_not_tell_the_same),
	  cmocka_unit_test(the_longest_wait_of_the_minutes_before_is_known), cmocka_unit_test(sums_follow_a_thread), cmocka_unit_test(who_joins_a_ring_loads_nothing),
	  cmocka_unit_test(the_slot_of_one_that_ended_is_taken))
