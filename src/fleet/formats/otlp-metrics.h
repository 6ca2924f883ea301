/* Metrics of OpenTelemetry (OTLP's JSON), as the collector's file exporter writes them, one request a line. */
#pragma once

#include <jansson.h>

#include "fleet/formats/text-lines.h"

/* Puts the points of a request. A server is a resource: its pod, container, host, instance or service, in that order, or the attribute that
 * l->input->server_column names. 0, or -ENOMEM. */
int otlp_metrics_take(struct text_lines *l, const json_t *resource_metrics);
