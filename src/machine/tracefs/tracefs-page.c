#include "machine/tracefs/tracefs-page.h"

#include <string.h>

#define KIND_PADDING  29
#define KIND_EXTEND   30
#define KIND_ABSOLUTE 31
#define KIND_BITS     5
#define DELTA_BITS    27
#define ABSOLUTE_BITS 59
#define COMMIT_MASK   ((1u << 27) - 1) /* above it are flags: */
#define COMMIT_LOST   (1u << 31)

static uint64_t number_at(const uint8_t *at, struct tracefs_field f)
{
	uint64_t value = 0;
	size_t size = f.size > 8 ? 8 : f.size;

	/* the kernel's byte order is ours */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	memcpy((uint8_t *)&value + 8 - size, at + f.offset, size);
#else
	memcpy(&value, at + f.offset, size);
#endif
	return value;
}

static int64_t value_at(const uint8_t *at, struct tracefs_field f)
{
	uint64_t value = number_at(at, f);

	if (f.is_signed && f.size && f.size < 8 && value >> (8 * f.size - 1))
		value |= UINT64_MAX << (8 * f.size);
	return (int64_t)value;
}

static uint32_t word_at(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

uint64_t tracefs_page_time(const struct tracefs_layout *l, const uint8_t *page)
{
	return number_at(page, l->page_time);
}

static uint32_t commit_of(const struct tracefs_layout *l, const uint8_t *page)
{
	return (uint32_t)number_at(page, l->page_commit);
}

bool tracefs_page_lost(const struct tracefs_layout *l, const uint8_t *page)
{
	return commit_of(l, page) & COMMIT_LOST;
}

bool tracefs_page_empty(const struct tracefs_layout *l, const uint8_t *page)
{
	return (commit_of(l, page) & COMMIT_MASK) == 0;
}

static const uint8_t *page_of(const struct tracefs_pages *p)
{
	return p->bytes + p->page * p->layout->page_size;
}

static void begin_page(struct tracefs_pages *p)
{
	uint32_t room = p->layout->page_size - p->layout->page_data, used = commit_of(p->layout, page_of(p)) & COMMIT_MASK;

	p->at = p->layout->page_data;
	p->end = p->at + (used < room ? used : room);
	p->time = tracefs_page_time(p->layout, page_of(p));
}

static void end_page(struct tracefs_pages *p)
{
	p->page++;
	p->at = p->end = 0;
}

/* The data of the record at p->at, which is passed: its length, 0 for one without data, -1 where the page ends. */
static int pass(struct tracefs_pages *p, const uint8_t **ret_data)
{
	const uint8_t *page = page_of(p);
	uint32_t head, kind, length;
	uint64_t delta;
	bool has_word;

	if (p->end - p->at < 4)
		return -1;
	head = word_at(page + p->at);
	kind = head & ((1u << KIND_BITS) - 1);
	delta = head >> KIND_BITS;
	p->at += 4;
	if (kind == KIND_PADDING && delta == 0)
		return -1; /* the rest of the page was not used */
	has_word = kind == 0 || kind >= KIND_PADDING;
	if (has_word && p->end - p->at < 4)
		return -1;
	length = has_word ? word_at(page + p->at) : kind * 4;
	p->at += has_word ? 4 : 0;
	if (kind == KIND_EXTEND || kind == KIND_ABSOLUTE) {
		delta |= (uint64_t)length << DELTA_BITS;
		p->time = kind == KIND_EXTEND ? p->time + delta : (p->time & ~0ull << ABSOLUTE_BITS) | delta;
		return 0;
	}
	p->time += delta;
	if (has_word) /* its own word is counted; it begins at a word */
		length = length < 4 ? 0 : (length - 4 + 3) & ~3u;
	if (length > p->end - p->at) {
		p->damaged++;
		return -1;
	}
	*ret_data = page + p->at;
	p->at += length;
	return kind == KIND_PADDING ? 0 : (int)length;
}

static bool fits(struct tracefs_field f, size_t length)
{
	return (size_t)f.offset + (f.size > 8 ? 8 : f.size) <= length;
}

static bool take(const struct tracefs_pages *p, const uint8_t *data, size_t length, struct tracefs_record *ret)
{
	const struct tracefs_layout *l = p->layout;
	uint64_t type;
	struct tracefs_field text;

	if (!fits(l->type, length) || !fits(l->context, length) || !fits(l->thread, length))
		return false;
	type = number_at(data, l->type);
	if (type >= l->of_id.n || !l->of_id.v[type])
		return false;
	*ret = (struct tracefs_record){.time = p->time, .cpu = p->cpu, .point = (uint8_t)(l->of_id.v[type] - 1), .text = ""};
	ret->context = (uint8_t)number_at(data, l->context);
	ret->thread = (uint32_t)number_at(data, l->thread);
	for (size_t i = 0; i < TRACEFS_VALUES; i++) {
		struct tracefs_field f = l->points[ret->point].values[i];

		if (f.size && fits(f, length))
			ret->values[i] = value_at(data, f);
	}
	text = l->points[ret->point].text;
	if (text.size && (size_t)text.offset + text.size <= length) {
		ret->text = (const char *)data + text.offset;
		ret->text_size = text.size;
	}
	return true;
}

int tracefs_next(struct tracefs_pages *p, struct tracefs_record *ret)
{
	while (p->page < p->n) {
		const uint8_t *data;
		int length;

		if (!p->end)
			begin_page(p);
		length = pass(p, &data);
		if (length < 0)
			end_page(p);
		else if (length > 0 && take(p, data, (size_t)length, ret))
			return 1;
	}
	return 0;
}
