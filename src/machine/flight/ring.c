#include "machine/flight/ring.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "lib/system/lockdown.h"
#include "lib/system/own-limits.h"
#include "machine/flight/ring-inside.h"
#include "ring-old.skel.h"

#define BYTES_MAX    (64ull << 20)
#define SLOTS_LEAST  1024
#define LOOK_BUFFER  (64 << 10)

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

/* A program whose tracepoint this kernel does not have is left out. */
static void leave_out_unknown(struct ring_bpf *skel, const struct btf *vmlinux)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, skel->obj) {
		const char *section = bpf_program__section_name(program);

		if (str_starts(section, "tp_btf/") && !ring_kernel_traces(vmlinux, section + strlen("tp_btf/")))
			bpf_program__set_autoload(program, false);
	}
	/* one of the two will do */
	if (ring_kernel_traces(vmlinux, "csd_queue_cpu"))
		bpf_program__set_autoload(skel->progs.on_waking, false);
}

/* With the functions of the kernel's that it calls where there are such (since 6.5), else without. */
static struct ring_bpf *open_programs(const struct btf *vmlinux)
{
	_Static_assert(sizeof(struct ring_bpf) == sizeof(struct ring_old_bpf) &&
			       sizeof(struct ring_bpf__bss) == sizeof(struct ring_old_bpf__bss) &&
			       sizeof(struct ring_bpf__rodata) == sizeof(struct ring_old_bpf__rodata),
		       "one source, the same programs and variables");
	return ring_kernel_traces(vmlinux, "csd_queue_cpu") ? ring_bpf__open() : (struct ring_bpf *)ring_old_bpf__open();
}

static int load_failed(int r, const char **ret_why)
{
	static char other[160]; /* a process loads one ring */

	snprintf(other, sizeof(other), "this kernel cannot load the flight recorder's BPF programs (%s; it needs BTF, 6.1 or later)",
		 strerror(-r));
	*ret_why = lockdown_is_confidential("/sys") ?
			   "the kernel is locked down (lockdown=confidentiality): neither BPF programs nor trace events may read its memory" :
		   r == -EPERM ?
			   "the flight recorder needs root or CAP_BPF + CAP_PERFMON: start the recorder as root" :
		   r == -EMFILE || r == -ENFILE ? own_limits_reason(r) :
		   r == -ENOMEM ? "there is no memory for the flight recorder's ring: lower ring.size" : other;
	return r;
}

static uint64_t choose_slots(const struct ring_options *options, uint32_t n_cpus)
{
	uint64_t bytes = options->bytes ? options->bytes : ring_default_bytes();
	uint64_t slots = options->sums_only ? SLOTS_LEAST : bytes / sizeof(struct event) / RING_GENERATIONS / n_cpus;

	return slots < SLOTS_LEAST ? SLOTS_LEAST : power_below(slots);
}

/* Two seconds have 98 samples a CPU, and waits. All of it is looked at each time it is taken. */
static uint32_t profile_entries(uint32_t n_cpus)
{
	return n_cpus * RING_PROFILE_CPU < RING_PROFILE_LEAST ? RING_PROFILE_LEAST : n_cpus * RING_PROFILE_CPU;
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
	leave_out_unknown(r->skel, vmlinux);
	r->can = ring_kernel_abilities(vmlinux);
	btf__free(vmlinux);
	bpf_map__set_max_entries(r->skel->maps.ring, (uint32_t)(r->n_cpus * RING_GENERATIONS * (r->slots / RING_BLOCK)));
	bpf_map__set_max_entries(r->skel->maps.staged, r->n_cpus * RING_GENERATIONS);
	bpf_map__set_max_entries(r->skel->maps.cpus, r->n_cpus);
	r->skel->rodata->slot_bits = (uint32_t)__builtin_ctzll(r->slots);
	bpf_map__set_max_entries(r->skel->maps.profile, options->keep_profile ? profile_entries(r->n_cpus) : 1);
	r->skel->rodata->stacks_on = options->stacks;
	r->skel->rodata->profile_on = options->keep_profile;
	r->skel->rodata->check_kernel = options->check_kernel;
	n = ring_bpf__load(r->skel);
	return n;
}

static void *map_bytes(struct ring *r, int fd, size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return NULL;
	r->mapped[r->n_mapped++] = (struct iovec){at, bytes};
	return at;
}

static void *map_memory(struct ring *r, const struct bpf_map *map)
{
	return map_bytes(r, bpf_map__fd(map), (size_t)bpf_map__value_size(map) * bpf_map__max_entries(map));
}

static int map_all(struct ring *r)
{
	r->events = map_memory(r, r->skel->maps.ring);
	r->staged = map_memory(r, r->skel->maps.staged);
	r->cpus = map_memory(r, r->skel->maps.cpus);
	r->stacks = map_memory(r, r->skel->maps.stacks);
	r->ended = map_memory(r, r->skel->maps.ended);
	r->counts = map_memory(r, r->skel->maps.counts);
	return r->events && r->staged && r->cpus && r->stacks && r->ended && r->counts ? 0 : -ENOMEM;
}

static size_t turns_bytes(const struct ring *r)
{
	return sizeof(struct ring_turns) + (size_t)RING_GENERATIONS * r->n_cpus * sizeof(uint64_t);
}

static int make_turns(struct ring *r)
{
	pthread_mutexattr_t attributes;
	void *at = mmap(NULL, turns_bytes(r), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return -ENOMEM;
	r->turns = at;
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&r->turns->lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
	return 0;
}

void ring_lock_turns(struct ring *r)
{
	if (pthread_mutex_lock(&r->turns->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&r->turns->lock);
}

/* A link of an iterator, or -errno. */
static int link_iterator(int program)
{
	int fd = bpf_link_create(program, 0, BPF_TRACE_ITER, NULL);

	return fd < 0 ? -errno : fd;
}

/* Runs an iterator to its end; what it writes is thrown away. */
static int run_iterator(int link)
{
	_cleanup_close_ int fd = link < 0 ? link : bpf_iter_create(link);
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
	_cleanup_close_ int adopt = -1;
	struct bpf_program *program;
	int n;

	/* iterators and samples have links of their own */
	bpf_object__for_each_program(program, r->skel->obj)
		if (!str_starts(bpf_program__section_name(program), "tp_btf/"))
			bpf_program__set_autoattach(program, false);
	r->look = link_iterator(bpf_program__fd(r->skel->progs.look));
	adopt = link_iterator(bpf_program__fd(r->skel->progs.adopt));
	if (r->look < 0 || adopt < 0)
		return r->look < 0 ? r->look : adopt;
	n = run_iterator(r->look); /* measures what the others rely on */
	if (n == 0)
		n = ring_bpf__attach(r->skel);
	if (n == 0)
		n = run_iterator(adopt);
	for (uint32_t i = 0; i < r->n_cpus; i++)
		ring_begin(r, 0)[i] = r->cpus[i].head[0];
	r->turns->generations[0].began = (uint64_t)clock_monotonic();
	return n;
}

/* --- open and close --- */

bool ring_is_attached(const struct ring *r)
{
	return r->turns && __atomic_load_n(&r->turns->attached, __ATOMIC_ACQUIRE);
}

uint32_t ring_freezes(const struct ring *r)
{
	return r->turns ? __atomic_load_n(&r->turns->freezes, __ATOMIC_RELAXED) : 0;
}

int ring_attach(struct ring *r)
{
	int n = attach(r);

	if (n == 0 && r->wants_samples)
		n = ring_open_samplers(r);
	if (n == 0)
		__atomic_store_n(&r->turns->attached, true, __ATOMIC_RELEASE);
	return n;
}

int ring_inherit(struct ring *r)
{
	r->forked = (uint32_t)getpid();
	r->look = link_iterator(bpf_program__fd(r->skel->progs.look));
	return r->look < 0 ? r->look : 0;
}

int ring_open(const struct ring_options *options, struct ring **ret, const char **ret_why)
{
	struct ring *r = calloc(1, sizeof(*r));
	int n = libbpf_num_possible_cpus();

	if (!r)
		return -ENOMEM;
	libbpf_set_print(silent);
	r->owner = (uint32_t)getpid();
	r->look = -1;
	r->n_cpus = n > 0 ? (uint32_t)n : 1;
	r->slots = choose_slots(options, r->n_cpus);
	n = make_turns(r);
	if (n == 0)
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
	ring_close_samplers(r);
	for (uint32_t i = 0; i < r->n_mapped; i++)
		munmap(r->mapped[i].iov_base, r->mapped[i].iov_len);
	if (r->look >= 0)
		close(r->look);
	ring_bpf__destroy(r->skel);
	if (r->turns)
		munmap(r->turns, turns_bytes(r));
	free(r);
}

static uint32_t map_id(const struct bpf_map *map)
{
	struct bpf_map_info info = {};
	uint32_t size = sizeof(info);

	return bpf_obj_get_info_by_fd(bpf_map__fd(map), &info, &size) < 0 ? 0 : info.id;
}

static uint32_t program_id(const struct bpf_program *program)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);

	return bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) < 0 ? 0 : info.id;
}

int ring_shares(const struct ring *r, struct ring_shared *ret)
{
	*ret = (struct ring_shared){program_id(r->skel->progs.look), map_id(r->skel->maps.cpus), map_id(r->skel->maps.counts), map_id(r->skel->maps.ended),
				    sizeof(struct ring_task)};
	return ret->look && ret->cpus && ret->counts && ret->ended ? 0 : -ENOENT;
}

int ring_share_threads(const struct ring *r, struct bpf_map *threads, struct bpf_map *thread_slots)
{
	int n = bpf_map__reuse_fd(threads, bpf_map__fd(r->skel->maps.threads));

	return n < 0 ? n : bpf_map__reuse_fd(thread_slots, bpf_map__fd(r->skel->maps.thread_slots));
}

int ring_share_woken(const struct ring *r, struct bpf_map *woken)
{
	return bpf_map__reuse_fd(woken, bpf_map__fd(r->skel->maps.woken));
}

/* Maps one of another process's maps, an array of n values, at least one. NULL: it is gone, or another build has made it. */
static void *map_shared(struct ring *r, uint32_t id, size_t value_size, uint32_t *ret_n)
{
	_cleanup_close_ int fd = bpf_map_get_fd_by_id(id);
	struct bpf_map_info info = {};
	uint32_t size = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) < 0 || info.value_size != value_size)
		return NULL;
	*ret_n = info.max_entries;
	return map_bytes(r, fd, value_size * info.max_entries);
}

/* Nothing is loaded: that the kernel checks the program once more would take longer than most questions do. */
static int join(struct ring *r, const struct ring_shared *shared)
{
	_cleanup_close_ int look = bpf_prog_get_fd_by_id(shared->look);
	uint32_t one, n_ended;

	if (look < 0)
		return -errno;
	r->cpus = map_shared(r, shared->cpus, sizeof(*r->cpus), &r->n_cpus);
	r->counts = map_shared(r, shared->counts, sizeof(*r->counts), &one);
	r->ended = map_shared(r, shared->ended, sizeof(*r->ended), &n_ended);
	if (!r->cpus || !r->counts || !r->ended || n_ended != RING_ENDED || shared->task_size != sizeof(struct ring_task))
		return -ESTALE;
	r->look = link_iterator(look);
	return r->look < 0 ? r->look : 0;
}

int ring_join(const struct ring_shared *shared, struct ring **ret)
{
	struct ring *r = calloc(1, sizeof(*r));
	int n;

	if (!r)
		return -ENOMEM;
	libbpf_set_print(silent);
	r->look = -1;
	n = join(r, shared);
	if (n < 0)
		ring_close(r);
	else
		*ret = r;
	return n;
}

/* --- a look at every thread --- */

int ring_look(struct ring *r, void (*each)(const struct ring_task *task, void *data), void *data)
{
	_cleanup_close_ int fd = bpf_iter_create(r->look);
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
