/* A board as text for people and as JSON for programs (docs/json.md). */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "model/board.h"

struct board_text_options {
	bool colour;
	unsigned processes; /* how many to list */
};

/* Every process: schema "whyslow.board/1". NULL without memory. */
json_t *board_json(const struct board *b);
void board_text(const struct board *b, const struct board_text_options *options, FILE *out);
/* One process and its features: "whyslow.process/1". */
json_t *board_process_json(const struct board *b, const struct suspect *s);
void board_process_text(const struct board *b, const struct suspect *s, bool colour, FILE *out);
/* One feature over time: "whyslow.series/1". */
json_t *board_curve_json(const struct entity_info *who, const struct feature *f, const struct curve *c);
void board_curve_text(const struct entity_info *who, const struct feature *f, const struct curve *c, FILE *out);
/* Who lived when; at most `top`. */
void board_lives_text(const struct lives *l, size_t top, FILE *out);
json_t *board_lives_json(const struct lives *l, size_t top);
