/* A user who starts thousands of programs a second, each with a name never seen, for ten minutes:
 *
 *   storm [NAMES_A_TICK [TICKS [unlimited]]]
 *
 * plays the ticks through the recorder's own limit of names, encoder, journal and compaction. Fails where compaction needs
 * more memory, or the store grows by more, than is promised, where growth got lost, or where a program of another user has
 * no name. "unlimited" leaves the limit out and only tells the figures.
 *
 *   storm busy
 *
 * has 1,500 processes that were there before change a dozen counters in every tick: a segment ends before compacting it takes more
 * than is promised.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "machine/chunk/frame.h"
#include "machine/model/name-limit.h"
#include "machine/recording/journal.h"
#include "machine/recording/store.h"

#define NAMES	       2000
#define TICKS	       600
#define COMPACTION_MAX ((size_t)64 << 20)
#define STORE_MAX      ((uint64_t)1 << 20) /* of a segment, for this storm */
#define BUSY	       1500
#define BUSY_FEATURES  12
#define ATTACKER       1000
#define WALL	       (1790000000 * NS_PER_SEC)
#define SEGMENT	       (WALL / NS_PER_MS)

struct storm {
	struct name_limit *limit; /* NULL = without */
	struct frame_encoder encoder;
	struct journal journal;
	struct tick tick;
	struct str frame;
	VEC(struct entity *) living;
	int64_t values[PROCESS_FEATURE_COUNT];
	unsigned long started;
};

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "storm: %s\n", what);
	exit(1);
}

static struct entity *start(struct storm *s, const char *name, uint32_t uid)
{
	struct entity *e = entity_new(ENTITY_PROCESS, name);

	check(e && VEC_PUSH(s->living, e) == 0, "no memory");
	e->born = true;
	e->info.uid = uid;
	e->info.parent = uid ? 77 : 1;
	e->info.pid = (uint32_t)(1000 + s->started % 30000);
	e->info.start = ++s->started;
	return e;
}

static void put(struct storm *s, struct entity *e)
{
	for (size_t i = 0; i < PROCESS_FEATURE_COUNT; i++)
		s->values[i] = i % 2 ? (int64_t)(s->started * 7919 % 100000 + 1) * 4096 : 0;
	s->values[FEATURE_CPU_TIME] = NS_PER_MS;
	tick_put(&s->tick, e, s->values, FEATURES_BELOW(PROCESS_FEATURE_COUNT));
}

static void end_all(struct storm *s)
{
	for (size_t i = 0; i < s->living.n; i++)
		(void)VEC_PUSH(s->tick.ended, s->living.v[i]);
}

static void play_tick(struct storm *s, unsigned t, unsigned names)
{
	VEC(struct entity *) past = {s->living.v, s->living.n, s->living.allocated};

	tick_begin(&s->tick, (1000 + t) * NS_PER_SEC, WALL + t * NS_PER_SEC);
	end_all(s);
	memset(&s->living, 0, sizeof(s->living));
	for (unsigned i = 0; i < names; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%lx", s->started * 2654435761u % 0xffffffff);
		put(s, start(s, name, ATTACKER));
	}
	if (t % 60 == 59)
		put(s, start(s, "sshd", 0));
	if (s->limit)
		name_limit_apply(s->limit, &s->tick, t == 0);
	str_clear(&s->frame);
	check(frame_encode(&s->encoder, &s->tick, t == 0, &s->frame) == 0, "cannot encode");
	check(journal_append(&s->journal, s->frame.data, s->frame.len) == 0, "cannot write the journal");
	for (size_t i = 0; i < past.n; i++)
		entity_free(past.v[i]);
	VEC_FREE(past);
}

static size_t peak_memory(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/status", "re");
	char line[200];
	size_t kb = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %zu", &kb) == 1)
			return kb << 10;
	return 0;
}

static size_t address_space(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/statm", "re");
	size_t pages = 0;

	check(f && fscanf(f, "%zu", &pages) == 1, "no /proc");
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void reset_peak(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/clear_refs", "we");

	if (f)
		fputs("5", f);
}

static void check_kept(const struct storm *s, struct store *store)
{
	struct dataset d = {};
	double cpu = 0, logins = 0;
	unsigned damaged, ticks;

	check(store_load(store, 0, INT64_MAX, &d, &damaged) == 0 && !damaged, "cannot read the store");
	ticks = (unsigned)d.ticks.n;
	for (size_t i = 0; i < d.subjects.n; i++) {
		const struct subject *subject = d.subjects.v[i];

		cpu += subject_growth(&d, subject, FEATURE_CPU_TIME, 0, ticks - 1);
		logins += strcmp(subject->info.name, "sshd") == 0;
	}
	printf("%zu entities, %.3f s of CPU time of %.3f, %.0f logins by name\n", d.subjects.n, cpu / 1e9, (double)s->started / 1e3,
	       logins);
	check(cpu == (double)s->started * 1e6, "CPU time got lost");
	check(logins == ticks / 60, "programs of another user have no name");
	dataset_free(&d);
}

static void compact(const char *dir, struct storm *s, bool limited)
{
	char file[200], *error = NULL;
	struct store_paths paths = {file, dir};
	struct rlimit memory = {.rlim_max = RLIM_INFINITY};
	struct store_size size;
	struct store *store;
	size_t before;
	int r;

	snprintf(file, sizeof(file), "%s/store.db", dir);
	check(store_open(&paths, STORE_WRITE, &store, &error) == 0, "cannot open the store");
	reset_peak();
	before = peak_memory();
	memory.rlim_cur = address_space() + COMPACTION_MAX;
	if (limited)
		setrlimit(RLIMIT_AS, &memory);
	r = store_compact(store, SEGMENT);
	if (r < 0)
		fprintf(stderr, "storm: %s\n", store_error(store));
	check(r == 0, "compaction failed");
	check(store_size(store, &size) == 0, "cannot tell the size");
	printf("compaction: %.1f MB at its peak; store: %.3f MB\n", (double)(peak_memory() - before) / 1e6,
	       (double)(size.chunks + size.summaries) / 1e6);
	memory.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_AS, &memory);
	check(!limited || size.chunks + size.summaries <= STORE_MAX, "the store grew by more than is promised");
	check_kept(s, store);
	store_close(store);
}

/* Returns how many ticks the segment took. */
static unsigned play_busy(struct storm *s)
{
	unsigned t = 0;

	for (unsigned i = 0; i < BUSY; i++)
		start(s, "worker", ATTACKER)->born = false;
	do {
		tick_begin(&s->tick, (1000 + t) * NS_PER_SEC, WALL + t * NS_PER_SEC);
		for (size_t i = 0; i < BUSY_FEATURES; i++)
			s->values[i] += (int64_t)(1 + t * 7919 % 1000) << 20;
		for (size_t i = 0; i < s->living.n; i++)
			tick_put(&s->tick, s->living.v[i], s->values, FEATURES_BELOW(BUSY_FEATURES));
		str_clear(&s->frame);
		check(frame_encode(&s->encoder, &s->tick, t == 0, &s->frame) == 0, "cannot encode");
		check(journal_append(&s->journal, s->frame.data, s->frame.len) == 0, "cannot write the journal");
	} while (++t < TICKS && !frame_segment_is_full(&s->encoder));
	return t;
}

static void compact_busy(const char *dir, unsigned ticks)
{
	char file[200], *error = NULL;
	struct store_paths paths = {file, dir};
	struct store *store;
	size_t before;

	snprintf(file, sizeof(file), "%s/store.db", dir);
	check(store_open(&paths, STORE_WRITE, &store, &error) == 0, "cannot open the store");
	reset_peak();
	before = peak_memory();
	check(store_compact(store, SEGMENT) == 0, "compaction failed");
	printf("a segment of %u ticks; compaction: %.1f MB at its peak\n", ticks, (double)(peak_memory() - before) / 1e6);
	check(ticks > 1 && ticks < TICKS, "the segment ended too early or never");
	check(peak_memory() - before <= COMPACTION_MAX, "compaction takes more than is promised");
	store_close(store);
}

int main(int argc, char **argv)
{
	bool busy = argc > 1 && strcmp(argv[1], "busy") == 0;
	unsigned names = argc > 1 ? (unsigned)atoi(argv[1]) : NAMES, ticks = argc > 2 ? (unsigned)atoi(argv[2]) : TICKS;
	bool limited = argc <= 3;
	struct storm s = {.encoder = {.next_id = 1}, .limit = limited ? name_limit_new() : NULL};
	char dir[] = "/tmp/whyslow-storm-XXXXXX", command[100];

	check(mkdtemp(dir) && journal_open(dir, &s.journal) == 0 && journal_begin(&s.journal, SEGMENT) == 0, "cannot make a journal");
	if (busy)
		ticks = play_busy(&s);
	for (unsigned t = 0; !busy && t < ticks; t++)
		play_tick(&s, t, names);
	printf("journal: %.1f MB\n", (double)s.journal.size / 1e6);
	for (size_t i = 0; i < s.living.n; i++)
		entity_free(s.living.v[i]);
	VEC_FREE(s.living);
	name_limit_free(s.limit);
	tick_free(&s.tick);
	str_free(&s.frame);
	journal_close(&s.journal);
	if (busy)
		compact_busy(dir, ticks);
	else
		compact(dir, &s, limited);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}
