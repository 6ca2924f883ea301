#include "machine/view-why/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAR_ABOVE_ZERO 0.8 /* share of the most that the least must reach for the axis to begin there */

/* Unicode 2800..28ff: the bit of a dot by column and row. */
static const uint8_t bits[2][4] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};

static void find_range(const struct curve *c, struct plot *p)
{
	double low = INFINITY, high = -INFINITY;

	for (size_t i = 0; i < c->n; i++) {
		if (isnan(c->mean[i]))
			continue;
		low = fmin(low, c->low[i]);
		high = fmax(high, c->high[i]);
	}
	p->top = isfinite(high) && high > 0 ? high : 1;
	p->bottom = isfinite(low) && (low < 0 || low > FAR_ABOVE_ZERO * high) && low < high ? low : 0;
}

static int row_of(const struct plot *p, double value)
{
	int rows = p->height * 4, row = (int)lround((value - p->bottom) / (p->top - p->bottom) * (rows - 1));

	row = row < 0 ? 0 : row >= rows ? rows - 1 : row;
	return rows - 1 - row;
}

static void put_dot(struct plot *p, int x, int row)
{
	p->dots[row / 4 * p->width + x / 2] |= bits[x % 2][row % 4];
}

/* From the least to the most of the points that fall on one column of dots, joined to the column before, whose middle
 * row is *row (-1 = nothing there). */
static void put_column(struct plot *p, const struct curve *c, int x, int *row)
{
	size_t from = (size_t)x * c->n / (size_t)(p->width * 2), to = (size_t)(x + 1) * c->n / (size_t)(p->width * 2);
	double low = INFINITY, high = -INFINITY;
	int begin, end;

	for (size_t i = from; i < (to > from ? to : from + 1) && i < c->n; i++) {
		if (isnan(c->mean[i]))
			continue;
		low = fmin(low, c->low[i]);
		high = fmax(high, c->high[i]);
	}
	if (!isfinite(low)) {
		*row = -1;
		return;
	}
	begin = row_of(p, high);
	end = row_of(p, low);
	if (*row >= 0) {
		begin = *row + 1 < begin ? *row + 1 : begin;
		end = *row - 1 > end ? *row - 1 : end;
	}
	for (int y = begin; y <= end; y++)
		put_dot(p, x, y);
	*row = (row_of(p, high) + row_of(p, low)) / 2;
}

struct plot plot_of(const struct curve *c, int width, int height)
{
	struct plot p = {.width = width, .height = height, .dots = calloc((size_t)width * (size_t)height, 1)};

	int row = -1;

	if (!p.dots)
		return (struct plot){};
	find_range(c, &p);
	for (int x = 0; c->n && x < width * 2; x++)
		put_column(&p, c, x, &row);
	return p;
}

void plot_free(struct plot *p)
{
	free(p->dots);
	*p = (struct plot){};
}

const char *plot_cell(const struct plot *p, int x, int y, char ret[PLOT_CELL])
{
	unsigned code;

	if (x < 0 || y < 0 || x >= p->width || y >= p->height || !p->dots[y * p->width + x])
		return " ";
	code = 0x2800u + p->dots[y * p->width + x];
	snprintf(ret, PLOT_CELL, "%c%c%c", (char)(0xe0 | code >> 12), (char)(0x80 | (code >> 6 & 0x3f)), (char)(0x80 | (code & 0x3f)));
	return ret;
}

static const char *spark_bar(double value, double low, double high)
{
	static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

	if (isnan(value))
		return " ";
	return bars[high > low ? (size_t)((value - low) / (high - low) * 7.0 + 0.5) : 0];
}

char *plot_sparkline(const float values[SPARK_POINTS], char buf[SPARKLINE_SIZE])
{
	double low = INFINITY, high = -INFINITY;
	char *end = buf;

	/* a NaN is neither; with fmin() and fmax() the compiler of Debian 12 for arm64 crashes on this loop */
	for (size_t i = 0; i < SPARK_POINTS; i++) {
		low = (double)values[i] < low ? (double)values[i] : low;
		high = (double)values[i] > high ? (double)values[i] : high;
	}
	if (low > 0 && low < high / 2)
		low = 0;
	for (size_t i = 0; i < SPARK_POINTS; i++)
		end = stpcpy(end, spark_bar((double)values[i], low, high));
	return buf;
}
