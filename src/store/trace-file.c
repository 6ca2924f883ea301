#include "store/trace-file.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/str.h"

#define MAGIC	      "WHYTRACE"
#define BLOCK_EVENTS  65536
#define SECTION_MAX   ((uint64_t)256 << 20)
#define EVENTS_MAX    ((size_t)64 << 20) /* 2 GiB of memory */
#define LEVEL	      1 /* fast: a press must be answered */

/* Persisted: never renumber. */
enum section {
	SECTION_META = 1,
	SECTION_CPUS = 2,
	SECTION_THREADS = 3,
	SECTION_MODULES = 4,
	SECTION_MAPPINGS = 5,
	SECTION_SYMBOLS = 6,
	SECTION_STACKS = 7,
	SECTION_EVENTS = 8,
	SECTION_END = 9, /* empty; the file is whole */
};

struct section_header {
	uint32_t kind;
	uint64_t raw, packed;
};

/* --- writing --- */

static int write_all(int fd, const void *bytes, size_t n)
{
	const char *at = bytes;

	while (n) {
		ssize_t w = write(fd, at, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		at += w;
		n -= (size_t)w;
	}
	return 0;
}

static void put_header(uint8_t out[20], const struct section_header *h)
{
	uint32_t kind = htole32(h->kind);
	uint64_t raw = htole64(h->raw), packed = htole64(h->packed);

	memcpy(out, &kind, 4);
	memcpy(out + 4, &raw, 8);
	memcpy(out + 12, &packed, 8);
}

struct writer {
	int fd;
	ZSTD_CCtx *zstd;
	struct str raw;
	char *packed;
	size_t room;
};

static int write_section(struct writer *w, enum section kind)
{
	size_t bound = ZSTD_compressBound(w->raw.len), n = 0;
	uint8_t header[20];

	if (w->raw.error)
		return w->raw.error;
	if (bound > w->room) {
		free(w->packed);
		w->packed = malloc(bound);
		w->room = w->packed ? bound : 0;
		if (!w->packed)
			return -ENOMEM;
	}
	if (w->raw.len) {
		n = ZSTD_compress2(w->zstd, w->packed, w->room, w->raw.data, w->raw.len);
		if (ZSTD_isError(n))
			return -ENOMEM;
	}
	put_header(header, &(struct section_header){kind, w->raw.len, n});
	str_clear(&w->raw);
	return write_all(w->fd, header, sizeof(header)) ?: n ? write_all(w->fd, w->packed, n) : 0;
}

static void put_text(struct str *out, const char *text)
{
	str_put_blob(out, text ? text : "", text ? strlen(text) : 0);
}

static void put_meta(struct str *out, const struct trace *t)
{
	str_put_varint(out, t->n_cpus);
	str_put_varint(out, t->from);
	str_put_varint(out, t->to);
	str_put_varint(out, t->frozen);
	str_put_svarint(out, t->wall_offset);
	str_put_svarint(out, t->boot_offset);
	str_put_varint(out, t->gap);
	str_put_varint(out, t->stacks_lost);
	str_put_varint(out, t->has_deadlines | t->has_lock_owners << 1 | t->has_quota_clock << 2 | t->has_wakers << 3 |
				    t->has_block << 4);
	put_text(out, t->machine);
	put_text(out, t->host);
	put_text(out, t->kernel);
	put_text(out, t->source);
	str_put_varint(out, t->n_events);
}

static void put_cpus(struct str *out, const struct trace *t)
{
	for (uint32_t i = 0; i < t->n_cpus; i++) {
		const struct trace_cpu *c = &t->cpus[i];

		str_put_varint(out, c->there);
		str_put_varint(out, c->from);
		str_put_varint(out, c->to);
		str_put_varint(out, c->written);
		str_put_varint(out, c->torn);
		str_put_varint(out, c->skipped);
		str_put_varint(out, c->unknown);
	}
}

static void put_thread(struct str *out, const struct trace_thread *thread)
{
	const uint64_t numbers[] = {
		thread->tid,	     thread->tgid,	 thread->ns_tid,    thread->ns_tgid,   thread->pid_ns,
		thread->parent,	     thread->uid,	 thread->flags,	    thread->start,     thread->end,
		thread->group,	     thread->state,	 thread->facts.state, thread->facts.flags, thread->facts.call,
		thread->cpu,	     thread->state_since, thread->object,   thread->owner,     thread->lock_flags,
		thread->cpu_time,    thread->run_delay,	 thread->write_bytes,
	};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		str_put_varint(out, numbers[i]);
	str_put_svarint(out, thread->prio);
	str_put_svarint(out, thread->syscall);
	put_text(out, thread->comm);
	put_text(out, thread->exe);
	put_text(out, thread->unit);
}

/* Each row is a blob: a later program may add fields at its end. */
static void put_row(struct str *out, struct str *row)
{
	str_put_blob(out, row->data, row->len);
	str_clear(row);
}

static void put_threads(struct str *out, const struct trace *t)
{
	_cleanup_str_ struct str row = {};

	for (size_t i = 0; i < t->threads.n; i++) {
		put_thread(&row, &t->threads.v[i]);
		put_row(out, &row);
	}
}

static void put_modules(struct str *out, const struct trace *t)
{
	for (size_t i = 0; i < t->modules.n; i++) {
		put_text(out, t->modules.v[i].path);
		str_put_blob(out, t->modules.v[i].build_id, t->modules.v[i].build_id_size);
	}
}

static void put_mappings(struct str *out, const struct trace *t)
{
	for (size_t i = 0; i < t->mappings.n; i++) {
		str_put_varint(out, t->mappings.v[i].process);
		str_put_varint(out, t->mappings.v[i].module);
		str_put_varint(out, t->mappings.v[i].start);
		str_put_varint(out, t->mappings.v[i].end);
		str_put_varint(out, t->mappings.v[i].offset);
	}
}

static void put_symbols(struct str *out, const struct trace *t)
{
	for (size_t i = 0; i < t->symbols.n; i++) {
		str_put_varint(out, t->symbols.v[i].process);
		str_put_varint(out, t->symbols.v[i].address);
		put_text(out, t->symbols.v[i].name);
	}
}

static void put_stacks(struct str *out, const struct trace *t)
{
	HMAP_FOREACH(slot, &t->stacks) {
		const struct trace_stack *s = slot->value;

		str_put_varint(out, s->ref);
		str_put_varint(out, s->n);
		for (uint32_t i = 0; i < s->n; i++)
			str_put_varint(out, s->frames[i]);
	}
}

static void put_word(struct str *out, uint64_t word)
{
	word = htole64(word);
	str_append(out, &word, sizeof(word));
}

/* As columns: neighbours in time differ little, and so do those of one kind. */
static void put_events(struct str *out, const struct event *e, size_t n)
{
	uint64_t before = 0;

	str_put_varint(out, n);
	for (size_t i = 0; i < n; i++) {
		str_put_svarint(out, (int64_t)(e[i].time - before));
		before = e[i].time;
	}
	for (size_t i = 0; i < n; i++)
		str_put_varint(out, e[i].cpu);
	for (size_t i = 0; i < n; i++)
		str_putc(out, (char)e[i].kind);
	for (size_t i = 0; i < n; i++)
		str_putc(out, (char)e[i].flags);
	for (size_t i = 0; i < n; i++)
		str_put_varint(out, e[i].thread);
	for (size_t i = 0; i < n; i++)
		put_word(out, e[i].word[0]);
	for (size_t i = 0; i < n; i++)
		put_word(out, e[i].word[1]);
}

static const struct {
	enum section kind;
	void (*put)(struct str *out, const struct trace *t);
} tables[] = {
	{SECTION_META, put_meta},	  {SECTION_CPUS, put_cpus},	  {SECTION_THREADS, put_threads},
	{SECTION_MODULES, put_modules},	  {SECTION_MAPPINGS, put_mappings}, {SECTION_SYMBOLS, put_symbols},
	{SECTION_STACKS, put_stacks},
};

static int write_sections(struct writer *w, const struct trace *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		int r;

		tables[i].put(&w->raw, t);
		r = write_section(w, tables[i].kind);
		if (r < 0)
			return r;
	}
	for (size_t at = 0; at < t->n_events; at += BLOCK_EVENTS) {
		int r;

		put_events(&w->raw, t->events + at, t->n_events - at < BLOCK_EVENTS ? t->n_events - at : BLOCK_EVENTS);
		r = write_section(w, SECTION_EVENTS);
		if (r < 0)
			return r;
	}
	return write_section(w, SECTION_END);
}

int trace_write(const struct trace *t, int fd)
{
	struct writer w = {.fd = fd, .zstd = ZSTD_createCCtx()};
	uint32_t version = htole32(TRACE_FILE_VERSION);
	uint8_t head[12];
	int r = w.zstd ? 0 : -ENOMEM;

	memcpy(head, MAGIC, 8);
	memcpy(head + 8, &version, 4);
	if (r == 0) {
		ZSTD_CCtx_setParameter(w.zstd, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(w.zstd, ZSTD_c_checksumFlag, 1);
		r = write_all(fd, head, sizeof(head));
	}
	if (r == 0)
		r = write_sections(&w, t);
	ZSTD_freeCCtx(w.zstd);
	str_free(&w.raw);
	free(w.packed);
	return r;
}

/* --- reading --- */

struct input {
	int fd;
	uint64_t offset;
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
	char *at = to;
	size_t left = n;

	while (left) {
		ssize_t got = read(in->fd, at, left);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return left == n ? 1 : damaged(in, "it ends in the middle");
		at += got;
		left -= (size_t)got;
	}
	in->offset += n;
	return 0;
}

static int get_meta(struct input *in, struct reader *r)
{
	struct trace *t = &in->trace;
	uint64_t n_cpus = read_varint(r), has;
	int result = in->meta || n_cpus > 8192 ? -EINVAL : trace_begin(t, (uint32_t)n_cpus);
	_cleanup_free_ char *source = NULL;

	if (result < 0)
		return result == -ENOMEM ? result : damaged(in, "%" PRIu64 " CPUs", n_cpus);
	in->meta = true;
	t->from = read_varint(r);
	t->to = read_varint(r);
	t->frozen = read_varint(r);
	t->wall_offset = read_svarint(r);
	t->boot_offset = read_svarint(r);
	t->gap = read_varint(r);
	t->stacks_lost = read_varint(r);
	has = read_varint(r);
	t->has_deadlines = has & 1;
	t->has_lock_owners = has >> 1 & 1;
	t->has_quota_clock = has >> 2 & 1;
	t->has_wakers = has >> 3 & 1;
	t->has_block = has >> 4 & 1;
	t->machine = read_text(r);
	t->host = read_text(r);
	t->kernel = read_text(r);
	source = read_text(r);
	t->source = source && strcmp(source, "tracefs") == 0 ? "tracefs" : source && strcmp(source, "ring") == 0 ? "ring" : "file";
	in->events_told = read_varint(r);
	return 0;
}

static int get_cpus(struct input *in, struct reader *r)
{
	for (uint32_t i = 0; i < in->trace.n_cpus && !r->bad; i++) {
		struct trace_cpu *c = &in->trace.cpus[i];

		c->there = read_varint(r);
		c->from = read_varint(r);
		c->to = read_varint(r);
		c->written = read_varint(r);
		c->torn = read_varint(r);
		c->skipped = read_varint(r);
		c->unknown = read_varint(r);
	}
	return 0;
}

static char *get_optional(struct reader *r)
{
	char *text = read_text(r);

	if (text && !*text) {
		free(text);
		return NULL;
	}
	return text;
}

static void get_thread(struct reader *r, struct trace_thread *thread)
{
	_cleanup_free_ char *comm = NULL;

	thread->tid = (uint32_t)read_varint(r);
	thread->tgid = (uint32_t)read_varint(r);
	thread->ns_tid = (uint32_t)read_varint(r);
	thread->ns_tgid = (uint32_t)read_varint(r);
	thread->pid_ns = (uint32_t)read_varint(r);
	thread->parent = (uint32_t)read_varint(r);
	thread->uid = (uint32_t)read_varint(r);
	thread->flags = (uint32_t)read_varint(r);
	thread->start = read_varint(r);
	thread->end = read_varint(r);
	thread->group = read_varint(r);
	thread->state = (uint8_t)read_varint(r);
	thread->facts.state = (uint8_t)read_varint(r);
	thread->facts.flags = (uint8_t)read_varint(r);
	thread->facts.call = (uint8_t)read_varint(r);
	thread->cpu = (uint16_t)read_varint(r);
	thread->state_since = read_varint(r);
	thread->object = read_varint(r);
	thread->owner = (uint32_t)read_varint(r);
	thread->lock_flags = (uint8_t)read_varint(r);
	thread->cpu_time = read_varint(r);
	thread->run_delay = read_varint(r);
	thread->write_bytes = read_varint(r);
	thread->prio = (int32_t)read_svarint(r);
	thread->syscall = (int16_t)read_svarint(r);
	comm = read_text(r);
	if (comm)
		snprintf(thread->comm, sizeof(thread->comm), "%.*s", TRACE_COMM, comm);
	thread->exe = get_optional(r);
	thread->unit = get_optional(r);
	if (thread->state >= STATE_COUNT)
		thread->state = STATE_UNKNOWN;
}

static int get_threads(struct input *in, struct reader *r)
{
	while (r->at < r->end && !r->bad) {
		struct trace_thread thread = {};
		struct reader row = {};
		size_t n;

		row.at = (const uint8_t *)read_blob(r, &n);
		if (r->bad)
			break;
		row.end = row.at + n;
		get_thread(&row, &thread);
		r->bad |= row.bad;
		if (trace_add_thread(&in->trace, &thread) < 0) {
			free(thread.exe);
			free(thread.unit);
			return -ENOMEM;
		}
	}
	return 0;
}

static int get_modules(struct input *in, struct reader *r)
{
	while (r->at < r->end && !r->bad) {
		struct trace_module module = {.path = read_text(r)};
		size_t n;
		const char *id = read_blob(r, &n);

		if (n > sizeof(module.build_id))
			r->bad = true;
		else if (n)
			memcpy(module.build_id, id, n);
		module.build_id_size = r->bad ? 0 : (uint8_t)n;
		if (VEC_PUSH(in->trace.modules, module) < 0) {
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

		m.process = (uint32_t)read_varint(r);
		m.module = (uint32_t)read_varint(r);
		m.start = read_varint(r);
		m.end = read_varint(r);
		m.offset = read_varint(r);
		if (m.module >= in->trace.modules.n)
			return damaged(in, "a mapping of module %u of %zu", m.module, in->trace.modules.n);
		if (VEC_PUSH(in->trace.mappings, m) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int get_symbols(struct input *in, struct reader *r)
{
	while (r->at < r->end && !r->bad) {
		struct trace_symbol s;

		s.process = (uint32_t)read_varint(r);
		s.address = read_varint(r);
		s.name = read_text(r);
		if (!s.name)
			break;
		if (VEC_PUSH(in->trace.symbols, s) < 0) {
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
		stack_ref ref = (stack_ref)read_varint(r);
		uint64_t n = read_varint(r);

		if (n > TRACE_FRAMES)
			return damaged(in, "a stack of %" PRIu64 " frames", n);
		for (uint64_t i = 0; i < n; i++)
			frames[i] = read_varint(r);
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
		e[i].time = time += (uint64_t)read_svarint(r);
	for (size_t i = 0; i < n; i++)
		e[i].cpu = (uint16_t)read_varint(r);
	column = take_bytes(r, n);
	for (size_t i = 0; column && i < n; i++)
		e[i].kind = column[i];
	column = take_bytes(r, n);
	for (size_t i = 0; column && i < n; i++)
		e[i].flags = column[i];
	for (size_t i = 0; i < n; i++)
		e[i].thread = (uint32_t)read_varint(r);
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
	uint64_t n = read_varint(r);
	struct event *e;

	if (n > BLOCK_EVENTS || in->trace.n_events + n > EVENTS_MAX)
		return damaged(in, "a block of %" PRIu64 " events", n);
	e = trace_reserve(&in->trace, n);
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
	raw = malloc(h.raw ? h.raw : 1);
	return raw ? unpack(in, &h, packed, raw) : -ENOMEM;
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
	if (memcmp(head, MAGIC, 8) != 0) {
		*in->error = strdup("this is no whyslow trace");
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
		r = damaged(&in, "it says nothing of its machine");
	if (r == 0 && in.trace.n_events != in.events_told)
		r = damaged(&in, "%zu events of %" PRIu64, in.trace.n_events, in.events_told);
	if (r == 0)
		r = trace_finish(&in.trace);
	if (r < 0) {
		trace_clear(&in.trace);
		if (!*ret_error)
			*ret_error = strdup(strerror(-r));
		return r;
	}
	*ret = in.trace;
	return 0;
}

int trace_read_file(const char *path, struct trace *ret, char **ret_error)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *why = NULL;
	int r = fd < 0 ? -errno : trace_read(fd, ret, &why);

	if (r < 0 && asprintf(ret_error, "%s: %s", path, why ? why : strerror(-r)) < 0)
		*ret_error = NULL;
	return r;
}

bool trace_is_file(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char magic[8];

	return fd >= 0 && read(fd, magic, 8) == 8 && memcmp(magic, MAGIC, 8) == 0;
}

/* --- of incidents --- */

char *trace_folder(const char *store_file)
{
	const char *slash = strrchr(store_file, '/');
	char *folder;
	int n = slash ? asprintf(&folder, "%.*s/traces", (int)(slash - store_file), store_file) : asprintf(&folder, "traces");

	return n < 0 ? NULL : folder;
}

char *trace_file_of(const char *folder, int64_t mark)
{
	char *path;

	return asprintf(&path, "%s/%" PRId64 ".trace", folder, mark) < 0 ? NULL : path;
}

struct kept {
	int64_t mark;
	uint64_t bytes;
	struct timespec written;
};

static int compare_kept(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	if (x->written.tv_sec != y->written.tv_sec)
		return x->written.tv_sec < y->written.tv_sec ? -1 : 1;
	return x->mark < y->mark ? -1 : x->mark > y->mark;
}

static int parse_mark(const char *name, int64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoll(name, &end, 10);
	return errno || end == name || strcmp(end, ".trace") != 0 ? -EINVAL : 0;
}

int trace_trim(const char *folder, uint64_t bytes, int64_t keep)
{
	struct {
		VEC(struct kept) all;
	} found = {};
	DIR *dir = opendir(folder);
	uint64_t sum = 0;

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	for (struct dirent *entry; (entry = readdir(dir));) {
		struct kept k;
		struct stat st;

		if (parse_mark(entry->d_name, &k.mark) < 0 || fstatat(dirfd(dir), entry->d_name, &st, 0) < 0)
			continue;
		k.bytes = (uint64_t)st.st_blocks * 512;
		k.written = st.st_mtim;
		sum += k.bytes;
		(void)VEC_PUSH(found.all, k);
	}
	if (found.all.n)
		qsort(found.all.v, found.all.n, sizeof(found.all.v[0]), compare_kept);
	for (size_t i = 0; i < found.all.n && sum > bytes; i++) {
		char name[40];

		if (found.all.v[i].mark == keep)
			continue;
		snprintf(name, sizeof(name), "%" PRId64 ".trace", found.all.v[i].mark);
		if (unlinkat(dirfd(dir), name, 0) == 0)
			sum -= found.all.v[i].bytes;
	}
	closedir(dir);
	VEC_FREE(found.all);
	return 0;
}
