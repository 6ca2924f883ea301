/* whyslow fleet incidents FOLDER: incidents and feedback of many machines together, by their recordings. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "answer/fleet/pooled-incidents.h"
#include "base/data/cleanup.h"
#include "base/data/clock.h"
#include "base/data/log.h"
#include "cmd/fleet/fleet.h"
#include "view/why/json.h"

static const char *const feedback_names[] = {"", "right", "wrong", "fixed"};

/* Feedback and hosts of a group. */
struct sums {
	unsigned hosts, said[ARRAY_SIZE(feedback_names)];
};

static bool is_first_of_host(const struct pooled_incidents *p, const struct similar_marks *g, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(p->list.v[g->marks.v[k]].host, p->list.v[g->marks.v[i]].host) == 0)
			return false;
	return true;
}

static struct sums sums_of(const struct pooled_incidents *p, const struct similar_marks *g)
{
	struct sums s = {};

	for (size_t i = 0; i < g->marks.n; i++) {
		s.hosts += is_first_of_host(p, g, i);
		s.said[p->list.v[g->marks.v[i]].mark.feedback]++;
	}
	return s;
}

/* --- text --- */

static void print_incident(const struct pooled_incident *i)
{
	char at[40];

	printf("       %-20s %4" PRId64 "  %s%s%s", i->host, i->mark.id, format_local(i->mark.wall, at, sizeof(at)), i->mark.note ? "  " : "",
	       i->mark.note ? i->mark.note : "");
	printf(i->mark.feedback ? "  [%s]\n" : "\n", feedback_names[i->mark.feedback]);
}

static void print_group(const struct pooled_incidents *p, const struct similar_marks *g, size_t most)
{
	struct sums s = sums_of(p, g);

	printf("%4zu  on %u host%s: %s\n", g->marks.n, s.hosts, s.hosts == 1 ? "" : "s", g->first.summary);
	if (s.said[FEEDBACK_RIGHT] + s.said[FEEDBACK_WRONG] + s.said[FEEDBACK_FIXED])
		printf("      feedback: %u right, %u wrong, %u fixed\n", s.said[FEEDBACK_RIGHT], s.said[FEEDBACK_WRONG], s.said[FEEDBACK_FIXED]);
	for (size_t i = 0; i < g->marks.n && i < most; i++)
		print_incident(&p->list.v[g->marks.v[i]]);
	if (g->marks.n > most)
		printf("       ... and %zu more\n", g->marks.n - most);
}

static void print_text(const struct pooled_incidents *p, size_t most)
{
	printf("%zu incidents in %u recordings, similar ones together:\n\n", p->list.n, p->hosts);
	for (size_t i = 0; i < p->groups.list.n && i < most; i++)
		print_group(p, &p->groups.list.v[i], most);
	if (p->words.list.n)
		printf("\nWords of notes, and what they go with (%u incidents with a note and a finding):\n", p->words.incidents);
	for (size_t i = 0; i < p->words.list.n && i < most; i++) {
		const struct note_word *w = &p->words.list.v[i];

		printf("  %-20s %s in %u of %u; all: %u of %u (q = %.2g)\n", w->word, w->symptom, w->both, w->with_word, w->with_symptom, p->words.incidents,
		       w->q);
	}
}

/* --- JSON --- */

static json_t *incident_json(const struct pooled_incident *i)
{
	char at[40];

	return json_pack("{s:s, s:I, s:s, s:s?, s:s?, s:s, s:s?, s:s?}", "host", i->host, "id", (json_int_t)i->mark.id, "at",
			 format_rfc3339(i->mark.wall, at, sizeof(at)), "note", i->mark.note, "feedback",
			 i->mark.feedback ? feedback_names[i->mark.feedback] : NULL, "source", mark_is_of_rule(&i->mark) ? "rule" : "user", "summary",
			 i->summary, "culprit", i->culprit);
}

static json_t *group_json(const struct pooled_incidents *p, const struct similar_marks *g)
{
	struct sums s = sums_of(p, g);
	json_t *list = json_array();

	for (size_t i = 0; i < g->marks.n; i++)
		json_array_append_new(list, incident_json(&p->list.v[g->marks.v[i]]));
	return json_pack("{s:s, s:s?, s:s?, s:b, s:i, s:i, s:i, s:i, s:o}", "summary", g->first.summary, "culprit", g->first.culprit, "cause", g->first.cause,
			 "slow", g->first.slow, "hosts", (int)s.hosts, "right", (int)s.said[FEEDBACK_RIGHT], "wrong", (int)s.said[FEEDBACK_WRONG],
			 "fixed", (int)s.said[FEEDBACK_FIXED], "incidents", list);
}

static json_t *words_json(const struct note_words *w)
{
	json_t *list = json_array();

	for (size_t i = 0; i < w->list.n; i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:i, s:i, s:f, s:f}", "word", w->list.v[i].word, "symptom", w->list.v[i].symptom,
						      "both", (int)w->list.v[i].both, "with_word", (int)w->list.v[i].with_word, "with_symptom",
						      (int)w->list.v[i].with_symptom, "p", w->list.v[i].p, "q", w->list.v[i].q));
	return list;
}

static void print_json(const struct pooled_incidents *p)
{
	json_t *groups = json_array();

	for (size_t i = 0; i < p->groups.list.n; i++)
		json_array_append_new(groups, group_json(p, &p->groups.list.v[i]));
	fleet_json_out(json_pack("{s:s, s:i, s:i, s:I, s:o, s:o}", "schema", "whyslow.fleet.incidents/1", "recordings", (int)p->hosts, "unreadable",
				 (int)p->unreadable, "total", (json_int_t)p->list.n, "groups", groups, "words", words_json(&p->words)));
}

/* --- */

static int read_times(int64_t *ret_from, int64_t *ret_to)
{
	const struct {
		const char *text;
		int64_t *to, otherwise;
	} times[] = {{fleet_args.from, ret_from, INT64_MIN}, {fleet_args.to, ret_to, INT64_MAX}};

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		*times[i].to = times[i].otherwise;
		if (times[i].text && parse_time(times[i].text, wall_now(), times[i].to) < 0)
			return usage_error("fleet", "invalid TIME '%s'; expected -7d, 14:32 or '2026-11-20 14:32:07'", times[i].text);
	}
	return EXIT_ANSWERED;
}

static int run(struct common *common, int argc, char **argv)
{
	_cleanup_(pooled_incidents_free) struct pooled_incidents p = {};
	int64_t from, to;
	int status, r;

	if (argc != 2)
		return usage_error("fleet", "incidents takes a folder of recordings (HOST.db)");
	status = read_times(&from, &to);
	if (status)
		return status;
	r = pooled_incidents_read(argv[1], from, to, common->config.answer_window, &p);
	if (r < 0) {
		log_error(r == -ENOENT ? "%s: there is no recording; 'whyslow export --format store' writes one" : "%s: out of memory", argv[1]);
		return EXIT_CANNOT;
	}
	if (p.unreadable)
		log_warning("%u recordings cannot be read; the first: %s", p.unreadable, p.first_error ? p.first_error : "?");
	if (common->json)
		print_json(&p);
	else
		print_text(&p, fleet_args.top ? (size_t)fleet_args.top : SIZE_MAX);
	return p.list.n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "from", "TIME", &fleet_args.from, "only incidents from here on"},
	{OPTION_TEXT, 0, "to", "TIME", &fleet_args.to, "only incidents up to here"},
	{OPTION_COUNT, 'n', "top", "N", &fleet_args.top, "how many to list (default 10, 0 = all)"},
	{},
};

const struct subverb fleet_incidents_verb = {"incidents", "FOLDER ", "incidents and feedback of many machines, by their recordings (HOST.db)", options, run, NULL};
