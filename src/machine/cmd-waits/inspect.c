#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "machine/answer-inspect/inspect.h"
#include "machine/answer-inspect/memory-summary.h"
#include "machine/cmd-waits/inspect-recorded.h"
#include "machine/flight/branches.h"
#include "machine/flight/instructions.h"
#include "machine/flight/steps.h"
#include "machine/flight/thread-sampler.h"
#include "machine/process/describe.h"
#include "machine/verb/verb.h"
#include "machine/view-waits/inspect.h"

#define LOOK_EVERY	  (50 * NS_PER_MS)
#define SAMPLES_DEFAULT	  100
#define THREADS_KEPT 500 /* of a saved report: each has up to 7 KB of call trees */
#define SAMPLES_A_SECOND  2000 /* of all CPUs: naming one takes a tenth of a millisecond */
#define FREQUENCY_DEFAULT 499  /* no multiple of what timers like */
#define FILES_SHOWN	  10
#define STEPS_LONGEST	  (10 * NS_PER_SEC)

static uint64_t arg_samples = SAMPLES_DEFAULT, arg_frequency = FREQUENCY_DEFAULT, arg_depth = 14, arg_phase, arg_steps;
static int64_t arg_seconds, arg_instructions;
static bool arg_folded, arg_memory;
static const char *arg_keep;

static const struct option_row options[] = {
	{OPTION_COUNT, 0, "samples", "N", &arg_samples,
	 "number of samples of all threads, 20 a second (default: 100; 0 = until stopped)"},
	{OPTION_SPAN, 0, "seconds", "SPAN", &arg_seconds, "duration, instead of a number of samples"},
	{OPTION_COUNT, 0, "frequency", "HZ", &arg_frequency,
	 "samples a second of what runs on each CPU (default: 499)"},
	{OPTION_SPAN, 0, "instructions", "SPAN", &arg_instructions,
	 "then trace every instruction for this long, e.g. 50ms, and count those instead of samples (Intel PT, by perf)"},
	{OPTION_COUNT, 0, "steps", "N", &arg_steps,
	 "count N branches that it takes instead of samples, where the CPU records them; on other CPUs first step through N instructions of the thread that runs (by ptrace); a step takes 35 to 50 us in a virtual machine, all of them 10 s at most"},
	{OPTION_COUNT, 0, "depth", "N", &arg_depth, "depth of printed call trees (default: 14)"},
	{OPTION_FLAG, 0, "memory", NULL, &arg_memory, "also what its memory consists of: the largest mappings, in memory and in swap"},
	{OPTION_TEXT, 0, "keep", "ID", &arg_keep,
	 "save the result with that incident or mark ('whyslow show ID') instead of printing it"},
	{OPTION_COUNT, 0, "phase", "N", &arg_phase, "with --keep: save it for that phase of the incident"},
	{OPTION_FLAG, 0, "folded", NULL, &arg_folded,
	 "only the call paths and how often each was seen, for flame graphs"},
	{},
};

struct inspecting {
	struct inspector *inspector;
	struct thread_sampler *look;
	uint32_t pid;
	struct capture_thread scratch;
	bool traces; /* every instruction, instead of samples */
	const char *no_instructions; /* why none were traced */
	struct steps steps;
	struct samples *branches; /* in place of steps, where the CPU records them */
	uint64_t n_branches;
};

static void take(const struct capture_thread *t, const uint64_t *user, void *data)
{
	const struct inspecting *i = data;

	if (t->kind == CAPTURE_SAMPLE && i->traces) /* counts of two kinds do not add up; an instruction does not say where its thread began */
		inspector_take_beginning(i->inspector, t, user, clock_boot());
	else
		inspector_take(i->inspector, t, user, clock_boot());
}

static void take_instruction(uint32_t tid, uint64_t address, void *data)
{
	struct inspecting *i = data;

	i->scratch = (struct capture_thread){.kind = CAPTURE_SAMPLE, .tid = tid, .state = CAPTURE_RUNNING, .syscall = -1, .n_user = 1};
	inspector_take(i->inspector, &i->scratch, &address, clock_boot());
}

static const char *steps_missing(int r)
{
	return r == -EBUSY ? "single steps: another program traces it (a debugger, strace), or the system forbids it (kernel.yama.ptrace_scope)" :
	       r == -EPERM || r == -EACCES ? "single steps: only root or its owner may trace it" :
	       r == -ETIMEDOUT ? "single steps: no thread of it ran" : "single steps: it cannot be traced";
}

static void take_branch(const struct capture_thread *t, const uint64_t *user, void *data)
{
	struct inspecting *i = data;

	if (i->n_branches < arg_steps) {
		i->n_branches++;
		inspector_take(i->inspector, t, user, clock_boot());
	}
}

static void take_branches(struct inspecting *i)
{
	const struct thread_sampler_callbacks callbacks = {take_branch, i};

	if (i->branches)
		samples_take(i->branches, &i->scratch, &callbacks);
}

/* Before the process is looked at: a thread that cannot be stepped through is sampled. */
static void step_through(struct inspecting *i)
{
	struct samples_units units;
	int r;

	if (branches_recorded("/sys", &units) && branches_open("/proc", i->pid, &units, &i->branches) == 0) {
		i->traces = true;
		return;
	}
	r = steps_take("/proc", i->pid, arg_steps, STEPS_LONGEST, &i->steps);

	i->no_instructions = r < 0 ? steps_missing(r) : NULL;
	i->traces = r == 0;
}

static void trace_instructions(struct inspecting *i)
{
	for (uint64_t n = 0; n < i->steps.n; n++)
		take_instruction(i->steps.tid, i->steps.addresses[n], i);
	if (i->steps.n || i->branches)
		return;
	if (i->traces && instructions_trace(i->pid, arg_instructions, take_instruction, i) < 0)
		i->no_instructions = "every instruction: perf could not trace them (is the CPU's trace in use, or only root's?)";
}

static int stop_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The moments are moved by up to a fifth, so that what the process does periodically is not always seen at
 * one point. */
static int64_t next_moment(int64_t now)
{
	return now + LOOK_EVERY * 9 / 10 + random() % (LOOK_EVERY / 5);
}

static bool wait_until(int64_t moment, int stop_fd)
{
	int64_t now = clock_boot();
	struct pollfd stop = {stop_fd, POLLIN, 0};

	return poll(&stop, 1, moment > now ? (int)((moment - now) / NS_PER_MS) : 0) > 0;
}

/* Until enough was seen, something presses Ctrl-C, or the process ends. */
static int look_on(struct inspecting *i, int stop_fd)
{
	const struct thread_sampler_callbacks callbacks = {take, i};
	int64_t end = arg_seconds ? clock_boot() + arg_seconds : INT64_MAX;
	uint64_t rounds = 0, most = arg_seconds || !arg_samples ? UINT64_MAX : arg_samples;
	int r = 1;

	while (rounds < most && clock_boot() < end) {
		int64_t now = clock_boot();

		r = thread_sampler_read(i->look, &callbacks);
		if (r <= 0)
			break;
		inspector_end_look(i->inspector, clock_boot());
		rounds++;
		thread_sampler_take_samples(i->look, &callbacks);
		take_branches(i);
		if (wait_until(next_moment(now), stop_fd))
			break;
	}
	thread_sampler_take_samples(i->look, &callbacks);
	take_branches(i);
	if (r >= 0 && rounds)
		trace_instructions(i);
	return r < 0 ? r : rounds ? 0 : -ESRCH;
}

static void describe(struct inspecting *i)
{
	struct process_text text = {};

	(void)describe_live("/proc", i->pid, 0, &text);
	inspector_describe(i->inspector, text.exe, text.cmdline, text.unit, text.container);
}

static void tell_missing(const struct inspecting *i, struct inspection *n)
{
	const char *missing[THREAD_SAMPLER_MISSING_MAX + 1];
	unsigned count = thread_sampler_missing(i->look, missing);

	if (i->no_instructions)
		missing[count++] = i->no_instructions;
	for (unsigned k = 0; k < count; k++) {
		char *text = strdup(missing[k]);

		(void)VEC_PUSH_OWNER(n->missing, text, text);
	}
}

/* The cost for the process. */
static void report_steps(const struct inspecting *i, struct inspection *n)
{
	if (i->branches)
		(void)VEC_PRINT(n->remarks, "%" PRIu64 " branches are counted, as the CPU recorded them, in place of samples; nothing was held up", i->n_branches);
	if (i->steps.n)
		(void)VEC_PRINT(n->remarks, "thread %u was stepped through %" PRIu64 " instructions, and held up for %s by that%s", i->steps.tid, i->steps.n,
				CLOCK_SPAN(i->steps.took), i->steps.took >= STEPS_LONGEST ? ", which is the time limit" : "");
}

static int finish(struct inspecting *i, struct inspection *ret)
{
	struct capture_file files[FILES_SHOWN];
	struct inspected_counts counts = {.files = files, .lost = thread_sampler_lost(i->look)};
	int r;

	counts.n_files = thread_sampler_files(i->look, files, FILES_SHOWN);
	r = inspector_finish(i->inspector, &counts, ret);
	if (r == 0 && arg_memory)
		(void)memory_summary_read("/proc", i->pid, ret); /* it may have ended */
	if (r == 0)
		tell_missing(i, ret);
	if (r == 0)
		report_steps(i, ret);
	return r;
}

static void print(const struct common *common, const struct inspection *n)
{
	_cleanup_str_ struct str folded = {};

	if (common->json) {
		inspect_json(n, SIZE_MAX, stdout);
	} else if (arg_folded) {
		path_tree_write_folded(&n->top_down, &folded);
		fputs(folded.data ? folded.data : "", stdout);
	} else {
		inspect_text(n, (unsigned)arg_depth, stdout);
	}
}

static char *to_text(const struct inspection *n, bool json)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (json)
		inspect_json(n, THREADS_KEPT, f);
	else
		inspect_text(n, (unsigned)arg_depth, f);
	fclose(f);
	return text;
}

/* 0 = that is not a number of an incident. */
static int64_t kept_with(void)
{
	uint64_t id;

	return str_parse_u64(arg_keep, &id) < 0 ? 0 : (int64_t)id;
}

static int keep(const struct common *common, const struct inspection *n, int64_t began)
{
	struct capture c = {.wall = began, .pid = n->pid, .phase = (uint32_t)arg_phase, .summary = n->summary};
	_cleanup_free_ char *text = to_text(n, false), *json = to_text(n, true);
	struct store *store;
	int r;

	c.mark = kept_with();
	if (!c.mark)
		return verb_usage_error(
			"inspect",
			"--keep expects the number of an incident or a mark ('whyslow list' shows them)");
	store = text && json ? common_open_store(common, STORE_MARK) : NULL;
	if (!store)
		return -EIO;
	c.text = text;
	c.json = json;
	r = store_capture(store, &c);
	if (r == -E2BIG)
		log_error("the report about %s (pid %u) is too large to save: %zu KiB", n->exe ? n->exe : "a process", n->pid, (strlen(text) + strlen(json)) >> 10);
	else if (r < 0)
		log_error("%s", store_reason(store, r));
	store_close(store);
	return r;
}

/* So that it works also while the machine starves: next to 16 that compute on each CPU, -20 has 84 % of one, -15 had 64 %. */
static void be_preferred(void)
{
	(void)setpriority(PRIO_PROCESS, 0, -20);
	(void)mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
}

static unsigned frequency(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t most = cpus > 0 ? SAMPLES_A_SECOND / (uint64_t)cpus : SAMPLES_A_SECOND;

	if (arg_frequency != FREQUENCY_DEFAULT || arg_frequency <= most)
		return (unsigned)arg_frequency;
	return most > 49 ? (unsigned)most : 49;
}

static int open_both(struct inspecting *i)
{
	const struct thread_sampler_options look = {i->pid, frequency(), "/proc"};
	int r = inspector_new("/proc", i->pid, &i->inspector);

	if (r == 0)
		r = thread_sampler_open(&look, &i->look);
	if (r == -ESRCH)
		log_error(arg_keep ? "process %u ended before it could be inspected" : "there is no process %u", i->pid);
	else if (r < 0)
		log_error("cannot inspect process %u: %s", i->pid,
			  r != -EACCES && r != -EPERM ? strerror(-r) :
			  geteuid() ? "it belongs to another user, and only root may inspect it: use sudo" :
				      "the kernel denies it to root, too: CAP_SYS_PTRACE is missing here, or kernel.yama.ptrace_scope is 3");
	return r;
}

static int run(struct common *common, int argc, char **argv)
{
	struct inspecting i = {};
	struct inspection result = {};
	_cleanup_close_ int stop_fd = -1;
	int64_t began = clock_wall();
	int r;

	if (argc != 2)
		return verb_usage_error("inspect", "expected one process: 'whyslow inspect 4711', 'whyslow inspect nginx'");
	if (arg_frequency < 1 || arg_frequency > 10000)
		return verb_usage_error("inspect", "invalid --frequency; expected 1 to 10000");
	r = verb_find_process(common, argv[1], &i.pid);
	if (r != EXIT_ANSWERED)
		return r;
	if (arg_steps && arg_instructions)
		return verb_usage_error("inspect", "--steps and --instructions exclude each other");
	i.no_instructions = arg_instructions ? instructions_missing("/sys") : NULL;
	i.traces = arg_instructions && !i.no_instructions;
	be_preferred();
	stop_fd = stop_signals();
	r = open_both(&i);
	if (r == 0) {
		describe(&i);
		if (arg_steps)
			step_through(&i);
		r = look_on(&i, stop_fd);
		if (r == -ESRCH)
			log_error("process %u has ended", i.pid);
	}
	if (r == 0)
		r = finish(&i, &result);
	result.phase = (uint32_t)arg_phase;
	if (r == 0)
		inspect_recorded(common, arg_keep && arg_phase <= 1 ? kept_with() : 0, began, clock_wall(), &result);
	if (r == 0 && arg_keep)
		r = keep(common, &result, began);
	else if (r == 0)
		print(common, &result);
	inspection_free(&result);
	inspector_free(i.inspector);
	steps_free(&i.steps);
	samples_free(i.branches);
	thread_sampler_close(i.look);
	return r == -ESRCH ? EXIT_ABSENT : r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

const struct verb verb_inspect = {
	.name = "inspect",
	.group = "Details",
	.words = "WHO ",
	.help = "show what a process is doing: its threads, down to the instruction",
	.about = "Samples all threads of one process for some seconds without stopping it: where they run or wait, in which function, and who "
		 "holds what they wait for. Only root and the process's owner may ask.",
	.examples = (const struct example[]){
		{"whyslow inspect 4711", "what does process 4711 do?"},
		{"whyslow inspect orders.py --seconds 10s", "ten seconds of a program, by its script's name"},
		{"whyslow inspect 4711 --memory", "what does its memory consist of?"},
		{}},
	.options = options,
	.run = run,
};
