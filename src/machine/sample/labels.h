/* Files of "label value" lines whose order never changes while the kernel runs: /proc/meminfo, /proc/vmstat.
 *
 * Where each wanted label stands is learned at the first read; later reads look at those lines only, and learn again
 * when a label is not where it was.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/model/feature.h"

#define LABEL_LINES_MAX 1024 /* /proc/vmstat has 190 lines today */

/* Rows of one feature are added up: the kernel may count it apart for each zone or cause. */
struct label_row {
	const char *label;
	int feature;
	uint64_t scale; /* to the feature's unit */
};

struct labels {
	const struct label_row *rows;
	size_t n_rows;
	size_t n_lines;			      /* learned; 0 = nothing yet */
	uint8_t row_of_line[LABEL_LINES_MAX]; /* + 1; 0 = none */
};

/* Sets the values of the labels that are there, and their bits. */
void labels_read(struct labels *l, const char *text, int64_t *values, feature_set *present);
