/* The flight recorder: every switch, wake-up, interrupt and request, into per-CPU rings that nothing reads until they are
 * frozen; and sums of what threads do with their time.
 *
 * A record is reserved by counting up, so an interrupt's records may stand between two of the thread it interrupts. Where
 * sched_* programs run, interrupts are off: the run queue's lock is held, so nothing here allocates (a thread's storage is
 * made at fork, and by `adopt` for those that were there before).
 *
 * Some kernels (seen on 6.18) do not call the tracepoint when certain threads leave: the one that leaves without having come is
 * taken to have come when the scheduler noted it, and that switch is reported late. Where it noted nothing (the idle thread), the
 * stint is charged nothing, and it is counted. Sums of such time are the scheduler's own (settle_untold()).
 *
 * A thread's sums are charged when a state ends; `look` adds what continues.
 */
#include "machine/bpf/ring-devices.h"
#include "machine/bpf/ring-lives.h"
#include "machine/bpf/ring-switch.h"
#include "machine/bpf/ring-wake.h"

#if defined(__TARGET_ARCH_arm64)
#define INSTRUCTION_POINTER (32 * 8) /* in the registers, with which bpf_perf_event_data begins */
#else
#define INSTRUCTION_POINTER (16 * 8)
#endif

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* --- the profile --- */

static __noinline int profile_sample(stack_ref kernel, stack_ref user)
{
	struct ring_profile_key key = {};

	key.process = bpf_get_current_pid_tgid() >> 32;
	key.kernel = kernel;
	key.user = user;
	key.state = STATE_RUNNING;
	return add_to_profile(bpf_get_current_task_btf(), &key, 0);
}

SEC("perf_event")
int on_sample(void *ctx)
{
	u32 thread = (u32)bpf_get_current_pid_tgid();
	stack_ref kernel = 0, user;
	struct event *e;
	bool in_user;
	u64 ip;

	if (!thread)
		return 0;
	ip = *(volatile u64 *)(ctx + INSTRUCTION_POINTER);
	in_user = !(ip >> 63);
	if (!in_user)
		kernel = stack_here(ctx, 0);
	user = stack_here(ctx, BPF_F_USER_STACK);
	if (profile_on)
		profile_sample(kernel, user);
	e = begin(thread);
	if (!e)
		return 0;
	e->sample.ip = ip;
	e->sample.kernel = kernel;
	e->sample.user = user;
	commit(e, EVENT_SAMPLE, in_user ? SAMPLE_USER : 0);
	return 0;
}

/* --- a look at every thread --- */

static __always_inline void look_at(struct task_struct *task, struct ring_thread *t, struct ring_task *r, u64 now)
{
	struct departure d = {.syscall = EVENT_NO_SYSCALL};
	struct lock_facts lock = {};

	d.facts.state = press_state(task->__state);
	if (task->exit_state)
		d.facts.state |= TASK_STATE_ENDED;
	if (d.facts.state) {
		describe_blocked(task, t, &d);
		if (d.facts.flags & WAIT_KERNEL_LOCK)
			find_kernel_lock(task, t, &lock);
		if (d.facts.call == CALL_CONDITION && t && t->state == STATE_LOCK)
			d.facts.call = CALL_LOCK; /* the word's memory was read when it went to sleep, and cannot be now */
		if (d.facts.call == CALL_POLL && t && (t->state == STATE_NETWORK || t->state == STATE_PEER)) {
			d.facts.call = t->call; /* so was what it polls */
			d.object = t->inode;
		}
	}
	r->facts = d.facts;
	r->syscall = d.syscall;
	r->object = lock.flags ? lock.object : d.object;
	r->owner = lock.owner;
	r->lock_flags = lock.flags;
	if (task->on_cpu)
		r->state = STATE_RUNNING;
	else if (!d.facts.state)
		r->state = t && thread_state_is_runnable(t->state) ? t->state : STATE_RUNNABLE;
	else
		r->state = classify(d.facts);
}

/* The verifier checks a function that is not static once, apart from its callers. Inside `look` it would check these loops again for each way
 * that leads there: in the code of clang 21, more than the million instructions that it is ready to check. */
__noinline int find_longest(const struct ring_thread *t, enum ring_longest kind, u64 now, u64 *ret_lately, u64 *ret_before)
{
	if (t && ret_lately && ret_before)
		ring_find_longest(t, kind % RING_LONGEST_KINDS, now, ret_lately, ret_before);
	return 0;
}

SEC("iter/task")
int look(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct ring_thread *t;
	struct task_delay_info *delays;
	struct ring_task r = {};
	u64 now = bpf_ktime_get_ns();

	if (!task || !task->pid)
		return 0;
	if (!registers_at) {
		volatile u64 *one = &registers_of_one; /* there and back: to the verifier a number, no pointer any more */

		*one = (u64)bpf_task_pt_regs(task);
		registers_at = *one - (u64)task->stack;
	}
	t = thread_of(task);
	identify(task, &r.who);
	look_at(task, t, &r, now);
	r.cpu = task->thread_info.cpu;
	r.cpu_time = task->se.sum_exec_runtime;
	r.run_delay = task->sched_info.run_delay;
	r.switches = task->sched_info.pcount;
	r.write_bytes = task->ioac.write_bytes;
	delays = task->delays;
	r.disk_delay = delays ? delays->blkio_delay : 0;
	r.utime = task->utime;
	r.stime = task->stime;
	if (t) {
		u32 going = ring_sum_of_state(t->state);

		r.since = t->since;
		r.overcounted = t->overcounted;
		r.has_sums = 1;
		for (int i = 0; i < SUM_COUNT; i++)
			r.sum[i] = t->sum[i];
		if (going < SUM_COUNT && now > t->since)
			r.sum[going] += now - t->since;
		find_longest(t, LONGEST_SLEPT, now, &r.longest_lately, &r.slept_before);
		find_longest(t, LONGEST_AWAITED, now, &r.longest_lately, &r.longest_before);
	}
	bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}

/* Threads that were there before the programs: gives them storage, and says what they do unless a switch just did. */
SEC("iter/task")
int adopt(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct departure d = {.syscall = EVENT_NO_SYSCALL};
	struct ring_thread *t;
	u8 state;

	if (!task || !task->pid)
		return 0;
	t = claim_thread(task);
	if (!t || t->since)
		return 0;
	d.facts.state = press_state(task->__state);
	if (d.facts.state)
		describe_blocked(task, t, &d);
	state = task->on_cpu ? STATE_RUNNING : d.facts.state ? classify(d.facts) : STATE_RUNNABLE;
	if (t->since)
		return 0;
	t->dirtied = task->ioac.write_bytes;
	t->ran_at = task->se.sum_exec_runtime;
	t->queued_at = task->sched_info.run_delay;
	t->state = state;
	t->since = bpf_ktime_get_ns();
	return 0;
}
