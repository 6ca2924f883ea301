#include "machine/answer-waits/exhausted-limits.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/file.h"
#include "lib/data/folder.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "lib/rights/outside.h"
#include "machine/answer-live/live-thread.h"
#include "machine/answer-live/tcp-sockets.h"

#define FULL	      0.95
#define DISK_FULL     0.98 /* many live with less than 5 % free for years */
#define FILES_LEAST   100  /* that can still be created */
#define PROCESSES_MAX 32768
#define FILES_WORTH   32    /* of a process: no limit in use is lower */
#define LINKS_MAX     20000 /* descriptors that are looked at for inotify: about 1 us each */
#define GROUPS_MAX    1024
#define CONNECTIONS   "entries of the connection table"

struct process {
	uint32_t pid, uid;
	char comm[20];
	uint64_t files, threads;
	uint32_t group; /* index into groups; UINT32_MAX = not known */
};

/* One user. */
struct watcher {
	uint32_t uid;
	uint64_t watches, instances, most;
	const struct process *by;
};

struct census {
	const char *proc_root, *group_root;
	const struct viewer *viewer;
	VEC(struct process) processes;
	VEC(char *) groups; /* paths below group_root */
	struct exhausted_limits found;
	int error;
};

/* --- files of one line --- */

static bool read_line(const char *root, const char *name, char *buf, size_t size)
{
	return file_first_line(STR_TEXT(512, "%s/%s", root, name), buf, size);
}

/* The n-th number of the line, counted from 0, whatever divides them. */
static bool read_number(const char *root, const char *name, unsigned n, uint64_t *ret)
{
	char line[256];
	const char *at = line;

	if (!read_line(root, name, line, sizeof(line)))
		return false;
	for (unsigned i = 0;; i++) {
		char *end;

		while (*at && !isdigit((unsigned char)*at))
			at++;
		if (!*at)
			return false;
		*ret = strtoull(at, &end, 10);
		at = end;
		if (i == n)
			return true;
		if (*at == '.') /* a fraction is no number of its own */
			while (*at && !isspace((unsigned char)*at))
				at++;
	}
}

/* --- what is found --- */

static void add(struct census *c, struct exhausted_limit u, const struct process *by, uint64_t has)
{
	if (!u.limit || (double)u.used < FULL * (double)u.limit)
		return;
	if (by && visibility(c->viewer, DATUM_PROCESS, by->uid) == SHOWN_WHOLE) {
		u.pid = by->pid;
		u.has = has;
		memcpy(u.comm, by->comm, sizeof(u.comm));
	}
	c->error = c->error ?: VEC_PUSH(c->found.list, u);
}

/* --- who is there --- */

static uint32_t group_of(struct census *c, const char *path)
{
	char *copy;

	for (uint32_t i = 0; i < c->groups.n; i++)
		if (strcmp(c->groups.v[i], path) == 0)
			return i;
	copy = c->groups.n < GROUPS_MAX ? strdup(path) : NULL;
	if (VEC_PUSH_OWNER(c->groups, copy, copy) < 0)
		return UINT32_MAX;
	return (uint32_t)c->groups.n - 1;
}

/* "4711 (name) S 1 ...": threads are the 18th number behind the name. */
static bool parse_stat(const char *line, struct process *p)
{
	const char *name = strchr(line, '('), *rest = strrchr(line, ')');

	if (!name || !rest || rest < name)
		return false;
	snprintf(p->comm, sizeof(p->comm), "%.*s", (int)(rest - name - 1), name + 1);
	return sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %" SCNu64, &p->threads) == 1;
}

/* The size of the folder since Linux 6.2; before, it is counted. */
static uint64_t count_files(const char *folder)
{
	struct stat st;
	uint64_t n = 0;

	if (stat(folder, &st) == 0 && st.st_size > 0)
		return (uint64_t)st.st_size;
	FOLDER_EACH(e, opendir(folder))
		n++;
	return n;
}

static void count_process(struct census *c, uint32_t pid)
{
	struct process p = {.pid = pid, .group = UINT32_MAX};
	char folder[160], line[1024], files[176];

	snprintf(folder, sizeof(folder), "%s/%u", c->proc_root, pid);
	if (outside_owner(c->proc_root, pid, &p.uid) < 0 || !read_line(folder, "stat", line, sizeof(line)) || !parse_stat(line, &p))
		return;
	snprintf(files, sizeof(files), "%s/fd", folder);
	p.files = count_files(files);
	if (read_line(folder, "cgroup", line, sizeof(line)) && strncmp(line, "0::/", 4) == 0)
		p.group = group_of(c, line + 3);
	c->error = c->error ?: VEC_PUSH(c->processes, p);
}

static void count_processes(struct census *c, int64_t until)
{
	_cleanup_(folder_close) DIR *dir = opendir(c->proc_root);

	for (uint32_t pid; c->processes.n < PROCESSES_MAX && (pid = live_next_process(dir));) {
		count_process(c, pid);
		if (clock_monotonic() < until)
			continue;
		VEC_FREE(c->processes); /* who has most of what is not known of a part of them */
		return;
	}
}

static const struct process *with_most(const struct census *c, size_t offset)
{
	const struct process *most = NULL;

	for (size_t i = 0; i < c->processes.n; i++) {
		const struct process *p = &c->processes.v[i];

		if (!most || *(const uint64_t *)((const char *)p + offset) > *(const uint64_t *)((const char *)most + offset))
			most = p;
	}
	return most;
}

/* --- the machine's --- */

static void find_of_machine(struct census *c)
{
	static const struct {
		const char *what, *used, *limit;
		unsigned nth_used, nth_limit;
		size_t of_process; /* 0 = not known */
		const char *next;
	} limits[] = {
		{"file handles of the machine", "sys/fs/file-nr", "sys/fs/file-nr", 0, 2, offsetof(struct process, files), "To raise the limit: sysctl fs.file-max"},
		{"threads of the machine", "loadavg", "sys/kernel/threads-max", 4, 0, offsetof(struct process, threads), "To raise the limit: sysctl kernel.threads-max"},
		{"process numbers", "loadavg", "sys/kernel/pid_max", 4, 0, offsetof(struct process, threads), "To raise the limit: sysctl kernel.pid_max"},
		{"pseudo terminals", "sys/kernel/pty/nr", "sys/kernel/pty/max", 0, 0, 0, "To raise the limit: sysctl kernel.pty.max"},
		{"asynchronous I/O contexts", "sys/fs/aio-nr", "sys/fs/aio-max-nr", 0, 0, 0, "To raise the limit: sysctl fs.aio-max-nr"},
		{CONNECTIONS, "sys/net/netfilter/nf_conntrack_count", "sys/net/netfilter/nf_conntrack_max", 0, 0, 0,
		 "New connections are dropped. To raise the limit: sysctl net.netfilter.nf_conntrack_max; to see them: conntrack -L"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		const struct process *by = limits[i].of_process ? with_most(c, limits[i].of_process) : NULL;
		struct exhausted_limit u = {.what = limits[i].what, .next = limits[i].next};

		if (read_number(c->proc_root, limits[i].used, limits[i].nth_used, &u.used) &&
		    read_number(c->proc_root, limits[i].limit, limits[i].nth_limit, &u.limit))
			add(c, u, by, by ? *(const uint64_t *)((const char *)by + limits[i].of_process) : 0);
	}
}

/* --- of each process --- */

/* "Max open files            1024                 524288               files"; 0 = none */
static uint64_t limit_of_files(const char *proc_root, uint32_t pid)
{
	uint64_t limit = 0;

	LINES_EACH(line, fopen(STR_TEXT(160, "%s/%u/limits", proc_root, pid), "re"))
		if (sscanf(line.text, "Max open files %" SCNu64, &limit) == 1)
			return limit;
	return 0;
}

bool exhausted_limits_files(const char *proc_root, uint32_t pid, uint64_t *ret_used, uint64_t *ret_limit)
{
	char folder[160];

	snprintf(folder, sizeof(folder), "%s/%u/fd", proc_root, pid);
	*ret_used = count_files(folder);
	*ret_limit = limit_of_files(proc_root, pid);
	return *ret_used && *ret_limit;
}

static void find_files(struct census *c)
{
	for (size_t i = 0; i < c->processes.n; i++) {
		const struct process *p = &c->processes.v[i];
		struct exhausted_limit u = {.what = "file handles of a process", .used = p->files,
				    .next = "It cannot open files or accept connections. To see them: ls -l /proc/PID/fd; to raise its limit: prlimit --nofile, or "
					    "LimitNOFILE= of its unit"};

		u.limit = p->files >= FILES_WORTH ? limit_of_files(c->proc_root, p->pid) : 0;
		if (visibility(c->viewer, DATUM_PROCESS, p->uid) == SHOWN_WHOLE)
			add(c, u, p, p->files);
	}
}

/* --- inotify --- */

/* One line "inotify wd:..." for each. */
static uint64_t count_watches(const char *proc_root, uint32_t pid, const char *fd)
{
	uint64_t n = 0;

	LINES_EACH(line, fopen(STR_TEXT(512, "%s/%u/fdinfo/%s", proc_root, pid, fd), "re"))
		n += str_starts(line.text, "inotify wd:");
	return n;
}

static void count_inotify(const struct census *c, const struct process *p, unsigned *links, uint64_t *ret_watches, uint64_t *ret_instances)
{
	char link[32];

	*ret_watches = *ret_instances = 0;
	FOLDER_EACH(e, opendir(STR_TEXT(160, "%s/%u/fd", c->proc_root, p->pid))) {
		ssize_t n = readlinkat(dirfd(e.folder), e.name, link, sizeof(link));

		if (++*links > LINKS_MAX)
			return;
		if (n == 18 && memcmp(link, "anon_inode:inotify", 18) == 0) {
			*ret_watches += count_watches(c->proc_root, p->pid, e.name);
			++*ret_instances;
		}
	}
}

static struct watcher *watcher_of(struct watcher *list, size_t *n, size_t max, uint32_t uid)
{
	for (size_t i = 0; i < *n; i++)
		if (list[i].uid == uid)
			return &list[i];
	if (*n == max)
		return NULL;
	list[*n] = (struct watcher){.uid = uid};
	return &list[(*n)++];
}

static void find_inotify(struct census *c)
{
	struct watcher users[64]; /* users of desktops and services; more are left out */
	uint64_t watches, instances, most[2] = {};
	size_t n = 0;
	unsigned links = 0;

	for (size_t i = 0; i < c->processes.n; i++) {
		const struct process *p = &c->processes.v[i];
		struct watcher *w;

		count_inotify(c, p, &links, &watches, &instances);
		w = instances ? watcher_of(users, &n, ARRAY_SIZE(users), p->uid) : NULL;
		if (!w)
			continue;
		w->watches += watches;
		w->instances += instances;
		if (watches >= w->most) {
			w->most = watches;
			w->by = p;
		}
	}
	read_number(c->proc_root, "sys/fs/inotify/max_user_watches", 0, &most[0]);
	read_number(c->proc_root, "sys/fs/inotify/max_user_instances", 0, &most[1]);
	for (size_t i = 0; i < n; i++) {
		struct exhausted_limit u = {.what = "inotify watches", .used = users[i].watches, .limit = most[0],
				    .next = "Changes of files are not seen any more. To raise the limit: sysctl fs.inotify.max_user_watches"};
		struct exhausted_limit v = {.what = "inotify instances", .used = users[i].instances, .limit = most[1],
				    .next = "To raise the limit: sysctl fs.inotify.max_user_instances"};

		snprintf(u.of, sizeof(u.of), "uid %u", users[i].uid);
		snprintf(v.of, sizeof(v.of), "uid %u", users[i].uid);
		add(c, u, users[i].by, users[i].most);
		add(c, v, NULL, 0);
	}
}

/* --- control groups --- */

static bool is_in(const char *group, const char *above)
{
	size_t n = strlen(above);

	return strncmp(group, above, n) == 0 && (group[n] == '/' || group[n] == '\0' || n == 1);
}

static void find_in_group(struct census *c, const char *group)
{
	const struct process *by = NULL;
	struct exhausted_limit u = {.what = "tasks of a control group", .next = "It can start no more processes and threads. To raise the limit: TasksMax= of the unit"};
	char name[384];

	snprintf(u.of, sizeof(u.of), "%s", group);
	if (snprintf(name, sizeof(name), "%s/pids.max", group + 1) >= (int)sizeof(name) || !read_number(c->group_root, name, 0, &u.limit))
		return;
	snprintf(name, sizeof(name), "%s/pids.current", group + 1);
	if (!read_number(c->group_root, name, 0, &u.used))
		return;
	for (size_t i = 0; i < c->processes.n; i++) {
		const struct process *p = &c->processes.v[i];

		if (p->group != UINT32_MAX && is_in(c->groups.v[p->group], group) && (!by || p->threads > by->threads))
			by = p;
	}
	add(c, u, by, by ? by->threads : 0);
}

/* Also those above the ones that have processes. */
static void find_groups(struct census *c)
{
	char above[384];

	for (size_t i = 0; i < c->groups.n; i++) { /* the list grows */
		char *slash;

		snprintf(above, sizeof(above), "%s", c->groups.v[i]);
		slash = strrchr(above, '/');
		if (slash > above) {
			*slash = '\0';
			group_of(c, above);
		}
		if (strcmp(c->groups.v[i], "/") != 0)
			find_in_group(c, c->groups.v[i]);
	}
}

/* --- keys --- */

/* "    0:     9 8/8 3/1000000 40/25000000": the user's keys, and their bytes, of what it may have */
static void find_keys(struct census *c)
{
	uint32_t uid;

	LINES_EACH(line, fopen(STR_TEXT(160, "%s/key-users", c->proc_root), "re")) {
		struct exhausted_limit u = {.what = "keys", .next = "To see them: cat /proc/keys; to raise the limit: sysctl kernel.keys.maxkeys"};
		struct exhausted_limit v = {.what = "bytes of keys", .next = "To see them: cat /proc/keys; to raise the limit: sysctl kernel.keys.maxbytes"};

		if (sscanf(line.text, "%u: %*u %*u/%*u %" SCNu64 "/%" SCNu64 " %" SCNu64 "/%" SCNu64, &uid, &u.used, &u.limit, &v.used, &v.limit) != 5)
			continue;
		snprintf(u.of, sizeof(u.of), "uid %u", uid);
		memcpy(v.of, u.of, sizeof(v.of));
		add(c, u, NULL, 0);
		add(c, v, NULL, 0);
	}
}

/* --- file systems --- */

static void find_file_systems(struct census *c, const struct dataset *d, uint32_t at)
{
	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];
		struct exhausted_limit u = {.what = "bytes of the file system", .next = "To see what uses it: sudo du -xh --max-depth=2 PATH | sort -h | tail"};
		double size, free_bytes, files;

		if (s->info.kind != ENTITY_FILESYSTEM || s->first > at || s->last < at)
			continue;
		size = subject_value(d, s, FEATURE_FS_SIZE, at);
		free_bytes = subject_value(d, s, FEATURE_FS_FREE, at);
		files = subject_has(s, FEATURE_FS_FILES_FREE) ? subject_value(d, s, FEATURE_FS_FILES_FREE, at) : FILES_LEAST;
		snprintf(u.of, sizeof(u.of), "%s", s->info.name);
		u.limit = size > 0 ? (uint64_t)size : 0;
		u.used = size > free_bytes ? (uint64_t)(size - free_bytes) : 0;
		if ((double)u.used >= DISK_FULL * size)
			add(c, u, NULL, 0);
		u.what = "files (inodes) of the file system";
		u.next = "To see which folder has most: sudo du --inodes -x PATH | sort -n | tail";
		u.used = u.limit = 1;
		if (files < FILES_LEAST)
			add(c, u, NULL, 0);
	}
}

/* --- sockets --- */

static const struct process *process_of(const struct census *c, uint32_t pid)
{
	for (size_t i = 0; i < c->processes.n; i++)
		if (c->processes.v[i].pid == pid)
			return &c->processes.v[i];
	return NULL;
}

/* Where connections of another network namespace fill the line, or datagrams. */
static const struct process *most_sending(const struct census *c, const struct dataset *d, uint32_t at)
{
	const struct subject *most = NULL;
	double sends = 0;

	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];
		double now = s->info.kind == ENTITY_PROCESS && subject_has(s, FEATURE_NET_TX_BYTES) && s->first <= at && s->last >= at ? subject_value(d, s, FEATURE_NET_TX_BYTES, at) : 0;

		if (now > sends) {
			sends = now;
			most = s;
		}
	}
	return most ? process_of(c, most->info.pid) : NULL;
}

static void add_delay(struct census *c, const struct dataset *d, uint32_t at, const struct tcp_delay *t)
{
	static const struct {
		const char *what, *says, *next;
	} kinds[] = {
		[TCP_DELAY_OUT] = {"uplink", "fills the uplink of %s: what goes out there waits %s", "Limit its rate (its own settings, trickle), or give the interface a queue that is fair (cake of tc)"},
		[TCP_DELAY_IN] = {"downlink", "fills the downlink of %s: what comes in there waits %s", "Limit its rate (its own settings, trickle), or give the interface a queue that is fair (cake of tc)"},
		[TCP_DELAY_HELD] = {"small packets", "holds back small packets to %s until the one before is confirmed: that takes %s on average",
				    "It writes its answers in several pieces: it should write each one at once, or set TCP_NODELAY"},
	};
	struct exhausted_limit u = {.what = kinds[t->kind].what, .says = kinds[t->kind].says, .next = kinds[t->kind].next, .used = 1, .limit = 1, .delay = t->ns, .waits = t->waits};
	const struct process *by = process_of(c, t->pid);

	if (!t->kind)
		return;
	snprintf(u.of, sizeof(u.of), "%s", t->of);
	add(c, u, by || t->kind != TCP_DELAY_OUT ? by : most_sending(c, d, at), 0);
}

static void find_sockets(struct census *c, const struct dataset *d, uint32_t at)
{
	struct tcp_pressure t;

	/* the kernel answers for itself, a tree that stands in for /proc is another machine's */
	if (strcmp(c->proc_root, "/proc") != 0 || tcp_pressure_find(c->proc_root, &t) < 0)
		return;
	if (t.queue_limit) {
		struct exhausted_limit u = {.what = "connections that wait to be accepted", .used = t.queue, .limit = t.queue_limit,
				    .next = "It does not accept them in time: 'whyslow why PID' shows for what it waits"};

		snprintf(u.of, sizeof(u.of), "port %u", t.queue_port);
		add(c, u, process_of(c, t.queue_pid), 0);
	}
	if (t.ports_limit) {
		struct exhausted_limit u = {.what = "ports for connections to", .used = t.ports, .limit = t.ports_limit,
				    .next = "New connections fail, or wait for old ones to leave TIME_WAIT. Keep connections open; to allow more: sysctl "
					    "net.ipv4.ip_local_port_range, net.ipv4.tcp_tw_reuse"};

		snprintf(u.of, sizeof(u.of), "%s", t.ports_to);
		add(c, u, NULL, 0);
	}
	add_delay(c, d, at, &t.delay);
}

/* A process that opens a connection waits where the table of connections is full; the table does not say whose they are. */
static void find_connected(struct census *c)
{
	VEC_EACH(u, c->found.list) {
		_cleanup_(open_files_free) struct open_files files = {.proc_root = c->proc_root};
		const struct process *by;
		uint64_t has;

		if (strcmp(u->what, CONNECTIONS) != 0)
			continue;
		by = process_of(c, tcp_most_connections(&files, &has));
		if (!by || 2 * has < u->used || visibility(c->viewer, DATUM_PROCESS, by->uid) != SHOWN_WHOLE)
			continue;
		u->pid = by->pid;
		u->has = has < u->used ? has : u->used;
		memcpy(u->comm, by->comm, sizeof(u->comm));
		tcp_connects_in_vain(&files, u->pid, &u->waits);
	}
}

/* --- all of it --- */

static double filled(const struct exhausted_limit *l)
{
	return (double)l->used / (double)l->limit;
}

ORDER(fullest_first, struct exhausted_limit, CMP(filled(b), filled(a)) ?: strcmp(a->what, b->what) ?: strcmp(a->of, b->of))

int exhausted_limits_find(const struct dataset *d, uint32_t at, const char *proc_root, const char *group_root, const struct viewer *viewer, int64_t until,
		 struct exhausted_limits *ret)
{
	struct census c = {.proc_root = proc_root, .group_root = group_root, .viewer = viewer};

	count_processes(&c, until);
	find_of_machine(&c);
	find_files(&c);
	find_inotify(&c);
	find_groups(&c);
	find_keys(&c);
	find_file_systems(&c, d, at);
	find_sockets(&c, d, at);
	find_connected(&c);
	VEC_SORT(c.found.list, fullest_first);
	VEC_FREE(c.processes);
	while (c.groups.n)
		free(c.groups.v[--c.groups.n]);
	VEC_FREE(c.groups);
	if (c.error < 0)
		exhausted_limits_free(&c.found);
	else
		*ret = c.found;
	return c.error;
}

void exhausted_limits_free(struct exhausted_limits *l)
{
	VEC_FREE(l->list);
}

void exhausted_limits_deed(const struct exhausted_limit *u, struct str *out)
{
	char span[32];

	if (u->says)
		str_printf(out, u->says, u->of, clock_format_span(u->delay, span, sizeof(span)));
	else
		str_printf(out, "has %" PRIu64 " of %" PRIu64 " %s%s%s", u->has ? u->has : u->used, u->limit, u->what, *u->of ? " " : "", u->of);
}

void exhausted_limits_claim(const struct exhausted_limit *u, struct str *out)
{
	if (u->says) {
		str_printf(out, u->pid ? "%s (pid %u) " : "A program ", u->comm, u->pid);
		exhausted_limits_deed(u, out);
		return;
	}
	str_printf(out, "%s%s%s are %sused up", u->what, *u->of ? " " : "", u->of, u->used < u->limit ? "nearly " : "");
	if (u->limit > 1)
		str_printf(out, ": %" PRIu64 " of %" PRIu64, u->used, u->limit);
	if (u->pid)
		str_printf(out, u->has && u->has != u->used ? "; %s (pid %u) has %" PRIu64 " of them" : "; %s (pid %u) has them", u->comm, u->pid, u->has);
}

void exhausted_limits_words(const struct exhausted_limit *u, struct str *out)
{
	exhausted_limits_claim(u, out);
	str_printf(out, ". %s", u->next);
}
