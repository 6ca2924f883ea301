#include "machine/view-why/history.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>

#include "lib/data/clock.h"
#include "lib/view/json.h"

static int64_t wall_of(const struct history *h, uint32_t minute)
{
	return h->from + minute * HISTORY_MINUTE;
}

/* "mysqld: io.write_bytes 83 MB/s (normally 2 MB/s)"; of the machine without a name. */
static void print_score(const struct history *h, const struct minute_score *s, FILE *out)
{
	const struct history_series *x = &h->series.v[s->series];

	if (x->label)
		fprintf(out, "%s: ", x->label);
	fprintf(out, "%s %s (normally %s)", x->feature->name, FEATURE_TEXT(x->feature, (double)s->value),
		FEATURE_TEXT(x->feature, (double)x->minutes.median));
}

static void print_episode(const struct history *h, const struct anomaly_episode *e, float odd, FILE *out)
{
	const struct minute_score *machine = &h->machine[e->peak], *program = &h->programs[e->peak];
	const bool of_machine = machine->series != HISTORY_NONE && machine->score >= odd,
		   of_program = program->series != HISTORY_NONE && program->score >= odd;

	fprintf(out, "  %s %10s %8.1f  ", CLOCK_LOCAL(wall_of(h, e->from)),
		CLOCK_SPAN((int64_t)(e->to - e->from) * HISTORY_MINUTE), (double)e->score);
	if (of_machine)
		print_score(h, machine, out);
	if (of_machine && of_program)
		fputs("; ", out);
	if (of_program)
		print_score(h, program, out);
	fputc('\n', out);
}

static void print_episodes(const struct history *h, size_t top, float odd, FILE *out)
{
	fprintf(out, ", %s unusual.\n\n  %-23s %10s %8s  %s\n", CLOCK_SPAN(h->n_odd * HISTORY_MINUTE), "since", "for",
		"anomaly", "in its most unusual minute");
	for (size_t i = 0; i < h->episodes.list.n && i < top; i++)
		print_episode(h, &h->episodes.list.v[i], odd, out);
	if (h->episodes.list.n > top)
		fprintf(out, "  ... and %zu more (--top 0 lists all)\n", h->episodes.list.n - top);
}

/* The newest ones. */
static void print_incidents(const struct history *h, size_t top, FILE *out)
{
	const size_t first = h->incidents.n > top ? h->incidents.n - top : 0;

	fputs("\nIncidents in that time, marked or found by a rule:\n", out);
	if (first)
		fprintf(out, "  (%zu before these: 'whyslow list')\n", first);
	for (size_t i = first; i < h->incidents.n; i++) {
		const struct history_incident *x = &h->incidents.v[i];

		fprintf(out, "%4" PRId64 "  %s%s%s%s\n", x->id, CLOCK_LOCAL(x->from), x->by_rule ? "  (by a rule)" : "", x->note ? "  " : "", x->note ? x->note : "");
	}
}

void history_text(const struct history *h, const char *who, size_t top, float odd, FILE *out)
{
	fprintf(out, "%s to %s: %s recorded", CLOCK_LOCAL(h->from), CLOCK_LOCAL(wall_of(h, h->n)),
		CLOCK_SPAN(h->n_recorded * HISTORY_MINUTE));
	if (who)
		fprintf(out, ", of %s", who);
	if (h->episodes.list.n)
		print_episodes(h, top, odd, out);
	else
		fputs(h->incidents.n ? ". No minute of it stands out from the others.\n" : ". Nothing was unusual.\n", out);
	if (h->incidents.n)
		print_incidents(h, top, out);
	if (h->episodes.list.n || h->incidents.n)
		fputs("\n'whyslow why --at TIME' (or an incident's number) says why.\n", out);
}

/* --- JSON --- */

static json_t *score_json(const struct history *h, const struct minute_score *s)
{
	const struct history_series *x = s->series == HISTORY_NONE ? NULL : &h->series.v[s->series];

	if (!x)
		return json_null();
	return json_pack("{s:s?, s:s, s:s, s:f, s:f, s:f}", "program", x->label, "feature", x->feature->name, "unit", unit_name(x->feature->unit),
			 "value", (double)s->value, "normal", (double)x->minutes.median, "anomaly", (double)s->score);
}

static json_t *time_json(const struct history *h, uint32_t minute)
{
	return json_string(CLOCK_RFC3339(wall_of(h, minute)));
}

static json_t *episode_json(const struct history *h, const struct anomaly_episode *e)
{
	return json_pack("{s:o, s:o, s:o, s:I, s:f, s:o, s:o}", "from", time_json(h, e->from), "to", time_json(h, e->to), "peak",
			 time_json(h, e->peak), "minutes", (json_int_t)(e->to - e->from), "anomaly", (double)e->score, "machine",
			 score_json(h, &h->machine[e->peak]), "program", score_json(h, &h->programs[e->peak]));
}

static json_t *incident_json(const struct history_incident *x)
{
	return json_pack("{s:I, s:s, s:s, s:s, s:o}", "id", (json_int_t)x->id, "source", x->by_rule ? "rule" : "user", "from", CLOCK_RFC3339(x->from), "to",
			 CLOCK_RFC3339(x->to), "note", x->note ? json_text(x->note) : json_null());
}

/* The worst minute of each part; null where nothing was recorded. */
static json_t *scores_json(const struct history *h, uint32_t each)
{
	json_t *list = json_array();

	for (uint32_t first = 0; list && first < h->n; first += each) {
		float most = -1;

		for (uint32_t i = first; i < h->n && i < first + each; i++)
			if (h->recorded[i])
				most = fmaxf(most, fmaxf(h->machine[i].score, h->programs[i].score));
		json_array_append_new(list, most < 0 ? json_null() : json_real((double)roundf(most * 10) / 10));
	}
	return list;
}

int history_json(const struct history *h, size_t top, size_t points, FILE *out)
{
	const uint32_t each = points && points < h->n ? (uint32_t)((h->n + points - 1) / points) : 1;
	json_t *root;

	root = json_pack("{s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "schema", "whyslow.history/1", "from", time_json(h, 0), "to",
			 time_json(h, h->n), "minutes", (json_int_t)h->n_recorded, "unusual", (json_int_t)h->n_odd, "programs",
			 (json_int_t)h->programs_seen, "programs_left_out", (json_int_t)h->programs_left_out, "total",
			 (json_int_t)h->episodes.list.n, "episodes", JSON_FIRST(x, h->episodes.list.v,
				top < h->episodes.list.n ? top : h->episodes.list.n, episode_json(h, x)),
			 "incidents", JSON_EACH(x, h->incidents, incident_json(x)));
	if (!root)
		return -ENOMEM;
	if (points) {
		json_object_set_new(root, "step", json_integer(60 * (json_int_t)each));
		json_object_set_new(root, "scores", scores_json(h, each));
	}
	json_print(root, JSON_INDENT(1) | JSON_REAL_PRECISION(6), out);
	return 0;
}
