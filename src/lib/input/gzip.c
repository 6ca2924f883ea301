#include "lib/input/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#define PIECE	     (32 << 10)
#define WINDOW_GZIP  (15 + 16)
#define WINDOW_EITHER (15 + 32)
#define LEVEL	     1 /* a quarter of the default's time for a tenth more bytes */

struct gzip_stream {
	z_stream z;
};

static int deflate_into(z_stream *z, const void *bytes, size_t n, int flush, struct str *out)
{
	int code, r;

	z->next_in = (Bytef *)bytes;
	z->avail_in = (uInt)n;
	do {
		r = str_reserve(out, PIECE);
		if (r < 0)
			return r;
		z->next_out = (Bytef *)out->data + out->len;
		z->avail_out = PIECE;
		code = deflate(z, flush);
		out->len += PIECE - z->avail_out;
	} while (z->avail_out == 0 && code == Z_OK);
	return 0;
}

int gzip_pack(const void *bytes, size_t n, struct str *out)
{
	z_stream z = {};
	int r;

	if (deflateInit2(&z, LEVEL, Z_DEFLATED, WINDOW_GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	r = deflate_into(&z, bytes, n, Z_FINISH, out);
	deflateEnd(&z);
	return r;
}

/* To the end of a member. Z_STREAM_END, another code of zlib's, or -errno of `out`. */
static int inflate_member(z_stream *z, struct memory_budget *budget, struct str *out)
{
	int code = Z_OK, r;

	while (code == Z_OK) {
		size_t room = out->max && out->max - out->len - 1 < PIECE ? out->max - out->len - 1 : PIECE;

		r = str_reserve(out, room ? room : 1);
		if (r < 0)
			return r;
		if (memory_budget_take(budget, room, 1) < 0)
			return -EDQUOT;
		z->next_out = (Bytef *)out->data + out->len;
		z->avail_out = (uInt)room;
		code = inflate(z, Z_NO_FLUSH);
		out->len += room - z->avail_out;
		memory_budget_give(budget, z->avail_out, 1);
	}
	return code == Z_STREAM_END ? Z_STREAM_END : -EBADMSG;
}

int gzip_unpack(const void *bytes, size_t n, struct memory_budget *budget, struct str *out)
{
	z_stream z = {.next_in = (Bytef *)bytes, .avail_in = (uInt)n};
	int r;

	if (inflateInit2(&z, WINDOW_EITHER) != Z_OK)
		return -ENOMEM;
	r = inflate_member(&z, budget, out);
	inflateEnd(&z);
	return r < 0 ? r : str_append(out, "", 0);
}

int gzip_unpack_members(const void *bytes, size_t n, struct str *out)
{
	z_stream z = {.next_in = (Bytef *)bytes, .avail_in = (uInt)n};
	size_t whole = out->len;
	int r;

	if (inflateInit2(&z, WINDOW_EITHER) != Z_OK)
		return -ENOMEM;
	do {
		r = inflate_member(&z, NULL, out);
		if (r == Z_STREAM_END)
			whole = out->len;
	} while (r == Z_STREAM_END && z.avail_in && inflateReset(&z) == Z_OK);
	inflateEnd(&z);
	if (r == -EBADMSG && whole)
		out->len = whole;
	else if (r < 0)
		return r;
	return str_append(out, "", 0);
}

struct gzip_stream *gzip_stream_new(void)
{
	struct gzip_stream *s = calloc(1, sizeof(*s));

	if (s && deflateInit2(&s->z, LEVEL, Z_DEFLATED, WINDOW_GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(s);
		return NULL;
	}
	return s;
}

int gzip_stream_add(struct gzip_stream *s, const void *bytes, size_t n, struct str *out)
{
	return deflate_into(&s->z, bytes, n, Z_SYNC_FLUSH, out);
}

int gzip_stream_end(struct gzip_stream *s, struct str *out)
{
	return deflate_into(&s->z, NULL, 0, Z_FINISH, out);
}

void gzip_stream_free(struct gzip_stream *s)
{
	if (!s)
		return;
	deflateEnd(&s->z);
	free(s);
}
