#include "machine/flight/flight.h"

#include <errno.h>
#include <stdlib.h>

#include "machine/tracefs/tracefs.h"

struct flight {
	struct ring *ring; /* one of the two */
	struct tracefs *tracefs;
};

static int open_tracefs(const struct ring_options *options, struct flight *f, const char **ret_why)
{
	struct tracefs_options trace = {.bytes = options->bytes ? options->bytes : ring_default_bytes()};

	return tracefs_open(&trace, &f->tracefs, ret_why);
}

/* Without rights, or without memory, the other way would fail as well; and the first reason is the one to be reported. */
static bool may_fall_back(int r)
{
	return r != -EPERM && r != -ENOMEM;
}

int flight_open(const struct flight_options *options, struct flight **ret, const char **ret_why)
{
	struct flight *f = calloc(1, sizeof(*f));
	const char *unused = NULL;
	int r;

	if (!f)
		return -ENOMEM;
	if (options->without_bpf) {
		r = open_tracefs(&options->ring, f, ret_why);
	} else {
		r = ring_open(&options->ring, &f->ring, ret_why);
		if (r < 0 && may_fall_back(r) && open_tracefs(&options->ring, f, &unused) == 0)
			r = 0;
	}
	if (r < 0) {
		free(f);
		return r;
	}
	*ret = f;
	return 0;
}

void flight_close(struct flight *f)
{
	if (!f)
		return;
	ring_close(f->ring);
	tracefs_close(f->tracefs);
	free(f);
}

struct ring *flight_ring(struct flight *f)
{
	return f ? f->ring : NULL;
}

int flight_attach(struct flight *f)
{
	return f->ring ? ring_attach(f->ring) : 0;
}

int flight_inherit(struct flight *f)
{
	return f->ring ? ring_inherit(f->ring) : -EOPNOTSUPP;
}

int flight_freeze_since(struct flight *f, uint64_t since, size_t most, struct trace *ret)
{
	return f->ring ? ring_freeze_since(f->ring, since, most, ret) : tracefs_freeze_since(f->tracefs, since, ret);
}

void flight_turn(struct flight *f)
{
	if (f->ring)
		ring_turn(f->ring);
}

void flight_profile(struct flight *f, bool on)
{
	if (f->ring)
		ring_profile(f->ring, on);
}

char *flight_missing(const struct flight *f)
{
	return f->ring ? ring_missing() : tracefs_missing(f->tracefs);
}
