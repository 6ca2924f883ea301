#include "source/look.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <asm/perf_regs.h>
#else
#include <asm/perf_regs.h>
#endif

#include "base/cleanup.h"
#include "base/vec.h"
#include "inspect.skel.h"

#define BUFFER_PAGES 256 /* 1 MiB a CPU: at 500 samples a second and 8 KiB each, a quarter of a second */
#define PAGE	     4096ull
#define RECORD_MAX   65536

struct cpu_buffer {
	int fd;
	struct perf_event_mmap_page *page;
};

struct look {
	struct inspect_bpf *skel;
	struct bpf_link *iter, *files;
	VEC(struct cpu_buffer) cpus;
	uint64_t lost;
	struct capture_thread thread;
	uint8_t record[RECORD_MAX];
	uint64_t user[CAPTURE_USER_FRAMES];
};

#if defined(__x86_64__)
/* Which of perf's registers is DWARF's n-th. */
static const uint8_t dwarf_order[] = {
	PERF_REG_X86_AX,  PERF_REG_X86_DX,  PERF_REG_X86_CX,  PERF_REG_X86_BX,	PERF_REG_X86_SI,
	PERF_REG_X86_DI,  PERF_REG_X86_BP,  PERF_REG_X86_SP,  PERF_REG_X86_R8,	PERF_REG_X86_R9,
	PERF_REG_X86_R10, PERF_REG_X86_R11, PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14,
	PERF_REG_X86_R15, PERF_REG_X86_IP,
};
#else
static const uint8_t dwarf_order[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
				      17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
#endif

static uint64_t register_mask(void)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < ARRAY_SIZE(dwarf_order); i++)
		mask |= 1ull << dwarf_order[i];
	return mask;
}

static int open_cpu(struct look *l, int cpu, unsigned frequency)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = frequency,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER,
		.sample_regs_user = register_mask(),
		.sample_stack_user = CAPTURE_STACK_MAX,
		.sample_max_stack = CAPTURE_USER_FRAMES,
		.disabled = 1,
	};
	struct cpu_buffer b = {
		.fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)};

	if (b.fd < 0)
		return errno == ENODEV ? 0 : -errno; /* a CPU that is switched off */
	b.page = mmap(NULL, (1 + BUFFER_PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, b.fd, 0);
	if (b.page == MAP_FAILED ||
	    ioctl(b.fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(l->skel->progs.ours)) < 0 ||
	    VEC_PUSH(l->cpus, b) < 0) {
		int r = -errno;

		if (b.page != MAP_FAILED)
			munmap(b.page, (1 + BUFFER_PAGES) * PAGE);
		close(b.fd);
		return r ? r : -ENOMEM;
	}
	return 0;
}

static int open_cpus(struct look *l, unsigned frequency)
{
	int n = libbpf_num_possible_cpus(), r = n < 0 ? n : 0;

	for (int i = 0; r == 0 && i < n; i++)
		r = open_cpu(l, i, frequency);
	for (size_t i = 0; r == 0 && i < l->cpus.n; i++)
		if (ioctl(l->cpus.v[i].fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			r = -errno;
	return r;
}

static int load(struct look *l, uint32_t pid, bool files)
{
	int r;

	l->skel = inspect_bpf__open();
	if (!l->skel)
		return -errno;
	l->skel->rodata->target = pid;
	bpf_program__set_autoload(l->skel->progs.on_return, files);
	r = inspect_bpf__load(l->skel);
	if (r < 0) {
		inspect_bpf__destroy(l->skel);
		l->skel = NULL;
	}
	return r;
}

static int no_print(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	return 0;
}

static int attach_iterator(struct look *l, uint32_t pid)
{
	union bpf_iter_link_info info = {.task.pid = pid};
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &info, .link_info_len = sizeof(info));

	l->iter = bpf_program__attach_iter(l->skel->progs.look, &options);
	if (!l->iter) /* before 6.1 the program itself looks for its own */
		l->iter = bpf_program__attach_iter(l->skel->progs.look, NULL);
	return l->iter ? 0 : -errno;
}

int look_open(const struct look_options *options, struct look **ret, const char **ret_why)
{
	struct look *l = calloc(1, sizeof(*l));
	libbpf_print_fn_t print;
	int r;

	*ret_why = NULL;
	if (!l)
		return -ENOMEM;
	print = libbpf_set_print(no_print);
	r = load(l, options->pid, true);
	if (r < 0)
		r = load(l, options->pid, false);
	if (r < 0)
		*ret_why = r == -EPERM ? "only root may look into a process: use sudo"
				       : "this kernel cannot run the inspector's BPF programs (it needs 5.18 "
					 "with BTF)";
	if (r == 0)
		r = attach_iterator(l, options->pid);
	if (r == 0 && bpf_program__autoload(l->skel->progs.on_return))
		l->files = bpf_program__attach(l->skel->progs.on_return);
	if (r == 0) {
		r = open_cpus(l, options->frequency);
		if (r < 0)
			*ret_why = "profile samples are not to be had (kernel.perf_event_paranoid, or no "
				   "perf events in this kernel)";
	}
	libbpf_set_print(print);
	if (r < 0) {
		look_close(l);
		return r;
	}
	*ret = l;
	return 0;
}

void look_close(struct look *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->cpus.n; i++) {
		munmap(l->cpus.v[i].page, (1 + BUFFER_PAGES) * PAGE);
		close(l->cpus.v[i].fd);
	}
	VEC_FREE(l->cpus);
	bpf_link__destroy(l->iter);
	bpf_link__destroy(l->files);
	inspect_bpf__destroy(l->skel);
	free(l);
}

static int read_all(int fd, void *into, size_t n)
{
	size_t have = 0;

	while (have < n) {
		ssize_t k = read(fd, (char *)into + have, n - have);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -errno;
		if (k == 0)
			return have ? -EIO : 0;
		have += (size_t)k;
	}
	return 1;
}

int look_at_threads(struct look *l, const struct look_callbacks *c)
{
	_cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(l->iter));
	int threads = 0, r;

	if (fd < 0)
		return -errno;
	while ((r = read_all(fd, &l->thread, sizeof(l->thread))) > 0) {
		c->thread(&l->thread, NULL, c->data);
		threads++;
	}
	return r < 0 ? r : threads;
}

/* --- profile samples --- */

struct cursor {
	const uint8_t *at, *end;
};

static uint64_t take_word(struct cursor *c)
{
	uint64_t word = 0;

	if (c->end - c->at < (ptrdiff_t)sizeof(word)) {
		c->at = c->end;
		return 0;
	}
	memcpy(&word, c->at, sizeof(word));
	c->at += sizeof(word);
	return word;
}

/* The chain changes sides where a marker says so: PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER. */
static void take_chain(struct look *l, struct cursor *c)
{
	struct capture_thread *t = &l->thread;
	uint64_t n = take_word(c), side = 0;

	for (uint64_t i = 0; i < n && c->at < c->end; i++) {
		uint64_t word = take_word(c);

		if (word >= PERF_CONTEXT_MAX)
			side = word;
		else if (side == PERF_CONTEXT_KERNEL && t->n_kernel < CAPTURE_KERNEL_FRAMES)
			t->kernel[t->n_kernel++] = word;
		else if (side == PERF_CONTEXT_USER && t->n_user < CAPTURE_USER_FRAMES)
			l->user[t->n_user++] = word;
	}
}

/* perf gives the registers that were asked for in the order of its own numbers. */
static void take_registers(struct capture_thread *t, struct cursor *c)
{
	uint64_t mask = register_mask(), given[64] = {};

	if (take_word(c) == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	for (unsigned i = 0; i < 64; i++)
		if (mask >> i & 1)
			given[i] = take_word(c);
	for (size_t i = 0; i < ARRAY_SIZE(dwarf_order); i++)
		t->registers[i] = given[dwarf_order[i]];
	t->has_registers = 1;
}

static void take_stack(struct capture_thread *t, struct cursor *c)
{
	uint64_t size = take_word(c), used;
	const uint8_t *bytes = c->at;

	if (!size || (uint64_t)(c->end - c->at) < size)
		return;
	c->at += size;
	used = take_word(c);
	if (used > size || used > CAPTURE_STACK_MAX)
		return;
	memcpy(t->stack, bytes, used);
	t->stack_size = (uint32_t)used;
}

static void take_sample(struct look *l, const uint8_t *bytes, size_t n,
			const struct look_callbacks *callbacks)
{
	struct capture_thread *t = &l->thread;
	struct cursor c = {bytes, bytes + n};
	uint64_t ids = take_word(&c);

	t->kind = CAPTURE_SAMPLE;
	t->tid = (uint32_t)(ids >> 32);
	t->state = CAPTURE_RUNNING;
	t->syscall = -1;
	t->n_kernel = t->n_user = t->stack_size = t->has_registers = 0;
	t->comm[0] = '\0';
	take_chain(l, &c);
	take_registers(t, &c);
	take_stack(t, &c);
	callbacks->thread(t, l->user, callbacks->data);
}

static void copy_out(const struct cpu_buffer *b, uint64_t at, void *into, size_t n)
{
	const uint8_t *data = (const uint8_t *)b->page + PAGE;
	size_t offset = at % (BUFFER_PAGES * PAGE), first = BUFFER_PAGES * PAGE - offset;

	if (first > n)
		first = n;
	memcpy(into, data + offset, first);
	memcpy((uint8_t *)into + first, data, n - first);
}

static void drain(struct look *l, const struct cpu_buffer *b, const struct look_callbacks *c)
{
	uint64_t head = __atomic_load_n(&b->page->data_head, __ATOMIC_ACQUIRE), tail = b->page->data_tail;

	while (tail < head) {
		struct perf_event_header header;

		copy_out(b, tail, &header, sizeof(header));
		if (header.size < sizeof(header))
			break;
		copy_out(b, tail, l->record, header.size);
		if (header.type == PERF_RECORD_SAMPLE) {
			take_sample(l, l->record + sizeof(header), header.size - sizeof(header), c);
		} else if (header.type == PERF_RECORD_LOST) {
			uint64_t lost;

			memcpy(&lost, l->record + sizeof(header) + 8, sizeof(lost));
			l->lost += lost;
		}
		tail += header.size;
		__atomic_store_n(&b->page->data_tail, tail, __ATOMIC_RELEASE);
	}
}

void look_take_samples(struct look *l, const struct look_callbacks *c)
{
	for (size_t i = 0; i < l->cpus.n; i++)
		drain(l, &l->cpus.v[i], c);
}

uint64_t look_lost(const struct look *l)
{
	return l->lost;
}

static int by_bytes(const void *left, const void *right)
{
	const struct capture_file *a = left, *b = right;
	uint64_t x = a->read_bytes + a->written_bytes, y = b->read_bytes + b->written_bytes;

	return x > y ? -1 : x < y;
}

unsigned look_files(const struct look *l, struct capture_file *ret, unsigned max)
{
	int fd = bpf_map__fd(l->skel->maps.files);
	VEC(struct capture_file) all = {};
	uint64_t key[2], *previous = NULL;
	unsigned n;

	while (bpf_map_get_next_key(fd, previous, key) == 0) {
		struct capture_file f;

		if (bpf_map_lookup_elem(fd, key, &f) == 0)
			(void)VEC_PUSH(all, f);
		previous = key;
	}
	if (all.n)
		qsort(all.v, all.n, sizeof(all.v[0]), by_bytes);
	n = all.n < max ? (unsigned)all.n : max;
	if (n)
		memcpy(ret, all.v, n * sizeof(*ret));
	VEC_FREE(all);
	return n;
}

const char *look_files_missing(const struct look *l)
{
	return l->files ? NULL : "this kernel does not let reads and writes be counted by file";
}
