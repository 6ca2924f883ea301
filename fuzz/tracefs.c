/* Pages of ftrace, and its format files. The first byte chooses: 0 = the rest is the text of a format file and of
 * a page header; else pages of one CPU. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/target.h"
#include "lib/data/cleanup.h"
#include "machine/tracefs/tracefs-events.h"

#define PAGE 256

static void parse_texts(const uint8_t *bytes, size_t n)
{
	_cleanup_free_ char *text = strndup((const char *)bytes, n);
	struct tracefs_layout l = {};

	for (int i = 0; text && i < POINT_COUNT; i++)
		(void)tracefs_parse_format(text, (enum trace_point)i, &l);
	if (text)
		(void)tracefs_parse_page_header(text, &l);
	tracefs_layout_free(&l);
}

/* Every point with all its values; its number is its place. */
static int make_layout(struct tracefs_layout *l)
{
	*l = (struct tracefs_layout){
		.page_size = PAGE, .page_time = {0, 8, false}, .page_commit = {8, 8, true}, .page_data = 16,
		.type = {0, 2, false}, .context = {2, 1, false}, .thread = {4, 4, true}, .states_mask = 0xff,
	};
	for (int i = 0; i < POINT_COUNT; i++) {
		l->points[i].there = true;
		for (uint16_t k = 0; k < TRACEFS_VALUES; k++)
			l->points[i].values[k] = (struct tracefs_field){(uint16_t)(8 + 4 * k), 4, true};
		l->points[i].text = (struct tracefs_field){28, 16, false};
		if (VEC_PUSH(l->of_id, (uint8_t)(i + 1)) < 0)
			return -ENOMEM;
	}
	for (int i = 0; i < 8; i++)
		l->states[i] = (uint8_t)(1 << i);
	return 0;
}

static void read_pages(const uint8_t *bytes, size_t n)
{
	struct tracefs_layout l;
	struct tracefs_pages p = {.layout = &l, .bytes = bytes, .n = n / PAGE};
	struct trace t;

	if (make_layout(&l) == 0 && trace_begin(&t, 1) == 0) {
		if (tracefs_translate(&p, 1, "/nowhere", UINT64_MAX, &t) == 0)
			(void)trace_finish(&t);
		trace_clear(&t);
	}
	tracefs_layout_free(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	if (n && bytes[0] == 0)
		parse_texts(bytes + 1, n - 1);
	else if (n)
		read_pages(bytes + 1, n - 1);
	return 0;
}
