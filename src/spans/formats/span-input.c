#include "spans/formats/span-input.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/data/cleanup.h"
#include "lib/input/stream.h"

#define JOINED	 4096		   /* bytes that are copied at least where two pieces meet */
#define GONE	 UINT64_MAX

struct input_file {
	pthread_mutex_t lock; /* all below */
	pthread_cond_t moved;
	struct stream *stream;
	bool reading, ended, broken;
	uint64_t produced; /* pieces */
	unsigned n_readers, n_slots;
	uint64_t *taken; /* by reader: how many pieces it is done with; GONE = closed */
	struct slot {
		uint8_t *data;
		size_t n;
	} *slots; /* piece i is in i % n_slots */
};

static void file_free(struct input_file *f)
{
	stream_close(f->stream);
	for (unsigned i = 0; f->slots && i < f->n_slots; i++)
		free(f->slots[i].data);
	FREE_ALL(f->slots, f->taken);
	pthread_cond_destroy(&f->moved);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

int input_file_open(const char *path, unsigned readers, struct input_file **ret)
{
	struct input_file *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->moved, NULL);
	f->n_readers = readers;
	f->n_slots = readers > 1 ? INPUT_AHEAD : 1;
	f->taken = calloc(readers, sizeof(*f->taken));
	f->slots = calloc(f->n_slots, sizeof(*f->slots));
	r = f->taken && f->slots ? stream_open(path, &f->stream) : -ENOMEM;
	if (r < 0) {
		file_free(f);
		return r;
	}
	*ret = f;
	return 0;
}

bool input_is_plain(const char *path)
{
	struct stat st;
	struct stream *s;
	bool plain;

	if (!strcmp(path, "-") || stat(path, &st) < 0 || !S_ISREG(st.st_mode) || stream_open(path, &s) < 0)
		return false;
	plain = !stream_is_packed(s);
	stream_close(s);
	return plain;
}

static uint64_t slowest(const struct input_file *f)
{
	uint64_t least = GONE;

	for (unsigned i = 0; i < f->n_readers; i++)
		least = f->taken[i] < least ? f->taken[i] : least;
	return least;
}

/* A whole piece, also of a pipe that gives little at a time: how many bytes; *ret_end = 1 at the end, or -errno. */
static size_t read_piece(struct stream *s, uint8_t *to, int *ret_end)
{
	size_t n = 0;

	*ret_end = 0;
	while (n < INPUT_PIECE && *ret_end == 0) {
		ssize_t got = stream_read(s, to + n, INPUT_PIECE - n);

		if (got > 0)
			n += (size_t)got;
		else
			*ret_end = got < 0 ? (int)got : 1;
	}
	return n;
}

/* Reads the next piece into its slot, which nothing looks at any more; the lock is held, but not while it reads. */
static int produce(struct input_file *f)
{
	struct slot *s = &f->slots[f->produced % f->n_slots];
	size_t got;
	int end;

	if (!s->data)
		s->data = malloc(INPUT_PIECE);
	if (!s->data)
		return -ENOMEM;
	f->reading = true;
	pthread_mutex_unlock(&f->lock);
	got = read_piece(f->stream, s->data, &end);
	pthread_mutex_lock(&f->lock);
	f->reading = false;
	f->broken |= end < 0;
	f->ended |= end != 0;
	if (got > 0) {
		s->n = got;
		f->produced++;
	}
	pthread_cond_broadcast(&f->moved);
	return 0;
}

/* Piece `i`; 0 bytes at the end. 0 or -ENOMEM. */
static int take(struct input_file *f, uint64_t i, const uint8_t **ret, size_t *ret_n)
{
	int r = 0;

	*ret_n = 0;
	pthread_mutex_lock(&f->lock);
	while (r == 0 && i >= f->produced && !f->ended) {
		if (f->reading || f->produced - slowest(f) >= f->n_slots)
			pthread_cond_wait(&f->moved, &f->lock);
		else
			r = produce(f);
	}
	if (r == 0 && i < f->produced) {
		*ret = f->slots[i % f->n_slots].data;
		*ret_n = f->slots[i % f->n_slots].n;
	}
	pthread_mutex_unlock(&f->lock);
	return r;
}

/* This reader is done with the pieces before `i`. */
static void give_back(struct input_file *f, unsigned reader, uint64_t i)
{
	pthread_mutex_lock(&f->lock);
	f->taken[reader] = i;
	pthread_cond_broadcast(&f->moved);
	pthread_mutex_unlock(&f->lock);
}

int input_open(struct input *in, const char *path)
{
	struct input_file *file;
	int r = input_file_open(path, 1, &file);

	*in = (struct input){};
	if (r == 0)
		input_open_shared(in, path, file, 0);
	return r;
}

void input_open_shared(struct input *in, const char *path, struct input_file *file, unsigned reader)
{
	*in = (struct input){.name = strcmp(path, "-") ? path : "standard input", .file = file, .reader = reader};
}

void input_of_memory(struct input *in, const char *name, const void *bytes, size_t n)
{
	*in = (struct input){.name = name, .data = bytes, .n = n, .ended = true};
}

void input_close(struct input *in)
{
	if (in->file) {
		bool last;

		pthread_mutex_lock(&in->file->lock);
		in->file->taken[in->reader] = GONE;
		last = slowest(in->file) == GONE;
		pthread_cond_broadcast(&in->file->moved);
		pthread_mutex_unlock(&in->file->lock);
		if (last)
			file_free(in->file);
		free(in->joined);
	}
	*in = (struct input){};
}

static int make_room(struct input *in, size_t n)
{
	size_t want = in->allocated ? in->allocated : 4 * JOINED;
	uint8_t *grown;

	if (n > INPUT_PIECE_MAX + INPUT_PIECE)
		return -E2BIG;
	while (want < n)
		want *= 2;
	if (want == in->allocated)
		return 0;
	grown = realloc(in->joined, want);
	if (!grown)
		return -ENOMEM;
	if (in->data == in->joined)
		in->data = grown;
	in->joined = grown;
	in->allocated = want;
	return 0;
}

/* What is left of what is looked at becomes the tail before the next piece. */
static int next_piece(struct input *in)
{
	uint64_t taken = in->file->taken[in->reader]; /* nothing else writes it */
	size_t left = in->n - in->at;
	int r = make_room(in, left + JOINED);

	if (r < 0)
		return r;
	if (left)
		memmove(in->joined, in->data + in->at, left);
	in->before += in->at;
	in->at = 0;
	in->n = in->tail = left;
	in->data = in->joined;
	if (in->piece)
		give_back(in->file, in->reader, ++taken);
	in->piece = NULL;
	r = take(in->file, taken, &in->piece, &in->piece_n);
	if (r == 0 && !in->piece_n) {
		in->piece = NULL;
		in->ended = true;
		in->broken = in->file->broken;
	}
	return r;
}

/* Looks at the piece itself: nothing before it is needed any more. */
static void look_at_piece(struct input *in)
{
	in->at -= in->tail;
	in->before += in->tail;
	in->tail = 0;
	in->data = in->piece;
	in->n = in->piece_n;
}

/* More of the piece behind the tail. */
static int join(struct input *in, size_t n)
{
	size_t here = in->n - in->tail, more = in->at + n - in->n;
	int r;

	if (more < JOINED)
		more = JOINED;
	if (more > in->piece_n - here)
		more = in->piece_n - here;
	r = make_room(in, in->n + more);
	if (r < 0)
		return r;
	memcpy(in->joined + in->n, in->piece + here, more);
	in->n += more;
	return 0;
}

int64_t input_need(struct input *in, size_t n)
{
	int r = 0;

	if (n > INPUT_PIECE_MAX && !in->ended)
		return -E2BIG;
	while (r == 0 && in->n - in->at < n && !in->ended) {
		if (in->piece && in->data != in->piece && in->at >= in->tail)
			look_at_piece(in);
		else if (in->piece && in->data != in->piece && in->n - in->tail < in->piece_n)
			r = join(in, n);
		else
			r = next_piece(in);
	}
	return r < 0 ? r : (int64_t)(in->n - in->at);
}
