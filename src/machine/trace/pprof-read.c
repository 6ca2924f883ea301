/* The parts of a profile come in any order, and speak of each other by ids that may be any number: read in passes, the texts first. */
#include <errno.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/input/gzip.h"
#include "lib/input/protobuf.h"
#include "lib/rights/memory-budget.h"
#include "machine/trace/pprof-fields.h"

#define UNPACKED_MAX ((size_t)256 << 20)
#define ENTRY 64 /* bytes of a place in a table by id, half of which is free, and of a block of memory */
#define TEXT_MAX     4096 /* bytes of a name: templates of C++ are cut off there */
#define VALUES_MAX   16	  /* kinds of values of a sample */
#define LINES_MAX    64	  /* calls that are inlined at one place */

struct value_type {
	uint32_t type, unit; /* strings */
};

struct mapping {
	uint64_t start, offset;
	uint32_t module;
};

/* Frames that a location stands for: several where calls were inlined. */
struct location {
	uint32_t first, n; /* in `lines` */
};

struct input {
	struct memory_budget budget;
	struct profile *p;
	VEC(uint32_t) strings; /* -> text */
	VEC(struct mapping) mappings;
	VEC(struct location) locations;
	VEC(uint32_t) lines; /* frames */
	struct hmap mapping_ids, location_ids, functions; /* id -> number + 1; of a function its name's text + 1 */
	struct value_type types[VALUES_MAX];
	size_t n_types;
	int cpu, waited; /* which value; -1 = none */
	uint64_t scale;	 /* to ns */
};

static void *as_value(size_t number)
{
	return (void *)((uintptr_t)number + 1); /* NOLINT(performance-no-int-to-ptr) */
}

static const char *string_of(const struct input *in, uint64_t number)
{
	return number < in->strings.n ? profile_text_of(in->p, in->strings.v[number]) : "";
}

static int take(struct input *in, uint64_t bytes)
{
	return memory_budget_take(&in->budget, bytes, 1);
}

/* --- one of each --- */

static int read_string(struct input *in, const struct protobuf_field *f)
{
	size_t n = f->n < TEXT_MAX ? f->n : TEXT_MAX;
	_cleanup_free_ char *text = take(in, ENTRY + n) < 0 ? NULL : strndup((const char *)f->bytes, n);
	uint32_t number;
	int r;

	if (!text)
		return -ENOMEM;
	str_make_printable(text);
	r = profile_text(in->p, text, &number);
	return r < 0 ? r : VEC_PUSH(in->strings, number);
}

static uint32_t known_string(const struct input *in, uint64_t number)
{
	return number < in->strings.n ? (uint32_t)number : 0;
}

static int read_type(struct input *in, const struct protobuf_field *field)
{
	uint64_t values[3] = {};
	int r = protobuf_numbers(field, values, ARRAY_SIZE(values));

	if (r == 0 && in->n_types < VALUES_MAX)
		in->types[in->n_types++] = (struct value_type){known_string(in, values[1]), known_string(in, values[2])};
	return r;
}

static uint8_t digit(char c)
{
	return (uint8_t)(c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16);
}

/* Hexadecimal; Go's own build-ids are another kind of text, and name no file here. */
static uint8_t parse_build_id(const char *text, uint8_t ret[20])
{
	uint8_t n = 0;

	for (; n < 20 && digit(text[2 * n]) < 16; n++) {
		uint8_t low = digit(text[2 * n + 1]);

		if (low > 15)
			return 0;
		ret[n] = (uint8_t)(digit(text[2 * n]) << 4 | low);
	}
	return text[2 * n] ? 0 : n;
}

static int read_mapping(struct input *in, const struct protobuf_field *field)
{
	uint64_t values[7] = {};
	struct mapping mapping;
	uint8_t build_id[20];
	int r = protobuf_numbers(field, values, ARRAY_SIZE(values));

	if (r < 0)
		return r;
	if (take(in, 2 * ENTRY + sizeof(mapping) + sizeof(struct profile_module)) < 0)
		return -ENOMEM;
	mapping.start = values[2];
	mapping.offset = values[4];
	r = profile_module(in->p, string_of(in, values[5]), build_id, parse_build_id(string_of(in, values[6]), build_id), &mapping.module);
	r = r ?: VEC_PUSH(in->mappings, mapping);
	return r < 0 ? r : hmap_put(&in->mapping_ids, values[1], 0, as_value(in->mappings.n - 1));
}

static int read_function(struct input *in, const struct protobuf_field *field)
{
	uint64_t values[3] = {[2] = UINT64_MAX};
	int r = protobuf_numbers(field, values, ARRAY_SIZE(values));

	r = r ?: take(in, ENTRY);
	return r < 0 ? r : hmap_put(&in->functions, values[1], 0, as_value(values[2] < in->strings.n ? in->strings.v[values[2]] : 0));
}

static int add_line(struct input *in, const struct protobuf_field *line)
{
	uint64_t values[2] = {};
	int r = protobuf_numbers(line, values, ARRAY_SIZE(values));
	uintptr_t name = (uintptr_t)hmap_get(&in->functions, values[1], 0);
	struct profile_frame frame = {.name = (uint32_t)(name - 1)};
	uint32_t number;

	if (r < 0 || name <= 1)
		return r;
	r = take(in, ENTRY + sizeof(frame));
	r = r ?: profile_frame(in->p, &frame, &number);
	return r < 0 ? r : VEC_PUSH(in->lines, number);
}

/* One without a function: its place. */
static int add_place(struct input *in, uint64_t mapping, uint64_t address)
{
	uintptr_t known = (uintptr_t)hmap_get(&in->mapping_ids, mapping, 0);
	struct profile_frame frame = {.offset = address};
	uint32_t number;
	int r;

	if (known) {
		const struct mapping *m = &in->mappings.v[known - 1];

		frame.module = m->module + 1;
		frame.offset = address - m->start + m->offset;
	}
	r = take(in, ENTRY + sizeof(frame));
	r = r ?: profile_frame(in->p, &frame, &number);
	return r < 0 ? r : VEC_PUSH(in->lines, number);
}

static int read_location(struct input *in, const struct protobuf_field *field)
{
	struct protobuf m = protobuf_inside(field);
	struct location location = {.first = (uint32_t)in->lines.n};
	uint64_t values[4] = {};
	struct protobuf_field f;
	int r;

	while ((r = protobuf_next(&m, &f)) > 0) {
		if (f.number < ARRAY_SIZE(values) && f.wire == WIRE_VARINT)
			values[f.number] = f.value;
		else if (f.number == 4 && f.wire == WIRE_BYTES && in->lines.n - location.first < LINES_MAX)
			r = add_line(in, &f);
		if (r < 0)
			return r;
	}
	if (r == 0 && in->lines.n == location.first)
		r = add_place(in, values[2], values[3]);
	location.n = (uint32_t)in->lines.n - location.first;
	r = r ?: take(in, ENTRY + sizeof(location));
	r = r ?: VEC_PUSH(in->locations, location);
	return r < 0 ? r : hmap_put(&in->location_ids, values[1], 0, as_value(in->locations.n - 1));
}

/* --- samples --- */

struct sample {
	uint32_t frames[PROFILE_FRAMES_MAX];
	size_t n;
	uint64_t values[VALUES_MAX];
	size_t n_values;
	struct profile_row row;
	bool has_waker;
};

static void add_location(struct input *in, struct sample *s, uint64_t id)
{
	uintptr_t known = (uintptr_t)hmap_get(&in->location_ids, id, 0);

	if (!known)
		return;
	for (uint32_t i = 0; i < in->locations.v[known - 1].n && s->n < PROFILE_FRAMES_MAX; i++)
		s->frames[s->n++] = in->lines.v[in->locations.v[known - 1].first + i];
}

static void add_value(struct input *in, struct sample *s, uint64_t value)
{
	(void)in;
	if (s->n_values < VALUES_MAX)
		s->values[s->n_values++] = value;
}

/* Repeated numbers: packed or one by one. */
static int each_number(struct input *in, struct sample *s, const struct protobuf_field *f,
		       void (*accept)(struct input *in, struct sample *s, uint64_t value))
{
	struct protobuf m = protobuf_inside(f);
	uint64_t value;

	if (f->wire == WIRE_VARINT) {
		accept(in, s, f->value);
		return 0;
	}
	if (f->wire != WIRE_BYTES)
		return 0;
	while (m.at < m.end) {
		if (protobuf_number(&m, &value) < 0)
			return -EBADMSG;
		accept(in, s, value);
	}
	return 0;
}

static void take_label(const struct input *in, struct sample *s, const char *key, uint64_t text, uint64_t number)
{
	if (strcmp(key, pprof_word(WORD_PROGRAM)) == 0 && text < in->strings.n) {
		s->row.program = in->strings.v[text];
	} else if (strcmp(key, pprof_word(WORD_MINUTE)) == 0) {
		s->row.minute = (int64_t)(number & INT32_MAX);
	} else if (strcmp(key, pprof_word(WORD_UID)) == 0) {
		s->row.uid = (uint32_t)number;
	} else if (strcmp(key, pprof_word(WORD_WOKEN_BY)) == 0) {
		s->row.waker_uid = (uint32_t)number;
		s->has_waker = true;
	}
}

static int read_label(const struct input *in, struct sample *s, const struct protobuf_field *field)
{
	uint64_t values[4] = {};
	int r = protobuf_numbers(field, values, ARRAY_SIZE(values));

	if (r == 0)
		take_label(in, s, string_of(in, values[1]), values[2], values[3]);
	return r;
}

static uint64_t value_of(const struct input *in, const struct sample *s, int which)
{
	uint64_t value = which >= 0 && (size_t)which < s->n_values ? s->values[which] : 0, scaled;

	if (value > INT64_MAX) /* what was freed, in a difference: nothing */
		return 0;
	return __builtin_mul_overflow(value, in->scale, &scaled) || scaled > INT64_MAX ? INT64_MAX : scaled;
}

static int read_sample(struct input *in, const struct protobuf_field *field)
{
	struct protobuf m = protobuf_inside(field);
	struct protobuf_field f;
	struct sample s = {};
	int r;

	while ((r = protobuf_next(&m, &f)) > 0) {
		r = f.number == 1 ? each_number(in, &s, &f, add_location) :
		    f.number == 2 ? each_number(in, &s, &f, add_value) :
		    f.number == 3 && f.wire == WIRE_BYTES ? read_label(in, &s, &f) : 0;
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	s.row.cpu = value_of(in, &s, in->cpu);
	s.row.waited = value_of(in, &s, in->waited);
	if (!s.has_waker)
		s.row.waker_uid = s.row.uid;
	if (!s.row.cpu && !s.row.waited)
		return 0;
	r = take(in, 2 * ENTRY + s.n * sizeof(s.frames[0]) + sizeof(s.row));
	r = r ?: profile_stack(in->p, s.frames, s.n, &s.row.stack);
	return r < 0 ? r : profile_add(in->p, &s.row);
}

/* --- the whole --- */

static int find_type(const struct input *in, const char *name)
{
	for (size_t i = 0; i < in->n_types; i++)
		if (strcmp(string_of(in, in->types[i].type), name) == 0)
			return (int)i;
	return -1;
}

/* Which values count, and in what unit. */
static int choose_values(struct input *in, char **ret_unit)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"nanoseconds", 1}, {"microseconds", 1000}, {"milliseconds", 1000000}, {"seconds", 1000000000}};
	const char *unit;

	in->cpu = find_type(in, pprof_word(WORD_CPU));
	in->waited = find_type(in, pprof_word(WORD_WAIT));
	if (in->waited < 0)
		in->waited = find_type(in, "delay");
	if (in->cpu < 0 && in->waited < 0)
		in->cpu = (int)in->n_types - 1;
	if (in->cpu < 0 && in->waited < 0)
		return -EBADMSG;
	unit = string_of(in, in->types[in->cpu >= 0 ? in->cpu : in->waited].unit);
	in->scale = 1;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strcmp(unit, units[i].name) == 0) {
			in->scale = units[i].ns;
			unit = "ns";
		}
	*ret_unit = strdup(*unit ? unit : "count");
	return *ret_unit ? 0 : -ENOMEM;
}

static int pass(struct input *in, const struct str *body, uint32_t field, int (*read)(struct input *in, const struct protobuf_field *f))
{
	struct protobuf m = {(const uint8_t *)body->data, (const uint8_t *)body->data + body->len};
	struct protobuf_field f;
	int r;

	while ((r = protobuf_next(&m, &f)) > 0)
		if (f.number == field && f.wire == WIRE_BYTES) {
			r = read(in, &f);
			if (r < 0)
				return r;
		}
	return r;
}

static int read_all(struct input *in, const struct str *body, char **ret_unit)
{
	static const struct {
		uint32_t field;
		int (*read)(struct input *in, const struct protobuf_field *f);
	} parts[] = {{PROFILE_STRING, read_string},	{PROFILE_SAMPLE_TYPE, read_type}, {PROFILE_MAPPING, read_mapping},
		     {PROFILE_FUNCTION, read_function}, {PROFILE_LOCATION, read_location}};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(parts) && r == 0; i++)
		r = pass(in, body, parts[i].field, parts[i].read);
	r = r ?: choose_values(in, ret_unit);
	return r < 0 ? r : pass(in, body, PROFILE_SAMPLE, read_sample);
}

static int unpack(const uint8_t *bytes, size_t n, struct str *out)
{
	return n > 1 && bytes[0] == 0x1f && bytes[1] == 0x8b ? gzip_unpack_members(bytes, n, out) : str_append(out, bytes, n);
}

int pprof_read(const void *bytes, size_t n, struct profile *ret, char **ret_unit)
{
	_cleanup_str_ struct str body = {.max = UNPACKED_MAX};
	struct input in = {.p = ret};
	int r;

	memory_budget_feed(&in.budget, n);
	r = unpack(bytes, n, &body);
	r = r ?: take(&in, body.len);
	*ret_unit = NULL;
	r = r ?: (body.len ? read_all(&in, &body, ret_unit) : -EBADMSG);
	VEC_FREE(in.strings);
	VEC_FREE(in.mappings);
	VEC_FREE(in.locations);
	VEC_FREE(in.lines);
	hmap_free(&in.mapping_ids);
	hmap_free(&in.location_ids);
	hmap_free(&in.functions);
	r = memory_budget_result(&in.budget, r);
	if (r < 0) {
		free(*ret_unit);
		*ret_unit = NULL;
	}
	return r;
}
