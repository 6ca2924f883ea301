/* What the running kernel has of what the flight recorder's programs read. */
#include <bpf/btf.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "machine/flight/ring-inside.h"

bool ring_kernel_traces(const struct btf *vmlinux, const char *tracepoint)
{
	return btf__find_by_name_kind(vmlinux, STR_TEXT(80, "btf_trace_%s", tracepoint), BTF_KIND_TYPEDEF) > 0;
}

static bool has_field(const struct btf *vmlinux, const char *type, const char *field)
{
	int id = btf__find_by_name_kind(vmlinux, type, BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(vmlinux, (uint32_t)id) : NULL;
	const struct btf_member *m = t ? btf_members(t) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (strcmp(btf__name_by_offset(vmlinux, m[i].name_off), field) == 0)
			return true;
	return false;
}

/* What a kernel may lack, and what is not known then. */
static const struct {
	const char *tracepoint; /* or */
	const char *type, *field;
	const char *lost;
} optional[] = {
	{"contention_begin", NULL, NULL, "which lock of the kernel a thread waits for, and who holds it (kernel 5.19)"},
	{"local_timer_entry", NULL, NULL, "what the timer's interrupts take, and bursts of threads they wake (x86 only)"},
	{"mm_vmscan_memcg_reclaim_begin", NULL, NULL, "reclaim within control groups"},
	{"block_rq_issue", NULL, NULL, "requests to disks"},
	{NULL, "sched_entity", "deadline", "used slices: what is neither quota nor an arrival counts as one (kernel 6.6)"},
	{NULL, "cfs_rq", "throttled_clock_self_time", "how much of a wait for a CPU was the group's quota (kernel 6.5)"},
	{NULL, "task_struct", "in_memstall", "waits for memory (pressure stall information)"},
};

char *ring_missing(void)
{
	struct btf *vmlinux = btf__load_vmlinux_btf();
	struct str out = {};

	if (!vmlinux)
		return strdup("the flight recorder: this kernel has no BTF\n");
	for (size_t i = 0; i < ARRAY_SIZE(optional); i++)
		if (optional[i].tracepoint ? !ring_kernel_traces(vmlinux, optional[i].tracepoint) :
					     !has_field(vmlinux, optional[i].type, optional[i].field))
			str_printf(&out, "%s\n", optional[i].lost);
	btf__free(vmlinux);
	return out.data;
}

struct ring_abilities ring_kernel_abilities(const struct btf *vmlinux)
{
	return (struct ring_abilities){
		.deadlines = has_field(vmlinux, "sched_entity", "deadline"),
		.quota_clock = has_field(vmlinux, "cfs_rq", "throttled_clock_self_time"),
		.lock_owners = ring_kernel_traces(vmlinux, "contention_begin"),
		.block = ring_kernel_traces(vmlinux, "block_rq_issue"),
	};
}
