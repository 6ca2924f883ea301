#include "spans/formats/span-json.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "spans/formats/span-times.h"

/* A place in the file: `p` bytes after in->at. */
struct cursor {
	struct span_reader *r;
	struct input *in;
	size_t p;
	int error;
	const char *const *keys;
	unsigned depth; /* of objects that were gone into */
	size_t wrong;	/* where something was found that is not JSON, 0 = it was not */
	struct tape tape;
	struct memory_budget budget; /* of an input that has none of its own */
};

#define DEPTH_MAX      4
#define VALUES_TIMES   6 /* bytes of memory that a byte of JSON buys: those of traces take up to 4 */
#define MOST_LOOKED_AT 65536 /* bytes that are held while the next line is looked for */

static int peek(struct cursor *c)
{
	int64_t have;

	if (c->in->at + c->p < c->in->n)
		return c->in->data[c->in->at + c->p];
	have = input_need(c->in, c->p + 1);
	if (have < 0)
		c->error = (int)have;
	return have <= (int64_t)c->p ? -1 : c->in->data[c->in->at + c->p];
}

/* Between values; a record separator (RFC 7464) and a byte order mark are nothing either. */
static bool is_blank(int byte)
{
	return isspace(byte) || byte == 0x1e || byte == 0xef || byte == 0xbb || byte == 0xbf;
}

static int skip_space(struct cursor *c)
{
	int byte;

	while ((byte = peek(c)) >= 0 && is_blank(byte))
		c->p++;
	return byte;
}

/* Behind what is not JSON a line that begins with an object may be whole again. */
static bool begins_anew(struct cursor *c)
{
	const uint8_t *at = input_at(c->in) + c->p;

	return c->wrong && c->p > c->wrong && at[0] == '{' && at[-1] == '\n';
}

static bool skip_string(struct cursor *c)
{
	int byte;

	for (c->p++; (byte = peek(c)) >= 0 && !begins_anew(c); c->p++) {
		if (byte == '\\')
			c->p++;
		else if (byte == '"')
			break;
	}
	c->p++;
	return byte == '"';
}

/* Over one value; false where it has no end. */
static bool skip_value(struct cursor *c)
{
	unsigned depth = 0;
	int byte = skip_space(c);

	for (; byte >= 0 && !begins_anew(c); byte = peek(c)) {
		if (byte == '"') {
			if (!skip_string(c))
				return false;
		} else {
			if (depth == 0 && (byte == ',' || byte == ']' || byte == '}'))
				return true;
			depth += byte == '{' || byte == '[';
			depth -= byte == '}' || byte == ']';
			c->p++;
		}
		if (depth == 0 && (byte == '"' || byte == '}' || byte == ']'))
			return true;
	}
	return false;
}

static void not_ended(struct cursor *c)
{
	if (c->r->part)
		return;
	if (c->wrong)
		span_fault(c->r->sink.faults, SPAN_FAULT_SYNTAX, "%s: byte %" PRIu64 ": this is not JSON", c->in->name, input_offset(c->in) + c->wrong + 1);
	else
		span_fault(c->r->sink.faults, SPAN_FAULT_TRUNCATED, "%s: byte %" PRIu64 ": what begins here does not end", c->in->name,
		   input_offset(c->in));
}

static void replaced(struct cursor *c)
{
	if (c->tape.repaired && !c->r->part)
		span_fault(c->r->sink.faults, SPAN_FAULT_FIELD, "%s: byte %" PRIu64 ": bytes that are not UTF-8 were replaced", c->in->name,
			   input_offset(c->in) + c->tape.repaired - 1);
}

static int read_tape(struct cursor *c)
{
	c->budget.most = BUDGET_LEAST + VALUES_TIMES * (c->in->n - c->in->at);
	return tape_read(&c->tape, (const char *)input_at(c->in), c->in->n - c->in->at);
}

static int hand_on(struct cursor *c, json_element_fn element, uint64_t offset)
{
	const struct tape_value *value = c->tape.values.v, *source = tape_get(value, "_source"); /* a document, as Elasticsearch and OpenSearch hand it out */
	int r;

	replaced(c);
	span_reader_hold(c->r, true);
	r = element(c->r, c->in->name, offset, source ? source : value);
	span_reader_hold(c->r, false);
	return r;
}

/* The value from in->at to in->at + p; goes behind it. */
static int emit(struct cursor *c, json_element_fn element)
{
	uint64_t offset = input_offset(c->in);
	int r = read_tape(c);

	if (r == 0) {
		r = hand_on(c, element, offset);
	} else if (r != -ENOMEM && r != -EDQUOT) {
		if (!c->r->part) /* the first reader tells it */
			span_fault(c->r->sink.faults, SPAN_FAULT_SYNTAX, "%s: byte %" PRIu64 ": this is not JSON", c->in->name, offset + c->tape.end);
		r = 0;
	}
	c->in->at += c->p;
	c->p = 0;
	c->wrong = 0;
	return r;
}

/* Most elements lie in memory as a whole: their end is found while they are read. False = not this one. */
static bool emit_at_once(struct cursor *c, json_element_fn element, int *ret)
{
	uint64_t offset = input_offset(c->in);
	int r;

	c->wrong = 0;
	if (*input_at(c->in) != '{')
		return false;
	r = read_tape(c);
	if (r == -EINVAL)
		c->wrong = c->tape.end - 1; /* a line that begins there is one */
	if (r == -ENOMEM || r == -EDQUOT)
		*ret = r;
	if (r < 0)
		return r == -ENOMEM || r == -EDQUOT;
	*ret = hand_on(c, element, offset);
	c->in->at += c->tape.end;
	return true;
}

/* in->at + p is behind '['. */
static int each_of_array(struct cursor *c, json_element_fn element)
{
	int r = 0;

	while (r == 0) {
		int byte = skip_space(c);

		c->in->at += c->p;
		c->p = 0;
		if (byte == ',' || byte == ']')
			c->p++;
		if (byte < 0)
			not_ended(c); /* what came before was whole */
		if (byte == ']' || byte < 0)
			break;
		if (byte == ',' || emit_at_once(c, element, &r))
			continue;
		if (!skip_value(c)) {
			not_ended(c);
			return c->error == -ENOMEM ? -ENOMEM : -ENODATA;
		}
		if (!c->p) { /* a bracket where none can be */
			span_fault(c->r->sink.faults, SPAN_FAULT_SYNTAX, "%s: byte %" PRIu64 ": this is not a JSON value", c->in->name,
				   input_offset(c->in));
			return -ENODATA;
		}
		r = emit(c, element);
	}
	return r;
}

static bool key_is_wanted(struct cursor *c, size_t from)
{
	static const char hits[] = "hits"; /* of an answer of Elasticsearch or OpenSearch */

	for (const char *const *key = c->keys; *key; key++)
		if (c->p - from == strlen(*key) + 2 && !memcmp(input_at(c->in) + from + 1, *key, strlen(*key)))
			return true;
	return c->p - from == sizeof(hits) + 1 && !memcmp(input_at(c->in) + from + 1, hits, sizeof(hits) - 1);
}

static int object(struct cursor *c, json_element_fn element);

/* in->at + p is at an object that one of the keys names. */
static int object_within(struct cursor *c, json_element_fn element)
{
	int r;

	c->in->at += c->p;
	c->depth++;
	r = object(c, element);
	c->depth--;
	return r;
}

/* in->at is at '{': finds the keys; an object that has no array of such a name is an element itself. */
static int object(struct cursor *c, json_element_fn element)
{
	bool found = false, wanted;
	int r = 0;

	c->p = 1;
	while (r == 0) {
		int byte = skip_space(c);
		size_t from = c->p;

		if (byte == ',') {
			c->p++;
			continue;
		}
		if (byte == '}') {
			c->p++;
			break;
		}
		if (byte != '"' || !skip_string(c)) {
			if (byte < 0)
				not_ended(c);
			else
				span_fault(c->r->sink.faults, SPAN_FAULT_SYNTAX, "%s: byte %" PRIu64 ": expected a key here", c->in->name,
					   input_offset(c->in) + c->p);
			return -ENODATA;
		}
		wanted = key_is_wanted(c, from);
		if (skip_space(c) == ':')
			c->p++;
		if (wanted && skip_space(c) == '[') {
			c->p++;
			found = true;
			r = each_of_array(c, element);
		} else if (wanted && skip_space(c) == '{' && c->depth < DEPTH_MAX) {
			found = true;
			r = object_within(c, element);
		} else if (!skip_value(c)) {
			not_ended(c);
			return -ENODATA;
		}
	}
	if (r < 0)
		return r;
	if (!found)
		return emit(c, element);
	c->in->at += c->p;
	c->p = 0;
	return r;
}

/* What was written after something that was cut off begins on a line of its own. False = there is none. */
static bool go_on_behind(struct cursor *c)
{
	int byte, last = 0;

	c->p = c->wrong ? c->wrong : c->p;
	for (; (byte = peek(c)) >= 0; c->p++) {
		if (last == '\n' && byte == '{') {
			c->in->at += c->p;
			c->p = 0;
			c->wrong = 0;
			return true;
		}
		last = byte;
		if (c->p > MOST_LOOKED_AT) {
			c->in->at += c->p;
			c->p = 0;
		}
	}
	return false;
}

int span_json_elements(struct span_reader *reader, struct input *in, const char *const *keys, json_element_fn element)
{
	struct cursor c = {.r = reader, .in = in, .keys = keys};
	bool mended = false;
	int r = 0;

	c.tape.budget = reader->sink.budget ? reader->sink.budget : &c.budget;
	while (r == 0) {
		int byte = skip_space(&c);

		in->at += c.p;
		c.p = 0;
		if (byte < 0)
			break;
		if (byte == '{') {
			r = object(&c, element);
		} else if (byte == '[') {
			c.p = 1;
			r = each_of_array(&c, element);
			in->at += r == 0 ? c.p : 0;
			c.p = r == 0 ? 0 : c.p;
		} else if (mended && (byte == ',' || byte == ']' || byte == '}')) {
			c.p = 1; /* of what was cut off */
		} else {
			span_fault(reader->sink.faults, SPAN_FAULT_SYNTAX, "%s: byte %" PRIu64 ": this is not a JSON object", in->name,
				   input_offset(in));
			r = -ENODATA;
		}
		if (r == -ENODATA && !c.error && go_on_behind(&c)) {
			mended = true;
			r = 0;
		}
	}
	tape_free(&c.tape);
	return c.error == -ENOMEM || c.error == -EIO ? c.error : r == -ENODATA ? 0 : r;
}

int span_json_each(struct span_reader *r, const char *name, uint64_t offset, const struct tape_value *list, json_element_fn element)
{
	int result = 0;

	TAPE_EACH(value, list)
		result = result ?: element(r, name, offset, value);
	return result;
}

bool span_json_mentions(const uint8_t *head, size_t n, const char *key)
{
	size_t blank = 0;

	while (blank < n && is_blank(head[blank]))
		blank++;
	return blank < n && (head[blank] == '{' || head[blank] == '[') && memmem(head, n, key, strlen(key));
}

/* --- one span ------------------------------------------------------------------------------------------------------------ */

static void complain(struct span_reader *r, const char *file, uint64_t offset, const struct json_span *s, enum span_fault fault, const char *what)
{
	span_fault(r->sink.faults, fault, "%s: byte %" PRIu64 ", span %016" PRIx64 ": %s", file, offset, s->span.id, what);
}

int span_json_put(struct span_reader *r, const char *file, uint64_t offset, struct json_span *s)
{
	struct span *span = &s->span;

	if (s->trace && !span_reader_takes_text(r, s->trace, s->trace_n, &span->trace_high, &span->trace_low))
		return 0;
	if (!span->id || (!span->trace_high && !span->trace_low)) {
		if (s->trace || !r->part)
			complain(r, file, offset, s, SPAN_FAULT_ID, "no id of its own or of its trace");
		return 0;
	}
	if (span->start < 0 || span->end < span->start) {
		complain(r, file, offset, s, SPAN_FAULT_TIME, s->times);
		return 0;
	}
	if (s->name)
		span->operation = span_reader_name(r, s->name, s->name_n);
	if (s->resource) {
		span_reader_begin(r);
		s->resource(r, s->process);
		span->resource = span_reader_resource(r, &span->service);
	}
	s->attributes(r, s, span_reader_begin_span(r, span));
	span_reader_end_span(r, span);
	span->weight = span_reader_weight(r, "", 0);
	return span_reader_put(r, span);
}

void span_json_set_trace(struct json_span *s, const struct tape_value *trace)
{
	s->trace = tape_text(trace, &s->trace_n);
}

void span_json_set_name(struct json_span *s, const struct tape_value *name)
{
	s->name = tape_text(name, &s->name_n);
}

bool span_json_time(const struct tape_value *v, int64_t unit, int64_t *ret)
{
	struct text_field text;

	text.at = tape_is(v, TAPE_NUMBER) || tape_is(v, TAPE_TEXT) ? tape_text(v, &text.n) : NULL;
	return text.at && span_time_number(&text, unit, ret);
}

bool span_json_set_times(struct json_span *s, const struct tape_value *start, const struct tape_value *duration, int64_t unit, int64_t duration_unit)
{
	int64_t from, length;

	if (span_json_time(start, unit, &from) && span_json_time(duration, duration_unit, &length) && !__builtin_add_overflow(from, length, &s->span.end)) {
		s->span.start = from;
		return true;
	}
	s->span.start = 0;
	s->span.end = -1;
	return false;
}

uint64_t span_json_hex(const struct tape_value *id)
{
	return tape_is(id, TAPE_TEXT) ? span_id_of_text(id->text, id->n) : 0;
}

uint64_t span_json_decimal(const struct tape_value *id)
{
	bool negative = id && id->n && *id->text == '-';
	uint64_t value = 0;

	if (!tape_is(id, TAPE_NUMBER) && !tape_is(id, TAPE_TEXT))
		return 0;
	for (size_t i = negative; i < id->n; i++)
		if (!isdigit((unsigned char)id->text[i]) || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(id->text[i] - '0'), &value))
			return 0;
	return negative ? 0 - value : value;
}

void span_json_take(struct span_reader *r, const char *key, const struct tape_value *value, bool all)
{
	size_t n;
	const char *text = tape_text(value, &n);

	if (text)
		span_reader_attribute(r, key, strlen(key), text, n, all);
}

void span_json_take_pair(struct span_reader *r, const struct tape_value *key, const struct tape_value *value, struct span *span, bool all)
{
	size_t n;
	const char *text = tape_text(value, &n);

	if (!text || !tape_is(key, TAPE_TEXT))
		return;
	if (tape_says(key, "span.kind"))
		span->kind = (uint8_t)span_kind_of_text(text, n);
	else if (span_tag_is_error(key->text, key->n, text, n))
		span->flags |= SPAN_ERROR;
	span_reader_attribute(r, key->text, key->n, text, n, all);
}

void span_json_take_pairs(struct span_reader *r, const struct tape_value *object, struct span *span, bool all)
{
	TAPE_PAIRS(key, object)
		span_json_take_pair(r, key, key + 1, span, all);
}

enum span_kind span_json_kind_of_type(const struct tape_value *type)
{
	static const struct {
		const char *type;
		enum span_kind kind;
	} known[] = {{"web", SPAN_SERVER}, {"request", SPAN_SERVER}, {"http.server", SPAN_SERVER}, {"sql", SPAN_CLIENT}, {"db", SPAN_CLIENT}, {"cache", SPAN_CLIENT},
		     {"http", SPAN_CLIENT}, {"http.client", SPAN_CLIENT}, {"external", SPAN_CLIENT}, {"storage", SPAN_CLIENT}, {"redis", SPAN_CLIENT}, {"memcached", SPAN_CLIENT},
		     {"mongodb", SPAN_CLIENT}, {"elasticsearch", SPAN_CLIENT}, {"cassandra", SPAN_CLIENT}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (tape_says(type, known[i].type))
			return known[i].kind;
	return SPAN_UNKNOWN;
}

void span_json_take_process(struct span_reader *r, const struct tape_value *object)
{
	TAPE_PAIRS(key, object) {
		size_t n;
		const char *text = tape_text(key + 1, &n);

		if (text && span_mapping_is_of_process(r->sink.mapping, key->text, key->n))
			span_reader_attribute(r, key->text, key->n, text, n, true);
	}
}
