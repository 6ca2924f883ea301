#include "store/entropy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct model {
	uint32_t count[ENTROPY_SYMBOLS];
	uint32_t freq[ENTROPY_SYMBOLS], start[ENTROPY_SYMBOLS];
	uint32_t total, used;
};

void token_writer_free(struct token_writer *w)
{
	VEC_FREE(w->tokens);
}

static unsigned most_frequent(const struct model *m)
{
	unsigned most = 0;

	for (unsigned i = 1; i < ENTROPY_SYMBOLS; i++)
		if (m->freq[i] > m->freq[most])
			most = i;
	return most;
}

/* Scales counts to the total; every symbol that occurs keeps at least 1. */
static void normalise(struct model *m)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < ENTROPY_SYMBOLS; i++) {
		if (!m->count[i])
			continue;
		m->freq[i] = (uint32_t)((uint64_t)m->count[i] * ENTROPY_TOTAL / m->total);
		if (!m->freq[i])
			m->freq[i] = 1;
		sum += m->freq[i];
	}
	while (sum > ENTROPY_TOTAL) {
		unsigned most = most_frequent(m);
		uint32_t take = sum - ENTROPY_TOTAL < m->freq[most] / 2 ? sum - ENTROPY_TOTAL : m->freq[most] / 2;

		m->freq[most] -= take;
		sum -= take;
	}
	m->freq[most_frequent(m)] += ENTROPY_TOTAL - sum;
	for (unsigned i = 0, start = 0; i < ENTROPY_SYMBOLS; i++) {
		m->start[i] = start;
		start += m->freq[i];
	}
}

/* How many symbols; then each one's distance from the one before, and its frequency but the last's. */
static void write_model(const struct model *m, struct str *out)
{
	unsigned next = 0, left = m->used;

	str_put_varint(out, m->used);
	for (unsigned i = 0; i < ENTROPY_SYMBOLS; i++) {
		if (!m->freq[i])
			continue;
		str_put_varint(out, i - next);
		if (--left)
			str_put_varint(out, m->freq[i]);
		next = i + 1;
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

		m->used += m->count[w->tokens.v[i].symbol]++ == 0;
		m->total++;
	}
	for (unsigned i = 0; i < ENTROPY_MODELS; i++) {
		if (models[i].total)
			normalise(&models[i]);
		write_model(&models[i], tables);
	}
	if (r == 0)
		r = encode_symbols(w, models, bytes);
	if (r == 0)
		r = encode_raw(w, bytes);
	w->tokens.n = 0;
	free(models);
	return r < 0 ? r : tables->error;
}

/* --- reading --- */

static void fill_slots(uint32_t *slots, unsigned symbol, uint32_t start, uint32_t freq)
{
	for (uint32_t i = 0; i < freq; i++)
		slots[start + i] = symbol | (freq - 1) << 7 | i << 18;
}

static int read_model(struct reader *in, uint64_t used, uint32_t *slots)
{
	uint32_t start = 0;
	uint64_t symbol = 0;

	for (uint64_t i = 0; i < used; i++) {
		uint64_t freq = ENTROPY_TOTAL - start;

		symbol += read_varint(in);
		if (i + 1 < used)
			freq = read_varint(in);
		if (in->bad || symbol >= ENTROPY_SYMBOLS || freq == 0 || freq > ENTROPY_TOTAL - start)
			return -EBADMSG;
		fill_slots(slots, (unsigned)symbol, start, (uint32_t)freq);
		start += (uint32_t)freq;
		symbol++;
	}
	return start == ENTROPY_TOTAL ? 0 : -EBADMSG;
}

static int read_models(struct token_reader *t, struct reader *tables)
{
	uint32_t *slots = t->memory;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < ENTROPY_MODELS; i++) {
		uint64_t used = read_varint(tables);

		if (tables->bad || used > ENTROPY_SYMBOLS)
			return -EBADMSG;
		t->slots[i] = used ? slots : NULL;
		if (used)
			r = read_model(tables, used, slots);
		slots += ENTROPY_TOTAL;
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
		t->memory = malloc(ENTROPY_MODELS * ENTROPY_TOTAL * sizeof(*t->memory));
	if (!t->memory)
		return -ENOMEM;
	t->window = t->n_window = 0;
	t->bad = false;
	r = read_models(t, tables);
	take_stream(bytes, &t->word, &t->word_end);
	take_stream(bytes, &t->raw, &t->raw_end);
	if (r < 0 || bytes->bad || t->word_end - t->word < 4)
		return r < 0 ? r : -EBADMSG;
	t->state = (uint32_t)t->word[0] | (uint32_t)t->word[1] << 8 | (uint32_t)t->word[2] << 16 | (uint32_t)t->word[3] << 24;
	t->word += 4;
	return 0;
}

void token_reader_free(struct token_reader *t)
{
	free(t->memory);
	t->memory = NULL;
}
