#include "source/ring.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "ring-old.skel.h"
#include "ring.skel.h"
#include "source/trace-words.h"

#define BYTES_MAX    (64ull << 20)
#define SLOTS_LEAST  1024
#define PROFILE_HZ   49
#define LATE_MAX     4096 /* records; what is later is sorted with the other CPUs' */
#define LOOK_BUFFER  (64 << 10)

struct ring {
	struct ring_bpf *skel;
	struct bpf_link *look, *adopt;
	uint32_t n_cpus;
	uint64_t slots;
	pthread_mutex_t lock; /* of the generations */
	struct generation {
		uint64_t *begin;	 /* of each CPU: its position when the generation's turn began */
		uint64_t began, rested;	 /* CLOCK_MONOTONIC */
	} generations[RING_GENERATIONS];
	struct event *events;
	struct ring_cpu *cpus;
	const struct ring_stack *stacks;
	const struct ring_ended *ended;
	struct ring_counts *counts;
	int *samplers; /* one perf event a CPU, or -1 */
	struct bpf_link **sampling;
	bool profiling, joined;
	bool wants_samples;
	bool attached; /* set by whichever thread attached it, when all is there */
};

uint64_t ring_default_bytes(void)
{
	struct sysinfo info;
	uint64_t all;

	if (sysinfo(&info) < 0)
		return 4ull << 20;
	all = (uint64_t)info.totalram * info.mem_unit;
	return all / 100 < BYTES_MAX ? all / 100 : BYTES_MAX;
}

static uint64_t power_below(uint64_t n)
{
	uint64_t p = 1;

	while (p * 2 <= n)
		p *= 2;
	return p;
}

/* --- loading --- */

static int silent(enum libbpf_print_level level, const char *format, va_list args)
{
	if (getenv("WHYSLOW_LIBBPF"))
		return vfprintf(stderr, format, args);
	(void)level;
	return 0;
}

static bool traces(const struct btf *vmlinux, const char *tracepoint)
{
	char name[80];

	snprintf(name, sizeof(name), "btf_trace_%s", tracepoint);
	return btf__find_by_name_kind(vmlinux, name, BTF_KIND_TYPEDEF) > 0;
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
	{NULL, "sched_entity", "deadline", "used slices: what is neither quota nor an arrival is taken for one (kernel 6.6)"},
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
		if (optional[i].tracepoint ? !traces(vmlinux, optional[i].tracepoint) :
					     !has_field(vmlinux, optional[i].type, optional[i].field))
			str_printf(&out, "%s\n", optional[i].lost);
	btf__free(vmlinux);
	return out.data;
}

/* A program whose tracepoint this kernel does not have is left out. */
static void leave_out_unknown(struct ring_bpf *skel, const struct btf *vmlinux, bool only_look)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, skel->obj) {
		const char *section = bpf_program__section_name(program);

		if (only_look)
			bpf_program__set_autoload(program, program == skel->progs.look);
		else if (text_starts(section, "tp_btf/") && !traces(vmlinux, section + strlen("tp_btf/")))
			bpf_program__set_autoload(program, false);
	}
	/* one of the two will do */
	if (traces(vmlinux, "csd_queue_cpu"))
		bpf_program__set_autoload(skel->progs.on_waking, false);
}

/* With the functions of the kernel's that it calls where there are such (since 6.5), else without. */
static struct ring_bpf *open_programs(const struct btf *vmlinux)
{
	_Static_assert(sizeof(struct ring_bpf) == sizeof(struct ring_old_bpf) &&
			       sizeof(struct ring_bpf__bss) == sizeof(struct ring_old_bpf__bss) &&
			       sizeof(struct ring_bpf__rodata) == sizeof(struct ring_old_bpf__rodata),
		       "one source, the same programs and variables");
	return traces(vmlinux, "csd_queue_cpu") ? ring_bpf__open() : (struct ring_bpf *)ring_old_bpf__open();
}

static int load_failed(int r, const char **ret_why)
{
	static char other[160]; /* a process loads one ring */

	snprintf(other, sizeof(other), "this kernel cannot load the flight recorder's BPF programs (%s; it needs BTF, 6.1 or later)",
		 strerror(-r));
	*ret_why = r == -EPERM || r == -EACCES ?
			   "the flight recorder needs root or CAP_BPF + CAP_PERFMON: start the recorder as root" :
		   r == -ENOMEM ? "there is no memory for the flight recorder's ring: lower ring.size" : other;
	return r;
}

static uint64_t choose_slots(const struct ring_options *options, uint32_t n_cpus)
{
	uint64_t bytes = options->bytes ? options->bytes : ring_default_bytes();
	uint64_t slots = options->sums_only ? SLOTS_LEAST : bytes / sizeof(struct event) / RING_GENERATIONS / n_cpus;

	return slots < SLOTS_LEAST ? SLOTS_LEAST : power_below(slots);
}

static int load(struct ring *r, const struct ring_options *options)
{
	struct btf *vmlinux = btf__load_vmlinux_btf();
	int n;

	if (!vmlinux)
		return -EOPNOTSUPP;
	r->skel = open_programs(vmlinux);
	if (!r->skel) {
		btf__free(vmlinux);
		return -errno;
	}
	leave_out_unknown(r->skel, vmlinux, false);
	btf__free(vmlinux);
	bpf_map__set_max_entries(r->skel->maps.ring, (uint32_t)(r->n_cpus * RING_GENERATIONS * r->slots));
	bpf_map__set_max_entries(r->skel->maps.cpus, r->n_cpus);
	r->skel->rodata->slots = (uint32_t)r->slots;
	r->skel->rodata->stacks_on = options->stacks;
	n = ring_bpf__load(r->skel);
	return n;
}

static void *map_memory(const struct bpf_map *map, bool writable)
{
	size_t bytes = (size_t)bpf_map__value_size(map) * bpf_map__max_entries(map);
	void *at = mmap(NULL, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, bpf_map__fd(map), 0);

	return at == MAP_FAILED ? NULL : at;
}

static void unmap_memory(const struct bpf_map *map, const void *at)
{
	if (at)
		munmap((void *)at, (size_t)bpf_map__value_size(map) * bpf_map__max_entries(map));
}

static int map_all(struct ring *r)
{
	r->events = map_memory(r->skel->maps.ring, false);
	r->cpus = map_memory(r->skel->maps.cpus, false);
	r->stacks = map_memory(r->skel->maps.stacks, false);
	r->ended = map_memory(r->skel->maps.ended, false);
	r->counts = map_memory(r->skel->maps.counts, false);
	for (int g = 0; g < RING_GENERATIONS; g++) {
		r->generations[g].begin = calloc(r->n_cpus, sizeof(uint64_t));
		if (!r->generations[g].begin)
			return -ENOMEM;
	}
	return r->events && r->cpus && r->stacks && r->ended && r->counts ? 0 : -ENOMEM;
}

/* Runs an iterator to its end; what it writes is thrown away. */
static int run_iterator(struct bpf_link *link)
{
	_cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(link));
	char buffer[512];
	ssize_t n;

	if (fd < 0)
		return -errno;
	do
		n = read(fd, buffer, sizeof(buffer));
	while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	return n < 0 ? -errno : 0;
}

/* Threads get their storage when they begin, and those that are there already once everything is attached: what it says
 * of them is then kept up to date. The recording begins only after that. */
static int attach(struct ring *r)
{
	struct bpf_program *program;
	int n;

	/* iterators and samples have links of their own */
	bpf_object__for_each_program(program, r->skel->obj)
		if (!text_starts(bpf_program__section_name(program), "tp_btf/"))
			bpf_program__set_autoattach(program, false);
	r->look = bpf_program__attach_iter(r->skel->progs.look, NULL);
	r->adopt = bpf_program__attach_iter(r->skel->progs.adopt, NULL);
	if (!r->look || !r->adopt)
		return -errno;
	n = ring_bpf__attach(r->skel);
	if (n == 0)
		n = run_iterator(r->adopt);
	for (uint32_t i = 0; i < r->n_cpus; i++)
		r->generations[0].begin[i] = r->cpus[i].head[0];
	r->generations[0].began = (uint64_t)monotonic_now();
	return n;
}

/* --- samples --- */

static int open_sampler(uint32_t cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = PROFILE_HZ,
		.disabled = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_samplers(struct ring *r)
{
	r->samplers = calloc(r->n_cpus, sizeof(*r->samplers));
	r->sampling = calloc(r->n_cpus, sizeof(*r->sampling));
	if (!r->samplers || !r->sampling)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_cpus; i++) {
		r->samplers[i] = open_sampler(i);
		if (r->samplers[i] < 0)
			continue;
		r->sampling[i] = bpf_program__attach_perf_event(r->skel->progs.on_sample, r->samplers[i]);
		ioctl(r->samplers[i], PERF_EVENT_IOC_DISABLE, 0);
	}
	return 0;
}

void ring_profile(struct ring *r, bool on)
{
	if (!__atomic_load_n(&r->attached, __ATOMIC_ACQUIRE) || !r->samplers || on == r->profiling)
		return;
	r->profiling = on;
	for (uint32_t i = 0; i < r->n_cpus; i++)
		if (r->samplers[i] >= 0)
			ioctl(r->samplers[i], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

static void close_samplers(struct ring *r)
{
	for (uint32_t i = 0; r->samplers && r->sampling && i < r->n_cpus; i++) {
		bpf_link__destroy(r->sampling[i]); /* closes the event too */
		if (!r->sampling[i] && r->samplers[i] >= 0)
			close(r->samplers[i]);
	}
	free(r->samplers);
	free(r->sampling);
}

/* --- open and close --- */

int ring_attach(struct ring *r)
{
	int n = attach(r);

	if (n == 0 && r->wants_samples)
		n = open_samplers(r);
	if (n == 0)
		__atomic_store_n(&r->attached, true, __ATOMIC_RELEASE);
	return n;
}

static bool is_attached(const struct ring *r)
{
	return __atomic_load_n(&r->attached, __ATOMIC_ACQUIRE);
}

int ring_open(const struct ring_options *options, struct ring **ret, const char **ret_why)
{
	struct ring *r = calloc(1, sizeof(*r));
	int n = libbpf_num_possible_cpus();

	if (!r)
		return -ENOMEM;
	pthread_mutex_init(&r->lock, NULL);
	libbpf_set_print(silent);
	r->n_cpus = n > 0 ? (uint32_t)n : 1;
	r->slots = choose_slots(options, r->n_cpus);
	n = load(r, options);
	if (n == 0)
		n = map_all(r);
	r->wants_samples = options->profile;
	if (n == 0 && !options->attach_later)
		n = ring_attach(r);
	if (n < 0) {
		ring_close(r);
		return load_failed(n, ret_why);
	}
	*ret = r;
	return 0;
}

void ring_close(struct ring *r)
{
	if (!r)
		return;
	close_samplers(r);
	if (r->skel) {
		unmap_memory(r->skel->maps.ring, r->events);
		unmap_memory(r->skel->maps.cpus, r->cpus);
		unmap_memory(r->skel->maps.stacks, r->stacks);
		unmap_memory(r->skel->maps.ended, r->ended);
		unmap_memory(r->skel->maps.counts, r->counts);
	}
	bpf_link__destroy(r->look);
	bpf_link__destroy(r->adopt);
	ring_bpf__destroy(r->skel);
	for (int g = 0; g < RING_GENERATIONS; g++)
		free(r->generations[g].begin);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static uint32_t map_id(const struct bpf_map *map)
{
	struct bpf_map_info info = {};
	uint32_t size = sizeof(info);

	return bpf_obj_get_info_by_fd(bpf_map__fd(map), &info, &size) < 0 ? 0 : info.id;
}

int ring_maps(const struct ring *r, struct ring_maps *ret)
{
	*ret = (struct ring_maps){map_id(r->skel->maps.threads), map_id(r->skel->maps.cpus), map_id(r->skel->maps.counts),
				    map_id(r->skel->maps.ended)};
	return ret->threads && ret->cpus && ret->counts && ret->ended ? 0 : -ENOENT;
}

int ring_threads_fd(const struct ring *r)
{
	return bpf_map__fd(r->skel->maps.threads);
}

static int reuse(struct bpf_map *map, uint32_t id)
{
	_cleanup_close_ int fd = bpf_map_get_fd_by_id(id);

	return fd < 0 ? -errno : bpf_map__reuse_fd(map, fd);
}

static int load_joined(struct ring *r, const struct ring_maps *maps)
{
	struct btf *vmlinux = btf__load_vmlinux_btf();
	int n;

	if (!vmlinux)
		return -EOPNOTSUPP;
	r->skel = open_programs(vmlinux);
	if (r->skel)
		leave_out_unknown(r->skel, vmlinux, true);
	btf__free(vmlinux);
	if (!r->skel)
		return -errno;
	n = reuse(r->skel->maps.threads, maps->threads);
	if (n == 0)
		n = reuse(r->skel->maps.cpus, maps->cpus);
	if (n == 0)
		n = reuse(r->skel->maps.counts, maps->counts);
	if (n == 0)
		n = reuse(r->skel->maps.ended, maps->ended);
	if (n < 0)
		return n;
	r->skel->rodata->slots = 1;
	return ring_bpf__load(r->skel);
}

int ring_join(const struct ring_maps *maps, struct ring **ret, const char **ret_why)
{
	struct ring *r = calloc(1, sizeof(*r));
	int n;

	if (!r)
		return -ENOMEM;
	pthread_mutex_init(&r->lock, NULL);
	libbpf_set_print(silent);
	r->joined = true;
	n = load_joined(r, maps);
	if (n == 0) {
		r->n_cpus = bpf_map__max_entries(r->skel->maps.cpus);
		r->cpus = map_memory(r->skel->maps.cpus, false);
		r->counts = map_memory(r->skel->maps.counts, false);
		r->ended = map_memory(r->skel->maps.ended, false);
		r->look = bpf_program__attach_iter(r->skel->progs.look, NULL);
		n = r->cpus && r->counts && r->ended && r->look ? 0 : -ENOMEM;
	}
	if (n < 0) {
		ring_close(r);
		return load_failed(n, ret_why);
	}
	*ret = r;
	return 0;
}

/* --- a look at every thread --- */

int ring_look(struct ring *r, void (*each)(const struct ring_task *task, void *data), void *data)
{
	_cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(r->look));
	_cleanup_free_ char *buffer = malloc(LOOK_BUFFER);
	size_t have = 0;

	if (fd < 0 || !buffer)
		return fd < 0 ? -errno : -ENOMEM;
	for (;;) {
		ssize_t n = read(fd, buffer + have, LOOK_BUFFER - have);
		size_t at = 0;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		for (have += (size_t)n; have - at >= sizeof(struct ring_task); at += sizeof(struct ring_task)) {
			struct ring_task task;

			memcpy(&task, buffer + at, sizeof(task));
			each(&task, data);
		}
		memmove(buffer, buffer + at, have - at);
		have -= at;
	}
}

void ring_look_back(struct ring *r, uint64_t since, void (*each)(const struct ring_task *task, void *data), void *data)
{
	uint64_t n = r->counts->ended, first = n > RING_ENDED ? n - RING_ENDED : 0;

	for (uint64_t i = first; i < n; i++) {
		struct ring_ended ended = r->ended[i & (RING_ENDED - 1)];
		struct ring_task task = {.who = ended.who, .state = STATE_ENDED, .utime = ended.utime, .stime = ended.stime};

		if (ended.end <= since)
			continue;
		task.has_sums = 1;
		memcpy(task.sum, ended.sum, sizeof(task.sum));
		each(&task, data);
	}
}

const struct ring_cpu *ring_cpus(const struct ring *r, uint32_t *ret_n)
{
	*ret_n = r->n_cpus;
	return r->cpus;
}

const struct ring_counts *ring_counts(const struct ring *r)
{
	return r->counts;
}

uint64_t ring_slots(const struct ring *r)
{
	return r->slots;
}

/* --- a freeze --- */

/* A switch that is told late, or an interrupt by another clock: mostly a few places back. */
static void sort_in(struct event *events, size_t n)
{
	struct event e;

	if (n == 0 || events[n - 1].time <= events[n].time)
		return;
	e = events[n];
	for (size_t left = LATE_MAX; n > 0 && events[n - 1].time > e.time && left > 0; left--, n--)
		events[n] = events[n - 1];
	events[n] = e;
}

/* Whoever writes a slot again first says that it holds nothing, and then of which lap it is: what still says the same
 * after it was copied was whole. */
static bool copy_slot(const struct event *slot, uint16_t lap, struct event *ret)
{
	*ret = *slot;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return ret->kind != EVENT_NONE && ret->cpu == lap && __atomic_load_n(&slot->kind, __ATOMIC_RELAXED) == ret->kind &&
	       __atomic_load_n(&slot->cpu, __ATOMIC_RELAXED) == lap;
}

int ring_read_slice(const struct ring_slice *slice, uint16_t cpu, struct trace *t)
{
	uint64_t from = slice->head - slice->begin > slice->n ? slice->head - slice->n : slice->begin;
	struct event *out = trace_reserve(t, slice->head - from);
	struct trace_cpu *c = &t->cpus[cpu];
	uint64_t first = slice->began;
	size_t n = 0;

	if (!out)
		return -ENOMEM;
	c->written += slice->head - slice->begin;
	for (uint64_t at = from; at < slice->head; at++) {
		if (!copy_slot(&slice->slots[at & (slice->n - 1)], (uint16_t)(at / slice->n), &out[n])) {
			c->torn++;
			continue;
		}
		if (n == 0)
			first = out[n].time;
		out[n++].cpu = cpu;
		sort_in(out, n - 1);
	}
	t->n_events += n;
	/* what was overwritten leaves a gap behind what the other generation has */
	if (from != slice->begin)
		c->from = first;
	else if (!c->from)
		c->from = slice->began;
	return 0;
}

static int read_generation(const struct ring *r, uint32_t g, const uint64_t *heads, struct trace *t)
{
	const struct generation *read = &r->generations[g];

	for (uint32_t cpu = 0; cpu < r->n_cpus; cpu++) {
		struct ring_slice slice = {
			.slots = r->events + (cpu * RING_GENERATIONS + g) * r->slots,
			.n = r->slots,
			.begin = read->begin[cpu],
			.head = heads[cpu],
			.began = read->began,
		};
		int n = ring_read_slice(&slice, (uint16_t)cpu, t);

		if (n < 0)
			return n;
	}
	return 0;
}

static struct trace_thread identity(const struct ring_identity *who, const struct trace *t)
{
	struct trace_thread thread = {
		.tid = who->tid,
		.tgid = who->tgid,
		.ns_tid = who->ns_tid,
		.ns_tgid = who->ns_tgid,
		.pid_ns = who->pid_ns,
		.parent = who->parent,
		.uid = who->uid,
		.flags = who->flags,
		.prio = who->prio,
		.start = who->start,
		.group = who->group,
	};

	(void)t;
	memcpy(thread.comm, who->comm, TRACE_COMM);
	if (who->tgid == (uint32_t)getpid())
		thread.flags |= THREAD_IS_SELF;
	return thread;
}

static void take_living(const struct ring_task *task, void *data)
{
	struct trace *t = data;
	struct trace_thread thread = identity(&task->who, t);

	thread.state = task->state;
	thread.facts = task->facts;
	thread.syscall = task->syscall;
	thread.cpu = task->cpu;
	thread.state_since = task->since;
	thread.object = task->object;
	thread.owner = task->owner;
	thread.lock_flags = task->lock_flags;
	thread.cpu_time = task->cpu_time;
	thread.run_delay = task->run_delay;
	thread.write_bytes = task->write_bytes;
	(void)trace_add_thread(t, &thread);
}

static int take_ended(const struct ring *r, uint64_t from, struct trace *t)
{
	uint64_t n = r->counts->ended, first = n > RING_ENDED ? n - RING_ENDED : 0;

	for (uint64_t i = first; i < n; i++) {
		struct ring_ended ended = r->ended[i & (RING_ENDED - 1)];
		struct trace_thread thread;

		if (!ended.end || ended.end < from || ended.end > t->frozen)
			continue;
		thread = identity(&ended.who, t);
		thread.end = ended.end;
		thread.flags |= THREAD_HAS_ENDED;
		thread.state = STATE_ENDED;
		if (trace_add_thread(t, &thread) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int take_stack(const struct ring *r, stack_ref ref, struct trace *t)
{
	struct ring_stack s;

	if (!ref || trace_stack(t, ref))
		return 0;
	s = r->stacks[ref & (RING_STACKS - 1)];
	if (s.ref != ref || s.n > RING_FRAMES) {
		t->stacks_lost++;
		return 0;
	}
	return trace_add_stack(t, ref, (const uint64_t *)s.frames, s.n);
}

static int take_stacks(const struct ring *r, struct trace *t)
{
	int n = 0;

	for (size_t i = 0; i < t->n_events && n == 0; i++) {
		const struct event *e = &t->events[i];

		if (e->kind == EVENT_WAKEUP)
			n = take_stack(r, e->wakeup.stack, t);
		else if (e->kind == EVENT_SAMPLE)
			n = take_stack(r, e->sample.kernel, t) ?: take_stack(r, e->sample.user, t);
		else if (e->kind == EVENT_WAITED)
			n = take_stack(r, e->waited.kernel, t) ?: take_stack(r, e->waited.user, t);
	}
	return n;
}

static void describe_kernel(struct trace *t)
{
	struct btf *vmlinux = btf__load_vmlinux_btf();

	t->source = "ring";
	t->has_wakers = true;
	if (!vmlinux)
		return;
	t->has_deadlines = has_field(vmlinux, "sched_entity", "deadline");
	t->has_quota_clock = has_field(vmlinux, "cfs_rq", "throttled_clock_self_time");
	t->has_lock_owners = traces(vmlinux, "contention_begin");
	t->has_block = traces(vmlinux, "block_rq_issue");
	btf__free(vmlinux);
}

/* No program that began before still runs. */
static void wait_for_writers(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0)
		usleep(50000);
}

/* The programs write the other generation from now on. */
static void turn(struct ring *r)
{
	uint32_t rests = r->skel->bss->generation & 1, next = rests ^ 1;

	for (uint32_t i = 0; i < r->n_cpus; i++)
		r->generations[next].begin[i] = r->cpus[i].head[next];
	__atomic_store_n(&r->skel->bss->generation, next, __ATOMIC_SEQ_CST);
	r->generations[next].began = r->generations[rests].rested = (uint64_t)monotonic_now();
}

void ring_turn(struct ring *r)
{
	uint32_t g = r->skel->bss->generation & 1;

	if (!is_attached(r) || pthread_mutex_trylock(&r->lock) != 0)
		return;
	for (uint32_t i = 0; i < r->n_cpus; i++)
		if (r->cpus[i].head[g] - r->generations[g].begin[i] >= r->slots) {
			turn(r);
			break;
		}
	pthread_mutex_unlock(&r->lock);
}

static void note_heads(const struct ring *r, uint32_t g, uint64_t *ret)
{
	for (uint32_t cpu = 0; cpu < r->n_cpus; cpu++)
		ret[cpu] = __atomic_load_n(&r->cpus[cpu].head[g], __ATOMIC_ACQUIRE);
}

/* Turns nothing: who only wants to look must not cost a later mark its past. All that was to be told at the moment of the
 * freeze stands below the heads after one grace period, and is written after another. */
static int read_both(struct ring *r, uint64_t since, struct trace *t)
{
	uint32_t now = r->skel->bss->generation & 1, before = now ^ 1;
	_cleanup_free_ uint64_t *heads = calloc(r->n_cpus, sizeof(*heads));
	int n = 0;

	if (!heads)
		return -ENOMEM;
	t->frozen = (uint64_t)monotonic_now();
	wait_for_writers();
	if (r->generations[before].rested > since) {
		note_heads(r, before, heads);
		n = read_generation(r, before, heads, t);
	}
	note_heads(r, now, heads);
	wait_for_writers();
	return n < 0 ? n : read_generation(r, now, heads, t);
}

/* Only what is wanted; what each CPU's records cover. */
static void cut(const struct ring *r, uint64_t since, struct trace *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_events; i++)
		if (t->events[i].time > since && t->events[i].time <= t->frozen)
			t->events[n++] = t->events[i];
	t->n_events = n;
	for (uint32_t i = 0; i < r->n_cpus; i++) {
		t->cpus[i].there = r->cpus[i].switches > 0;
		t->cpus[i].skipped = r->cpus[i].missed;
		t->cpus[i].to = t->frozen;
		if (t->cpus[i].from < since)
			t->cpus[i].from = since;
	}
	t->to = t->frozen;
}

static int take_others(struct ring *r, struct trace *t)
{
	uint64_t from = UINT64_MAX;
	int n = ring_look(r, take_living, t);

	for (uint32_t i = 0; i < r->n_cpus; i++)
		if (t->cpus[i].from < from)
			from = t->cpus[i].from;
	if (n == 0)
		n = take_ended(r, from, t);
	if (n == 0)
		n = take_stacks(r, t);
	if (n < 0)
		return n;
	describe_kernel(t);
	trace_describe_machine(t);
	trace_describe_threads(t);
	return trace_finish(t);
}

int ring_freeze_since(struct ring *r, uint64_t since, struct trace *ret)
{
	_cleanup_(trace_clear) struct trace t = {};
	int n = !is_attached(r) ? -EINVAL : trace_begin(&t, r->n_cpus);

	if (n < 0)
		return n;
	pthread_mutex_lock(&r->lock);
	n = read_both(r, since, &t);
	pthread_mutex_unlock(&r->lock);
	if (n < 0)
		return n;
	cut(r, since, &t);
	n = take_others(r, &t);
	if (n < 0)
		return n;
	*ret = t;
	t = (struct trace){};
	return 0;
}

int ring_freeze(struct ring *r, struct trace *ret)
{
	return ring_freeze_since(r, 0, ret);
}
