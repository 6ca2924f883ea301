#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "lib/data/cleanup.h"
#include "lib/data/vec.h"
#include "lib/store/blocks.h"
#include "machine/recording/internal.h"
#include "machine/recording/store.h"

#define REPORT_MAX ((size_t)8 << 20) /* of one capture, before it is compressed */

void capture_free(struct capture *c)
{
	FREE_ALL(c->summary, c->text, c->json);
	*c = (struct capture){};
}

/* A report compressed; the caller frees. */
static int pack(const char *report, void **ret, size_t *ret_n)
{
	size_t n = strlen(report), room = ZSTD_compressBound(n), used;
	_cleanup_free_ void *bytes = NULL;

	if (n > REPORT_MAX)
		return -E2BIG;
	bytes = malloc(room);
	if (!bytes)
		return -ENOMEM;
	used = blocks_pack_checked(bytes, room, report, n, 3);
	if (ZSTD_isError(used))
		return -ENOMEM;
	*ret = TAKE(bytes);
	*ret_n = used;
	return 0;
}

static char *read_report(sqlite3_stmt *stmt, int column)
{
	const void *bytes = sqlite3_column_blob(stmt, column);
	size_t n = (size_t)sqlite3_column_bytes(stmt, column);
	unsigned long long size = bytes ? ZSTD_getFrameContentSize(bytes, n) : ZSTD_CONTENTSIZE_ERROR;
	char *text;

	if (size > REPORT_MAX)
		return NULL;
	text = malloc((size_t)size + 1);
	if (!text || ZSTD_decompress(text, (size_t)size, bytes, n) != size) {
		free(text);
		return NULL;
	}
	text[size] = '\0';
	return text;
}

int store_capture(struct store *s, const struct capture *c)
{
	_cleanup_free_ void *text = NULL, *json = NULL;
	size_t n_text, n_json;
	int r = pack(c->text, &text, &n_text);

	r = r ?: pack(c->json, &json, &n_json);
	if (r < 0)
		return r;
	const struct mark_value values[] = {mark_value_of_number(c->mark),   mark_value_of_number(c->wall),     mark_value_of_number(c->pid),
					    mark_value_of_number(c->phase),  mark_value_of_text(c->summary),    mark_value_of_bytes(text, n_text),
					    mark_value_of_bytes(json, n_json)};

	return store_change_marks(s,
				  "INSERT OR REPLACE INTO %s.inspection(mark, wall, pid, phase, summary, text, json) "
				  "VALUES(?, ?, ?, ?, ?, ?, ?)",
				  values, ARRAY_SIZE(values));
}

int store_captures(struct store *s, int64_t mark, struct capture **ret, size_t *ret_n)
{
	static const char columns[] = "SELECT mark, wall, pid, phase, summary, text, json FROM ";
	VEC(struct capture) list = {};
	_cleanup_statement_ sqlite3_stmt *stmt = NULL;
	char sql[300];

	snprintf(sql, sizeof(sql), "%s main.inspection WHERE mark = ?1 %s%s%s ORDER BY wall", columns,
		 s->marks_in_run ? "UNION " : "", s->marks_in_run ? columns : "",
		 s->marks_in_run ? "run.inspection WHERE mark = ?1" : "");
	*ret = NULL;
	*ret_n = 0;
	if (store_prepare(s, sql, &stmt, mark) < 0)
		return 0; /* a recording from before there were captures */
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		struct capture c = {
			.mark = mark,
			.wall = sqlite3_column_int64(stmt, 1),
			.pid = (uint32_t)sqlite3_column_int64(stmt, 2),
			.phase = (uint32_t)sqlite3_column_int64(stmt, 3),
			.summary = database_text(stmt, 4),
			.text = read_report(stmt, 5),
			.json = read_report(stmt, 6),
		};

		str_make_lines_printable(c.text);
		str_make_json_printable(c.json);
		if (!c.summary || !c.text || !c.json || VEC_PUSH(list, c) < 0)
			capture_free(&c);
	}
	*ret = list.v;
	*ret_n = list.n;
	return 0;
}

static void begin_with(char **text, uint32_t phase)
{
	char *longer;

	if (asprintf(&longer, "phase %u: %s", phase, *text) < 0)
		return;
	free(*text);
	*text = longer;
}

int store_captures_by_phase(struct store *store, int64_t mark, struct capture **ret, size_t *ret_n)
{
	int r = store_captures(store, mark, ret, ret_n);
	uint32_t last = 0;

	for (size_t i = 0; i < *ret_n; i++)
		last = (*ret)[i].phase > last ? (*ret)[i].phase : last;
	for (size_t i = 0; last > 1 && i < *ret_n; i++) {
		if (!(*ret)[i].phase)
			continue;
		begin_with(&(*ret)[i].summary, (*ret)[i].phase);
		begin_with(&(*ret)[i].text, (*ret)[i].phase);
	}
	return r;
}
