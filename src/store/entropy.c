#include "store/entropy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOG_MAX 120 /* 2^30 tokens */

struct model {
	uint32_t count[ENTROPY_SYMBOLS];
	uint32_t freq[ENTROPY_SYMBOLS], start[ENTROPY_SYMBOLS];
};

void token_writer_free(struct token_writer *w)
{
	VEC_FREE(w->tokens);
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
	unsigned log = 0;

	while (log < LOG_MAX && (weight_of(log) + weight_of(log + 1)) / 2 < count)
		log++;
	return log;
}

static unsigned most_frequent(const uint32_t freq[ENTROPY_SYMBOLS])
{
	unsigned most = 0;

	for (unsigned i = 1; i < ENTROPY_SYMBOLS; i++)
		if (freq[i] > freq[most])
			most = i;
	return most;
}

/* Scales weights to the total; every symbol that occurs keeps at least 1. */
static void normalise(const uint32_t weights[ENTROPY_SYMBOLS], uint32_t freq[ENTROPY_SYMBOLS])
{
	uint64_t total = 0;
	uint32_t sum = 0;

	for (unsigned i = 0; i < ENTROPY_SYMBOLS; i++)
		total += weights[i];
	for (unsigned i = 0; i < ENTROPY_SYMBOLS; i++) {
		freq[i] = 0;
		if (!weights[i])
			continue;
		freq[i] = (uint32_t)((uint64_t)weights[i] * ENTROPY_TOTAL / total);
		if (!freq[i])
			freq[i] = 1;
		sum += freq[i];
	}
	while (sum > ENTROPY_TOTAL) {
		unsigned most = most_frequent(freq);
		uint32_t take = sum - ENTROPY_TOTAL < freq[most] / 2 ? sum - ENTROPY_TOTAL : freq[most] / 2;

		freq[most] -= take;
		sum -= take;
	}
	freq[most_frequent(freq)] += ENTROPY_TOTAL - sum;
}

/* How many symbols up to the last that occurs; then for each 0 if it does not, or 1 + the logarithm. */
static void make_model(struct model *m, struct str *out)
{
	uint32_t weights[ENTROPY_SYMBOLS] = {};
	unsigned last = 0;

	for (unsigned i = 0; i < ENTROPY_SYMBOLS; i++)
		if (m->count[i])
			last = i + 1;
	str_putc(out, (char)last);
	for (unsigned i = 0; i < last; i++) {
		unsigned log = m->count[i] ? log_of(m->count[i]) : 0;

		str_putc(out, (char)(m->count[i] ? 1 + log : 0));
		weights[i] = m->count[i] ? weight_of(log) : 0;
	}
	if (last)
		normalise(weights, m->freq);
	for (unsigned i = 0, start = 0; i < ENTROPY_SYMBOLS; i++) {
		m->start[i] = start;
		start += m->freq[i];
	}
}

static int encode_symbols(const struct token_writer *w, const struct model *models, struct str *bytes)
{
	size_t room = w->tokens.n + 2, at = room;
	uint16_t *words = malloc(room * sizeof(*words));
	uint32_t state = 1u << 16;

	if (!words)
		return -ENOMEM;
	for (size_t i = w->tokens.n; i-- > 0;) {
		const struct token *t = &w->tokens.v[i];
		uint32_t freq = models[t->model].freq[t->symbol];

		if (freq == ENTROPY_TOTAL)
			continue;
		if (state >= (uint64_t)freq << (32 - ENTROPY_BITS)) {
			words[--at] = (uint16_t)state;
			state >>= 16;
		}
		state = (state / freq << ENTROPY_BITS) + state % freq + models[t->model].start[t->symbol];
	}
	words[--at] = (uint16_t)(state >> 16);
	words[--at] = (uint16_t)state;
	str_put_varint(bytes, (room - at) * 2);
	for (; at < room; at++) {
		str_putc(bytes, (char)words[at]);
		str_putc(bytes, (char)(words[at] >> 8));
	}
	free(words);
	return bytes->error;
}

static void flush_bits(struct str *out, uint64_t *window, unsigned *n)
{
	for (; *n >= 8; *n -= 8, *window >>= 8)
		str_putc(out, (char)*window);
}

static int encode_raw(const struct token_writer *w, struct str *bytes)
{
	struct str out = {};
	uint64_t window = 0;
	unsigned n = 0;
	int r;

	for (size_t i = 0; i < w->tokens.n; i++) {
		const struct token *t = &w->tokens.v[i];
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
	str_free(&out);
	return r;
}

int tokens_write(struct token_writer *w, struct str *tables, struct str *bytes)
{
	struct model *models = calloc(ENTROPY_MODELS, sizeof(*models));
	int r = w->error;

	if (!models)
		return -ENOMEM;
	for (size_t i = 0; i < w->tokens.n; i++) {
		struct model *m = &models[w->tokens.v[i].model];

		m->count[w->tokens.v[i].symbol]++;
	}
	for (unsigned i = 0; i < ENTROPY_MODELS; i++)
		make_model(&models[i], tables);
	if (r == 0)
		r = encode_symbols(w, models, bytes);
	if (r == 0)
		r = encode_raw(w, bytes);
	w->tokens.n = 0;
	free(models);
	return r < 0 ? r : tables->error;
}

/* --- reading --- */

static int read_model(struct reader *in, unsigned last, struct token_model *m)
{
	uint32_t weights[ENTROPY_SYMBOLS] = {}, freq[ENTROPY_SYMBOLS], start = 0;
	bool any = false;

	for (unsigned i = 0; i < last; i++) {
		uint8_t log = *in->at++;

		if (log > 1 + LOG_MAX)
			return -EBADMSG;
		weights[i] = log ? weight_of(log - 1u) : 0;
		any |= log > 0;
	}
	if (!any)
		return -EBADMSG;
	normalise(weights, freq);
	for (unsigned i = 0; i < last; start += freq[i++]) {
		m->ranges[i] = freq[i] | start << 16;
		memset(m->symbol + start, (int)i, freq[i]);
	}
	return 0;
}

/* The first model stands for those without tokens: what a damaged stream finds there does no harm. */
static int read_models(struct token_reader *t, struct reader *tables)
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
			r = read_model(tables, last, &t->memory[1 + i]);
	}
	return r;
}

static void take_stream(struct reader *bytes, const uint8_t **at, const uint8_t **end)
{
	size_t n;
	const char *data = read_blob(bytes, &n);

	*at = (const uint8_t *)data;
	*end = *at + n;
}

int tokens_open(struct token_reader *t, struct reader *tables, struct reader *bytes)
{
	int r;

	if (!t->memory)
		t->memory = calloc(ENTROPY_MODELS + 1, sizeof(*t->memory));
	if (!t->memory)
		return -ENOMEM;
	t->at = (struct token_state){};
	r = read_models(t, tables);
	take_stream(bytes, &t->at.word, &t->at.word_end);
	take_stream(bytes, &t->at.raw, &t->at.raw_end);
	if (r < 0 || bytes->bad || t->at.word_end - t->at.word < 4)
		return r < 0 ? r : -EBADMSG;
	for (unsigned i = 0; i < 4; i++)
		t->at.state |= (uint32_t)*t->at.word++ << 8 * i;
	return 0;
}

void token_reader_free(struct token_reader *t)
{
	free(t->memory);
	t->memory = NULL;
}
