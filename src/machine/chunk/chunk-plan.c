#include <errno.h>

#include "machine/chunk/chunk-parts.h"
#include "machine/chunk/chunk.h"

static int plan_ticks(struct chunk *c)
{
	struct reader boots = c->boot, walls = c->wall, spans = c->span;
	int64_t boot = 0, apart = 0;

	c->first_tick = (uint32_t)c->into->ticks.n;
	if (dataset_begin_segment(c->into) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->n_ticks; i++) {
		int64_t passed = reader_svarint(&boots), span = passed - reader_svarint(&spans);

		boot += passed;
		apart += reader_svarint(&walls);
		if (dataset_add_tick(c->into, boot, boot + apart, span) < 0)
			return -ENOMEM;
	}
	return boots.bad || walls.bad || spans.bad ? -EBADMSG : 0;
}

static feature_set translate(const struct kind_part *part, feature_set mask)
{
	feature_set translated = 0;

	for (size_t f = 0; f < part->n_words; f++)
		if (mask >> f & 1 && part->words[f].feature >= 0)
			translated |= FEATURE_BIT(part->words[f].feature);
	return translated;
}

static int define(struct chunk *c, struct member *m, struct reader definition, uint64_t hash,
		  const struct load_filter *filter)
{
	struct entity_info info;
	feature_set features = FEATURES_ALL;
	const struct subject *known;
	int r = entity_info_read(&definition, &info);

	if (r < 0)
		return r;
	known = dataset_subject(c->into, info.id);
	if (info.kind != m->kind || (known && known->info.kind != info.kind)) {
		entity_info_free(&info);
		return -EBADMSG; /* nothing becomes another kind of thing */
	}
	info.present = translate(&c->kinds[m->kind], info.present);
	if (filter && filter->features)
		features = filter->features(&info, filter->data);
	if (features) {
		m->subject = dataset_define(c->into, &info);
		r = m->subject ? 0 : -ENOMEM;
		if (m->subject) {
			m->subject->definition = hash;
			m->subject->wanted = features & (filter && filter->most ? filter->most[m->kind] : FEATURES_ALL);
		}
	}
	entity_info_free(&info);
	return r;
}

static int plan_member(struct chunk *c, struct member *m, struct reader *in, const struct load_filter *filter)
{
	struct reader definition = chunk_take_part(in);
	uint64_t hash = hmap_hash_bytes(definition.at, (size_t)(definition.end - definition.at));
	uint32_t first = (uint32_t)reader_varint(in), ended = (uint32_t)reader_varint(in);
	struct reader peek = definition;
	struct subject *known = dataset_subject(c->into, (uint32_t)reader_varint(&peek));
	size_t subjects = c->into->subjects.n;
	int r = 0;

	if (known && known->definition == hash && known->info.kind == m->kind) {
		m->subject = known;
		known->segment = (uint32_t)c->into->segments.n - 1;
	} else {
		r = define(c, m, definition, hash, filter);
	}
	if (r < 0 || !m->subject)
		return r;
	m->wanted = chunk_wanted_words(&c->kinds[m->kind], m->subject->wanted);
	if (c->into->subjects.n > subjects) /* and not one that another recorder knew already */
		m->subject->first = c->first_tick + first;
	if (ended) {
		m->subject->ended = true;
		m->subject->last = c->first_tick + ended - 1;
	}
	return 0;
}

static int plan_notes(struct chunk *c)
{
	struct reader in = c->notes;

	for (uint64_t n = reader_varint(&in); n; n--) {
		struct note note = {.kind = (enum note_kind)reader_varint(&in)};

		note.wall = reader_svarint(&in);
		note.text = reader_printable(&in);
		if (!note.text)
			return -ENOMEM;
		if (dataset_add_note(c->into, note) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Values stand one behind the other: from a point up to the last that is needed all are decoded, next to their partners. */
static void plan_partner(struct chunk_column *column)
{
	column->partner->valued = true;
	for (size_t begin = 0, end; begin < column->n_series; begin = end) {
		size_t until;

		end = chunk_block_end(column, begin);
		until = chunk_needed_until(column, begin, end);
		for (size_t i = begin; i < until; i++)
			if (column->series[i].partner)
				column->series[i].needed = column->series[i].partner->needed = true;
	}
}

/* From the last column to the first: what is wanted, and what those need as a base or a partner. */
static void plan_column(struct chunk *c, struct chunk_column *column)
{
	for (size_t i = 0; i < column->n_series; i++) {
		struct column_series *s = &column->series[i];

		s->wanted = c->members[s->member].wanted >> column->feature & 1;
		s->needed |= s->wanted;
		column->wanted |= s->wanted;
		column->needed |= s->needed;
	}
	if ((column->wanted || column->valued) && column->partner)
		plan_partner(column);
	for (size_t i = 0; i < column->n_series; i++) {
		struct column_series *s = &column->series[i];

		if (s->wanted)
			s->at = series_reserve(chunk_target(c, column, s), s->n);
		else if (s->needed)
			c->n_scratch += s->n;
		if (s->needed && column->valued)
			c->n_codes += s->n;
		if (s->of)
			s->of->needed |= s->needed;
	}
}

/* Forgets what an earlier plan wanted. */
static void forget_plan(struct chunk *c)
{
	c->n_scratch = c->n_codes = 0;
	for (size_t i = 0; i < c->n_members; i++) {
		c->members[i].subject = NULL;
		c->members[i].wanted = 0;
	}
	for (size_t k = 0; k < ENTITY_KIND_END; k++)
		for (size_t i = 0; i < c->kinds[k].n_columns; i++) {
			struct chunk_column *column = &c->kinds[k].columns[i];

			column->needed = column->wanted = column->valued = false;
			for (size_t j = 0; j < column->n_series; j++) {
				column->series[j].needed = false;
				column->series[j].codes = NULL;
			}
		}
}

int chunk_plan(struct chunk *c, struct dataset *into, const struct load_filter *filter)
{
	struct reader in = c->subjects;
	int r;

	c->into = into;
	forget_plan(c);
	r = plan_ticks(c);
	for (size_t i = 0; r == 0 && i < c->n_members; i++)
		r = plan_member(c, &c->members[i], &in, filter);
	for (enum entity_kind kind = ENTITY_PROCESS; kind < ENTITY_KIND_END; kind++)
		for (size_t i = c->kinds[kind].n_columns; r == 0 && i-- > 0;)
			plan_column(c, &c->kinds[kind].columns[i]);
	return r == 0 ? plan_notes(c) : r;
}
void chunk_take_back(struct chunk *c)
{
	for (enum entity_kind kind = ENTITY_PROCESS; kind < ENTITY_KIND_END; kind++)
		for (size_t i = 0; i < c->kinds[kind].n_columns; i++)
			for (size_t k = 0; k < c->kinds[kind].columns[i].n_series; k++) {
				const struct column_series *s = &c->kinds[kind].columns[i].series[k];

				if (s->wanted)
					series_remove(chunk_target(c, &c->kinds[kind].columns[i], s), s->at, s->n);
			}
}
