/* Processes by /proc, where BPF is not available: an old kernel, or no rights.
 *
 * Some 30 us a process, ten times as much as the sweep and more, for less: what the kernel does not show of a process is
 * absent. /proc/PID/{stat,io} tell of all threads, living and ended; schedstat and the context switches in
 * status tell of one thread. So schedstat is read of each thread, and what a thread had done when last seen continues
 * counting after it ended; context switches are absent once a process has had two threads. A process's directory is
 * kept open: a path is walked once, and a reused pid cannot be mistaken.
 */
#include "lib/data/folder.h"
#include "lib/data/order.h"
#include "machine/process/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/hmap.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"
#include "lib/system/own-limits.h"
#include "machine/sample/gpu.h"
#include "machine/sample/source.h"

#define FILE_MAX      4096 /* status, the longest, has 1.5 kB */
#define SLOW_EVERY    60   /* ticks between readings of what hardly ever changes */
#define BIT(feature)  (FEATURE_BIT(FEATURE_##feature))
#define SWITCHES_MASK (BIT(CTX_VOLUNTARY) | BIT(CTX_INVOLUNTARY))

struct thread {
	uint32_t tid;
	int64_t v[3]; /* as proc_parse_schedstat() */
};

struct process {
	uint32_t pid;
	uint64_t start, image;
	int dir; /* -1 = not kept: too many are open */
	struct entity *entity;
	uint64_t tick;	 /* last one that saw it */
	bool had_threads; /* more than one, at any tick */
	bool announced;	 /* as one to be described */
	VEC(struct thread) threads;
	int64_t ended[3]; /* of threads that are gone */
	struct gpu_process gpu;
	feature_set present;
	int64_t now[PROCESS_FEATURE_COUNT];
	int64_t cpu; /* as put at the last tick */
};

struct proc_source {
	struct source_options options;
	DIR *root;
	struct hmap by_pid; /* (pid, 0) -> struct process */
	VEC(struct process *) gone;
	VEC(struct thread) threads; /* being read */
	uint64_t tick;
	size_t kept, kept_max; /* directories */
	uint32_t own_pid;
	bool recording;
	bool has_gpu;
};

/* The whole of a short file, NUL-terminated; its length or -errno. */
static ssize_t read_file(int dir, const char *name, char text[FILE_MAX])
{
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, FILE_MAX - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return n;
}

static void set(struct process *p, int feature, int64_t value)
{
	p->now[feature] = value;
	p->present |= FEATURE_BIT(feature);
}

static void take_stat(struct process *p, const struct proc_stat *s)
{
	set(p, FEATURE_CPU_USER, (int64_t)s->user);
	set(p, FEATURE_CPU_SYSTEM, (int64_t)s->system);
	set(p, FEATURE_FAULTS_MINOR, (int64_t)s->minor_faults);
	set(p, FEATURE_FAULTS_MAJOR, (int64_t)s->major_faults);
	set(p, FEATURE_THREADS, (int64_t)s->threads);
	set(p, FEATURE_SCHED_NICE, s->nice);
	set(p, FEATURE_SCHED_POLICY, (int64_t)s->policy);
	p->had_threads |= s->threads > 1;
	if (s->threads == 1)
		set(p, FEATURE_THREADS_BLOCKED, s->state == 'D');
}

static void read_threads(struct proc_source *src, int dir, struct process *p)
{
	DIR *tasks = folder_open_at(dir, "task");
	char text[FILE_MAX];

	src->threads.n = 0;
	p->had_threads |= !tasks; /* and none can be seen */
	FOLDER_EACH(e, tasks) {
		struct thread t = {.tid = (uint32_t)strtoul(e.name, NULL, 10)};

		if (t.tid && read_file(dirfd(tasks), STR_TEXT(300, "%s/schedstat", e.name), text) > 0 && proc_parse_schedstat(text, t.v) == 0)
			(void)VEC_PUSH(src->threads, t);
	}
}

ORDER(compare_threads, struct thread, ASCENDING(tid))

/* What a thread had done when it was last seen is not lost with it. Both lists are sorted. */
static void count_ended(struct proc_source *src, struct process *p)
{
	size_t j = 0;

	VEC_EACH(before, p->threads) {
		while (j < src->threads.n && src->threads.v[j].tid < before->tid)
			j++;
		/* a lower count under the same number is another thread */
		if (j < src->threads.n && src->threads.v[j].tid == before->tid && src->threads.v[j].v[2] >= before->v[2])
			continue;
		for (int k = 0; k < 3; k++)
			p->ended[k] += before->v[k];
	}
}

static void keep_threads(struct proc_source *src, struct process *p)
{
	p->threads.n = 0;
	for (size_t i = 0; i < src->threads.n; i++)
		(void)VEC_PUSH(p->threads, src->threads.v[i]);
}

/* stat's times leave out no thread, but are a clock tick exact; schedstat is exact, but what a thread did after it was
 * last seen is not in it: so the truth is no less than either. */
static void take_cpu_time(struct process *p, int64_t exact)
{
	int64_t coarse = p->now[FEATURE_CPU_USER] + p->now[FEATURE_CPU_SYSTEM];

	if (exact > p->cpu)
		p->cpu = exact;
	if (coarse > p->cpu)
		p->cpu = coarse;
	set(p, FEATURE_CPU_TIME, p->cpu);
}

static void take_schedstat(struct proc_source *src, int dir, struct process *p)
{
	char text[FILE_MAX];
	int64_t sum[3];
	struct thread only = {.tid = p->pid};

	if (p->had_threads) {
		read_threads(src, dir, p);
	} else {
		src->threads.n = 0;
		if (read_file(dir, "schedstat", text) > 0 && proc_parse_schedstat(text, only.v) == 0)
			(void)VEC_PUSH(src->threads, only);
	}
	if (src->threads.n == 0)
		return take_cpu_time(p, 0);
	VEC_SORT(src->threads, compare_threads);
	count_ended(src, p);
	for (int k = 0; k < 3; k++)
		sum[k] = p->ended[k];
	for (size_t i = 0; i < src->threads.n; i++)
		for (int k = 0; k < 3; k++)
			sum[k] += src->threads.v[i].v[k];
	keep_threads(src, p);
	take_cpu_time(p, sum[0]);
	set(p, FEATURE_CPU_RUN_DELAY, sum[1]);
	set(p, FEATURE_CPU_SLICES, sum[2]);
}

/* Since 6.2 a directory of descriptors says in its size how many there are. */
static void count_files(int dir, struct process *p)
{
	struct stat st;
	DIR *files;
	int n = 0;

	if (fstatat(dir, "fd", &st, 0) == 0 && st.st_size > 0) {
		set(p, FEATURE_HANDLES_FILES, st.st_size);
		return;
	}
	files = folder_open_at(dir, "fd");
	if (!files)
		return;
	FOLDER_EACH(e, files)
		n++;
	set(p, FEATURE_HANDLES_FILES, n);
}

static void read_slow(int dir, struct process *p)
{
	char text[FILE_MAX];

	if (read_file(dir, "oom_score_adj", text) > 0)
		set(p, FEATURE_OOM_SCORE_ADJ, strtol(text, NULL, 10));
}

static void read_gpu(struct proc_source *src, int dir, struct process *p)
{
	p->present &= ~(BIT(GPU_TIME) | BIT(GPU_MEMORY));
	if (!gpu_is_due(&p->gpu, p->pid, src->tick) || !gpu_read(dir, p->pid, src->tick, &p->gpu))
		return;
	set(p, FEATURE_GPU_TIME, p->gpu.time);
	set(p, FEATURE_GPU_MEMORY, p->gpu.memory);
}

static void read_values(struct proc_source *src, int dir, struct process *p, const struct proc_stat *s)
{
	bool kernel = s->flags & PF_KTHREAD;
	uint32_t uid = p->entity->info.uid;
	char text[FILE_MAX];

	p->present &= BIT(OOM_SCORE_ADJ); /* stays from its last reading */
	take_stat(p, s);
	take_schedstat(src, dir, p);
	if (read_file(dir, "status", text) > 0)
		proc_parse_status(text, p->now, &p->present, &uid);
	if (p->had_threads)
		p->present &= ~SWITCHES_MASK;
	if (p->entity->info.uid != uid) {
		p->entity->info.uid = uid;
		p->entity->changed = true;
	}
	if (read_file(dir, "io", text) > 0)
		proc_parse_io(text, p->now, &p->present);
	if (kernel)
		return;
	count_files(dir, p);
	if (!(p->present & BIT(OOM_SCORE_ADJ)) || (src->tick + p->pid) % SLOW_EVERY == 0)
		read_slow(dir, p);
	if (src->has_gpu)
		read_gpu(src, dir, p);
}

static struct entity *new_entity(const struct proc_source *src, const struct process *p, const struct proc_stat *s)
{
	const struct process *parent = hmap_get(&src->by_pid, s->parent, 0);

	return entity_new_process(&(struct process_birth){.name = s->comm, .pid = p->pid, .parent = s->parent, .start = s->start,
				  .is_kernel_thread = s->flags & PF_KTHREAD, .was_seen_to_start = src->recording,
				  .parent_entity = parent ? parent->entity : NULL, .recorder = src->own_pid});
}

static void rename_entity(struct entity *e, const char *name)
{
	char *copy;

	if (strcmp(e->info.name, name) == 0)
		return;
	copy = strdup(name);
	if (!copy)
		return;
	free(e->info.name);
	e->info.name = copy;
	e->changed = true;
}

static void follow_identity(struct tick *tick, struct process *p, const struct proc_stat *s)
{
	bool executed = p->image != s->image || strcmp(p->entity->info.name, s->comm) != 0;

	if ((!p->announced || executed) && !(s->flags & PF_KTHREAD))
		(void)VEC_PUSH(tick->unnamed, p->entity);
	p->announced = true;
	p->image = s->image;
	rename_entity(p->entity, s->comm);
	if (p->entity->info.parent != s->parent) {
		p->entity->info.parent = s->parent;
		p->entity->changed = true;
	}
}

static int open_process(struct proc_source *src, const char *name)
{
	int dir = openat(dirfd(src->root), name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (dir < 0)
		return -errno;
	if (src->options.own_processes_only && (fstat(dir, &st) < 0 || st.st_uid != src->options.own_uid)) {
		close(dir);
		return -EPERM;
	}
	return dir;
}

static void process_free(struct proc_source *src, struct process *p)
{
	if (p->dir >= 0) {
		close(p->dir);
		src->kept--;
	}
	entity_free(p->entity);
	VEC_FREE(p->threads);
	free(p);
}

static struct process *new_process(struct proc_source *src, uint32_t pid, int dir, const struct proc_stat *s)
{
	struct process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->pid = pid;
	p->start = s->start;
	p->image = s->image;
	p->dir = -1;
	p->entity = new_entity(src, p, s);
	if (!p->entity || hmap_put(&src->by_pid, pid, 0, p) < 0) {
		process_free(src, p);
		return NULL;
	}
	if (src->kept < src->kept_max) {
		p->dir = fcntl(dir, F_DUPFD_CLOEXEC, 0);
		src->kept += p->dir >= 0;
	}
	return p;
}

static void end_process(struct proc_source *src, struct tick *tick, struct process *p)
{
	p->tick = src->tick; /* once only */
	(void)VEC_PUSH(tick->ended, p->entity);
	(void)VEC_PUSH(src->gone, p);
}

static int read_stat(int dir, struct proc_stat *ret)
{
	char text[FILE_MAX];
	ssize_t n = read_file(dir, "stat", text);

	return n < 0 ? (int)n : proc_parse_stat(text, ret);
}

static void put_process(struct proc_source *src, struct tick *tick, int dir, struct process *p,
			const struct proc_stat *s)
{
	p->tick = src->tick;
	follow_identity(tick, p, s);
	read_values(src, dir, p, s);
	tick_put(tick, p->entity, p->now, p->present);
}

/* Not known, or known under this number no longer. */
static void visit_new(struct proc_source *src, struct tick *tick, const char *name, uint32_t pid, struct process *known)
{
	_cleanup_close_ int dir = open_process(src, name);
	struct process *p = known;
	struct proc_stat s;

	if (dir < 0 || read_stat(dir, &s) < 0)
		return;
	if (p && p->start != s.start) {
		end_process(src, tick, p);
		p = NULL;
	}
	if (!p)
		p = new_process(src, pid, dir, &s);
	if (p)
		put_process(src, tick, dir, p, &s);
}

static void visit(struct proc_source *src, struct tick *tick, const char *name, uint32_t pid)
{
	struct process *p = hmap_get(&src->by_pid, pid, 0);
	struct proc_stat s;

	if (p && p->dir >= 0 && read_stat(p->dir, &s) == 0 && s.start == p->start)
		put_process(src, tick, p->dir, p, &s);
	else
		visit_new(src, tick, name, pid, p);
}

static void forget_gone(struct proc_source *src)
{
	for (size_t i = 0; i < src->gone.n; i++) {
		struct process *p = src->gone.v[i];

		if (hmap_get(&src->by_pid, p->pid, 0) == p)
			hmap_remove(&src->by_pid, p->pid, 0);
		process_free(src, p);
	}
	src->gone.n = 0;
}

static void proc_sample(void *state, struct tick *tick)
{
	struct proc_source *src = state;

	forget_gone(src); /* of the tick before: their entities have been encoded by now */
	src->tick++;
	rewinddir(src->root);
	for (struct dirent *e; (e = readdir(src->root));) {
		uint64_t pid;

		if (isdigit((unsigned char)*e->d_name) && str_parse_u64(e->d_name, &pid) == 0 && pid <= UINT32_MAX)
			visit(src, tick, e->d_name, (uint32_t)pid);
	}
	HMAP_FOREACH(slot, &src->by_pid) {
		struct process *p = slot->value;

		if (p->tick != src->tick)
			end_process(src, tick, p);
	}
	src->recording = true;
}

static void proc_close(void *state)
{
	struct proc_source *src = state;

	if (!src)
		return;
	forget_gone(src);
	HMAP_FOREACH(slot, &src->by_pid)
		process_free(src, slot->value);
	hmap_free(&src->by_pid);
	VEC_FREE(src->gone);
	VEC_FREE(src->threads);
	if (src->root)
		closedir(src->root);
	free(src);
}

/* Half of the descriptors this process may have; the rest is for everything else. */
static size_t directories_to_keep(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < 64)
		return 0;
	return limit.rlim_cur > 1 << 20 ? 1 << 19 : limit.rlim_cur / 2;
}

static int proc_open(const struct source_options *options, void **ret_state, const char **ret_why)
{
	struct proc_source *src = calloc(1, sizeof(*src));
	int error;

	if (!src)
		return -ENOMEM;
	src->options = *options;
	src->own_pid = (uint32_t)getpid();
	src->kept_max = directories_to_keep();
	src->has_gpu = gpu_is_there(options->sys_root);
	src->root = opendir(options->proc_root);
	if (!src->root) {
		error = -errno;
		proc_close(src);
		*ret_why = own_limits_reason(error) ?: "/proc is not mounted";
		return error;
	}
	*ret_state = src;
	return 0;
}

const struct source source_proc = {
	.name = "proc",
	.help = "processes by /proc",
	.open = proc_open,
	.sample = proc_sample,
	.close = proc_close,
};
