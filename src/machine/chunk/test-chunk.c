#include "lib/data/test.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "machine/chunk/chunk-parts.h"
#include "machine/chunk/chunk.h"
#include "machine/chunk/frame.h"

#define ENTITIES 24
#define TICKS	 150

struct actor {
	struct entity *entity;
	feature_set present;
	int64_t values[FEATURES_MAX];
	unsigned activity; /* of 100 */
};

static int64_t draw(int64_t below)
{
	return random() % below;
}

static int64_t heavy_tailed(void)
{
	return draw(1ll << (1 + draw(30))) << (draw(8) ? 0 : draw(20));
}

static void begin(struct actor *a, bool born)
{
	static const enum entity_kind kinds[] = {ENTITY_PROCESS, ENTITY_PROCESS, ENTITY_PROCESS,
						 ENTITY_SYSTEM,	 ENTITY_DISK,	 ENTITY_CGROUP};
	size_t n;

	*a = (struct actor){.entity = entity_new(kinds[draw(6)], "actor"),
			    .activity = (unsigned)(draw(2) ? draw(100) : draw(5))};
	features_of(a->entity->info.kind, &n);
	a->entity->born = born;
	a->entity->info.pid = (uint32_t)draw(30000);
	for (size_t f = 0; f < n; f++) {
		a->present |= (feature_set)(draw(3) > 0) << f;
		a->values[f] = draw(2) ? 0 : heavy_tailed();
	}
}

static void live(struct actor *a)
{
	size_t n;
	const struct feature *features = features_of(a->entity->info.kind, &n);

	if (draw(100) >= a->activity)
		return;
	for (size_t f = 0; f < n; f++)
		if (draw(3) == 0)
			a->values[f] = features[f].kind == COUNTER ? a->values[f] + heavy_tailed()
				       : draw(2)		   ? heavy_tailed() - 1000
								   : a->values[f] + draw(5) - 2;
	if (a->entity->info.kind == ENTITY_PROCESS && draw(4)) { /* as bytes go with calls, and both with switches */
		int64_t calls = 1 + draw(1000);

		a->values[FEATURE_CTX_VOLUNTARY] += calls;
		a->values[FEATURE_IO_READ_CALLS] += calls;
		a->values[FEATURE_IO_READ_CHARS] += calls * 500 + draw(1000);
	}
	if (draw(50) == 0)
		a->present |= FEATURE_BIT(draw((int64_t)n)); /* it can be measured now */
	if (draw(60) == 0)
		entity_describe(a->entity, strdup("/bin/other"), NULL, NULL, NULL);
}

/* Restarts, gaps in time, features that are missing at first, descriptions that change. */
static struct str record(unsigned seed, unsigned n_ticks)
{
	struct actor actors[ENTITIES] = {};
	struct frame_encoder enc = {.next_id = 1};
	struct tick tick = {};
	struct str out = {};
	int64_t boot = 1000 * NS_PER_SEC;

	srandom(seed);
	for (unsigned t = 0; t < n_ticks;
	     t++, boot += NS_PER_SEC + draw(100) * NS_PER_MS + (draw(40) ? 0 : 50 * NS_PER_SEC)) {
		tick_begin(&tick, boot, boot + 1790000000 * NS_PER_SEC + draw(1000));
		for (size_t i = 0; i < ENTITIES; i++) {
			if (!actors[i].entity)
				begin(&actors[i], t > 0);
			live(&actors[i]);
			tick_put(&tick, actors[i].entity, actors[i].values, actors[i].present);
			if (draw(400) == 0)
				VEC_PUSH(tick.ended, actors[i].entity);
		}
		if (draw(30) == 0)
			tick_note(&tick, NOTE_KERNEL, 0, "note %u", t);
		assert_int_equal(frame_encode(&enc, &tick, t == 0, &out), 0);
		for (size_t e = 0; e < tick.ended.n; e++)
			for (size_t i = 0; i < ENTITIES; i++)
				if (actors[i].entity == tick.ended.v[e]) {
					entity_free(actors[i].entity);
					actors[i].entity = NULL;
				}
	}
	for (size_t i = 0; i < ENTITIES; i++)
		entity_free(actors[i].entity);
	tick_free(&tick);
	return out;
}

static struct dataset read_frames(const struct str *frames)
{
	struct dataset d = {};
	size_t used;

	assert_int_equal(frames_read(frames->data, frames->len, INT64_MIN, INT64_MAX, &d, &used), 0);
	dataset_finish(&d);
	return d;
}

static int read_chunk(const void *bytes, size_t n, const struct load_filter *filter, struct dataset *ret)
{
	struct chunk *c;
	int r = chunk_open(bytes, n, filter ? filter->most : NULL, NULL, &c);

	if (r < 0)
		return r;
	r = chunk_plan(c, ret, filter);
	if (r == 0)
		r = dataset_allocate(ret);
	if (r == 0)
		r = chunk_decode(c);
	chunk_close(c);
	dataset_finish(ret);
	return r;
}

static void same_series(const struct series *a, const struct series *b, bool counter)
{
	int64_t sum_a = 0, sum_b = 0;

	assert_int_equal(a->n, b->n);
	assert_true(a->n == 0 || memcmp(a->tick, b->tick, a->n * sizeof(a->tick[0])) == 0);
	for (size_t i = 0; i < a->n; i++) {
		int64_t off = b->value[i] - a->value[i];

		sum_a += a->value[i];
		sum_b += b->value[i];
		assert_true(counter ? 100 * llabs(off) <= llabs(a->value[i]) : off == 0);
	}
	assert_int_equal(sum_a, sum_b);
}

static void same_subject(const struct subject *a, const struct subject *b, feature_set features)
{
	assert_int_equal(a->info.id, b->info.id);
	assert_int_equal(a->info.present, b->info.present);
	assert_string_equal(a->program, b->program);
	assert_int_equal(a->first, b->first);
	assert_int_equal(a->last, b->last);
	assert_int_equal(a->ended, b->ended);
	for (size_t f = 0; f < a->n_features; f++) {
		if (features >> f & 1)
			same_series(&a->series[f], &b->series[f], a->features[f].kind == COUNTER);
		else
			assert_int_equal(b->series[f].n, 0);
	}
}

static void same_ticks(const struct dataset *a, const struct dataset *b)
{
	assert_int_equal(a->ticks.n, b->ticks.n);
	for (size_t i = 0; i < a->ticks.n; i++)
		assert_memory_equal(&a->ticks.v[i], &b->ticks.v[i], sizeof(a->ticks.v[i]));
	assert_int_equal(a->notes.n, b->notes.n);
	for (size_t i = 0; i < a->notes.n; i++)
		assert_string_equal(a->notes.v[i].text, b->notes.v[i].text);
}

static void a_chunk_says_what_the_frames_said(void **state)
{
	for (unsigned seed = 1; seed <= 40; seed++) {
		struct str frames = record(seed, seed % 5 ? TICKS : seed % 7), chunk = {};
		struct dataset before = read_frames(&frames), after = {};

		assert_int_equal(chunk_write(&before, &chunk), 0);
		assert_int_equal(read_chunk(chunk.data, chunk.len, NULL, &after), 0);
		same_ticks(&before, &after);
		assert_int_equal(before.subjects.n, after.subjects.n);
		for (size_t i = 0; i < before.subjects.n; i++)
			same_subject(before.subjects.v[i], after.subjects.v[i], UINT64_MAX);
		dataset_free(&before);
		dataset_free(&after);
		str_free(&frames);
		str_free(&chunk);
	}
}

static feature_set some(const struct entity_info *info, void *data)
{
	return info->kind == ENTITY_PROCESS && info->id % 3 ? *(feature_set *)data : 0;
}

static void a_filter_gives_what_it_asks_for_and_nothing_else(void **state)
{
	struct str frames = record(77, TICKS), chunk = {};
	struct dataset all = read_frames(&frames);

	assert_int_equal(chunk_write(&all, &chunk), 0);
	for (unsigned seed = 0; seed < 20; seed++) {
		feature_set features = seed ? FEATURE_BIT(draw(PROCESS_FEATURE_COUNT)) | FEATURE_BIT(draw(PROCESS_FEATURE_COUNT))
					 : FEATURE_BIT(FEATURE_IO_READ_CHARS); /* which is kept next to another */
		const feature_set most[ENTITY_KIND_END] = {[ENTITY_PROCESS] = features};
		struct load_filter filter = {some, &features, seed % 2 ? NULL : most};
		struct dataset from_chunk = {}, from_frames = {};
		size_t used, wanted = 0;

		assert_int_equal(read_chunk(chunk.data, chunk.len, &filter, &from_chunk), 0);
		assert_int_equal(frames_read_filtered(frames.data, frames.len, INT64_MIN, INT64_MAX, &filter,
						      &from_frames, &used),
				 0);
		dataset_finish(&from_frames);
		for (size_t i = 0; i < all.subjects.n; i++) {
			const struct subject *s = all.subjects.v[i];

			if (!some(&s->info, &features))
				continue;
			wanted++;
			same_subject(s, dataset_subject(&from_chunk, s->info.id), features);
			same_subject(s, dataset_subject(&from_frames, s->info.id), features);
		}
		assert_true(wanted > 0);
		assert_int_equal(from_chunk.subjects.n, wanted);
		assert_int_equal(from_frames.subjects.n, wanted);
		dataset_free(&from_chunk);
		dataset_free(&from_frames);
	}
	dataset_free(&all);
	str_free(&frames);
	str_free(&chunk);
}

static feature_set only(const struct entity_info *info, void *data)
{
	return info->id == *(uint32_t *)data ? UINT64_MAX : 0;
}

static size_t count_points(const struct chunk *c, bool first)
{
	const struct kind_part *part = &c->kinds[ENTITY_PROCESS];
	size_t n = 0;

	for (size_t i = 0; i < part->n_columns; i++)
		for (size_t k = 0; k < part->columns[i].n_series; k++)
			n += part->columns[i].series[k].point &&
			     first == (FEATURES_READ_FIRST >> part->words[part->columns[i].feature].feature & 1);
	return n;
}

/* One process of many is read from the nearest points on, which only columns have that are not read of everybody. */
static void values_are_read_from_points_on(void **state)
{
	struct str frames = record(79, 6000), bytes = {};
	struct dataset all = read_frames(&frames);
	struct chunk *c;

	assert_int_equal(chunk_write(&all, &bytes), 0);
	assert_int_equal(chunk_open(bytes.data, bytes.len, NULL, NULL, &c), 0);
	assert_true(count_points(c, false) > 1);
	assert_int_equal(count_points(c, true), 0);
	for (size_t i = 0; i < all.subjects.n; i++) {
		struct load_filter filter = {only, &all.subjects.v[i]->info.id, NULL};
		struct dataset one = {};

		assert_int_equal(chunk_plan(c, &one, &filter), 0);
		assert_int_equal(dataset_allocate(&one), 0);
		assert_int_equal(chunk_decode(c), 0);
		dataset_finish(&one);
		assert_int_equal(one.subjects.n, 1);
		same_subject(all.subjects.v[i], one.subjects.v[0], UINT64_MAX);
		dataset_free(&one);
	}
	chunk_close(c);
	dataset_free(&all);
	str_free(&frames);
	str_free(&bytes);
}

/* Of whom nothing may be wanted, that it was there, and from when to when. */
static void without_any_feature_there_are_still_entities(void **state)
{
	const feature_set nothing[ENTITY_KIND_END] = {};
	struct str frames = record(78, TICKS), chunk = {};
	struct dataset all = read_frames(&frames), bare = {};
	struct load_filter filter = {.most = nothing};

	assert_int_equal(chunk_write(&all, &chunk), 0);
	assert_int_equal(read_chunk(chunk.data, chunk.len, &filter, &bare), 0);
	assert_int_equal(bare.subjects.n, all.subjects.n);
	for (size_t i = 0; i < all.subjects.n; i++)
		same_subject(all.subjects.v[i], bare.subjects.v[i], 0);
	dataset_free(&all);
	dataset_free(&bare);
	str_free(&frames);
	str_free(&chunk);
}

/* Of before columns had partners (bench/make-recording, 36 s of 12 processes). */
static void an_older_chunk_is_read(void **state)
{
	_cleanup_fclose_ FILE *f = fopen(FIXTURES "/store/chunk-0", "re");
	struct dataset d = {};
	int64_t switches = 0, calls = 0;
	size_t values = 0, n;
	char bytes[1 << 16];

	assert_non_null(f);
	n = fread(bytes, 1, sizeof(bytes), f);
	assert_int_equal(read_chunk(bytes, n, NULL, &d), 0);
	assert_int_equal(d.ticks.n, 36);
	for (size_t i = 0; i < d.subjects.n; i++) {
		const struct subject *s = d.subjects.v[i];

		for (size_t k = 0; k < s->n_features; k++)
			values += s->series[k].n;
		for (size_t k = 0; s->info.kind == ENTITY_PROCESS && k < s->series[FEATURE_CTX_VOLUNTARY].n; k++)
			switches += s->series[FEATURE_CTX_VOLUNTARY].value[k];
		for (size_t k = 0; s->info.kind == ENTITY_PROCESS && k < s->series[FEATURE_IO_READ_CALLS].n; k++)
			calls += s->series[FEATURE_IO_READ_CALLS].value[k];
	}
	/* what the program said that wrote it */
	assert_int_equal(values, 6819);
	assert_int_equal(switches, 12911);
	assert_int_equal(calls, 24111);
	dataset_free(&d);
}

static void damage_is_found(void **state)
{
	struct str frames = record(5, 20), chunk = {};
	struct dataset d = read_frames(&frames);

	assert_int_equal(chunk_write(&d, &chunk), 0);
	for (size_t cut = 0; cut < chunk.len; cut += 1 + cut / 50) {
		struct dataset after = {};

		assert_int_equal(read_chunk(chunk.data, cut, NULL, &after), -EBADMSG);
		dataset_free(&after);
	}
	for (size_t at = 0; at < chunk.len; at++) {
		struct dataset after = {};

		chunk.data[at] ^= (char)(1 << at % 8);
		assert_int_equal(read_chunk(chunk.data, chunk.len, NULL, &after), -EBADMSG);
		chunk.data[at] ^= (char)(1 << at % 8);
		dataset_free(&after);
	}
	dataset_free(&d);
	str_free(&frames);
	str_free(&chunk);
}

/* A checksum that fits says nothing about who wrote it: whatever follows is survived. */
static void malice_is_survived(void **state)
{
	struct str frames = record(6, 30), chunk = {};
	struct dataset d = read_frames(&frames);
	unsigned refused = 0;

	assert_int_equal(chunk_write(&d, &chunk), 0);
	for (size_t round = 0; round < 4000; round++) {
		_Alignas(8) char copy[1 << 17];
		struct dataset after = {};
		uint32_t crc;
		int r;

		assert_true(chunk.len < sizeof(copy));
		memcpy(copy, chunk.data, chunk.len);
		for (int64_t flips = 1 + draw(4); flips; flips--)
			copy[4 + draw((int64_t)chunk.len - 4)] ^= (char)(1 << draw(8));
		crc = htole32((uint32_t)crc32(0, (const void *)(copy + 4), (uInt)(chunk.len - 4)));
		memcpy(copy, &crc, 4);
		r = read_chunk(copy, chunk.len, NULL, &after);
		assert_true(r == 0 || r == -EBADMSG);
		refused += r < 0;
		dataset_free(&after);
	}
	assert_true(refused > 0);
	dataset_free(&d);
	str_free(&frames);
	str_free(&chunk);
}

/* A process that two recorders saw has two ids and two chunks, and is one subject from the first of its ticks on. */
static void two_recorders_see_one_process(void **state)
{
	struct frame_encoder encoders[] = {{.next_id = 1}, {.next_id = 9}};
	struct chunk *chunks[2];
	struct str bytes[2] = {};
	struct dataset d = {};

	for (int i = 0; i < 2; i++) {
		struct entity *e = entity_new(ENTITY_PROCESS, "p");
		int64_t values[PROCESS_FEATURE_COUNT] = {[FEATURE_HANDLES_FILES] = 5 + i};
		struct str frames = {};
		struct tick tick = {};
		struct dataset part;

		e->info.pid = 7;
		e->info.start = 1234;
		for (int t = 0; t < 3; t++) {
			tick_begin(&tick, (100 + 10 * i + t) * NS_PER_SEC, (1000 + 10 * i + t) * NS_PER_SEC);
			tick_put(&tick, e, values, FEATURE_BIT(FEATURE_HANDLES_FILES));
			assert_int_equal(frame_encode(&encoders[i], &tick, t == 0, &frames), 0);
		}
		part = read_frames(&frames);
		assert_int_equal(chunk_write(&part, &bytes[i]), 0);
		assert_int_equal(chunk_open(bytes[i].data, bytes[i].len, NULL, NULL, &chunks[i]), 0);
		assert_int_equal(chunk_plan(chunks[i], &d, NULL), 0);
		dataset_free(&part);
		tick_free(&tick);
		entity_free(e);
		str_free(&frames);
	}
	assert_int_equal(dataset_allocate(&d), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(chunk_decode(chunks[i]), 0);
		chunk_close(chunks[i]);
		str_free(&bytes[i]);
	}
	dataset_finish(&d);
	assert_int_equal(d.subjects.n, 1);
	assert_int_equal(d.subjects.v[0]->first, 0);
	assert_int_equal(d.subjects.v[0]->last, 5);
	assert_true(subject_value(&d, d.subjects.v[0], FEATURE_HANDLES_FILES, 1) == 5);
	assert_true(subject_value(&d, d.subjects.v[0], FEATURE_HANDLES_FILES, 4) == 6);
	dataset_free(&d);
}

static void a_part_at_the_edge_keeps_the_level_from_before(void **state)
{
	struct str frames = record(9, 60);
	struct dataset all = read_frames(&frames), part = {}, direct = {};
	int64_t from = all.ticks.v[20].wall, to = all.ticks.v[40].wall;
	size_t used;

	assert_int_equal(dataset_append(&part, &all, from, to), 0);
	dataset_finish(&part);
	frames_read(frames.data, frames.len, from, to, &direct, &used);
	dataset_finish(&direct);
	assert_int_equal(part.ticks.n, 21);
	for (size_t i = 0; i < part.subjects.n; i++) {
		const struct subject *s = part.subjects.v[i], *same = dataset_subject(&direct, s->info.id);

		/* a chunk knows an entity as it was last described, beyond the window too */
		for (size_t f = 0; f < s->n_features; f++)
			for (uint32_t t = s->first; subject_has(same, f) && t <= s->last; t++) {
				double a = subject_value(&part, s, f, t),
				       b = subject_value(&direct, same, f, t);

				assert_true(a == b || (a != a && b != b));
			}
	}
	dataset_free(&all);
	dataset_free(&part);
	dataset_free(&direct);
	str_free(&frames);
}

RUN_TESTS(cmocka_unit_test(two_recorders_see_one_process), cmocka_unit_test(a_chunk_says_what_the_frames_said),
	  cmocka_unit_test(a_filter_gives_what_it_asks_for_and_nothing_else),
	  cmocka_unit_test(values_are_read_from_points_on),
	  cmocka_unit_test(without_any_feature_there_are_still_entities), cmocka_unit_test(an_older_chunk_is_read),
	  cmocka_unit_test(damage_is_found), cmocka_unit_test(malice_is_survived),
	  cmocka_unit_test(a_part_at_the_edge_keeps_the_level_from_before))
