#include "machine/agent/hung-terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/folder.h"
#include "lib/data/vec.h"
#include "lib/input/text.h"
#include "machine/process/proc.h"

#define HUNG_ROUNDS   3 /* with keys unread, which have not become fewer */
#define SEARCH_ROUNDS 5 /* from one search for sessions to the next: it reads of each process of the user */

struct terminal {
	uint32_t leader; /* of the session; opening a terminal without one would end what its other end reads (EIO) */
	uint64_t device;
	unsigned missed;    /* rounds in a row with unread keys */
	int unread;	    /* their bytes in the last round */
	int64_t waited_ns;  /* of the foreground process for a CPU, when it was first seen so */
	uint32_t foreground; /* the process */
	bool hung;	    /* reported, and not read yet */
};

struct hung_terminals {
	const char *proc_root;
	VEC(struct terminal) terminals;
	unsigned rounds;
	sd_event_source *source;
	void (*hangs)(uint32_t pid, const char *how, void *data);
	void *data;
};

static bool read_stat(const struct hung_terminals *h, uint32_t pid, struct proc_stat *ret)
{
	char path[24], text[1024];

	snprintf(path, sizeof(path), "%u/stat", pid);
	return text_attribute_take(h->proc_root, path, text, sizeof(text)) >= 0 && proc_parse_stat(text, ret) == 0;
}

/* A process of the terminal's foreground group: mostly the one whose number it has, which in "dmesg | less" ends first. 0 = none. */
static uint32_t process_of_group(const struct hung_terminals *h, uint64_t device, uint32_t group)
{
	struct proc_stat s;
	uint32_t found = 0;

	if (read_stat(h, group, &s) && s.state != 'Z')
		return group;
	FOLDER_EACH(entry, opendir(h->proc_root)) {
		uint32_t pid = (uint32_t)strtoul(entry.name, NULL, 10);

		if (!found && pid && read_stat(h, pid, &s) && s.group == group && s.terminal == device && s.state != 'Z')
			found = pid;
	}
	return found;
}

static int64_t waited_for_cpu(const struct hung_terminals *h, uint32_t pid)
{
	char path[32], text[80];
	unsigned long long waited;

	snprintf(path, sizeof(path), "%u/schedstat", pid);
	return text_attribute_take(h->proc_root, path, text, sizeof(text)) >= 0 && sscanf(text, "%*u %llu", &waited) == 1 ? (int64_t)waited : 0;
}

static bool is_known(const struct hung_terminals *h, uint64_t device)
{
	return VEC_FIND(t, h->terminals, t->device == device) != NULL;
}

/* The sessions of this user that have a terminal. One that cannot be kept is looked for again. */
static void search(struct hung_terminals *h)
{
	FOLDER_EACH(entry, opendir(h->proc_root)) {
		uint32_t pid = (uint32_t)strtoul(entry.name, NULL, 10);
		struct proc_stat s;
		struct stat owner;

		if (pid && fstatat(dirfd(entry.folder), entry.name, &owner, 0) == 0 && owner.st_uid == geteuid() && read_stat(h, pid, &s) &&
		    s.session == pid && s.terminal && !is_known(h, s.terminal))
			(void)VEC_PUSH(h->terminals, (struct terminal){.leader = pid, .device = s.terminal});
	}
}

/* Pseudoterminals have major 136, the console's terminals 4 (the kernel's devices.txt). */
static bool name_terminal(uint64_t device, char *path, size_t size)
{
	unsigned first = major(device), second = minor(device);

	if (first == 136)
		snprintf(path, size, "/dev/pts/%u", second);
	else if (first == 4 && second > 0 && second < 64)
		snprintf(path, size, "/dev/tty%u", second);
	else
		return false;
	return true;
}

/* Whether keys lie unread, and whether each key counts (true) or only lines do. */
static bool has_unread(uint64_t device, bool *ret_each_key, int *ret_unread)
{
	char path[32];
	_cleanup_close_ int fd = name_terminal(device, path, sizeof(path)) ? open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC) : -1;
	struct termios modes;
	struct stat opened;
	int unread;

	/* a mount namespace may have other pseudoterminals under the same names */
	if (fd < 0 || fstat(fd, &opened) < 0 || opened.st_rdev != device || ioctl(fd, TIOCINQ, &unread) < 0 || tcgetattr(fd, &modes) < 0)
		return false;
	*ret_each_key = !(modes.c_lflag & ICANON);
	*ret_unread = unread;
	return unread > 0;
}

static bool hangs(const struct hung_terminals *h, const struct terminal *t, bool each_key)
{
	int64_t waited = waited_for_cpu(h, t->foreground) - t->waited_ns;

	return each_key || waited > HUNG_ROUNDS * HUNG_TERMINAL_ROUND * NS_PER_SEC / 2;
}

static void look_at(struct hung_terminals *h, struct terminal *t, uint32_t group)
{
	uint32_t foreground;
	bool each_key;
	int unread;

	if (!has_unread(t->device, &each_key, &unread)) {
		t->missed = 0;
		t->hung = false;
		return;
	}
	foreground = process_of_group(h, t->device, group);
	if (!foreground)
		return;
	if (!t->missed || t->foreground != foreground || unread < t->unread) {
		t->missed = 0;
		t->foreground = foreground;
		t->waited_ns = waited_for_cpu(h, foreground);
	}
	t->unread = unread;
	if (t->missed++ < HUNG_ROUNDS || t->hung)
		return;
	if (!hangs(h, t, each_key)) {
		t->missed = 0; /* each six seconds are judged by themselves */
		return;
	}
	t->hung = true;
	h->hangs(foreground, HUNG_TERMINAL_HOW, h->data);
}

void hung_terminals_look(struct hung_terminals *h)
{
	size_t kept = 0;

	if (h->rounds++ % SEARCH_ROUNDS == 0)
		search(h);
	VEC_EACH(t, h->terminals) {
		struct proc_stat s;

		if (!read_stat(h, t->leader, &s) || s.terminal != t->device)
			continue; /* the session has ended, or given its terminal up */
		look_at(h, t, s.foreground > 0 ? (uint32_t)s.foreground : t->leader);
		h->terminals.v[kept++] = *t;
	}
	h->terminals.n = kept;
}

static int on_round(sd_event_source *source, uint64_t now, void *data)
{
	hung_terminals_look(data);
	sd_event_source_set_time(source, now + HUNG_TERMINAL_ROUND * NS_PER_SEC / 1000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

struct hung_terminals *hung_terminals_new(const char *proc_root, void (*found)(uint32_t pid, const char *how, void *data), void *data)
{
	struct hung_terminals *h = calloc(1, sizeof(*h));

	if (h)
		*h = (struct hung_terminals){.proc_root = proc_root, .hangs = found, .data = data};
	return h;
}

int hung_terminals_attach(struct hung_terminals *h, sd_event *event)
{
	return sd_event_add_time_relative(event, &h->source, CLOCK_MONOTONIC, 0, 0, on_round, h);
}

void hung_terminals_free(struct hung_terminals *h)
{
	if (!h)
		return;
	sd_event_source_disable_unref(h->source);
	free(h->terminals.v);
	free(h);
}
