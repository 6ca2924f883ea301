#include "machine/events/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HIDDEN_PROGRAM "(another user's)"

/* The maps hold numbers plus one in the place of pointers. */
static void *as_value(size_t number)
{
	return (void *)((uintptr_t)number + 1); /* NOLINT(performance-no-int-to-ptr) */
}

/* Whether it is there already: *ret is its number then. */
static bool is_known(const struct hmap *ids, uint64_t key, uint64_t key2, uint32_t *ret)
{
	uintptr_t known = (uintptr_t)hmap_get(ids, key, key2);

	if (known)
		*ret = (uint32_t)(known - 1);
	return known;
}

int profile_begin(struct profile *p)
{
	uint32_t none;
	int r;

	*p = (struct profile){};
	r = profile_text(p, "", &none);
	r = r ?: profile_stack(p, NULL, 0, &none);
	if (r < 0)
		profile_free(p);
	return r;
}

void profile_free(struct profile *p)
{
	VEC_FREE_EACH(p->texts, free(*each));
	VEC_FREE_EACH(p->modules, free(each->path));
	VEC_FREE(p->frames);
	VEC_FREE(p->chain);
	VEC_FREE(p->stacks);
	VEC_FREE(p->rows);
	hmap_free(&p->text_ids);
	hmap_free(&p->module_ids);
	hmap_free(&p->frame_ids);
	hmap_free(&p->stack_ids);
	hmap_free(&p->row_ids);
}

int profile_text(struct profile *p, const char *text, uint32_t *ret)
{
	uint64_t hash = hmap_hash_text(text), n = strlen(text);
	char *own;

	if (is_known(&p->text_ids, hash, n, ret))
		return 0;
	own = strdup(text);
	if (VEC_PUSH_OWNER(p->texts, own, own) < 0)
		return -ENOMEM;
	*ret = (uint32_t)p->texts.n - 1;
	return hmap_put(&p->text_ids, hash, n, as_value(*ret));
}

int profile_module(struct profile *p, const char *path, const uint8_t *build_id, uint8_t build_id_size, uint32_t *ret)
{
	struct profile_module m = {.build_id_size = build_id_size};
	uint64_t hash = hmap_hash_text(path), build = hmap_hash_bytes(build_id, build_id_size);

	if (is_known(&p->module_ids, hash, build, ret))
		return 0;
	memcpy(m.build_id, build_id, build_id_size);
	m.path = strdup(path);
	if (VEC_PUSH_OWNER(p->modules, m.path, m) < 0)
		return -ENOMEM;
	*ret = (uint32_t)p->modules.n - 1;
	return hmap_put(&p->module_ids, hash, build, as_value(*ret));
}

int profile_frame(struct profile *p, const struct profile_frame *frame, uint32_t *ret)
{
	uint64_t key = (uint64_t)frame->module << 32 | frame->name;

	if (is_known(&p->frame_ids, frame->offset, key, ret))
		return 0;
	if (VEC_PUSH(p->frames, *frame) < 0)
		return -ENOMEM;
	*ret = (uint32_t)p->frames.n - 1;
	return hmap_put(&p->frame_ids, frame->offset, key, as_value(*ret));
}

int profile_named_frame(struct profile *p, const char *name, uint32_t *ret)
{
	struct profile_frame frame = {};
	int r = profile_text(p, name, &frame.name);

	return r < 0 ? r : profile_frame(p, &frame, ret);
}

int profile_stack(struct profile *p, const uint32_t *frames, size_t n, uint32_t *ret)
{
	size_t kept = n < PROFILE_FRAMES_MAX ? n : PROFILE_FRAMES_MAX;
	struct profile_stack stack = {(uint32_t)p->chain.n, (uint32_t)kept};
	uint64_t hash = hmap_hash_bytes(frames, kept * sizeof(*frames));

	if (is_known(&p->stack_ids, hash, kept, ret))
		return 0;
	if (p->chain.n + kept > PROFILE_CHAIN_MAX)
		return -E2BIG;
	for (size_t i = 0; i < kept; i++)
		if (VEC_PUSH(p->chain, frames[i]) < 0)
			return -ENOMEM;
	if (VEC_PUSH(p->stacks, stack) < 0)
		return -ENOMEM;
	*ret = (uint32_t)p->stacks.n - 1;
	return hmap_put(&p->stack_ids, hash, kept, as_value(*ret));
}

int profile_add(struct profile *p, const struct profile_row *row)
{
	const uint64_t who[] = {(uint64_t)row->minute, (uint64_t)row->uid << 32 | row->waker_uid};
	uint64_t key = (uint64_t)row->program << 32 | row->stack, key2 = hmap_hash_bytes(who, sizeof(who));
	uint32_t at;

	if (is_known(&p->row_ids, key, key2, &at)) {
		p->rows.v[at].cpu += row->cpu;
		p->rows.v[at].waited += row->waited;
		return 0;
	}
	if (VEC_PUSH(p->rows, *row) < 0)
		return -ENOMEM;
	return hmap_put(&p->row_ids, key, key2, as_value(p->rows.n - 1));
}

void profile_close_rows(struct profile *p)
{
	hmap_free(&p->row_ids);
	p->row_ids = (struct hmap){};
}

uint32_t profile_waker_frames(const struct profile *p, uint32_t stack)
{
	const struct profile_stack *s = &p->stacks.v[stack];

	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t name = p->frames.v[p->chain.v[s->first + i]].name;

		if (name && strncmp(profile_text_of(p, name), PROFILE_WOKEN_BY, strlen(PROFILE_WOKEN_BY)) == 0)
			return i + 1;
	}
	return 0;
}

/* --- copies --- */

static int copy_frame(struct profile *to, const struct profile *from, uint32_t number, uint32_t *ret)
{
	struct profile_frame frame = from->frames.v[number];
	int r = profile_text(to, profile_text_of(from, frame.name), &frame.name);

	if (r == 0 && frame.module) {
		const struct profile_module *m = &from->modules.v[frame.module - 1];

		r = profile_module(to, m->path, m->build_id, m->build_id_size, &frame.module);
		frame.module++;
	}
	return r < 0 ? r : profile_frame(to, &frame, ret);
}

/* Without its innermost `skipped` frames. */
static int copy_stack(struct profile *to, const struct profile *from, uint32_t stack, uint32_t skipped, uint32_t *ret)
{
	const struct profile_stack *s = &from->stacks.v[stack];
	uint32_t frames[PROFILE_FRAMES_MAX], n = 0;

	for (uint32_t i = skipped; i < s->n; i++) {
		int r = copy_frame(to, from, from->chain.v[s->first + i], &frames[n++]);

		if (r < 0)
			return r;
	}
	return profile_stack(to, frames, n, ret);
}

/* A stack of another user's program is not shown at all, that of another user's waker is cut off. */
static uint32_t hidden_frames(const struct profile *p, const struct profile_row *row, const struct viewer *viewer)
{
	if (visibility(viewer, DATUM_STACKS, row->uid) != SHOWN_WHOLE)
		return p->stacks.v[row->stack].n;
	return visibility(viewer, DATUM_EDGES, row->waker_uid) == SHOWN_WHOLE ? 0 : profile_waker_frames(p, row->stack);
}

static int copy_row(struct profile *to, const struct profile *from, const struct profile_row *row, const struct viewer *viewer)
{
	bool named = visibility(viewer, DATUM_PROCESS, row->uid) == SHOWN_WHOLE;
	uint32_t hidden = hidden_frames(from, row, viewer);
	struct profile_row copy = *row;
	int r = profile_text(to, named ? profile_text_of(from, row->program) : HIDDEN_PROGRAM, &copy.program);

	r = r ?: copy_stack(to, from, row->stack, hidden, &copy.stack);
	if (hidden || !named)
		copy.waker_uid = copy.uid;
	return r < 0 ? r : profile_add(to, &copy);
}

static bool is_wanted(const struct profile *p, const struct profile_row *row, const struct profile_wish *wish)
{
	if ((wish->from || wish->to) && (row->minute < wish->from || row->minute >= wish->to))
		return false;
	return !wish->program || strcmp(profile_text_of(p, row->program), wish->program) == 0;
}

int profile_copy(struct profile *to, const struct profile *from, const struct profile_wish *wish)
{
	int r = 0;

	for (size_t i = 0; i < from->rows.n && r == 0; i++)
		if (is_wanted(from, &from->rows.v[i], wish))
			r = copy_row(to, from, &from->rows.v[i], &wish->viewer);
	return r;
}
