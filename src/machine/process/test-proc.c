#include "lib/data/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "lib/rights/outside.h"
#include "machine/process/proc.h"
#include "machine/sample/source.h"

static const char stat_text[] =
	"4215 (a (b) c) D 4210 4200 4190 34816 4200 4194304 155 20 3 1 125 34 7 8 25 5 2 0 531442 2703360 417 "
	"18446744073709551615 94 95 96 0 0 0 0 4 65538 0 0 0 17 1 0 3 11 0 0 0 0 0 0 0 0 0 0\n";

static const char status_text[] = "Name:\ta (b) c\nUmask:\t0022\nState:\tD (disk sleep)\nTgid:\t4215\nPid:\t4215\n"
				  "PPid:\t4210\nUid:\t1000\t1001\t1000\t1000\nVmPeak:\t    2644 kB\nVmSize:\t    2640 kB\n"
				  "VmLck:\t       4 kB\nVmHWM:\t    1700 kB\nVmRSS:\t    1668 kB\nRssAnon:\t     104 kB\nRssFile:\t    1560 kB\n"
				  "RssShmem:\t       4 kB\nVmData:\t     360 kB\nVmStk:\t     132 kB\nVmPTE:\t      44 kB\n"
				  "VmSwap:\t       8 kB\nThreads:\t2\nvoluntary_ctxt_switches:\t12\n"
				  "nonvoluntary_ctxt_switches:\t3\n";

static const char io_text[] = "rchar: 3231\nwchar: 22\nsyscr: 9\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 8192\n"
			      "cancelled_write_bytes: 512\n";

static void stat_is_read_whatever_the_name(void **state)
{
	struct proc_stat s;

	assert_int_equal(proc_parse_stat(stat_text, &s), 0);
	assert_string_equal(s.comm, "a (b) c");
	assert_int_equal(s.state, 'D');
	assert_int_equal(s.parent, 4210);
	assert_int_equal(s.session, 4190);
	assert_int_equal(s.terminal, 34816);
	assert_int_equal(s.foreground, 4200);
	assert_int_equal(s.minor_faults, 155);
	assert_int_equal(s.major_faults, 3);
	assert_int_equal(s.user, 1250000000);
	assert_int_equal(s.system, 340000000);
	assert_int_equal(s.nice, 5);
	assert_int_equal(s.threads, 2);
	assert_int_equal(s.start, 5314420000000ll);
	assert_int_equal(s.policy, 3);
}

static void a_negative_nice_is_negative(void **state)
{
	struct proc_stat s;
	char text[sizeof(stat_text) + 1];
	char *at;

	strcpy(text, stat_text);
	at = strstr(text, " 25 5 2 ");
	memcpy(at, " 9 -11 2", 8);
	assert_int_equal(proc_parse_stat(text, &s), 0);
	assert_int_equal(s.nice, -11);
}

static void status_and_io_are_read(void **state)
{
	int64_t v[PROCESS_FEATURE_COUNT] = {};
	feature_set present = 0;
	uint32_t uid = 0;

	proc_parse_status(status_text, v, &present, &uid);
	proc_parse_io(io_text, v, &present);
	assert_int_equal(uid, 1000);
	assert_int_equal(v[FEATURE_MEM_ANON], 104 << 10);
	assert_int_equal(v[FEATURE_MEM_FILE], 1560 << 10);
	assert_int_equal(v[FEATURE_MEM_SHMEM], 4 << 10);
	assert_int_equal(v[FEATURE_MEM_SWAP], 8 << 10);
	assert_int_equal(v[FEATURE_MEM_VIRTUAL], 2640 << 10);
	assert_int_equal(v[FEATURE_MEM_DATA], 360 << 10);
	assert_int_equal(v[FEATURE_MEM_STACK], 132 << 10);
	assert_int_equal(v[FEATURE_MEM_LOCKED], 4 << 10);
	assert_int_equal(v[FEATURE_MEM_PAGE_TABLES], 44 << 10);
	assert_int_equal(v[FEATURE_MEM_PEAK], 1700 << 10);
	assert_int_equal(v[FEATURE_CTX_VOLUNTARY], 12);
	assert_int_equal(v[FEATURE_CTX_INVOLUNTARY], 3);
	assert_int_equal(v[FEATURE_IO_READ_CHARS], 3231);
	assert_int_equal(v[FEATURE_IO_WRITE_CALLS], 1);
	assert_int_equal(v[FEATURE_IO_CANCELLED_BYTES], 512);
}

static void a_process_with_several_user_ids_is_roots(void **state)
{
	assert_int_equal(outside_owner_parse("Name:\tmine\nUid:\t1000\t1000\t1000\t1000\n"), 1000);
	assert_int_equal(outside_owner_parse(status_text), 0); /* its effective one is 1001 */
	assert_int_equal(outside_owner_parse("Name:\tsu\nUid:\t1000\t0\t0\t0\nGid:\t1\t1\t1\t1\n"), 0);
	assert_int_equal(outside_owner_parse("Name:\tgiven-up\nUid:\t1000\t1000\t0\t1000\n"), 0);
	assert_int_equal(outside_owner_parse("Name:\tother\nUid:\t1000\t1001\t1001\t1001\n"), 0);
	assert_int_equal(outside_owner_parse("Name:\tfiles\nUid:\t1000\t1000\t1000\t7\n"), 1000);
	assert_int_equal(outside_owner_parse("Name:\tcut\nUid:\t1000\t1000"), 0);
	assert_int_equal(outside_owner_parse(""), 0);
}

/* Another program may write what is read under --proc; a value that has no place is not there. */
static void the_innermost_namespace_has_the_last_number(void **state)
{
	assert_int_equal(proc_inner_number("Name:\tpostgres\nNSpid:\t4711\nNSpgid:\t12\n"), 4711);
	assert_int_equal(proc_inner_number("Name:\tpostgres\nNSpid:\t4711\t3\nNSpgid:\t4711\t12\n"), 3);
	assert_int_equal(proc_inner_number("Name:\tNSpid:\nPid:\t4711\n"), 0);
	assert_int_equal(proc_inner_number(""), 0);
}

static void a_number_beyond_64_bits_is_left_out(void **state)
{
	int64_t v[PROCESS_FEATURE_COUNT] = {};
	feature_set present = 0;
	uint32_t uid = 0;

	proc_parse_status("RssAnon:\t18446744073709551615 kB\nVmSwap:\t9007199254740992 kB\nRssFile:\t9007199254740991 kB\n", v, &present, &uid);
	assert_true(present == FEATURE_BIT(FEATURE_MEM_FILE));
	assert_true(v[FEATURE_MEM_FILE] == 9007199254740991 * 1024);
}

/* A line cut off in the middle of its number must not be taken for a smaller number. */
static void every_prefix_gives_whole_values_or_none(void **state)
{
	int64_t whole[PROCESS_FEATURE_COUNT] = {}, v[PROCESS_FEATURE_COUNT], numbers[3];
	feature_set all = 0;
	struct proc_stat s;
	uint32_t uid;

	proc_parse_status(status_text, whole, &all, &uid);
	proc_parse_io(io_text, whole, &all);
	for (size_t n = 0; n < sizeof(stat_text) - 1; n++) {
		char *text = strndup(stat_text, n);

		if (proc_parse_stat(text, &s) == 0)
			assert_int_equal(s.policy, 3);
		free(text);
	}
	for (size_t n = 0; n < sizeof(status_text); n++) {
		char *text = strndup(status_text, n), *io = strndup(io_text, n);
		feature_set present = 0;

		proc_parse_status(text, v, &present, &uid);
		proc_parse_io(io, v, &present);
		for (int i = 0; i < PROCESS_FEATURE_COUNT; i++)
			if (present >> i & 1)
				assert_int_equal(v[i], whole[i]);
		free(text);
		free(io);
	}
	assert_int_equal(proc_parse_schedstat("1205031442 80433 155\n", numbers), 0);
	assert_int_equal(numbers[2], 155);
	assert_int_equal(proc_parse_schedstat("1205031442 80433 15", numbers), -EBADMSG);
	assert_int_equal(proc_parse_schedstat("1205031442 ", numbers), -EBADMSG);
	assert_int_equal(proc_parse_schedstat("", numbers), -EBADMSG);
}

/* ---- a recorded tree ---- */

static char tree[] = "/tmp/test-proc-XXXXXX";

static void put(const char *name, const char *text)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", tree, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void run(const char *format)
{
	char command[600];

	snprintf(command, sizeof(command), format, tree, tree, tree);
	assert_int_equal(system(command), 0);
}

static void make_tree(void)
{
	assert_non_null(mkdtemp(tree));
	run("mkdir -p '%s/4215/task/4215' '%s/4215/task/4216' '%s/self'");
	put("uptime", "1 2\n");
	put("4215/stat", stat_text);
	put("4215/status", status_text);
	put("4215/io", io_text);
	put("4215/oom_score_adj", "-17\n");
	put("4215/schedstat", "1000000000 7000 10\n");
	put("4215/task/4215/schedstat", "1000000000 7000 10\n");
	put("4215/task/4216/schedstat", "600000000 500 4\n");
}

static void take(void *source, struct tick *t)
{
	tick_begin(t, clock_boot(), clock_wall());
	source_proc.sample(source, t);
}

static void a_recorded_process_is_followed(void **state)
{
	struct source_options options = {.proc_root = tree, .sys_root = "/nonexistent"};
	const struct sample *s;
	const char *why = NULL;
	struct tick t = {};
	void *source;

	make_tree();
	assert_int_equal(source_proc.open(&options, &source, &why), 0);
	take(source, &t);
	assert_int_equal(t.samples.n, 1);
	assert_int_equal(t.unnamed.n, 1);
	s = &t.samples.v[0];
	assert_int_equal(s->entity->info.pid, 4215);
	assert_int_equal(s->entity->info.uid, 1000);
	assert_int_equal(s->entity->info.flags, ENTITY_WAS_RUNNING);
	assert_int_equal(s->values[FEATURE_CPU_TIME], 1600000000);
	assert_int_equal(s->values[FEATURE_CPU_RUN_DELAY], 7500);
	assert_int_equal(s->values[FEATURE_CPU_SLICES], 14);
	assert_int_equal(s->values[FEATURE_OOM_SCORE_ADJ], -17);
	/* of two threads only one's switches are known: missing */
	assert_false(s->present >> FEATURE_CTX_VOLUNTARY & 1);
	assert_false(s->present >> FEATURE_DELAY_BLOCK & 1);
	assert_true(s->present >> FEATURE_IO_READ_CHARS & 1);

	/* a thread ends: what it had done stays */
	run("rm -r '%s/4215/task/4216'");
	put("4215/task/4215/schedstat", "1100000000 7100 11\n");
	take(source, &t);
	s = &t.samples.v[0];
	assert_int_equal(t.unnamed.n, 0);
	assert_int_equal(s->values[FEATURE_CPU_TIME], 1700000000);
	assert_int_equal(s->values[FEATURE_CPU_RUN_DELAY], 7600);
	assert_int_equal(s->values[FEATURE_CPU_SLICES], 15);

	/* another process under the same number */
	put("4215/stat", "4215 (new) R 1 4200 4190 34816 4200 4194304 1 0 0 0 0 0 0 0 20 0 1 0 600000 2703360 417 "
			 "18446744073709551615 94 95 96 0 0 0 0 4 65538 0 0 0 17 1 0 0 11 0 0 0 0 0 0 0 0 0 0\n");
	take(source, &t);
	assert_int_equal(t.ended.n, 1);
	assert_string_equal(t.ended.v[0]->info.name, "a (b) c");
	assert_int_equal(t.samples.n, 1);
	assert_string_equal(t.samples.v[0].entity->info.name, "new");
	assert_true(t.samples.v[0].entity->born);
	assert_int_equal(t.unnamed.n, 1);

	run("rm -r '%s/4215'");
	take(source, &t);
	assert_int_equal(t.samples.n, 0);
	assert_int_equal(t.ended.n, 1);
	take(source, &t);
	assert_int_equal(t.ended.n, 0);
	source_proc.close(source);
	tick_free(&t);
	run("rm -r '%s'");
}

/* ---- live ---- */

static const struct sample *find(const struct tick *t, pid_t pid)
{
	for (size_t i = 0; i < t->samples.n; i++)
		if (t->samples.v[i].entity->info.kind == ENTITY_PROCESS && t->samples.v[i].entity->info.pid == (uint32_t)pid)
			return &t->samples.v[i];
	return NULL;
}

static void only_own_processes_are_seen_when_asked(void **state)
{
	struct source_options options = {
		.proc_root = "/proc", .sys_root = "/sys", .own_processes_only = true, .own_uid = 54321};
	const char *why = NULL;
	struct tick t = {};
	void *source;

	assert_int_equal(source_proc.open(&options, &source, &why), 0);
	take(source, &t);
	assert_int_equal(t.samples.n, 0);
	source_proc.close(source);
	options.own_uid = geteuid();
	assert_int_equal(source_proc.open(&options, &source, &why), 0);
	take(source, &t);
	assert_non_null(find(&t, getpid()));
	assert_int_equal(find(&t, getpid())->entity->info.flags & ENTITY_IS_SELF, ENTITY_IS_SELF);
	source_proc.close(source);
	tick_free(&t);
}

static void *spin(void *argument)
{
	struct timespec now;

	(void)argument;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_nsec < 150000000);
	return NULL;
}

static void *sleep_for_ever(void *argument)
{
	(void)argument;
	for (;;)
		pause();
	return NULL;
}

static _Noreturn void be_busy(int say)
{
	char text[1000] = {};
	pthread_t thread;
	int file = open("/dev/null", O_WRONLY);

	pthread_create(&thread, NULL, spin, NULL);
	spin(NULL);
	pthread_join(thread, NULL);
	pthread_create(&thread, NULL, sleep_for_ever, NULL);
	for (int i = 0; i < 100; i++)
		(void)!write(file, text, sizeof(text));
	(void)!write(say, "!", 1);
	for (;;)
		pause();
}

static void same(const struct sample *a, const struct sample *b, int feature, int64_t within)
{
	size_t n;

	if (!(a->present >> feature & b->present >> feature & 1))
		fail_msg("%s is missing", features_of(ENTITY_PROCESS, &n)[feature].name);
	if (llabs(a->values[feature] - b->values[feature]) > within)
		fail_msg("%s: %lld and %lld", features_of(ENTITY_PROCESS, &n)[feature].name,
			 (long long)a->values[feature], (long long)b->values[feature]);
}

static void both_sources_say_the_same_of_a_process(void **state)
{
	struct source_options options = {.proc_root = "/proc", .sys_root = "/sys"};
	const struct sample *by_bpf, *by_proc;
	struct tick bpf_tick = {}, proc_tick = {};
	const char *why = NULL;
	void *bpf, *proc;
	int say[2];
	char c;
	pid_t pid;

	if (source_task.open(&options, &bpf, &why) < 0) {
		print_message("%s\n", why);
		skip();
	}
	assert_int_equal(source_proc.open(&options, &proc, &why), 0);
	tick_begin(&bpf_tick, clock_boot(), clock_wall());
	source_task.sample(bpf, &bpf_tick); /* from now on threads that end are counted */
	assert_int_equal(pipe(say), 0);
	pid = fork();
	if (pid == 0)
		be_busy(say[1]);
	assert_int_equal(read(say[0], &c, 1), 1);
	usleep(20000);
	for (int i = 0; i < 2; i++) { /* the last word of a thread may come a tick late */
		tick_begin(&bpf_tick, clock_boot(), clock_wall());
		source_task.sample(bpf, &bpf_tick);
	}
	take(proc, &proc_tick);
	by_bpf = find(&bpf_tick, pid);
	by_proc = find(&proc_tick, pid);
	assert_non_null(by_bpf);
	assert_non_null(by_proc);
	same(by_bpf, by_proc, FEATURE_CPU_TIME, 20 * NS_PER_MS);
	same(by_bpf, by_proc, FEATURE_CPU_USER, 60 * NS_PER_MS);
	same(by_bpf, by_proc, FEATURE_IO_WRITE_CHARS, 0);
	same(by_bpf, by_proc, FEATURE_IO_WRITE_CALLS, 0);
	same(by_bpf, by_proc, FEATURE_IO_READ_CHARS, 0);
	same(by_bpf, by_proc, FEATURE_IO_WRITE_BYTES, 0);
	same(by_bpf, by_proc, FEATURE_FAULTS_MINOR, 0);
	same(by_bpf, by_proc, FEATURE_FAULTS_MAJOR, 0);
	same(by_bpf, by_proc, FEATURE_THREADS, 0);
	same(by_bpf, by_proc, FEATURE_HANDLES_FILES, 0);
	same(by_bpf, by_proc, FEATURE_MEM_VIRTUAL, 0);
	same(by_bpf, by_proc, FEATURE_MEM_DATA, 0);
	same(by_bpf, by_proc, FEATURE_MEM_STACK, 0);
	same(by_bpf, by_proc, FEATURE_MEM_LOCKED, 0);
	same(by_bpf, by_proc, FEATURE_MEM_PAGE_TABLES, 0);
	same(by_bpf, by_proc, FEATURE_MEM_PEAK, 1 << 20);
	same(by_bpf, by_proc, FEATURE_MEM_ANON, 1 << 20);
	same(by_bpf, by_proc, FEATURE_MEM_FILE, 1 << 20);
	same(by_bpf, by_proc, FEATURE_SCHED_NICE, 0);
	same(by_bpf, by_proc, FEATURE_SCHED_POLICY, 0);
	same(by_bpf, by_proc, FEATURE_OOM_SCORE_ADJ, 0);
	assert_true(by_bpf->values[FEATURE_CPU_TIME] >= 300 * NS_PER_MS);
	assert_int_equal(by_proc->entity->info.uid, by_bpf->entity->info.uid);
	assert_int_equal(by_proc->entity->info.parent, by_bpf->entity->info.parent);
	assert_string_equal(by_proc->entity->info.name, by_bpf->entity->info.name);
	assert_true(by_bpf->entity->info.start - by_proc->entity->info.start < 10000000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	source_task.close(bpf);
	source_proc.close(proc);
	tick_free(&bpf_tick);
	tick_free(&proc_tick);
}

RUN_TESTS(cmocka_unit_test(stat_is_read_whatever_the_name), cmocka_unit_test(a_negative_nice_is_negative),
	  cmocka_unit_test(status_and_io_are_read), cmocka_unit_test(a_process_with_several_user_ids_is_roots), cmocka_unit_test(the_innermost_namespace_has_the_last_number),
	  cmocka_unit_test(a_number_beyond_64_bits_is_left_out),
	  cmocka_unit_test(every_prefix_gives_whole_values_or_none),
	  cmocka_unit_test(a_recorded_process_is_followed), cmocka_unit_test(only_own_processes_are_seen_when_asked),
	  cmocka_unit_test(both_sources_say_the_same_of_a_process))
