/* Within this room: what writer and reader of pprof share. */
#pragma once

#include "machine/trace/pprof.h"

#define PROFILE_SAMPLE_NS (1000000000 / 49)

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
};

enum pprof_word { WORD_CPU, WORD_WAIT, WORD_NS, WORD_PROGRAM, WORD_MINUTE, WORD_UID, WORD_WOKEN_BY, WORD_COUNT };

const char *pprof_word(enum pprof_word word);
