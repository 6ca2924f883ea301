/* Curves as characters. In full, braille: two points across and four up in each cell, from the least to the most of each point. */
#pragma once

#include <stdint.h>

#include "machine/findings/process-snapshot.h"

struct plot {
	int width, height;  /* cells */
	double bottom, top; /* values at the lower and upper edge; bottom is 0 unless all values are far above it */
	uint8_t *dots;	    /* width * height: the braille patterns */
};

/* Of no cells without memory. */
struct plot plot_of(const struct curve *c, int width, int height);
void plot_free(struct plot *p);
#define PLOT_CELL 4
/* One character, UTF-8, in ret if it is not a space; y counts from the top. */
const char *plot_cell(const struct plot *p, int x, int y, char ret[PLOT_CELL]);

#define SPARKLINE_SIZE (3 * SPARK_POINTS + 1) /* bytes of UTF-8 */

/* In small: a bar a value, from the least (from 0 where that is not far above it) to the most; a space where nothing was. Returns buf. */
char *plot_sparkline(const float values[SPARK_POINTS], char buf[SPARKLINE_SIZE]);
