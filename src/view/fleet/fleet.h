/* A fleet's findings and views as text, JSON, CSV and SVG. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "model/fleet/fleet-finding.h"
#include "model/fleet/fleet-view.h"

/* One line a finding, the first `top`; 0 = all. */
void fleet_findings_text(const struct fleet *f, const struct fleet_findings *found, size_t top, FILE *out);
/* One of them as JSON; NULL without memory. */
json_t *fleet_finding_json(const struct fleet *f, const struct fleet_finding *x);
/* {"schema": "whyslow.fleet.<analysis>/1", "findings": [...], ...}; NULL without memory. */
json_t *fleet_findings_json(const struct fleet *f, const struct fleet_findings *found, size_t top);

void fleet_view_text(const struct fleet_view *v, FILE *out);
void fleet_view_csv(const struct fleet_view *v, FILE *out);
/* Stock chart (server view), bands over time (time view), servers x time as colors (detail view). */
void fleet_view_svg(const struct fleet_view *v, FILE *out);
json_t *fleet_view_json(const struct fleet_view *v);

/* A name of a server, a counter, or "all servers". */
const char *fleet_server_name(const struct fleet *f, int server);
