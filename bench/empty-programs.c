/* Attaches a program that does nothing wherever the recorder attaches one to a tracepoint, says "ready", and stays: what a workload loses to it
 * is what calling programs costs, without what whyslow's do. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "connect.skel.h"
#include "lib/data/str.h"
#include "ring.skel.h"
#include "task.skel.h"

#define SECTION "tp_btf/"

/* false: this kernel does not have the tracepoint, or refuses. The link lives as long as this process. */
static bool attach_empty(const char *tracepoint)
{
	static const struct bpf_insn nothing[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0}, {.code = BPF_JMP | BPF_EXIT}};
	int type = libbpf_find_vmlinux_btf_id(tracepoint, BPF_TRACE_RAW_TP), program;
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_RAW_TP, .attach_btf_id = (__u32)type);

	if (type <= 0)
		return false;
	program = bpf_prog_load(BPF_PROG_TYPE_TRACING, "empty", "GPL", nothing, sizeof(nothing) / sizeof(*nothing), &options);
	return program >= 0 && bpf_raw_tracepoint_open(NULL, program) >= 0;
}

/* The recorder takes one of these two. */
static bool stands_for_another(const char *tracepoint)
{
	return strcmp(tracepoint, "sched_waking") == 0 && libbpf_find_vmlinux_btf_id("csd_queue_cpu", BPF_TRACE_RAW_TP) > 0;
}

static int attach_as(const struct bpf_object *object)
{
	struct bpf_program *program;
	int attached = 0;

	bpf_object__for_each_program(program, object) {
		const char *section = bpf_program__section_name(program);

		if (str_starts(section, SECTION) && !stands_for_another(section + strlen(SECTION)))
			attached += attach_empty(section + strlen(SECTION));
	}
	return attached;
}

int main(void)
{
	struct ring_bpf *ring = ring_bpf__open();
	struct task_bpf *task = task_bpf__open();
	struct connect_bpf *connect = connect_bpf__open();

	libbpf_set_print(NULL);
	if (!ring || !task || !connect || attach_as(ring->obj) == 0 || attach_as(task->obj) == 0 || attach_as(connect->obj) == 0) {
		fputs("empty-programs needs root, and a kernel with BTF\n", stderr);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
