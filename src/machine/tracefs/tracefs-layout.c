#include "machine/tracefs/tracefs-layout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/input/text.h"
#include "machine/events/classify.h"

#define PAGE_MOST (64u << 20)
#define WORD_BYTES sizeof(long)

const struct trace_point_names trace_points[POINT_COUNT] = {
	[POINT_SWITCH] = {"sched/sched_switch", {"prev_pid", "prev_prio", "prev_state", "next_pid", "next_prio"}, "prev_comm", true},
	[POINT_WAKING] = {"sched/sched_waking", {"pid"}, NULL, true},
	[POINT_WAKEUP] = {"sched/sched_wakeup", {"pid", "target_cpu"}, "comm", true},
	[POINT_WAKEUP_NEW] = {"sched/sched_wakeup_new", {"pid", "target_cpu"}, "comm", true},
	[POINT_MIGRATE] = {"sched/sched_migrate_task", {"pid", "orig_cpu", "dest_cpu"}, NULL, false},
	[POINT_NEW_TASK] = {"task/task_newtask", {"pid", "clone_flags"}, "comm", false},
	[POINT_EXEC] = {"sched/sched_process_exec", {"pid", "old_pid"}, NULL, false},
	[POINT_EXIT] = {"sched/sched_process_exit", {"pid", "group_dead"}, NULL, false},
	[POINT_RENAME] = {"task/task_rename", {"pid"}, "newcomm", false},
	[POINT_CALL] = {"raw_syscalls/sys_enter", {"id", "args[0]", "args[1]", "args[2]", "args[3]"}, NULL, false, "in which system calls threads wait"},
	[POINT_RETURN] = {"raw_syscalls/sys_exit", {"id"}, NULL, false},
	[POINT_IRQ] = {"irq/irq_handler_entry", {"irq"}, NULL, false, "what interrupts take"},
	[POINT_IRQ_END] = {"irq/irq_handler_exit", {"irq"}, NULL, false},
	[POINT_TIMER] = {"irq_vectors/local_timer_entry", {}, NULL, false, "what the timer's interrupts take"},
	[POINT_TIMER_END] = {"irq_vectors/local_timer_exit", {}, NULL, false},
	[POINT_SOFTIRQ] = {"irq/softirq_entry", {"vec"}, NULL, false, "what soft interrupts take"},
	[POINT_SOFTIRQ_END] = {"irq/softirq_exit", {"vec"}, NULL, false},
	[POINT_INSERT] = {"block/block_rq_insert", {"dev", "sector", "nr_sector"}, "rwbs", false},
	[POINT_ISSUE] = {"block/block_rq_issue", {"dev", "sector", "nr_sector"}, "rwbs", false, "requests to disks"},
	[POINT_COMPLETE] = {"block/block_rq_complete", {"dev", "sector", "nr_sector", "error"}, "rwbs", false},
	[POINT_RECLAIM] = {"vmscan/mm_vmscan_direct_reclaim_begin", {"order"}, NULL, false, "reclaim of memory"},
	[POINT_RECLAIM_END] = {"vmscan/mm_vmscan_direct_reclaim_end", {"nr_reclaimed"}, NULL, false},
	[POINT_GROUP_RECLAIM] = {"vmscan/mm_vmscan_memcg_reclaim_begin", {"order"}, NULL, false, "reclaim within control groups"},
	[POINT_GROUP_RECLAIM_END] = {"vmscan/mm_vmscan_memcg_reclaim_end", {"nr_reclaimed"}, NULL, false},
	[POINT_LOCK] = {"lock/contention_begin", {"lock_addr", "flags"}, NULL, false, "waits for locks of the kernel"},
	[POINT_LOCK_END] = {"lock/contention_end", {"lock_addr"}, NULL, false},
};

/* --- a line of a format file --- */

struct field_line {
	char name[160];
	struct tracefs_field field;
};

/* "field:char comm[16];	offset:8;	size:16;	signed:0;" false: this line is none. */
static bool parse_field(const char *line, struct field_line *ret)
{
	unsigned offset, size, is_signed = 0;
	char declared[160];
	char *name, *bracket;

	line = text_skip_blanks(line);
	if (sscanf(line, "field:%159[^;]; offset:%u; size:%u; signed:%u;", declared, &offset, &size, &is_signed) < 3 ||
	    offset > UINT16_MAX || size > UINT16_MAX)
		return false;
	bracket = strchr(declared, '[');
	if (bracket)
		*bracket = '\0';
	name = strrchr(declared, ' ');
	snprintf(ret->name, sizeof(ret->name), "%s", name ? name + 1 : declared);
	ret->field = (struct tracefs_field){(uint16_t)offset, (uint16_t)size, is_signed};
	return true;
}

/* Is it the field that is `wanted`, or the array that has it ("args[2]", of words)? */
static bool has_field(const struct field_line *f, const char *wanted, struct tracefs_field *ret)
{
	size_t n = strcspn(wanted, "[");
	struct tracefs_field found = f->field;

	if (strncmp(f->name, wanted, n) != 0 || f->name[n])
		return false;
	if (wanted[n]) {
		found.offset = (uint16_t)(found.offset + WORD_BYTES * strtoul(wanted + n + 1, NULL, 10));
		found.size = WORD_BYTES;
	}
	*ret = found;
	return true;
}

static void take_field(const struct field_line *f, enum trace_point point, struct tracefs_layout *l)
{
	const struct trace_point_names *names = &trace_points[point];

	if (strcmp(f->name, "common_type") == 0)
		l->type = f->field;
	else if (strcmp(f->name, "common_flags") == 0)
		l->context = f->field;
	else if (strcmp(f->name, "common_pid") == 0)
		l->thread = f->field;
	else if (names->text && strcmp(f->name, names->text) == 0)
		l->points[point].text = f->field;
	for (size_t i = 0; i < TRACEFS_VALUES && names->values[i]; i++)
		(void)has_field(f, names->values[i], &l->points[point].values[i]);
}

static uint8_t state_of_letter(char letter)
{
	switch (letter) {
	case 'S':
		return TASK_STATE_SLEEPS;
	case 'D':
		return TASK_STATE_BLOCKED;
	case 'T':
		return TASK_STATE_STOPPED;
	case 't':
		return TASK_STATE_TRACED;
	case 'X':
	case 'Z':
		return TASK_STATE_ENDED;
	case 'P':
		return TASK_STATE_PARKED;
	case 'I':
		return TASK_STATE_BLOCKED | TASK_STATE_NO_LOAD;
	}
	return TASK_STATE_BLOCKED;
}

/* print fmt: ... __print_flags(REC->prev_state & (...), "|", { 0x00000001, "S" }, { 0x00000002, "D" }, ...) : "R", ... */
static void take_states(const char *text, struct tracefs_layout *l)
{
	const char *at = strstr(text, "print fmt:");

	while (at && (at = strchr(at, '{'))) {
		unsigned bit;
		char letter;

		at++;
		if (sscanf(at, " 0x%x , \"%c\"", &bit, &letter) != 2 || !bit || bit & (bit - 1) || bit > 1u << 15)
			continue;
		l->states[__builtin_ctz(bit)] = state_of_letter(letter);
		l->states_mask |= bit;
	}
}

int tracefs_parse_format(const char *text, enum trace_point point, struct tracefs_layout *l)
{
	uint64_t id = UINT64_MAX;

	for (const char *line = text; *line; line = text_next_line(line)) {
		struct field_line f;

		if (str_starts(line, "ID:")) {
			const char *at = line + strlen("ID:");

			(void)text_scan_number(&at, &id);
		} else if (parse_field(line, &f)) {
			take_field(&f, point, l);
		}
	}
	if (id > UINT16_MAX || !l->type.size || !l->context.size || !l->thread.size)
		return -EBADMSG;
	if (point == POINT_SWITCH)
		take_states(text, l);
	for (size_t i = 0; i < TRACEFS_VALUES && trace_points[point].values[i]; i++)
		if (trace_points[point].needed && !l->points[point].values[i].size)
			return -EBADMSG;
	while (l->of_id.n <= id)
		if (VEC_PUSH(l->of_id, 0) < 0)
			return -ENOMEM;
	l->of_id.v[id] = (uint8_t)point + 1;
	l->points[point].id = (uint16_t)id;
	l->points[point].there = true;
	return 0;
}

int tracefs_parse_page_header(const char *text, struct tracefs_layout *l)
{
	struct tracefs_field data = {};

	for (const char *line = text; *line; line = text_next_line(line)) {
		struct field_line f;

		if (!parse_field(line, &f))
			continue;
		if (strcmp(f.name, "timestamp") == 0)
			l->page_time = f.field;
		else if (strcmp(f.name, "commit") == 0)
			l->page_commit = f.field;
		else if (strcmp(f.name, "data") == 0)
			data = f.field;
	}
	l->page_data = data.offset;
	l->page_size = (uint32_t)data.offset + data.size;
	if (l->page_time.size != 8 || (l->page_commit.size != 8 && l->page_commit.size != 4) || !data.size ||
	    l->page_time.offset + 8u > data.offset || (uint32_t)l->page_commit.offset + l->page_commit.size > data.offset ||
	    l->page_size > PAGE_MOST)
		return -EBADMSG;
	return 0;
}

/* --- all of them --- */

static int read_point(const char *tracing, enum trace_point point, struct tracefs_layout *l)
{
	struct text_file f = {};
	int r;

	r = text_file_open(&f, tracing, STR_TEXT(160, "events/%s/format", trace_points[point].event));
	if (r < 0)
		return r == -ENOENT && !trace_points[point].needed ? 0 : r;
	r = text_file_read(&f);
	r = r ?: tracefs_parse_format(f.data, point, l);
	text_file_close(&f);
	return r;
}

int tracefs_layout_read(const char *tracing, struct tracefs_layout *ret)
{
	_cleanup_(tracefs_layout_free) struct tracefs_layout l = {};
	struct text_file f = {};
	int r = text_file_open(&f, tracing, "events/header_page");

	if (r < 0)
		return r;
	r = text_file_read(&f);
	r = r ?: tracefs_parse_page_header(f.data, &l);
	text_file_close(&f);
	for (int i = 0; r == 0 && i < POINT_COUNT; i++)
		r = read_point(tracing, (enum trace_point)i, &l);
	if (r < 0)
		return r;
	*ret = l;
	l = (struct tracefs_layout){};
	return 0;
}

void tracefs_layout_free(struct tracefs_layout *l)
{
	VEC_FREE(l->of_id);
	*l = (struct tracefs_layout){};
}
