/* whyslow fleet why */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fleet/ask/fleet-deployed.h"
#include "fleet/ask/fleet-incidents.h"
#include "fleet/ask/fleet-why.h"
#include "fleet/formats/fleet-calls.h"
#include "fleet/verb/fleet-html.h"
#include "fleet/verb/fleet-verb.h"
#include "lib/data/cleanup.h"
#include "lib/data/folder.h"
#include "lib/data/log.h"
#include "lib/rights/write-path.h"

static int read_causes(const struct fleet_query *args, struct causes *ret)
{
	_cleanup_free_ char *error = NULL;
	const char *path = args->causes ? args->causes : SYSTEM_CAUSES;
	int r = args->causes && access(path, R_OK) < 0 ? -errno : causes_load(path, ret, &error);

	if (r < 0)
		log_error("%s%s%s", error ? "" : path, error ? "" : ": ", error ? error : strerror(-r));
	return r;
}

static char *incidents_file(const struct common *common, const struct fleet_query *args)
{
	const char *slash = strrchr(common->config.store_file, '/');
	char *path;

	if (args->incidents)
		return strdup(args->incidents);
	if (asprintf(&path, "%.*sfleet-incidents.jsonl", slash ? (int)(slash + 1 - common->config.store_file) : 0, common->config.store_file) < 0)
		return NULL;
	return path;
}

static void tell_nothing(bool json, const struct fleet_query *args)
{
	const char *words = args->from || args->to ? "Nothing unusual is found in this window." :
						     "Nothing unusual is found. If you know when it was slow, say so with --from and --to.";

	if (json)
		fleet_json_out(fleet_why_nothing_json(words));
	else
		puts(words);
}

static int read_calls(const struct fleet_query *args, const struct fleet *f, struct fleet_calls *ret)
{
	_cleanup_free_ char *error = NULL;
	int r = args->calls ? fleet_calls_read(args->calls, f, ret, &error) : 0;

	if (r < 0)
		log_error("%s", error ? error : strerror(-r));
	return r;
}

static int read_deployments(const struct fleet_query *args, struct deployments *ret)
{
	_cleanup_free_ char *error = NULL;
	int r = args->deployments ? deployments_read(args->deployments, DEPLOYMENT_NEEDS_TIME, ret, &error) : 0;

	if (r == 0 && args->deployments && !ret->list.n)
		r = str_fail(&error, -EINVAL, "%s names no deployments", args->deployments);
	if (r < 0)
		log_error("%s", error ? error : strerror(-r));
	return r;
}

/* --html: 1 = it is written to standard output, where nothing else is; 0, or -errno (said). */
static int write_html(const char *path, const struct fleet *f, const struct fleet_answer *a, size_t top)
{
	const struct fleet_page page = {.summary = a->summary, .next = a->next, .window = a->window, .symptom = &a->symptom,
					.chain = a->chain, .n_chain = a->n_chain, .servers = &a->alarms, .explained_by = &a->explain,
					.unusual = &a->unusual};
	_cleanup_free_ char *error = NULL;
	FILE *out;
	int r;

	if (!path)
		return 0;
	out = strcmp(path, "-") ? write_path_stream(path, 'w', &error) : stdout;
	if (!out)
		return log_failure(-EIO, "%s", error ? error : strerror(errno));
	fleet_page_html(f, &page, top, out);
	r = ferror(out) ? -EIO : 0;
	if (out != stdout && fclose(out) != 0)
		r = -errno;
	if (r < 0)
		log_error("cannot write %s: %s", path, strerror(-r));
	return r < 0 ? r : out == stdout;
}

static int answer(struct common *common, struct fleet_query *args, const struct fleet_question *q, const char *data)
{
	_cleanup_free_ char *path = incidents_file(common, args), *error = NULL;
	struct fleet_incidents incidents = {};
	struct causes causes = {};
	_cleanup_(deployments_free) struct deployments deployments = {};
	_cleanup_free_ struct fleet_deployed *deployed = NULL;
	struct fleet_calls calls = {};
	struct fleet_answer a;
	int r, html;

	if (read_deployments(args, &deployments) < 0 || read_calls(args, q->fleet, &calls) < 0)
		return EXIT_CANNOT;
	r = read_causes(args, &causes);
	r = r ?: fleet_why_answer(q, &causes, &calls, &a);
	if (r == 0 && (r = fleet_deployed_rank(q->fleet, &calls, &a, &deployments, &deployed)) < 0)
		fleet_answer_free(&a);
	if (r < 0) {
		VEC_FREE(calls.list);
		causes_free(&causes);
		if (r != -ENODATA)
			return fleet_analysis_failed("why", r);
		tell_nothing(common->json, args);
		return EXIT_NOTHING_FOUND;
	}
	if (path)
		(void)fleet_incidents_like(path, q->fleet, &a, &incidents);
	html = write_html(args->html, q->fleet, &a, args->top);
	if (common->json && html <= 0)
		fleet_json_out(fleet_why_json(&a, q->fleet, &incidents, &calls, deployed, deployments.list.n, args->top));
	else if (html <= 0)
		fleet_why_text(&a, q->fleet, &incidents, deployed, deployments.list.n, data, args->top, stdout);
	if (args->remember && path && (write_path_prepare(path, 0755, &error) < 0 || fleet_incident_remember(path, args->remember, q->fleet, &a, &error) < 0))
		log_warning("the incident is not saved: %s", error ? error : path);
	r = html < 0 ? EXIT_CANNOT : a.calm ? EXIT_NOTHING_FOUND : EXIT_ANSWERED;
	VEC_FREE(calls.list);
	fleet_answer_free(&a);
	fleet_incidents_free(&incidents);
	causes_free(&causes);
	return r;
}

static int run(struct common *common, int argc, char **argv)
{
	struct fleet_query query = fleet_parsed, *args = &query;
	_cleanup_free_ char *symptom = args->symptom ? strdup(args->symptom) : NULL;
	char *at = symptom ? strrchr(symptom, '@') : NULL;
	struct fleet_question q;
	struct fleet *f;
	int status = EXIT_CANNOT;

	if (argc != 2)
		return verb_usage_error("fleet", "why expects DATA, and --symptom COUNTER[@SERVER] if you know one");
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
	{OPTION_TEXT, 0, "symptom", "COUNTER[@SERVER]", &fleet_parsed.symptom, "the symptom (default: detected)"},
	FLEET_WINDOW_OPTIONS,
	FLEET_USUAL_OPTIONS,
	{OPTION_COUNT, 0, "max-lag", "ROWS", &fleet_parsed.max_lag, "by how much a counter may lead or follow (default: a row for every 20 that are compared, at most 5)"},
	{OPTION_TEXT, 0, "html", "FILE", &fleet_parsed.html, "also write the answer as one HTML page: curves, chain and lists; - prints only the page"},
	{OPTION_TEXT, 0, "calls", "FILE", &fleet_parsed.calls, "calls between servers: lines CALLER,CALLEE or a matrix; a caller is not the cause of what it calls"},
	{OPTION_TEXT, 0, "deployments", "FILE", &fleet_parsed.deployments, "what was deployed when, as JSON or CSV: service, version or commit, time; those before the incident are ranked as its causes"},
	{OPTION_TEXT, 0, "causes", "PATH", &fleet_parsed.causes, "your own causes: a file or a folder of them (default: " SYSTEM_CAUSES ")"},
	{OPTION_TEXT, 0, "incidents", "FILE", &fleet_parsed.incidents, "where incidents are stored (default: next to the recording)"},
	{OPTION_TEXT, 0, "remember", "NAME", &fleet_parsed.remember, "save this incident's fingerprint under a name"},
	{OPTION_COUNT, 'n', "top", "N", &fleet_parsed.top, "how many to list of each (default 10, 0 = all)"},
	FLEET_INPUT_OPTIONS,
	{},
};

const struct subverb fleet_why = {"why", "DATA ", "all steps in one: which servers and counters, since when, what moved with the symptom, what led", options, .run = run};
