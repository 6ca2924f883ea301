/* The store while its disk fails: killed at every write, in the middle of every write, without what was not synced, and with errors.
 * The three parts of a recording (journal, raw rows, chunks) and the marks are written as a recorder writes them. */
#include "lib/data/test.h"

#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "lib/data/cleanup.h"
#include "machine/chunk/test-ticks.h"
#include "tests/fault.h"

#define SEGMENTS 2
#define TICKS	 6 /* of a segment */
#define CALLS	 2000 /* more than a trial has */
#define PAGE	 4096

/* What was said to be done, for the parent of a process that is killed. */
struct progress {
	int64_t appended, saved; /* ticks */
	int64_t marked, marks_saved;
};

static struct fixture *new_fixture(void)
{
	struct fixture *f = fixture_new();

	snprintf(f->file, sizeof(f->file), "%s/disk/recording.db", f->folder);
	return f;
}

static const char *disk_of(const struct fixture *f)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/disk", f->folder);
	return path;
}

/* A segment, as sampler and writer have it. */
static void live_segment(struct fixture *f, struct progress *p, int64_t *segment)
{
	int64_t id;

	*segment = record(f, TICKS);
	p->appended = f->seconds;
	if (store_save_journal(f->store, *segment) == 0)
		p->saved = f->seconds;
	if (store_mark(f->store, START + f->seconds * 60 * NS_PER_SEC, 0, "a note", &id) == 0)
		p->marked++;
	if (store_save_marks(f->store) == 0)
		p->marks_saved = p->marked;
	(void)store_compact(f->store, *segment);
}

/* The last segment is not finished when it ends. */
static void live(struct fixture *f, struct progress *p)
{
	const struct retention keep = {};
	int64_t segment;

	(void)store_open_marks(f->store);
	for (int i = 0; i < SEGMENTS; i++)
		live_segment(f, p, &segment);
	(void)store_retain(f->store, &keep);
	segment = record(f, TICKS);
	p->appended = f->seconds;
	if (store_save_journal(f->store, segment) == 0)
		p->saved = f->seconds;
}

/* --- what is left --- */

static int64_t ticks_of(struct store *s)
{
	struct dataset d = {};
	unsigned damaged;
	int64_t n;

	assert_int_equal(store_load(s, INT64_MIN, INT64_MAX, &d, &damaged), 0);
	n = (int64_t)d.ticks.n;
	dataset_free(&d);
	return n;
}

static int64_t marks_of(struct store *s)
{
	struct mark *marks;
	size_t n;

	assert_int_equal(store_marks(s, INT64_MIN, INT64_MAX, &marks, &n), 0);
	marks_free(marks, n);
	return (int64_t)n;
}

static int take_text(void *data, int n, char **values, char **names)
{
	(void)n, (void)names;
	snprintf(data, 64, "%s", values[0]);
	return 0;
}

static void is_sound(const char *file)
{
	char said[64] = "";
	sqlite3 *db;

	assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA integrity_check", take_text, said, NULL), SQLITE_OK);
	assert_string_equal(said, "ok");
	sqlite3_close(db);
}

/* A recorder begins again: all that was said to be done is there, in order, and nothing is damaged. */
static void begins_again(struct fixture *f, int64_t ticks, int64_t marks)
{
	int64_t n;

	f->store = open_store(f, STORE_WRITE);
	journal_close(&f->journal);
	assert_int_equal(journal_open(f->run_dir, &f->journal), 0);
	assert_int_equal(store_recover(f->store, 0), 0);
	assert_int_equal(store_open_marks(f->store), 0);
	n = ticks_of(f->store);
	assert_in_range(n, ticks, (SEGMENTS + 1) * TICKS);
	holds(f->store, 0, n, 0);
	assert_true(marks_of(f->store) >= marks);
	assert_int_equal(store_close_marks(f->store), 0);
	store_close(f->store);
	f->store = NULL;
	is_sound(f->file);
}

/* --- a process that ends --- */

static struct progress *shared_progress(void)
{
	struct progress *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

/* Whether it came to that call. */
static bool runs_until(struct fixture *f, const struct fault_plan *plan, struct progress *p)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		fault_plan(plan);
		fixture_begin(f);
		live(f, p);
		_exit(fault_calls() < plan->call);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(!WIFSIGNALED(status) || WTERMSIG(status) == SIGKILL);
	return WIFSIGNALED(status) || WEXITSTATUS(status) == 0;
}

static void killed_at_each_call(enum fault_kind kind)
{
	struct progress *p = shared_progress();
	bool met = true;
	unsigned call;

	for (call = 1; met && call < CALLS; call++) {
		struct fixture *f = new_fixture();
		const struct fault_plan plan = {.kind = kind, .call = call, .folder = f->folder};

		*p = (struct progress){};
		met = runs_until(f, &plan, p);
		begins_again(f, p->appended, p->marked);
		fixture_free(f);
	}
	assert_in_range(call, 50, CALLS - 1);
	print_message("%u calls\n", call - 2);
	munmap(p, sizeof(*p));
}

static void a_kill_at_any_write_loses_nothing_that_was_done(void **state)
{
	killed_at_each_call(FAULT_KILL);
}

static void a_kill_within_any_write_loses_nothing_that_was_done(void **state)
{
	killed_at_each_call(FAULT_TORN);
}

/* --- a power cut --- */

static size_t read_file(const char *path, uint8_t *bytes, size_t most)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");

	return f ? fread(bytes, 1, most, f) : 0;
}

static void write_file(const char *path, const uint8_t *bytes, size_t n)
{
	_cleanup_fclose_ FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
}

/* What was synced is there; of the other pages some, as the disk came to them. */
static void cut_file(const char *live_path, const char *durable_path, bool some, unsigned *seed)
{
	static uint8_t now[1 << 20], synced[1 << 20];
	size_t n_now = read_file(live_path, now, sizeof(now)), n = read_file(durable_path, synced, sizeof(synced));

	assert_true(n_now < sizeof(now) && n < sizeof(synced));
	for (size_t at = 0; some && at < n_now; at += PAGE) {
		const size_t part = n_now - at < PAGE ? n_now - at : PAGE;

		if (rand_r(seed) % 2)
			continue;
		if (n < at)
			memset(synced + n, 0, at - n);
		memcpy(synced + at, now + at, part);
		n = n < at + part ? at + part : n;
	}
	write_file(live_path, synced, n);
}

static void cut_power(const struct fixture *f, const char *durable, bool some, unsigned seed)
{
	static const char *const names[] = {"recording.db", "recording.db-wal", "recording.db-shm"};
	char is[128], was[128];

	nftw(f->run_dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(is, sizeof(is), "%s/%s", disk_of(f), names[i]);
		snprintf(was, sizeof(was), "%s/%s", durable, names[i]);
		if (access(is, F_OK) == 0)
			cut_file(is, was, some, &seed);
	}
}

static void without_power_at_each_call(bool some)
{
	struct progress *p = shared_progress();
	bool met = true;
	unsigned call;

	for (call = 1; met && call < CALLS; call++) {
		struct fixture *f = new_fixture();
		char durable[64], disk[64];
		const struct fault_plan plan = {.kind = FAULT_KILL, .call = call, .folder = disk, .durable = durable};

		snprintf(durable, sizeof(durable), "%s/durable", f->folder);
		snprintf(disk, sizeof(disk), "%s", disk_of(f));
		assert_int_equal(mkdir(durable, 0700), 0);
		*p = (struct progress){};
		met = runs_until(f, &plan, p);
		cut_power(f, durable, some, call);
		begins_again(f, p->saved, p->marks_saved);
		fixture_free(f);
	}
	assert_in_range(call, 50, CALLS - 1);
	munmap(p, sizeof(*p));
}

static void a_power_cut_loses_nothing_that_was_saved(void **state)
{
	without_power_at_each_call(false);
}

static void a_power_cut_that_lets_some_pages_through_loses_nothing_that_was_saved(void **state)
{
	without_power_at_each_call(true);
}

/* --- a disk that fails and comes back --- */

/* Whether the fault was met. */
static bool fails_and_comes_back(int error, bool lasts, unsigned call)
{
	struct fixture *f = new_fixture();
	struct fault_plan plan = {.kind = FAULT_ERROR, .call = call, .lasts = lasts, .error = error, .folder = disk_of(f)};
	struct progress p = {};
	bool met;

	fixture_begin(f);
	fault_plan(&plan);
	live(f, &p);
	met = fault_calls() >= call;
	fault_plan(NULL);
	assert_int_equal(p.appended, (SEGMENTS + 1) * TICKS);
	holds(f->store, 0, p.appended, 0);
	assert_int_equal(store_open_marks(f->store), 0); /* it may be what failed */
	assert_int_equal(store_save_marks(f->store), 0);
	assert_int_equal(store_recover(f->store, 0), 0);
	holds(f->store, 0, p.appended, 0);
	assert_true(marks_of(f->store) >= p.marked);
	assert_int_equal(store_close_marks(f->store), 0);
	store_close(f->store);
	f->store = NULL;
	is_sound(f->file);
	fixture_free(f);
	return met;
}

static void an_error_of_the_disk_loses_nothing(void **state)
{
	static const int errors[] = {EIO, ENOSPC, EROFS};

	for (size_t e = 0; e < ARRAY_SIZE(errors); e++)
		for (int lasts = 0; lasts < 2; lasts++)
			for (unsigned call = 1 + (unsigned)e; fails_and_comes_back(errors[e], lasts, call); call += 13)
				assert_true(call < CALLS);
}

RUN_TESTS(cmocka_unit_test(a_kill_at_any_write_loses_nothing_that_was_done),
	  cmocka_unit_test(a_kill_within_any_write_loses_nothing_that_was_done),
	  cmocka_unit_test(a_power_cut_loses_nothing_that_was_saved),
	  cmocka_unit_test(a_power_cut_that_lets_some_pages_through_loses_nothing_that_was_saved),
	  cmocka_unit_test(an_error_of_the_disk_loses_nothing))
