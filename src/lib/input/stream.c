#include <sys/types.h>

#include "lib/input/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <iconv.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "lib/data/cleanup.h"

#define PIECE ((size_t)1 << 20)
#define INPUT ((size_t)256 << 10)

/* A format: unpacks from `in` (at .. end) into `to`; returns what it wrote, or -EBADMSG. */
struct format {
	const char *magic;
	size_t n_magic;
	int (*open)(struct stream *s);
	ssize_t (*unpack)(struct stream *s, char *to, size_t n);
	void (*close)(struct stream *s);
};

struct stream {
	int fd;
	uint64_t done;
	const struct format *format; /* NULL = plain */
	union {
		z_stream zlib;
		lzma_stream lzma;
		ZSTD_DStream *zstd;
		iconv_t utf16;
	};
	uint8_t *in;
	size_t in_at, in_n;
	bool in_end;  /* the file is read to its end */
	bool member;  /* within a compressed member: an end here is damage */
	char *piece;
	size_t kept_at, kept, allocated; /* the beginning of a line that the last piece did not hold the end of */
	bool begun;   /* a piece was returned */
	bool end;
};

/* Reads behind what is not consumed yet. */
static int read_more(struct stream *s)
{
	ssize_t n;

	memmove(s->in, s->in + s->in_at, s->in_n - s->in_at);
	s->in_n -= s->in_at;
	s->in_at = 0;
	do
		n = read(s->fd, s->in + s->in_n, INPUT - s->in_n);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -EIO;
	s->in_n += (size_t)n;
	s->done += (size_t)n;
	s->in_end = n == 0;
	return 0;
}

static int fill(struct stream *s)
{
	return s->in_at < s->in_n || s->in_end ? 0 : read_more(s);
}

static int zlib_open(struct stream *s)
{
	return inflateInit2(&s->zlib, 15 + 32) == Z_OK ? 0 : -ENOMEM;
}

static ssize_t zlib_unpack(struct stream *s, char *to, size_t n)
{
	int r;

	s->zlib.next_in = s->in + s->in_at;
	s->zlib.avail_in = (uInt)(s->in_n - s->in_at);
	s->zlib.next_out = (Bytef *)to;
	s->zlib.avail_out = (uInt)n;
	r = inflate(&s->zlib, Z_NO_FLUSH);
	s->in_at = s->in_n - s->zlib.avail_in;
	s->member = r != Z_STREAM_END;
	if (r == Z_STREAM_END)
		inflateReset(&s->zlib);
	return r == Z_OK || r == Z_STREAM_END || r == Z_BUF_ERROR ? (ssize_t)(n - s->zlib.avail_out) : -EBADMSG;
}

static void zlib_close(struct stream *s)
{
	inflateEnd(&s->zlib);
}

static int xz_open(struct stream *s)
{
	s->lzma = (lzma_stream)LZMA_STREAM_INIT;
	return lzma_stream_decoder(&s->lzma, (uint64_t)1 << 30, 0) == LZMA_OK ? 0 : -ENOMEM;
}

static ssize_t xz_unpack(struct stream *s, char *to, size_t n)
{
	lzma_ret r;
	size_t left;

	s->lzma.next_in = s->in + s->in_at;
	s->lzma.avail_in = s->in_n - s->in_at;
	s->lzma.next_out = (uint8_t *)to;
	s->lzma.avail_out = n;
	r = lzma_code(&s->lzma, LZMA_RUN);
	s->in_at = s->in_n - s->lzma.avail_in;
	left = s->lzma.avail_out; /* a fresh decoder knows of none */
	s->member = r != LZMA_STREAM_END;
	if (r == LZMA_STREAM_END) {
		lzma_end(&s->lzma);
		if (xz_open(s) < 0)
			return -ENOMEM;
	}
	return r == LZMA_OK || r == LZMA_STREAM_END || r == LZMA_BUF_ERROR ? (ssize_t)(n - left) : -EBADMSG;
}

static void xz_close(struct stream *s)
{
	lzma_end(&s->lzma);
}

static int zstd_open(struct stream *s)
{
	s->zstd = ZSTD_createDStream();
	return s->zstd ? 0 : -ENOMEM;
}

static ssize_t zstd_unpack(struct stream *s, char *to, size_t n)
{
	ZSTD_inBuffer in = {s->in, s->in_n, s->in_at};
	ZSTD_outBuffer out = {to, n, 0};
	size_t r = ZSTD_decompressStream(s->zstd, &out, &in);

	s->in_at = in.pos;
	s->member = r != 0;
	return ZSTD_isError(r) ? -EBADMSG : (ssize_t)out.pos;
}

static void zstd_close(struct stream *s)
{
	ZSTD_freeDStream(s->zstd);
}

static int utf16_open(struct stream *s)
{
	s->utf16 = iconv_open("UTF-8", "UTF-16");
	return s->utf16 == (iconv_t)-1 ? -errno : 0;
}

/* Half a character at the end of what was read is completed by more of the file. */
static ssize_t utf16_unpack(struct stream *s, char *to, size_t n)
{
	char *from = (char *)s->in + s->in_at, *out = to;
	size_t left = s->in_n - s->in_at;
	const bool whole = iconv(s->utf16, &from, &left, &out, &n) != (size_t)-1;
	int r = 0;

	if (!whole && errno == EILSEQ)
		return -EBADMSG;
	s->in_at = s->in_n - left;
	if (!whole && errno == EINVAL)
		r = read_more(s);
	s->member = s->in_at < s->in_n;
	return r < 0 ? r : out - to;
}

static void utf16_close(struct stream *s)
{
	iconv_close(s->utf16);
}

static const struct format formats[] = {
	{"\x1f\x8b", 2, zlib_open, zlib_unpack, zlib_close},
	{"\x28\xb5\x2f\xfd", 4, zstd_open, zstd_unpack, zstd_close},
	{"\xfd" "7zXZ", 5, xz_open, xz_unpack, xz_close},
	{"\xff\xfe", 2, utf16_open, utf16_unpack, utf16_close}, /* as Windows' tools and .NET write text */
	{"\xfe\xff", 2, utf16_open, utf16_unpack, utf16_close},
};

static int recognise(struct stream *s)
{
	int r = fill(s);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(formats); i++)
		if (s->in_n >= formats[i].n_magic && memcmp(s->in, formats[i].magic, formats[i].n_magic) == 0) {
			r = formats[i].open(s);
			s->format = r == 0 ? &formats[i] : NULL;
			break;
		}
	return r;
}

int stream_open(const char *path, struct stream **ret)
{
	struct stream *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return -ENOMEM;
	s->fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	s->in = malloc(INPUT);
	if (s->fd < 0)
		r = -errno;
	else if (!s->in)
		r = -ENOMEM;
	if (r == 0)
		r = recognise(s);
	if (r < 0) {
		stream_close(s);
		return r;
	}
	(void)posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	*ret = s;
	return 0;
}

void stream_close(struct stream *s)
{
	if (!s)
		return;
	if (s->format)
		s->format->close(s);
	if (s->fd >= 0)
		close(s->fd);
	FREE_ALL(s->in, s->piece, s);
}

bool stream_is_packed(const struct stream *s)
{
	return s->format;
}

static ssize_t read_plain(struct stream *s, char *to, size_t n)
{
	size_t buffered = s->in_n - s->in_at;
	ssize_t r;

	if (buffered) {
		n = n < buffered ? n : buffered;
		memcpy(to, s->in + s->in_at, n);
		s->in_at += n;
		return (ssize_t)n;
	}
	do
		r = read(s->fd, to, n);
	while (r < 0 && errno == EINTR);
	s->done += r > 0 ? (size_t)r : 0;
	return r < 0 ? -EIO : r;
}

ssize_t stream_read(struct stream *s, void *to, size_t n)
{
	if (!s->format)
		return read_plain(s, to, n);
	for (;;) {
		ssize_t got;

		if (fill(s) < 0)
			return -EIO;
		if (s->in_end && !s->member)
			return 0;
		got = s->format->unpack(s, to, n);
		if (got != 0)
			return got;
		if (s->in_end)
			return s->member ? -EBADMSG : 0;
	}
}

static int grow(struct stream *s, size_t want)
{
	char *grown;

	if (want <= s->allocated)
		return 0;
	if (want > STREAM_LINE_MAX)
		return -EBADMSG;
	grown = realloc(s->piece, want + 2);
	if (!grown)
		return -ENOMEM;
	s->piece = grown;
	s->allocated = want;
	return 0;
}

/* The last line may lack its end. */
static int last_piece(struct stream *s, char **ret_piece, size_t *ret_n)
{
	s->end = true;
	if (!s->kept)
		return 0;
	if (s->piece[s->kept - 1] != '\n')
		s->piece[s->kept++] = '\n';
	s->piece[s->kept] = 0;
	*ret_piece = s->piece;
	*ret_n = s->kept;
	return 1;
}

/* A table is known by its first two lines, which may be long. A short line of a pipe waits for no other. */
static bool is_lone_header(struct stream *s, const char *newline, size_t n)
{
	const bool is = !s->begun && n >= PIECE && !memchr(s->piece, '\n', (size_t)(newline - s->piece));

	s->begun = !is;
	return is;
}

int stream_next(struct stream *s, char **ret_piece, size_t *ret_n)
{
	int r;

	if (s->end)
		return 0;
	if (s->kept)
		memmove(s->piece, s->piece + s->kept_at, s->kept);
	for (;;) {
		size_t n = s->kept;
		ssize_t got;
		char *newline;

		r = grow(s, n + PIECE);
		if (r < 0)
			return r;
		got = stream_read(s, s->piece + n, PIECE);
		if (got < 0)
			return (int)got;
		if (got == 0)
			return last_piece(s, ret_piece, ret_n);
		newline = memrchr(s->piece + n, '\n', (size_t)got);
		n += (size_t)got;
		s->kept = n;
		if (!newline || is_lone_header(s, newline, n))
			continue;
		s->kept_at = (size_t)(newline + 1 - s->piece);
		s->kept = n - s->kept_at;
		*ret_piece = s->piece;
		*ret_n = s->kept_at;
		break;
	}
	/* The NUL behind the piece stands in front of what is kept: so what is kept moves up by one. */
	memmove(s->piece + s->kept_at + 1, s->piece + s->kept_at, s->kept);
	s->piece[s->kept_at++] = 0;
	return 1;
}

int stream_read_all(const char *path, struct str *out)
{
	char piece[65536];
	struct stream *s;
	ssize_t n;
	int r = stream_open(path, &s);

	if (r < 0)
		return r;
	while ((n = stream_read(s, piece, sizeof(piece))) > 0 && str_append(out, piece, (size_t)n) == 0)
		;
	stream_close(s);
	return n < 0 ? (int)n : out->error;
}

void stream_head(const char *path, char *to, size_t n)
{
	struct stream *s;
	ssize_t got = 0;

	if (stream_open(path, &s) == 0) {
		got = stream_read(s, to, n - 1);
		stream_close(s);
	}
	to[got > 0 ? got : 0] = '\0';
}

uint64_t stream_done(const struct stream *s)
{
	return s->done;
}
