#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "machine/flight/ring.h"
#include "machine/sample/task-inside.h"
#include "task-old.skel.h"

/* The same programs built without what old kernels lack: the skeletons differ in the bytes of the object only. */
_Static_assert(sizeof(struct task_bpf) == sizeof(struct task_old_bpf) &&
		       sizeof(struct task_bpf__bss) == sizeof(struct task_old_bpf__bss) &&
		       sizeof(struct task_bpf__rodata) == sizeof(struct task_old_bpf__rodata),
	       "one skeleton stands for both");

#define PID_NS_INIT_INO 0xEFFFFFFCu

static bool knows(const struct btf *vmlinux, const char *function)
{
	return btf__find_by_name_kind(vmlinux, function, BTF_KIND_FUNC) > 0;
}

/* A walk sees the tasks of the whole machine; a recorder in a namespace of its own sees what the iterator shows there. */
static bool sees_all_tasks(void)
{
	struct stat ns;

	return stat("/proc/self/ns/pid", &ns) == 0 && ns.st_ino == PID_NS_INIT_INO;
}

#define BY_ITERATOR ": processes are read by its iterator, at about twice the cost"

/* NULL = it can. */
static const char *why_no_walk(const struct btf *vmlinux)
{
	if (!knows(vmlinux, "bpf_iter_task_new") || !knows(vmlinux, "bpf_rcu_read_lock"))
		return "this kernel (before 6.7) has no walk over all tasks" BY_ITERATOR;
	return sees_all_tasks() ? NULL : "in a pid namespace the kernel allows no walk over its tasks" BY_ITERATOR;
}

/* What a kernel has of what the programs would use. */
struct abilities {
	bool lengths; /* of what goes through sockets: 6.3 */
	bool walks;   /* 6.7 */
	const char *no_walk; /* why not; NULL also where it was not to */
	bool reclaim; /* signs of it */
};

static bool traces(const struct btf *vmlinux, const char *tracepoint)
{
	return btf__find_by_name_kind(vmlinux, STR_TEXT(64, "btf_trace_%s", tracepoint), BTF_KIND_TYPEDEF) > 0;
}

static int look_at_kernel(const struct source_options *options, struct abilities *ret)
{
	struct btf *vmlinux = btf__load_vmlinux_btf();

	if (!vmlinux)
		return -EOPNOTSUPP;
	ret->lengths = traces(vmlinux, "sock_send_length");
	ret->no_walk = options->iterator ? NULL : why_no_walk(vmlinux);
	ret->walks = !options->iterator && !ret->no_walk;
	ret->reclaim = traces(vmlinux, "mm_vmscan_kswapd_wake") && traces(vmlinux, "mm_vmscan_direct_reclaim_begin") &&
		       traces(vmlinux, "mm_vmscan_memcg_reclaim_begin");
	btf__free(vmlinux);
	return 0;
}

static int load_programs(struct task_source *src, const struct source_options *options, const struct abilities *can, bool walks)
{
	int r;

	src->skel = walks ? task_bpf__open() : (struct task_bpf *)task_old_bpf__open();
	if (!src->skel)
		return -errno;
	src->skel->rodata->count_sockets = options->sockets;
	src->skel->rodata->has_socket_lengths = can->lengths;
	src->skel->rodata->has_sums = options->ring && ring_share_threads(options->ring, src->skel->maps.threads, src->skel->maps.thread_slots) == 0;
	src->sums = src->skel->rodata->has_sums ? options->ring : NULL;
	if (!src->skel->rodata->has_sums)
		bpf_map__set_max_entries(src->skel->maps.thread_slots, 1);
	if (options->ring && walks && ring_share_woken(options->ring, src->skel->maps.woken) == 0)
		src->flight = options->ring;
	src->skel->rodata->sees_reclaim = can->reclaim;
	src->skel->rodata->in_namespace = !sees_all_tasks();
	src->skel->rodata->walks = walks;
	bpf_program__set_autoload(src->skel->progs.on_send, can->lengths);
	bpf_program__set_autoload(src->skel->progs.on_receive, can->lengths);
	bpf_program__set_autoload(src->skel->progs.on_kswapd, can->reclaim);
	bpf_program__set_autoload(src->skel->progs.on_direct_reclaim, can->reclaim);
	bpf_program__set_autoload(src->skel->progs.on_group_reclaim, can->reclaim);
	bpf_program__set_autoload(src->skel->progs.walk, walks);
	bpf_program__set_autoload(src->skel->progs.on_begin, walks);
	bpf_map__set_autocreate(src->skel->maps.walked, walks);
	if (!walks) {
		bpf_map__set_max_entries(src->skel->maps.known, 1);
		bpf_map__set_max_entries(src->skel->maps.known_at, 1);
	}
	r = task_bpf__load(src->skel);
	if (r < 0) {
		task_bpf__destroy(src->skel);
		src->skel = NULL;
	}
	return r;
}

static void map_walked(struct task_source *src)
{
	void *at = mmap(NULL, sizeof(*src->walked), PROT_READ, MAP_SHARED, bpf_map__fd(src->skel->maps.walked), 0);

	src->walked = at == MAP_FAILED ? NULL : at;
}

/* Readable once the kernel has woken us, at half of the ring: the ring itself is readable as long as anything is in it, which
 * while programs end by the thousand it always is. */
static int open_wake(struct task_source *src)
{
	struct epoll_event edge = {.events = EPOLLIN | EPOLLET};

	src->wake_fd = epoll_create1(EPOLL_CLOEXEC);
	if (src->wake_fd < 0 || epoll_ctl(src->wake_fd, EPOLL_CTL_ADD, bpf_map__fd(src->skel->maps.exits), &edge) < 0)
		return -errno;
	return 0;
}

static int on_exit_record(void *context, void *data, size_t size)
{
	struct task_source *src = context;

	if (size >= TASK_SAMPLE_FULL)
		(void)VEC_PUSH(src->exits, *(const struct task_sample *)data);
	else if (size >= sizeof(struct task_rest))
		(void)VEC_PUSH(src->rests, *(const struct task_rest *)data);
	return 0;
}

/* With the walk if that may be, else without. */
static int load_best(struct task_source *src, const struct source_options *options, const struct abilities *can, const char **ret_dearer)
{
	int r = can->walks ? load_programs(src, options, can, true) : -EOPNOTSUPP;

	if (r == 0) {
		map_walked(src);
		return 0;
	}
	r = load_programs(src, options, can, false);
	if (r == 0)
		*ret_dearer = can->walks ? "this kernel refuses the walk over all tasks" BY_ITERATOR : can->no_walk;
	return r;
}

int task_load(struct task_source *src, const struct source_options *options, const char **ret_dearer)
{
	struct abilities can;
	int r;

	libbpf_set_print(NULL); /* what it would say does not help a user */
	r = look_at_kernel(options, &can);
	r = r ?: load_best(src, options, &can, ret_dearer);
	if (r < 0)
		return r;
	r = task_bpf__attach(src->skel);
	if (r < 0)
		return r;
	src->iter = bpf_program__attach_iter(src->skel->progs.sweep, NULL);
	if (!src->iter)
		return -errno;
	src->ring = ring_buffer__new(bpf_map__fd(src->skel->maps.exits), on_exit_record, src, NULL);
	return src->ring ? open_wake(src) : -errno;
}
