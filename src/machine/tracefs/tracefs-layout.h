/* How records of ftrace lie in memory, as the kernel's own format files tell it; nothing of it is known
 * beforehand but names.
 *
 * events/header_page:
 *	field: u64 timestamp;	offset:0;	size:8;	signed:0;
 *	field: local_t commit;	offset:8;	size:8;	signed:1;
 *	field: char data;	offset:16;	size:4080;	signed:0;
 *
 * events/sched/sched_waking/format:
 *	name: sched_waking
 *	ID: 322
 *	format:
 *		field:unsigned short common_type;	offset:0;	size:2;	signed:0;
 *		field:char comm[16];	offset:8;	size:16;	signed:0;
 *		field:pid_t pid;	offset:24;	size:4;	signed:1;
 *
 *	print fmt: "comm=%s pid=%d prio=%d target_cpu=%03d", REC->comm, REC->pid, REC->prio, REC->target_cpu
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/data/vec.h"

#define TRACEFS_VALUES 5 /* numbers taken of a record, at most */

/* What is recorded. */
enum trace_point {
	POINT_SWITCH,
	POINT_WAKING,
	POINT_WAKEUP,
	POINT_WAKEUP_NEW,
	POINT_MIGRATE,
	POINT_NEW_TASK,
	POINT_EXEC,
	POINT_EXIT,
	POINT_RENAME,
	POINT_CALL,
	POINT_RETURN,
	POINT_IRQ,
	POINT_IRQ_END,
	POINT_TIMER,
	POINT_TIMER_END,
	POINT_SOFTIRQ,
	POINT_SOFTIRQ_END,
	POINT_INSERT,
	POINT_ISSUE,
	POINT_COMPLETE,
	POINT_RECLAIM,
	POINT_RECLAIM_END,
	POINT_GROUP_RECLAIM,
	POINT_GROUP_RECLAIM_END,
	POINT_LOCK,
	POINT_LOCK_END,
	POINT_COUNT
};

struct trace_point_names {
	const char *event;		    /* "sched/sched_switch": its folder below events/ */
	const char *values[TRACEFS_VALUES]; /* fields, in the order of tracefs_record.values */
	const char *text;		    /* a char[] field; NULL = none */
	bool needed;			    /* without it there is no flight recorder */
	const char *lost;		    /* what is not known without it; NULL = nothing to speak of */
};
extern const struct trace_point_names trace_points[POINT_COUNT];

struct tracefs_field {
	uint16_t offset, size; /* size 0: this kernel does not have it */
	bool is_signed;
};

struct tracefs_layout {
	uint32_t page_size;
	struct tracefs_field page_time, page_commit;
	uint32_t page_data; /* offset */
	struct tracefs_field type, context, thread; /* common_type, common_flags, common_pid */
	struct {
		bool there;
		uint16_t id;
		struct tracefs_field values[TRACEFS_VALUES], text;
	} points[POINT_COUNT];
	VEC(uint8_t) of_id; /* common_type -> enum trace_point + 1; 0 = not one of ours */
	uint8_t states[16]; /* enum task_state bit of each bit of prev_state */
	uint32_t states_mask; /* those bits; the next higher one means: preempted */
};

/* From the files below `tracing` (/sys/kernel/tracing, or one recorded). 0; -ENOENT where a needed point is missing; -EBADMSG
 * where a file is not understood; -ENOMEM, -errno. */
int tracefs_layout_read(const char *tracing, struct tracefs_layout *ret);
void tracefs_layout_free(struct tracefs_layout *l);

/* The parts, for tests: one format file; what header_page says. 0 or -EBADMSG. */
int tracefs_parse_format(const char *text, enum trace_point point, struct tracefs_layout *l);
int tracefs_parse_page_header(const char *text, struct tracefs_layout *l);
