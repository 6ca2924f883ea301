/* Programs of terminals that do not answer: what someone typed lies unread for six seconds (TIOCINQ of the terminal), once until it is read.
 *
 * Editors, pagers and shells at their prompt take each key as it comes (no ICANON), so the program in the terminal's foreground hangs, or
 * what it waits for does. Where the terminal collects lines, a line may be meant for the program that reads after a long command: it counts only
 * where the foreground process has waited for a CPU for most of these seconds (/proc/PID/schedstat): it is ready to run, but late.
 * Terminals of this user's sessions only; a session that has just begun is seen within ten seconds.
 */
#pragma once

#include <stdint.h>
#include <systemd/sd-event.h>

#define HUNG_TERMINAL_ROUND 2 /* seconds */
#define HUNG_TERMINAL_HOW   "does not read what was typed on its terminal"

struct hung_terminals;

/* `hangs` is called with the process and how it hangs. NULL = no memory. */
struct hung_terminals *hung_terminals_new(const char *proc_root, void (*hangs)(uint32_t pid, const char *how, void *data), void *data);
/* One look, as it is due each HUNG_TERMINAL_ROUND seconds. */
void hung_terminals_look(struct hung_terminals *h);
/* From now on the loop looks. 0 or -errno. */
int hung_terminals_attach(struct hung_terminals *h, sd_event *event);
/* NULL is allowed. */
void hung_terminals_free(struct hung_terminals *h);
