#include "machine/recording/run-dir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"

#define ID_ROOM	  16 /* ten digits, a newline */
#define NAME_ROOM 4096

/* A recorder leaves these behind, and they belong to its recording. The name itself comes last: what was moved in part is moved on. */
static const char *const belongings[] = {"journal", "marks.db", "marks.db-wal", "marks.db-shm", "recording"};

static char *path_of(const char *folder, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

/* "ID\n" or "ID\nFILE\n" */
static bool read_name(const char *run_dir, char text[NAME_ROOM])
{
	_cleanup_free_ char *path = path_of(run_dir, "recording");
	_cleanup_close_ int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	ssize_t n = fd < 0 ? -1 : read(fd, text, NAME_ROOM - 1);

	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

uint32_t run_dir_recording(const char *run_dir)
{
	char text[NAME_ROOM];
	uint64_t id;

	if (!read_name(run_dir, text))
		return 0;
	text[strcspn(text, "\n")] = '\0';
	return str_parse_u64(text, &id) == 0 && id <= UINT32_MAX ? (uint32_t)id : 0;
}

char *run_dir_recording_file(const char *run_dir)
{
	char text[NAME_ROOM], *file, *end;

	if (!read_name(run_dir, text))
		return NULL;
	file = strchr(text, '\n');
	end = file ? strchr(file + 1, '\n') : NULL;
	return end && file[1] == '/' ? strndup(file + 1, (size_t)(end - file - 1)) : NULL;
}

/* At once: a reader sees the one before or this one. */
static int write_name(const char *run_dir, uint32_t recording, const char *file)
{
	_cleanup_free_ char *path = path_of(run_dir, "recording"), *new_path = path_of(run_dir, "recording.new"), *whole = realpath(file, NULL);
	_cleanup_close_ int fd = -1;
	char text[NAME_ROOM];
	int n;

	if (!path || !new_path)
		return -ENOMEM;
	n = snprintf(text, sizeof(text), "%" PRIu32 "\n%s\n", recording, whole && strlen(whole) < NAME_ROOM - ID_ROOM && !strchr(whole, '\n') ? whole : "");
	fd = open(new_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (write(fd, text, (size_t)n) != n)
		return -ENOSPC;
	return rename(new_path, path) < 0 ? -errno : 0;
}

static int move_all(const char *from, const char *to, unsigned *ret_moved)
{
	unsigned moved = 0;

	for (size_t i = 0; i < ARRAY_SIZE(belongings); i++) {
		_cleanup_free_ char *old_path = path_of(from, belongings[i]), *new_path = path_of(to, belongings[i]);

		if (!old_path || !new_path)
			return -ENOMEM;
		if (rename(old_path, new_path) == 0)
			moved++;
		else if (errno != ENOENT)
			return -errno;
	}
	*ret_moved = moved;
	return 0;
}

static void remove_files_in(const char *path)
{
	FOLDER_EACH(entry, opendir(path))
		(void)unlinkat(dirfd(entry.folder), entry.name, 0); /* folders stay */
}

static void remove_set_aside(const char *path)
{
	_cleanup_free_ char *journal = path_of(path, "journal");

	if (!journal)
		return;
	remove_files_in(journal);
	(void)rmdir(journal);
	remove_files_in(path);
	(void)rmdir(path);
}

/* The files of recordings before these two go: /run is memory. */
static void remove_older(const char *run_dir, uint32_t one, uint32_t two)
{
	static const char begin[] = "other-";
	uint64_t id;

	FOLDER_EACH(entry, opendir(run_dir)) {
		_cleanup_free_ char *path = NULL;

		if (!str_starts(entry.name, begin) || str_parse_u64(entry.name + strlen(begin), &id) < 0 || id == one || id == two)
			continue;
		path = path_of(run_dir, entry.name);
		if (path)
			remove_set_aside(path);
	}
}

static char *place_aside(const char *run_dir, uint32_t recording)
{
	char *path;

	return asprintf(&path, "%s/other-%" PRIu32, run_dir, recording) < 0 ? NULL : path;
}

/* *ret_any: there was more than the recording's name. */
static int set_aside(const char *run_dir, uint32_t recording, bool *ret_any)
{
	_cleanup_free_ char *place = place_aside(run_dir, recording), *journal = path_of(run_dir, "journal");
	unsigned moved = 0;
	int r;

	if (!place || !journal)
		return -ENOMEM;
	(void)rmdir(journal); /* an empty one */
	r = folder_make(place, 0700);
	r = r ?: move_all(run_dir, place, &moved);
	*ret_any = moved > 1;
	if (r == 0 && moved <= 1)
		remove_set_aside(place);
	return r;
}

static int fetch_back(const char *run_dir, uint32_t recording)
{
	_cleanup_free_ char *place = place_aside(run_dir, recording), *journal = path_of(run_dir, "journal");
	unsigned moved;
	int r;

	if (!place || !journal)
		return -ENOMEM;
	if (!folder_path_exists(place))
		return 0;
	(void)rmdir(journal); /* an empty one, which the caller made */
	r = move_all(place, run_dir, &moved);
	if (r == 0)
		(void)rmdir(place);
	return r;
}

/* A recorder that is killed at any step leaves what the next one does again: the name moves last, and is written last. */
int run_dir_claim(const char *run_dir, uint32_t recording, const char *file, bool *ret_set_aside)
{
	_cleanup_free_ char *journal = path_of(run_dir, "journal");
	const uint32_t before = run_dir_recording(run_dir);
	bool any = false;
	int r = journal ? 0 : -ENOMEM;

	if (r == 0 && before && before != recording) {
		remove_older(run_dir, before, recording);
		r = set_aside(run_dir, before, &any);
	}
	if (r == 0 && before != recording)
		r = fetch_back(run_dir, recording);
	r = r ?: folder_make(journal, 0700);
	r = r ?: write_name(run_dir, recording, file);
	if (r == 0)
		*ret_set_aside = any;
	return r;
}
