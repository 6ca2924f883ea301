/* whyslow fleet incidents FOLDER: incidents and feedback of many machines together, by their recordings. */
#include <errno.h>

#include "fleet/verb/fleet-verb.h"
#include "fleet/watch/pooled-incidents.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"

static int read_times(const struct fleet_query *q, int64_t *ret_from, int64_t *ret_to)
{
	const struct {
		const char *text;
		int64_t *to, otherwise;
	} times[] = {{q->from, ret_from, INT64_MIN}, {q->to, ret_to, INT64_MAX}};

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		*times[i].to = times[i].otherwise;
		if (times[i].text && clock_parse_time(times[i].text, clock_wall(), times[i].to) < 0)
			return verb_usage_error("fleet", "invalid TIME '%s'; expected -7d, 14:32 or '2026-11-20 14:32:07'", times[i].text);
	}
	return EXIT_ANSWERED;
}

static int run(struct common *common, int argc, char **argv)
{
	const struct fleet_query query = fleet_parsed;
	_cleanup_(pooled_incidents_free) struct pooled_incidents p = {};
	int64_t from, to;
	int status, r;

	if (argc != 2)
		return verb_usage_error("fleet", "incidents takes a folder of recordings (HOST.db)");
	status = read_times(&query, &from, &to);
	if (status)
		return status;
	r = pooled_incidents_read(argv[1], from, to, common->config.answer_window, &p);
	if (r < 0)
		return log_failure(EXIT_CANNOT, r == -ENOENT ? "%s: there is no recording; 'whyslow export --format store' writes one" : "%s: out of memory", argv[1]);
	if (p.unreadable)
		log_warning("%u recordings cannot be read; the first: %s", p.unreadable, p.first_error ? p.first_error : "?");
	if (common->json)
		fleet_json_out(fleet_pooled_incidents_json(&p));
	else
		fleet_pooled_incidents_text(&p, query.top ? (size_t)query.top : SIZE_MAX, stdout);
	return p.list.n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "from", "TIME", &fleet_parsed.from, "only incidents from here on"},
	{OPTION_TEXT, 0, "to", "TIME", &fleet_parsed.to, "only incidents up to here"},
	{OPTION_COUNT, 'n', "top", "N", &fleet_parsed.top, "how many to list (default 10, 0 = all)"},
	{},
};

const struct subverb fleet_incidents_verb = {"incidents", "FOLDER ", "incidents and feedback of many machines, by their recordings (HOST.db)", options, .run = run};
