/* A board as text for people and as JSON for programs (docs/json.md). */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "machine/findings/process-snapshot.h"

struct snapshot_text_options {
	bool colour;
	unsigned processes; /* how many to list */
};

/* Every process: schema "whyslow.board/1". NULL without memory. */
json_t *process_snapshot_json(const struct process_snapshot *b);
void process_snapshot_text(const struct process_snapshot *b, const struct snapshot_text_options *options,
			   FILE *out);
/* One process and its features: "whyslow.process/1". */
json_t *process_snapshot_process_json(const struct process_snapshot *b, const struct suspect *s);
void process_snapshot_process_text(const struct process_snapshot *b, const struct suspect *s, bool colour,
				   FILE *out);
/* One feature over time: "whyslow.series/1". */
json_t *process_snapshot_curve_json(const struct entity_info *who, const struct feature *f,
				    const struct curve *c);
void process_snapshot_curve_text(const struct entity_info *who, const struct feature *f, const struct curve *c, FILE *out);
/* Who lived when; at most `top`. */
void process_snapshot_lives_text(const struct lives *l, size_t top, FILE *out);
json_t *process_snapshot_lives_json(const struct lives *l, size_t top);
