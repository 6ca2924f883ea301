/* What a person feels: how late a program of normal priority comes to run, how long a small read from the
 * disk and the start of a process take.
 *
 * A thread of normal priority waits for the sampler's nudge, which comes with every tick: no timer of its
 * own, so that an idle machine is woken no more often. Read and fork are done only next to pressure on the
 * machine. What is still waiting at the next tick counts as long as it waited so far, and nothing new is
 * begun.
 *
 * To wake a thread on a CPU that idles costs the recorder as much as all of a small machine's counters. Where nothing waits for
 * anything and the thread came at once, it will do so again: it then is woken every few ticks only, and in between it counts
 * as it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "machine/sample/system.h"

#define BLOCK	 4096
#define PRESSURE 0.05 /* share of the time in which something waited: above it the machine does not idle */
#define AT_ONCE	 NS_PER_MS
#define SELDOM	 4 /* ticks */

enum step { STEP_WAKEUP, STEP_READ, STEP_FORK, STEP_COUNT };

static const int features[STEP_COUNT] = {FEATURE_PROBE_WAKEUP, FEATURE_PROBE_READ, FEATURE_PROBE_FORK};

struct probe {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t nudge;
	bool stop, nudged, busy, under_pressure;
	enum step step;		  /* being waited for while busy */
	int64_t began;		  /* boot ns: that step */
	int64_t last[STEP_COUNT]; /* ns; -1 = not measured */
	int64_t felt;		  /* ns: the last of all wakeups; 0 = there was none */
	unsigned rested;	  /* ticks without a nudge */
	int fd;
	off_t size;
	uint64_t reads;
	void *block;
	_Alignas(16) char stack[4096]; /* of the process that is started */
	int64_t pressure[3], at; /* totals at the sample before */
};

static void begin_step(struct probe *p, enum step step)
{
	pthread_mutex_lock(&p->lock);
	p->step = step;
	p->began = clock_boot();
	pthread_mutex_unlock(&p->lock);
}

static void end_step(struct probe *p)
{
	pthread_mutex_lock(&p->lock);
	p->last[p->step] = clock_boot() - p->began;
	pthread_mutex_unlock(&p->lock);
}

/* Past the page cache, from another place each time: disks have caches too. */
static void read_a_little(struct probe *p)
{
	off_t blocks = p->size / BLOCK;

	if (blocks)
		(void)!pread(p->fd, p->block, BLOCK,
			     (off_t)((p->reads++ * 2654435761u) % (uint64_t)blocks) * BLOCK);
}

static int end_at_once(void *argument)
{
	(void)argument;
	return 0;
}

/* With this one's memory and files: a copy of all that the recorder maps would tell how large the recorder is. Every
 * page that is written afterwards, by any thread, would be copied too. */
static void start_a_process(struct probe *p)
{
	pid_t pid = clone(end_at_once, p->stack + sizeof(p->stack), CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, NULL);

	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void probe_more(struct probe *p)
{
	if (p->fd >= 0) {
		begin_step(p, STEP_READ);
		read_a_little(p);
		end_step(p);
	}
	begin_step(p, STEP_FORK);
	start_a_process(p);
	end_step(p);
}

static void *probe_all(void *argument)
{
	struct probe *p = argument;

	/* the sampler's priority is not what people have */
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 0);
	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		bool more;

		if (!p->nudged) {
			pthread_cond_wait(&p->nudge, &p->lock);
			continue;
		}
		p->nudged = false;
		more = p->under_pressure;
		pthread_mutex_unlock(&p->lock);
		end_step(p);
		if (more)
			probe_more(p);
		pthread_mutex_lock(&p->lock);
		p->busy = false;
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static void open_disk(struct probe *p, const char *path)
{
	struct stat st;

	p->fd = path ? open(path, O_RDONLY | O_DIRECT | O_CLOEXEC) : -1;
	if (p->fd < 0)
		return;
	if (fstat(p->fd, &st) == 0 && S_ISREG(st.st_mode))
		p->size = st.st_size;
	p->block = aligned_alloc(BLOCK, BLOCK);
	if (!p->size || !p->block) {
		close(p->fd);
		p->fd = -1;
	}
}

static void probe_free(struct probe *p)
{
	if (p->fd >= 0)
		close(p->fd);
	FREE_ALL(p->block, p);
}

static int probe_open(const struct source_options *options, void **ret_state)
{
	struct probe *p;

	if (!options->probe)
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < STEP_COUNT; i++)
		p->last[i] = -1;
	open_disk(p, options->probe_file);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->nudge, NULL);
	if (pthread_create(&p->thread, NULL, probe_all, p) != 0) {
		probe_free(p);
		return -EAGAIN;
	}
	pthread_setname_np(p->thread, "probe");
	*ret_state = p;
	return 0;
}

static void probe_close(void *state)
{
	struct probe *p = state;

	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_signal(&p->nudge);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	probe_free(p);
}

/* The readers before this one have put the tick's pressure. */
static bool is_under_pressure(struct probe *p, const struct tick *tick, const int64_t *values,
			      feature_set present)
{
	static const int pressures[] = {FEATURE_PSI_CPU_SOME, FEATURE_PSI_IO_SOME, FEATURE_PSI_MEMORY_SOME};
	int64_t span = p->at ? tick->boot - p->at : 0;
	bool any = false;

	for (size_t i = 0; i < ARRAY_SIZE(pressures); i++) {
		if (!(present >> pressures[i] & 1))
			continue;
		any |= span && (double)(values[pressures[i]] - p->pressure[i]) > PRESSURE * (double)span;
		p->pressure[i] = values[pressures[i]];
	}
	p->at = tick->boot;
	return any;
}

static void put(struct probe *p, int64_t *values, feature_set *present)
{
	for (size_t i = 0; i < STEP_COUNT; i++) {
		int64_t so_far = p->busy && p->step == i ? clock_boot() - p->began : -1;
		int64_t took = so_far > p->last[i] ? so_far : p->last[i];

		if (took < 0)
			continue;
		values[features[i]] = took;
		*present |= FEATURE_BIT(features[i]);
		p->last[i] = -1;
		if (i == STEP_WAKEUP)
			p->felt = took;
	}
	if (p->rested) {
		values[FEATURE_PROBE_WAKEUP] = p->felt;
		*present |= FEATURE_BIT(FEATURE_PROBE_WAKEUP);
	}
}

static bool may_rest(const struct probe *p, bool calm)
{
	return calm && p->felt && p->felt < AT_ONCE && p->rested < SELDOM - 1;
}

static void probe_read(void *state, struct tick *tick, int64_t *values, feature_set *present)
{
	struct probe *p = state;
	bool pressed = is_under_pressure(p, tick, values, *present);
	bool calm = !pressed && *present >> FEATURE_PSI_CPU_SOME & 1;

	pthread_mutex_lock(&p->lock);
	put(p, values, present);
	if (!p->busy && may_rest(p, calm)) {
		p->rested++;
	} else if (!p->busy) {
		p->rested = 0;
		p->last[STEP_WAKEUP] = p->last[STEP_READ] = p->last[STEP_FORK] = -1;
		p->busy = p->nudged = true;
		p->under_pressure = pressed;
		p->step = STEP_WAKEUP;
		p->began = clock_boot();
		pthread_cond_signal(&p->nudge);
	}
	pthread_mutex_unlock(&p->lock);
}

const struct system_reader probe_reader = {
	.open = probe_open,
	.read = probe_read,
	.close = probe_close,
	.missing = "cannot start a thread to measure how responsive the machine is",
};
