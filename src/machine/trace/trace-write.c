#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "lib/data/cleanup.h"
#include "lib/data/file.h"
#include "lib/data/str.h"
#include "machine/trace/trace-file.h"
#include "machine/trace/trace-sections.h"

#define LEVEL 1 /* fast: a press must be answered */

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
	return file_write(w->fd, header, sizeof(header)) ?: n ? file_write(w->fd, w->packed, n) : 0;
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
	str_put_varint(out, thread->longest_lately);
	str_put_varint(out, thread->longest_before);
	str_put_varint(out, thread->slept_before);
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

/* As columns: neighbors in time differ little, and so do those of one kind. */
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
	for (size_t at = 0; at < t->n_events; at += TRACE_BLOCK_EVENTS) {
		int r;

		put_events(&w->raw, t->events + at, t->n_events - at < TRACE_BLOCK_EVENTS ? t->n_events - at : TRACE_BLOCK_EVENTS);
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

	memcpy(head, TRACE_MAGIC, 8);
	memcpy(head + 8, &version, 4);
	if (r == 0) {
		ZSTD_CCtx_setParameter(w.zstd, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(w.zstd, ZSTD_c_checksumFlag, 1);
		r = file_write(fd, head, sizeof(head));
	}
	r = r ?: write_sections(&w, t);
	ZSTD_freeCCtx(w.zstd);
	str_free(&w.raw);
	free(w.packed);
	return r;
}
