#pragma once

#include "machine/events/trace.h"

static const char *trace_event_name(enum event_kind k)
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
