/* Metrics of a running recorder, for systems that collect them: export --format prometheus and otlp. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "machine/verb/verb.h"

/* In Prometheus' text format. The exit status. */
int collect_prometheus(struct common *common, int64_t from, int64_t to, FILE *out);

struct collect_otlp {
	int64_t from, to; /* incidents that ended then, where `every` is 0 */
	const char *url;  /* of a collector, without /v1/metrics; NULL = `out` gets the documents, a line each */
	const char *token_file, *ca_file;
	int64_t every; /* send again after this time, and each incident when it is over; 0 = once */
	FILE *out;
};
/* To OpenTelemetry. The exit status; with `every` it returns only where it cannot begin. */
int collect_otlp(struct common *common, const struct collect_otlp *o);
