/* Completion of shells, from the verb and option tables. Each prints a file that the shell loads. */
#pragma once

#include "machine/verb/verb.h"

/* `shared`: the options of all verbs. */
void completion_bash(const struct option_row *shared);
void completion_zsh(const struct option_row *shared);
void completion_fish(const struct option_row *shared);
