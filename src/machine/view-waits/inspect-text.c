#include <math.h>
#include <string.h>

#include "lib/data/clock.h"
#include "machine/model/feature.h"
#include "machine/view-waits/inspect.h"

#define THREADS_SHOWN 20
#define LEAST_SHOWN   0.02 /* of a tree's weight: branches below it are left out */

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print_head(const struct inspection *n, FILE *out)
{
	fprintf(out, "%s\n\n", n->summary);
	fprintf(out, "Program   %s%s%s%s%s%s\n", n->exe ? n->exe : "a thread of the kernel",
		n->package ? ", package " : "", n->package ? n->package : "", n->version ? " " : "",
		n->version ? n->version : "", n->exe && !n->package ? " (of no package)" : "");
	if (n->cmdline)
		fprintf(out, "Command   %s\n", n->cmdline);
	if (n->unit)
		fprintf(out, "Group     %s%s%s\n", n->unit, n->container ? ", container " : "",
			n->container ? n->container : "");
	for (size_t i = 0; i < n->limits.n; i++)
		fprintf(out, "%-10s%s\n", i ? "" : "Limits", n->limits.v[i]);
	fprintf(out, "Sampled   %llu times in %s; %llu samples of what ran\n\n", (unsigned long long)n->looks,
		CLOCK_SPAN(n->span), (unsigned long long)n->samples);
}

/* "busy_start (stress+0x12a0)", or where it begins alone, if that has no name */
static void write_beginning(const struct inspected_thread *t, char *buf, size_t n)
{
	if (!t->begins)
		snprintf(buf, n, "?");
	else if (!t->begins_at || strcmp(t->begins, t->begins_at) == 0)
		snprintf(buf, n, "%s", t->begins);
	else
		snprintf(buf, n, "%s (%s)", t->begins, t->begins_at);
}

static void print_place(const struct inspected_place *p, FILE *out)
{
	const char *file = p->file ? strrchr(p->file, '/') : NULL;

	if (p->file)
		fprintf(out, "  %s:%u", file ? file + 1 : p->file, p->line);
}

static uint64_t waits(const struct inspected_thread *t)
{
	return t->looks - t->states[CAPTURE_RUNNING] - t->states[CAPTURE_RUNNABLE];
}

static void print_thread(const struct inspected_thread *t, FILE *out)
{
	char begins[200];

	write_beginning(t, begins, sizeof(begins));
	if (isnan(t->cpu))
		fprintf(out, "%8u %-15s %7s %7s", t->tid, t->comm, "?", "?");
	else
		fprintf(out, "%8u %-15s %5.1f %% %5.1f %%", t->tid, t->comm, 100 * t->cpu, 100 * t->ready);
	fprintf(out, "  %s%s\n", begins,
		t->came && t->went ? "  (started and ended)"
		: t->came	   ? "  (came)"
		: t->went	   ? "  (went)"
				   : "");
	if (t->samples && t->instructions.n) {
		const struct inspected_place *f = &t->functions.v[0], *p = &t->instructions.v[0];

		fprintf(out, "%33s ran in %s %.0f %%, most often at %s %.0f %%", "", f->function,
			percent(f->count, t->samples), p->place, percent(p->count, t->samples));
		print_place(p, out);
		fputc('\n', out);
	}
	if (t->waits.n && t->looks && percent(waits(t), t->looks) >= 20) {
		fprintf(out, "%33s waited for %s", "", t->waits.v[0].function);
		if (t->waits.v[0].place)
			fprintf(out, ", in %s", t->waits.v[0].place);
		print_place(&t->waits.v[0], out);
		fputc('\n', out);
	}
}

static void print_threads(const struct inspection *n, FILE *out)
{
	unsigned came = 0, went = 0;
	size_t shown = n->threads.n < THREADS_SHOWN ? n->threads.n : THREADS_SHOWN;

	for (size_t i = 0; i < n->threads.n; i++) {
		came += n->threads.v[i].came;
		went += n->threads.v[i].went;
	}
	fprintf(out, "%zu thread%s", n->threads.n, n->threads.n == 1 ? "" : "s");
	if (came || went)
		fprintf(out, " (%u started and %u ended during the inspection)", came, went);
	fprintf(out, ", by CPU time\n%8s %-15s %7s %7s  %s\n", "thread", "name", "runs", "ready", "began in");
	for (size_t i = 0; i < shown; i++)
		print_thread(&n->threads.v[i], out);
	if (shown < n->threads.n)
		fprintf(out, "%8s and %zu more\n", "", n->threads.n - shown);
	fputc('\n', out);
}

/* A node's only child, that has all its weight, continues the same line. */
static uint32_t print_line(const struct path_tree *t, uint32_t node, const char *arrow, FILE *out)
{
	fputs(t->nodes.v[node].name, out);
	for (uint32_t child;
	     (child = t->nodes.v[node].child) && t->nodes.v[child].total == t->nodes.v[node].total;
	     node = child)
		fprintf(out, " %s %s", arrow, t->nodes.v[child].name);
	fputc('\n', out);
	return node;
}

static void print_node(const struct path_tree *t, uint32_t index, unsigned indent, unsigned depth,
		       const char *arrow, FILE *out)
{
	uint64_t whole = t->nodes.v[0].total;

	for (uint32_t i = t->nodes.v[index].child; i; i = t->nodes.v[i].next) {
		const struct tree_node *node = &t->nodes.v[i];

		if ((double)node->total < LEAST_SHOWN * (double)whole || node->depth > depth)
			continue;
		fprintf(out, "%*s%5.1f %%  ", (int)(2 * indent), "", percent(node->total, whole));
		print_node(t, print_line(t, i, arrow, out), indent + 1, depth, arrow, out);
	}
}

static void print_tree(const struct path_tree *t, const char *title, unsigned depth, const char *arrow, FILE *out)
{
	if (!t->nodes.n)
		return;
	fprintf(out, "%s\n", title);
	print_node(t, 0, 1, depth, arrow, out);
	fputc('\n', out);
}

static void print_files(const struct inspection *n, FILE *out)
{
	static const struct feature rate = {.name = "", .unit = BYTES, .kind = COUNTER};
	double seconds = (double)n->span / 1e9;

	if (!n->files.n || seconds <= 0)
		return;
	fprintf(out, "Files read and written most\n%12s %12s\n", "read", "written");
	VEC_EACH(f, n->files)
		fprintf(out, "%12s %12s  %s\n",
			FEATURE_TEXT(&rate, (double)f->read_bytes / seconds),
			FEATURE_TEXT(&rate, (double)f->written_bytes / seconds),
			f->path ? f->path : "(closed since)");
	fputc('\n', out);
}

static void print_memory(const struct inspection *n, FILE *out)
{
	static const struct feature bytes = {.name = "", .unit = BYTES, .kind = GAUGE};
	char size[32], resident[32], swapped[32];

	if (!n->memory.n)
		return;
	fprintf(out, "What its memory consists of\n%12s %12s %12s %9s\n", "in memory", "in swap", "reserved", "mappings");
	for (size_t i = 0; i < n->memory.n; i++) {
		const struct inspected_memory *m = &n->memory.v[i];

		fprintf(out, "%12s %12s %12s %9u  %s\n", feature_format(&bytes, (double)m->resident, resident, sizeof(resident)),
			feature_format(&bytes, (double)m->swapped, swapped, sizeof(swapped)),
			feature_format(&bytes, (double)m->size, size, sizeof(size)), m->mappings, m->name);
	}
	fputc('\n', out);
}

void inspect_text(const struct inspection *n, unsigned depth, FILE *out)
{
	print_head(n, out);
	print_threads(n, out);
	print_tree(&n->top_down, "Where the CPU time goes, from the top down", depth, "->", out);
	print_tree(&n->bottom_up, "... and from the bottom up: what ran, and who called it", depth, "<-",
		   out);
	print_tree(&n->waits, "What threads wait for, and from where", depth, "<-", out);
	print_files(n, out);
	print_memory(n, out);
	if (n->recorded)
		fprintf(out, "What the flight recorder has of it, every switch\n\n%s", n->recorded);
	for (size_t i = 0; i < n->missing.n; i++)
		fprintf(out, "Not seen: %s.\n", n->missing.v[i]);
	for (size_t i = 0; i < n->remarks.n; i++)
		fprintf(out, "Note: %s.\n", n->remarks.v[i]);
}
