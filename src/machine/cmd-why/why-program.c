#include "machine/cmd-why/why-program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/file.h"
#include "lib/data/folder.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "lib/rights/outside.h"
#include "machine/answer-waits/program-waits.h"
#include "machine/answer-waits/wait-chain.h"
#include "machine/blame/blame.h"
#include "machine/blame/wait-report.h"
#include "machine/cmd-why/call-threads.h"
#include "machine/symbol/name-stacks.h"
#include "machine/threads/state.h"
#include "machine/verb/client-rights.h"
#include "machine/view-waits/waits.h"
#include "machine/view-waits/why-program.h"

#define EVENTS_SPAN (20 * NS_PER_SEC) /* of a longer trace the last */
#define GOES_ON	    (500 * NS_PER_MS) /* a wait that lasts as long is looked at as a hang */
#define LOOKS_MORE  5
#define LOOKS_EVERY 25000 /* us: a pause between requests is short compared with those that are slow */
#define SENT_AGAIN_LEAST 2 /* segments: one may be late, not lost */
#define CALL_LONGEST (30 * NS_PER_SEC)
#define CHAINS_MAX  16 /* processes of a program that are looked at */
#define CULPRITS_NAMED 2 /* of the longest waits: for so many the answer names the function in which the culprit was */

/* The question, and the data that the answer points into. */
struct program_question {
	const char *who;
	bool now;
	const struct trace *trace; /* NULL = there are no events */
	struct database_clients databases;
	struct peer_requests requests;
	struct timeline timeline;
	struct program_waits found;
};

/* --- without a recording: who is there --- */

static bool is_unit(const char *unit, const char *who)
{
	const char *slash = strrchr(unit, '/');

	return strcmp(unit, who) == 0 || (slash && strcmp(slash + 1, who) == 0);
}

/* "0::/system.slice/mysql.service" */
static bool is_of_unit(unsigned pid, const char *who)
{
	LINES_EACH(line, fopen(STR_TEXT(64, "/proc/%u/cgroup", pid), "re"))
		if (is_unit(line.text, who))
			return true;
	return false;
}

static bool is_called(unsigned pid, const char *who)
{
	char comm[32];
	uint64_t number;

	if (str_parse_u64(who, &number) == 0)
		return number == pid;
	(void)file_first_line(STR_TEXT(64, "/proc/%u/comm", pid), comm, sizeof(comm));
	return strcmp(comm, who) == 0 || is_of_unit(pid, who);
}

static bool is_visible(unsigned pid, const struct viewer *viewer)
{
	uint32_t owner;

	return outside_owner("/proc", pid, &owner) == 0 && visibility(viewer, DATUM_PROCESS, owner) == SHOWN_WHOLE;
}

static int find_living(struct program_question *q, const struct viewer *viewer)
{
	int r = 0;

	FOLDER_EACH(e, q->now ? opendir("/proc") : NULL) {
		unsigned pid = (unsigned)strtoul(e.name, NULL, 10);

		if (r == 0 && pid && is_visible(pid, viewer) && is_called(pid, q->who))
			r = VEC_PUSH(q->found.pids, pid);
	}
	if (r == 0 && !q->found.name)
		q->found.name = strdup(q->who);
	return q->found.name ? r : -ENOMEM;
}

/* --- now: the longest chain of its processes --- */

static size_t worth(const struct wait_chain *c)
{
	size_t n = c->links.n;

	return n > 1 ? n + 1 : n && c->links.v[0].kind != CHAIN_EVENTS && c->links.v[0].kind != CHAIN_SLEEPS ? 2 : n;
}

static int find_again(struct program_question *q, const struct viewer *viewer)
{
	struct chain_question again = {.proc_root = "/proc", .viewer = viewer, .rest_ns = GOES_ON, .requests = &q->requests, .trace = q->trace, .databases = &q->databases};
	unsigned pid = q->found.chain.links.v[0].pid;

	wait_chain_free(&q->found.chain);
	q->found.chain = (struct wait_chain){};
	return wait_chain_find(&again, pid, &q->found.chain);
}

static int look_at_all(struct program_question *q, const struct viewer *viewer)
{
	_cleanup_(open_files_free) struct open_files files = {.proc_root = "/proc"};
	_cleanup_(process_memory_free) struct process_memory memory = {};
	struct chain_question live = {.proc_root = "/proc", .viewer = viewer, .requests = &q->requests, .files = &files, .memory = &memory, .trace = q->trace, .databases = &q->databases};
	int r = 0;

	for (size_t i = 0; r == 0 && i < q->found.pids.n && i < CHAINS_MAX; i++) {
		struct wait_chain chain = {};

		r = wait_chain_find(&live, q->found.pids.v[i], &chain);
		if (r == 0 && worth(&chain) > worth(&q->found.chain)) {
			wait_chain_free(&q->found.chain);
			q->found.chain = chain;
		} else {
			wait_chain_free(&chain);
		}
	}
	return r;
}

/* It waits more than normally, and at this moment for nothing: it has just been answered, or has not asked again. */
static bool is_between_requests(const struct program_question *q)
{
	const struct wait_chain *c = &q->found.chain;
	bool waits = c->links.n == 1 && c->links.v[0].kind != CHAIN_RUNS && c->links.v[0].kind != CHAIN_SLEEPS && c->links.v[0].kind != CHAIN_EVENTS;

	for (size_t i = 0; !waits && c->links.n == 1 && i < q->found.waits.n; i++)
		if (q->found.waits.v[i].unusual)
			return true;
	return false;
}

static int find_chain(struct program_question *q, const struct viewer *viewer)
{
	int r = q->now ? look_at_all(q, viewer) : 0;

	for (int i = 0; r == 0 && is_between_requests(q) && i < LOOKS_MORE; i++) {
		usleep(LOOKS_EVERY);
		wait_chain_free(&q->found.chain);
		r = look_at_all(q, viewer);
	}
	if (r == 0 && q->found.chain.links.n) /* of the one that is reported */
		r = find_again(q, viewer);
	return r;
}

/* The kernel's sums know how long a thread waited in the minutes before, of which there may be no events. */
static void compare_with_before(struct program_question *q)
{
	const struct wait_chain *c = &q->found.chain;
	const struct trace_thread *th = q->trace && c->links.n ? trace_thread(q->trace, c->links.v[0].tid, q->trace->frozen) : NULL;

	if (!th || !th->longest_before || !peer_request_is_late((int64_t)th->longest_lately, (int64_t)th->longest_before))
		return;
	q->found.waited = (int64_t)th->longest_lately;
	q->found.normally = (int64_t)th->longest_before;
}

/* A client that polls waits in no call that says so: its requests do. */
static int find_late_answer(struct program_question *q)
{
	VEC_EACH(r, q->requests.late) {
		const struct trace_thread *server = trace_thread(q->trace, r->server, q->trace->frozen);

		for (size_t k = 0; k < q->found.pids.n && server; k++) {
			if (q->found.pids.v[k] != r->process)
				continue;
			q->found.server = strdup(server->comm);
			q->found.server_pid = r->server;
			q->found.answer_took = r->took;
			q->found.answer_normally = r->normally;
			return q->found.server ? 0 : -ENOMEM;
		}
	}
	return 0;
}

/* --- by events --- */

static bool is_meant(const struct program_question *q, const struct thread_line *line)
{
	const struct timeline *t = &q->timeline;
	uint64_t number;

	if (str_parse_u64(q->who, &number) == 0)
		return line->tgid == number;
	for (size_t i = 0; i < q->found.pids.n; i++)
		if (q->found.pids.v[i] == line->tgid)
			return true;
	return strcmp(t->names.v[line->program], q->who) == 0 || (line->unit != NOBODY && is_unit(t->names.v[line->unit], q->who));
}

static int find_threads(const struct program_question *q, uint32_t **ret, size_t *ret_n)
{
	uint32_t *threads = calloc(q->timeline.threads.n + 1, sizeof(*threads));
	size_t n = 0;

	for (uint32_t i = 0; threads && i < q->timeline.threads.n; i++)
		if (is_meant(q, &q->timeline.threads.v[i]))
			threads[n++] = i;
	*ret = threads;
	*ret_n = n;
	return threads ? 0 : -ENOMEM;
}

/* The window that was asked for, as far as the events reach; by default the last of them. */
static void choose_window(const struct program_question *q, const struct why_query *asked, int64_t *ret_from, int64_t *ret_to)
{
	const struct timeline *t = &q->timeline;
	int64_t to = q->found.past ? asked->request.at - t->trace->wall_offset : t->end;
	int64_t from = asked->request.since ? asked->request.since - t->trace->wall_offset : to - EVENTS_SPAN;

	*ret_to = to < t->end ? to : t->end;
	*ret_from = from > t->start ? from : t->start;
}

static int threads_of(const struct timeline *t, uint32_t pid, uint32_t **ret, size_t *ret_n)
{
	int n = timeline_find(t, pid, ret);

	*ret_n = n > 0 ? (size_t)n : 0;
	return n < 0 ? n : 0;
}

/* Frames of the program itself: neither the kernel's, nor a state, nor what has no name. */
static bool is_function(const char *name)
{
	size_t n = strlen(name);

	return *name != '[' && !str_starts(name, "0x") && !strstr(name, "+0x") && (n < 4 || strcmp(name + n - 4, "_[k]") != 0);
}

static int keep_functions(const struct path_tree *tree, struct held_in *held)
{
	const char *names[TREE_DEPTH_MAX], *own[TREE_DEPTH_MAX];
	size_t n = path_tree_heaviest(tree, names, ARRAY_SIZE(names)), n_own = 0;

	for (size_t i = 1; i < n; i++) /* the first is the program */
		if (is_function(names[i]))
			own[n_own++] = names[i];
	for (size_t i = n_own > HELD_IN_MAX ? n_own - HELD_IN_MAX : 0; i < n_own; i++) {
		held->functions[held->n] = strdup(own[i]);
		if (!held->functions[held->n++])
			return -ENOMEM;
	}
	return 0;
}

static int find_functions(const struct timeline *t, const struct fold_options *window, struct held_in *held)
{
	struct path_tree tree = {};
	int r = waits_fold_stacks(t, window, &tree);

	r = r ?: keep_functions(&tree, held);
	path_tree_free(&tree);
	return r;
}

static int keep_held_in(struct program_question *q, struct held_in *held, int r)
{
	if (held->n && VEC_PUSH(q->found.held_in, *held) == 0)
		return r;
	for (size_t i = 0; i < held->n; i++)
		free(held->functions[i]);
	return held->n ? -ENOMEM : r;
}

static int find_held_in(struct program_question *q, struct trace *trace, size_t cell)
{
	const struct blame_matrix *m = &q->found.by_process;
	const uint32_t pid = m->members.v[m->cells.v[cell].id].pid;
	_cleanup_free_ uint32_t *threads = NULL;
	struct fold_options window = {.from = m->from, .to = m->to};
	struct held_in held = {.cell = cell};
	int r = name_stacks_of(trace, pid);

	r = r ?: threads_of(&q->timeline, pid, &threads, &window.n);
	window.threads = threads;
	if (r == 0 && window.n)
		r = find_functions(&q->timeline, &window, &held);
	window.waits = true; /* where it did not run it waited */
	if (r == 0 && window.n && !held.n)
		r = find_functions(&q->timeline, &window, &held);
	return keep_held_in(q, &held, r);
}

/* Threads of its own that slept at that time were in no function that matters. */
static bool has_functions(const struct program_question *q, const struct blame_cell *c)
{
	const bool own = q->found.call && c->culprit == BY_SELF && !(c->flags & BLAME_RESTED);

	return (c->culprit == BY_TASK || own) && q->found.by_process.members.v[c->id].pid;
}

/* Looks at the culprits that the answer names first. */
static int find_where_held(struct program_question *q, struct trace *trace)
{
	const struct blame_matrix *m = &q->found.by_process;
	size_t found = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < m->cells.n && found < CULPRITS_NAMED; i++) {
		if (!has_functions(q, &m->cells.v[i]))
			continue;
		r = find_held_in(q, trace, i);
		found++;
	}
	return r;
}

/* Adds the waits of its threads in the last seconds before `to`, boot ns. */
static int find_waits(struct program_question *q, const uint32_t *threads, size_t n, int64_t to)
{
	int64_t from = to - PROGRAM_NOW > q->timeline.start ? to - PROGRAM_NOW : q->timeline.start;
	struct wait_report report;

	wait_report_init(&report, from, to);
	for (size_t i = 0; i < n; i++)
		wait_report_add(&report, &q->timeline.threads.v[threads[i]]);
	return program_waits_add_events(&q->found, &report);
}

/* --- one call: a window that was given to the nanosecond, as spans have it --- */

static size_t keep_threads_of_call(const struct program_question *q, const struct why_query *asked, int64_t from, int64_t to, uint32_t *threads, size_t n)
{
	const int64_t begin = asked->request.since - q->timeline.trace->wall_offset;

	if (!asked->request.since || q->now || asked->mark || to - begin > CALL_LONGEST)
		return 0;
	return call_threads(&q->timeline, from > begin ? CALL_BEGAN_BEFORE : begin, to, threads, n);
}

/* Where the call spent its time: computing, or in the calls of functions that waited. */
static int find_functions_of_call(struct program_question *q, struct trace *trace, const uint32_t *threads, size_t n)
{
	const struct blame_matrix *m = &q->found.by_process;
	const struct fold_options window = {.from = m->from, .to = m->to, .threads = threads, .n = n, .waits = m->cells.n && m->cells.v[0].ns > q->found.ran};
	struct held_in held = {.cell = HELD_IN_CALL};
	int r = name_stacks_of(trace, q->timeline.threads.v[threads[0]].tgid);

	return keep_held_in(q, &held, r ?: find_functions(&q->timeline, &window, &held));
}

static int find_blame(struct program_question *q, struct why_query *asked)
{
	_cleanup_free_ uint32_t *threads = NULL;
	struct wait_report of_call;
	size_t n = 0, handled;
	int64_t from, to;
	int r = timeline_build(&asked->trace, &q->timeline);

	if (r == -ENODATA)
		return 0;
	r = r ?: find_threads(q, &threads, &n);
	if (r < 0 || !n)
		return r;
	q->found.past = asked->request.since || (!q->now && !asked->mark);
	choose_window(q, asked, &from, &to);
	if (from >= to)
		return 0;
	r = find_waits(q, threads, n, to);
	handled = keep_threads_of_call(q, asked, from, to, threads, n);
	q->found.call = handled > 0;
	n = handled ?: n;
	wait_report_init(&of_call, from, to);
	for (size_t i = 0; i < handled; i++)
		wait_report_add(&of_call, &q->timeline.threads.v[threads[i]]);
	q->found.ran = wait_report_running(&of_call);
	r = r ?: blame_build(&q->timeline, from, to, threads, n, LEVEL_PROCESS, &q->found.by_process);
	r = r ?: blame_sort_by_holder(&q->found.by_process);
	if (r == 0)
		q->found.timeline = &q->timeline;
	r = r ?: find_where_held(q, &asked->trace);
	return r == 0 && handled ? find_functions_of_call(q, &asked->trace, threads, handled) : r;
}

/* --- lost packets --- */

static feature_set tcp_features(const struct entity_info *info, void *data)
{
	(void)data;
	return info->kind == ENTITY_SYSTEM ? FEATURE_BIT(FEATURE_SYS_TCP_RETRANS) | FEATURE_BIT(FEATURE_SYS_TCP_OUT) : 0;
}

/* Within the window, and until the counters are read next. */
static int find_sent_again(struct program_question *q, struct store *store, const struct why_request *of)
{
	const struct load_filter filter = {.features = tcp_features};
	struct dataset d = {};
	double again = 0, sent = 0;
	unsigned damaged;
	int r = store_load_filtered(store, of->since, of->at + NS_PER_SEC, &filter, &d, &damaged);

	for (size_t i = 0; r == 0 && d.ticks.n && i < d.subjects.n; i++) {
		again += subject_growth(&d, d.subjects.v[i], FEATURE_SYS_TCP_RETRANS, 0, (uint32_t)d.ticks.n - 1);
		sent += subject_growth(&d, d.subjects.v[i], FEATURE_SYS_TCP_OUT, 0, (uint32_t)d.ticks.n - 1);
	}
	if (again >= SENT_AGAIN_LEAST && sent > 0)
		q->found.sent_again = again / sent;
	dataset_free(&d);
	return r == -ENODATA ? 0 : r;
}

/* --- names: what the recording calls those that were found in /proc and in events --- */

static int name_members(struct program_question *q, const struct dataset *d)
{
	VEC_EACH(m, q->found.by_process.members) {
		const struct subject *s = dataset_process(d, m->pid);
		char *label = s ? entity_label(&s->info) : NULL;

		if (s && VEC_PUSH_OWNER(q->timeline.names, label, label) < 0)
			return -ENOMEM;
		m->name = s ? (uint32_t)q->timeline.names.n - 1 : m->name;
	}
	return 0;
}

static int name_programs(struct program_question *q, struct store *store, const struct viewer *viewer, int64_t at)
{
	_cleanup_(dataset_free) struct dataset d = {};
	const struct subject *server;
	unsigned damaged;
	int r = store_load_entities(store, at - PROGRAM_NOW, at, store_wants_processes, NULL, &d, &damaged);

	r = r ?: dataset_hide(&d, viewer);
	r = r ?: wait_chain_name(&d, &q->found.chain) ?: name_members(q, &d);
	server = r == 0 && q->found.server ? dataset_process(&d, q->found.server_pid) : NULL;
	if (server) {
		free(q->found.server);
		q->found.server = entity_label(&server->info);
		r = q->found.server ? 0 : -ENOMEM;
	}
	return r == -ENODATA ? 0 : r;
}

/* --- all of it --- */

/* The chain is looked for with root's rights, which know who is at the other end, and before anything recorded is read. */
static int find_chain_and_give_up_rights(struct common *common, struct program_question *q)
{
	int r = find_living(q, &common->viewer);

	r = r ?: find_chain(q, &common->viewer);
	free(q->found.name);
	q->found.name = NULL;
	q->found.pids.n = 0;
	return r ?: client_give_up_rights(common, 0) ? -EPERM : 0;
}

static int find_all(struct common *common, struct program_question *q, struct store *store, struct why_query *asked)
{
	_cleanup_(why_data_free) struct why_data data = {};
	struct why_request settled = asked->request;
	bool early = client_has_rights_left(common);
	int r = asked->request.trace ? peer_requests_find(asked->request.trace, &q->requests) : 0;

	if (r == 0 && early)
		r = find_chain_and_give_up_rights(common, q);
	r = r ?: store ? why_settle(store, &settled, &data) : -ENODATA;
	r = r ?: program_waits_read(store, q->who, settled.at - settled.window, settled.at, settled.baseline == BASELINE_SAME_HOUR, &common->viewer, &q->found);
	if (r == -ESRCH || r == -ENODATA)
		r = find_living(q, &common->viewer);
	if (r == 0 && !early)
		r = find_chain(q, &common->viewer);
	if (r == 0)
		compare_with_before(q);
	r = r ?: find_late_answer(q);
	if (r == 0 && asked->request.trace)
		r = find_blame(q, asked);
	if (r == 0 && store)
		r = name_programs(q, store, &common->viewer, settled.at);
	return r == 0 && store && asked->request.since && !q->now ? find_sent_again(q, store, &asked->request) : r;
}

static int print(const struct common *common, const struct program_question *q)
{
	struct str summary = {};
	bool slow = why_program_summary(&q->found, &summary);

	str_free(&summary);
	if (!q->found.pids.n && !q->found.waits.n && !q->found.timeline)
		return log_failure(EXIT_ABSENT, "no program '%s' existed; WHO is a number, or a word of its name, script, path, unit or container ('whyslow show' lists them)", q->who);
	if (common->json)
		return why_program_json(&q->found, stdout) < 0 ? EXIT_CANNOT : slow ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
	why_program_text(&q->found, common->colour, stdout);
	return slow ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

static const char *if_set(const char *setting)
{
	return strcmp(setting, "none") != 0 ? setting : NULL;
}

int why_program(struct common *common, const char *who, struct store *store, struct why_query *asked)
{
	struct program_question q = {.who = who, .now = asked->request.proc_root != NULL, .trace = asked->request.trace, .found.at = asked->request.at};
	int r, status = EXIT_CANNOT;

	/* with the rights of the user who asks whyslow, never with root's for another user */
	if (!client_has_rights_left(common)) {
		q.databases.by[DATABASE_POSTGRES] = if_set(common->config.answer_postgres);
		q.databases.by[DATABASE_MARIADB] = if_set(common->config.answer_mariadb);
	}
	r = find_all(common, &q, store, asked);
	if (r < 0)
		log_error("cannot answer: %s", why_reason(store, r));
	else
		status = print(common, &q);
	program_waits_free(&q.found);
	timeline_free(&q.timeline);
	peer_requests_free(&q.requests);
	return status;
}
