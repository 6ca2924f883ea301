/* OpenTelemetry's form (OTLP in JSON): metrics, and incidents as log records. What OpenTelemetry's conventions have a name for has that name
 * (process.*, container.*, k8s.*); all else is whyslow.*. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "machine/view-why/metrics.h"

/* Where documents go: `signal` is "metrics" or "logs". Takes no reference. 0 or -errno. */
typedef int (*otlp_send)(const char *signal, const json_t *document, void *data);

/* One document, or several where it would be large. 0, -ENOMEM, or what `send` returned. */
int otlp_metrics(const struct metrics *m, otlp_send send, void *data);

struct otlp_incident {
	int64_t id, wall, last; /* last: its end */
	const char *rule;	/* NULL = a user marked it */
	const char *note, *summary, *culprit, *cause, *resource; /* NULL = none */
	double confidence;
};
/* rows: where the culprit's unit and container are known from. As otlp_metrics(); nothing is sent of no incidents. */
int otlp_incidents(const struct otlp_incident *incidents, size_t n, const struct totals_row *rows, otlp_send send, void *data);
