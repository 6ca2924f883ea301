/* `show` without a mark: the machine at one moment. */
#pragma once

#include "machine/verb/verb.h"

/* The options of `show` that only these panes have. */
#define BOARD_OPTIONS                                                                                                       \
	{OPTION_TEXT, 0, "feature", "NAME", &snapshot_arg_feature, "with --for: one feature over the window, as a curve"},      \
	{OPTION_TEXT, 0, "until", "TIME", &snapshot_arg_until, "end of the curve (default: a little after --at); --since is its start"},     \
	{OPTION_COUNT, 0, "points", "N", &snapshot_arg_points, "maximum number of points of a curve (default 600)"},             \
	{OPTION_FLAG, 0, "lives", NULL, &snapshot_arg_lives, "process lifetimes over the window (--since, --until)"},  \
	{OPTION_FLAG, 0, "follow", NULL, &snapshot_arg_follow, "repeat once a second (with --json: one line each)"}

extern const char *snapshot_arg_feature, *snapshot_arg_until;
extern uint64_t snapshot_arg_points;
extern bool snapshot_arg_follow, snapshot_arg_lives;

/* What to show: every process, the features of one (who), or one feature of it. */
struct snapshot_view {
	const char *at, *since, *who;
	int64_t window;
	unsigned processes;
};
int process_snapshot_show(struct common *common, const struct snapshot_view *view);
