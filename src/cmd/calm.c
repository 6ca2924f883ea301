/* whyslow calm: keeps a process held back, until it is given back or ends. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "act/custody.h"
#include "act/hold-file.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/confirm.h"

#define PROC "/proc"

static bool arg_undo, arg_force;
static const char *arg_short, *arg_way;

static const struct option_row options[] = {
	{OPTION_FLAG, 0, "undo", NULL, &arg_undo, "give it back (without a PID: all that are held back)"},
	{OPTION_TEXT, 0, "short", "WHAT", &arg_short, "what it makes short: cpu (default), disk or memory"},
	{OPTION_TEXT, 0, "by", "WAY", &arg_way,
	 "how to hold it back: unit, limit, freeze or class (default: the first that can be had)"},
	{OPTION_FLAG, 0, "force", NULL, &arg_force, "also the program that somebody uses"},
	{},
};

static int calm(const struct common *common, uint32_t pid)
{
	struct hold_request q = {
		.proc_root = PROC,
		.run_dir = common->config.store_run_dir,
		.gentle = true,
		.rights = {common->viewer, arg_force},
		.of = arg_short ? (enum hold_short)find_name(arg_short, hold_short_names, SHORT_COUNT)
				: SHORT_CPU,
		.way = arg_way ? find_name(arg_way, hold_way_names, WAY_COUNT) : -1};
	_cleanup_(target_free) struct target t = {};
	_cleanup_free_ char *words = NULL;
	struct custody *c = NULL;
	int r = target_find(PROC, pid, &t);

	if (r == 0)
		r = custody_begin(&q, &t, &c, &words);
	if (r == 0) {
		r = custody_hold(c);
		if (r < 0)
			(void)custody_end(c, false);
		else
			r = custody_end(c, true);
	}
	if (r < 0) {
		log_error("%s", r == -ESRCH ? "there is no such process" : words ? words : strerror(-r));
		return EXIT_CANNOT;
	}
	if (common->json)
		printf("{\"schema\":\"whyslow.calm/1\",\"pid\":%u,\"held\":true}\n", pid);
	else
		printf("%s (pid %u) is held back: %s.\nIt stays so until it ends, or: whyslow calm --undo "
		       "%u\n",
		       t.head.name, pid, words, pid);
	return EXIT_ANSWERED;
}

static int undo(const struct common *common, uint32_t pid)
{
	size_t n;
	int r = custody_release(PROC, common->config.store_run_dir, pid, common->viewer, &n);

	if (r < 0) {
		log_error("could not give everything back: %s", strerror(-r));
		return EXIT_CANNOT;
	}
	if (common->json)
		printf("{\"schema\":\"whyslow.calm/1\",\"given_back\":%zu}\n", n);
	else if (n)
		printf(n == 1 ? "given back\n" : "%zu processes given back\n", n);
	else
		log_error("nothing of yours is held back%s",
			  pid ? " under this pid; 'whyslow calm' lists what is" : "");
	return n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

static json_t *hold_json(const struct hold *h)
{
	char at[40];

	return json_pack("{s:I, s:s, s:s, s:s, s:s?, s:I, s:s, s:b}", "pid", (json_int_t)h->pid, "name",
			 h->name, "short", hold_short_names[h->of], "way", hold_way_names[h->way], "unit",
			 *h->unit ? h->unit : NULL, "uid", (json_int_t)h->by, "since",
			 format_rfc3339(h->since, at, sizeof(at)), "kept", h->kept);
}

static void print_hold(const struct hold *h)
{
	static const char *const words[WAY_COUNT] = {"its unit is limited", "limited", "stopped altogether",
						     "in the idle classes"};
	char at[40];

	printf("%7u  %-16s  since %s  %s%s%s%s\n", h->pid, h->name, format_local(h->since, at, sizeof(at)),
	       words[h->way], *h->unit ? ": " : "", h->unit,
	       h->kept ? "" : "  (by 'confirm', for the moment)");
}

static int list(const struct common *common)
{
	json_t *array = json_array(), *root;
	struct hold *holds = NULL;
	size_t n = 0;

	(void)hold_file_list(common->config.store_run_dir, &holds, &n);
	for (size_t i = 0; i < n; i++) {
		json_array_append_new(array, hold_json(&holds[i]));
		if (!common->json)
			print_hold(&holds[i]);
		hold_free(&holds[i]);
	}
	free(holds);
	root = json_pack("{s:s, s:o}", "schema", "whyslow.calm/1", "held", array);
	if (common->json) {
		json_dumpf(root, stdout, JSON_INDENT(1));
		putchar('\n');
	} else if (!n) {
		puts("nothing is held back");
	}
	json_decref(root);
	return n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

static int run(struct common *common, int argc, char **argv)
{
	uint64_t pid = 0;

	if (argc > 2 || (argc == 2 && (parse_u64(argv[1], &pid) < 0 || !pid || pid > UINT32_MAX)))
		return usage_error("calm",
				   "takes one PID, or none to list what is held back: 'whyslow calm 812'");
	if (arg_short && find_name(arg_short, hold_short_names, SHORT_COUNT) < 0)
		return usage_error("calm", "--short is cpu, disk or memory, not '%s'", arg_short);
	if (arg_way && find_name(arg_way, hold_way_names, WAY_COUNT) < 0)
		return usage_error("calm", "--by is unit, limit, freeze or class, not '%s'", arg_way);
	if (geteuid() != 0)
		return say_no_rights();
	(void)hold_sweep(PROC, common->config.store_run_dir);
	if (arg_undo)
		return undo(common, (uint32_t)pid);
	return pid ? calm(common, (uint32_t)pid) : list(common);
}

const struct verb verb_calm = {
	.name = "calm",
	.group = "Act",
	.words = "[PID] ",
	.help = "keep a process held back, list those that are, give them back",
	.options = options,
	.remote = true,
	.run = run,
};
