#include "machine/recorder/trigger.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "machine/model/totals.h"
#include "machine/recorder/announce.h"
#include "machine/recorder/capture-turns.h"
#include "machine/recorder/hook.h"
#include "machine/recording/store.h"
#include "machine/rule/watch.h"
#include "machine/trace/capture-client.h"

#define WAITING_MAX	   1000 /* news that no one has written down yet */
#define CAPTURES_AT_A_TIME 2
#define PHASES_CAPTURED	   8  /* of one event */
#define CHILDREN_MAX	   64 /* commands and posts under way; beyond them none is started */
#define CAPTURES_END_IN	   2000 /* ms, when the recorder ends */
#define CAPTURES_LOOK_EVERY 20 /* ms */
#define OPEN_MAX	   256 /* events that continue */

/* What happened, ready to be written down by another thread. */
struct news {
	enum trigger_action action;
	uint64_t number;
	int64_t wall;
	char *note;
	char *rule;	  /* its name, or "" */
	char *command;	  /* NULL = none */
	char *url;	  /* NULL = none */
	bool notify;
	enum rule_action actions;
	uint32_t capture; /* pid to look into; 0 = none */
	unsigned phase;	  /* of the event, from 1 */
};

struct incident {
	uint64_t number;
	int64_t id; /* in the store */
	enum rule_action actions; /* what its inspections are to include */
};

struct triggers {
	struct rules rules;
	struct watch *watch;
	char *rules_file, *store_file, *run_dir;
	const struct tick *tick; /* in hand */
	struct turns turns;	 /* the sampler's */
	struct totals *totals;	 /* the sampler's */

	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
	VEC(struct news) waiting;

	/* the thread's */
	struct store *store;
	struct announcer *announcer;
	VEC(struct incident) open;
	VEC(pid_t) children, captures;
};

static void news_free(struct news *n)
{
	FREE_ALL(n->note, n->rule, n->command, n->url);
}

/* --- the sampler's side --- */

static void write_subject(const struct watch_event *e, struct str *out)
{
	_cleanup_free_ char *label = NULL;

	if (e->rule->scope == ENTITY_SYSTEM)
		return;
	label = entity_label(&e->entity->info);
	str_printf(out, "%s", label ? label : e->entity->info.name);
	if (e->entity->info.pid)
		str_printf(out, " (pid %u)", e->entity->info.pid);
	str_puts(out, ", ");
}

/* u1 and u2 are the article's words, not people's. */
static void write_quantity(const struct watch_event *e, struct str *out)
{
	bool machine = e->rule->scope == ENTITY_SYSTEM;

	if (strcmp(e->quantity, "u1") == 0)
		str_puts(out, machine ? "CPU time" : "CPU");
	else if (strcmp(e->quantity, "u2") == 0)
		str_puts(out, "CPU of the whole machine");
	else
		str_puts(out, e->quantity);
}

/* "cpu: CPU of the whole machine up to 97 %, for 41 s in 2 phases" */
static char *describe(const struct watch_event *e, int64_t now)
{
	struct str text = {};

	if (e->rule->name)
		str_printf(&text, "%s: ", e->rule->name);
	write_subject(e, &text);
	write_quantity(e, &text);
	str_printf(&text, " up to %s",
		   e->feature ? FEATURE_TEXT(e->feature, e->highest) : "?");
	str_printf(&text, ", for %s",
		   CLOCK_SPAN(now > e->began ? now - e->began : 0));
	if (e->phases > 1)
		str_printf(&text, " in %u phases", e->phases);
	return text.data;
}

static void hand_over(struct triggers *t, struct news *n)
{
	pthread_mutex_lock(&t->lock);
	if (!n->note || !n->rule || t->waiting.n >= WAITING_MAX || VEC_PUSH(t->waiting, *n) < 0)
		news_free(n);
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
}

static void inspect(uint64_t number, unsigned phase, uint32_t pid, void *data)
{
	struct triggers *t = data;
	struct news n = {.action = TRIGGER_COLLECT, .number = number, .phase = phase, .capture = pid};

	n.note = strdup("");
	n.rule = strdup("");
	hand_over(t, &n);
}

/* What a process does after a dip may be something else: each phase has its own profiles. */
static void begin_or_end_turns(struct triggers *t, const struct watch_event *e)
{
	const enum resource resource = e->feature ? e->feature->resource : RESOURCE_CPU;
	const uint32_t of = e->entity->info.pid;
	uint32_t pid;

	if (!(e->rule->actions & ACTION_CAPTURE))
		return;
	if (e->action == TRIGGER_BEGIN || e->action == TRIGGER_RESUME || (e->action == TRIGGER_RISE && !of))
		turns_begin(&t->turns, e->number, e->phases, of, resource);
	else if ((pid = turns_end(&t->turns, e->number)) && e->action == TRIGGER_PAUSE)
		inspect(e->number, e->phases, pid, t);
}

static void count(struct triggers *t, const struct rule *rule, int began, int continuing)
{
	if (t->totals)
		totals_count_incidents(t->totals, rule->name ? rule->name : "", began, continuing);
}

static void report(const struct watch_event *e, void *data)
{
	struct triggers *t = data;
	struct news n = {
		.action = e->action, .number = e->number, .wall = t->tick ? t->tick->wall : clock_wall()};

	begin_or_end_turns(t, e);
	if (e->action == TRIGGER_BEGIN || e->action == TRIGGER_END)
		count(t, e->rule, e->action == TRIGGER_BEGIN, e->action == TRIGGER_BEGIN ? 1 : -1);
	if (e->action == TRIGGER_RISE || e->action == TRIGGER_FALL)
		return; /* nothing to write down yet, or ever */
	n.note = describe(e, n.wall);
	n.notify = e->rule->actions & ACTION_NOTIFY;
	n.actions = e->rule->actions;
	n.rule = strdup(e->rule->name ? e->rule->name : "");
	n.command = e->rule->command ? strdup(e->rule->command) : NULL;
	n.url = e->rule->url ? strdup(e->rule->url) : NULL;
	n.phase = e->phases;
	hand_over(t, &n);
}

void triggers_observe(const struct tick *tick, void *data)
{
	struct triggers *t = data;

	t->tick = tick;
	watch_tick(t->watch, tick, report, t);
	turns_tick(&t->turns, tick, inspect, t);
}

/* --- the thread's side --- */

static const struct incident *find_open(struct triggers *t, uint64_t number)
{
	return VEC_FIND(x, t->open, x->number == number);
}

static void forget(struct triggers *t, uint64_t number)
{
	for (size_t i = 0; i < t->open.n; i++)
		if (t->open.v[i].number == number)
			t->open.v[i] = t->open.v[--t->open.n];
}

static bool has_store(struct triggers *t)
{
	_cleanup_free_ char *error = NULL;

	if (!t->store && store_open_press(t->run_dir, &t->store, &error) < 0)
		log_warning("cannot save an incident: %s", error ? error : "no memory");
	return t->store;
}

static int64_t write_down(struct triggers *t, const struct news *n)
{
	const struct incident *known = find_open(t, n->number);
	int64_t id = 0;
	int r = 0;

	if (!has_store(t))
		return 0;
	if (known) {
		id = known->id;
		r = store_rule_incident_extend(t->store, id, n->wall, n->note, n->action == TRIGGER_END);
	} else if (n->action == TRIGGER_BEGIN) {
		r = store_rule_incident(t->store, n->wall, n->note, &id);
		if (r == 0)
			(void)capture_mark(t->run_dir, id); /* without a flight recorder there are only counters */
		if (r == 0 && t->open.n < OPEN_MAX)
			(void)VEC_PUSH(t->open, (struct incident){n->number, id, n->actions});
	}
	if (r < 0)
		log_warning("cannot save an incident: %s", store_reason(t->store, r));
	if (n->action == TRIGGER_END)
		forget(t, n->number);
	return id;
}

static size_t reap(pid_t *children, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (waitpid(children[i], NULL, WNOHANG) == 0)
			children[kept++] = children[i];
	return kept;
}

static void keep_child(struct triggers *t, int r, pid_t child, const char *what)
{
	if (r < 0 || VEC_PUSH(t->children, child) < 0)
		log_warning("cannot %s, as a rule asks for: %s", what, strerror(r < 0 ? -r : ENOMEM));
}

static void tell(struct triggers *t, const struct news *n, int64_t id)
{
	const struct hook_event event = {
		.rule = n->rule, .note = n->note, .over = n->action == TRIGGER_END, .id = id, .wall = n->wall};
	pid_t child = 0;

	if (n->command && t->children.n < CHILDREN_MAX)
		keep_child(t, hook_run(n->command, &event, &child), child, n->command);
	if (n->url && t->children.n < CHILDREN_MAX)
		keep_child(t, hook_post(n->url, &event, &child), child, "post");
	if (n->notify)
		announce(t->announcer, id, event.over ? "end" : "begin");
}

/* At a higher priority than others: 5 s of who does what. */
static void start_capture(struct triggers *t, const struct news *n, const struct incident *of)
{
	pid_t child;

	if (of && t->captures.n < CAPTURES_AT_A_TIME && n->phase <= PHASES_CAPTURED &&
	    hook_inspect(n->capture, of->id, n->phase, of->actions, t->store_file, t->run_dir, &child) == 0)
		(void)VEC_PUSH(t->captures, child);
}

static void handle(struct triggers *t, const struct news *n)
{
	bool edge = n->action == TRIGGER_BEGIN || n->action == TRIGGER_END;
	const struct incident *known = find_open(t, n->number);
	bool in_journal = false;
	int64_t id;

	if (n->action == TRIGGER_COLLECT) {
		start_capture(t, n, known);
		return;
	}
	id = write_down(t, n);
	if (edge)
		in_journal = announce_in_journal(id, n->rule, n->note, n->action == TRIGGER_END) && getenv("JOURNAL_STREAM");
	if (n->action == TRIGGER_BEGIN && !in_journal) /* the log is the journal, which has it */
		log_info("new incident: %s ('whyslow show %lld' answers why)", n->note, (long long)id);
	if (edge)
		tell(t, n, id);
}

/* While something runs that we started, its end is looked for every few seconds; else nothing wakes us but news. */
static void wait_for_news(struct triggers *t)
{
	struct timespec until;

	t->children.n = reap(t->children.v, t->children.n);
	t->captures.n = reap(t->captures.v, t->captures.n);
	if (!t->children.n && !t->captures.n) {
		pthread_cond_wait(&t->wake, &t->lock);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 3;
	(void)pthread_cond_timedwait(&t->wake, &t->lock, &until);
}

static void *handle_all(void *argument)
{
	struct triggers *t = argument;

	t->announcer = announcer_open();
	pthread_mutex_lock(&t->lock);
	while (!t->stop || t->waiting.n) {
		struct news *list = t->waiting.v;
		size_t n = t->waiting.n;

		if (!n) {
			wait_for_news(t);
			continue;
		}
		t->waiting.v = NULL;
		t->waiting.n = t->waiting.allocated = 0;
		pthread_mutex_unlock(&t->lock);
		for (size_t i = 0; i < n; i++) {
			handle(t, &list[i]);
			news_free(&list[i]);
		}
		free(list);
		pthread_mutex_lock(&t->lock);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* --- rules --- */

static int read_rules(const struct triggers *t, struct rules *ret, char **ret_error)
{
	int r = t->rules_file ? rules_read(t->rules_file, ret, ret_error) : -ENOENT;

	if (r == -EACCES)
		log_warning("this user may not read %s: the built-in rules apply", t->rules_file);
	if (r == -ENOENT || r == -EACCES)
		return rules_parse(default_rules, "built-in rules", ret, ret_error);
	if (r < 0 && !*ret_error && asprintf(ret_error, "%s: %s", t->rules_file, strerror(-r)) < 0)
		*ret_error = NULL;
	return r;
}

/* Where it cannot be done, a question may be caught: no reason to catch nothing. */
static void leave_out_questions(struct watch *watch)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n <= 0)
		return;
	exe[n] = '\0';
	(void)watch_leave_out(watch, exe, (uint32_t)getpid());
}

int triggers_reload(struct triggers *t, char **ret_error)
{
	struct rules fresh;
	struct watch *watch;
	int r = read_rules(t, &fresh, ret_error);

	if (r < 0)
		return r;
	r = watch_new(&fresh, &watch);
	if (r < 0) {
		rules_free(&fresh);
		return r;
	}
	leave_out_questions(watch);
	watch_free(t->watch, report, t);
	rules_free(&t->rules);
	t->watch = watch;
	t->rules = fresh;
	VEC_EACH(rule, t->rules.list)
		count(t, rule, 0, 0); /* who counts later needs to have seen the 0 */
	return 0;
}

size_t triggers_count(const struct triggers *t)
{
	return t->rules.list.n;
}

/* Inspections write into the recording: none continues when its recorder has ended. */
static void end_captures(struct triggers *t)
{
	for (size_t i = 0; i < t->captures.n; i++)
		(void)kill(t->captures.v[i], SIGTERM); /* they keep what they have seen */
	for (int waited = 0; waited < CAPTURES_END_IN && t->captures.n; waited += CAPTURES_LOOK_EVERY) {
		usleep(CAPTURES_LOOK_EVERY * 1000);
		t->captures.n = reap(t->captures.v, t->captures.n);
	}
	for (size_t i = 0; i < t->captures.n; i++) {
		(void)kill(t->captures.v[i], SIGKILL);
		(void)waitpid(t->captures.v[i], NULL, 0);
	}
	t->captures.n = 0;
}

static void triggers_free(struct triggers *t)
{
	end_captures(t);
	watch_free(t->watch, NULL, NULL);
	rules_free(&t->rules);
	store_close(t->store);
	announcer_close(t->announcer);
	VEC_FREE_EACH(t->waiting, news_free(each));
	VEC_FREE(t->open);
	VEC_FREE(t->children);
	VEC_FREE(t->captures);
	FREE_ALL(t->rules_file, t->store_file, t->run_dir, t);
}

int triggers_start(const struct trigger_options *options, struct triggers **ret, char **ret_error)
{
	struct triggers *t = calloc(1, sizeof(*t));
	int r;

	*ret_error = NULL;
	if (!t)
		return -ENOMEM;
	t->rules_file = options->rules_file ? strdup(options->rules_file) : NULL;
	t->store_file = strdup(options->store_file);
	t->run_dir = strdup(options->run_dir);
	t->turns.recorder = (uint32_t)getpid();
	t->totals = options->totals;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->wake, NULL);
	r = t->store_file && t->run_dir ? triggers_reload(t, ret_error) : -ENOMEM;
	if (r == 0)
		r = -pthread_create(&t->thread, NULL, handle_all, t);
	if (r < 0) {
		triggers_free(t);
		return r;
	}
	pthread_setname_np(t->thread, "trigger");
	*ret = t;
	return 0;
}

void triggers_stop(struct triggers *t)
{
	if (!t)
		return;
	watch_free(t->watch, report, t);
	t->watch = NULL;
	pthread_mutex_lock(&t->lock);
	t->stop = true;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	triggers_free(t);
}
