#include "machine/flight/samples.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <asm/perf_regs.h>

#include "lib/data/cleanup.h"
#include "lib/data/vec.h"

#define PAGE	   4096ull
#define RECORD_MAX 65536

struct buffer {
	int fd;
	struct perf_event_mmap_page *page;
	size_t size; /* of the records behind it */
};

struct samples {
	struct samples_options options;
	VEC(struct buffer) buffers;
	uint64_t lost;
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

int samples_new(const struct samples_options *options, struct samples **ret)
{
	struct samples *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->options = *options;
	*ret = s;
	return 0;
}

void samples_free(struct samples *s)
{
	if (!s)
		return;
	VEC_FREE_EACH(s->buffers, munmap(each->page, PAGE + each->size); close(each->fd));
	free(s);
}

/* A hybrid CPU counts an event on one kind of core only, unless it is named with its number. */
static int open_branches(const struct samples *s, unsigned unit, int tid, int cpu)
{
	const struct samples_units *units = &s->options.branch_units;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS | (units->n > 1 ? (uint64_t)units->types[unit] << 32 : 0),
		.sample_period = s->options.branch_period,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_BRANCH_STACK,
		.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.disabled = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_event(const struct samples *s, int tid, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = s->options.frequency,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER,
		.sample_regs_user = register_mask(),
		.sample_stack_user = s->options.stack,
		.sample_max_stack = CAPTURE_USER_FRAMES,
		.exclude_kernel = s->options.user_only,
		.exclude_hv = s->options.user_only,
		.disabled = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Takes fd, whether it fails or not; an fd below 0 is errno's failure. */
static int add_buffer(struct samples *s, int fd, int bpf_program)
{
	struct buffer b = {.fd = fd, .size = s->options.buffer_pages * PAGE};
	int r;

	if (b.fd < 0)
		return -errno;
	b.page = mmap(NULL, PAGE + b.size, PROT_READ | PROT_WRITE, MAP_SHARED, b.fd, 0);
	r = b.page == MAP_FAILED ? -errno : 0;
	if (r == 0 && bpf_program >= 0 && ioctl(b.fd, PERF_EVENT_IOC_SET_BPF, bpf_program) < 0)
		r = -errno;
	r = r ?: VEC_PUSH(s->buffers, b);
	if (r == 0)
		return 0;
	if (b.page != MAP_FAILED)
		munmap(b.page, PAGE + b.size);
	close(b.fd);
	return r;
}

int samples_add(struct samples *s, int tid, int cpu, int bpf_program)
{
	int r = -EOPNOTSUPP;

	if (!s->options.branch_period)
		return add_buffer(s, open_event(s, tid, cpu), bpf_program);
	for (unsigned unit = 0; unit < s->options.branch_units.n; unit++) {
		r = add_buffer(s, open_branches(s, unit, tid, cpu), bpf_program);
		if (r < 0)
			return r;
	}
	return r;
}

int samples_enable(struct samples *s)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->buffers.n; i++)
		if (ioctl(s->buffers.v[i].fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			r = -errno;
	return r;
}

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
static void take_chain(struct samples *s, struct capture_thread *t, struct cursor *c)
{
	uint64_t n = take_word(c), side = 0;

	for (uint64_t i = 0; i < n && c->at < c->end; i++) {
		uint64_t word = take_word(c);

		if (word >= PERF_CONTEXT_MAX)
			side = word;
		else if (side == PERF_CONTEXT_KERNEL && t->n_kernel < CAPTURE_KERNEL_FRAMES)
			t->kernel[t->n_kernel++] = word;
		else if (side == PERF_CONTEXT_USER && t->n_user < CAPTURE_USER_FRAMES)
			s->user[t->n_user++] = word;
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

static void begin_sample(struct capture_thread *t, uint64_t ids)
{
	t->kind = CAPTURE_SAMPLE;
	t->tid = (uint32_t)(ids >> 32);
	t->state = CAPTURE_RUNNING;
	t->syscall = -1;
	t->n_kernel = t->n_user = t->stack_size = t->has_registers = 0;
	t->comm[0] = '\0';
}

void samples_read_branches(const uint8_t *bytes, size_t n, struct capture_thread *t, const struct thread_sampler_callbacks *callbacks)
{
	enum { FROM, TO, FLAGS, WORDS };
	struct cursor c = {bytes, bytes + n};
	uint64_t ids = take_word(&c), branches = take_word(&c), to;

	if (branches > (uint64_t)(c.end - c.at) / (WORDS * sizeof(to)))
		return;
	begin_sample(t, ids);
	t->n_user = 1;
	while (branches-- > 0) {
		memcpy(&to, c.at + (branches * WORDS + TO) * sizeof(to), sizeof(to));
		if (to)
			callbacks->thread(t, &to, callbacks->data);
	}
}

static void take_sample(struct samples *s, struct capture_thread *t, const uint8_t *bytes, size_t n,
			const struct thread_sampler_callbacks *callbacks)
{
	struct cursor c = {bytes, bytes + n};

	begin_sample(t, take_word(&c));
	take_chain(s, t, &c);
	take_registers(t, &c);
	take_stack(t, &c);
	callbacks->thread(t, s->user, callbacks->data);
}

static void copy_out(const struct buffer *b, uint64_t at, void *into, size_t n)
{
	const uint8_t *data = (const uint8_t *)b->page + PAGE;
	size_t offset = at % b->size, first = b->size - offset;

	if (first > n)
		first = n;
	memcpy(into, data + offset, first);
	memcpy((uint8_t *)into + first, data, n - first);
}

static void drain(struct samples *s, const struct buffer *b, struct capture_thread *scratch, const struct thread_sampler_callbacks *c)
{
	uint64_t head = __atomic_load_n(&b->page->data_head, __ATOMIC_ACQUIRE), tail = b->page->data_tail;

	while (tail < head) {
		struct perf_event_header header;

		copy_out(b, tail, &header, sizeof(header));
		if (header.size < sizeof(header))
			break;
		copy_out(b, tail, s->record, header.size);
		if (header.type == PERF_RECORD_SAMPLE && s->options.branch_period) {
			samples_read_branches(s->record + sizeof(header), header.size - sizeof(header), scratch, c);
		} else if (header.type == PERF_RECORD_SAMPLE) {
			take_sample(s, scratch, s->record + sizeof(header), header.size - sizeof(header), c);
		} else if (header.type == PERF_RECORD_LOST) {
			uint64_t lost;

			memcpy(&lost, s->record + sizeof(header) + 8, sizeof(lost));
			s->lost += lost;
		}
		tail += header.size;
		__atomic_store_n(&b->page->data_tail, tail, __ATOMIC_RELEASE);
	}
}

void samples_take(struct samples *s, struct capture_thread *scratch, const struct thread_sampler_callbacks *c)
{
	for (size_t i = 0; i < s->buffers.n; i++)
		drain(s, &s->buffers.v[i], scratch, c);
}

uint64_t samples_lost(const struct samples *s)
{
	return s->lost;
}
