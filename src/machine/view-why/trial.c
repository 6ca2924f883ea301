#include "machine/view-why/trial.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "lib/data/clock.h"
#include "lib/view/json.h"

#define BAR	      40
#define VICTIMS_SHOWN 5

/* Of one program a share of the time; of several, added up, seconds a second. */
static const char *waited(const struct trial *t, double waits, char *buf, size_t n)
{
	if (t->victims.n > 1)
		snprintf(buf, n, "%.2f s a second", waits);
	else
		snprintf(buf, n, "%.*f %%", fabs(waits) < 0.1 ? 1 : 0, 100 * waits);
	return buf;
}

static const char *victims_name(const struct trial *t, char *buf, size_t n)
{
	if (t->victims.n == 1)
		snprintf(buf, n, "%s (pid %u)", t->victims.v[0].name, t->victims.v[0].pid);
	else
		snprintf(buf, n, "the %zu programs that wait", t->victims.n);
	return buf;
}

/* "guilty (pid 812)", "sha256sum (pid 812, 4 processes together)" */
static const char *who_is_held(const struct trial *t, char *buf, size_t n)
{
	if (t->pids.n > 1)
		snprintf(buf, n, "%s (pid %u, %zu processes together)", t->name, t->pid, t->pids.n);
	else
		snprintf(buf, n, "%s (pid %u)", t->name, t->pid);
	return buf;
}

static void print_first(const struct trial *t, FILE *out)
{
	char a[32], b[32], who[80], held[96];

	victims_name(t, who, sizeof(who));
	waited(t, t->waits_free, a, sizeof(a));
	waited(t, t->waits_held, b, sizeof(b));
	who_is_held(t, held, sizeof(held));
	switch (t->verdict) {
	case TRIAL_YES:
		fprintf(out,
			"Yes: %s makes others wait. While it was held back, %s waited %s%s instead "
			"of %s.\n",
			held, who, b, t->victims.n == 1 ? " of the time" : "", a);
		break;
	case TRIAL_NO:
		fprintf(out,
			"No: it is not %s. While it was held back, %s waited %s%s, and %s while it "
			"was let go.\n",
			held, who, b, t->victims.n == 1 ? " of the time" : "", a);
		break;
	case TRIAL_UNCLEAR:
		fprintf(out, "Cannot tell whether it is %s: %s.\n", held,
			t->reason ? t->reason : "");
		break;
	}
}

/* A difference: of shares in points. */
static const char *less(const struct trial *t, double effect, char *buf, size_t n)
{
	if (t->victims.n > 1)
		snprintf(buf, n, "%.2f", effect);
	else
		snprintf(buf, n, "%.*f", fabs(effect) < 0.1 ? 1 : 0, 100 * effect);
	return buf;
}

static void print_numbers(const struct trial *t, FILE *out)
{
	const char *unit = t->victims.n > 1 ? " s a second" : t->victims.n ? " points" : "";
	char e[32], low[32], high[32];
	int orders = (int)lround(70 * t->p);

	if (!t->victims.n)
		return;
	fprintf(out, "Less waiting by %s%s (%s to %s with %.0f %% certainty). ",
		less(t, t->effect, e, sizeof(e)), unit, less(t, t->low, low, sizeof(low)),
		less(t, t->high, high, sizeof(high)), 100 * t->coverage);
	fprintf(out, "Of the 70 orders its phases could have had, %d would show as much by chance.\n\n",
		orders);
}

static void print_phases(const struct trial *t, FILE *out)
{
	double most = 0;
	char text[32];

	for (int i = 0; i < TRIAL_PHASES; i++)
		most = fmax(most, t->phases[i].waits);
	for (int i = 0; i < TRIAL_PHASES; i++) {
		const struct trial_phase *p = &t->phases[i];
		int length = most > 0 ? (int)lround(BAR * p->waits / most) : 0;

		fprintf(out, "  %d %-9s  ", i + 1, p->held ? "held back" : "let go");
		for (int k = 0; k < length; k++)
			fputs("█", out);
		fprintf(out, "%s%s\n", length ? " " : "", waited(t, p->waits, text, sizeof(text)));
	}
}

static void print_victims(const struct trial *t, FILE *out)
{
	if (t->victims.n < 2)
		return;
	fputs("\nWho waited, of the time (let go -> held back):\n", out);
	for (size_t i = 0; i < t->victims.n && i < VICTIMS_SHOWN; i++) {
		const struct trial_victim *v = &t->victims.v[i];

		fprintf(out, "  %-16s pid %-7u %5.1f %% -> %.1f %%\n", v->name, v->pid, 100 * v->free,
			100 * v->held);
	}
}

static void print_use(const struct trial *t, FILE *out)
{
	fprintf(out, "\nHow it was held back: %s.\n", t->how);
	if (strcmp(t->of, "disk") == 0)
		fprintf(out,
			"It used %.1f MB/s of the disk while it was let go, %.1f MB/s while it was held "
			"back.\n",
			t->use_free / 1e6, t->use_held / 1e6);
	else
		fprintf(out,
			"It used %.0f %% of a CPU while it was let go, %.0f %% while it was held back.\n",
			100 * t->use_free, 100 * t->use_held);
	if (isfinite(t->late_free) && isfinite(t->late_held))
		fprintf(out,
			"A program of normal priority came to run %.2f ms late while it was let go, %.2f ms "
			"while it was held back.\n",
			t->late_free / 1e6, t->late_held / 1e6);
	if (t->joined)
		fprintf(out, "%u more of its processes began during the trial, and %s held back with it from the next phase on.\n", t->joined,
			t->joined == 1 ? "was" : "were");
	fputs("It has been released.\n", out);
}

void trial_text(const struct trial *t, FILE *out)
{
	print_first(t, out);
	print_numbers(t, out);
	print_phases(t, out);
	print_victims(t, out);
	print_use(t, out);
	/* `calm` follows no program that begins processes again and again */
	if (t->verdict != TRIAL_YES || t->joined)
		return;
	fputs("To keep it held back: whyslow calm ", out);
	for (size_t i = 0; i < t->pids.n; i++)
		fprintf(out, "%s%u", i ? "," : "", t->pids.v[i]);
	fputc('\n', out);
}

/* --- JSON --- */

static json_t *phases_json(const struct trial *t)
{
	return JSON_COUNT(i, TRIAL_PHASES, json_pack("{s:b, s:o, s:o, s:o}", "held", t->phases[i].held, "waits",
		json_number(t->phases[i].waits), "late_ns", json_number(t->phases[i].late),
		"use", json_number(t->phases[i].use)));
}

static json_t *samples_json(const struct trial *t)
{
	json_t *list = json_array();

	VEC_EACH(s, t->samples) {
		const char *when = s->phase < 0 ? "before" : s->phase >= TRIAL_PHASES ? "after" : "during";

		json_array_append_new(list, json_pack("{s:f, s:s, s:b, s:b, s:o, s:o, s:o}", "at",
						      (double)s->at / 1e9, "when", when, "held", s->held,
						      "settling", s->settling, "waits", json_number(s->waits),
						      "late_ns", json_number(s->late), "use", json_number(s->use)));
	}
	return list;
}

static json_t *victims_json(const struct trial *t)
{
	return JSON_EACH(v, t->victims, json_pack("{s:I, s:s, s:f, s:f, s:f}", "pid", (json_int_t)v->pid, "name", v->name, "before", v->before,
		"free", v->free, "held", v->held));
}

int trial_json(const struct trial *t, FILE *out)
{
	json_t *root = json_pack("{s:s, s:s, s:s, s:s?, s:I, s:s, s:s?, s:s, s:s, s:s, s:b}", "schema",
				 "whyslow.confirm/1", "at", CLOCK_RFC3339(t->wall),
				 "verdict", trial_verdict_names[t->verdict], "reason", t->reason, "pid",
				 (json_int_t)t->pid, "name", t->name, "unit", t->unit, "short", t->of, "way",
				 t->way, "how", t->how, "bound", t->bound);

	if (json_object_update_new(root, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "effect", json_number(t->effect),
		"low", json_number(t->low), "high", json_number(t->high), "coverage", json_number(t->coverage), "p", json_number(t->p),
		"waits_free", json_number(t->waits_free), "waits_held", json_number(t->waits_held), "use_free", json_number(t->use_free), "use_held",
		json_number(t->use_held), "late_free_ns", json_number(t->late_free), "late_held_ns", json_number(t->late_held))) < 0 ||
	    json_object_update_new(root, json_pack("{s:o, s:i, s:o, s:o, s:o}", "pids", JSON_EACH(x, t->pids, json_integer(*x)), "joined",
		(int)t->joined, "victims", victims_json(t), "phases", phases_json(t), "samples", samples_json(t))) < 0) {
		json_decref(root);
		return -ENOMEM;
	}
	return json_print(root, JSON_INDENT(1) | JSON_REAL_PRECISION(6), out);
}
