/* Which attribute (or column) is which field of the record that the analysis reads.
 *
 *   # field = attribute, attribute ...   the first that is there counts
 *   hardware = host.type, hardware.generation
 *
 * Semantic conventions of OpenTelemetry are the default; a file overrides single fields. SDiag's record (section 3):
 * function name, execution time, activityId, parentId, rootId, hardware generation, VM type, software version.
 */
#pragma once

#include "spans/model/names.h"

enum span_field {
	/* columns of a table; attributes of no other source */
	FIELD_TRACE,
	FIELD_SPAN,
	FIELD_PARENT,
	FIELD_FUNCTION,
	FIELD_START,
	FIELD_END,
	FIELD_DURATION,
	FIELD_KIND,
	FIELD_STATUS,
	/* attributes */
	FIELD_SERVICE,
	FIELD_INSTANCE, /* which of a service's processes: pod, instance id */
	FIELD_HOST,
	FIELD_HARDWARE,
	FIELD_WORKLOAD,
	FIELD_VERSION, /* every one that is there counts: a version combination is of all packages */
	FIELD_CALLEE,  /* whom a client span without a server span calls */
	FIELD_WEIGHT,  /* adjusted count */
	FIELD_ROUTE,   /* what an HTTP request is for, where the span is named after its method alone */
	FIELD_TARGET,  /* likewise of a database or a queue: the table, the topic */
	FIELD_REMOTE,  /* likewise of a remote call: the service that has the method */
	FIELD_OPERATION, /* what is done with the target, or the method */
	FIELD_PROCESS, /* the process that made it, by its number on its host */
	FIELD_COUNT
};

#define FIELD_KEYS_MAX 12

struct span_mapping {
	char *keys[FIELD_COUNT][FIELD_KEYS_MAX + 1]; /* NULL-terminated */
};

/* The defaults. 0 or -ENOMEM. */
int span_mapping_init(struct span_mapping *m);
/* Reads a file over what is set. -ENOENT; -EINVAL with *ret_error "file:line: ..." (caller frees). */
int span_mapping_read(struct span_mapping *m, const char *path, char **ret_error);
void span_mapping_free(struct span_mapping *m);
const char *span_field_name(enum span_field field);
/* Does any of the fields of attributes name this key? */
bool span_mapping_wants(const struct span_mapping *m, const char *key, size_t n);
/* Does one of those name it that say which process it was? */
bool span_mapping_is_of_process(const struct span_mapping *m, const char *key, size_t n);
bool span_field_is_of_process(enum span_field field);
