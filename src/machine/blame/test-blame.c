/* The known stories, as synthetic traces: each nanosecond of a wait is charged to whom the story says. */
#include "machine/blame/path.h"
#include "machine/threads/test-story.h"

#define STORY(s, cpus) _cleanup_(story_end) struct story s; story_begin(&s, cpus); (void)state

/* Figure 3 of "Measuring Processor Utilization and Queuing Delays": A waits for B's lock, and B is kept from its work by
 * interrupts. */
static void figure_3(void **state)
{
	STORY(s, 2);
	cast_thread(&s, A, 100, "a", 0);
	cast_thread(&s, B, 100, "b", 0);
	leave_for(&s, 1, 1, 0, B, 0, 0);
	leave_for(&s, 1, 0, 0, A, 0, 0);
	wait_lock(&s, 100, 0, A, 0, 0x1000, B);
	interrupt(&s, EVENT_IRQ, 200, 700, 1, B, 24);
	interrupt(&s, EVENT_SOFTIRQ, 700, 800, 1, B, 3);
	wake(&s, 900, 1, B, A, 0);
	leave_for(&s, 910, 0, 0, A, 0, 0);
	tell(&s, 1000);
	assert_int_equal(waited(&s, A, FOR_LOCK), 800);
	assert_int_equal(charged(&s, A, FOR_LOCK, BY_IRQ, 24), 500);
	assert_int_equal(charged(&s, A, FOR_LOCK, BY_SOFTIRQ, 3), 100);
	assert_int_equal(charged(&s, A, FOR_LOCK, BY_TASK, B), 200);
	assert_int_equal(charged(&s, A, FOR_CPU, BY_WAKEUP, 0), 10);
}

/* Figure 4: B's slice expires, and another thread of the pool runs instead. */
static void figure_4(void **state)
{
	STORY(s, 1);
	cast_thread(&s, B, 100, "b", 0);
	cast_thread(&s, C, 100, "c", 0);
	leave_for(&s, 1, 0, 0, B, 0, 0);
	wake(&s, 50, 0, B, C, 0);
	leave(&s, 100, 0, B, C, 0, WAIT_SLICE, 0);
	leave(&s, 375, 0, C, B, 0, WAIT_SLICE, 0);
	tell(&s, 500);
	assert_int_equal(in_state(&s, B, STATE_PREEMPTED_SLICE), 275);
	assert_int_equal(charged(&s, B, FOR_CPU, BY_TASK, C), 275);
	assert_int_equal(charged(&s, C, FOR_CPU, BY_TASK, B), 50 + 125);
}

/* B holds A's lock and is preempted by C, which has nothing to do with them: the blame ends at C. */
static void holder_preempted(void **state)
{
	STORY(s, 2);
	cast_thread(&s, A, 100, "a", 0);
	cast_thread(&s, B, 100, "b", 0);
	cast_process(&s, C, "c");
	leave_for(&s, 1, 0, 0, A, 0, 0);
	leave_for(&s, 1, 1, 0, B, 0, 0);
	wait_lock(&s, 100, 0, A, 0, 0x1000, B);
	leave(&s, 200, 1, B, C, 0, WAIT_ARRIVAL, 0);
	leave(&s, 800, 1, C, B, 0, WAIT_SLICE, 0);
	wake(&s, 900, 1, B, A, 0);
	leave_for(&s, 900, 0, 0, A, 0, 0);
	tell(&s, 1000);
	assert_int_equal(charged(&s, A, FOR_LOCK, BY_TASK, C), 600);
	assert_int_equal(charged(&s, A, FOR_LOCK, BY_TASK, B), 200);
	for (size_t i = 0; i < s.blame.cells.n; i++)
		if (s.blame.cells.v[i].victim == who(&s, A) && s.blame.cells.v[i].id == who(&s, C)) {
			assert_int_equal(s.blame.cells.v[i].via, who(&s, B));
			assert_int_equal(s.blame.cells.v[i].root, FOR_CPU);
		}
}

/* The same by two strangers, each for longer than the holder itself ran, and then A waits for a CPU even longer: who held the lock is first. */
static void a_crowd_does_not_hide_the_holder(void **state)
{
	static const struct {
		uint32_t culprit;
		int64_t us, held;
	} order[] = {{B, 200, 800}, {C, 300, 800}, {D, 300, 800}, {E, 450, 450}};
	size_t n = 0;

	STORY(s, 2);
	cast_thread(&s, A, 100, "a", 0);
	cast_thread(&s, B, 100, "b", 0);
	cast_process(&s, C, "c");
	cast_process(&s, D, "d");
	cast_process(&s, E, "e");
	leave_for(&s, 1, 0, 0, A, 0, 0);
	leave_for(&s, 1, 1, 0, B, 0, 0);
	wait_lock(&s, 100, 0, A, E, 0x1000, B);
	leave(&s, 200, 1, B, C, 0, WAIT_ARRIVAL, 0);
	leave(&s, 500, 1, C, D, 0, WAIT_SLICE, 0);
	leave(&s, 800, 1, D, B, 0, WAIT_SLICE, 0);
	wake(&s, 900, 1, B, A, 0);
	leave(&s, 1350, 0, E, A, 0, WAIT_SLICE, 0);
	tell(&s, 1400);
	assert_int_equal(blame_sort_by_holder(&s.blame), 0);
	for (size_t i = 0; i < s.blame.cells.n; i++) {
		const struct blame_cell *c = &s.blame.cells.v[i];

		if (c->victim != who(&s, A) || c->culprit != BY_TASK)
			continue;
		assert_true(n < ARRAY_SIZE(order));
		assert_int_equal(c->id, who(&s, order[n].culprit));
		assert_int_equal(c->ns / US, order[n].us);
		assert_int_equal(blame_held(&s.blame, c) / US, order[n++].held);
	}
	assert_int_equal(n, ARRAY_SIZE(order));
}

/* Low holds the lock that high wants, and medium keeps low from the CPU. */
static void priority_inversion(void **state)
{
	STORY(s, 1);
	cast_thread(&s, A, 100, "high", 0);
	cast_thread(&s, B, 100, "low", 0);
	cast_process(&s, C, "medium");
	leave_for(&s, 1, 0, 0, B, 0, 0);
	wake_in(&s, 100, 0, B, A, 0, WAKEUP_IN_IRQ, EVENT_TIMER_VECTOR);
	leave(&s, 101, 0, B, A, 0, WAIT_CLASS, 0);
	wake(&s, 150, 0, A, C, 0);
	wait_lock(&s, 200, 0, A, C, 0x2000, B);
	leave_for(&s, 900, 0, C, B, CALL_SLEEP, 0);
	wake(&s, 950, 0, B, A, 0);
	leave(&s, 951, 0, B, A, 0, WAIT_CLASS, 0);
	tell(&s, 1000);
	assert_int_equal(waited(&s, A, FOR_LOCK), 750);
	assert_int_equal(charged(&s, A, FOR_LOCK, BY_TASK, C), 700);
	assert_int_equal(charged(&s, A, FOR_LOCK, BY_TASK, B), 50);
}

/* A convoy: the lock goes from hand to hand, and who waits longest is charged to all who had it in the meantime. */
static void convoy(void **state)
{
	STORY(s, 4);
	cast_thread(&s, A, 100, "a", 0);
	cast_thread(&s, B, 100, "b", 0);
	cast_thread(&s, C, 100, "c", 0);
	cast_thread(&s, D, 100, "d", 0);
	for (uint16_t cpu = 0; cpu < 4; cpu++)
		leave_for(&s, 1, cpu, 0, A + cpu, 0, 0);
	wait_lock(&s, 100, 1, B, 0, 0x1000, A);
	wait_lock(&s, 110, 2, C, 0, 0x1000, A);
	wait_lock(&s, 120, 3, D, 0, 0x1000, A);
	wake(&s, 200, 0, A, B, 1);
	leave_for(&s, 200, 1, 0, B, 0, 0);
	wake(&s, 300, 1, B, C, 2);
	leave_for(&s, 300, 2, 0, C, 0, 0);
	wake(&s, 400, 2, C, D, 3);
	leave_for(&s, 400, 3, 0, D, 0, 0);
	tell(&s, 1000);
	assert_int_equal(charged(&s, B, FOR_LOCK, BY_TASK, A), 100);
	assert_int_equal(charged(&s, C, FOR_LOCK, BY_TASK, A), 90);
	assert_int_equal(charged(&s, C, FOR_LOCK, BY_TASK, B), 100);
	assert_int_equal(charged(&s, D, FOR_LOCK, BY_TASK, A), 80);
	assert_int_equal(charged(&s, D, FOR_LOCK, BY_TASK, B), 100);
	assert_int_equal(charged(&s, D, FOR_LOCK, BY_TASK, C), 100);
}

/* Five in a row, the third one slow: the last one's critical path is the third's work. */
static void pipe_chain(void **state)
{
	_cleanup_(path_free) struct critical_path path = {};
	_cleanup_free_ struct path_share *shares = NULL;
	size_t n;

	STORY(s, 5);
	for (uint16_t i = 0; i < 5; i++) {
		cast_process(&s, A + i, (const char *const[]){"one", "two", "three", "four", "five"}[i]);
		leave_for(&s, 1, i, 0, A + i, 0, 0);
	}
	for (int64_t round = 0; round < 10; round++) {
		int64_t t = 100 + round * 1000;

		for (uint16_t i = 1; i < 5; i++)
			leave_for(&s, t, i, A + i, 0, CALL_PIPE, i);
		for (uint16_t i = 1; i < 5; i++) {
			t += i == 3 ? 700 : 20; /* the third works before it hands on */
			wake(&s, t, i - 1, A + i - 1, A + i, i);
			leave_for(&s, t, i, 0, A + i, 0, 0);
		}
	}
	tell(&s, 10100);
	assert_int_equal(path_build(&s.line, who(&s, E), 100 * US, 10100 * US, &path), 0);
	assert_int_equal(path_shares(&path, &shares, &n), 0);
	assert_int_equal(shares[0].thread, who(&s, C));
	assert_int_equal(shares[0].state, STATE_RUNNING);
	assert_int_equal(shares[0].ns, 7000 * US);
	assert_int_equal(charged(&s, E, FOR_PEER, BY_TASK, C), 7000);
	int64_t sum = 0;

	for (size_t i = 0; i < path.pieces.n; i++) {
		assert_int_equal(path.pieces.v[i].from, i ? path.pieces.v[i - 1].to : 100 * US);
		sum += path.pieces.v[i].to - path.pieces.v[i].from;
	}
	assert_int_equal(sum, 10000 * US);
}

/* A's small write stands behind B's big ones: four of B's and then A's own in flight. */
static void fsync_behind_writes(bool inserted)
{
	void **state = NULL;

	STORY(s, 1);
	cast_process(&s, A, "small");
	cast_process(&s, B, "big");
	leave_for(&s, 1, 0, 0, B, 0, 0);
	for (uint64_t r = 1; r <= 4; r++) {
		if (inserted)
			block(&s, EVENT_BLOCK_INSERT, 40 + (int64_t)r, B, r, BLOCK_WRITE);
		block(&s, EVENT_BLOCK_ISSUE, 50 + (int64_t)r, B, r, BLOCK_WRITE);
	}
	leave_for(&s, 90, 0, B, A, CALL_SLEEP, 0);
	if (inserted)
		block(&s, EVENT_BLOCK_INSERT, 100, A, 9, BLOCK_WRITE | BLOCK_SYNC);
	else
		block(&s, EVENT_BLOCK_ISSUE, 100, A, 9, BLOCK_WRITE | BLOCK_SYNC);
	say(&s, (struct event){.kind = EVENT_SWITCH, .thread = A, .flags = WAIT_IO,
			       .out = {.state = TASK_STATE_BLOCKED, .call = CALL_FILE}}, 100);
	for (uint64_t r = 1; r <= 4; r++)
		block(&s, EVENT_BLOCK_COMPLETE, 100 * (int64_t)r + 100, 0, r, BLOCK_WRITE);
	if (inserted)
		block(&s, EVENT_BLOCK_ISSUE, 500, 0, 9, BLOCK_WRITE);
	block(&s, EVENT_BLOCK_COMPLETE, 600, 0, 9, BLOCK_WRITE);
	wake_in(&s, 602, 0, 0, A, 0, WAKEUP_IN_IRQ, 30);
	leave_for(&s, 603, 0, 0, A, 0, 0);
	tell(&s, 1000);
	assert_int_equal(waited(&s, A, FOR_DISK), 502);
	assert_int_equal(charged(&s, A, FOR_DISK, BY_TASK, B), 400);
	assert_int_equal(charged(&s, A, FOR_DISK, BY_DEVICE, 0), 100);
	assert_int_equal(charged(&s, A, FOR_DISK, BY_WAKEUP, 0), 2);
	assert_int_equal(s.blame.unknown[FOR_DISK], 0);
	for (size_t i = 0; i < s.blame.cells.n; i++)
		if (s.blame.cells.v[i].culprit == BY_TASK && s.blame.cells.v[i].wait == FOR_DISK)
			assert_true(s.blame.cells.v[i].flags & BLAME_MODELLED);
}

static void fsync_with_scheduler(void **state)
{
	fsync_behind_writes(true);
}

static void fsync_without_scheduler(void **state)
{
	fsync_behind_writes(false);
}

/* The journal's thread writes for A; ahead of it is what a kernel worker writes for B, which had dirtied it. */
static void journal_and_writeback(void **state)
{
	enum { JOURNAL = 30, WORKER = 31 };

	STORY(s, 1);
	cast_process(&s, A, "small");
	cast_process(&s, B, "big");
	cast_thread(&s, JOURNAL, JOURNAL, "jbd2/sda1-8", THREAD_IS_KERNEL);
	cast_thread(&s, WORKER, WORKER, "kworker/u4:1", THREAD_IS_KERNEL);
	leave_for(&s, 1, 0, 0, B, 0, 0);
	say(&s, (struct event){.kind = EVENT_DIRTIED, .thread = B, .dirtied = {.bytes = 1 << 20}}, 40);
	leave_for(&s, 40, 0, B, WORKER, CALL_SLEEP, 0);
	block(&s, EVENT_BLOCK_ISSUE, 50, WORKER, 1, BLOCK_WRITE);
	leave(&s, 60, 0, WORKER, A, TASK_STATE_BLOCKED | TASK_STATE_NO_LOAD, 0, CALL_NONE);
	wake(&s, 90, 0, A, JOURNAL, 0);
	leave(&s, 100, 0, A, JOURNAL, TASK_STATE_BLOCKED, 0, CALL_FILE);
	block(&s, EVENT_BLOCK_ISSUE, 110, JOURNAL, 2, BLOCK_WRITE | BLOCK_SYNC);
	leave(&s, 110, 0, JOURNAL, 0, TASK_STATE_BLOCKED, WAIT_IO, CALL_NONE);
	block(&s, EVENT_BLOCK_COMPLETE, 800, 0, 1, BLOCK_WRITE);
	block(&s, EVENT_BLOCK_COMPLETE, 900, 0, 2, BLOCK_WRITE);
	wake_in(&s, 900, 0, 0, JOURNAL, 0, WAKEUP_IN_IRQ, 30);
	leave_for(&s, 900, 0, 0, JOURNAL, 0, 0);
	wake(&s, 910, 0, JOURNAL, A, 0);
	leave(&s, 910, 0, JOURNAL, A, TASK_STATE_SLEEPS, 0, CALL_NONE);
	tell(&s, 1000);
	assert_int_equal(waited(&s, A, FOR_DISK), 810);
	assert_int_equal(charged(&s, A, FOR_DISK, BY_TASK, B), 690);
	assert_int_equal(charged(&s, A, FOR_DISK, BY_DEVICE, 0), 100);
	assert_int_equal(charged(&s, A, FOR_DISK, BY_TASK, JOURNAL), 20);
	assert_int_equal(charged(&s, A, FOR_DISK, BY_TASK, WORKER), 0);
}

/* A faults while memory is short; B allocates, and so frees, nine times as much. */
static void faults_behind_reclaim(void **state)
{
	STORY(s, 2);
	cast_process(&s, A, "faults");
	cast_process(&s, B, "allocates");
	leave_for(&s, 1, 0, 0, A, 0, 0);
	leave_for(&s, 1, 1, 0, B, 0, 0);
	say(&s, (struct event){.kind = EVENT_RECLAIM_BEGIN, .thread = B, .cpu = 1}, 100);
	say(&s, (struct event){.kind = EVENT_RECLAIM_BEGIN, .thread = A}, 500);
	leave(&s, 500, 0, A, 0, TASK_STATE_BLOCKED, WAIT_MEMORY, CALL_FAULT);
	wake(&s, 600, 1, B, A, 0);
	leave_for(&s, 600, 0, 0, A, 0, 0);
	say(&s, (struct event){.kind = EVENT_RECLAIM_END, .thread = A, .reclaim.pages = 32}, 600);
	say(&s, (struct event){.kind = EVENT_RECLAIM_END, .thread = B, .cpu = 1, .reclaim.pages = 9 * 32}, 1000);
	tell(&s, 2000);
	assert_int_equal(in_state(&s, B, STATE_RECLAIMING), 900);
	assert_int_equal(waited(&s, A, FOR_MEMORY), 100);
	assert_int_equal(charged(&s, A, FOR_MEMORY, BY_TASK, B), 90);
	assert_int_equal(charged(&s, A, FOR_MEMORY, BY_SELF, A), 10);
}

/* Network work that another CPU's packets raise takes half of A's time. */
static void softirq_flood(void **state)
{
	STORY(s, 1);
	cast_process(&s, A, "computes");
	leave_for(&s, 1, 0, 0, A, 0, 0);
	for (int64_t t = 100; t < 1000; t += 100) {
		interrupt(&s, EVENT_IRQ, t, t + 5, 0, A, 40);
		interrupt(&s, EVENT_SOFTIRQ, t + 5, t + 50, 0, A, 3);
	}
	tell(&s, 1000);
	assert_int_equal(charged(&s, A, FOR_INTERRUPT, BY_SOFTIRQ, 3), 9 * 45);
	assert_int_equal(charged(&s, A, FOR_INTERRUPT, BY_IRQ, 40), 9 * 5);
}

/* What an interrupt wakes was not woken by who happened to run. */
/* The kernel took up later, on a bystander's time, what a program of this machine had sent. */
static void what_an_address_of_this_machine_sends_is_no_other_machine(void **state)
{
	STORY(s, 1);
	cast_process(&s, A, "client");
	cast_process(&s, B, "bystander");
	leave_for(&s, 1, 0, 0, A, 0, 0);
	leave_for(&s, 100, 0, A, B, CALL_SOCKET_HERE, 5);
	wake_in(&s, 405, 0, B, A, 0, WAKEUP_IN_SOFTIRQ, 3);
	leave(&s, 420, 0, B, A, 0, WAIT_ARRIVAL, 0);
	tell(&s, 1000);
	assert_int_equal(charged(&s, A, FOR_NETWORK, BY_REMOTE, 0), 0);
	assert_int_equal(charged(&s, A, FOR_NETWORK, BY_UNKNOWN, 0), 305);
}

static void no_bystander_is_named(void **state)
{
	STORY(s, 1);
	cast_process(&s, A, "client");
	cast_process(&s, B, "bystander");
	leave_for(&s, 1, 0, 0, A, 0, 0);
	leave_for(&s, 100, 0, A, B, CALL_SOCKET, 5);
	interrupt(&s, EVENT_IRQ, 395, 400, 0, B, 40);
	wake_in(&s, 405, 0, B, A, 0, WAKEUP_IN_SOFTIRQ, 3);
	interrupt(&s, EVENT_SOFTIRQ, 401, 410, 0, B, 3);
	leave(&s, 420, 0, B, A, 0, WAIT_ARRIVAL, 0);
	tell(&s, 1000);
	assert_int_equal(charged(&s, A, FOR_NETWORK, BY_REMOTE, 0), 305);
	assert_int_equal(charged(&s, A, FOR_NETWORK, BY_TASK, B), 0);
}

/* A peer on the same machine sends through the loopback interface: its own call does the network's work. */
static void loopback_sender_is_named(void **state)
{
	STORY(s, 2);
	cast_process(&s, A, "client");
	cast_process(&s, B, "server");
	leave_for(&s, 1, 0, 0, A, 0, 0);
	leave_for(&s, 1, 1, 0, B, 0, 0);
	leave_for(&s, 100, 0, A, 0, CALL_SOCKET, 5);
	wake_in(&s, 405, 1, B, A, 0, WAKEUP_IN_SOFTIRQ | WAKEUP_SENT, 3);
	interrupt(&s, EVENT_SOFTIRQ, 400, 410, 1, B, 3);
	leave_for(&s, 420, 0, 0, A, 0, 0);
	tell(&s, 1000);
	assert_int_equal(charged(&s, A, FOR_NETWORK, BY_TASK, B), 300);
}

/* A kernel thread receives for others: what it wakes waited for another machine. */
static void kernel_thread_is_no_sender(void **state)
{
	STORY(s, 2);
	cast_process(&s, A, "client");
	cast_thread(&s, B, B, "ksoftirqd/1", THREAD_IS_KERNEL);
	leave_for(&s, 1, 0, 0, A, 0, 0);
	leave_for(&s, 1, 1, 0, B, 0, 0);
	leave_for(&s, 100, 0, A, 0, CALL_SOCKET, 5);
	wake_in(&s, 413, 1, B, A, 0, WAKEUP_IN_SOFTIRQ | WAKEUP_SENT, 3);
	leave_for(&s, 420, 0, 0, A, 0, 0);
	tell(&s, 1000);
	assert_int_equal(charged(&s, A, FOR_NETWORK, BY_TASK, B), 0);
	assert_int_equal(charged(&s, A, FOR_NETWORK, BY_REMOTE, 0), 313);
}

/* A server that waits for work is idle; its client, which waits for the server's work, is charged with that work. */
static void idle_is_no_wait(void **state)
{
	STORY(s, 2);
	cast_process(&s, A, "client");
	cast_process(&s, B, "server");
	leave_for(&s, 1, 0, 0, A, 0, 0);
	leave_for(&s, 1, 1, 0, B, 0, 0);
	leave_for(&s, 10, 1, B, 0, CALL_POLL, 0);
	wake(&s, 500, 0, A, B, 1);
	leave_for(&s, 500, 1, 0, B, 0, 0);
	leave_for(&s, 510, 0, A, 0, CALL_LOCAL_SOCKET, 5);
	wake(&s, 700, 1, B, A, 0);
	leave_for(&s, 700, 0, 0, A, 0, 0);
	leave_for(&s, 710, 1, B, 0, CALL_POLL, 0);
	tell(&s, 1000);
	assert_int_equal(in_state(&s, B, STATE_IDLE), 490 + 290);
	for (int w = 0; w < FOR_COUNT; w++)
		assert_int_equal(waited(&s, B, (enum wait_for)w), 0);
	assert_int_equal(charged(&s, A, FOR_PEER, BY_TASK, B), 190);
}

#define WRITE 1 /* the number of the call, x86-64 */
#define READ  0

/* A writes to a pipe that is full until B reads; B reads from one that is empty until A writes. */
static void blocked_writing_is_no_waiting_for_work(void **state)
{
	STORY(s, 2);
	cast_process(&s, A, "writer");
	cast_process(&s, B, "reader");
	leave_for(&s, 1, 0, 0, A, 0, 0);
	leave_for(&s, 1, 1, 0, B, 0, 0);
	leave_in(&s, 100, 1, B, 0, CALL_PIPE, READ);
	wake(&s, 150, 0, A, B, 1);
	leave_for(&s, 150, 1, 0, B, 0, 0);
	leave_for(&s, 160, 1, B, 0, CALL_SLEEP, 0);
	leave_in(&s, 200, 0, A, 0, CALL_PIPE, WRITE);
	wake_in(&s, 900, 1, 0, B, 1, WAKEUP_IN_IRQ, EVENT_TIMER_VECTOR);
	leave_for(&s, 900, 1, 0, B, 0, 0);
	wake(&s, 950, 1, B, A, 0);
	leave_for(&s, 950, 0, 0, A, 0, 0);
	tell(&s, 1000);
	assert_int_equal(in_state(&s, A, STATE_FULL), 750);
	assert_int_equal(charged(&s, A, FOR_READER, BY_TASK, B), 750);
	assert_int_equal(charged(&s, B, FOR_PEER, BY_TASK, A), 50);
	for (size_t i = 0; i < s.blame.cells.n; i++)
		if (s.blame.cells.v[i].flags & BLAME_RESTED)
			assert_int_equal(s.blame.cells.v[i].ns, 700 * US);
}

/* What a lock of a file is has no owner that the waiter could read: the one that gave it away had it. */
static void lock_of_a_file(void **state)
{
	STORY(s, 2);
	cast_process(&s, A, "till");
	cast_process(&s, B, "export");
	leave_for(&s, 1, 0, 0, A, 0, 0);
	leave_for(&s, 1, 1, 0, B, 0, 0);
	leave_for(&s, 100, 0, A, 0, CALL_FILE_LOCK, 0);
	wake(&s, 800, 1, B, A, 0);
	leave_for(&s, 800, 0, 0, A, 0, 0);
	tell(&s, 1000);
	assert_int_equal(charged(&s, A, FOR_LOCK, BY_TASK, B), 700);
}

/* Lock owners are numbers of the sleeper's pid namespace: 7 there is B here, and not the 7 here. */
static void pid_namespace(void **state)
{
	struct trace_thread a = {.tid = A, .tgid = 100, .ns_tid = 6, .ns_tgid = 5, .pid_ns = 77, .comm = "a"};
	struct trace_thread b = {.tid = B, .tgid = 100, .ns_tid = 7, .ns_tgid = 5, .pid_ns = 77, .comm = "b"};
	struct trace_thread other = {.tid = 7, .tgid = 7, .ns_tid = 7, .ns_tgid = 7, .pid_ns = 1, .comm = "other"};

	STORY(s, 2);
	trace_add_thread(&s.trace, &a);
	trace_add_thread(&s.trace, &b);
	trace_add_thread(&s.trace, &other);
	leave_for(&s, 1, 0, 0, A, 0, 0);
	leave_for(&s, 1, 1, 0, B, 0, 0);
	wait_lock(&s, 100, 0, A, 0, 0x1000, 7);
	wake(&s, 400, 1, B, A, 0);
	tell(&s, 1000);
	assert_int_equal(charged(&s, A, FOR_LOCK, BY_TASK, B), 300);
}

/* Two that hold what the other wants: no endless walk, and the sums still hold. */
static void deadlock(void **state)
{
	STORY(s, 2);
	cast_thread(&s, A, 100, "a", 0);
	cast_thread(&s, B, 100, "b", 0);
	leave_for(&s, 1, 0, 0, A, 0, 0);
	leave_for(&s, 1, 1, 0, B, 0, 0);
	wait_lock(&s, 100, 0, A, 0, 0x1000, B);
	wait_lock(&s, 200, 1, B, 0, 0x2000, A);
	tell(&s, 1000);
	assert_int_equal(charged(&s, A, FOR_LOCK, BY_TASK, B), 100);
	assert_int_equal(charged(&s, A, FOR_LOCK, BY_UNKNOWN, NOBODY), 800);
	assert_true(s.blame.cycles >= 2);
}

/* The waker of a futex whose holder is not known is believed, and said to be inferred. */
static void begin_futex(struct story *s)
{
	cast_thread(s, A, 100, "a", 0);
	cast_thread(s, B, 100, "b", 0);
	cast_process(s, 1, "init");
	leave_for(s, 1, 0, 0, A, 0, 0);
	leave_for(s, 1, 1, 0, B, 0, 0);
}

/* Of an earlier recording, which does not say whether it is a lock: what lies next to the word is not believed. */
static void condition_of_earlier_recordings(void **state)
{
	STORY(s, 2);
	begin_futex(&s);
	wait_futex(&s, 100, 0, A, 0, 0x1000, 1, CALL_FUTEX);
	wake(&s, 400, 1, B, A, 0);
	tell(&s, 1000);
	assert_int_equal(in_state(&s, A, STATE_CONDITION), 300);
	assert_int_equal(charged(&s, A, FOR_CONDITION, BY_TASK, B), 300);
}

/* Not where a lock once was, either: the word is what the kernel was asked to wait for. */
static void lock_and_condition_of_one_address(void **state)
{
	STORY(s, 2);
	begin_futex(&s);
	wait_lock(&s, 100, 0, A, 0, 0x1000, B);
	wake(&s, 200, 1, B, A, 0);
	leave_for(&s, 200, 0, 0, A, 0, 0);
	leave_for(&s, 300, 0, A, 0, CALL_CONDITION, 0x1000);
	wake(&s, 500, 1, B, A, 0);
	tell(&s, 1000);
	assert_int_equal(in_state(&s, A, STATE_LOCK), 100);
	assert_int_equal(in_state(&s, A, STATE_CONDITION), 200);
}

/* A lock of malloc's, Go's, Rust's: none of them notes its holder. */
static void lock_without_holder(void **state)
{
	STORY(s, 2);
	begin_futex(&s);
	wait_lock(&s, 100, 0, A, 0, 0x1000, 0);
	wake(&s, 400, 1, B, A, 0);
	tell(&s, 1000);
	assert_int_equal(in_state(&s, A, STATE_LOCK), 300);
	assert_int_equal(charged(&s, A, FOR_LOCK, BY_TASK, B), 300);
}

static void condition(void **state)
{
	STORY(s, 2);
	begin_futex(&s);
	leave_for(&s, 100, 0, A, 0, CALL_CONDITION, 0x1000);
	wake(&s, 400, 1, B, A, 0);
	tell(&s, 1000);
	assert_int_equal(in_state(&s, A, STATE_CONDITION), 300);
	assert_int_equal(charged(&s, A, FOR_CONDITION, BY_TASK, B), 300);
	for (size_t i = 0; i < s.blame.cells.n; i++)
		if (s.blame.cells.v[i].wait == FOR_CONDITION)
			assert_true(s.blame.cells.v[i].flags & BLAME_INFERRED);
}

/* The same sums for processes: what threads of one process did to each other is its own doing. */
static void at_the_level_of_processes(void **state)
{
	struct blame_matrix processes = {};
	int64_t sum = 0, own = 0;

	STORY(s, 2);
	cast_thread(&s, A, 100, "a", 0);
	cast_thread(&s, B, 100, "b", 0);
	cast_process(&s, C, "c");
	leave_for(&s, 1, 0, 0, A, 0, 0);
	leave_for(&s, 1, 1, 0, B, 0, 0);
	wait_lock(&s, 100, 0, A, 0, 0x1000, B);
	leave(&s, 200, 1, B, C, 0, WAIT_ARRIVAL, 0);
	leave(&s, 800, 1, C, B, 0, WAIT_SLICE, 0);
	wake(&s, 900, 1, B, A, 0);
	leave_for(&s, 900, 0, 0, A, 0, 0);
	tell(&s, 1000);
	assert_int_equal(blame_build(&s.line, 1, s.line.end, NULL, 0, LEVEL_PROCESS, &processes), 0);
	for (size_t i = 0; i < processes.cells.n; i++) {
		if (processes.cells.v[i].wait != FOR_LOCK)
			continue;
		sum += processes.cells.v[i].ns;
		own += processes.cells.v[i].culprit == BY_SELF ? processes.cells.v[i].ns : 0;
	}
	assert_int_equal(sum, 800 * US);
	assert_int_equal(own, 200 * US);
	for (int wait = 0; wait < FOR_COUNT; wait++) {
		assert_int_equal(processes.charged[wait], s.blame.charged[wait]);
		assert_int_equal(processes.unknown[wait], s.blame.unknown[wait]);
	}
	blame_matrix_free(&processes);
}

RUN_TESTS(cmocka_unit_test(figure_3), cmocka_unit_test(figure_4), cmocka_unit_test(holder_preempted), cmocka_unit_test(a_crowd_does_not_hide_the_holder),
	  cmocka_unit_test(priority_inversion), cmocka_unit_test(convoy), cmocka_unit_test(pipe_chain),
	  cmocka_unit_test(fsync_with_scheduler), cmocka_unit_test(fsync_without_scheduler),
	  cmocka_unit_test(journal_and_writeback), cmocka_unit_test(faults_behind_reclaim), cmocka_unit_test(softirq_flood),
	  cmocka_unit_test(what_an_address_of_this_machine_sends_is_no_other_machine), cmocka_unit_test(no_bystander_is_named), cmocka_unit_test(loopback_sender_is_named),
	  cmocka_unit_test(kernel_thread_is_no_sender),
	  cmocka_unit_test(idle_is_no_wait), cmocka_unit_test(blocked_writing_is_no_waiting_for_work),
	  cmocka_unit_test(lock_of_a_file), cmocka_unit_test(pid_namespace), cmocka_unit_test(deadlock),
	  cmocka_unit_test(condition), cmocka_unit_test(condition_of_earlier_recordings), cmocka_unit_test(lock_without_holder),
	  cmocka_unit_test(lock_and_condition_of_one_address), cmocka_unit_test(at_the_level_of_processes))
