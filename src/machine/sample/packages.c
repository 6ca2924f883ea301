/* Software that came, went or changed, from /var/log/dpkg.log (dpkg(1), local time):
 *
 *   2026-11-20 10:33:44 upgrade libssl3:amd64 3.0.15-1~deb12u1 3.0.17-1~deb12u2
 *   2026-11-20 10:33:45 install atop:amd64 <none> 2.8.1-1
 *   2026-11-20 10:33:46 remove nano:amd64 7.2-1+deb12u1 <none>
 *   2026-11-20 10:33:49 status installed libssl3:amd64 3.0.17-1~deb12u2
 *
 * A change is noted when it took effect ("status installed", or the removal), with both versions; a package that was
 * only set up again is not a change. The file stays open and is asked for its size, which touches no disk; what was
 * just written to it is in memory. Its name is looked up only after something was done to it: logrotate may have put
 * a new file there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/vec.h"
#include "lib/input/text.h"
#include "machine/sample/source.h"

#define READ_MAX     65536 /* a sample's; what is left comes with the next */
#define PENDING_MAX  4096
#define NAME_MAX_LEN 256
#define LOG	     "../var/log/dpkg.log"

/* Announced, and not yet in effect. */
struct pending {
	char *name, *old_version;
};

struct packages_source {
	const char *proc_root;
	int fd;
	off_t read_to;
	struct timespec changed; /* of the inode, when it was last looked at */
	VEC(struct pending) pending;
	char text[READ_MAX + 1];
};

struct log_line {
	char time[32];
	char action[NAME_MAX_LEN], name[NAME_MAX_LEN], versions[2][NAME_MAX_LEN];
};

static const char *take_word(const char *at, char *word)
{
	const char *end;
	size_t n;

	at = text_skip_blanks(at);
	end = text_skip_word(at);
	n = (size_t)(end - at) < NAME_MAX_LEN ? (size_t)(end - at) : NAME_MAX_LEN - 1;
	memcpy(word, at, n);
	word[n] = '\0';
	return end;
}

static bool split(const char *line, struct log_line *ret)
{
	const char *at = line;

	if (strcspn(line, "\n") < 21 || line[10] != ' ' || line[19] != ' ')
		return false;
	memcpy(ret->time, line, 19);
	ret->time[19] = '\0';
	at = take_word(at + 20, ret->action);
	at = take_word(at, ret->name);
	at = take_word(at, ret->versions[0]);
	(void)take_word(at, ret->versions[1]);
	return *ret->versions[0];
}

static void forget(struct packages_source *src, size_t i)
{
	FREE_ALL(src->pending.v[i].name, src->pending.v[i].old_version);
	src->pending.v[i] = src->pending.v[--src->pending.n];
}

static void announce(struct packages_source *src, const char *name, const char *old_version)
{
	struct pending p = {strdup(name), strdup(old_version)};

	if (!p.name || !p.old_version || src->pending.n >= PENDING_MAX || VEC_PUSH(src->pending, p) < 0) {
		FREE_ALL(p.name, p.old_version);
	}
}

static int64_t time_of(const struct log_line *line, const struct tick *tick)
{
	int64_t wall;

	return clock_parse_time(line->time, tick->wall, &wall) == 0 ? wall : 0;
}

/* "status installed NAME VERSION": the words stand one further right. */
static void take_effect(struct packages_source *src, struct tick *tick, const struct log_line *line)
{
	const char *name = line->versions[0], *version = line->versions[1];

	for (size_t i = 0; i < src->pending.n; i++) {
		const char *old_version = src->pending.v[i].old_version;

		if (strcmp(src->pending.v[i].name, name) != 0)
			continue;
		if (strcmp(old_version, "<none>") == 0)
			tick_note(tick, NOTE_PACKAGE, time_of(line, tick), "installed %s %s", name, version);
		else if (strcmp(old_version, version) == 0)
			tick_note(tick, NOTE_PACKAGE, time_of(line, tick), "reinstalled %s %s", name,
				  version);
		else
			tick_note(tick, NOTE_PACKAGE, time_of(line, tick), "upgraded %s from %s to %s", name,
				  old_version, version);
		forget(src, i);
		return;
	}
}

static void take_line(struct packages_source *src, struct tick *tick, const char *text)
{
	struct log_line line;

	if (!split(text, &line))
		return;
	if (strcmp(line.action, "install") == 0 || strcmp(line.action, "upgrade") == 0)
		announce(src, line.name, line.versions[0]);
	else if (strcmp(line.action, "remove") == 0)
		tick_note(tick, NOTE_PACKAGE, time_of(&line, tick), "removed %s %s", line.name,
			  line.versions[0]);
	else if (strcmp(line.action, "status") == 0 && strcmp(line.name, "installed") == 0)
		take_effect(src, tick, &line);
}

/* A last line without its end is still being written. */
static bool read_new_lines(struct packages_source *src, struct tick *tick)
{
	ssize_t n = pread(src->fd, src->text, READ_MAX, src->read_to);
	const char *end = n > 0 ? memrchr(src->text, '\n', (size_t)n) : NULL;

	if (!end) {
		src->read_to += n == READ_MAX ? n : 0; /* no log has such lines: skip what this is */
		return false;
	}
	src->text[end + 1 - src->text] = '\0';
	src->read_to += end + 1 - src->text;
	for (const char *line = src->text; *line; line = text_next_line(line))
		take_line(src, tick, line);
	return true;
}

static void follow_rotation(struct packages_source *src)
{
	int fd = text_attribute_open(src->proc_root, LOG);
	struct stat ours, named;

	if (fd < 0)
		return;
	if (fstat(src->fd, &ours) == 0 && fstat(fd, &named) == 0 &&
	    (ours.st_ino != named.st_ino || ours.st_dev != named.st_dev)) {
		close(src->fd);
		src->fd = fd;
		src->read_to = 0;
		src->changed = (struct timespec){};
		return;
	}
	close(fd);
}

static void packages_sample(void *state, struct tick *tick)
{
	struct packages_source *src = state;
	struct stat s;

	if (fstat(src->fd, &s) < 0)
		return;
	if (s.st_size < src->read_to) /* emptied in place */
		src->read_to = 0;
	if (s.st_size > src->read_to && read_new_lines(src, tick))
		return;
	if (s.st_ctim.tv_sec == src->changed.tv_sec && s.st_ctim.tv_nsec == src->changed.tv_nsec)
		return;
	src->changed = s.st_ctim;
	follow_rotation(src);
}

static void packages_close(void *state)
{
	struct packages_source *src = state;

	while (src->pending.n)
		forget(src, src->pending.n - 1);
	VEC_FREE(src->pending);
	close(src->fd);
	free(src);
}

static int packages_open(const struct source_options *options, void **ret_state, const char **ret_why)
{
	struct packages_source *src = calloc(1, sizeof(*src));
	struct stat s;

	if (!src)
		return -ENOMEM;
	src->proc_root = options->proc_root;
	src->fd = text_attribute_open(options->proc_root, LOG);
	if (src->fd < 0) {
		int r = src->fd;

		free(src);
		*ret_why = "no /var/log/dpkg.log: changes of software are not noted";
		return r;
	}
	if (fstat(src->fd, &s) == 0) {
		src->read_to = s.st_size;
		src->changed = s.st_ctim;
	}
	*ret_state = src;
	return 0;
}

const struct source source_packages = {
	.name = "packages",
	.help = "notes software that was installed, upgraded or removed",
	.open = packages_open,
	.sample = packages_sample,
	.close = packages_close,
	.every = 10,
};
