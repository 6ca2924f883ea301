/* Static entropy coding of small symbols: what makes columns small, and quick to read back.
 *
 * A token is a symbol under one of several models (a model = the distribution in one context) and a few raw
 * bits behind it. Tokens of a column are gathered, counted, and written as one range-coded stream (rANS: Duda
 * 2013, with a 32-bit state and 16-bit words) and one stream of raw bits. Frequencies travel in front of
 * them.
 */
#pragma once

#include "base/str.h"
#include "base/vec.h"

#define ENTROPY_BITS	11 /* frequencies add up to 2048 */
#define ENTROPY_TOTAL	(1u << ENTROPY_BITS)
#define ENTROPY_SYMBOLS 128
#define ENTROPY_MODELS	16

struct token {
	uint8_t model, symbol, n_raw;
	uint64_t raw; /* n_raw bits */
};

struct token_writer {
	VEC(struct token) tokens;
	int error;
};

static inline void token_put(struct token_writer *w, unsigned model, unsigned symbol, unsigned n_raw,
			     uint64_t raw)
{
	if (VEC_PUSH(w->tokens, (struct token){(uint8_t)model, (uint8_t)symbol, (uint8_t)n_raw, raw}) < 0)
		w->error = -ENOMEM;
}

/* Appends models to `tables` and streams to `bytes`; forgets the tokens. 0 or -errno. */
int tokens_write(struct token_writer *w, struct str *tables, struct str *bytes);
void token_writer_free(struct token_writer *w);

/* Where reading is. A loop copies it to a variable of its own, so that it stays in registers. */
struct token_state {
	uint32_t state;
	unsigned n_window;
	uint64_t window; /* raw bits read ahead */
	const uint8_t *word, *word_end;
	const uint8_t *raw, *raw_end;
	bool bad;
};

/* Small enough that the models of a column stay in the first-level cache. */
struct token_model {
	uint8_t symbol[ENTROPY_TOTAL];	  /* of each slot */
	uint32_t ranges[ENTROPY_SYMBOLS]; /* of each symbol: frequency, and 16 bits up the first slot */
};

struct token_reader {
	struct token_state at;
	const struct token_model *models[ENTROPY_MODELS];
	struct token_model *memory;
};

/* Opens what tokens_write() wrote: the reader borrows `bytes`. 0, -EBADMSG, -ENOMEM. */
int tokens_open(struct token_reader *t, struct reader *tables, struct reader *bytes);
void token_reader_free(struct token_reader *t);

/* A damaged stream gives wrong symbols and sets `bad` when it runs beyond its end, but never reads beyond it. Whether
 * a word follows is as good as random, so that is no branch. */
static inline unsigned token_symbol(struct token_state *t, const struct token_model *m)
{
	static const uint8_t nothing[2];
	uint32_t slot = t->state & (ENTROPY_TOTAL - 1);
	unsigned symbol = m->symbol[slot];
	uint32_t range = m->ranges[symbol], state, more, low;
	bool left = t->word_end - t->word >= 2;
	const uint8_t *word = left ? t->word : nothing;

	state = (range & 0xffff) * (t->state >> ENTROPY_BITS) + slot - (range >> 16);
	more = state < 1u << 16;
	low = (uint32_t)word[0] | (uint32_t)word[1] << 8;
	t->state = more ? state << 16 | low : state;
	t->word += left ? 2 * more : 0;
	t->bad |= more & !left;
	return symbol;
}

static inline void token_fill(struct token_state *t)
{
	while (t->n_window <= 56 && t->raw < t->raw_end) {
		t->window |= (uint64_t)*t->raw++ << t->n_window;
		t->n_window += 8;
	}
}

static inline uint64_t token_raw_piece(struct token_state *t, unsigned n)
{
	uint64_t value;

	if (n == 0)
		return 0;
	if (t->n_window < n)
		token_fill(t);
	if (t->n_window < n) {
		t->bad = true;
		return 0;
	}
	value = t->window & ((1ull << n) - 1);
	t->window >>= n;
	t->n_window -= n;
	return value;
}

/* n <= 64 */
static inline uint64_t token_raw(struct token_state *t, unsigned n)
{
	uint64_t low;

	if (n <= 32)
		return token_raw_piece(t, n);
	low = token_raw_piece(t, 32);
	return low | token_raw_piece(t, n - 32) << 32;
}

/* Numbers as symbols: below `exact` each has its own; beyond it two symbols an octave and raw bits for the
 * rest. `exact` is a power of two, at least 2. Writing and reading mirror each other. */
static inline void token_put_number(struct token_writer *w, unsigned model, unsigned exact, uint64_t u)
{
	unsigned octave, base = (unsigned)__builtin_ctz(exact);

	if (u < exact) {
		token_put(w, model, (unsigned)u, 0, 0);
		return;
	}
	octave = 63 - (unsigned)__builtin_clzll(u);
	token_put(w, model, exact + 2 * (octave - base) + (unsigned)(u >> (octave - 1) & 1), octave - 1,
		  u & ((1ull << (octave - 1)) - 1));
}

static inline uint64_t token_number(struct token_state *t, const struct token_model *m, unsigned exact)
{
	unsigned symbol = token_symbol(t, m), base = (unsigned)__builtin_ctz(exact), octave;

	if (symbol < exact)
		return symbol;
	octave = base + (symbol - exact) / 2;
	if (octave > 63) {
		t->bad = true;
		return 0;
	}
	return (2ull | ((symbol - exact) & 1)) << (octave - 1) | token_raw(t, octave - 1);
}
