#include "machine/sample/labels.h"

#include <string.h>

#include "lib/input/text.h"

/* What follows the label of this line, or NULL when it is another's. */
static const char *after_label(const char *line, const char *label)
{
	size_t n = strlen(label);

	if (strncmp(line, label, n) != 0 || (line[n] != ' ' && line[n] != ':'))
		return NULL;
	return line + n + 1;
}

static uint8_t row_of(const struct labels *l, const char *line)
{
	for (size_t i = 0; i < l->n_rows; i++)
		if (after_label(line, l->rows[i].label))
			return (uint8_t)(i + 1);
	return 0;
}

static void learn(struct labels *l, const char *text)
{
	l->n_lines = 0;
	for (const char *line = text; *line && l->n_lines < LABEL_LINES_MAX; line = text_next_line(line))
		l->row_of_line[l->n_lines++] = row_of(l, line);
}

/* False when a label is not where it was learned to be. */
static bool take(const struct labels *l, const char *text, int64_t *values, feature_set *present)
{
	uint64_t seen = 0;
	size_t i = 0;

	for (const char *line = text; *line && i < LABEL_LINES_MAX; line = text_next_line(line), i++) {
		const struct label_row *row;
		const char *at;
		uint64_t value, bit;

		if (i == l->n_lines)
			return false;
		if (!l->row_of_line[i])
			continue;
		row = &l->rows[l->row_of_line[i] - 1];
		at = after_label(line, row->label);
		if (!at)
			return false;
		if (!text_scan_number(&at, &value))
			continue;
		bit = FEATURE_BIT(row->feature);
		value = value * row->scale + (seen & bit ? (uint64_t)values[row->feature] : 0);
		values[row->feature] = (int64_t)value;
		seen |= bit;
	}
	*present |= seen;
	return true;
}

void labels_read(struct labels *l, const char *text, int64_t *values, feature_set *present)
{
	if (l->n_lines && take(l, text, values, present))
		return;
	learn(l, text);
	(void)take(l, text, values, present);
}
