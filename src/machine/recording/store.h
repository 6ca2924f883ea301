/* The recording on disk: one SQLite file, and in front of it a journal in memory-backed /run.
 *
 *   journal   RUN/journal/<segment>   frames of a segment, appended every tick by the sampler: survives kill -9
 *   raw       rows of frames, copied from the journal every 10 s under load: survives a power cut
 *   chunk     a finished segment (10 minutes), compacted; replaces its raw rows and its journal file
 *
 * A segment's id is its start in wall time, ms, or the next number that no segment has. Where the clock was set back their times overlap;
 * the order in which they were written is kept next to them, with the boot and its clock. One process writes; any number read (WAL). Errors come as -errno and, in words that say what to do, from store_error().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/str.h"
#include "lib/stat/quantiles.h"
#include "machine/findings/feedback.h"
#include "machine/model/dataset.h"
#include "machine/model/filter.h"

struct store;

struct store_paths {
	const char *file;    /* the SQLite file */
	const char *run_dir; /* where the journal is; NULL = none */
};

/* MARK: to read, and to write marks; next to a running recorder that touches no disk. Without a run directory a recording is another machine's, or of the
 * past, and only read: -EROFS. */
enum store_mode { STORE_READ, STORE_MARK, STORE_WRITE };

/* The marks alone of the recorder that runs: no disk is touched, and no lock of the recording is waited for. Of the functions below
 * those about marks may be called. As store_open(); -ENOENT: no recorder runs. */
int store_open_press(const char *run_dir, struct store **ret, char **ret_error);
/* -ENOENT: nothing recorded there. -EPROTONOSUPPORT: written by a newer version. -EUCLEAN: damaged. -ENOSPC, -EROFS,
 * -EACCES as normally. *ret_error (caller frees) says it in words. */
int store_open(const struct store_paths *paths, enum store_mode mode, struct store **ret, char **ret_error);
void store_close(struct store *s);
static inline void store_cleanup(struct store **s)
{
	store_close(*s);
}
#define _cleanup_store_ _cleanup_(store_cleanup)
const char *store_error(const struct store *s);
/* Its path, as it was opened. */
const char *store_file(const struct store *s);
/* Whether a recorder that writes another recording has the run directory: its journal and marks are not read then. */
bool store_run_dir_is_foreign(const struct store *s);
/* Of a step that returned `r` < 0 and may have failed elsewhere: store_error(), or what `r` means where the store itself has none. */
const char *store_reason(const struct store *s, int r);

/* The times of what was found damaged since the store was opened, for people: "Fri 2026-11-20 14:30:00 to 14:39:59". The caller
 * frees; NULL where nothing was. */
char *store_damage(const struct store *s);

/* The highest entity id ever given out in this store, journal included. */
int store_highest_entity(struct store *s, uint32_t *ret);

/* Everything in [from, to] (wall ns), oldest first: chunks, raw rows, the journal's tail. *ret_damaged counts
 * segments of which a part could not be read. */
int store_load(struct store *s, int64_t from, int64_t to, struct dataset *into, unsigned *ret_damaged);
/* Decodes only what the filter wants: the others' series stay empty, and entities it does not want are not there. */
int store_load_filtered(struct store *s, int64_t from, int64_t to, const struct load_filter *filter, struct dataset *into,
			unsigned *ret_damaged);

/* Who was there and when, of those for whom `wanted` gives other than 0; nothing of what they did, and no more of the file than
 * says so. */
int store_load_entities(struct store *s, int64_t from, int64_t to, feature_set (*wanted)(const struct entity_info *info, void *data),
			void *data, struct dataset *into, unsigned *ret_damaged);
/* As `wanted`: all processes. */
feature_set store_wants_processes(const struct entity_info *info, void *data);

/* A part of the recording, read once and decoded as often as more of it is wanted; its ticks are the same each time. */
struct extract; /* the store must outlive it */
int store_extract(struct store *s, int64_t from, int64_t to, struct extract **ret);
/* The same of those segments alone that have a part of the same hour of each day (store_is_same_hour() of `to`). */
int store_extract_same_hour(struct store *s, int64_t from, int64_t to, struct extract **ret);
/* Does any of [first, last] lie within half an hour of the same time of day as `at`: any whole number of days from it? */
bool store_is_same_hour(int64_t first, int64_t last, int64_t at);
/* The same of a moment of an earlier day: what is less than half a day ago is today's. */
bool store_is_same_hour_before(int64_t wall, int64_t at);
/* As store_load_filtered(). */
int extract_load(struct extract *e, const struct load_filter *filter, struct dataset *into, unsigned *ret_damaged);
void extract_close(struct extract *e);

/* What is kept next to the chunks of each series that changed, and longer than they are: by the hour and by the day, for
 * each program. */
enum summary_tier { SUMMARY_SEGMENT = 0, SUMMARY_HOUR = 1, SUMMARY_DAY = 2 };
struct summary {
	int64_t from, to;    /* wall ns */
	uint32_t entity;     /* 0 in tiers: all instances of the program */
	const char *program; /* entity_program(); belongs to the store's reader */
	enum entity_kind kind;
	int feature;		       /* index into features_of(kind) */
	struct distribution distribution; /* of rates per second, or of levels; n = ticks it was there */
};
/* Calls back for every summary of a tier that overlaps [from, to], in order of time; stops where the callback returns
 * other than 0, and returns that. 0 or -errno. Damaged ones are left out and counted. */
int store_summaries(struct store *s, enum summary_tier tier, int64_t from, int64_t to,
		    int (*each)(const struct summary *summary, void *data), void *data, unsigned *ret_damaged);
/* One feature in one segment, of every entity that has a summary of it: as much of it as a curve of days needs. */
struct segment_row {
	uint32_t entity;
	double n;		/* ticks it was there */
	double mean, low, high; /* rates per second, or levels; low and high within 0.8 % */
};
struct segment_history {
	int64_t from, to; /* wall ns */
	VEC(struct segment_row) rows;
};
/* Calls back for each segment in [from, to] that has summaries, in order of time, also without a row: a counter that did not
 * grow and a level that did not change have none. Stops where the callback returns other than 0, and returns that. Reads
 * some 1 % of what the segments themselves hold. 0 or -errno; what is damaged is left out. */
int store_history(struct store *s, enum entity_kind kind, int feature, int64_t from, int64_t to,
		  int (*each)(const struct segment_history *segment, void *data), void *data);
/* The earliest wall time that was recorded, and the wall time of what was recorded last, which is not the latest where a clock was ahead before. 0
 * and 0 for an empty store. */
int store_extent(struct store *s, int64_t *ret_from, int64_t *ret_to);
/* A jump of the wall clock; or, between two boots, what may have been one: a long time without a recording. */
struct clock_step {
	int64_t from, to; /* wall ns: the end of what was recorded before it, and the beginning of what was after */
	int64_t step;	  /* ns, > 0 = forward */
	bool within_boot; /* it is certain: the boot clock was there */
};
/* All that the recording shows, in the order in which it was written, at most the newest 1,000; with the step to a moment from now (clock_wall(),
 * clock_boot(); wall 0 = without). None of a recording from before its order was kept. The caller frees. 0 or -errno. */
int store_clock_steps(struct store *s, int64_t wall, int64_t boot, struct clock_step **ret, size_t *ret_n);
/* "the clock was set back by 2 h"; buf of at least 120 bytes, returned. */
char *clock_step_words(const struct clock_step *step, char *buf, size_t n);
/* The wall time since which `recorded` ns were recorded before `at`, where there is so much: longer times without a recording (the
 * machine was off) do not count. 0 or -errno. */
int store_extend_window(struct store *s, int64_t at, int64_t recorded, int64_t *ret_from);

/* --- the writer's side --- */

/* One recorder writes at a time, however many may read and mark: before the first thing is written. Held until the store is closed, or
 * the process ends. -EBUSY in words: another recorder holds it. */
int store_lock(struct store *s);

/* The recorder's, which has the run directory's lock: takes that for this recording. *ret_set_aside: what a killed recorder of another
 * recording left there was moved to RUN/other-ID, for a recorder that continues that one. 0 or -errno, in words. */
int store_claim_run_dir(struct store *s, bool *ret_set_aside);
/* Whether the file was deleted, or its path names another one by now: what is written is lost then. */
bool store_has_moved(struct store *s);
/* Whether its log (FILE-wal), which SQLite still writes to, was deleted or replaced: what it holds is lost when this process ends by a crash, and no other
 * process sees it. */
bool store_log_is_gone(const struct store *s);
/* Continues in the file that the path names, after that: in a new one with this recording's id, or in a copy of this recording. The journal and the
 * marks in the run directory are written there. Where the log alone has gone, what it held is brought into the file before. -EEXIST, in words: it is another recording, which is left alone. After an error nothing but
 * store_has_moved() (which says so), this and store_close() may be called. */
int store_open_anew(struct store *s);
/* The ids of all segments that are there, in no order; the caller frees. A new one must have another. */
int store_segment_ids(struct store *s, int64_t **ret, size_t *ret_n);
/* Copies frames that the journal has beyond what raw rows hold. 0 or -errno; nothing is lost on error. */
int store_save_journal(struct store *s, int64_t segment);
/* Turns a finished segment into a chunk and drops its raw rows and journal file. */
int store_compact(struct store *s, int64_t segment);
/* Compacts what an earlier run left behind: journal files and raw rows other than `current`. */
int store_recover(struct store *s, int64_t current);

struct retention {
	int64_t age;	/* ns; 0 = for ever */
	uint64_t bytes; /* 0 = without limit */
};
/* Also on a full disk: a reserve next to the file (FILE.reserve, 1 MiB) is used up for it, and made again when there is room.
 * Deletes the oldest segments beyond age or size, in the order in which they were written. How old one is the segments after it tell (age.h): the
 * clock of now is not asked. Marks are kept; hours and days go after a year, or beyond a tenth of the size. */
int store_retain(struct store *s, const struct retention *keep);

struct store_size {
	uint64_t file, raw, chunks, summaries; /* bytes */
	uint64_t segments;
	int64_t span; /* ns of recording in chunks */
};
int store_size(struct store *s, struct store_size *ret);
/* One consistent file with everything, journal included, for copying to another machine. What is damaged is left out: store_damage(). It
 * appears whole or not at all, also in a folder that other users may write (own-folder.h), and only its owner may read it. -EEXIST in words:
 * there is something that was not to be replaced. */
int store_export(struct store *s, const char *to, bool replace, char **ret_error);
/* The same as an open file without a name; `folder` has room for it. */
int store_export_open(struct store *s, const char *folder, int *ret_fd, char **ret_error);
/* The recorder's, while it holds store_lock(): gives a recording of a whyslow from before checksums to its pages, by writing it again next
 * to it. One that is larger than 256 MiB, that is damaged, or that another process has open stays as it is. -errno: the recording cannot
 * be opened again. */
int store_upgrade(struct store *s);

/* The recorder keeps marks in RUN/marks.db while it runs: a press must not wait for a starved disk. Copies are made
 * when marks changed since the last time (store_save_marks()). Handles that were opened in the meantime find the marks again when they have moved. */
int store_open_marks(struct store *s);
int store_save_marks(struct store *s);
int store_close_marks(struct store *s);

/* --- marks --- */

struct mark {
	int64_t id;
	int64_t wall;	 /* first press, ns */
	int64_t last;	 /* last press of the same event */
	uint32_t presses; /* 0 = no one's: a rule found it, from `wall` to `last` */
	bool goes_on;	  /* found by a rule, and not over yet: `last` is when more was reported of it */
	uint32_t uid;
	enum feedback feedback;
	char *note; /* may be NULL */
};
void mark_free(struct mark *m);
void marks_free(struct mark *marks, size_t n);

/* A press. One within 5 s after the last press of the newest mark by the same user is the same event: then it is added to that mark, its note to
 * that one's, and 1 is returned. *ret_id. 0, 1 or -errno. */
int store_mark(struct store *s, int64_t wall, uint32_t uid, const char *note, int64_t *ret_id);
/* Something that a rule found, and that continues: listed and shown like a mark, but nothing can take it back. */
int store_rule_incident(struct store *s, int64_t wall, const char *note, int64_t *ret_id);
/* It continued until `wall`. -ENOENT. */
int store_rule_incident_extend(struct store *s, int64_t id, int64_t wall, const char *note, bool over);
/* Whatever still continues continued until `wall` at least: the one that watched was killed. `remark` is put behind the notes. */
int store_rule_incidents_end(struct store *s, int64_t wall, const char *remark);
/* A process that was inspected for an incident: the report for people and for programs. One a process and phase of the
 * incident. */
struct capture {
	int64_t mark, wall;
	uint32_t pid;
	uint32_t phase; /* from 1; 0 = by hand */
	char *summary, *text, *json;
};
void capture_free(struct capture *c);
/* 0; -E2BIG beyond 8 MiB of either report; -errno. */
int store_capture(struct store *s, const struct capture *c);
/* Of one incident, oldest first; the caller frees each and the array. Damaged ones are left out. */
int store_captures(struct store *s, int64_t mark, struct capture **ret, size_t *ret_n);
/* The same; where the incident had more than one phase, summaries and texts begin with theirs: "phase 2: ". */
int store_captures_by_phase(struct store *s, int64_t mark, struct capture **ret, size_t *ret_n);
/* What was answered for a mark to a user, as JSON; replaces the saved answer before. 0 or -errno. */
int store_tell(struct store *s, int64_t mark, uint32_t uid, const char *json);
/* NULL where nothing was. The caller frees. */
char *store_read_answer(struct store *s, int64_t mark, uint32_t uid);
static inline bool mark_is_of_rule(const struct mark *m)
{
	return m->presses == 0;
}
/* -ENOENT without such a mark. uid: whose it must be; 0 may change everybody's. What a
 * rule found may be judged by anybody. */
int store_mark_note(struct store *s, int64_t id, uint32_t uid, const char *note);
int store_mark_feedback(struct store *s, int64_t id, uint32_t uid, enum feedback feedback);
/* What this user said of a mark's answer; of what others said nothing. */
enum feedback store_feedback_by(struct store *s, const struct mark *mark, uint32_t uid);
/* Takes back the newest mark of a user (root: of anybody); *ret_id says which. */
int store_mark_undo(struct store *s, uint32_t uid, int64_t *ret_id);
int store_mark_get(struct store *s, int64_t id, struct mark *ret);
/* Oldest first; the caller frees them with marks_free(). A damaged recording is an error. */
int store_marks(struct store *s, int64_t from, int64_t to, struct mark **ret, size_t *ret_n);
/* The same of those that a rule found and that continue. */
int store_open_incidents(struct store *s, struct mark **ret, size_t *ret_n);
