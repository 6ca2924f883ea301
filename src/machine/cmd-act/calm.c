/* whyslow calm: keeps processes held back, until they are given back or end. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "lib/view/json.h"
#include "machine/act/guarded-hold.h"
#include "machine/act/hold-file.h"
#include "machine/cmd-act/confirm.h"
#include "machine/verb/client-rights.h"

#define PROC "/proc"

static bool arg_undo, arg_force;
static const char *arg_short, *arg_way;

static const struct option_row options[] = {
	{OPTION_FLAG, 0, "undo", NULL, &arg_undo, "release it (without a PID: release all)"},
	{OPTION_TEXT, 0, "short", "WHAT", &arg_short, "the resource it makes short: cpu (default), disk or memory"},
	{OPTION_TEXT, 0, "by", "WAY", &arg_way,
	 "how to hold it back: unit, limit, freeze or class (default: the first that is available)"},
	{OPTION_FLAG, 0, "force", NULL, &arg_force, "also a program that is in use"},
	{},
};

static int find_target(const uint32_t *pids, size_t n, struct target *ret)
{
	_cleanup_(processes_free) struct processes heads = {};

	for (size_t i = 0; i < n; i++) {
		struct process p;
		int r = process_read(PROC, pids[i], &p);

		if (r == 0)
			r = VEC_PUSH(heads.list, p);
		if (r < 0)
			return r;
	}
	return target_of(PROC, &heads, false, ret);
}

static json_t *pids_json(const struct processes *heads)
{
	return JSON_EACH(x, heads->list, json_integer(x->pid));
}

static void print_calmed(const struct common *common, const struct target *t, const char *words)
{
	const struct process *head = target_head(t);
	size_t n = t->heads.list.n;
	json_t *root = json_pack("{s:s, s:I, s:o, s:b}", "schema", "whyslow.calm/1", "pid", (json_int_t)head->pid, "pids",
				 pids_json(&t->heads), "held", 1);

	if (common->json) {
		json_dumpf(root, stdout, 0);
		putchar('\n');
	} else if (n > 1) {
		printf("%s and %zu others (pid %u ...) are held back: %s.\nThis lasts until all of them end, or until: whyslow calm --undo %u\n",
		       head->name, n - 1, head->pid, words, head->pid);
	} else {
		printf("%s (pid %u) is held back: %s.\nThis lasts until it ends, or until: whyslow calm --undo %u\n", head->name,
		       head->pid, words, head->pid);
	}
	json_decref(root);
}

static int calm(const struct common *common, const uint32_t *pids, size_t n)
{
	struct hold_request q = {
		.proc_root = PROC,
		.run_dir = common->config.store_run_dir,
		.gentle = true,
		.rights = confirm_rights(common, arg_force),
		.of = arg_short ? (enum hold_short)confirm_find_name(arg_short, hold_short_names, SHORT_COUNT)
				: SHORT_CPU,
		.way = arg_way ? confirm_find_name(arg_way, hold_way_names, WAY_COUNT) : -1};
	_cleanup_(target_free) struct target t = {};
	_cleanup_free_ char *words = NULL;
	struct guarded_hold *c = NULL;
	int r = find_target(pids, n, &t);

	(void)signal(SIGPIPE, SIG_IGN); /* a hold watchdog that is gone is an error like others */
	if (r == 0)
		r = guarded_hold_begin(&q, &t, &c, &words);
	if (r == 0) {
		r = guarded_hold_apply(c);
		if (r < 0)
			(void)guarded_hold_end(c, false);
		else
			r = guarded_hold_end(c, true);
		if (r < 0) {
			free(words); /* it says how it is held back */
			words = NULL;
		}
	}
	if (r < 0) {
		if (r == -ESRCH)
			log_error(n > 1 ? "not all of these processes exist" : "there is no process %u", pids[0]);
		else
			log_error("%s", words ? words : strerror(-r));
		return r == -ESRCH ? EXIT_ABSENT : EXIT_CANNOT;
	}
	print_calmed(common, &t, words);
	return EXIT_ANSWERED;
}

static int undo(const struct common *common, uint32_t pid)
{
	size_t n;
	int r = guarded_hold_release(PROC, common->config.store_run_dir, pid, common->viewer.uid, &n);

	if (r < 0)
		return log_failure(EXIT_CANNOT, "cannot release everything: %s", strerror(-r));
	if (common->json)
		printf("{\"schema\":\"whyslow.calm/1\",\"given_back\":%zu}\n", n);
	else if (n)
		printf(n == 1 ? "released\n" : "%zu released\n", n);
	else
		log_error("none of your processes is held back%s",
			  pid ? " with this pid; 'whyslow calm' lists those that are" : "");
	return n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

static json_t *hold_json(const struct hold *h)
{
	const struct process *head = h->heads.list.v;

	return json_pack("{s:I, s:o, s:s, s:s, s:s, s:s?, s:I, s:s, s:b}", "pid", (json_int_t)head->pid, "pids",
			 pids_json(&h->heads), "name", head->name, "short", hold_short_names[h->of], "way", hold_way_names[h->way], "unit",
			 *h->unit ? h->unit : NULL, "uid", (json_int_t)h->by, "since",
			 CLOCK_RFC3339(h->since), "kept", h->kept);
}

static void print_hold(const struct hold *h)
{
	static const char *const words[WAY_COUNT] = {"its unit is limited", "limited", "stopped altogether",
						     "in the idle classes"};
	const struct process *head = h->heads.list.v;
	char more[48] = "";

	if (h->heads.list.n > 1)
		snprintf(more, sizeof(more), " with %zu others", h->heads.list.n - 1);
	printf("%7u  %-16s  since %s  %s%s%s%s%s\n", head->pid, head->name, CLOCK_LOCAL(h->since),
	       words[h->way], *h->unit ? ": " : "", h->unit, more,
	       h->kept ? "" : "  (temporarily, by 'confirm')");
}

/* Those of the one who asks; others' as `ps` shows them. */
static int list(const struct common *common)
{
	json_t *array = json_array(), *root;
	struct hold *holds = NULL;
	size_t n = 0, shown;

	(void)hold_file_list(common->config.store_run_dir, &holds, &n);
	for (size_t i = 0; i < n; i++) {
		if (visibility(&common->viewer, DATUM_PROCESS, holds[i].by) != SHOWN_NOT) {
			json_array_append_new(array, hold_json(&holds[i]));
			if (!common->json)
				print_hold(&holds[i]);
		}
		hold_free(&holds[i]);
	}
	free(holds);
	shown = json_array_size(array);
	root = json_pack("{s:s, s:o}", "schema", "whyslow.calm/1", "held", array);
	if (common->json) {
		json_dumpf(root, stdout, JSON_INDENT(1));
		putchar('\n');
	} else if (!shown) {
		puts("nothing is held back");
	}
	json_decref(root);
	return shown ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

static int run(struct common *common, int argc, char **argv)
{
	uint32_t pids[PIDS_MAX] = {};
	size_t n = 0;

	int status = argc == 2 ? confirm_parse_pids(common, argv[1], pids, arg_undo ? 1 : PIDS_MAX, &n) : EXIT_ANSWERED;

	if (argc > 2 || status == -EINVAL)
		return verb_usage_error("calm", "expected processes ('whyslow calm 812', '812,813' or 'backup.sh'; with --undo one), or none to list what "
					   "is held back");
	if (status != EXIT_ANSWERED)
		return status;
	if (arg_short && confirm_find_name(arg_short, hold_short_names, SHORT_COUNT) < 0)
		return verb_usage_error("calm", "invalid --short '%s'; expected cpu, disk or memory",
					arg_short);
	if (arg_way && confirm_find_name(arg_way, hold_way_names, WAY_COUNT) < 0)
		return verb_usage_error("calm", "invalid --by '%s'; expected unit, limit, freeze or class", arg_way);
	if (geteuid() != 0)
		return confirm_print_no_rights();
	if (client_keep_holding(common, 0))
		return EXIT_CANNOT;
	(void)hold_sweep(PROC, common->config.store_run_dir);
	if (arg_undo)
		return undo(common, pids[0]);
	return n ? calm(common, pids, n) : list(common);
}

const struct verb verb_calm = {
	.name = "calm",
	.group = "Act",
	.words = "[WHO] ",
	.help = "hold processes back, list those that are held, or release them",
	.about = "Holds processes back until they are released: by their unit's weights, by a limit, by stopping them for moments, or by their "
		 "priority. Without WHO it lists what is held.",
	.examples = (const struct example[]){
		{"whyslow calm backup", "hold it back"},
		{"whyslow calm", "what is held back?"},
		{"whyslow calm --undo", "release all"},
		{}},
	.options = options,
	.remote = true,
	.rights = RIGHTS_GIVEN_UP_BY_VERB,
	.run = run,
};
