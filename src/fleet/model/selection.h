/* The part of a source's input that the user asked for. */
#pragma once

#include <fnmatch.h>

#include "fleet/model/fleet-source.h"

static inline bool selection_wants_counter(const struct fleet_input *input, const char *counter)
{
	return !input->match || fnmatch(input->match, counter, 0) == 0;
}

static inline bool selection_wants_time(const struct fleet_input *input, int64_t time)
{
	return time >= input->from && time < input->to;
}
