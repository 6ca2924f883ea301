/* Metrics of a running recorder: its sums and incidents (machine/model/totals.h), and the levels of programs at the newest tick, one after the other with
 * all their values. A writer puts them into a form: prometheus.c, otlp.c.
 *
 * Of a program there is one series a feature, for all its processes, so that there is a bound; questions about one process are for whyslow.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "machine/model/dataset.h"
#include "machine/model/totals.h"

#define METRIC_CULPRIT (TOTALS_KINDS_END) /* a kind, next to those of totals_row */

struct metric {
	const struct feature *feature; /* COUNTER: a running sum */
	uint32_t kind;		       /* whose it is, as of totals_row, or METRIC_CULPRIT */
};

/* Whose a value is: the name of a program, disk or rule, and of programs the unit and container ("" = none). */
struct metric_owner {
	const char *name, *unit, *container;
};

struct metric_writer {
	void (*begin)(const struct metric *m, void *data);
	void (*value)(const struct metric *m, const struct metric_owner *owner, double value, void *data); /* in base units: metric_unit() */
	void *data;
};

struct metrics {
	const struct dataset *d; /* its last tick is the newest */
	const struct totals_row *rows;
	const char *const *culprits; /* programs that are blamed for incidents which continue */
	size_t n_culprits;
};

/* Calls the writer for each metric that has a value. */
void metrics_walk(const struct metrics *m, const struct metric_writer *writer);

struct metric_unit {
	const char *ending; /* as Prometheus' names have it: "_seconds" */
	const char *code;   /* of UCUM: "s" */
	double scale;	    /* to the base unit */
};
const struct metric_unit *metric_unit(const struct feature *f);
/* Its name, with whose it is: "program.io.read_bytes", "system.psi.cpu.some", "disk.queue", "incidents". Returns buf. */
char *metric_name(const struct metric *m, char *buf, size_t n);

/* The parts of a container's name. Each is a text without an end of its own, n bytes long; n = 0: there is none. */
struct container_part {
	const char *at;
	int n;
};
struct container_parts {
	struct container_part namespace_, pod, uid /* of a pod whose name is not known */, name;
};
/* Takes "NAMESPACE/POD/NAME", "podUID/NAME" or "NAME". */
struct container_parts container_parts(const char *container);

/* Prometheus' text format. */
void metrics_prometheus(const struct metrics *m, FILE *out);
