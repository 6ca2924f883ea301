/* Parts of recordings and traces that claim much in few bytes, for tests/hostile-recording: make-hostile FOLDER
 *
 *   ticks.chunk     20 million ticks
 *   members.chunk   65,536 processes
 *   rows.summary    10 million rows
 *   events.trace    65 million events
 *   threads.trace   processes without end
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "lib/data/str.h"
#include "machine/chunk/chunk-layout.h"
#include "machine/model/entity.h"
#include "machine/recording/summary-rows.h"
#include "machine/trace/trace-file.h"
#include "machine/trace/trace-sections.h"

#define TICKS	 (20u << 20)
#define MEMBERS	 (64u << 10)
#define ROWS	 (10u << 20)
#define BLOCKS	 1000
#define THREADS	 (4u << 20)
#define WHOLE	 ((size_t)512 << 20)

static void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "make-hostile: %s\n", what);
	exit(1);
}

static void put_zeros(struct str *to, size_t n)
{
	check(str_reserve(to, n + 1) == 0, "memory");
	memset(to->data + to->len, 0, n);
	to->len += n;
}

static void pack(const struct str *raw, struct str *to)
{
	size_t n;

	check(!raw->error && str_reserve(to, ZSTD_compressBound(raw->len)) == 0, "memory");
	n = ZSTD_compress(to->data + to->len, ZSTD_compressBound(raw->len), raw->data, raw->len, 3);
	check(!ZSTD_isError(n), "zstd");
	to->len += n;
}

static void write_file(const char *folder, const char *name, const struct str *bytes)
{
	char path[4096];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	out = fopen(path, "w");
	check(out && fwrite(bytes->data, 1, bytes->len, out) == bytes->len && fclose(out) == 0, path);
}

/* --- chunks --- */

static void begin_chunk(struct str *meta, uint32_t n_ticks)
{
	str_put_varint(meta, CHUNK_MARK + CHUNK_VERSION);
	for (enum entity_kind kind = ENTITY_PROCESS; kind < ENTITY_KIND_END; kind++)
		str_put_varint(meta, 0); /* no feature */
	str_put_varint(meta, n_ticks);
	for (int i = 0; i < 3; i++) {
		str_put_varint(meta, n_ticks);
		put_zeros(meta, n_ticks);
	}
}

static void end_chunk(const char *folder, const char *name, struct str *meta)
{
	struct str packed = {.max = WHOLE}, chunk = {.max = WHOLE};
	uint32_t crc = 0;

	str_put_varint(meta, 0); /* notes */
	for (enum entity_kind kind = ENTITY_PROCESS; kind < ENTITY_KIND_END; kind++)
		str_put_varint(meta, 0); /* no column */
	pack(meta, &packed);
	str_append(&chunk, &crc, sizeof(crc));
	str_put_varint(&chunk, meta->len);
	str_put_blob(&chunk, packed.data, packed.len);
	crc = htole32((uint32_t)crc32(0, (const Bytef *)chunk.data + sizeof(crc), (uInt)(chunk.len - sizeof(crc))));
	memcpy(chunk.data, &crc, sizeof(crc));
	write_file(folder, name, &chunk);
	str_free(&packed);
	str_free(&chunk);
	str_free(meta);
}

static void put_process(struct str *meta, uint32_t id)
{
	struct entity_info info = {.id = id, .kind = ENTITY_PROCESS, .pid = id, .start = id, .name = (char *)"a"};
	struct str definition = {};

	entity_info_write(&info, &definition);
	str_put_blob(meta, definition.data, definition.len);
	str_put_varint(meta, 0);
	str_put_varint(meta, 0);
	str_free(&definition);
}

static void make_chunks(const char *folder)
{
	struct str meta = {.max = WHOLE};

	begin_chunk(&meta, TICKS);
	str_put_varint(&meta, 0);
	end_chunk(folder, "ticks.chunk", &meta);
	begin_chunk(&meta, 1);
	str_put_varint(&meta, MEMBERS);
	for (uint32_t i = 0; i < MEMBERS; i++)
		put_process(&meta, 1000000 + i);
	end_chunk(folder, "members.chunk", &meta);
}

static void make_summary(const char *folder)
{
	struct str raw = {.max = WHOLE}, out = {.max = WHOLE};

	str_put_varint(&raw, ROWS);
	for (int i = 0; i < PLANES; i++) {
		str_put_varint(&raw, ROWS);
		put_zeros(&raw, ROWS);
	}
	str_put_varint(&out, raw.len);
	pack(&raw, &out);
	write_file(folder, "rows.summary", &out);
	str_free(&raw);
	str_free(&out);
}

/* --- traces --- */

static void put_section(struct str *out, enum section kind, const struct str *raw)
{
	struct str packed = {.max = WHOLE};
	uint32_t of = htole32((uint32_t)kind);
	uint64_t sizes[2];

	if (raw->len)
		pack(raw, &packed);
	sizes[0] = htole64(raw->len);
	sizes[1] = htole64(packed.len);
	str_append(out, &of, sizeof(of));
	str_append(out, sizes, sizeof(sizes));
	str_append(out, packed.len ? packed.data : "", packed.len);
	str_free(&packed);
}

static void begin_trace(struct str *out, uint64_t n_events)
{
	uint32_t version = htole32(TRACE_FILE_VERSION);
	struct str meta = {};

	str_append(out, TRACE_MAGIC, 8);
	str_append(out, &version, sizeof(version));
	str_put_varint(&meta, 1); /* a CPU */
	put_zeros(&meta, 8);	  /* times, and what it has */
	for (int i = 0; i < 4; i++)
		str_put_blob(&meta, "x", 1);
	str_put_varint(&meta, n_events);
	put_section(out, SECTION_META, &meta);
	str_free(&meta);
}

static void make_traces(const char *folder)
{
	struct str out = {.max = WHOLE}, raw = {.max = WHOLE};

	begin_trace(&out, (uint64_t)BLOCKS * TRACE_BLOCK_EVENTS);
	str_put_varint(&raw, TRACE_BLOCK_EVENTS);
	put_zeros(&raw, (size_t)21 * TRACE_BLOCK_EVENTS);
	for (int i = 0; i < BLOCKS; i++)
		put_section(&out, SECTION_EVENTS, &raw);
	put_section(&out, SECTION_END, &(struct str){});
	write_file(folder, "events.trace", &out);
	str_clear(&out);
	str_clear(&raw);
	begin_trace(&out, 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		str_put_varint(&raw, 26);
		put_zeros(&raw, 26);
	}
	put_section(&out, SECTION_THREADS, &raw);
	put_section(&out, SECTION_END, &(struct str){});
	write_file(folder, "threads.trace", &out);
	str_free(&out);
	str_free(&raw);
}

int main(int argc, char **argv)
{
	check(argc == 2, "give a folder");
	make_chunks(argv[1]);
	make_summary(argv[1]);
	make_traces(argv[1]);
	return 0;
}
