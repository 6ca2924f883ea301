/* Writes a recording of a made-up machine: make-recording FILE [--hours H] [--processes N] [--active N]
 * [--seed N] [--start SECONDS]
 *
 * Ticks go through the recorder's own encoder, journal and compaction. Processes are of four kinds, as on a
 * real machine: busy ones with bursts and heavy tails, daemons with a period, those that wake at random, and
 * those that sleep; some are replaced by new ones. What a process does in a second decides all of its
 * counters, which so depend on each other as the kernel's do. The machine's own entities are in it, and fifty
 * control groups.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "machine/chunk/frame.h"
#include "machine/model/tick.h"
#include "machine/recording/journal.h"
#include "machine/recording/store.h"

#define SEGMENT_TICKS 600
#define GROUPS	      50
#define PRESENT \
	(FEATURES_BELOW(PROCESS_FEATURE_COUNT) & ~(FEATURE_BIT(FEATURE_GPU_TIME) | FEATURE_BIT(FEATURE_GPU_MEMORY)))

#define BIT(id) (FEATURE_BIT(FEATURE_##id))
#define SYSTEM_CHANGING                                                                                    \
	(BIT(PSI_CPU_SOME) | BIT(PSI_IO_SOME) | BIT(PSI_IO_FULL) | BIT(RUN_QUEUE) | BIT(FORKS) |           \
	 BIT(CONTEXT_SWITCHES) | BIT(INTERRUPTS) | BIT(SYS_MEM_FREE) | BIT(SYS_MEM_AVAILABLE) |            \
	 BIT(SYS_MEM_CACHED) | BIT(SYS_MEM_DIRTY) | BIT(SYS_MEM_ANON) | BIT(SYS_MEM_SLAB) |                \
	 BIT(SYS_PAGE_IN) | BIT(SYS_PAGE_OUT) | BIT(SYS_TCP_OUT) | BIT(SYS_PROCESSES) | BIT(SYS_THREADS) | \
	 BIT(PROBE_WAKEUP))
#define CORE_CHANGING                                                                                \
	(BIT(CORE_USER) | BIT(CORE_SYSTEM) | BIT(CORE_IDLE) | BIT(CORE_IOWAIT) | BIT(CORE_SOFTIRQ) | \
	 BIT(CORE_FREQUENCY))
#define GROUP_CHANGING (BIT(CG_CPU) | BIT(CG_MEMORY) | BIT(CG_PSI_CPU))

enum habit { BUSY, PERIODIC, RANDOM, ASLEEP };

struct process {
	struct entity *entity;
	enum habit habit;
	double rate;			     /* wake-ups a second, or the period's */
	double size, breadth;		     /* of what it does when awake: log-normal */
	double burst;			     /* drifts */
	double reads, writes, talks, faults; /* what it does next to computing, 0..1 */
	double next;			     /* second of the next wake-up */
	int64_t values[PROCESS_FEATURE_COUNT];
};

/* The machine's own: features that change every second by so much, about. */
struct thing {
	struct entity *entity;
	feature_set present; /* features that change when it does something */
	double activity;  /* how likely it does in a second */
	int64_t values[FEATURES_MAX];
};

struct machine {
	struct process *processes;
	size_t n;
	struct thing things[GROUPS + 16];
	size_t n_things;
	uint64_t random;
	double second;
	uint32_t next_pid;
	struct tick tick;
	struct frame_encoder encoder;
	uint64_t active; /* processes, counted in all ticks */
};

static double uniform(struct machine *m)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return ((double)(m->random >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(struct machine *m)
{
	return sqrt(-2 * log(uniform(m))) * cos(6.283185307179586 * uniform(m));
}

static double exponential(struct machine *m)
{
	return -log(uniform(m));
}

/* A count with this mean: its variance is its mean. */
static int64_t count(struct machine *m, double mean)
{
	double drawn = mean > 30 ? mean + sqrt(mean) * normal(m) : 0, left = exp(-mean);

	if (mean > 30)
		return drawn > 0 ? (int64_t)(drawn + 0.5) : 0;
	for (double p = uniform(m); p > left && drawn < 200; p *= uniform(m))
		drawn++;
	return (int64_t)drawn;
}

static const char *const programs[][3] = {
	{"postgres", "/usr/lib/postgresql/15/bin/postgres", "postgres: worker "},
	{"nginx", "/usr/sbin/nginx", "nginx: worker process "},
	{"python3", "/usr/bin/python3.11",
	 "/usr/bin/python3 /opt/service/worker.py --queue=default --shard="},
	{"firefox", "/usr/lib/firefox-esr/firefox-esr",
	 "/usr/lib/firefox-esr/firefox-esr -contentproc -childID "},
	{"systemd-journal", "/usr/lib/systemd/systemd-journald", "/lib/systemd/systemd-journald"},
	{"containerd-shim", "/usr/bin/containerd-shim-runc-v2",
	 "/usr/bin/containerd-shim-runc-v2 -namespace moby -id "},
	{"java", "/usr/lib/jvm/java-17-openjdk-amd64/bin/java",
	 "java -Xmx2g -jar /srv/app/server.jar --instance="},
	{"node", "/usr/bin/node", "node /srv/web/server.js --port=80"},
	{"sshd", "/usr/sbin/sshd", "sshd: user@pts/"},
	{"bash", "/usr/bin/bash", "-bash"},
	{"kworker/u8:2", NULL, NULL},
	{"dbus-daemon", "/usr/bin/dbus-daemon",
	 "/usr/bin/dbus-daemon --session --address=systemd: --nofork --nopidfile"},
};

static char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *text(const char *format, ...)
{
	va_list args;
	char *s;

	va_start(args, format);
	if (vasprintf(&s, format, args) < 0)
		abort();
	va_end(args);
	return s;
}

static void name_process(struct process *p, size_t number, uint32_t pid, double second)
{
	const char *const *program = programs[number % (sizeof(programs) / sizeof(programs[0]))];

	p->entity = entity_new(ENTITY_PROCESS, program[0]);
	if (!p->entity)
		abort();
	p->entity->info.pid = pid;
	p->entity->info.parent = 1 + pid % 50;
	p->entity->info.start = (uint64_t)(second * 1e9) + 1000003ull * pid;
	p->entity->born = second > 0;
	if (program[1])
		entity_describe(p->entity, strdup(program[1]), text("%s%u", program[2], pid),
				text("service-%zu.service", number % 70), NULL);
	else
		p->entity->info.flags = ENTITY_IS_KERNEL_THREAD;
}

static void set_levels(struct machine *m, struct process *p)
{
	p->values[FEATURE_THREADS] = 1 + count(m, exponential(m) * 6);
	p->values[FEATURE_MEM_ANON] = 4096 * (int64_t)exp(7 + 2 * normal(m));
	p->values[FEATURE_MEM_FILE] = 4096 * (int64_t)exp(7 + normal(m));
	p->values[FEATURE_MEM_VIRTUAL] = 4096 * (int64_t)exp(11 + 2 * normal(m));
	p->values[FEATURE_MEM_DATA] = p->values[FEATURE_MEM_VIRTUAL] / 4096 / 3 * 4096;
	p->values[FEATURE_MEM_STACK] = 33 * 4096;
	p->values[FEATURE_MEM_PAGE_TABLES] = 4096 * (20 + count(m, 30));
	p->values[FEATURE_HANDLES_FILES] = 3 + count(m, exponential(m) * 20);
	p->values[FEATURE_HANDLES_SOCKETS] = count(m, 4);
}

/* The share of the kinds follows from how many are to be active in a second. */
static void begin_process(struct machine *m, struct process *p, size_t number, double active)
{
	double kind = (double)(number % 100) / 100 + 0.005;

	entity_free(p->entity);
	*p = (struct process){};
	name_process(p, number, m->next_pid++, m->second);
	set_levels(m, p);
	p->habit = kind < 0.55 * active	  ? BUSY
		   : kind < 1.05 * active ? PERIODIC
		   : kind < 0.5 + active  ? RANDOM
					  : ASLEEP;
	p->rate = p->habit == BUSY	 ? 0.8 + 0.2 * uniform(m)
		  : p->habit == PERIODIC ? 1 + floor(exponential(m) * 2)
					 : 0.02 + 0.3 * active * uniform(m);
	p->size = 5 + 2 * normal(m);
	p->breadth = p->habit == PERIODIC ? 0.15 : 0.9;
	p->reads = uniform(m) < 0.7 ? uniform(m) : 0;
	p->writes = uniform(m) < 0.6 ? uniform(m) : 0;
	p->talks = uniform(m) < 0.5 ? uniform(m) : 0;
	p->faults = uniform(m);
	p->next = m->second + p->rate * uniform(m);
}

static bool wakes(struct machine *m, struct process *p)
{
	if (p->habit == ASLEEP)
		return uniform(m) < 0.001;
	if (p->habit != PERIODIC)
		return uniform(m) < p->rate;
	if (m->second < p->next)
		return false;
	p->next += p->rate;
	return true;
}

static void add_time(struct machine *m, struct process *p, double cpu_ns)
{
	double share = uniform(m);

	p->values[FEATURE_CPU_TIME] += (int64_t)cpu_ns;
	/* user and system time are the exact time, split by what the timer saw */
	if (uniform(m) < cpu_ns / 4e6) {
		p->values[FEATURE_CPU_USER] += (int64_t)(cpu_ns * share);
		p->values[FEATURE_CPU_SYSTEM] += (int64_t)(cpu_ns * (1 - share));
	}
}

static void add_switches(struct machine *m, struct process *p, double work, double cpu_ns)
{
	int64_t waits = 1 + count(m, work / 40), preempted = count(m, cpu_ns / 2e7 + 0.05);

	p->values[FEATURE_CTX_VOLUNTARY] += waits;
	p->values[FEATURE_CTX_INVOLUNTARY] += preempted;
	p->values[FEATURE_CPU_SLICES] += waits + preempted;
	p->values[FEATURE_CPU_MIGRATIONS] += count(m, (double)(waits + preempted) * 0.1);
	p->values[FEATURE_CPU_RUN_DELAY] += (int64_t)((double)(waits + preempted) * 4000 * exp(normal(m)));
	/* the flight recorder's: as a recording of bench/load on two CPUs has them */
	if (preempted)
		p->values[FEATURE_WAIT_PREEMPTED] += (int64_t)((double)preempted * 200000 * exp(normal(m)));
	if (uniform(m) < 0.8)
		p->values[FEATURE_CPU_IMPOSED] += (int64_t)((double)(waits + preempted) * 6000 * exp(normal(m)));
	if (uniform(m) < 0.03)
		p->values[FEATURE_WAIT_LOCK] += (int64_t)(100000 * exp(1.5 * normal(m)));
	if (uniform(m) < 0.05)
		p->values[FEATURE_WAIT_PEER] += (int64_t)(400000 * exp(1.5 * normal(m)));
	p->values[FEATURE_THREADS_RUNNING] = uniform(m) < cpu_ns / 1e9;
	p->values[FEATURE_THREADS_RUNNABLE] = uniform(m) < cpu_ns / 4e9;
}

static void add_io(struct machine *m, struct process *p, double work)
{
	int64_t reads = count(m, p->reads * work / 10), writes = count(m, p->writes * work / 15);
	int64_t in = count(m, p->talks * work / 20), out = count(m, p->talks * work / 20);
	double size = exp(5 + 0.8 * normal(m));

	p->values[FEATURE_IO_READ_CALLS] += reads + in;
	p->values[FEATURE_IO_WRITE_CALLS] += writes + out;
	p->values[FEATURE_IO_READ_CHARS] +=
		(int64_t)((double)reads * size) + (int64_t)((double)in * size * 0.7);
	p->values[FEATURE_IO_WRITE_CHARS] +=
		(int64_t)((double)writes * size * 0.5) + (int64_t)((double)out * size * 0.4);
	p->values[FEATURE_NET_RX_CALLS] += in;
	p->values[FEATURE_NET_TX_CALLS] += out;
	p->values[FEATURE_NET_RX_BYTES] += (int64_t)((double)in * size * 0.7);
	p->values[FEATURE_NET_TX_BYTES] += (int64_t)((double)out * size * 0.4);
	if (writes && uniform(m) < 0.2)
		p->values[FEATURE_IO_WRITE_BYTES] += 4096 * (1 + (int64_t)((double)writes * size / 8192));
	if (reads && uniform(m) < 0.03) {
		int64_t waits = 1 + count(m, 2);

		p->values[FEATURE_IO_READ_BYTES] += 4096 * (1 + count(m, exp(2 + normal(m))));
		p->values[FEATURE_DELAY_BLOCK_COUNT] += waits;
		int64_t blocked = (int64_t)((double)waits * 150000 * exp(normal(m)));

		p->values[FEATURE_DELAY_BLOCK] += blocked;
		p->values[FEATURE_WAIT_DISK] += blocked;
		p->values[FEATURE_FAULTS_MAJOR] += uniform(m) < 0.2;
	}
}

static void add_memory(struct machine *m, struct process *p, double work)
{
	int64_t faults = uniform(m) < p->faults ? count(m, p->faults * work / 10) : 0;

	p->values[FEATURE_FAULTS_MINOR] += faults;
	if (faults && uniform(m) < 0.5)
		p->values[FEATURE_MEM_ANON] +=
			4096 * (faults - (uniform(m) < 0.5 ? 2 * faults : 0) *
						 (p->values[FEATURE_MEM_ANON] > 8192 * faults));
	if (faults && uniform(m) < 0.1)
		p->values[FEATURE_MEM_FILE] += 4096 * count(m, 2);
	if (uniform(m) < 0.03)
		p->values[FEATURE_HANDLES_FILES] +=
			uniform(m) < 0.5 || p->values[FEATURE_HANDLES_FILES] < 4 ? 1 : -1;
	if (uniform(m) < 0.01)
		p->values[FEATURE_MEM_VIRTUAL] += 4096 * (count(m, 64) - 32);
	if (uniform(m) < 0.01)
		p->values[FEATURE_THREADS] += uniform(m) < 0.5 || p->values[FEATURE_THREADS] < 2 ? 1 : -1;
}

static void live(struct machine *m, struct process *p)
{
	double work, cpu_ns;

	p->burst = 0.95 * p->burst + 0.3 * normal(m);
	work = exp(p->size + p->breadth * normal(m) + (p->habit == BUSY ? p->burst : 0));
	cpu_ns = 4000 * work * exp(0.3 * normal(m)) + 20000;
	if (cpu_ns > 9e8)
		cpu_ns = 9e8 * uniform(m);
	add_time(m, p, cpu_ns);
	add_switches(m, p, work, cpu_ns);
	add_io(m, p, work);
	add_memory(m, p, work);
	m->active++;
}

static void add_thing(struct machine *m, enum entity_kind kind, feature_set present, double activity,
		      const char *name)
{
	struct thing *t = &m->things[m->n_things++];

	t->entity = entity_new(kind, name);
	if (!t->entity)
		abort();
	t->present = present;
	t->activity = activity;
}

static feature_set all_of(enum entity_kind kind)
{
	size_t n;

	features_of(kind, &n);
	return FEATURES_BELOW(n);
}

static void begin_things(struct machine *m)
{
	char name[64];

	add_thing(m, ENTITY_SYSTEM, SYSTEM_CHANGING, 0.8, "machine");
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "cpu%d", i);
		add_thing(m, ENTITY_CPU, CORE_CHANGING, 0.9, name);
	}
	add_thing(m, ENTITY_DISK, all_of(ENTITY_DISK), 0.5, "nvme0n1");
	add_thing(m, ENTITY_DISK, all_of(ENTITY_DISK), 0.05, "sda");
	add_thing(m, ENTITY_FILESYSTEM, all_of(ENTITY_FILESYSTEM), 0.1, "/");
	add_thing(m, ENTITY_INTERFACE, all_of(ENTITY_INTERFACE), 0.6, "eth0");
	for (int i = 0; i < GROUPS; i++) {
		snprintf(name, sizeof(name), "/system.slice/service-%d.service", i);
		add_thing(m, ENTITY_CGROUP, GROUP_CHANGING, i % 5 ? 0.1 : 0.9, name);
	}
}

static void live_thing(struct machine *m, struct thing *t)
{
	size_t n;
	const struct feature *features = features_of(t->entity->info.kind, &n);

	if (uniform(m) >= t->activity)
		return;
	for (size_t f = 0; f < n; f++) {
		double size = exp(2 + (double)(f * 7 % 5) + 0.7 * normal(m));

		if (!(t->present >> f & 1) || uniform(m) < 0.1)
			continue;
		if (features[f].kind == COUNTER)
			t->values[f] += (int64_t)(size * (double)features[f].quantum);
		else if (uniform(m) < 0.5 || t->values[f] < (int64_t)(4 * size * (double)features[f].quantum))
			t->values[f] += (int64_t)(size * (double)features[f].quantum);
		else
			t->values[f] -= (int64_t)(size * (double)features[f].quantum);
	}
}

static void fill_tick(struct machine *m, int64_t start)
{
	int64_t jitter = (int64_t)(uniform(m) * 1e8), boot = (int64_t)((m->second + 1000) * 1e9) + jitter;

	tick_begin(&m->tick, boot, start + (int64_t)(m->second * 1e9) + jitter);
	for (size_t i = 0; i < m->n; i++) {
		struct process *p = &m->processes[i];

		if (uniform(m) < 0.3 / 86400 * 100 &&
		    p->entity->info.id) { /* replaced about 35 times a day */
			if (VEC_PUSH(m->tick.ended, p->entity) < 0)
				abort();
			continue;
		}
		if (wakes(m, p))
			live(m, p);
		else
			p->values[FEATURE_THREADS_RUNNING] = p->values[FEATURE_THREADS_RUNNABLE] = 0;
		tick_put(&m->tick, p->entity, p->values, PRESENT);
	}
	for (size_t i = 0; i < m->n_things; i++) {
		live_thing(m, &m->things[i]);
		tick_put(&m->tick, m->things[i].entity, m->things[i].values,
			 all_of(m->things[i].entity->info.kind));
	}
}

static void replace_ended(struct machine *m, double active)
{
	for (size_t k = 0; k < m->tick.ended.n; k++)
		for (size_t i = 0; i < m->n; i++)
			if (m->processes[i].entity == m->tick.ended.v[k]) {
				begin_process(m, &m->processes[i], i, active);
				break;
			}
}

struct options {
	const char *file;
	double hours, processes, active, seed;
	double start; /* seconds since 1970 of the first tick */
	bool tail; /* the last segment stays in the journal */
};

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

struct totals {
	uint64_t ticks, segments, frames_bytes;
	double compaction_ms;
};

static int compact(struct store *s, int64_t segment, struct totals *t)
{
	double before = cpu_ms();
	int r = segment ? store_compact(s, segment) : 0;

	t->compaction_ms += cpu_ms() - before;
	t->segments += segment != 0;
	if (r < 0)
		fprintf(stderr, "make-recording: %s\n", store_error(s));
	return r;
}

static int record(struct machine *m, const struct options *o, struct store *s, struct journal *j,
		  struct totals *t)
{
	int64_t start = (int64_t)o->start * NS_PER_SEC;
	struct str frame = {};
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < (uint64_t)(o->hours * 3600); i++, m->second++) {
		bool key = i % SEGMENT_TICKS == 0;
		int64_t before = j->segment;

		fill_tick(m, start);
		if (key)
			r = journal_begin(j, m->tick.wall / NS_PER_MS);
		str_clear(&frame);
		if (r == 0)
			r = frame_encode(&m->encoder, &m->tick, key, &frame);
		if (r == 0)
			r = journal_append(j, frame.data, frame.len);
		t->frames_bytes += frame.len;
		t->ticks++;
		replace_ended(m, o->active / o->processes);
		if (key && r == 0)
			r = compact(s, before, t);
	}
	if (r == 0 && !o->tail)
		r = compact(s, j->segment, t);
	str_free(&frame);
	return r;
}

static void report(const struct machine *m, const struct totals *t, struct store *s)
{
	struct store_size size = {};
	double seconds = (double)t->ticks;
	double changed = (double)m->encoder.changed, days = (double)t->segments * SEGMENT_TICKS / 86400;

	if (store_size(s, &size) < 0)
		return;
	printf("active_per_second %.1f\n", (double)m->active / seconds);
	printf("changed_per_second %.1f\n", changed / seconds);
	printf("changed_percent %.2f\n", 100 * changed / (double)m->encoder.values);
	printf("chunk_bytes_per_value %.3f\n", (double)size.chunks / (double)m->encoder.changed);
	printf("summary_bytes_per_value %.3f\n", (double)size.summaries / changed);
	printf("file_bytes_per_value %.3f\n", (double)size.file / changed);
	printf("chunk_mb_per_day %.2f\n", (double)size.chunks / 1e6 / days);
	printf("summary_mb_per_day %.2f\n", (double)size.summaries / 1e6 / days);
	printf("file_mb_per_day %.2f\n", (double)size.file / 1e6 / days);
	printf("frame_mb_per_day %.2f\n", (double)t->frames_bytes / 1e6 / (seconds / 86400));
	printf("compaction_ms_per_segment %.1f\n", t->compaction_ms / (double)t->segments);
	printf("end %" PRId64 "\n", m->tick.wall);
}

static int make(const struct options *o)
{
	struct machine m = {.n = (size_t)o->processes,
			    .random = 88172645463325252ull ^ ((uint64_t)o->seed << 20),
			    .next_pid = 300};
	struct store_paths paths = {.file = o->file, .run_dir = text("%s.run", o->file)};
	struct journal j = {.fd = -1};
	struct totals totals = {};
	struct store *s = NULL;
	char *error = NULL;
	int r = journal_open(paths.run_dir, &j);

	if (r == 0)
		r = store_open(&paths, STORE_WRITE, &s, &error);
	if (r < 0) {
		fprintf(stderr, "make-recording: %s\n", error ? error : strerror(-r));
		return r;
	}
	m.encoder.next_id = 1;
	m.processes = calloc(m.n, sizeof(*m.processes));
	for (size_t i = 0; i < m.n; i++)
		begin_process(&m, &m.processes[i], i, o->active / o->processes);
	begin_things(&m);
	r = record(&m, o, s, &j, &totals);
	if (r == 0)
		report(&m, &totals, s);
	store_close(s);
	if (!o->tail) {
		(void)rmdir(j.dir);
		(void)rmdir(paths.run_dir);
	}
	journal_close(&j);
	for (size_t i = 0; i < m.n; i++)
		entity_free(m.processes[i].entity);
	for (size_t i = 0; i < m.n_things; i++)
		entity_free(m.things[i].entity);
	free(m.processes);
	tick_free(&m.tick);
	free((char *)paths.run_dir);
	free(error);
	return r;
}

int main(int argc, char **argv)
{
	struct options o = {.hours = 4, .processes = 400, .active = 64, .seed = 1, .start = 1790000000};

	for (int i = 1; i < argc; i++) {
		double *number = strcmp(argv[i], "--hours") == 0       ? &o.hours
				 : strcmp(argv[i], "--processes") == 0 ? &o.processes
				 : strcmp(argv[i], "--active") == 0    ? &o.active
				 : strcmp(argv[i], "--seed") == 0      ? &o.seed
				 : strcmp(argv[i], "--start") == 0     ? &o.start
								       : NULL;

		if (number && i + 1 < argc)
			*number = strtod(argv[++i], NULL);
		else if (strcmp(argv[i], "--tail") == 0)
			o.tail = true;
		else if (!o.file && argv[i][0] != '-')
			o.file = argv[i];
		else
			o.file = NULL, i = argc;
	}
	if (!o.file || o.processes < 1 || o.hours <= 0) {
		fprintf(stderr, "usage: make-recording FILE [--hours H] [--processes N] [--active N] [--seed N] "
				"[--start SECONDS] [--tail]\n");
		return 2;
	}
	return make(&o) < 0;
}
