/* The flight recorder, by whatever this kernel allows: the ring's BPF programs, or without BTF a trace instance. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine/events/trace.h"
#include "machine/flight/ring.h"

struct flight;

struct flight_options {
	struct ring_options ring;
	bool without_bpf; /* the trace instance in any case */
};

/* 0, or -errno; *ret_why in words (static): why there is none, or why it is a trace instance, which is not asked for. */
int flight_open(const struct flight_options *options, struct flight **ret, const char **ret_why);
void flight_close(struct flight *f);
/* The ring's, or NULL where there is none: a trace instance adds nothing up. */
struct ring *flight_ring(struct flight *f);

/* As those of the ring; a trace instance records from flight_open() on and takes no samples. */
int flight_attach(struct flight *f);
/* most: a trace instance gives all there are */
int flight_freeze_since(struct flight *f, uint64_t since, size_t most, struct trace *ret);
/* As ring_inherit(); -EOPNOTSUPP for a trace instance, which only the process that opened it can read. */
int flight_inherit(struct flight *f);
void flight_turn(struct flight *f);
void flight_profile(struct flight *f, bool on);
/* The gaps in what it can record here, a line each; the caller's. NULL = nothing is missing. */
char *flight_missing(const struct flight *f);
