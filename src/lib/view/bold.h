/* Words that stand out, where the terminal has colors. */
#pragma once

#include <stdbool.h>

static inline const char *bold(bool colour)
{
	return colour ? "\033[1m" : "";
}

static inline const char *bold_off(bool colour)
{
	return colour ? "\033[0m" : "";
}
