#include "machine/chunk/entropy.h"
#include "lib/data/cleanup.h"
#include "machine/chunk/precision.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOG_MAX	   120 /* 2^30 tokens */
#define LOG_BEFORE 20  /* of the first there is none before */

struct model {
	uint32_t count[ENTROPY_SYMBOLS];
	uint32_t freq[ENTROPY_SYMBOLS], start[ENTROPY_SYMBOLS];
	uint64_t inverse[ENTROPY_SYMBOLS]; /* 2^64 / freq, rounded up: a division for each token would be most of encoding */
};

void entropy_writer_free(struct entropy_writer *w)
{
	VEC_FREE(w->tokens);
	VEC_FREE(w->points);
}

/* A frequency travels as its logarithm, in quarters of an octave: reader and writer make the same table of
 * it. */
static uint32_t weight_of(unsigned log)
{
	static const uint32_t quarter[] = {1024, 1218, 1448, 1722};

	return (uint32_t)((uint64_t)quarter[log % 4] << (log / 4) >> 10);
}

static unsigned log_of(uint32_t count)
{
	unsigned octave = 31 - (unsigned)__builtin_clz(count | 1), log = octave ? 4 * octave - 1 : 0;

	while (log < LOG_MAX && (weight_of(log) + weight_of(log + 1)) / 2 < count)
		log++;
	return log;
}

static unsigned most_frequent(const uint32_t *freq, unsigned n)
{
	unsigned most = 0;

	for (unsigned i = 1; i < n; i++)
		if (freq[i] > freq[most])
			most = i;
	return most;
}

/* Scales weights to the total; every symbol that occurs keeps at least 1. */
static void normalise(const uint32_t *weights, uint32_t *freq, unsigned n)
{
	uint64_t total = 0;
	uint32_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		total += weights[i];
	for (unsigned i = 0; i < n; i++) {
		freq[i] = 0;
		if (!weights[i])
			continue;
		freq[i] = (uint32_t)((uint64_t)weights[i] * ENTROPY_TOTAL / total);
		if (!freq[i])
			freq[i] = 1;
		sum += freq[i];
	}
	while (sum > ENTROPY_TOTAL) {
		unsigned most = most_frequent(freq, n);
		uint32_t take = sum - ENTROPY_TOTAL < freq[most] / 2 ? sum - ENTROPY_TOTAL : freq[most] / 2;

		freq[most] -= take;
		sum -= take;
	}
	freq[most_frequent(freq, n)] += ENTROPY_TOTAL - sum;
}

/* How many symbols up to the last that occurs; then for each 0 if it does not, or 1 + how far its logarithm lies from that of
 * the one before, with its sign folded in: what follows each other is in the same way. */
static void make_model(struct model *m, struct str *out)
{
	uint32_t weights[ENTROPY_SYMBOLS] = {};
	unsigned last = 0, before = LOG_BEFORE;

	for (unsigned i = 0; i < ENTROPY_SYMBOLS; i++)
		if (m->count[i])
			last = i + 1;
	str_putc(out, (char)last);
	for (unsigned i = 0; i < last; i++) {
		unsigned log = m->count[i] ? log_of(m->count[i]) : 0;

		str_putc(out, (char)(m->count[i] ? 1 + precision_fold_sign((int64_t)log - before) : 0));
		if (m->count[i])
			before = log;
		weights[i] = m->count[i] ? weight_of(log) : 0;
	}
	if (last)
		normalise(weights, m->freq, last);
	for (unsigned i = 0, start = 0; i < ENTROPY_SYMBOLS; i++) {
		m->start[i] = start;
		start += m->freq[i];
		m->inverse[i] = m->freq[i] ? UINT64_MAX / m->freq[i] + 1 : 0;
	}
}

/* As `state` has half as many bits as the inverse, this is exact (Lemire, Kaser, Kurz 2019). */
static uint32_t push_symbol(uint32_t state, const struct model *m, unsigned symbol)
{
	uint32_t freq = m->freq[symbol];
	uint32_t whole = freq == 1 ? state : (uint32_t)((unsigned __int128)m->inverse[symbol] * state >> 64);

	return (whole << ENTROPY_BITS) + state - whole * freq + m->start[symbol];
}

/* Backwards, so that the reader goes forwards: its state before a token is what the writer's is after it. */
static int encode_symbols(const struct entropy_writer *w, const struct model *models, struct str *bytes, struct entropy_put_point *points)
{
	size_t room = w->tokens.n + 2, at = room;
	uint16_t *words = malloc(room * sizeof(*words));
	size_t point = w->points.n;
	uint32_t state = 1u << 16;

	if (!words)
		return -ENOMEM;
	for (size_t i = w->tokens.n; i-- > 0;) {
		const struct entropy_token *t = &w->tokens.v[i];
		uint32_t freq = models[t->model].freq[t->symbol];

		if (freq != ENTROPY_TOTAL && state >= (uint64_t)freq << (32 - ENTROPY_BITS)) {
			words[--at] = (uint16_t)state;
			state >>= 16;
		}
		if (freq != ENTROPY_TOTAL)
			state = push_symbol(state, &models[t->model], t->symbol);
		if (point && w->points.v[point - 1] == i)
			points[--point] = (struct entropy_put_point){.state = state, .word = at};
	}
	for (size_t i = 0; i < w->points.n; i++)
		points[i].word -= at; /* from the first on that follows the first state */
	words[--at] = (uint16_t)(state >> 16);
	words[--at] = (uint16_t)state;
	for (size_t i = at; i < room; i++)
		words[i] = htole16(words[i]);
	str_put_blob(bytes, &words[at], (room - at) * sizeof(*words));
	free(words);
	return bytes->error;
}

static void flush_bits(struct str *out, uint64_t *window, unsigned *n)
{
	for (; *n >= 8; *n -= 8, *window >>= 8)
		str_putc(out, (char)*window);
}

static int encode_raw(const struct entropy_writer *w, struct str *bytes)
{
	_cleanup_str_ struct str out = {};
	uint64_t window = 0;
	unsigned n = 0;
	int r;

	VEC_EACH(t, w->tokens) {
		uint64_t raw = t->raw;

		for (unsigned left = t->n_raw; left;) {
			unsigned piece = left > 32 ? 32 : left;

			window |= (raw & ((1ull << piece) - 1)) << n;
			n += piece;
			flush_bits(&out, &window, &n);
			raw >>= piece;
			left -= piece;
		}
	}
	if (n)
		str_putc(&out, (char)window);
	r = out.error ? out.error : str_put_blob(bytes, out.data, out.len);
	return r;
}

static void put_points(const struct entropy_writer *w, const struct entropy_put_point *points,
		       struct str *out)
{
	uint64_t word = 0, bits = 0;
	size_t token = 0;

	for (size_t i = 0; i < w->points.n; i++, bits = 0) {
		uint32_t state = htole32(points[i].state);

		for (; token < w->points.v[i]; token++)
			bits += w->tokens.v[token].n_raw;
		str_append(out, &state, sizeof(state));
		str_put_varint(out, points[i].word - word);
		str_put_varint(out, bits);
		word = points[i].word;
	}
}

int entropy_write(struct entropy_writer *w, struct str *tables, struct str *bytes, struct str *points)
{
	struct model *models = calloc(ENTROPY_MODELS, sizeof(*models));
	struct entropy_put_point *found = calloc(w->points.n + 1, sizeof(*found));
	int r = w->error;

	if (!models || !found) {
		FREE_ALL(models, found);
		return -ENOMEM;
	}
	for (size_t i = 0; i < w->tokens.n; i++) {
		struct model *m = &models[w->tokens.v[i].model];

		m->count[w->tokens.v[i].symbol]++;
	}
	for (unsigned i = 0; i < ENTROPY_MODELS; i++)
		make_model(&models[i], tables);
	r = r ?: encode_symbols(w, models, bytes, found);
	r = r ?: encode_raw(w, bytes);
	if (r == 0 && w->points.n)
		put_points(w, found, points);
	w->tokens.n = w->points.n = 0;
	FREE_ALL(models, found);
	return r < 0 ? r : tables->error;
}

/* --- reading --- */

static int read_model(struct reader *in, unsigned last, bool relative, struct entropy_model *m)
{
	uint32_t weights[ENTROPY_SYMBOLS], freq[ENTROPY_SYMBOLS], start = 0;
	int64_t before = LOG_BEFORE;
	bool any = false;

	for (unsigned i = 0; i < last; i++) {
		uint8_t told = *in->at++;
		int64_t log = told ? told - 1 : 0;

		if (told && relative)
			log = before + precision_unfold_sign((uint64_t)log);
		if (log < 0 || log > LOG_MAX)
			return -EBADMSG;
		weights[i] = told ? weight_of((unsigned)log) : 0;
		before = told ? log : before;
		any |= told > 0;
	}
	if (!any)
		return -EBADMSG;
	normalise(weights, freq, last);
	for (unsigned i = 0; i < last; start += freq[i++]) {
		m->ranges[i] = freq[i] | start << 16;
		memset(m->symbol + start, (int)i, freq[i]);
	}
	return 0;
}

/* The first model stands for those without tokens: what a damaged stream finds there does no harm. */
static int read_models(struct entropy_reader *t, struct reader *tables, bool relative)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < ENTROPY_MODELS; i++) {
		unsigned last;

		if (tables->at >= tables->end)
			return -EBADMSG;
		last = *tables->at++;
		if (last > ENTROPY_SYMBOLS || last > tables->end - tables->at)
			return -EBADMSG;
		t->models[i] = last ? &t->memory[1 + i] : t->memory;
		if (last)
			r = read_model(tables, last, relative, &t->memory[1 + i]);
	}
	return r;
}

static uint32_t read_state(const uint8_t *bytes)
{
	uint32_t state;

	memcpy(&state, bytes, sizeof(state));
	return le32toh(state);
}

int entropy_open(struct entropy_reader *t, struct reader *tables, struct reader *bytes, bool relative)
{
	const uint8_t *words;
	size_t n_words;
	int r;

	if (!t->memory)
		t->memory = calloc(ENTROPY_MODELS + 1, sizeof(*t->memory));
	if (!t->memory)
		return -ENOMEM;
	t->at = (struct entropy_state){};
	r = read_models(t, tables, relative);
	words = (const uint8_t *)str_read_blob(bytes, &n_words);
	t->at.raws = (const uint8_t *)str_read_blob(bytes, &t->at.n_raws);
	if (r < 0 || bytes->bad || n_words < sizeof(uint32_t))
		return r < 0 ? r : -EBADMSG;
	t->at.state = read_state(words);
	t->at.words = words + sizeof(uint32_t);
	t->at.n_words = (n_words - sizeof(uint32_t)) / 2;
	return 0;
}

bool entropy_point_read(struct reader *points, struct entropy_put_point *p)
{
	if (points->bad || (size_t)(points->end - points->at) < sizeof(p->state))
		return false;
	p->state = read_state(points->at);
	points->at += sizeof(p->state);
	p->word += reader_varint(points);
	p->bit += reader_varint(points);
	return !points->bad;
}

bool entropy_seek(struct entropy_reader *t, const struct entropy_put_point *p)
{
	t->at.state = p->state;
	t->at.word = p->word;
	t->at.bit = p->bit;
	return !entropy_overran(&t->at);
}

uint64_t entropy_last_bits(const uint8_t *raws, size_t n_raws, size_t bit)
{
	uint64_t window = 0;

	for (size_t i = 0; i < sizeof(window) && bit / 8 + i < n_raws; i++)
		window |= (uint64_t)raws[bit / 8 + i] << 8 * i;
	return window >> bit % 8;
}

void entropy_reader_free(struct entropy_reader *t)
{
	free(t->memory);
	t->memory = NULL;
}
