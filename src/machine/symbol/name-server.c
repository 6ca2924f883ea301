#include "machine/symbol/name-server.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "machine/symbol/elf-check.h"
#include "machine/symbol/jit.h"
#include "machine/symbol/object.h"

/* --- symbols as bytes --- */

#define BIT_BOUNDED 1
#define BIT_INLINED 2

static void put_text(struct str *out, const char *text)
{
	(void)str_put_blob(out, text ? text : "", text ? strnlen(text, NAME_LENGTH_MAX) : 0);
}

/* A symbol without its module, which the one who asks knows. */
static void name_server_put(struct str *out, const struct symbol *s)
{
	(void)str_put_varint(out, s->nameless);
	(void)str_put_varint(out, (s->bounded ? BIT_BOUNDED : 0) | (s->inlined ? BIT_INLINED : 0));
	(void)str_put_varint(out, s->module_offset);
	(void)str_put_varint(out, s->offset);
	(void)str_put_varint(out, s->line);
	put_text(out, s->name);
	put_text(out, s->file);
}

int name_server_take(struct reader *in, struct symbol *ret, char **ret_name, char **ret_file)
{
	uint64_t nameless = reader_varint(in), bits = reader_varint(in);

	*ret = (struct symbol){.bounded = bits & BIT_BOUNDED, .inlined = bits & BIT_INLINED};
	ret->module_offset = reader_varint(in);
	ret->offset = reader_varint(in);
	ret->line = (uint32_t)reader_varint(in);
	*ret_name = reader_text(in);
	*ret_file = reader_text(in);
	if (in->bad || nameless >= NAMELESS_COUNT)
		return -EBADMSG;
	ret->nameless = (enum nameless)nameless;
	return 0;
}

/* --- objects --- */

/* A version stands behind it ("memcpy@@GLIBC_2.14"). */
static char *readable_name(const char *name)
{
	_cleanup_free_ char *plain = name ? strndup(name, strcspn(name, "@")) : NULL;
	char *written = plain ? symbol_demangle(plain) : NULL;

	return written ? written : TAKE(plain);
}

static int ask_for_debug_file(void *data, const struct build_id *id)
{
	_cleanup_str_ struct str question = {};

	(void)data;
	(void)str_put_blob(&question, id->bytes, id->size);
	return question.error ? question.error : sandbox_ask(&question);
}

static int take_file(struct sandbox_request *request, size_t index)
{
	return index < request->n_files ? TAKE_FD(request->files[index]) : -1;
}

static void close_object(struct name_server *s, uint64_t id)
{
	object_close(hmap_remove(&s->objects, id, 0));
}

static void open_object(struct name_server *s, struct sandbox_request *request, struct str *answer)
{
	uint64_t id = reader_varint(&request->bytes);
	_cleanup_free_ char *name = reader_text(&request->bytes);
	const struct build_id *build_id;
	struct object *o = NULL;
	int fd = take_file(request, 0);
	int r = fd < 0 || !name ? -EINVAL : object_open(fd, name, ask_for_debug_file, NULL, &o);

	close_object(s, id);
	if (r == 0 && hmap_put(&s->objects, id, 0, o) < 0) {
		object_close(o);
		r = -ENOMEM;
	}
	(void)str_put_svarint(answer, r);
	if (r < 0)
		return;
	build_id = object_build_id(o);
	(void)str_put_blob(answer, build_id->bytes, build_id->size);
}

static void put_renamed(struct str *answer, struct symbol s, const char *name)
{
	_cleanup_free_ char *readable = readable_name(name);

	s.name = readable;
	name_server_put(answer, &s);
}

static void put_lines(struct str *answer, const struct symbol *whole, const char *name, const struct source_line *lines, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct symbol s = *whole;

		s.file = lines[i].file;
		s.line = lines[i].line;
		if (!lines[i].function) {
			put_renamed(answer, s, name);
			continue;
		}
		s.inlined = true;
		s.offset = 0;
		s.bounded = false;
		s.nameless = NAMELESS_NOT;
		put_renamed(answer, s, lines[i].function);
	}
}

/* The innermost inlined call first, the real function last. */
static void name_place(struct name_server *server, struct sandbox_request *request, struct str *answer)
{
	struct object *o = hmap_get(&server->objects, reader_varint(&request->bytes), 0);
	uint64_t file_offset = reader_varint(&request->bytes);
	bool with_lines = reader_varint(&request->bytes);
	struct symbol whole = {.module_offset = file_offset, .nameless = NAMELESS_STRIPPED};
	struct source_line lines[INLINES_MAX];
	const struct function *f;
	uint64_t start;
	size_t n;

	if (!o || object_address(o, file_offset, &whole.module_offset) < 0) {
		whole.nameless = o ? NAMELESS_OUTSIDE : NAMELESS_GONE;
		(void)str_put_varint(answer, 1);
		name_server_put(answer, &whole);
		return;
	}
	f = object_function(o, whole.module_offset);
	if (f)
		whole.nameless = NAMELESS_NOT;
	if (object_function_start(o, whole.module_offset, &start) == 0) {
		whole.offset = whole.module_offset - start;
		whole.bounded = true;
	}
	n = with_lines ? object_lines(o, whole.module_offset, lines, INLINES_MAX) : 0;
	(void)str_put_varint(answer, n ? n : 1);
	if (n)
		put_lines(answer, &whole, f ? f->name : NULL, lines, n);
	else
		put_renamed(answer, whole, f ? f->name : NULL);
}

/* --- generated code --- */

static int read_map(int fd, struct jit_map **ret)
{
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	int r;

	if (!f) {
		if (fd >= 0)
			close(fd);
		return -EINVAL;
	}
	r = jit_map_parse(f, ret);
	fclose(f);
	return r;
}

static void open_map(struct name_server *s, struct sandbox_request *request, struct str *answer)
{
	uint64_t id = reader_varint(&request->bytes);
	struct jit_map *m = NULL;
	int r = read_map(take_file(request, 0), &m);

	jit_map_free(hmap_remove(&s->maps, id, 0));
	if (r == 0 && hmap_put(&s->maps, id, 0, m) < 0) {
		jit_map_free(m);
		r = -ENOMEM;
	}
	(void)str_put_svarint(answer, r);
}

static void name_generated(struct name_server *s, struct sandbox_request *request, struct str *answer)
{
	const struct jit_map *m = hmap_get(&s->maps, reader_varint(&request->bytes), 0);
	uint64_t address = reader_varint(&request->bytes), offset = 0;
	const char *name = m ? jit_map_find(m, address, &offset) : NULL;

	(void)str_put_varint(answer, offset);
	put_text(answer, name);
}

/* --- the rest --- */

static void identify(struct name_server *s, struct sandbox_request *request, struct str *answer)
{
	(void)s;
	for (size_t i = 0; i < request->n_files; i++) {
		struct build_id id = {};

		(void)elf_build_id_read(request->files[i], &id);
		(void)str_put_blob(answer, id.bytes, id.size);
	}
}

static void close_all(struct name_server *s, struct sandbox_request *request, struct str *answer)
{
	(void)request, (void)answer;
	HMAP_FOREACH(slot, &s->objects)
	object_close(slot->value);
	HMAP_FOREACH(slot, &s->maps)
	jit_map_free(slot->value);
	hmap_free(&s->objects);
	hmap_free(&s->maps);
}

void name_server_handle(void *data, struct sandbox_request *request, struct str *answer)
{
	static void (*const handlers[])(struct name_server *, struct sandbox_request *, struct str *) = {
		[NAME_OPEN] = open_object, [NAME_PLACE] = name_place,  [NAME_MAP] = open_map, [NAME_GENERATED] = name_generated,
		[NAME_IDENTIFY] = identify, [NAME_CLOSE] = close_all,
	};
	uint64_t kind = reader_varint(&request->bytes);

	if (kind < ARRAY_SIZE(handlers) && handlers[kind])
		handlers[kind](data, request, answer);
}
