/* Writes that fail, or that are the last thing a process does.
 *
 * fault.c takes the place of the C library's functions that change files, for SQLite's writes and the program's own. It counts the
 * calls that concern files below a folder, and does what is planned at one of them. Linked into a test, it is planned by fault_plan();
 * as an LD_PRELOAD of any program, by FAULT=KIND:CALL:FOLDER (kill, torn, EIO, ENOSPC, EROFS; "EIO+" fails from that call on).
 */
#pragma once

#include <stdbool.h>

#define FAULT_ASKED ".fails"

enum fault_kind {
	FAULT_NONE,
	FAULT_KILL,  /* SIGKILL in place of the call */
	FAULT_TORN,  /* SIGKILL after half of the bytes were written */
	FAULT_ERROR, /* the call fails, as `error` says */
};

struct fault_plan {
	enum fault_kind kind;
	unsigned call; /* the first is 1; 0 = while there is a file FOLDER.fails */
	bool lasts;    /* of an error: later calls fail, too, until the next plan */
	int error;
	const char *folder;  /* must outlive the plan */
	const char *durable; /* NULL, or a folder that gets a copy of each file whenever it is synced: what a power cut leaves */
};

/* Counts from 0 again. NULL: no more faults. */
void fault_plan(const struct fault_plan *plan);
/* How many calls were counted since. */
unsigned fault_calls(void);
