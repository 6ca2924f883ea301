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
static void leave_out_unknown(struct ring_bpf *skel, const struct btf *vmlinux, bool only_look)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, skel->obj) {
		const char *section = bpf_program__section_name(program);

		if (only_look)
			bpf_program__set_autoload(program, program == skel->progs.look);
		else if (str_starts(section, "tp_btf/") && !ring_kernel_traces(vmlinux, section + strlen("tp_btf/")))
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
	leave_out_unknown(r->skel, vmlinux, false);
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

static void *map_memory(struct ring *r, const struct bpf_map *map)
{
	size_t bytes = (size_t)bpf_map__value_size(map) * bpf_map__max_entries(map);
	void *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, bpf_map__fd(map), 0);

	if (at == MAP_FAILED)
		return NULL;
	r->mapped[r->n_mapped++] = (struct iovec){at, bytes};
	return at;
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
		if (!str_starts(bpf_program__section_name(program), "tp_btf/"))
			bpf_program__set_autoattach(program, false);
	r->look = bpf_program__attach_iter(r->skel->progs.look, NULL);
	r->adopt = bpf_program__attach_iter(r->skel->progs.adopt, NULL);
	if (!r->look || !r->adopt)
		return -errno;
	n = run_iterator(r->look); /* measures what the others rely on */
	if (n == 0)
		n = ring_bpf__attach(r->skel);
	if (n == 0)
		n = run_iterator(r->adopt);
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
	r->look = bpf_program__attach_iter(r->skel->progs.look, NULL);
	return r->look ? 0 : -errno;
}

int ring_open(const struct ring_options *options, struct ring **ret, const char **ret_why)
{
	struct ring *r = calloc(1, sizeof(*r));
	int n = libbpf_num_possible_cpus();

	if (!r)
		return -ENOMEM;
	libbpf_set_print(silent);
	r->owner = (uint32_t)getpid();
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
	bpf_link__destroy(r->look);
	bpf_link__destroy(r->adopt);
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

int ring_maps(const struct ring *r, struct ring_maps *ret)
{
	*ret = (struct ring_maps){map_id(r->skel->maps.threads), map_id(r->skel->maps.thread_slots), map_id(r->skel->maps.cpus),
				  map_id(r->skel->maps.counts), map_id(r->skel->maps.ended)};
	return ret->threads && ret->thread_slots && ret->cpus && ret->counts && ret->ended ? 0 : -ENOENT;
}

int ring_share_threads(const struct ring *r, struct bpf_map *threads, struct bpf_map *thread_slots)
{
	int n = bpf_map__reuse_fd(threads, bpf_map__fd(r->skel->maps.threads));

	return n < 0 ? n : bpf_map__reuse_fd(thread_slots, bpf_map__fd(r->skel->maps.thread_slots));
}

int ring_share_woken(const struct ring *r, struct bpf_map *woken)
{
	return r->joined ? -EBUSY : bpf_map__reuse_fd(woken, bpf_map__fd(r->skel->maps.woken));
}

static int reuse(struct bpf_map *map, uint32_t id)
{
	_cleanup_close_ int fd = bpf_map_get_fd_by_id(id);

	return fd < 0 ? -errno : bpf_map__reuse_fd(map, fd);
}

static int load_joined(struct ring *r, const struct ring_maps *maps)
{
	struct btf *vmlinux = btf__load_vmlinux_btf();
	int n = 0;

	if (!vmlinux)
		return -EOPNOTSUPP;
	r->skel = open_programs(vmlinux);
	if (r->skel)
		leave_out_unknown(r->skel, vmlinux, true);
	btf__free(vmlinux);
	if (!r->skel)
		return -errno;
	const struct {
		struct bpf_map *map;
		uint32_t id;
	} shared[] = {{r->skel->maps.threads, maps->threads}, {r->skel->maps.thread_slots, maps->thread_slots}, {r->skel->maps.cpus, maps->cpus},
		      {r->skel->maps.counts, maps->counts}, {r->skel->maps.ended, maps->ended}};
	for (size_t i = 0; n == 0 && i < ARRAY_SIZE(shared); i++)
		n = reuse(shared[i].map, shared[i].id);
	return n < 0 ? n : ring_bpf__load(r->skel);
}

int ring_join(const struct ring_maps *maps, struct ring **ret, const char **ret_why)
{
	struct ring *r = calloc(1, sizeof(*r));
	int n;

	if (!r)
		return -ENOMEM;
	libbpf_set_print(silent);
	r->joined = true;
	n = load_joined(r, maps);
	if (n == 0) {
		r->n_cpus = bpf_map__max_entries(r->skel->maps.cpus);
		r->cpus = map_memory(r, r->skel->maps.cpus);
		r->counts = map_memory(r, r->skel->maps.counts);
		r->ended = map_memory(r, r->skel->maps.ended);
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
