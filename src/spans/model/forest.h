/* The statistical call forest (SDiag, section 3): per bucket and version group, what every call path costs.
 *
 * A vertex is a call path: its parent's path, then a function (service, operation). A client span is an edge of its
 * own: its exclusive time, the network and the callee's queue, is charged to the callee. Vertices are shared by all
 * buckets; a cell is what one group of requests spent there. All sums are integers and all lists are kept in the order
 * of their texts, so that parts merged are the whole, bit for bit.
 *
 *   forest -> bucket (values of the dimensions) -> group (version combination) -> cell (vertex) / slot (time) / leaf
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/hmap.h"
#include "lib/data/vec.h"
#include "spans/model/moments.h"
#include "spans/model/names.h"
#include "spans/model/span.h"

struct sketch; /* lib/stat/sketch.h: of ns by adjusted count: values uint64_t, weights uint64_t, so that merges are exact */

#define NO_VERTEX	    UINT32_MAX
#define FOREST_DIMENSIONS   8
#define FOREST_BUCKETS_MAX  4096  /* further ones are counted as the bucket "(other)" */
#define FOREST_GROUPS_MAX   512   /* of one bucket; likewise */
#define FOREST_ENTRIES_MAX  1024  /* names of requests of one service; further ones are counted as "(other)" of it */
#define FOREST_CALLS_MAX    512   /* names of calls of one service, of one caller and kind; likewise */
#define FOREST_VERTICES_MAX 65536 /* further paths end at the vertex above them */
#define FOREST_SLOTS_MAX    128   /* of one group; beyond, slots double in width */
#define FOREST_LEAVES_MAX   32768 /* of one forest; further ones are counted under set 0 */
#define FOREST_PLACES_MAX   65536 /* of one forest; likewise */
#define FOREST_DEPTH_MAX    120	  /* deeper calls are charged to the vertex at this depth */
#define FOREST_SAMPLE	    12	  /* requests kept of a group, chosen by the hash of their id */
#define FOREST_SLOWEST	    4
#define FOREST_REQUESTS_MAX 8192  /* of which all is kept that tells them apart; of more every second one (by the hash of its id) is */
#define FOREST_THINNED_MAX  40	  /* halvings of those */
#define FOREST_MARK_VALUES  64	  /* of an attribute of a call: one with more tells single requests apart */
#define FOREST_MARKS_MAX    96	  /* of one request; further ones are left out */
#define FOREST_EXEMPLAR_MAX 300	  /* spans of a trace that is kept; larger ones keep the first */

#define VERSION_MIX " + " /* between the versions of one package that a request ran */

enum vertex_kind { VERTEX_CALL, VERTEX_EDGE };

struct vertex {
	uint32_t parent; /* NO_VERTEX: entry point of requests */
	uint32_t service, operation; /* an edge's service is the callee's */
	uint32_t caller;	     /* an edge's: the service that waits */
	uint8_t kind;
	uint8_t depth;
};

/* The time a group of requests spent at one vertex. */
struct cell {
	uint32_t vertex;
	struct moments duration; /* of each call, ns */
	struct moments path;	 /* exclusive time on the critical path of each request that has the vertex on it, ns */
	struct moments self;	 /* of each call, time in which no child ran, ns */
	wide called, busy;	 /* of its children: sum of durations, and time in which at least one ran; their quotient
				  * is how parallel the vertex calls */
	wide drag;		 /* how much sooner requests had ended without it (see tree_drag()), ns x weight */
	wide slack;		 /* of calls off the path: how much longer they could have run without delaying their parent */
	wide wall;		 /* of this vertex's calls under one parent call: time in which at least one ran */
	uint64_t parents;	 /* calls of the parent that called it at all (adjusted) */
	uint64_t errors, retries; /* adjusted; a retry begins after a failed call of the same vertex under the same parent */
	uint64_t asynchronous;	  /* calls that began after, or outlived, what called them (adjusted) */
	struct sketch *sketch;	  /* of durations, ns */
};

/* A span of time: what the requests that began in it took, and where. */
struct slot_cell {
	uint32_t vertex;
	uint64_t calls; /* adjusted */
	wide path, self; /* as a cell's sums, ns x weight */
};

struct slot {
	int64_t start; /* wall ns, a multiple of the width */
	struct moments total;
	VEC(struct slot_cell) cells; /* by vertex */
};

/* Requests with the same attributes (the root's, its resource's, joined ones). */
struct leaf {
	uint32_t set; /* 0 = beyond FOREST_LEAVES_MAX */
	struct moments total;
};

/* One request that was kept whole. */
struct exemplar_span {
	uint32_t vertex, parent; /* parent: index, NO_SPAN = the root */
	uint32_t host;		 /* text: host, else instance */
	uint32_t process;	 /* text: its number on the host; 0 = not known */
	int64_t start, end;	 /* ns since the request began, clamped */
	int64_t path;		 /* exclusive time on the critical path */
	bool error;
	uint32_t link;	/* text: id of another trace that it refers to; 0 = none */
	uint32_t links; /* how many it refers to */
};

struct exemplar {
	uint64_t high, low; /* trace id: span_trace_id_text() */
	int64_t start;	    /* wall ns */
	int64_t duration;
	uint32_t n_spans; /* the trace's; spans.n may be less */
	VEC(struct exemplar_span) spans;
};

/* A call that a request went through, or an attribute of it; of several such calls that of the longest. */
struct request_mark {
	uint32_t call; /* text: "service operation" */
	uint32_t key, value; /* texts; 0, 0 = the call itself */
	int64_t path;	     /* of the call itself: exclusive time on the critical path, in all such calls, ns */
};

/* One request of the sample that is searched for what tells some requests from the others. */
struct sampled_request {
	uint64_t high, low; /* trace id */
	int64_t start, duration; /* wall ns, ns */
	uint64_t weight;    /* adjusted count of its own; forest_request_weight() has that of the sample */
	uint32_t set;	    /* attributes of the root, its process, joined: as of its leaf */
	bool error;
	VEC(struct request_mark) marks; /* calls before attributes */
};

struct forest_group {
	uint32_t versions; /* set: package -> version */
	int64_t first_seen, last_seen; /* wall ns of the first and last request */
	struct moments total;	       /* end to end, ns */
	struct sketch *sketch;	       /* likewise */
	uint64_t errors;	       /* requests whose root failed (adjusted) */
	VEC(struct cell) cells;	       /* by vertex */
	VEC(struct slot) slots;	       /* by time */
	VEC(struct leaf) leaves;
	VEC(struct exemplar) sample;   /* by hash of the id */
	VEC(struct exemplar) slowest;  /* slowest first */
	VEC(struct sampled_request) requests;  /* by the hash of the id */
	int64_t slot_width;
	/* private */
	VEC(uint32_t) cell_at; /* vertex -> index of its cell + 1, until forest_finish() */
	struct hmap leaf_of;
	uint32_t last_slot;
};

struct bucket {
	uint32_t values[FOREST_DIMENSIONS]; /* texts, one for each of the forest's dimensions; 0 = the request has none */
	uint32_t entry; /* text "service operation" of the root */
	VEC(struct forest_group) groups;
	/* private */
	struct hmap group_of;
	uint32_t was;
};

/* One host, shard or instance of a service at one vertex: where a single slow one hides. */
struct forest_place {
	uint32_t bucket, vertex; /* indices */
	uint32_t host;		 /* text */
	struct moments path; /* exclusive time of its calls, ns */
};

/* Counts of what was read, fixed and left out: they belong to every figure's footnote. */
struct forest_tally {
	uint64_t spans, traces;	  /* read */
	uint64_t requests;	  /* traces with a root */
	uint64_t orphans;	  /* spans whose parent is not there */
	uint64_t orphan_traces;	  /* traces without a root: never taken as requests */
	uint64_t more_roots;	  /* spans next to the first root of a trace */
	uint64_t duplicates;
	uint64_t clamped;	  /* children cut to their parent's time */
	uint64_t outside;	  /* children wholly outside of it: asynchronous */
	uint64_t skewed;	  /* server spans moved between their client's ends */
	uint64_t late;		  /* spans of traces that were closed before */
	uint64_t cut;		  /* traces closed early, for memory */
	uint64_t clamped_ns;
	uint64_t other_buckets, other_groups, other_vertices, other_leaves, other_places; /* left out by the bounds above */
	uint64_t faults[SPAN_FAULT_COUNT]; /* of the input */
};

struct forest {
	struct names *names;
	uint32_t dimensions[FOREST_DIMENSIONS]; /* texts: what buckets are made of */
	uint32_t n_dimensions;
	char *rule; /* of critical paths */
	struct forest_tally tally;
	uint32_t thinned; /* the sample has one of 2^thinned requests */
	VEC(struct vertex) vertices; /* a parent comes before its children */
	VEC(struct bucket) buckets;
	VEC(struct forest_place) places;
	/* private */
	struct hmap vertex_of, bucket_of, place_of, names_of; /* names_of: how many a caller has of a service and kind */
	uint32_t n_leaves, n_requests; /* of all groups */
	int64_t slot_width; /* ns, as asked for */
};

/* "key=value, key=value" in the order of the keys' texts; caller frees. */
char *forest_set_text(const struct names *names, uint32_t set);

/* A cell of a finished forest; NULL where the group never was there. */
const struct cell *forest_group_cell(const struct forest_group *g, uint32_t vertex);
/* "service operation > service operation": caller frees. */
char *vertex_path(const struct forest *f, uint32_t vertex);
/* The same within `width` bytes, if the request and the last call leave room: "service operation > ... > service operation". */
char *vertex_short_path(const struct forest *f, uint32_t vertex, size_t width);
/* "service operation", "caller -> callee operation (network, queue)": caller frees. */
char *vertex_label(const struct forest *f, uint32_t vertex);
/* The service that answers for the time of a vertex: its own, or of a call of something that has no spans of its own (a database, a
 * queue, a cache, a peer without instrumentation) the one that makes it. *ret: one for each vertex; caller frees. 0 or -ENOMEM. */
int forest_owners(const struct forest *f, uint32_t **ret);
/* How many call paths end in a name that is as long as one may be: longer ones were cut, and those that differ behind the cut are one. */
uint64_t forest_cut_names(const struct forest *f);
/* The mean of a sum over a group's requests, ns; NaN of none. */
double forest_group_each(const struct forest_group *g, wide sum);
/* A request's exclusive time on the critical path in all calls of a vertex, ns; ret_calls: how many, or NULL. */
int64_t exemplar_path(const struct exemplar *e, uint32_t vertex, unsigned *ret_calls);
