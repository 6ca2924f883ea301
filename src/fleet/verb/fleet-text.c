#include <math.h>

#include "fleet/verb/fleet-view.h"
#include "lib/data/clock.h"
#include "lib/view/csv.h"

const char *fleet_server_name(const struct fleet *f, int server)
{
	return server >= 0 ? f->servers.v[server].name : "all servers";
}

static void flags_text(const struct fleet_finding *x, FILE *out)
{
	static const struct {
		unsigned flag;
		const char *words;
	} words[] = {
		{FLEET_LEFT_ONLY_VALUE, "was constant until now"}, {FLEET_REGIME_DIFFERS, "regime differs"},
		{FLEET_PEER, "against its peers"}, {FLEET_BETTER, "better"}, {FLEET_WORSE, "worse"},
	};
	const char *between = "  ";

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (x->flags & words[i].flag) {
			fprintf(out, "%s%s", between, words[i].words);
			between = ", ";
		}
}

static void when_text(int64_t wall, const char *before, FILE *out)
{
	if (wall)
		fprintf(out, "%s%s", before, CLOCK_RFC3339(wall));
}

static void finding_text(const struct fleet *f, const struct fleet_finding *x, FILE *out)
{
	fprintf(out, "  %8.3g  %-24s %-32s", x->score, fleet_server_name(f, x->server), x->counter >= 0 ? f->counters.v[x->counter].name : "");
	if (!isnan(x->observed))
		fprintf(out, " %s (%s %s)", FLEET_VALUE_TEXT(f, x->counter, x->observed), x->words ? "limit" : "normally", /* words: a rule's */
			FLEET_VALUE_TEXT(f, x->counter, x->usual));
	if (!isnan(x->r))
		fprintf(out, " r %+.3f", x->r);
	if (x->lag)
		fprintf(out, ", %s by %d rows", x->lag > 0 ? "leads" : "follows", x->lag > 0 ? x->lag : -x->lag);
	if (!isnan(x->low))
		fprintf(out, " %+.1f %% [%+.1f, %+.1f]", 100 * x->shift, 100 * x->low, 100 * x->high);
	if (!isnan(x->p))
		fprintf(out, " p %.2g", x->p);
	if (!isnan(x->q))
		fprintf(out, " q %.2g", x->q);
	if (!isnan(x->r) && x->n)
		fprintf(out, " n %u", x->n);
	if (x->time != INT64_MIN)
		when_text(x->time, "  at ", out);
	when_text(x->since, "  since ", out);
	flags_text(x, out);
	if (x->flags & FLEET_CALLED)
		fprintf(out, "  measured on %s", fleet_server_name(f, x->measured_on));
	if (x->words)
		fprintf(out, "  breaks: %s", x->words);
	fputc('\n', out);
}

void fleet_findings_text(const struct fleet *f, const struct fleet_findings *found, size_t top, FILE *out)
{
	size_t n = top && top < found->list.n ? top : found->list.n;

	for (size_t i = 0; i < n; i++)
		finding_text(f, &found->list.v[i], out);
	if (n < found->list.n)
		fprintf(out, "  ... and %zu more (--top 0 lists all)\n", found->list.n - n);
	if (found->remark)
		fprintf(out, "  note: %s\n", found->remark);
}

static void row_text(const struct fleet_view *v, const struct fleet_summary *x, FILE *out)
{
	const double values[] = {x->median, x->mean, x->sd, x->min, x->q05, x->q25, x->q75, x->q95, x->max};

	if (x->server >= 0)
		fprintf(out, "%-24s", v->fleet->servers.v[x->server].name);
	else
		fprintf(out, "%-24s", CLOCK_RFC3339(x->time));
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		fprintf(out, " %10.5g", values[i]);
	fprintf(out, " %8u\n", x->n);
}

struct range {
	double low, high;
};

static struct range range_of(const struct fleet_view *v)
{
	struct range r = {INFINITY, -INFINITY};

	for (size_t i = 0; i < v->fleet->servers.n * v->n; i++) {
		const double x = (double)v->values[i];

		r.low = x < r.low ? x : r.low;
		r.high = x > r.high ? x : r.high;
	}
	return r;
}

/* How far up between the least and the greatest; the lowest where infinite values leave no share of them. */
static const char *level_of(const struct range *r, double x)
{
	static const char *const levels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	const double share = r->high > r->low ? (x - r->low) / (r->high - r->low) : 0;

	return levels[share >= 1 ? 7 : share > 0 ? (int)(7.99 * share) : 0];
}

/* A character a value. */
static void row_detail(const struct fleet_view *v, const struct range *r, size_t server, uint32_t width, FILE *out)
{
	fprintf(out, "%-24s ", v->fleet->servers.v[server].name);
	for (uint64_t k = 0; k < width; k++) {
		float most = NAN;

		for (uint64_t i = k * v->n / width; i < (k + 1) * v->n / width; i++)
			most = fmaxf(most, v->values[server * v->n + i]);
		fputs(isnan(most) ? " " : level_of(r, (double)most), out);
	}
	fputc('\n', out);
}

static void detail_text(const struct fleet_view *v, FILE *out)
{
	enum { WIDTH = 80 };
	const struct range r = range_of(v);
	const uint32_t width = v->n < WIDTH ? v->n : WIDTH;

	for (size_t s = 0; s < v->fleet->servers.n; s++)
		if (v->fleet->servers.v[s].column[v->counter])
			row_detail(v, &r, s, width, out);
	fprintf(out, "%-24s from %g to %g, the highest of each %.3g rows\n", "", r.low, r.high, v->n / (double)width);
}

void fleet_view_text(const struct fleet_view *v, FILE *out)
{
	const struct fleet_counter *c = &v->fleet->counters.v[v->counter];
	static const char *const names[] = {"detail", "server", "time"};

	fprintf(out, "%s, %s view%s%s%s\n", c->name, names[v->kind], c->unit ? ", in " : "", c->unit ? c->unit : "", c->kind == FLEET_COUNTER ? " per second" : "");
	if (v->partly)
		fprintf(out, "note: %zu server%s joined late or ended early; %s where there are rows ('fleet info' has the names)\n", v->partly,
			v->partly == 1 ? "" : "s", v->partly == 1 ? "it counts" : "they count");
	if (v->kind == FLEET_DETAIL_VIEW) {
		detail_text(v, out);
		return;
	}
	fprintf(out, "%-24s %10s %10s %10s %10s %10s %10s %10s %10s %10s %8s\n", v->kind == FLEET_SERVER_VIEW ? "server" : "time", "median",
		"mean", "sd", "min", "5 %", "25 %", "75 %", "95 %", "max", "values");
	for (size_t i = 0; i < v->rows.n; i++)
		row_text(v, &v->rows.v[i], out);
}

static void csv_number(double x, FILE *out)
{
	if (isnan(x))
		fputc(',', out);
	else
		fprintf(out, ",%.9g", x);
}

static void detail_csv(const struct fleet_view *v, FILE *out)
{
	fputs("time,server,value\n", out);
	for (size_t s = 0; s < v->fleet->servers.n; s++)
		for (uint32_t k = 0; k < v->n; k++) {
			if (isnan(v->values[s * v->n + k]))
				continue;
			fprintf(out, "%s,", CLOCK_RFC3339(v->ts + k * v->d));
			csv_put_text(v->fleet->servers.v[s].name, out);
			csv_number((double)v->values[s * v->n + k], out);
			fputc('\n', out);
		}
}

void fleet_view_csv(const struct fleet_view *v, FILE *out)
{
	if (v->kind == FLEET_DETAIL_VIEW) {
		detail_csv(v, out);
		return;
	}
	fprintf(out, "%s,median,mean,sd,min,q05,q25,q75,q95,max,n\n", v->kind == FLEET_SERVER_VIEW ? "server" : "time");
	VEC_EACH(x, v->rows) {
		const double values[] = {x->median, x->mean, x->sd, x->min, x->q05, x->q25, x->q75, x->q95, x->max};

		if (x->server >= 0)
			csv_put_text(v->fleet->servers.v[x->server].name, out);
		else
			fputs(CLOCK_RFC3339(x->time), out);
		for (size_t k = 0; k < sizeof(values) / sizeof(*values); k++)
			csv_number(values[k], out);
		fprintf(out, ",%u\n", x->n);
	}
}
