
#include "lib/input/gzip.h"
#include "lib/input/protobuf.h"
#include "machine/trace/pprof-fields.h"

#define MAPPING_END (1ull << 47) /* of user space; an offset in a file is less */

/* Texts that are not the profile's own; their numbers are in its table like all others. */
static const char *const words[WORD_COUNT] = {
	[WORD_CPU] = "cpu",	    [WORD_WAIT] = "wait", [WORD_NS] = "nanoseconds", [WORD_PROGRAM] = "program",
	[WORD_MINUTE] = "minute",   [WORD_UID] = "uid",	  [WORD_WOKEN_BY] = "woken_by_uid",
};

struct writer {
	struct profile *p;
	uint32_t word[WORD_COUNT];
	struct str message, inner; /* of a field; used again */
	struct str body;
};

const char *pprof_word(enum pprof_word word)
{
	return words[word];
}

static void put_type(struct writer *w, uint32_t field, enum pprof_word what)
{
	str_clear(&w->message);
	protobuf_put_number(&w->message, 1, w->word[what]);
	protobuf_put_number(&w->message, 2, w->word[WORD_NS]);
	protobuf_put_message(&w->body, field, &w->message);
}

static void put_head(struct writer *w, int64_t began)
{
	put_type(w, PROFILE_SAMPLE_TYPE, WORD_CPU);
	put_type(w, PROFILE_SAMPLE_TYPE, WORD_WAIT);
	protobuf_put_number(&w->body, PROFILE_TIME, (uint64_t)began);
	put_type(w, PROFILE_PERIOD_TYPE, WORD_CPU);
	protobuf_put_number(&w->body, PROFILE_PERIOD, PROFILE_SAMPLE_NS);
}

/* The build-id is text in this format. It needs a number in the string table before that is written. */
static int build_id_text(struct profile *p, const struct profile_module *m, uint32_t *ret)
{
	char text[2 * sizeof(m->build_id) + 1] = "";

	for (size_t i = 0; i < m->build_id_size; i++)
		snprintf(text + 2 * i, 3, "%02x", m->build_id[i]);
	return profile_text(p, text, ret);
}

static int put_module(struct writer *w, size_t i)
{
	const struct profile_module *m = &w->p->modules.v[i];
	uint32_t path, build_id;
	int r = profile_text(w->p, m->path, &path);

	r = r ?: build_id_text(w->p, m, &build_id);
	if (r < 0)
		return r;
	str_clear(&w->message);
	protobuf_put_number(&w->message, 1, i + 1);
	protobuf_put_number(&w->message, 3, MAPPING_END);
	protobuf_put_number(&w->message, 5, path);
	protobuf_put_number(&w->message, 6, build_id);
	protobuf_put_message(&w->body, PROFILE_MAPPING, &w->message);
	return 0;
}

/* A named frame has a function of its own, with the same number. */
static void put_frame(struct writer *w, size_t i)
{
	const struct profile_frame *f = &w->p->frames.v[i];

	str_clear(&w->message);
	protobuf_put_number(&w->message, 1, i + 1);
	if (f->module)
		protobuf_put_number(&w->message, 2, f->module);
	if (f->offset)
		protobuf_put_number(&w->message, 3, f->offset);
	if (f->name) {
		str_clear(&w->inner);
		protobuf_put_number(&w->inner, 1, i + 1);
		protobuf_put_message(&w->message, 4, &w->inner);
	}
	protobuf_put_message(&w->body, PROFILE_LOCATION, &w->message);
	if (!f->name)
		return;
	str_clear(&w->message);
	protobuf_put_number(&w->message, 1, i + 1);
	protobuf_put_number(&w->message, 2, f->name);
	protobuf_put_message(&w->body, PROFILE_FUNCTION, &w->message);
}

/* field: 2 = a text's number, 3 = a number */
static void put_label(struct writer *w, enum pprof_word key, uint32_t field, uint64_t value)
{
	str_clear(&w->inner);
	protobuf_put_number(&w->inner, 1, w->word[key]);
	protobuf_put_number(&w->inner, field, value);
	protobuf_put_message(&w->message, 3, &w->inner);
}

static void put_row(struct writer *w, const struct profile_row *row)
{
	const struct profile_stack *s = &w->p->stacks.v[row->stack];

	str_clear(&w->message);
	str_clear(&w->inner);
	for (uint32_t i = 0; i < s->n; i++)
		str_put_varint(&w->inner, w->p->chain.v[s->first + i] + 1);
	protobuf_put_message(&w->message, 1, &w->inner);
	str_clear(&w->inner);
	str_put_varint(&w->inner, row->cpu);
	str_put_varint(&w->inner, row->waited);
	protobuf_put_message(&w->message, 2, &w->inner);
	put_label(w, WORD_PROGRAM, 2, row->program);
	if (row->minute)
		put_label(w, WORD_MINUTE, 3, (uint64_t)row->minute);
	put_label(w, WORD_UID, 3, row->uid);
	if (row->waker_uid != row->uid)
		put_label(w, WORD_WOKEN_BY, 3, row->waker_uid);
	protobuf_put_message(&w->body, PROFILE_SAMPLE, &w->message);
}

static int put_new(struct writer *w, const struct pprof_written *from)
{
	int r = 0;

	for (size_t i = from->modules; r == 0 && i < w->p->modules.n; i++)
		r = put_module(w, i);
	for (size_t i = from->frames; i < w->p->frames.n; i++)
		put_frame(w, i);
	for (size_t i = from->rows; i < w->p->rows.n; i++)
		put_row(w, &w->p->rows.v[i]);
	/* last, as the modules added to it: the order of fields does not matter */
	for (size_t i = from->texts; i < w->p->texts.n; i++)
		protobuf_put_text(&w->body, PROFILE_STRING, w->p->texts.v[i]);
	return r;
}

static int write_member(struct writer *w, int64_t began, const struct pprof_written *from, struct str *out)
{
	int r = 0;

	for (unsigned i = 0; i < WORD_COUNT && r == 0; i++)
		r = profile_text(w->p, words[i], &w->word[i]);
	if (r == 0 && !from->texts)
		put_head(w, began);
	r = r ?: put_new(w, from);
	r = r ?: w->body.error ?: w->message.error ?: w->inner.error;
	return r < 0 ? r : gzip_pack(w->body.data ? w->body.data : "", w->body.len, out);
}

int pprof_write(struct profile *p, int64_t began, struct pprof_written *written, struct str *out)
{
	struct writer w = {.p = p};
	int r = write_member(&w, began, written, out);

	str_free(&w.message);
	str_free(&w.inner);
	str_free(&w.body);
	if (r < 0)
		return r;
	profile_close_rows(p);
	*written = (struct pprof_written){p->texts.n, p->modules.n, p->frames.n, p->rows.n};
	return 0;
}
