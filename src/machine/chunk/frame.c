#include "machine/chunk/frame.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "lib/data/cleanup.h"

#define FRAME_VERSION 2
#define FRAME_HEADER  8
#define FRAME_KEY     1
#define NS_PER_US     1000ll

/* Floor division: -1 byte of a signed value must not round to 0 from below and above in the same way. */
static inline int64_t quantise(int64_t value, int64_t quantum)
{
	if (quantum == 1)
		return value;
	return value >= 0 ? value / quantum : -((-value + quantum - 1) / quantum);
}

/* The features whose value is another one than before, or that have none yet. */
static feature_set differing(const struct sample *sample, size_t n)
{
	const struct entity *e = sample->entity;
	feature_set mask = ~e->measured;

	for (size_t i = 0; i < n; i++)
		mask |= (feature_set)(sample->values[i] != e->previous[i]) << i;
	return mask & sample->present;
}

/* One feature that differs, or a level that a new segment lists: 1 = it grew or changed by *ret_diff quanta, 0 = by less. */
static bool encode_value(struct frame_encoder *enc, struct entity *e, const struct feature *feature, size_t i, int64_t now,
			 bool relist, int64_t *ret_diff)
{
	bool counter = feature->kind == COUNTER, measured = e->measured >> i & 1;
	int64_t before = measured && relist ? 0 : entity_before(e, feature, i, now);

	if (counter && now < before) {
		enc->regressions++;
		before = now;
	}
	e->previous[i] = now;
	e->measured |= FEATURE_BIT(i);
	*ret_diff = quantise(now, feature->quantum) - quantise(before, feature->quantum);
	return *ret_diff || (!counter && (!measured || relist));
}

static void encode_sample(struct frame_encoder *enc, const struct sample *sample, const struct feature *features,
			  size_t n_features, feature_set levels, struct str *out, struct str *diffs)
{
	struct entity *e = sample->entity;
	feature_set relisted = levels & (sample->present | e->measured); /* a segment's levels start from nothing */
	feature_set changed = 0;

	str_clear(diffs);
	for (feature_set left = differing(sample, n_features) | relisted; left; left &= left - 1) {
		size_t i = feature_set_first(left);
		/* not available at this moment: as it was */
		int64_t now = sample->present >> i & 1 ? sample->values[i] : e->previous[i], diff;

		if (!encode_value(enc, e, &features[i], i, now, relisted >> i & 1, &diff))
			continue;
		changed |= FEATURE_BIT(i);
		str_put_svarint(diffs, diff);
		enc->changed++;
		enc->segment_values++;
	}
	e->fresh = false;
	enc->values += feature_set_count(sample->present);
	if (!changed)
		return;
	str_put_varint(out, e->info.id);
	feature_set_write(changed, out);
	str_append(out, diffs->data, diffs->len);
}

static feature_set counters_of(enum entity_kind kind)
{
	size_t n;
	const struct feature *features = features_of(kind, &n);
	feature_set mask = 0;

	for (size_t i = 0; i < n; i++)
		if (features[i].kind == COUNTER)
			mask |= FEATURE_BIT(i);
	return mask;
}

static void define(struct frame_encoder *enc, const struct sample *sample, bool key, struct str *out)
{
	struct entity *e = sample->entity;

	/* one that was away when the segment began comes back as another: in this segment nothing knows its levels */
	if (!e->info.id || (e->segment && e->segment != enc->segment && !key)) {
		e->info.id = enc->next_id++;
		e->measured &= counters_of(e->info.kind);
	}
	if (sample->present & ~e->info.present) {
		e->info.present |= sample->present;
		e->changed = true;
	}
	if (e->segment == enc->segment && !e->changed)
		return;
	enc->segment_entities += e->segment != enc->segment;
	e->segment = enc->segment;
	e->changed = false;
	entity_info_write(&e->info, out);
}

static void encode_samples(struct frame_encoder *enc, struct tick *tick, bool key, struct str *out)
{
	_cleanup_str_ struct str definitions = {}, diffs = {};

	for (size_t i = 0; i < tick->samples.n; i++)
		if (!tick->samples.v[i].same || tick->samples.v[i].entity->changed ||
		    tick->samples.v[i].entity->segment != enc->segment)
			define(enc, &tick->samples.v[i], key, &definitions);
	str_put_blob(out, definitions.data, definitions.len);
	str_clear(&definitions);
	VEC_EACH(sample, tick->samples) {
		const struct feature *features;
		size_t n;

		if (sample->same && !key && entity_is_settled(sample->entity)) {
			enc->values += feature_set_count(sample->present);
			continue;
		}
		features = features_of(sample->entity->info.kind, &n);
		encode_sample(enc, sample, features, n, key ? ~counters_of(sample->entity->info.kind) : 0, &definitions, &diffs);
	}
	str_put_blob(out, definitions.data, definitions.len);
}

static uint64_t segment_memory(const struct frame_encoder *enc)
{
	return enc->segment_entities * ENTITY_MEMORY + enc->segment_values * VALUE_MEMORY;
}

bool frame_segment_is_full(const struct frame_encoder *enc)
{
	uint64_t memory = segment_memory(enc);

	return memory > SEGMENT_MEMORY && memory > 2 * enc->key_memory;
}

int frame_encode(struct frame_encoder *enc, struct tick *tick, bool key, struct str *out)
{
	size_t start = out->len;
	uint32_t header[2] = {};

	if (key)
		enc->segment_entities = enc->segment_values = 0;
	enc->segment += key || !enc->segment;
	enc->values += tick->asleep_values;
	str_append(out, header, sizeof(header));
	str_put_varint(out, FRAME_VERSION);
	str_put_varint(out, key ? FRAME_KEY : 0);
	/* in microseconds: the noise below would cost more in a chunk than all that is said of an idle process */
	str_put_varint(out, (uint64_t)(tick->boot / NS_PER_US));
	str_put_varint(out, (uint64_t)(tick->wall / NS_PER_US));
	str_put_varint(out, tick->previous_boot ? (uint64_t)(tick->boot / NS_PER_US - tick->previous_boot / NS_PER_US) : 0);
	encode_samples(enc, tick, key, out);
	if (key)
		enc->key_memory = segment_memory(enc);
	str_put_varint(out, tick->ended.n);
	for (size_t i = 0; i < tick->ended.n; i++)
		str_put_varint(out, tick->ended.v[i]->info.id);
	str_put_varint(out, tick->notes.n);
	VEC_EACH(note, tick->notes) {
		str_put_varint(out, note->kind);
		str_put_varint(out, (uint64_t)(note->wall ? note->wall : tick->wall));
		str_put_blob(out, note->text, strlen(note->text));
	}
	if (out->error) {
		out->len = start;
		return out->error;
	}
	header[0] = htole32((uint32_t)(out->len - start - FRAME_HEADER));
	header[1] = htole32((uint32_t)crc32(0, (const void *)(out->data + start + FRAME_HEADER),
					    (uInt)(out->len - start - FRAME_HEADER)));
	memcpy(out->data + start, header, sizeof(header));
	return 0;
}

/* The state that decoding carries from frame to frame of one segment. */
struct decoding {
	struct dataset *into;
	const struct load_filter *filter;
	bool keep; /* this frame lies in the window */
	uint32_t tick;
};

static int64_t level_before(const struct series *s)
{
	return s->n ? s->value[s->n - 1] : 0;
}

/* Levels are running sums within a segment; a key frame starts them again. */
static int put_value(struct decoding *dec, struct subject *s, size_t feature, int64_t diff, bool key)
{
	struct series *series = &s->series[feature];

	if (s->features[feature].kind == COUNTER) {
		if (!dec->keep)
			return 0;
		if (series->n && series->tick[series->n - 1] == dec->tick) { /* put twice in one tick */
			return __builtin_add_overflow(series->value[series->n - 1], diff, &series->value[series->n - 1]) ? -EBADMSG : 0;
		}
		return dataset_push(dec->into, series, dec->tick, diff);
	}
	if (!key && __builtin_add_overflow(diff, level_before(series), &diff))
		return -EBADMSG;
	/* before the window only the newest level matters */
	if (!dec->keep && series->n) {
		series->value[series->n - 1] = diff;
		return 0;
	}
	if (series->n && series->tick[series->n - 1] == dec->tick) {
		series->value[series->n - 1] = diff;
		return 0;
	}
	return dataset_push(dec->into, series, dec->tick, diff);
}

static int decode_definitions(struct decoding *dec, struct reader in)
{
	while (in.at < in.end) {
		struct entity_info info;
		struct subject *s;
		feature_set features, most;
		int r = entity_info_read(&in, &info);

		if (r < 0)
			return r;
		s = dataset_subject(dec->into, info.id);
		if (s && s->info.kind != info.kind) {
			entity_info_free(&info);
			return -EBADMSG; /* nothing becomes another kind of thing */
		}
		most = dec->filter && dec->filter->most ? dec->filter->most[info.kind] : FEATURES_ALL;
		features = dec->filter && dec->filter->features ? dec->filter->features(&info, dec->filter->data) : FEATURES_ALL;
		s = features ? dataset_define(dec->into, &info) : NULL;
		entity_info_free(&info);
		if (features && !s)
			return -ENOMEM;
		if (s)
			s->wanted = features & most;
	}
	return 0;
}

static int decode_samples(struct decoding *dec, struct reader in, bool key)
{
	while (in.at < in.end) {
		uint32_t id = (uint32_t)reader_varint(&in);
		feature_set changed = feature_set_read(&in);
		struct subject *s = dataset_subject(dec->into, id);

		if (in.bad || (!s && !dec->filter))
			return -EBADMSG;
		for (; changed; changed &= changed - 1) {
			size_t feature = feature_set_first(changed);
			int64_t diff = reader_svarint(&in);

			if (in.bad || (s && feature >= s->n_features))
				return -EBADMSG;
			if (!s || !(s->wanted >> feature & 1))
				continue;
			/* the first sample of a subject has levels, not differences: its series is empty, so both agree */
			if (put_value(dec, s, feature, diff, key) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

static int decode_ended(struct decoding *dec, struct reader *in)
{
	for (uint64_t n = reader_varint(in); n && !in->bad; n--) {
		struct subject *s = dataset_subject(dec->into, (uint32_t)reader_varint(in));

		if (!s)
			continue;
		s->ended = true;
		s->last = dec->tick;
		if (!dec->keep) /* gone before the window: it has no ticks in it */
			s->first = s->last + 1;
	}
	return in->bad ? -EBADMSG : 0;
}

static int decode_notes(struct decoding *dec, struct reader *in)
{
	for (uint64_t n = reader_varint(in); n && !in->bad; n--) {
		struct note note = {.kind = (enum note_kind)reader_varint(in)};

		note.wall = (int64_t)reader_varint(in);
		note.text = reader_printable(in);
		if (!note.text)
			break;
		if (!dec->keep)
			free(note.text);
		else if (dataset_add_note(dec->into, note) < 0)
			return -ENOMEM;
	}
	return in->bad ? -EBADMSG : 0;
}

static struct reader sub_reader(struct reader *in)
{
	size_t n;
	const char *bytes = str_read_blob(in, &n);

	return (struct reader){(const uint8_t *)bytes, (const uint8_t *)(n ? bytes + n : bytes), false};
}

static int64_t read_time(struct reader *in)
{
	uint64_t us = reader_varint(in);

	if (us > INT64_MAX / NS_PER_US)
		in->bad = true;
	return in->bad ? 0 : (int64_t)us * NS_PER_US;
}

static int decode_frame(struct reader in, int64_t from_wall, int64_t to_wall, const struct load_filter *filter,
			struct dataset *into)
{
	struct decoding dec = {.into = into, .filter = filter};
	uint64_t version = reader_varint(&in), flags = reader_varint(&in);
	int64_t boot = read_time(&in), wall = read_time(&in), span = read_time(&in);
	struct reader definitions = sub_reader(&in), samples = sub_reader(&in);
	int r;

	if (in.bad)
		return -EBADMSG;
	if (version != FRAME_VERSION)
		return -EPROTONOSUPPORT;
	dec.keep = wall >= from_wall && wall <= to_wall;
	if (wall > to_wall)
		return 0;
	if ((flags & FRAME_KEY) && dataset_begin_segment(into) < 0)
		return -ENOMEM;
	if (dec.keep) {
		r = dataset_add_tick(into, boot, wall, span);
		if (r < 0)
			return r;
	}
	dec.tick = into->ticks.n ? (uint32_t)into->ticks.n - 1 : 0;
	r = decode_definitions(&dec, definitions);
	r = r ?: decode_samples(&dec, samples, flags & FRAME_KEY);
	r = r ?: decode_ended(&dec, &in);
	return r ?: decode_notes(&dec, &in);
}

int frames_read(const void *bytes, size_t n, int64_t from_wall, int64_t to_wall, struct dataset *into,
		size_t *ret_used)
{
	return frames_read_filtered(bytes, n, from_wall, to_wall, NULL, into, ret_used);
}

int frames_read_filtered(const void *bytes, size_t n, int64_t from_wall, int64_t to_wall, const struct load_filter *filter,
			 struct dataset *into, size_t *ret_used)
{
	const uint8_t *at = bytes, *end = n ? at + n : at; /* without a frame `bytes` may be NULL */
	int r = 0;

	while (r == 0 && end - at >= FRAME_HEADER) {
		uint32_t header[2];
		size_t length;

		memcpy(header, at, sizeof(header));
		length = le32toh(header[0]);
		if (length == 0 || length > (size_t)(end - at) - FRAME_HEADER) {
			r = -EBADMSG;
			break;
		}
		if (crc32(0, at + FRAME_HEADER, (uInt)length) != le32toh(header[1])) {
			r = -EBADMSG;
			break;
		}
		r = decode_frame((struct reader){at + FRAME_HEADER, at + FRAME_HEADER + length, false}, from_wall, to_wall,
				 filter, into);
		if (r == 0)
			at += FRAME_HEADER + length;
	}
	*ret_used = (size_t)(at - (const uint8_t *)bytes);
	return r;
}

bool frames_are_torn(const void *bytes, size_t n, size_t used)
{
	uint32_t length;

	if (n - used < FRAME_HEADER)
		return true;
	memcpy(&length, (const uint8_t *)bytes + used, sizeof(length));
	return le32toh(length) > n - used - FRAME_HEADER;
}
