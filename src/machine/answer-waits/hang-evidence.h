/* How likely it is that a hang is what makes the machine slow: the rows of evidence from EVIDENCE_EXCESS on (machine/findings/evidence.h).
 *
 * A wait counts where it is longer than its program's own waits, began lately, is for something that was asked for, and ends at a program that does not
 * mean to wait. A shell that reads what a polling script writes has none of these; a client whose request is not answered has all of them. */
#pragma once

#include "machine/answer-waits/hangs.h"

/* How much longer than normally, 0..1: before the chains are looked up, which takes long. */
double hang_excess(const struct dataset *d, const struct hang *h);
/* Whether it began with the incident or lately, 0..1. An older wait has not made the machine short of something since. All in wall ns; incident: when a
 * shortage began; 0 = there is none. */
double hang_novelty(int64_t since, int64_t at, int64_t incident);
/* All other rows and the score, by its chain. */
void hang_weigh(const struct dataset *d, const struct trace *trace, const char *proc_root, struct hang *h);
/* Has link i asked the next one for something, or does it want what that has? A thread that waits for another one of its own process, who waits for a
 * child, and who reads what others write when they please, have not. */
bool hang_link_wants(const struct hang *h, size_t i);
/* Does its chain end at another program, which does something else than wait for work or has not answered over TCP, or at another machine that does
 * not answer? */
bool hang_is_explained(const struct hang *h);
/* It has asked another machine itself, which does not answer, or the network loses what is sent; or its file system is frozen: no program here is
 * to blame. */
bool hang_ends_elsewhere(const struct hang *h);
