/* Each process feature is moved by a known amount and must show it: the proofs that feature-table.h names.
 *
 *   test-movers MOVER      needs root; a case that the machine cannot do is skipped by name, with the reason
 */
#include "lib/data/test.h"


#include <bpf/btf.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/swap.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "machine/flight/ring.h"
#include "machine/model/dataset.h"
#include "machine/recorder/recorder.h"
#include "mover.h"

#define SAMPLED 120000 /* ms a mover may take */

/* The movement must lie in [amount * low - slack, amount * high + slack]; amount 0 = what the mover reported, told[-1+n]. */
struct proof {
	const char *name; /* the mover's case */
	int feature;
	double amount;
	int told;
	double low, high, slack;
};

#define EXACT	 1, 1, 0
#define PAGES	 1, 1, 1 << 20 /* resident counters are per CPU and only approximately added up */
#define OWN_CALL 1, 1, 16	/* the mover's own words to the test */
#define MS	 1e6

static const struct proof proofs[] = {
	{"spin-user", FEATURE_CPU_TIME, MOVER_SPIN_NS, 0, 1, 1, 12 * MS},
	{"spin-user", FEATURE_CPU_USER, MOVER_SPIN_NS, 0, 1, 1, 60 * MS},
	{"spin-kernel", FEATURE_CPU_SYSTEM, MOVER_SPIN_NS, 0, 1, 1, 60 * MS},
	{"run-now", FEATURE_THREADS_RUNNING, 1, 0, EXACT},
	/* the one that runs may itself be pushed aside by something urgent at that moment */
	{"wait-now", FEATURE_THREADS_RUNNABLE, MOVER_CROWD - 1, 0, 1, 1, 1},
	{"crowd", FEATURE_CPU_RUN_DELAY, 0, 1, 0.97, 1.05, 20 * MS},
	{"crowd", FEATURE_WAIT_PREEMPTED, 0, 1, 0.95, 1.05, 20 * MS},
	/* the one that runs keeps all others waiting: the same sum, but for what strangers take of this CPU */
	{"crowd", FEATURE_CPU_IMPOSED, 0, 1, 0.6, 1.3, 20 * MS},
	{"crowd", FEATURE_CTX_INVOLUNTARY, 0, 2, 1, 1, 5},
	{"sleep-wake", FEATURE_CTX_VOLUNTARY, MOVER_SLEEPS, 0, 1, 1, 5},
	{"sleep-wake", FEATURE_CPU_SLICES, 0, 1, 1, 1, 5},
	{"migrate", FEATURE_CPU_MIGRATIONS, MOVER_MIGRATIONS, 0, 1, 1, 5},
	{"threads", FEATURE_THREADS, MOVER_THREADS, 0, EXACT},
	{"vfork", FEATURE_THREADS_BLOCKED, 1, 0, EXACT},
	{"touch-memory", FEATURE_FAULTS_MINOR, MOVER_MEMORY / 4096, 0, 1, 1, 64},
	{"touch-memory", FEATURE_MEM_ANON, MOVER_MEMORY, 0, PAGES},
	{"touch-memory", FEATURE_MEM_PEAK, MOVER_MEMORY, 0, PAGES},
	{"touch-memory", FEATURE_MEM_PAGE_TABLES, MOVER_MEMORY / 512, 0, 1, 1, 4 * 4096},
	{"shared-memory", FEATURE_MEM_SHMEM, MOVER_SMALL, 0, PAGES},
	{"map-anonymous", FEATURE_MEM_VIRTUAL, MOVER_ADDRESSES, 0, EXACT},
	{"map-anonymous", FEATURE_MEM_DATA, MOVER_ADDRESSES, 0, EXACT},
	{"lock-memory", FEATURE_MEM_LOCKED, MOVER_LOCKED, 0, EXACT},
	{"deep-stack", FEATURE_MEM_STACK, MOVER_SMALL / 4, 0, 0.95, 1.1, 256 << 10},
	{"copy-on-write", FEATURE_DELAY_COW, 0, 1, 0.2, 1, 0},
	{"map-file", FEATURE_FAULTS_MAJOR, MOVER_MAPPED / 4096, 0, 1, 1, 32},
	{"map-file", FEATURE_MEM_FILE, MOVER_MAPPED, 0, PAGES},
	{"read-cached", FEATURE_IO_READ_CHARS, MOVER_CALLS *MOVER_BLOCK, 0, OWN_CALL},
	{"read-cached", FEATURE_IO_READ_CALLS, MOVER_CALLS, 0, 1, 1, 2},
	{"write-file", FEATURE_IO_WRITE_CHARS, MOVER_CALLS *MOVER_BLOCK, 0, 1, 1, 256},
	{"write-file", FEATURE_IO_WRITE_CALLS, MOVER_CALLS, 0, 1, 1, 2},
	/* besides the data, what the file system notes of it */
	{"write-file", FEATURE_IO_WRITE_BYTES, MOVER_CALLS *MOVER_BLOCK, 0, 1, 1, 128 << 10},
	{"truncate", FEATURE_IO_CANCELLED_BYTES, MOVER_CALLS *MOVER_BLOCK, 0, 1, 1, 64 << 10},
	{"read-disk", FEATURE_IO_READ_BYTES, MOVER_CALLS *MOVER_BLOCK, 0, 1, 1, 64 << 10},
	{"read-disk", FEATURE_DELAY_BLOCK_COUNT, 0, 3, 1, 1, 12},
	{"read-disk", FEATURE_DELAY_BLOCK, 0, 2, 0.8, 1.1, 5 * MS},
	{"read-disk", FEATURE_WAIT_DISK, 0, 1, 0.8, 1.1, 5 * MS},
	{"futex", FEATURE_WAIT_LOCK, MOVER_WAIT_NS, 0, 1, 1, 5 * MS},
	{"condition", FEATURE_WAIT_CONDITION, MOVER_WAIT_NS, 0, 1, 1, 5 * MS},
	{"condition", FEATURE_WAIT_LOCK, 0, 0, 1, 1, 5 * MS},
	/* it also waits to be asked to begin */
	{"pipe", FEATURE_WAIT_PEER, MOVER_WAIT_NS, 0, 1, 1.5, 5 * MS},
	{"datagram", FEATURE_WAIT_NETWORK, MOVER_WAIT_NS, 0, 1, 1, 15 * MS}, /* its patience is counted in jiffies */
	{"open-files", FEATURE_HANDLES_FILES, MOVER_HANDLES, 0, EXACT},
	{"open-sockets", FEATURE_HANDLES_SOCKETS, MOVER_HANDLES, 0, EXACT},
	{"socket", FEATURE_NET_TX_BYTES, MOVER_CALLS *MOVER_MESSAGE, 0, EXACT},
	{"socket", FEATURE_NET_RX_BYTES, MOVER_CALLS *MOVER_MESSAGE, 0, EXACT},
	{"socket", FEATURE_NET_TX_CALLS, MOVER_CALLS, 0, EXACT},
	{"socket", FEATURE_NET_RX_CALLS, MOVER_CALLS, 0, EXACT},
	{"nice", FEATURE_SCHED_NICE, MOVER_NICE, 0, EXACT},
	{"policy", FEATURE_SCHED_POLICY, 3, 0, EXACT},
	{"oom-score", FEATURE_OOM_SCORE_ADJ, MOVER_OOM_SCORE, 0, EXACT},
	{"quota", FEATURE_QUOTA_THROTTLED, 0, 1, 1, 1, 10 * MS},
	{"quota", FEATURE_WAIT_QUOTA, 0, 1, 0.9, 1.1, 20 * MS},
	{"quota", FEATURE_QUOTA_PERIODS, 0, 2, EXACT},
	/* a limit of 16 MiB: the rest, and a little more for the mover itself */
	{"swap", FEATURE_MEM_SWAP, MOVER_MEMORY - (16 << 20), 0, 1, 1.05, 4 << 20},
	/* it cannot have waited longer than it all took */
	{"swap", FEATURE_DELAY_RECLAIM, 0, 1, 0.1, 1, 0},
	{"swap-in", FEATURE_DELAY_SWAPIN, 0, 1, 0.005, 1, 0},
	{"thrash", FEATURE_DELAY_THRASHING, 0, 1, 0.01, 1, 0},
	{"thrash", FEATURE_WAIT_MEMORY, 0, 1, 0.01, 1, 0},
	{"children", FEATURE_CHILDREN_SHORT, MOVER_CHILDREN, 0, EXACT},
	{"children", FEATURE_CHILDREN_CPU, 0, 1, 0.9, 1.1, 0},
};

static struct ring *ring;
static const char *mover_path;
static char folder[] = "movers-XXXXXX";
static char delay_accounting; /* as it was */
static struct recorder *recorder;

struct mover {
	pid_t pid;
	int tell, hear;
	double told[3];
};

static void mover_end(struct mover *m)
{
	close(m->tell);
	close(m->hear);
	waitpid(m->pid, NULL, 0);
}

static struct mover mover_start(const char *name)
{
	struct mover m = {};
	int in[2], out[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	m.pid = fork();
	if (m.pid == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		execl(mover_path, "mover", name, folder, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	m.tell = in[1];
	m.hear = out[0];
	return m;
}

/* Its next line; empty when it says nothing more. */
static void mover_hear(struct mover *m, char *line, size_t n)
{
	size_t have = 0;

	while (have < n - 1 && (!have || line[have - 1] != '\n')) {
		struct pollfd ready = {m->hear, POLLIN, 0};

		if (poll(&ready, 1, SAMPLED) <= 0 || read(m->hear, line + have, 1) != 1)
			break;
		have++;
	}
	line[have] = '\0';
}

static const struct subject *find_process(const struct dataset *d, pid_t pid)
{
	for (size_t i = 0; i < d->subjects.n; i++)
		if (d->subjects.v[i]->info.kind == ENTITY_PROCESS && d->subjects.v[i]->info.pid == (uint32_t)pid)
			return d->subjects.v[i];
	return NULL;
}

/* By how much a feature moved between the two samples. */
static double movement(const struct dataset *d, const struct subject *s, int feature)
{
	if (!subject_has(s, (size_t)feature))
		return NAN;
	if (s->features[feature].kind == COUNTER)
		return subject_growth(d, s, (size_t)feature, 1, 1);
	return subject_value(d, s, (size_t)feature, 1) - subject_value(d, s, (size_t)feature, 0);
}

/* The case must not move it. */
static bool stays(const struct proof *p)
{
	return p->amount == 0 && !p->told;
}

static bool holds(const struct proof *p, const struct mover *m, const struct dataset *d, const struct subject *s)
{
	const struct feature *f = &s->features[p->feature];
	double amount = p->told ? m->told[p->told - 1] : p->amount;
	double slack = p->slack + (double)f->quantum - 1; /* what storing may round off */
	double moved = movement(d, s, p->feature);
	/* emulated CPUs stand still while their host does something else: clocks agree less well there */
	double leeway = f->unit == NS && getenv("WHYSLOW_EMULATED") ? 1.25 : 1;
	bool right = moved >= amount * p->low / leeway - slack && moved <= amount * p->high * leeway + slack && (moved != 0 || stays(p));

	printf("%s %-20s moved by %.0f, given %.0f%s\n", right ? "      " : "WRONG:", f->name, moved, amount,
	       isnan(moved) ? " (not measured)" : "");
	return right;
}

static bool all_hold(const char *name, const struct mover *m, const struct dataset *d)
{
	const struct subject *s = find_process(d, m->pid);
	bool right = s && d->ticks.n == 2;

	for (size_t i = 0; s && i < ARRAY_SIZE(proofs); i++)
		if (strcmp(proofs[i].name, name) == 0)
			right &= holds(&proofs[i], m, d, s);
	return right;
}

static void sample(bool key, struct str *frames)
{
	assert_int_equal(recorder_tick(recorder, key, frames), 0);
}

/* Two samples with the case's doing between them. True = it could be done; then *ret_right. */
static bool measure(const char *name, bool *ret_right)
{
	struct mover m = mover_start(name);
	struct str frames = {};
	struct dataset d = {};
	char line[256];
	size_t used;
	bool able;

	mover_hear(&m, line, sizeof(line));
	able = strcmp(line, "ready\n") == 0;
	if (able) {
		usleep(30000); /* it sleeps by now, waiting to be asked */
		sample(true, &frames);
		assert_int_equal(write(m.tell, "!", 1), 1);
		mover_hear(&m, line, sizeof(line));
		able = sscanf(line, "done %lf %lf %lf", &m.told[0], &m.told[1], &m.told[2]) == 3;
		usleep(30000);
		sample(false, &frames);
	}
	if (able) {
		assert_int_equal(frames_read(frames.data, frames.len, INT64_MIN, INT64_MAX, &d, &used), 0);
		dataset_finish(&d);
		*ret_right = all_hold(name, &m, &d);
	} else {
		printf("%s: %s", name, *line ? line : "the mover ended\n");
		*ret_right = strncmp(line, "skip ", 5) == 0;
	}
	mover_end(&m);
	dataset_free(&d);
	str_free(&frames);
	return able;
}

static void remove_swap(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/swap", folder);
	(void)swapoff(path);
	unlink(path);
}

/* Socket lengths came with Linux 6.3. */
static bool kernel_lacks(const char *name)
{
	struct btf *vmlinux = strcmp(name, "socket") == 0 ? btf__load_vmlinux_btf() : NULL;
	bool lacks = vmlinux && btf__find_by_name_kind(vmlinux, "btf_trace_sock_send_length", BTF_KIND_TYPEDEF) < 0;

	btf__free(vmlinux);
	return lacks;
}

static void moves(void **state)
{
	const char *name = *state;
	bool right = false, able;

	printf("%s\n", name);
	if (kernel_lacks(name)) {
		printf("%s: skip this kernel does not tell how much goes through sockets\n", name);
		skip();
	}
	able = measure(name, &right);
	remove_swap();
	assert_true(right);
	if (!able)
		skip();
}

static bool is_case(const char *proof)
{
	return strcmp(proof, "none") != 0 && strncmp(proof, "fixture:", 8) != 0;
}

static bool has_proof(const char *name, int feature)
{
	for (size_t i = 0; i < ARRAY_SIZE(proofs); i++)
		if (proofs[i].feature == feature && strcmp(proofs[i].name, name) == 0)
			return true;
	return false;
}

static void every_named_proof_is_here(void **state)
{
	size_t n;
	const struct feature *f = features_of(ENTITY_PROCESS, &n);
	int missing = 0;

	for (size_t i = 0; i < n; i++) {
		if (!is_case(f[i].proof) || has_proof(f[i].proof, (int)i))
			continue;
		printf("%s names the proof %s, which does not move it\n", f[i].name, f[i].proof);
		missing++;
	}
	for (size_t i = 0; i < ARRAY_SIZE(proofs); i++)
		if (!stays(&proofs[i]) && strcmp(f[proofs[i].feature].proof, proofs[i].name) != 0) {
			printf("%s is moved by %s, but names %s\n", f[proofs[i].feature].name, proofs[i].name,
			       f[proofs[i].feature].proof);
			missing++;
		}
	assert_int_equal(missing, 0);
}

static char set_delay_accounting(char to)
{
	_cleanup_close_ int fd = open("/proc/sys/kernel/task_delayacct", O_RDWR | O_CLOEXEC);
	char was = '\0';

	if (fd < 0 || read(fd, &was, 1) != 1 || pwrite(fd, &to, 1, 0) != 1)
		fprintf(stderr, "kernel.task_delayacct cannot be set: delays will be missing\n");
	return was;
}

static int begin(void **state)
{
	struct recorder_options options = {.source = {.proc_root = "/proc", .sys_root = "/sys", .sockets = true}};
	_cleanup_free_ char *error = NULL;
	const char *why = "";

	signal(SIGPIPE, SIG_IGN);
	if (ring_open(&(struct ring_options){.sums_only = true}, &ring, &why) < 0)
		fprintf(stderr, "no flight recorder: %s\n", why);
	options.source.ring = ring;
	if (!mkdtemp(folder) || recorder_open(&options, &recorder, &error) < 0) {
		fprintf(stderr, "%s\n", error ? error : strerror(errno));
		return -1;
	}
	delay_accounting = set_delay_accounting('1'); /* counts for processes that start from now on */
	return 0;
}

static int end(void **state)
{
	char command[64];

	if (delay_accounting)
		set_delay_accounting(delay_accounting);
	remove_swap();
	recorder_close(recorder);
	ring_close(ring);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

static size_t list_tests(struct CMUnitTest *tests, const char *only)
{
	size_t n = 0;

	if (!only)
		tests[n++] = (struct CMUnitTest)cmocka_unit_test(every_named_proof_is_here);
	for (size_t i = 0; i < ARRAY_SIZE(proofs); i++)
		if ((i == 0 || strcmp(proofs[i].name, proofs[i - 1].name) != 0) &&
		    (!only || strcmp(only, proofs[i].name) == 0))
			tests[n++] = (struct CMUnitTest){proofs[i].name, moves, NULL, NULL, (void *)proofs[i].name};
	return n;
}

int main(int argc, char **argv)
{
	struct CMUnitTest tests[ARRAY_SIZE(proofs) + 1] = {};
	size_t n = list_tests(tests, argc > 2 ? argv[2] : NULL);

	if (argc < 2) {
		fputs("usage: test-movers MOVER [CASE]\n", stderr);
		return 2;
	}
	if (geteuid() != 0) {
		puts("needs root for BPF");
		return 77;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	mover_path = argv[1];
	return _cmocka_run_group_tests("movers", tests, n, begin, end);
}
