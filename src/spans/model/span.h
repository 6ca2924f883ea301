/* Traced requests: the span, the sink a source feeds, and a whole trace as arrays.
 *
 *   source -> span -> span_sink (assembles by trace id) -> trace -> critical path, call forest
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "spans/model/names.h"

/* OpenTelemetry's numbers (opentelemetry/proto/trace/v1/trace.proto). Persisted: never renumber. */
enum span_kind {
	SPAN_UNKNOWN = 0,
	SPAN_INTERNAL = 1,
	SPAN_SERVER = 2,
	SPAN_CLIENT = 3,
	SPAN_PRODUCER = 4,
	SPAN_CONSUMER = 5,
};

enum span_flags {
	SPAN_ERROR = 1,	   /* status error, Jaeger's tag error=true */
	SPAN_LINKED = 2,   /* its parent is a FOLLOWS_FROM reference: it does not answer to it */
	SPAN_WHOLE = 8,	   /* all its attributes were read: of roots, and of traces that are in the forest's sample */
	SPAN_NO_START = 4, /* only a duration was recorded: start is 0, siblings are taken as concurrent */
};

/* An adjusted count (how many requests a sampled one stands for) in steps of 2^-16, so that sums are exact. */
#define SPAN_WEIGHT_ONE ((uint64_t)1 << 16)

struct span {
	uint64_t trace_high, trace_low; /* hexadecimal ids as numbers; others hashed, see span_id_of_text() */
	uint64_t id, parent;		/* parent 0 = a root */
	int64_t start, end;		/* wall ns; end >= start */
	uint64_t weight;		/* SPAN_WEIGHT_ONE = not sampled */
	uint32_t service, operation;	/* texts */
	uint32_t resource;		/* set: what the process that made it is */
	uint32_t attributes;		/* set: of roots all, of others those the mapping names */
	uint32_t more;			/* set: of others, where SPAN_WHOLE, those the mapping does not name and that have few values */
	uint8_t kind;			/* enum span_kind */
	uint8_t flags;			/* enum span_flags */
	uint16_t link;			/* of struct span_links: another trace that it refers to; 0 = none */
};

/* Traces that spans refer to: of messages that are handled in traces of their own, or many at once. Few spans have one, so they are kept apart;
 * the oldest make room. */
#define SPAN_LINKS_MAX UINT16_MAX
struct span_link {
	uint64_t high, low; /* trace id of the first that is not the span's own */
	uint64_t span;	    /* that refers to it: by its id */
	uint32_t n;	    /* how many traces it refers to */
};
struct span_links {
	struct span_link *v; /* NULL until there is one */
	uint64_t added;
};

/* What was wrong with input that was left out or fixed. */
enum span_fault {
	SPAN_FAULT_SYNTAX,    /* bytes that are not of the format: the rest of the message or line is left out */
	SPAN_FAULT_ID,	      /* no or impossible trace or span id */
	SPAN_FAULT_TIME,      /* ends before it starts, or is not a time: left out */
	SPAN_FAULT_FIELD,     /* a field of the wrong type: taken as missing */
	SPAN_FAULT_TRUNCATED, /* the file ends in the middle */
	SPAN_FAULT_COUNT
};

struct span_faults {
	uint64_t n[SPAN_FAULT_COUNT];
	char first[SPAN_FAULT_COUNT][160]; /* where and what the first one was: "traces.pb: byte 4711: ..." */
	char assumed[240];		   /* what the first input that left something open was taken for; "" = nothing */
};

/* Which traces a reader reads whole: those of the forest's sample, as far as it is known when they are read. Many spans may wait for
 * their traces; so the reader counts roots, and thins out ahead of the forest. */
struct span_sampling {
	const uint32_t *thinned; /* of the forest: one of 2^thinned requests is in its sample */
	uint32_t ahead;		 /* likewise, as the reader knows; what it has read is to be thinned out to this */
	uint32_t roots, most;	 /* read whole since, and how many there are to be at most; 0 = the reader does not thin out */
	int64_t from, to;	 /* wall ns: of requests that begin in [from, to) */
};

/* What a source feeds. `put` copies what it needs. 0, or -errno that ends the reading. */
struct memory_budget;

struct span_sink {
	struct names *names;
	const struct span_mapping *mapping;
	void *state;
	int (*put)(void *state, const struct span *span);
	struct span_faults *faults;
	struct span_sampling *sampling; /* NULL = no trace is read whole */
	struct span_links *links;	/* NULL = they are not read */
	/* Readers that share what is above call it with true before they touch it, and with false behind that; what lies between is parsed at
	 * the same time. NULL = it is one reader's alone. */
	void (*hold)(void *state, bool held);
	struct memory_budget *budget; /* of what is parsed; NULL = by the size of the input */
};

/* A whole trace: spans in the order of the source, the tree by index. Lent for the time of a call. */
#define NO_SPAN UINT32_MAX
struct span_trace {
	uint64_t high, low;
	uint32_t n;
	uint32_t root;		  /* NO_SPAN: every span is an orphan's */
	uint64_t weight;	  /* the root's */
	const struct span *spans; /* as measured */
	uint32_t *parent;	  /* index; NO_SPAN for roots, orphans and duplicates */
	int64_t *start, *end;	  /* as measured until trace_tree() clamps children to their parents */
};

static inline int64_t span_duration(const struct span *s)
{
	return s->end - s->start;
}

/* An id as people write it: up to 16 hexadecimal digits are the number; any other text is hashed with the top bit set.
 * 0 for empty text and "0". */
uint64_t span_id_of_text(const char *text, size_t n);
/* As above for up to 32 digits or a UUID; the text of one that is not a number goes to `names` so that span_trace_id_text() gives it
 * back. */
void span_trace_id_of_text(struct names *names, const char *text, size_t n, uint64_t *ret_high,
			   uint64_t *ret_low);
/* One such id, or two of them separated by a comma. */
struct span_trace_ids {
	uint64_t high[2], low[2];
	int n;
};
struct span_trace_ids span_trace_ids_of_text(struct names *names, const char *text);
/* Which of them it is, or -1. */
int span_trace_ids_find(const struct span_trace_ids *ids, uint64_t high, uint64_t low);
/* The same as span_trace_id_of_text() without its text being kept: numbers, or a hash. */
void span_trace_id_key(const char *text, size_t n, uint64_t *ret_high, uint64_t *ret_low);
/* A fixed order of ids that has nothing to do with the requests: the smallest are a random sample, in any order of merging. */
uint64_t span_trace_id_lot(uint64_t high, uint64_t low);
/* buf of at least 33 bytes, or the interned text. */
const char *span_trace_id_text(const struct names *names, uint64_t high, uint64_t low, char buf[33]);
/* The same as a text that lasts as long as the block where it stands. */
#define SPAN_TRACE_ID(names, high, low) span_trace_id_text((names), (high), (low), (char[33]){})
#define SPAN_SERVICE_UNKNOWN "unknown_service" /* OpenTelemetry's name for none */
/* "service operation"; of an operation whose service is not known its name alone. */
void span_call_text(const struct names *names, uint32_t service, uint32_t operation, char ret[2 * NAME_TEXT_MAX + 2]);
/* Keeps a link; a span's `link`, 0 without memory. */
uint16_t span_links_add(struct span_links *links, const struct span_link *one);
/* NULL = it has none, or made room for others. */
const struct span_link *span_links_of(const struct span_links *links, const struct span *span);
void span_links_free(struct span_links *links);
/* Counts a fault; the first of its kind is kept with where it was. */
void span_fault(struct span_faults *faults, enum span_fault fault, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Keeps the first. */
void span_assume(struct span_faults *faults, const char *format, ...) __attribute__((format(printf, 2, 3)));
void span_faults_add(struct span_faults *to, const struct span_faults *from);
const char *span_fault_name(enum span_fault fault);
const char *span_kind_name(enum span_kind kind);
