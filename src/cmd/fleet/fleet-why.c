/* whyslow fleet why */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/fleet/fleet-incidents.h"
#include "answer/fleet/fleet-why.h"
#include "base/data/cleanup.h"
#include "base/data/clock.h"
#include "base/data/folder.h"
#include "base/data/log.h"
#include "cmd/fleet/fleet.h"
#include "source/fleet/fleet-calls.h"
#include "view/fleet/fleet-html.h"
#include "view/why/json.h"

#define SIMILAR 0.5

static int read_causes(const struct fleet_args *args, struct causes *ret)
{
	_cleanup_free_ char *error = NULL;
	const char *path = args->causes ? args->causes : SYSTEM_CAUSES;
	int r = args->causes && access(path, R_OK) < 0 ? -errno : causes_load(path, ret, &error);

	if (r < 0)
		log_error("%s%s%s", error ? "" : path, error ? "" : ": ", error ? error : strerror(-r));
	return r;
}

static char *incidents_file(const struct common *common, const struct fleet_args *args)
{
	const char *slash = strrchr(common->config.store_file, '/');
	char *path;

	if (args->incidents)
		return strdup(args->incidents);
	if (asprintf(&path, "%.*sfleet-incidents.jsonl", slash ? (int)(slash + 1 - common->config.store_file) : 0, common->config.store_file) < 0)
		return NULL;
	return path;
}

static void tell_incidents(const struct fleet_incidents *incidents)
{
	char at[32];

	for (size_t i = 0; i < incidents->list.n && i < 3 && incidents->list.v[i].similarity >= SIMILAR; i++)
		printf("%s  %.2f  %s (%s, %s)\n", i ? "" : "\nSimilar incidents:\n", incidents->list.v[i].similarity, incidents->list.v[i].name,
		       incidents->list.v[i].counter, format_rfc3339(incidents->list.v[i].at, at, sizeof(at)));
}

static void tell_next(const struct fleet_answer *a, const struct fleet *f, const char *data)
{
	printf("\nNext:\n");
	if (a->cause)
		printf("  %s\n", a->cause->next);
	printf("  whyslow fleet view %s '%s' --by detail\n", data, f->counters.v[a->counter].name);
	printf("  whyslow fleet correlate %s '%s@%s' --max-lag 10\n", data, f->counters.v[a->counter].name, f->servers.v[a->server].name);
}

static void tell(const struct fleet_answer *a, const struct fleet *f, const struct fleet_args *args, const struct fleet_incidents *incidents,
		 const char *data)
{
	char from[32], to[32];

	printf("%s\n\n", a->summary);
	printf("The window %s: %s to %s (UTC, as all times here)\n", a->found_window ? "(found)" : "asked about",
	       format_rfc3339(a->asked.from, from, sizeof(from)), format_rfc3339(a->asked.to, to, sizeof(to)));
	if (a->window.from < a->asked.from)
		printf("The rows from %s on look like the same incident and count as part of it.\n", format_rfc3339(a->window.from, from, sizeof(from)));
	if (a->found_symptom)
		printf("No symptom was given; whyslow uses the most unusual counter of the most unusual server.\n");
	printf("\nMost unusual servers (p: share of baseline windows that are as unusual; q: corrected for the number of servers):\n");
	fleet_findings_text(f, &a->alarms, args->top, stdout);
	printf("\nWhat moved with the symptom, of what is unusual (score: share explained):\n");
	fleet_findings_text(f, &a->explain, args->top, stdout);
	printf("\nMost unusual counters:\n");
	fleet_findings_text(f, &a->unusual, args->top, stdout);
	tell_incidents(incidents);
	tell_next(a, f, data);
}

static json_t *incidents_json(const struct fleet_incidents *incidents)
{
	json_t *list = json_array();
	char at[32];

	for (size_t i = 0; i < incidents->list.n && i < 10; i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:f}", "name", incidents->list.v[i].name, "symptom", incidents->list.v[i].counter,
						      "at", format_rfc3339(incidents->list.v[i].at, at, sizeof(at)), "similarity",
						      incidents->list.v[i].similarity));
	return list;
}

static json_t *chain_json(const struct fleet_answer *a, const struct fleet *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < a->n_chain; i++)
		json_array_append_new(list, fleet_finding_json(f, &a->chain[i]));
	return list;
}

static void tell_json(const struct fleet_answer *a, const struct fleet *f, const struct fleet_args *args, const struct fleet_incidents *incidents)
{
	char from[32], to[32], begin[32];

	fleet_json_out(json_pack("{s:s, s:s, s:{s:s, s:s}, s:s, s:o, s:o, s:o, s:o, s:s, s:s, s:s?, s:s?, s:o, s:o, s:o, s:o}", "schema", "whyslow.fleet.why/1", "summary",
				 a->summary, "window", "start", format_rfc3339(a->asked.from, from, sizeof(from)), "end",
				 format_rfc3339(a->asked.to, to, sizeof(to)), "judged_from", format_rfc3339(a->window.from, begin, sizeof(begin)),
				 "now", number_json(a->now), "normal_p95", number_json(a->normal_p95), "culprit",
				 a->led ? fleet_finding_json(f, a->explain.list.v) : json_null(), "chain", chain_json(a, f), "symptom", f->counters.v[a->counter].name, "server",
				 f->servers.v[a->server].name, "cause", a->cause ? a->cause->id : NULL, "next", a->cause ? a->cause->next : NULL,
				 "servers", fleet_findings_json(f, &a->alarms, args->top), "explained_by", fleet_findings_json(f, &a->explain, args->top),
				 "unusual", fleet_findings_json(f, &a->unusual, args->top), "similar", incidents_json(incidents)));
}

static void tell_nothing(bool json, const struct fleet_args *args)
{
	const char *words = args->from || args->to ? "Nothing unusual is found in this window." :
						     "Nothing unusual is found. If you know when it was slow, say so with --from and --to.";

	if (json)
		fleet_json_out(json_pack("{s:s, s:s}", "schema", "whyslow.fleet.why/1", "summary", words));
	else
		puts(words);
}

static int read_calls(const struct fleet_args *args, const struct fleet *f, struct fleet_calls *ret)
{
	_cleanup_free_ char *error = NULL;
	int r = args->calls ? fleet_calls_read(args->calls, f, ret, &error) : 0;

	if (r < 0)
		log_error("%s", error ? error : strerror(-r));
	return r;
}

/* False with errno. */
static bool write_html(const char *path, const struct fleet *f, const struct fleet_answer *a, size_t top)
{
	const struct fleet_page page = {.summary = a->summary, .next = a->cause ? a->cause->next : NULL, .window = a->window, .symptom = &a->symptom,
					.chain = a->chain, .n_chain = a->n_chain, .servers = &a->alarms, .explained_by = &a->explain,
					.unusual = &a->unusual};
	FILE *out = fopen(path, "we");

	if (!out)
		return false;
	fleet_page_html(f, &page, top, out);
	return fclose(out) == 0;
}

static int answer(struct common *common, struct fleet_args *args, const struct fleet_question *q, const char *data)
{
	_cleanup_free_ char *path = incidents_file(common, args);
	struct fleet_incidents incidents = {};
	struct causes causes = {};
	struct fleet_calls calls = {};
	struct fleet_answer a;
	int r;

	if (read_calls(args, q->fleet, &calls) < 0)
		return EXIT_CANNOT;
	r = read_causes(args, &causes);
	if (r == 0)
		r = fleet_why_answer(q, &causes, &calls, &a);
	VEC_FREE(calls.list);
	if (r < 0) {
		causes_free(&causes);
		if (r != -ENODATA)
			return fleet_analysis_failed("why", r);
		tell_nothing(common->json, args);
		return EXIT_NOTHING_FOUND;
	}
	if (path)
		(void)fleet_incidents_like(path, q->fleet, &a, &incidents);
	if (args->html && !write_html(args->html, q->fleet, &a, args->top))
		log_warning("cannot write %s: %s", args->html, strerror(errno));
	if (common->json)
		tell_json(&a, q->fleet, args, &incidents);
	else
		tell(&a, q->fleet, args, &incidents, data);
	if (args->remember && path && (make_folder_of(path, 0755) < 0 || fleet_incident_remember(path, args->remember, q->fleet, &a) < 0))
		log_warning("cannot save the incident in %s", path);
	fleet_answer_free(&a);
	fleet_incidents_free(&incidents);
	causes_free(&causes);
	return EXIT_ANSWERED;
}

static int run(struct common *common, int argc, char **argv)
{
	struct fleet_args *args = &fleet_args;
	_cleanup_free_ char *symptom = args->symptom ? strdup(args->symptom) : NULL;
	char *at = symptom ? strrchr(symptom, '@') : NULL;
	struct fleet_question q;
	struct fleet *f;
	int status = EXIT_CANNOT;

	if (argc != 2)
		return usage_error("fleet", "why expects DATA, and --symptom COUNTER[@SERVER] if you know one");
	if (at && at[1]) {
		*at = 0;
		args->server = at + 1;
	}
	args->counter = symptom;
	f = fleet_open(args, argv[1], NULL);
	if (!f)
		return EXIT_CANNOT;
	if (fleet_ask(args, f, &q)) {
		q.max_lag = args->max_lag == LAG_NOT_GIVEN ? FLEET_LAG_BY_ROWS : q.max_lag;
		status = answer(common, args, &q, argv[1]);
	}
	fleet_close(f);
	return status;
}

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "symptom", "COUNTER[@SERVER]", &fleet_args.symptom, "the symptom (default: detected)"},
	FLEET_WINDOW_OPTIONS,
	FLEET_USUAL_OPTIONS,
	{OPTION_COUNT, 0, "max-lag", "ROWS", &fleet_args.max_lag, "by how much a counter may lead or follow (default: a row for every 20 that are compared, at most 5)"},
	{OPTION_TEXT, 0, "html", "FILE", &fleet_args.html, "also write the answer as one HTML page: curves, chain and lists"},
	{OPTION_TEXT, 0, "calls", "FILE", &fleet_args.calls, "calls between servers: lines CALLER,CALLEE or a matrix; a caller is not the cause of what it calls"},
	{OPTION_TEXT, 0, "causes", "PATH", &fleet_args.causes, "your own causes: a file or a folder of them (default: " SYSTEM_CAUSES ")"},
	{OPTION_TEXT, 0, "incidents", "FILE", &fleet_args.incidents, "where incidents are stored (default: next to the recording)"},
	{OPTION_TEXT, 0, "remember", "NAME", &fleet_args.remember, "save this incident's fingerprint under a name"},
	{OPTION_COUNT, 'n', "top", "N", &fleet_args.top, "how many to list of each (default 10, 0 = all)"},
	FLEET_INPUT_OPTIONS,
	{},
};

const struct subverb fleet_why = {"why", "DATA ", "all steps in one: which servers and counters, since when, what moved with the symptom, what led", options, run, NULL};
