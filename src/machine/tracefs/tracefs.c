#include "machine/tracefs/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"
#include "lib/input/text.h"
#include "lib/system/lockdown.h"
#include "machine/process/proc.h"
#include "machine/tracefs/trace-words.h"
#include "machine/tracefs/tracefs-events.h"

#define TRACING	     "/sys/kernel/tracing"
#define INSTANCES    "instances"
#define PREFIX	     "whyslow-"
#define CPUS_MOST    8192
#define PAGES_LEAST  16 /* of a CPU's buffer */
#define SWEEP_TRIES  20 /* a reader that is being killed keeps its instance for a moment */
#define SWEEP_PAUSE  50000 /* us */

/* What was read of a CPU's buffer. */
struct kept {
	uint8_t *pages;
	size_t n, allocated;
	bool there;
	bool cut; /* something older was lost or let go: it begins with its first page, else when recording began */
};

struct tracefs {
	char *tracing, *instance; /* paths */
	bool mounted;		  /* by us */
	int root;		  /* held open: the one that mounted it does not take it away */
	struct tracefs_layout layout;
	struct kept *cpus;
	uint32_t n_cpus;
	size_t pages; /* of a CPU: of the kernel's buffer, and as many are kept */
	uint64_t began; /* monotonic ns */
};

/* --- files --- */

static int write_file(const char *folder, const char *name, const char *text)
{
	char path[400];
	_cleanup_close_ int fd = -1;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static int mount_tracing(struct tracefs *f)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/" INSTANCES, f->tracing);
	if (access(path, F_OK) == 0)
		return 0;
	if (strcmp(f->tracing, TRACING) != 0)
		return -ENOENT;
	if (mount("tracefs", TRACING, "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return -errno;
	f->mounted = true;
	return access(path, F_OK) < 0 ? -ENOENT : 0;
}

/* --- whose an instance is --- */

struct owner {
	uint64_t namespace, pid, start; /* inode of the pid namespace; start in clock ticks' precision */
};

static uint64_t start_of(uint64_t pid)
{
	char text[1024];
	struct proc_stat stat;

	if (text_attribute_take("/proc", STR_TEXT(64, "%llu/stat", (unsigned long long)pid), text, sizeof(text)) < 0 || proc_parse_stat(text, &stat) < 0)
		return 0;
	return stat.start;
}

static uint64_t own_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 ? 0 : (uint64_t)st.st_ino;
}

/* "whyslow-4026531836-812-123450000000-3": the last one tells apart what one process opens. */
static bool parse_owner(const char *name, struct owner *ret)
{
	unsigned long long v[3];

	if (!str_starts(name, PREFIX) || sscanf(name + strlen(PREFIX), "%llu-%llu-%llu-", &v[0], &v[1], &v[2]) != 3)
		return false;
	*ret = (struct owner){v[0], v[1], v[2]};
	return true;
}

int tracefs_sweep(const char *tracing)
{
	int swept = 0;

	FOLDER_EACH(entry, opendir(STR_TEXT(400, "%s/" INSTANCES, tracing ? tracing : TRACING))) {
		struct owner o;

		/* of another pid namespace nothing is known */
		if (parse_owner(entry.name, &o) && o.namespace == own_namespace() && start_of(o.pid) != o.start)
			swept += unlinkat(dirfd(entry.folder), entry.name, AT_REMOVEDIR) == 0;
	}
	return swept;
}

static int make_instance(struct tracefs *f)
{
	static unsigned serial;
	unsigned n = __atomic_fetch_add(&serial, 1, __ATOMIC_RELAXED);

	if (asprintf(&f->instance, "%s/" INSTANCES "/" PREFIX "%llu-%u-%llu-%u", f->tracing, (unsigned long long)own_namespace(),
		     (unsigned)getpid(), (unsigned long long)start_of((uint64_t)getpid()), n) < 0) {
		f->instance = NULL;
		return -ENOMEM;
	}
	if (mkdir(f->instance, 0700) == 0)
		return 0;
	n = (unsigned)errno;
	free(TAKE(f->instance)); /* not ours to remove */
	return -(int)n;
}

/* --- begin and end --- */

static int find_cpus(struct tracefs *f)
{
	DIR *folder;

	f->cpus = calloc(CPUS_MOST, sizeof(*f->cpus));
	folder = f->cpus ? opendir(STR_TEXT(400, "%s/per_cpu", f->instance)) : NULL;
	if (!folder)
		return -errno;
	FOLDER_EACH(entry, folder) {
		unsigned cpu;

		if (sscanf(entry.name, "cpu%u", &cpu) != 1 || cpu >= CPUS_MOST)
			continue;
		f->cpus[cpu].there = true;
		if (cpu >= f->n_cpus)
			f->n_cpus = cpu + 1;
	}
	return f->n_cpus ? 0 : -ENODEV;
}

static int set_up(struct tracefs *f, uint64_t bytes)
{
	int r = write_file(f->instance, "tracing_on", "0");

	r = r ?: write_file(f->instance, "trace_clock", "mono");
	f->pages = bytes / 2 / f->n_cpus / f->layout.page_size;
	if (f->pages < PAGES_LEAST)
		f->pages = PAGES_LEAST;
	r = r ?: write_file(f->instance, "buffer_size_kb", STR_TEXT(32, "%zu", f->pages * f->layout.page_size >> 10));
	/* it overwrites unless the machine's standard was changed; only newer kernels have the file in instances */
	(void)write_file(f->instance, "options/overwrite", "1");
	return r;
}

static int enable(struct tracefs *f)
{
	int r = 0;

	for (int i = 0; r == 0 && i < POINT_COUNT; i++) {
		if (!f->layout.points[i].there)
			continue;
		r = write_file(f->instance, STR_TEXT(160, "events/%s/enable", trace_points[i].event), "1");
		if (r < 0 && !trace_points[i].needed) {
			f->layout.points[i].there = false;
			r = 0;
		}
	}
	return r < 0 ? r : write_file(f->instance, "tracing_on", "1");
}

static const char *why_not(int r)
{
	return lockdown_is_confidential("/sys") ? "the kernel is locked down (lockdown=confidentiality): it has no trace events" :
	       r == -EPERM || r == -EACCES ? "the flight recorder needs root: start the recorder as root" :
	       r == -ENOMEM ? "there is no memory for the flight recorder's buffers: lower ring.size" :
			      "this kernel has neither BTF and BPF (6.1 or later) nor tracefs for the flight recorder";
}

int tracefs_open(const struct tracefs_options *options, struct tracefs **ret, const char **ret_why)
{
	struct tracefs *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->root = -1;
	f->tracing = strdup(options->tracing ? options->tracing : TRACING);
	r = f->tracing ? mount_tracing(f) : -ENOMEM;
	if (r == 0) {
		f->root = open(f->tracing, O_PATH | O_DIRECTORY | O_CLOEXEC);
		(void)tracefs_sweep(f->tracing);
		r = make_instance(f);
	}
	r = r ?: tracefs_layout_read(f->tracing, &f->layout);
	r = r ?: find_cpus(f);
	r = r ?: set_up(f, options->bytes);
	r = r ?: enable(f);
	f->began = (uint64_t)clock_monotonic();
	if (r < 0) {
		*ret_why = why_not(r);
		tracefs_close(f);
		return r;
	}
	*ret = f;
	return 0;
}

void tracefs_close(struct tracefs *f)
{
	if (!f)
		return;
	if (f->instance) {
		(void)write_file(f->instance, "events/enable", "0");
		for (int i = 0; rmdir(f->instance) < 0 && errno == EBUSY && i < SWEEP_TRIES; i++)
			usleep(SWEEP_PAUSE);
	}
	cleanup_fd(&f->root);
	if (f->mounted)
		(void)umount(TRACING); /* busy: another one has come to use it */
	for (uint32_t i = 0; f->cpus && i < f->n_cpus; i++)
		free(f->cpus[i].pages);
	free(f->cpus);
	tracefs_layout_free(&f->layout);
	FREE_ALL(f->tracing, f->instance, f);
}

/* --- a freeze --- */

static int make_room(struct kept *k, size_t page_size)
{
	size_t want = k->allocated ? 2 * k->allocated : PAGES_LEAST;
	uint8_t *grown;

	if (k->n < k->allocated)
		return 0;
	grown = reallocarray(k->pages, want, page_size);
	if (!grown)
		return -ENOMEM;
	k->pages = grown;
	k->allocated = want;
	return 0;
}

/* The kernel's pages, oldest first. Between two of them records may have been lost: what was before says nothing any more of what is
 * then. Ends with what was written after the freeze, at the latest when a whole buffer of it was read. */
static int drain(struct tracefs *f, uint32_t cpu, uint64_t until)
{
	struct kept *k = &f->cpus[cpu];
	_cleanup_close_ int fd = -1;

	fd = open(STR_TEXT(400, "%s/per_cpu/cpu%u/trace_pipe_raw", f->instance, cpu), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (size_t i = 0; i < 2 * f->pages; i++) {
		uint8_t *page;
		ssize_t n;

		if (make_room(k, f->layout.page_size) < 0)
			return -ENOMEM;
		page = k->pages + k->n * f->layout.page_size;
		n = read(fd, page, f->layout.page_size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < (ssize_t)f->layout.page_data || tracefs_page_empty(&f->layout, page))
			return n < 0 && errno != EAGAIN ? -errno : 0;
		memset(page + n, 0, f->layout.page_size - (size_t)n);
		if (tracefs_page_lost(&f->layout, page)) {
			memmove(k->pages, page, f->layout.page_size);
			k->n = 0;
			k->cut = true;
		}
		k->n++;
		if (tracefs_page_time(&f->layout, k->pages + (k->n - 1) * f->layout.page_size) > until)
			break;
	}
	return 0;
}

/* Only so much is kept for the next freeze. */
static void trim(const struct tracefs *f, struct kept *k)
{
	size_t extra = k->n > f->pages ? k->n - f->pages : 0;

	if (!extra)
		return;
	memmove(k->pages, k->pages + extra * f->layout.page_size, (k->n - extra) * f->layout.page_size);
	k->n -= extra;
	k->cut = true;
}

static void describe_cpus(const struct tracefs *f, struct trace *t)
{
	for (uint32_t i = 0; i < f->n_cpus; i++) {
		const struct kept *k = &f->cpus[i];

		t->cpus[i].there = k->there;
		t->cpus[i].from = k->cut && k->n ? tracefs_page_time(&f->layout, k->pages) : f->began;
	}
}

static int translate(const struct tracefs *f, struct trace *t)
{
	struct tracefs_pages *pages = calloc(f->n_cpus, sizeof(*pages));
	int r;

	if (!pages)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n_cpus; i++)
		pages[i] = (struct tracefs_pages){.layout = &f->layout, .bytes = f->cpus[i].pages, .n = f->cpus[i].n, .cpu = (uint16_t)i};
	r = tracefs_translate(pages, f->n_cpus, "/proc", t->frozen, t);
	free(pages);
	return r;
}

int tracefs_freeze_since(struct tracefs *f, uint64_t since, struct trace *ret)
{
	_cleanup_(trace_clear) struct trace t = {};
	int r = trace_begin(&t, f->n_cpus);

	if (r < 0)
		return r;
	t.frozen = (uint64_t)clock_monotonic();
	t.source = "tracefs";
	t.has_wakers = true;
	t.has_block = f->layout.points[POINT_ISSUE].there;
	trace_describe_machine(&t);
	for (uint32_t i = 0; i < f->n_cpus && r == 0; i++)
		if (f->cpus[i].there)
			r = drain(f, i, t.frozen);
	r = r ?: trace_list_threads("/proc", t.boot_offset, &t);
	r = r ?: translate(f, &t);
	if (r < 0)
		return r;
	describe_cpus(f, &t);
	trace_cut(&t, since);
	for (uint32_t i = 0; i < f->n_cpus; i++)
		trim(f, &f->cpus[i]);
	trace_describe_threads("/proc", 0, &t);
	r = trace_finish(&t);
	if (r < 0)
		return r;
	*ret = t;
	t = (struct trace){};
	return 0;
}

char *tracefs_missing(const struct tracefs *f)
{
	struct str out = {};

	str_puts(&out, "stacks and samples of what runs\n"
		       "who holds a lock: locks and condition variables look the same, and the thread that woke the waiter is named\n"
		       "time taken by CPU quotas: it counts as waiting for a CPU\n"
		       "used slices: what is not an arrival counts as one\n"
		       "who dirtied what the kernel writes back\n");
	for (int i = 0; f && i < POINT_COUNT; i++)
		if (trace_points[i].lost && !f->layout.points[i].there)
			str_printf(&out, "%s\n", trace_points[i].lost);
	return out.data;
}
