#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "lib/data/cleanup.h"
#include "lib/data/file.h"
#include "lib/rights/memory-budget.h"
#include "lib/data/str.h"
#include "machine/trace/trace-file.h"
#include "machine/trace/trace-sections.h"

#define SECTION_MAX ((uint64_t)256 << 20)
#define EVENTS_MAX  ((size_t)64 << 20) /* 2 GiB of memory */
#define STACK_MEMORY 64 /* of one without frames: where it is, and how it is found */

struct input {
	int fd;
	uint64_t offset;
	struct memory_budget budget;
	struct trace trace;
	uint64_t events_told; /* by META */
	bool meta, end;
	char **error;
};

static int damaged(struct input *in, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int damaged(struct input *in, const char *format, ...)
{
	_cleanup_free_ char *what = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&what, format, args) < 0)
		what = NULL;
	va_end(args);
	if (asprintf(in->error, "the trace is damaged at byte %" PRIu64 ": %s", in->offset, what ? what : "?") < 0)
		*in->error = NULL;
	return -EBADMSG;
}

/* 0, 1 = the end before the first byte, or -errno. */
static int read_exactly(struct input *in, void *to, size_t n)
{
	ssize_t got = file_read(in->fd, to, n);

	if (got < (ssize_t)n)
		return got < 0 ? (int)got : got == 0 ? 1 : damaged(in, "it ends in the middle");
	in->offset += n;
	memory_budget_feed(&in->budget, n);
	return 0;
}

/* Twice: arrays grow by doubling. */
static int take(struct input *in, uint64_t bytes)
{
	return memory_budget_take(&in->budget, bytes, 2);
}

static int get_meta(struct input *in, struct reader *r)
{
	struct trace *t = &in->trace;
	uint64_t n_cpus = reader_varint(r), has;
	int result = in->meta || n_cpus > 8192 ? -EINVAL : trace_begin(t, (uint32_t)n_cpus);
	_cleanup_free_ char *source = NULL;

	if (result < 0)
		return result == -ENOMEM ? result : damaged(in, "%" PRIu64 " CPUs", n_cpus);
	in->meta = true;
	t->from = reader_varint(r);
	t->to = reader_varint(r);
	t->frozen = reader_varint(r);
	t->wall_offset = reader_svarint(r);
	t->boot_offset = reader_svarint(r);
	t->gap = reader_varint(r);
	t->stacks_lost = reader_varint(r);
	has = reader_varint(r);
	t->has_deadlines = has & 1;
	t->has_lock_owners = has >> 1 & 1;
	t->has_quota_clock = has >> 2 & 1;
	t->has_wakers = has >> 3 & 1;
	t->has_block = has >> 4 & 1;
	t->machine = reader_printable(r);
	t->host = reader_printable(r);
	t->kernel = reader_printable(r);
	source = reader_printable(r);
	t->source = source && strcmp(source, "tracefs") == 0 ? "tracefs" : source && strcmp(source, "ring") == 0 ? "ring" : "file";
	in->events_told = reader_varint(r);
	return 0;
}

static int get_cpus(struct input *in, struct reader *r)
{
	for (uint32_t i = 0; i < in->trace.n_cpus && !r->bad; i++) {
		struct trace_cpu *c = &in->trace.cpus[i];

		c->there = reader_varint(r);
		c->from = reader_varint(r);
		c->to = reader_varint(r);
		c->written = reader_varint(r);
		c->torn = reader_varint(r);
		c->skipped = reader_varint(r);
		c->unknown = reader_varint(r);
	}
	return 0;
}

static char *get_optional(struct reader *r)
{
	char *text = reader_printable(r);

	if (text && !*text) {
		free(text);
		return NULL;
	}
	return text;
}

static void get_thread(struct reader *r, struct trace_thread *thread)
{
	_cleanup_free_ char *comm = NULL;

	thread->tid = (uint32_t)reader_varint(r);
	thread->tgid = (uint32_t)reader_varint(r);
	thread->ns_tid = (uint32_t)reader_varint(r);
	thread->ns_tgid = (uint32_t)reader_varint(r);
	thread->pid_ns = (uint32_t)reader_varint(r);
	thread->parent = (uint32_t)reader_varint(r);
	thread->uid = (uint32_t)reader_varint(r);
	thread->flags = (uint32_t)reader_varint(r);
	thread->start = reader_varint(r);
	thread->end = reader_varint(r);
	thread->group = reader_varint(r);
	thread->state = (uint8_t)reader_varint(r);
	thread->facts.state = (uint8_t)reader_varint(r);
	thread->facts.flags = (uint8_t)reader_varint(r);
	thread->facts.call = (uint8_t)reader_varint(r);
	thread->cpu = (uint16_t)reader_varint(r);
	thread->state_since = reader_varint(r);
	thread->object = reader_varint(r);
	thread->owner = (uint32_t)reader_varint(r);
	thread->lock_flags = (uint8_t)reader_varint(r);
	thread->cpu_time = reader_varint(r);
	thread->run_delay = reader_varint(r);
	thread->write_bytes = reader_varint(r);
	thread->prio = (int32_t)reader_svarint(r);
	thread->syscall = (int16_t)reader_svarint(r);
	comm = reader_printable(r);
	if (comm)
		snprintf(thread->comm, sizeof(thread->comm), "%.*s", TRACE_COMM, comm);
	thread->exe = get_optional(r);
	thread->unit = get_optional(r);
	if (r->at < r->end) { /* not in older ones */
		thread->longest_lately = reader_varint(r);
		thread->longest_before = reader_varint(r);
		thread->slept_before = r->at < r->end ? reader_varint(r) : 0;
	}
	if (thread->state >= STATE_COUNT)
		thread->state = STATE_UNKNOWN;
}

static int get_threads(struct input *in, struct reader *r)
{
	while (r->at < r->end && !r->bad) {
		struct trace_thread thread = {};
		struct reader row = {};
		size_t n;

		row.at = (const uint8_t *)str_read_blob(r, &n);
		if (r->bad)
			break;
		row.end = row.at + n;
		get_thread(&row, &thread);
		r->bad |= row.bad;
		if (take(in, sizeof(thread) + n) < 0 || trace_add_thread(&in->trace, &thread) < 0) {
			FREE_ALL(thread.exe, thread.unit);
			return -ENOMEM;
		}
	}
	return 0;
}

static int get_modules(struct input *in, struct reader *r)
{
	while (r->at < r->end && !r->bad) {
		struct trace_module module = {.path = reader_printable(r)};
		size_t n;
		const char *id = str_read_blob(r, &n);

		if (n > sizeof(module.build_id))
			r->bad = true;
		else if (n)
			memcpy(module.build_id, id, n);
		module.build_id_size = r->bad ? 0 : (uint8_t)n;
		if (take(in, sizeof(module)) < 0 || VEC_PUSH(in->trace.modules, module) < 0) {
			free(module.path);
			return -ENOMEM;
		}
	}
	return 0;
}

static int get_mappings(struct input *in, struct reader *r)
{
	while (r->at < r->end && !r->bad) {
		struct trace_mapping m;

		m.process = (uint32_t)reader_varint(r);
		m.module = (uint32_t)reader_varint(r);
		m.start = reader_varint(r);
		m.end = reader_varint(r);
		m.offset = reader_varint(r);
		if (m.module >= in->trace.modules.n)
			return damaged(in, "a mapping of module %u of %zu", m.module, in->trace.modules.n);
		if (take(in, sizeof(m)) < 0 || VEC_PUSH(in->trace.mappings, m) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int get_symbols(struct input *in, struct reader *r)
{
	while (r->at < r->end && !r->bad) {
		struct trace_symbol s;

		s.process = (uint32_t)reader_varint(r);
		s.address = reader_varint(r);
		s.name = reader_printable(r);
		if (!s.name)
			break;
		if (take(in, sizeof(s) + strlen(s.name)) < 0 || VEC_PUSH(in->trace.symbols, s) < 0) {
			free(s.name);
			return -ENOMEM;
		}
	}
	return 0;
}

static int get_stacks(struct input *in, struct reader *r)
{
	while (r->at < r->end && !r->bad) {
		uint64_t frames[TRACE_FRAMES];
		stack_ref ref = (stack_ref)reader_varint(r);
		uint64_t n = reader_varint(r);

		if (n > TRACE_FRAMES)
			return damaged(in, "a stack of %" PRIu64 " frames", n);
		for (uint64_t i = 0; i < n; i++)
			frames[i] = reader_varint(r);
		if (!r->bad && take(in, STACK_MEMORY + n * sizeof(frames[0])) < 0)
			return -ENOMEM;
		if (!r->bad && trace_add_stack(&in->trace, ref, frames, (uint32_t)n) < 0)
			return -ENOMEM;
	}
	return 0;
}

static const uint8_t *take_bytes(struct reader *r, size_t n)
{
	const uint8_t *at = r->at;

	if ((size_t)(r->end - r->at) < n) {
		r->bad = true;
		return NULL;
	}
	r->at += n;
	return at;
}

static void get_columns(struct reader *r, struct event *e, size_t n)
{
	const uint8_t *column;
	uint64_t time = 0;

	for (size_t i = 0; i < n; i++)
		e[i].time = time += (uint64_t)reader_svarint(r);
	for (size_t i = 0; i < n; i++)
		e[i].cpu = (uint16_t)reader_varint(r);
	column = take_bytes(r, n);
	for (size_t i = 0; column && i < n; i++)
		e[i].kind = column[i];
	column = take_bytes(r, n);
	for (size_t i = 0; column && i < n; i++)
		e[i].flags = column[i];
	for (size_t i = 0; i < n; i++)
		e[i].thread = (uint32_t)reader_varint(r);
	for (int word = 0; word < 2; word++) {
		column = take_bytes(r, n * 8);
		for (size_t i = 0; column && i < n; i++) {
			memcpy(&e[i].word[word], column + 8 * i, 8);
			e[i].word[word] = le64toh(e[i].word[word]);
		}
	}
}

static int get_events(struct input *in, struct reader *r)
{
	uint64_t n = reader_varint(r);
	struct event *e;

	if (n > TRACE_BLOCK_EVENTS || in->trace.n_events + n > EVENTS_MAX)
		return damaged(in, "a block of %" PRIu64 " events", n);
	e = take(in, n * sizeof(*e)) < 0 ? NULL : trace_reserve(&in->trace, n);
	if (!e)
		return -ENOMEM;
	get_columns(r, e, n);
	if (r->bad)
		return 0;
	for (uint64_t i = 0; i < n; i++)
		if (e[i].cpu >= in->trace.n_cpus)
			return damaged(in, "an event on CPU %u of %u", e[i].cpu, in->trace.n_cpus);
	in->trace.n_events += n;
	return 0;
}

static int (*const readers[])(struct input *in, struct reader *r) = {
	[SECTION_META] = get_meta,	   [SECTION_CPUS] = get_cpus,	    [SECTION_THREADS] = get_threads,
	[SECTION_MODULES] = get_modules,   [SECTION_MAPPINGS] = get_mappings, [SECTION_SYMBOLS] = get_symbols,
	[SECTION_STACKS] = get_stacks,	   [SECTION_EVENTS] = get_events,
};

static int unpack(struct input *in, const struct section_header *h, const void *packed, char *raw)
{
	struct reader r = {.at = (const uint8_t *)raw, .end = (const uint8_t *)raw + h->raw};
	size_t n = h->raw ? ZSTD_decompress(raw, h->raw, packed, h->packed) : 0;
	int result;

	if (ZSTD_isError(n))
		return damaged(in, "section %u does not unpack (%s)", h->kind, ZSTD_getErrorName(n));
	if (n != h->raw)
		return damaged(in, "section %u has another size than its header says", h->kind);
	if (h->kind != SECTION_META && !in->meta)
		return damaged(in, "section %u stands before the description", h->kind);
	result = readers[h->kind](in, &r);
	if (result == 0 && r.bad)
		return damaged(in, "section %u ends in the middle", h->kind);
	return result;
}

static int read_section(struct input *in)
{
	_cleanup_free_ char *packed = NULL, *raw = NULL;
	struct section_header h;
	uint8_t header[20];
	int r = read_exactly(in, header, sizeof(header));

	if (r != 0)
		return r == 1 ? damaged(in, "it is cut off") : r;
	memcpy(&h.kind, header, 4);
	memcpy(&h.raw, header + 4, 8);
	memcpy(&h.packed, header + 12, 8);
	h.kind = le32toh(h.kind);
	h.raw = le64toh(h.raw);
	h.packed = le64toh(h.packed);
	if (h.raw > SECTION_MAX || h.packed > SECTION_MAX)
		return damaged(in, "a section of %" PRIu64 " bytes", h.raw > h.packed ? h.raw : h.packed);
	packed = malloc(h.packed ? h.packed : 1);
	if (!packed)
		return -ENOMEM;
	r = h.packed ? read_exactly(in, packed, h.packed) : 0;
	if (r != 0)
		return r == 1 ? damaged(in, "it is cut off") : r;
	in->end = h.kind == SECTION_END;
	if (in->end || h.kind >= ARRAY_SIZE(readers) || !readers[h.kind])
		return 0;
	if (take(in, h.raw) < 0)
		return -ENOMEM;
	raw = malloc(h.raw ? h.raw : 1);
	r = raw ? unpack(in, &h, packed, raw) : -ENOMEM;
	memory_budget_give(&in->budget, h.raw, 2);
	return r;
}

static int check_head(struct input *in)
{
	uint8_t head[12];
	uint32_t version;
	int r = read_exactly(in, head, sizeof(head));

	if (r == 1)
		return damaged(in, "it is empty");
	if (r < 0)
		return r;
	if (memcmp(head, TRACE_MAGIC, 8) != 0) {
		*in->error = strdup("this is not a whyslow trace ('whyslow export --format trace' writes one; those of marks are in traces/ next to the recording)");
		return -EBADMSG;
	}
	memcpy(&version, head + 8, 4);
	version = le32toh(version);
	if (version <= TRACE_FILE_VERSION)
		return 0;
	if (asprintf(in->error, "the trace has format %u, this whyslow reads up to %u: read it with the whyslow that wrote it, or a later one",
		     version, TRACE_FILE_VERSION) < 0)
		*in->error = NULL;
	return -EPROTONOSUPPORT;
}

int trace_read(int fd, struct trace *ret, char **ret_error)
{
	struct input in = {.fd = fd, .error = ret_error};
	int r;

	*ret_error = NULL;
	r = check_head(&in);
	while (r == 0 && !in.end)
		r = read_section(&in);
	if (r == 0 && !in.meta)
		r = damaged(&in, "it does not describe its machine");
	if (r == 0 && in.trace.n_events != in.events_told)
		r = damaged(&in, "%zu events of %" PRIu64, in.trace.n_events, in.events_told);
	r = r ?: trace_finish(&in.trace);
	r = memory_budget_result(&in.budget, r);
	if (r < 0) {
		trace_clear(&in.trace);
		if (!*ret_error)
			*ret_error = strdup(str_error(r));
		return r;
	}
	*ret = in.trace;
	return 0;
}

/* A pipe may be given (/dev/stdin). A FIFO that lies among foreign files must not be waited for: it has no writer, and ends at once. */
static int open_trace(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0)
		(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

int trace_read_file(const char *path, struct trace *ret, char **ret_error)
{
	_cleanup_close_ int fd = open_trace(path);
	_cleanup_free_ char *why = NULL;
	int r = fd < 0 ? -errno : trace_read(fd, ret, &why);

	if (r < 0 && asprintf(ret_error, "%s: %s", path, why ? why : strerror(-r)) < 0)
		*ret_error = NULL;
	return r;
}

bool trace_is_file(const char *path)
{
	_cleanup_close_ int fd = open_trace(path);
	char magic[8];

	return fd >= 0 && read(fd, magic, 8) == 8 && memcmp(magic, TRACE_MAGIC, 8) == 0;
}
