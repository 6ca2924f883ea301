#include "model/trace.h"

const char *thread_state_name(enum thread_state s)
{
	static const char *const names[STATE_COUNT] = {
		[STATE_UNKNOWN] = "unknown",
		[STATE_RUNNING] = "running",
		[STATE_RUNNABLE] = "runnable",
		[STATE_PREEMPTED_SLICE] = "preempted: slice used",
		[STATE_PREEMPTED_ARRIVAL] = "preempted: overtaken",
		[STATE_PREEMPTED_CLASS] = "preempted: higher class",
		[STATE_PREEMPTED_OTHER] = "preempted: other",
		[STATE_YIELDED] = "yielded",
		[STATE_QUOTA] = "quota",
		[STATE_LOCK] = "lock",
		[STATE_KERNEL_LOCK] = "kernel lock",
		[STATE_DISK] = "disk",
		[STATE_FAULT] = "page fault",
		[STATE_RECLAIM] = "reclaim",
		[STATE_NETWORK] = "network",
		[STATE_PEER] = "pipe or local socket",
		[STATE_TIMER] = "timer",
		[STATE_IDLE] = "idle",
		[STATE_CHILD] = "child",
		[STATE_STOPPED] = "stopped",
		[STATE_ENDED] = "ended",
		[STATE_IDLE_KERNEL] = "idle kernel thread",
		[STATE_OTHER] = "other",
	};

	return s >= 0 && s < STATE_COUNT ? names[s] : names[STATE_UNKNOWN];
}

const char *event_kind_name(enum event_kind k)
{
	static const char *const names[EVENT_KIND_END] = {
		[EVENT_NONE] = "none",
		[EVENT_SWITCH] = "switch",
		[EVENT_WAKEUP] = "wakeup",
		[EVENT_MIGRATE] = "migrate",
		[EVENT_FORK] = "fork",
		[EVENT_EXEC] = "exec",
		[EVENT_EXIT] = "exit",
		[EVENT_NAME] = "name",
		[EVENT_IRQ] = "irq",
		[EVENT_SOFTIRQ] = "softirq",
		[EVENT_BLOCK_INSERT] = "block-insert",
		[EVENT_BLOCK_ISSUE] = "block-issue",
		[EVENT_BLOCK_COMPLETE] = "block-complete",
		[EVENT_RECLAIM_BEGIN] = "reclaim-begin",
		[EVENT_RECLAIM_END] = "reclaim-end",
		[EVENT_MARKER] = "marker",
		[EVENT_MARKER_TEXT] = "marker-text",
		[EVENT_SAMPLE] = "sample",
		[EVENT_WAITED] = "waited",
		[EVENT_LOCK] = "lock",
		[EVENT_QUOTA] = "quota",
		[EVENT_DIRTIED] = "dirtied",
	};

	return k >= 0 && k < EVENT_KIND_END ? names[k] : "unknown";
}
