/* Shared by `confirm` and `calm`. */
#pragma once

#include "machine/act/target.h"
#include "machine/verb/verb.h"

/* Where a word stands in a list of names; -1 = nowhere. */
int confirm_find_name(const char *text, const char *const *names, int n);
#define PIDS_MAX 256 /* held together */
/* "812,backup.sh": EXIT_ANSWERED; -EINVAL for none and more than `most`; an exit status, after saying so, where a word means no process or several. */
int confirm_parse_pids(const struct common *common, const char *text, uint32_t *ret, size_t most, size_t *ret_n);
/* The rights of the one who asks, for target_refuse(). */
struct refusal_options confirm_rights(const struct common *common, bool force);
/* Says what rights it takes, and returns EXIT_CANNOT. */
int confirm_print_no_rights(void);
