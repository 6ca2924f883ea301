/* whyslow confirm: is the named really the cause? */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "lib/stat/permutation.h"
#include "machine/act/experiment.h"
#include "machine/act/guarded-hold.h"
#include "machine/answer-inspect/judge-trial.h"
#include "machine/cmd-act/confirm-culprits.h"
#include "machine/cmd-act/confirm-watch.h"
#include "machine/cmd-act/confirm.h"
#include "machine/recorder/capture.h"
#include "machine/verb/client-rights.h"
#include "machine/view-why/trial.h"

#define PROC	      "/proc"
#define PHASE_LEAST   (2 * NS_PER_SEC)
#define PHASE_LONGEST (5 * NS_PER_SEC) /* through the recorder, which ends an answer after a minute */
#define BEFORE	      (2 * NS_PER_SEC)
#define AFTER	      (1 * NS_PER_SEC)
#define SAMPLE	      (250 * NS_PER_MS)
#define SETTLE	      (500 * NS_PER_MS)
#define SETTLE_DISK   (1 * NS_PER_SEC) /* requests that are on their way */
#define MUCH_CPU      0.05	       /* CPUs: below it the disk is looked at first */

static const char *arg_short, *arg_way, *arg_victims, *arg_mark;
static int64_t arg_phase;
static bool arg_force;

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "mark", "ID", &arg_mark, "the culprits of the answer for this mark"},
	{OPTION_TEXT, 0, "victim", "PIDS", &arg_victims,
	 "processes that wait, separated by commas (default: those that wait most now)"},
	{OPTION_TEXT, 0, "short", "WHAT", &arg_short,
	 "the resource it makes short: cpu, disk or memory (default: from the answer, or from what it uses)"},
	{OPTION_TEXT, 0, "by", "WAY", &arg_way,
	 "how to hold it back: unit, limit, freeze or class (default: the first that is available)"},
	{OPTION_SPAN, 0, "phase", "SPAN", &arg_phase, "length of each of the 8 phases (default and minimum 2s)"},
	{OPTION_FLAG, 0, "force", NULL, &arg_force, "also a program that is in use: in the active window, or in the foreground of a terminal"},
	{},
};

struct trial_run {
	struct common *common;
	struct target target;
	int of; /* enum hold_short; -1 = by what it uses */
	struct confirm_watch watch;
	struct guarded_hold *hold;
	struct trial trial;
	sigset_t ends;
	char *words; /* why it could not be held */
};

int confirm_find_name(const char *text, const char *const *names, int n)
{
	for (int i = 0; i < n; i++)
		if (strcmp(text, names[i]) == 0)
			return i;
	return -1;
}

int confirm_parse_pids(const struct common *common, const char *text, uint32_t *ret, size_t most, size_t *ret_n)
{
	_cleanup_free_ char *list = strdup(text);
	size_t n = 0;
	char *save;

	for (char *word = list ? strtok_r(list, ",", &save) : NULL; word; word = strtok_r(NULL, ",", &save)) {
		int status = n == most ? -EINVAL : verb_find_process(common, word, &ret[n]);

		if (status != EXIT_ANSWERED)
			return status;
		n++;
	}
	*ret_n = n;
	return n ? EXIT_ANSWERED : -EINVAL;
}

/* -1 = by what it uses */
static int short_of(enum bottleneck b)
{
	switch (b) {
	case BOTTLENECK_CPU:
		return SHORT_CPU;
	case BOTTLENECK_DISK:
		return SHORT_DISK;
	case BOTTLENECK_MEMORY:
		return SHORT_MEMORY;
	default:
		return -1;
	}
}

struct refusal_options confirm_rights(const struct common *common, bool force)
{
	return (struct refusal_options){common->viewer.uid, force, common->viewer.hides_others && !viewer_sees_all(&common->viewer)};
}

int confirm_print_no_rights(void)
{
	return log_failure(EXIT_CANNOT, "holding a process back requires root, or a recorder run by root that does it for the "
		  "process's owner: start it ('systemctl start whyslow'), or: sudo whyslow ...");
}

/* --- what the experiment calls --- */

/* Processes of the program that have begun: they must be such as may be held back, as all others. */
static int take_joined(struct trial_run *t)
{
	struct refusal_options rights = confirm_rights(t->common, arg_force);
	size_t before = t->target.heads.list.n;
	struct target now;
	int r = target_of(PROC, &t->target.heads, true, &now);

	if (r < 0)
		return r;
	target_free(&t->target);
	t->target = now;
	t->trial.joined += (uint32_t)(now.heads.list.n - before);
	if (now.heads.list.n > before)
		r = target_refuse(PROC, &now, &rights, &t->words);
	return r < 0 ? r : guarded_hold_join(t->hold, &now);
}

static int change(void *data, bool held)
{
	struct trial_run *t = data;

	int r = 0;

	if (!t->hold)
		return 0;
	if (!held)
		return guarded_hold_let_go(t->hold);
	if (t->target.open)
		r = take_joined(t);
	return r < 0 ? r : guarded_hold_apply(t->hold);
}

static void tell(const struct trial_sample *s)
{
	if (!isatty(STDERR_FILENO))
		return;
	if (s->phase < 0)
		fprintf(stderr, "\r\033[Kfinding the processes that wait ...");
	else if (s->phase < TRIAL_PHASES)
		fprintf(stderr, "\r\033[Kphase %d of %d: %s", s->phase + 1, TRIAL_PHASES,
			s->held ? "held back" : "let go");
	else
		fprintf(stderr, "\r\033[Kreleased\r\033[K");
}

static int look(void *data, struct trial_sample *s)
{
	struct trial_run *t = data;
	int r = confirm_watch_sample(&t->watch, s);

	tell(s);
	if (r == 0 && t->hold)
		r = guarded_hold_alive(t->hold);
	/* of a program that begins processes again and again some other may be there */
	if (r == 0 && !processes_live(PROC, &t->target.heads))
		r = t->target.open ? take_joined(t) : -ESRCH;
	return r;
}

/* Asked to end, it gives back and ends. */
static int rest(void *data, int64_t until)
{
	struct trial_run *t = data;
	int64_t left = until - clock_monotonic();
	struct timespec wait = {left > 0 ? left / NS_PER_SEC : 0, left > 0 ? left % NS_PER_SEC : 0};

	return sigtimedwait(&t->ends, NULL, &wait) > 0 ? -EINTR : 0;
}

static enum hold_short by_use(const struct confirm_watch *w)
{
	double cpu = w->span ? w->cpu / (double)w->span : 0;

	return cpu < MUCH_CPU && w->read + w->written > 0 ? SHORT_DISK : SHORT_CPU;
}

static int ready(void *data)
{
	struct trial_run *t = data;
	struct hold_request q = {.proc_root = PROC,
				 .run_dir = t->common->config.store_run_dir,
				 .of = t->of < 0 ? by_use(&t->watch) : (enum hold_short)t->of,
				 .writes = t->watch.written > t->watch.read,
				 .way = arg_way ? confirm_find_name(arg_way, hold_way_names, WAY_COUNT) : -1,
				 .rights = confirm_rights(t->common, arg_force)};
	int r = confirm_watch_choose(&t->watch, PROC, &q.rights);

	t->watch.by_disk = q.of == SHORT_DISK;
	r = r ?: guarded_hold_begin(&q, &t->target, &t->hold, &t->words);
	if (r < 0)
		return r;
	t->trial.of = hold_short_names[q.of];
	t->trial.way = hold_way_names[guarded_hold_of(t->hold)->way];
	t->trial.unit = *guarded_hold_of(t->hold)->unit ? strdup(guarded_hold_of(t->hold)->unit) : NULL;
	t->trial.how = TAKE(t->words);
	return t->trial.how ? 0 : -ENOMEM;
}

/* --- */

static unsigned long long random_bits(void *data)
{
	unsigned long long bits = 0;

	(void)data;
	(void)!getrandom(&bits, sizeof(bits), 0);
	return bits;
}

static void draw_order(struct trial *t)
{
	unsigned char held[TRIAL_PHASES];

	permutation_choose(TRIAL_PHASES, TRIAL_PHASES / 2, random_bits, NULL, held);
	for (int i = 0; i < TRIAL_PHASES; i++)
		t->phases[i].held = held[i];
}

static int finish(struct trial_run *t, int r)
{
	struct trial *trial = &t->trial;
	int given = t->hold ? guarded_hold_end(t->hold, false) : 0;

	t->hold = NULL;
	if (given < 0)
		log_error("%s (pid %u) cannot be released yet: %s; whyslow tries again", trial->name,
			  trial->pid, strerror(-given));
	if (r == -EINTR)
		log_error("stopped; %s (pid %u) has been released", trial->name, trial->pid);
	else if (r == -ESRCH)
		log_error("%s (pid %u) ended during the trial", trial->name, trial->pid);
	else if (r == -EOWNERDEAD)
		log_error("%s (pid %u) has been released: this program stalled for too long, or its "
			  "hold watchdog was killed",
			  trial->name, trial->pid);
	else if (r < 0)
		log_error("%s", t->words ? t->words : strerror(-r));
	r = r ?: judge_trial(trial);
	r = r ?: confirm_watch_victims(&t->watch, trial);
	if (r < 0 || given < 0)
		return EXIT_CANNOT;
	if (t->common->json)
		r = trial_json(trial, stdout);
	else
		trial_text(trial, stdout);
	return r < 0 ? EXIT_CANNOT : trial->verdict == TRIAL_YES ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

static int run_trial(struct trial_run *t)
{
	struct experiment e = {.before = BEFORE,
			       .after = AFTER,
			       .settle = t->of == SHORT_DISK ? SETTLE_DISK : SETTLE,
			       .phase = arg_phase ? arg_phase : PHASE_LEAST,
			       .sample = SAMPLE,
			       .change = change,
			       .look = look,
			       .rest = rest,
			       .now = clock_monotonic,
			       .ready = ready,
			       .data = t};

	const struct process *head = target_head(&t->target);
	int r = 0;

	t->trial.pid = head->pid;
	t->trial.wall = clock_wall();
	snprintf(t->trial.name, sizeof(t->trial.name), "%s", head->name);
	for (size_t i = 0; r == 0 && i < t->target.heads.list.n; i++)
		r = VEC_PUSH(t->trial.pids, t->target.heads.list.v[i].pid);
	draw_order(&t->trial);
	return finish(t, r < 0 ? r : experiment_run(&e, &t->trial));
}

static int parse_victims(const struct common *common, struct confirm_watch *w)
{
	size_t n;
	int status = arg_victims ? confirm_parse_pids(common, arg_victims, w->wanted, VICTIMS_MAX, &n) : EXIT_ANSWERED;

	if (status == -EINVAL)
		return verb_usage_error("confirm", "--victim expects at most %d processes: --victim 812,813", VICTIMS_MAX);
	return status;
}

static void block_ends(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGTERM);
	sigaddset(ret, SIGHUP);
	sigprocmask(SIG_BLOCK, ret, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
}

static int confirm_target(struct trial_run *t, struct ring *ring)
{
	int status = EXIT_CANNOT;

	block_ends(&t->ends);
	if (confirm_watch_open(ring, &t->target, &t->watch) < 0)
		log_error("out of memory");
	else
		status = parse_victims(t->common, &t->watch);
	if (status == EXIT_ANSWERED)
		status = run_trial(t);
	confirm_watch_close(&t->watch);
	return status;
}

/* The recording has the start in ns, /proc in ticks. */
static bool is_same(const struct culprit_process *a, const struct process *p)
{
	int64_t tick = NS_PER_SEC / sysconf(_SC_CLK_TCK);

	return !a->start || llabs(a->start / tick - (int64_t)p->start) <= 1;
}

/* Those of the named that are still there. */
static int find_target(const struct listed_culprit *who, struct target *ret)
{
	_cleanup_(processes_free) struct processes heads = {};

	for (size_t i = 0; i < who->processes.n; i++) {
		struct process p;

		if (process_read(PROC, who->processes.v[i].pid, &p) == 0 && is_same(&who->processes.v[i], &p) &&
		    VEC_PUSH(heads.list, p) < 0)
			return -ENOMEM;
	}
	if (heads.list.n && heads.list.n < who->processes.n)
		log_warning("%zu of %zu processes have ended; the trial covers the others", who->processes.n - heads.list.n,
			    who->processes.n);
	return target_of(PROC, &heads, who->program, ret);
}

/* 0, or -errno and *ret_why in words (the caller frees). */
static int check_target(struct trial_run *t, const struct listed_culprit *who, char **ret_why)
{
	struct refusal_options rights = confirm_rights(t->common, arg_force);
	int r;

	if (who->why_not) {
		*ret_why = strdup(who->why_not);
		return *ret_why ? -EPERM : -ENOMEM;
	}
	r = find_target(who, &t->target);
	if (r == -ESRCH && asprintf(ret_why, "process %u has ended; only running processes can be held back", who->processes.v[0].pid) < 0)
		*ret_why = NULL;
	return r ?: target_refuse(PROC, &t->target, &rights, ret_why);
}

/* The first one who can be held back. */
static int choose_target(struct trial_run *t, const struct culprit_list *l)
{
	VEC_EACH(who, l->list) {
		_cleanup_free_ char *why = NULL;
		int r = check_target(t, who, &why);

		if (r == 0) {
			t->of = arg_short ? confirm_find_name(arg_short, hold_short_names, SHORT_COUNT) : short_of(who->of);
			return EXIT_ANSWERED;
		}
		target_free(&t->target);
		if (!who->name) { /* asked for by its number */
			return log_failure(EXIT_CANNOT, "%s", why ? why : strerror(-r));
		}
		log_warning("skipped %s: %s", who->name, why ? why : strerror(-r));
	}
	return log_failure(EXIT_CANNOT, "none of the culprits can be held back (name a process: 'whyslow confirm PID')");
}

/* Numbers of processes of which some are there. 0, or -errno. */
static int accuse(const uint32_t *pids, size_t n, struct culprit_list *ret)
{
	struct listed_culprit one = {.of = BOTTLENECK_UNCLEAR};
	bool there = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct process p;

		there |= process_read(PROC, pids[i], &p) == 0;
		r = VEC_PUSH(one.processes, (struct culprit_process){.pid = pids[i]});
	}
	r = r ?: (there ? VEC_PUSH(ret->list, one) : -ESRCH);
	if (r < 0)
		VEC_FREE(one.processes);
	return r;
}

/* A number is a process, or where there is none, a mark. */
static int find_who(struct common *common, int argc, char **argv, struct culprit_list *ret)
{
	const char *word = arg_mark ? arg_mark : argc == 2 ? argv[1] : NULL;
	uint32_t pids[PIDS_MAX] = {};
	size_t n = 0;
	int r = -ESRCH;

	int status = word ? confirm_parse_pids(common, word, pids, arg_mark ? 1 : PIDS_MAX, &n) : EXIT_ANSWERED;

	if (argc > 2 || (arg_mark && argc == 2) || status == -EINVAL)
		return verb_usage_error("confirm",
					"expected processes or a mark's number, or nothing (the culprit "
					"of this moment): 'whyslow confirm 812', '812,813' or 'backup.sh'");
	if (status != EXIT_ANSWERED)
		return status;
	if (n && !arg_mark)
		r = accuse(pids, n, ret);
	if (r == -ESRCH && n <= 1)
		return confirm_culprits(common, pids[0], ret);
	if (r == 0)
		return EXIT_ANSWERED;
	return log_failure(EXIT_CANNOT, "%s", r == -ESRCH ? "none of these processes exists" : strerror(-r));
}

static int check_options(const struct common *common)
{
	if (arg_short && confirm_find_name(arg_short, hold_short_names, SHORT_COUNT) < 0)
		return verb_usage_error("confirm", "invalid --short '%s'; expected cpu, disk or memory", arg_short);
	if (arg_way && confirm_find_name(arg_way, hold_way_names, WAY_COUNT) < 0)
		return verb_usage_error("confirm", "invalid --by '%s'; expected unit, limit, freeze or class", arg_way);
	if (arg_phase && arg_phase < PHASE_LEAST)
		return verb_usage_error("confirm", "invalid --phase; expected 2s or longer: shorter phases prove nothing");
	if (common->for_client && arg_phase > PHASE_LONGEST)
		return verb_usage_error("confirm",
					"invalid --phase; expected at most 5s through the recorder");
	return EXIT_ANSWERED;
}

static int run(struct common *common, int argc, char **argv)
{
	struct trial_run t = {.common = common, .of = -1};
	_cleanup_(culprit_list_free) struct culprit_list who = {};
	struct ring *ring = NULL;
	int status = check_options(common), given_up;

	if (status != EXIT_ANSWERED)
		return status;
	if (geteuid() != 0)
		return confirm_print_no_rights();
	status = find_who(common, argc, argv, &who);
	(void)setpriority(PRIO_PROCESS, 0, -15); /* phases begin and end on time on a starved machine, too */
	if (status == EXIT_ANSWERED)
		status = choose_target(&t, &who);
	if (status == EXIT_ANSWERED && capture_open_sums(common->config.store_run_dir, &ring, NULL) < 0)
		status = EXIT_CANNOT;
	given_up = client_keep_holding(common, CLIENT_READS_MAPS);
	if (status == EXIT_ANSWERED)
		status = given_up ?: confirm_target(&t, ring);
	if (ring)
		ring_close(ring);
	free(t.words);
	target_free(&t.target);
	trial_free(&t.trial);
	return status;
}

const struct verb verb_confirm = {
	.name = "confirm",
	.group = "Act",
	.words = "[WHO|ID] ",
	.help = "test whether a process is the cause: hold it back, release it, and compare how long others wait",
	.about = "Holds the suspect back and releases it in turns for 16 seconds, and compares how long others wait in both. Whatever happens, "
		 "what it holds back is released. Only root and the process's owner may ask.",
	.examples = (const struct example[]){
		{"whyslow confirm", "test the culprit of the answer for this moment"},
		{"whyslow confirm backup", "test this program"},
		{"whyslow confirm backup --short disk --by freeze", "by stopping it for moments, for who waits for the disk"},
		{}},
	.options = options,
	.remote = true,
	.rights = RIGHTS_GIVEN_UP_BY_VERB,
	.run = run,
};
