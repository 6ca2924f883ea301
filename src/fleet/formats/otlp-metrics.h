/* Metrics of OpenTelemetry, as the collector's file exporter writes them: requests of OTLP's JSON, or the same objects made of its protobuf (otlp-protobuf.c). */
#pragma once

#include <jansson.h>

#include "fleet/formats/text-lines.h"

/* One metric of one resource. What it points to must live as long as its points come. */
struct otlp_metric {
	struct text_lines *l;
	int server;
	const char *service; /* NULL = the server's name says it, or it is not known */
	const char *name, *unit;
	bool is_sum, is_delta;
	bool counts; /* points are counts and sums */
};

/* Puts the points of a request. A server is a resource: its pod, container, host, instance or service, in that order, or the attribute that
 * l->input->server_column names. 0, or -ENOMEM. */
int otlp_metrics_take(struct text_lines *l, const json_t *resource_metrics);

/* The same in parts. Begins a resource: 0, -ENOENT where it names no server (reported), or -ENOMEM. */
int otlp_resource_begin(struct text_lines *l, const json_t *resource, struct otlp_metric *ret);
/* Begins one of its metrics, whose points may come later. NULL: it has no name, or points of no known form (reported); else the object that holds its points,
 * which also says how they are to be read. */
const json_t *otlp_metric_begin(struct otlp_metric *m, const json_t *metric);
/* Puts a point: 0, or -ENOMEM. */
int otlp_metric_point(const struct otlp_metric *m, const json_t *point);
