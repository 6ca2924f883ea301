/* How late a program of normal priority comes to run, all the time: a thread that wants to run every few
 * milliseconds.
 *
 * The recorder's probe asks once a second, and costs nothing; this one is for the seconds of an experiment.
 */
#pragma once

struct pulse;

/* 0 or -errno. */
int pulse_start(struct pulse **ret);
void pulse_stop(struct pulse *p);
/* ns it was late on average since the last call; NaN: it has not come to run at all. What it waits just now
 * counts as long as it waited so far. */
double pulse_take(struct pulse *p);
