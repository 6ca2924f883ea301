/* A fleet's findings and views as text, JSON, CSV and SVG. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "fleet/model/fleet-answer.h"
#include "fleet/model/fleet-calls.h"
#include "fleet/model/fleet-deployment.h"
#include "fleet/model/fleet-finding.h"
#include "fleet/model/fleet-info.h"
#include "fleet/model/fleet-view.h"
#include "fleet/model/pooled-incidents.h"
#include "fleet/model/watch-round.h"

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

/* data: as it was named, for the commands that follow. top: of each list, 0 = all. */
void fleet_why_text(const struct fleet_answer *a, const struct fleet *f, const struct fleet_incidents *incidents, const struct fleet_deployed *deployed, size_t n_deployed, const char *data, size_t top,
		    FILE *out);
/* calls: those between servers of the chain are written. */
json_t *fleet_why_json(const struct fleet_answer *a, const struct fleet *f, const struct fleet_incidents *incidents, const struct fleet_calls *calls, const struct fleet_deployed *deployed, size_t n_deployed,
		       size_t top);
json_t *fleet_why_nothing_json(const char *words);
void fleet_history_text(const struct fleet *f, const struct fleet_history *h, size_t top, FILE *out);
json_t *fleet_history_json(const struct fleet *f, const struct fleet_history *h, size_t top);

/* Servers, counters, values and times: what was loaded. */
void fleet_extent_text(const struct fleet *f, FILE *out);
/* file: where it was saved. */
json_t *fleet_load_json(const struct fleet *f, const char *file);
void fleet_info_text(const struct fleet *f, const struct fleet_info *info, FILE *out);
json_t *fleet_info_json(const struct fleet *f, const struct fleet_info *info);

/* most: groups, incidents of a group, words; SIZE_MAX = all. */
void fleet_pooled_incidents_text(const struct pooled_incidents *p, size_t most, FILE *out);
json_t *fleet_pooled_incidents_json(const struct pooled_incidents *p);

/* top: findings, 0 = all. */
void fleet_watch_round_text(const struct watch_round *round, size_t top, FILE *out);
json_t *fleet_watch_round_json(const struct watch_round *round, size_t top);
