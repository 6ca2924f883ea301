#include "machine/view-waits/why-program.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/view/bold.h"
#include "lib/view/json.h"
#include "machine/view-waits/waits-words.h"

#define CELLS_SHOWN 6
#define CELL_LEAST  0.02 /* of the time looked at: what is shorter explains nothing */
#define FUNCTIONS_SHOWN 2 /* of the culprit: the innermost */
#define PAGE_TAKES  1e6	 /* ns */
#define MUCH	    3e8	 /* ns/s */
#define MANY_LOST   0.03 /* of what was sent */
#define TELLING	    0.2	 /* ... and from here on it is what the first sentence says */
#define EXPLAINS    0.25 /* of what it waits more than normally */

static bool is_idle(enum chain_kind kind)
{
	return kind == CHAIN_EVENTS || kind == CHAIN_RUNS || kind == CHAIN_SLEEPS || kind == CHAIN_UNKNOWN;
}

static void put_link(const struct chain_link *l, bool first, struct str *out)
{
	str_printf(out, "%s (%u", chain_link_name(l), l->pid);
	if (l->tid != l->pid)
		str_printf(out, ", thread %u", l->tid);
	str_puts(out, ")");
	if (!first && l->role)
		str_printf(out, ", %s,", l->role);
	str_printf(out, " %s", l->words);
}

static bool summarize_chain(const struct program_waits *p, struct str *out)
{
	const struct wait_chain *c = &p->chain;
	const struct chain_link *first = c->links.v, *last = c->links.n ? &c->links.v[c->links.n - 1] : NULL;

	/* an end that waits for requests or events is as idle as the program itself, unless that waits longer than ever */
	if (!last || c->passing || (last->kind == CHAIN_EVENTS && !(p->waited && c->links.n > 1)) || (c->links.n == 1 && is_idle(first->kind)))
		return false;
	str_printf(out, "%s %s", chain_link_name(first), first->words);
	if (p->waited)
		str_printf(out, " (for %.2g s; normally %.2g s at most)", (double)p->waited / 1e9, (double)p->normally / 1e9);
	if (c->cycle)
		str_printf(out, ", and those it waits for wait for %s: a deadlock", c->cycle_pid == first->pid ? "it" : "each other");
	else if (last != first)
		str_printf(out, ". At the end of the chain, %s (%u) %s", chain_link_name(last), last->pid, last->words);
	str_putc(out, '.');
	return true;
}

static bool is_long(const struct program_waits *p, const struct blame_cell *c)
{
	return (double)c->ns >= CELL_LEAST * (double)(p->by_process.to - p->by_process.from);
}

/* An event loop's wait for events, a worker's for work is not an incident. */
static bool counts(const struct program_waits *p, const struct blame_cell *c)
{
	return is_long(p, c) && c->culprit != BY_CLOCK;
}

static bool tells(const struct program_waits *p, const struct blame_cell *c)
{
	bool contended = wait_for_is_contended(c->wait) || (c->wait == FOR_PEER && c->root != FOR_NONE);

	return contended && is_long(p, c) && (double)blame_held(&p->by_process, c) >= TELLING * (double)(p->by_process.to - p->by_process.from);
}

static const struct held_in *held_in_cell(const struct program_waits *p, size_t cell)
{
	return VEC_FIND(x, p->held_in, x->cell == cell);
}

static const struct held_in *held_in_of(const struct program_waits *p, const struct blame_cell *c)
{
	return held_in_cell(p, (size_t)(c - p->by_process.cells.v));
}

static void put_functions(const struct held_in *held, struct str *out)
{
	size_t first = held && held->n > FUNCTIONS_SHOWN ? held->n - FUNCTIONS_SHOWN : 0;

	for (size_t i = first; held && i < held->n; i++)
		str_printf(out, "%s%s", i == first ? ", in " : " > ", held->functions[i]);
}

/* The holder's own part stands for all that was waited for its locks. */
static bool is_of_holder(const struct blame_cell *c)
{
	return c->culprit == BY_TASK && c->id == blame_holder(c);
}

/* `ns`: how long, of the cell itself or of all for its holder. */
static void put_cell(const struct program_waits *p, const struct blame_cell *c, int64_t ns, struct str *out)
{
	char span[32], who[LABEL_SIZE], how[2 * LABEL_SIZE];

	waits_via(p->timeline, &p->by_process, c, how, sizeof(how));
	str_printf(out, "%s %s: %s%s%s", waits_short_span(ns, span, sizeof(span)), wait_for_text(c->wait),
		   waits_culprit_label(p->timeline, &p->by_process, c, who, sizeof(who)), how[0] ? ", which " : "", how);
	put_functions(held_in_of(p, c), out);
}

/* Who kept the holder from its work for long: the largest of them. */
static void put_who_held_up(const struct program_waits *p, const struct blame_cell *holder, struct str *out)
{
	const struct blame_cell *c = holder + 1, *end = p->by_process.cells.v + p->by_process.cells.n;
	char span[32], who[LABEL_SIZE], how[2 * LABEL_SIZE];

	while (c < end && is_of_holder(c))
		c++;
	if (c == end || blame_holder(c) != holder->id || (double)c->ns < TELLING * (double)blame_held(&p->by_process, c))
		return;
	str_printf(out, "; for %s of that %s %s", waits_short_span(c->ns, span, sizeof(span)),
		   waits_culprit_label(p->timeline, &p->by_process, c, who, sizeof(who)),
		   waits_via(p->timeline, &p->by_process, c, how, sizeof(how)));
}

static void put_window(const struct program_waits *p, struct str *out)
{
	char span[32];

	str_printf(out, "In %s %s it ", p->past ? "these" : "the last", waits_short_span(p->by_process.to - p->by_process.from, span, sizeof(span)));
}

static void put_longest(const struct program_waits *p, const struct blame_cell *c, struct str *out)
{
	put_window(p, out);
	str_puts(out, "waited ");
	put_cell(p, c, is_of_holder(c) ? blame_held(&p->by_process, c) : c->ns, out);
	if (is_of_holder(c))
		put_who_held_up(p, c, out);
}

/* An unknown culprit, or a timer that ended the wait, does not say who was waited for. */
static bool is_named(const struct blame_cell *c)
{
	return c->culprit != BY_UNKNOWN && c->culprit != BY_CLOCK;
}

/* Who is kept from a CPU keeps all who wait for it; of a lock its holder is the reason, also where others kept that from a CPU. */
static enum wait_for kind_of(const struct blame_cell *c)
{
	return c->root == FOR_CPU && c->wait != FOR_LOCK ? FOR_CPU : c->wait;
}

/* The culprit that counts most in what the call waited for longest, all culprits together (*ret_all ns). NULL: it waited for nothing. */
static const struct blame_cell *longest_wait(const struct program_waits *p, int64_t *ret_all)
{
	const struct blame_cell *first, *named;
	int64_t all[FOR_COUNT] = {};
	enum wait_for most = FOR_NONE;

	VEC_EACH(c, p->by_process.cells)
		all[kind_of(c)] += c->ns;
	for (enum wait_for w = 0; w < FOR_COUNT; w++)
		most = all[w] > all[most] ? w : most;
	first = VEC_FIND(c, p->by_process.cells, kind_of(c) == most);
	named = VEC_FIND(c, p->by_process.cells, kind_of(c) == most && is_named(c) && 2 * c->ns >= first->ns);
	*ret_all = all[most];
	return named ?: first;
}

static bool many_use_cpu(const struct program_waits *p)
{
	int64_t all = 0;
	const struct blame_cell *c = p->call ? longest_wait(p, &all) : NULL;

	return c && all > p->ran && kind_of(c) == FOR_CPU && 2 * c->ns < all;
}

/* All counts that the threads that handled a call did, also what a server normally waits for between requests; what took little of it is not said. */
static bool summarize_call(const struct program_waits *p, struct str *out)
{
	const double least = TELLING * (double)(p->by_process.to - p->by_process.from);
	const struct held_in *own = held_in_cell(p, HELD_IN_CALL);
	int64_t all = 0;
	const struct blame_cell *c = p->call ? longest_wait(p, &all) : NULL;
	char span[32];

	if (!p->call || (double)(all > p->ran ? all : p->ran) < least)
		return false;
	if (all <= p->ran) {
		put_window(p, out);
		str_printf(out, "computed itself for %s", waits_short_span(p->ran, span, sizeof(span)));
	} else {
		put_longest(p, c, out);
		own = held_in_of(p, c) ? NULL : own;
		str_puts(out, own ? "; it waited itself" : "");
	}
	put_functions(own, out);
	str_putc(out, '.');
	return true;
}

/* `more`, ns per second that it waits more than normally by the recording: then what is waited for others' work tells, too, if it is a good part of that; 0 = it does not. */
static bool summarize_events(const struct program_waits *p, double more, struct str *out)
{
	for (size_t i = 0; p->timeline && i < p->by_process.cells.n; i++) {
		const struct blame_cell *c = &p->by_process.cells.v[i];
		double held = (double)blame_held(&p->by_process, c) * 1e9 / (double)(p->by_process.to - p->by_process.from);

		if (!tells(p, c) && !(more > 0 && c->culprit == BY_TASK && counts(p, c) && held >= EXPLAINS * more))
			continue;
		put_longest(p, c, out);
		str_putc(out, '.');
		return true;
	}
	return false;
}

/* Each answer may come soon: whose it is says more than nothing. */
static void put_other_end(const struct program_waits *p, struct str *out)
{
	const struct chain_link *first = p->chain.links.v, *last = p->chain.links.n ? &p->chain.links.v[p->chain.links.n - 1] : NULL;

	if (!last || (first->kind != CHAIN_TCP && first->kind != CHAIN_REMOTE && first->kind != CHAIN_UDP && first->kind != CHAIN_LOCAL_SOCKET))
		return;
	str_printf(out, "%sAt this moment %s %s", out->len && out->data[out->len - 1] == ' ' ? "" : " ", chain_link_name(first), first->words);
	if (last != first)
		str_printf(out, "; %s (%u) %s", chain_link_name(last), last->pid, last->words);
	str_putc(out, '.');
}

static bool summarize_waits(const struct program_waits *p, struct str *out)
{
	const struct program_wait *worst = NULL;

	for (size_t i = 0; i < p->waits.n; i++)
		if (p->waits.v[i].unusual && (!worst || p->waits.v[i].now > worst->now))
			worst = &p->waits.v[i];
	if (!worst)
		return false;
	str_printf(out, "It waits for %s, %.2f s per second (normally %.2f s). ", worst->words, worst->now / 1e9, worst->p50 / 1e9);
	if (!summarize_events(p, worst->now - worst->p50, out))
		put_other_end(p, out);
	return true;
}

static bool summarize_answers(const struct program_waits *p, struct str *out)
{
	if (!p->server)
		return false;
	str_printf(out, "The answers of %s (%u) take up to %.2g s, normally %.2g s at most.", p->server, p->server_pid, (double)p->answer_took / 1e9,
		   (double)p->answer_normally / 1e9);
	return true;
}

/* "It computes, 0.93 s per second (normally 0.10 s)." */
static void put_work(const struct program_wait *w, struct str *out)
{
	if (w->feature->unit == NS)
		str_printf(out, "It %s, %.2f s per second (normally %.2f s).", w->words, w->now / 1e9, w->p50 / 1e9);
	else
		str_printf(out, "It %s, %.0f times per second (normally %.0f times).", w->words, w->now, w->p50);
}

/* The one that grew by the most time; a page from a disk takes about PAGE_TAKES. */
static bool summarize_work(const struct program_waits *p, struct str *out)
{
	const struct program_wait *most = NULL;
	double longest = 0;

	VEC_EACH(w, p->work) {
		double grown = (w->now - w->p50) * (w->feature->unit == NS ? 1 : PAGE_TAKES);

		if (grown > longest) {
			longest = grown;
			most = w;
		}
	}
	if (most)
		put_work(most, out);
	return most;
}

/* A program that has just begun has no baseline: then it is what it waits for most, if that is much. */
static bool summarize_unknown(const struct program_waits *p, struct str *out)
{
	const struct program_wait *most = NULL;

	for (size_t i = 0; i < p->waits.n; i++)
		if (isnan(p->waits.v[i].p90) && p->waits.v[i].now >= MUCH && (!most || p->waits.v[i].now > most->now))
			most = &p->waits.v[i];
	if (most)
		str_printf(out, "It waits for %s, %.2f s per second: too little is recorded of it to say whether that is normal.", most->words, most->now / 1e9);
	return most;
}

/* Which programs these are the machine's answer says, which sees them together. */
static bool summarize_shared_cpu(const struct program_waits *p, struct str *out)
{
	if (summarize_work(p, out))
		return true;
	put_window(p, out);
	str_puts(out, "waited for a CPU, which many programs used.");
	return false;
}

static bool waits_for_lost_packets(const struct program_waits *p)
{
	return p->sent_again > MANY_LOST && ANY_WHERE(i, p->waits.n, strcmp(p->waits.v[i].feature->name, "wait.network") == 0 && p->waits.v[i].now >= MUCH);
}

static bool summarize(const struct program_waits *p, struct str *out)
{
	if (many_use_cpu(p))
		return summarize_shared_cpu(p, out);
	if (summarize_call(p, out) || summarize_chain(p, out) || summarize_waits(p, out) || summarize_answers(p, out) || summarize_events(p, 0, out) || summarize_work(p, out))
		return true;
	if (summarize_unknown(p, out) || waits_for_lost_packets(p))
		return false;
	str_puts(out, p->waits.n || p->timeline || p->chain.links.n ? "It waits for nothing that it does not normally wait for." :
								      "Nothing is known of what it waited for then.");
	if (p->chain.links.n > 1)
		put_other_end(p, out);
	return false;
}

bool why_program_summary(const struct program_waits *p, struct str *out)
{
	bool slow = summarize(p, out);

	if (!waits_for_lost_packets(p))
		return slow;
	str_printf(out, "%sThe network loses packets: %.0f %% of the TCP segments that the machine sent in that time were sent again.", out->len ? " " : "",
		   100 * p->sent_again);
	return true;
}

static void put_chain(const struct wait_chain *c, FILE *out)
{
	if (!c->links.n)
		return;
	fputs(c->passing ? "\nAt this moment, and not for long:\n" : "\nNow, from the program to the end of the chain:\n", out);
	for (size_t i = 0; i < c->links.n; i++) {
		struct str line = {};

		put_link(&c->links.v[i], i == 0, &line);
		fprintf(out, "  %*s%s\n", (int)(2 * i), "", line.data ? line.data : "?");
		str_free(&line);
	}
	if (c->cycle)
		fprintf(out, "  %*s... which is in the chain already (%u): a deadlock\n", (int)(2 * c->links.n), "", c->cycle_pid);
}

static void put_waits(const struct program_waits *p, bool colour, FILE *out)
{
	bool any = false;

	VEC_EACH(w, p->waits) {
		if (w->now < 1e6 && !(w->p90 >= 1e6))
			continue;
		if (!any)
			fputs("\nWaited per second, all threads together:\n", out);
		any = true;
		fprintf(out, "  %s%-24s %7.3f s%s", w->unusual ? bold(colour) : "", w->words, w->now / 1e9, w->unusual ? bold_off(colour) : "");
		if (isnan(w->p50))
			fputs("  (no baseline yet)\n", out);
		else
			fprintf(out, "  normally %.3f s, p90 %.3f s%s\n", w->p50 / 1e9, w->p90 / 1e9, w->unusual ? ": unusual" : "");
	}
}

static void put_events(const struct program_waits *p, FILE *out)
{
	size_t shown = 0;
	char span[32];

	if (!p->timeline)
		return;
	fprintf(out, "\nBy the events of %s, it waited:\n", waits_short_span(p->by_process.to - p->by_process.from, span, sizeof(span)));
	for (size_t i = 0; i < p->by_process.cells.n && shown < CELLS_SHOWN; i++) {
		struct str line = {};

		if (!counts(p, &p->by_process.cells.v[i]))
			continue;
		put_cell(p, &p->by_process.cells.v[i], p->by_process.cells.v[i].ns, &line);
		fprintf(out, "  %s\n", line.data ? line.data : "?");
		str_free(&line);
		shown++;
	}
	if (!shown)
		fputs("  for nothing that took long\n", out);
}

void why_program_text(const struct program_waits *p, bool colour, FILE *out)
{
	const struct chain_link *last = p->chain.links.n ? &p->chain.links.v[p->chain.links.n - 1] : NULL;
	_cleanup_free_ char *remedy = NULL;
	struct str summary = {};

	why_program_summary(p, &summary);
	fprintf(out, "%s%s%s: %s\n", bold(colour), p->name, bold_off(colour),
		summary.data ? summary.data : "?");
	str_free(&summary);
	put_chain(&p->chain, out);
	put_waits(p, colour, out);
	put_events(p, out);
	remedy = wait_chain_remedy(&p->chain);
	if (remedy)
		fprintf(out, "\n%s\n", remedy);
	else if (last)
		fprintf(out, "\n'whyslow inspect %u' shows in which function.\n", last->pid);
}

/* --- JSON --- */

static json_t *chain_json(const struct wait_chain *c)
{
	return JSON_EACH(l, c->links, json_pack("{s:i, s:i, s:o, s:s, s:o, s:o}", "pid", (int)l->pid, "tid", (int)l->tid, "name",
		json_text(chain_link_name(l)), "kind", chain_kind_names[l->kind], "text", json_text(l->words),
		"role", json_text(l->role)));
}

static json_t *waits_json_of(const struct program_wait *waits, size_t n)
{
	return JSON_FIRST(w, waits, n, json_pack("{s:s, s:s, s:o, s:o, s:o, s:b}", "feature", w->feature->name, "text", w->words, "now",
		json_number(w->now), "p50", json_number(w->p50), "p90", json_number(w->p90), "unusual", w->unusual));
}

static json_t *functions_json(const struct held_in *held)
{
	return held ? JSON_FIRST(x, held->functions, held->n, json_text(*x)) : json_null();
}

static json_t *events_json(const struct program_waits *p)
{
	json_t *array = json_array();

	for (size_t i = 0; p->timeline && i < p->by_process.cells.n; i++) {
		const struct blame_cell *c = &p->by_process.cells.v[i];
		char who[LABEL_SIZE], how[2 * LABEL_SIZE];
		bool task = c->culprit == BY_TASK || c->culprit == BY_SELF;

		if (!counts(p, c))
			continue;
		waits_via(p->timeline, &p->by_process, c, how, sizeof(how));
		json_array_append_new(
			array, json_pack("{s:s, s:I, s:I, s:s, s:o, s:o, s:o, s:o, s:o}", "wait", wait_for_name(c->wait), "ns", (json_int_t)c->ns, "held_ns",
					 (json_int_t)blame_held(&p->by_process, c), "culprit_kind",
					 waits_culprit_name(c->culprit), "culprit_text",
					 json_text(waits_culprit_label(p->timeline, &p->by_process, c, who, sizeof(who))), "culprit",
					 task ? waits_who_json(p->timeline, &p->by_process, c->id) : json_null(), "via",
					 waits_who_json(p->timeline, &p->by_process, c->via), "how", json_text(how[0] ? how : NULL),
					 "held_in", functions_json(held_in_of(p, c))));
	}
	return array;
}

int why_program_json(const struct program_waits *p, FILE *out)
{
	_cleanup_free_ char *remedy = wait_chain_remedy(&p->chain);
	_cleanup_str_ struct str summary = {};
	bool slow = why_program_summary(p, &summary);
	json_t *root;

	root = json_pack("{s:s, s:o, s:o, s:o, s:b, s:b, s:b, s:o, s:o, s:b, s:b, s:o, s:o, s:o, s:o}", "schema", "whyslow.program/1", "at", json_moment(p->at), "name",
			 json_text(p->name), "pids", JSON_EACH(x, p->pids, json_integer((json_int_t)*x)), "slow", slow, "call", p->call, "packets_lost", waits_for_lost_packets(p), "summary",
				json_text(summary.data), "chain", chain_json(&p->chain),
			 "deadlock", p->chain.cycle, "passing", p->chain.passing, "waits", waits_json_of(p->waits.v, p->waits.n),
			 "work", waits_json_of(p->work.v, p->work.n), "events", events_json(p), "next", json_text(remedy));
	return json_print(root, JSON_INDENT(1), out);
}
