/* The journal: frames of the current segment in a file on a memory-backed file system.
 *
 * Only the sampler appends; a frame is one write(2), so a killed recorder loses at most the tick it was writing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct journal {
	char *dir;
	int fd;
	int64_t segment; /* 0 = none open */
	uint64_t size;
};

/* Makes RUN/journal (mode 0700). 0 or -errno. */
int journal_open(const char *run_dir, struct journal *ret);
void journal_close(struct journal *j);
/* Begins a segment's file; the one before stays for the writer. */
int journal_begin(struct journal *j, int64_t segment);
/* -ENOSPC when the file system is full: the caller drops the frame and says so. */
int journal_append(struct journal *j, const void *frame, size_t n);

/* Whether the file that is written to was deleted: nothing else will read it. */
bool journal_is_gone(const struct journal *j);

/* Segments that have a file, ascending; caller frees. */
int journal_list(const char *run_dir, int64_t **ret, size_t *ret_n);
/* A segment's bytes from `offset` on (0 = all), in memory the caller frees. -ENOENT without such a file. */
int journal_read(const char *run_dir, int64_t segment, uint64_t offset, char **ret, size_t *ret_n);
/* Whether a segment has a file; `run_dir` may be NULL. */
bool journal_has(const char *run_dir, int64_t segment);
int journal_remove(const char *run_dir, int64_t segment);
/* Deletes the oldest segments until all together are below `most` bytes; *ret_dropped = how many. 0 or -errno. */
int journal_trim(const char *run_dir, uint64_t most, int64_t *ret_dropped);
