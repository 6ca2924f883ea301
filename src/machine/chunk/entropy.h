/* Static entropy coding of small symbols: what makes columns small, and quick to read back.
 *
 * A token is a symbol under one of several models (a model = the distribution in one context) and a few raw
 * bits behind it. Tokens of a column are gathered, counted, and written as one range-coded stream (rANS: Duda
 * 2013, with a 32-bit state and 16-bit words) and one stream of raw bits. Frequencies travel in front of
 * them.
 */
#pragma once

#include <endian.h>
#include <string.h>

#include "lib/data/str.h"
#include "lib/data/vec.h"

#define ENTROPY_BITS	11 /* frequencies add up to 2048 */
#define ENTROPY_TOTAL	(1u << ENTROPY_BITS)
#define ENTROPY_SYMBOLS 128
#define ENTROPY_MODELS	16

struct entropy_token {
	uint8_t model, symbol, n_raw;
	uint64_t raw; /* n_raw bits */
};

struct entropy_writer {
	VEC(struct entropy_token) tokens;
	VEC(size_t) points; /* tokens before which reading may begin; they ascend */
	int error;
};

static inline void entropy_put(struct entropy_writer *w, unsigned model, unsigned symbol, unsigned n_raw,
			     uint64_t raw)
{
	if (VEC_PUSH(w->tokens,
		     (struct entropy_token){(uint8_t)model, (uint8_t)symbol, (uint8_t)n_raw, raw}) < 0)
		w->error = -ENOMEM;
}

/* From here on a reader may begin. */
static inline void entropy_put_point(struct entropy_writer *w)
{
	if (VEC_PUSH(w->points, w->tokens.n) < 0)
		w->error = -ENOMEM;
}

/* Appends models to `tables`, streams to `bytes` and what entropy_seek() needs to `points`; forgets the tokens. 0 or -errno. */
int entropy_write(struct entropy_writer *w, struct str *tables, struct str *bytes, struct str *points);
void entropy_writer_free(struct entropy_writer *w);

/* Where reading is. A loop copies it to a variable of its own, so that it stays in registers. Both streams are read by place:
 * what was read beyond the end is 0, and entropy_overran() says so when all is done. */
struct entropy_state {
	uint32_t state;
	size_t word, bit;
	const uint8_t *words, *raws;
	size_t n_words, n_raws; /* of two bytes; bytes */
};

/* Small enough that the models of a column stay in the first-level cache. */
struct entropy_model {
	uint8_t symbol[ENTROPY_TOTAL];	  /* of each slot */
	uint32_t ranges[ENTROPY_SYMBOLS]; /* of each symbol: frequency, and 16 bits up the first slot */
};

struct entropy_reader {
	struct entropy_state at;
	const struct entropy_model *models[ENTROPY_MODELS];
	struct entropy_model *memory;
};

/* Opens what entropy_write() wrote: the reader borrows `bytes`. relative: each frequency is reported by how far it lies from the one
 * before, as it has been since chunks of version 2. 0, -EBADMSG, -ENOMEM. */
int entropy_open(struct entropy_reader *t, struct reader *tables, struct reader *bytes, bool relative);
void entropy_reader_free(struct entropy_reader *t);

/* A point of a stream: as reported by entropy_write(), each relative to the one before. */
struct entropy_put_point {
	uint32_t state;
	uint64_t word, bit;
};
/* Reads the next one; false on damage. */
bool entropy_point_read(struct reader *points, struct entropy_put_point *p);
/* Continues reading there; false on damage. */
bool entropy_seek(struct entropy_reader *t, const struct entropy_put_point *p);

static inline bool entropy_overran(const struct entropy_state *t)
{
	return t->word > t->n_words || t->bit > 8 * t->n_raws;
}

/* A damaged stream gives wrong symbols, but never reads beyond it. Whether a word follows is as good as random, so that is no
 * branch. */
static inline unsigned entropy_symbol(struct entropy_state *t, const struct entropy_model *m)
{
	uint32_t slot = t->state & (ENTROPY_TOTAL - 1);
	unsigned symbol = m->symbol[slot];
	uint32_t range = m->ranges[symbol], state, more, low = 0;

	if (t->word < t->n_words)
		low = (uint32_t)t->words[2 * t->word] | (uint32_t)t->words[2 * t->word + 1] << 8;
	state = (range & 0xffff) * (t->state >> ENTROPY_BITS) + slot - (range >> 16);
	more = state < 1u << 16;
	t->state = more ? state << 16 | low : state;
	t->word += more;
	return symbol;
}

/* The last bits, which no eight bytes follow. */
uint64_t entropy_last_bits(const uint8_t *raws, size_t n_raws, size_t bit);

/* n <= 32 */
static inline uint64_t entropy_raw_piece(struct entropy_state *t, unsigned n)
{
	size_t byte = t->bit / 8;
	uint64_t window = 0;

	if (byte + sizeof(window) <= t->n_raws) {
		memcpy(&window, t->raws + byte, sizeof(window));
		window = le64toh(window) >> t->bit % 8;
	} else if (n) {
		window = entropy_last_bits(t->raws, t->n_raws, t->bit);
	}
	t->bit += n;
	return window & ((1ull << n) - 1);
}

/* n <= 64 */
static inline uint64_t entropy_raw(struct entropy_state *t, unsigned n)
{
	uint64_t low;

	if (n <= 32)
		return entropy_raw_piece(t, n);
	low = entropy_raw_piece(t, 32);
	return low | entropy_raw_piece(t, n - 32) << 32;
}

/* Numbers as symbols: below `exact` each has its own; beyond it two symbols an octave and raw bits for the
 * rest. `exact` is a power of two, at least 2. Writing and reading mirror each other. */
static inline void entropy_put_number(struct entropy_writer *w, unsigned model, unsigned exact, uint64_t u)
{
	unsigned octave, base = (unsigned)__builtin_ctz(exact);

	if (u < exact) {
		entropy_put(w, model, (unsigned)u, 0, 0);
		return;
	}
	octave = 63 - (unsigned)__builtin_clzll(u);
	entropy_put(w, model, exact + 2 * (octave - base) + (unsigned)(u >> (octave - 1) & 1), octave - 1,
		  u & ((1ull << (octave - 1)) - 1));
}

/* Small or not is as good as random too. */
static inline uint64_t entropy_number(struct entropy_state *t, const struct entropy_model *m, unsigned exact)
{
	unsigned symbol = entropy_symbol(t, m), beyond = symbol - exact,
		 base = (unsigned)__builtin_ctz(exact);
	bool small = symbol < exact;
	unsigned n = small ? 0 : base - 1 + beyond / 2;
	uint64_t high = small ? symbol : (2ull | (beyond & 1)) << n;

	return high | entropy_raw(t, n);
}
