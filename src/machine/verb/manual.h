/* The manual pages, in roff on standard output, from the tables of verbs, options and settings: whyslow(1), whyslow-VERB(1) and
 * whyslow.conf(5). `shared`: the options of all verbs. */
#pragma once

#include "machine/verb/verb.h"

#define MANUAL_SETTINGS "whyslow.conf"

void manual_overview(const struct option_row *shared);
void manual_verb(const struct verb *verb, const struct option_row *shared);
/* The values are those of `config`, as the defaults. 0 or -ENOMEM. */
int manual_settings(const struct config *config);
