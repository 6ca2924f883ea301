#include "machine/findings/facts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"

static const struct {
	struct feature feature;
	enum entity_kind kind;
	const char *part, *whole; /* share = part / whole */
	bool rest;		  /* share = 1 - part / whole */
	double factor;
} derived[] = {
	{{.name = "fs.used", .unit = PERMILLE, .kind = GAUGE, .resource = RESOURCE_OTHER, .help = "share of a file system that is full"},
	 ENTITY_FILESYSTEM, "fs.free", "fs.size", true, 1000},
	{{.name = "memory.used", .unit = PERMILLE, .kind = GAUGE, .resource = RESOURCE_MEMORY, .help = "share of memory that is not available"},
	 ENTITY_SYSTEM, "memory.available", "memory.total", true, 1000},
	{{.name = "swap.used", .unit = PERMILLE, .kind = GAUGE, .resource = RESOURCE_MEMORY, .help = "share of swap that is full"},
	 ENTITY_SYSTEM, "swap.free", "swap.total", true, 1000},
	{{.name = "tcp.retransmitted", .unit = PERMILLE, .kind = GAUGE, .resource = RESOURCE_NETWORK, .help = "share of TCP segments sent again"},
	 ENTITY_SYSTEM, "tcp.retransmits", "tcp.segments_out", false, 1000},
	{{.name = "disk.read_latency", .unit = NS, .kind = GAUGE, .resource = RESOURCE_IO, .help = "how long a read takes"},
	 ENTITY_DISK, "disk.read_time", "disk.reads", false, 1},
	{{.name = "disk.write_latency", .unit = NS, .kind = GAUGE, .resource = RESOURCE_IO, .help = "how long a write takes"},
	 ENTITY_DISK, "disk.write_time", "disk.writes", false, 1},
	{{.name = "disk.read_size", .unit = BYTES, .kind = GAUGE, .resource = RESOURCE_IO, .help = "bytes of a read"},
	 ENTITY_DISK, "disk.read_bytes", "disk.reads", false, 1},
	{{.name = "disk.flush_size", .unit = BYTES, .kind = GAUGE, .resource = RESOURCE_IO, .help = "bytes written for each flush"},
	 ENTITY_DISK, "disk.write_bytes", "disk.flushes", false, 1},
	/* of a program */
	{{.name = "io.write_ratio", .unit = PERMILLE, .kind = GAUGE, .resource = RESOURCE_IO, .help = "bytes written for each byte read"},
	 ENTITY_PROCESS, "io.write_bytes", "io.read_bytes", false, 1000},
	{{.name = "cpu.kernel_part", .unit = PERMILLE, .kind = GAUGE, .resource = RESOURCE_CPU, .help = "share of its CPU time in the kernel"},
	 ENTITY_PROCESS, "cpu.system", "cpu.time", false, 1000},
	{{.name = "children.each", .unit = NS, .kind = GAUGE, .resource = RESOURCE_CPU, .help = "CPU time of each child that has ended"},
	 ENTITY_PROCESS, "children.cpu", "children.short", false, 1},
	{{.name = "children.part", .unit = PERMILLE, .kind = GAUGE, .resource = RESOURCE_CPU, .help = "CPU time of its children that have ended, for its own and theirs"},
	 ENTITY_PROCESS, "children.cpu", "cpu.time", false, 1000},
	{{.name = "faults.system_rate", .unit = COUNT, .kind = GAUGE, .resource = RESOURCE_FAULTS, .help = "minor faults for each second in the kernel"},
	 ENTITY_PROCESS, "faults.minor", "cpu.system", false, 1e9},
	/* of the culprit: put there by the one that knows the ranking */
	{{.name = "share", .unit = PERMILLE, .kind = GAUGE, .resource = RESOURCE_OTHER, .help = "the culprit's share of what all used"},
	 ENTITY_PROCESS, NULL, NULL, false, 1},
	{{.name = "explains", .unit = PERMILLE, .kind = GAUGE, .resource = RESOURCE_DELAY,
	  .help = "share of the additional waiting that the culprit causes"},
	 ENTITY_PROCESS, NULL, NULL, false, 1},
	{{.name = "alone", .unit = COUNT, .kind = GAUGE, .resource = RESOURCE_DELAY, .help = "1 where no other program waits longer than normally"},
	 ENTITY_PROCESS, NULL, NULL, false, 1},
	{{.name = "ahead_of_steal", .unit = PERMILLE, .kind = GAUGE, .resource = RESOURCE_DELAY,
	  .help = "... beyond the hypervisor's share"},
	 ENTITY_PROCESS, NULL, NULL, false, 1},
	{{.name = "ahead_of_heat", .unit = PERMILLE, .kind = GAUGE, .resource = RESOURCE_DELAY,
	  .help = "... beyond what cores lose by heat"},
	 ENTITY_PROCESS, NULL, NULL, false, 1},
	{{.name = "ahead", .unit = COUNT, .kind = GAUGE, .resource = RESOURCE_OTHER, .help = "how far its nice value lies below that of the victim"},
	 ENTITY_PROCESS, NULL, NULL, false, 1},
	{{.name = "outside", .unit = PERMILLE, .kind = GAUGE, .resource = RESOURCE_NETWORK,
	  .help = "share of the culprit's traffic that the interfaces of this machine can have moved, without lo"},
	 ENTITY_PROCESS, NULL, NULL, false, 1},
	{{.name = "collector", .unit = PERMILLE, .kind = GAUGE, .resource = RESOURCE_CPU,
	  .help = "share of its CPU time that its garbage collector's threads used in the last 20 s (flight recorder)"},
	 ENTITY_PROCESS, NULL, NULL, false, 1},
	{{.name = "processes", .unit = COUNT, .kind = GAUGE, .resource = RESOURCE_OTHER, .help = "processes of the culprit's program"},
	 ENTITY_PROCESS, NULL, NULL, false, 1},
	{{.name = "age", .unit = NS, .kind = GAUGE, .resource = RESOURCE_OTHER, .help = "how long ago it was started"},
	 ENTITY_PROCESS, NULL, NULL, false, 1},
	{{.name = "ended", .unit = NS, .kind = GAUGE, .resource = RESOURCE_OTHER, .help = "how long before the question the last of it ended"},
	 ENTITY_PROCESS, NULL, NULL, false, 1},
	{{.name = "ran", .unit = NS, .kind = GAUGE, .resource = RESOURCE_OTHER, .help = "the longest time after which an earlier one of its program ended; only where this one is younger"},
	 ENTITY_PROCESS, NULL, NULL, false, 1},
	{{.name = "pushed_ago", .unit = NS, .kind = GAUGE, .resource = RESOURCE_MEMORY, .help = "how long before the question memory was last moved to swap"},
	 ENTITY_PROCESS, NULL, NULL, false, 1},
	{{.name = "holds", .unit = NS, .kind = COUNTER, .resource = RESOURCE_DELAY, .help = "time that others wait for its locks (flight recorder)"},
	 ENTITY_PROCESS, NULL, NULL, false, 1},
	{{.name = "unread", .unit = NS, .kind = COUNTER, .resource = RESOURCE_DELAY, .help = "time that it sleeps while others wait for it to read (flight recorder)"},
	 ENTITY_PROCESS, NULL, NULL, false, 1},
	{{.name = "owes", .unit = NS, .kind = COUNTER, .resource = RESOURCE_DELAY,
	  .help = "time that it sleeps, for another process of its own, while others wait for its answer (flight recorder)"},
	 ENTITY_PROCESS, NULL, NULL, false, 1},
	{{.name = "unanswered", .unit = NS, .kind = COUNTER, .resource = RESOURCE_DELAY,
	  .help = "time that it keeps others waiting for answers that always came before (flight recorder)"},
	 ENTITY_PROCESS, NULL, NULL, false, 1},
	{{.name = "rests", .unit = NS, .kind = COUNTER, .resource = RESOURCE_DELAY, .help = "time that it sleeps while it holds locks that others wait for (flight recorder)"},
	 ENTITY_PROCESS, NULL, NULL, false, 1},
	{{.name = "stops", .unit = NS, .kind = COUNTER, .resource = RESOURCE_DELAY, .help = "time that it stops others (flight recorder)"},
	 ENTITY_PROCESS, NULL, NULL, false, 1},
};

const struct feature *fact_derived_feature(const char *name, enum entity_kind *ret_kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(derived); i++) {
		if (strcmp(derived[i].feature.name, name) != 0)
			continue;
		if (ret_kind)
			*ret_kind = derived[i].kind;
		return &derived[i].feature;
	}
	return NULL;
}

static void who_free(struct fact_who *w)
{
	FREE_ALL(w->name, w->exe, w->pids, w->server, w->mostly, w->starter, w->unit);
}

void facts_free(struct facts *f)
{
	VEC_FREE_EACH(f->list, free(each->part));
	VEC_FREE_EACH(f->said, free(*each));
	for (enum fact_clause c = 0; c < CLAUSE_COUNT; c++)
		free(f->clauses[c]);
	who_free(&f->culprit);
	who_free(&f->victim);
	*f = (struct facts){};
}

int facts_add(struct facts *f, struct fact fact)
{
	int r = VEC_PUSH(f->list, fact);

	if (r < 0)
		free(fact.part);
	return r;
}

static bool same_part(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static const struct fact *find_of_part(const struct facts *f, const char *name, enum fact_of of, const char *part)
{
	for (size_t i = 0; i < f->list.n; i++)
		if (f->list.v[i].of == of && strcmp(f->list.v[i].feature->name, name) == 0 &&
		    same_part(f->list.v[i].part, part))
			return &f->list.v[i];
	return NULL;
}

static double ratio(size_t i, double part, double whole)
{
	if (!(whole > 0))
		return NAN;
	return derived[i].factor * (derived[i].rest ? 1 - part / whole : part / whole);
}

static int derive(struct facts *f, size_t i, const struct fact *part)
{
	const struct fact *whole = find_of_part(f, derived[i].whole, part->of, part->part);
	struct fact fact = {.of = part->of, .feature = &derived[i].feature};

	if (!whole)
		return 0;
	fact.now = ratio(i, part->now, whole->now);
	if (isnan(fact.now))
		return 0;
	fact.usual = ratio(i, part->usual, whole->usual);
	fact.spread = isnan(fact.usual) ? NAN : fmax(0.1 * fact.usual, derived[i].feature.unit == NS ? 1e6 : 10);
	fact.part = part->part ? strdup(part->part) : NULL;
	return part->part && !fact.part ? -ENOMEM : facts_add(f, fact);
}

int facts_derive(struct facts *f)
{
	size_t n = f->list.n;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(derived); i++)
		for (size_t k = 0; r == 0 && derived[i].part && k < n; k++) {
			struct fact part = f->list.v[k];

			if ((part.of == FACT_MACHINE) == (derived[i].kind != ENTITY_PROCESS) && strcmp(part.feature->name, derived[i].part) == 0)
				r = derive(f, i, &part);
		}
	return r;
}

const struct fact *facts_find(const struct facts *f, enum fact_of of, const char *name)
{
	const struct fact *best = NULL;

	for (size_t i = 0; i < f->list.n; i++) {
		const struct fact *x = &f->list.v[i];

		if (x->of == of && strcmp(x->feature->name, name) == 0 && (!best || x->now > best->now))
			best = x;
	}
	return best;
}

int fact_direction(const struct fact *f)
{
	double usual = isnan(f->usual) ? 0 : f->usual, spread = isnan(f->spread) ? 0 : f->spread;

	if (f->now - usual > 3 * spread)
		return 1;
	return usual - f->now > 3 * spread ? -1 : 0;
}

/* --- as text --- */

const char *const fact_of_names[FACT_OF_COUNT] = {"machine", "culprit", "victims"};
const char *const fact_clause_names[CLAUSE_COUNT] = {"likely", "pushed", "limit", "limit-advice"};

static void put_word(const char *text, struct str *out)
{
	str_putc(out, '\t');
	for (const char *p = text && *text ? text : "-"; *p; p++)
		str_putc(out, *p == '\t' || *p == '\n' ? ' ' : *p);
}

/* NULL = nothing to say */
static void put_line(const char *title, const char *word, struct str *out)
{
	if (!word)
		return;
	str_puts(out, title);
	put_word(word, out);
	str_putc(out, '\n');
}

static void put_who(const char *title, const struct fact_who *w, struct str *out)
{
	if (!w->name)
		return;
	str_puts(out, title);
	put_word(w->name, out);
	put_word(w->exe, out);
	put_word(w->unit, out);
	str_printf(out, "\t%u\t%u%s\n", w->pid, w->members, w->using ? "\tusing" : "");
	put_line("server", w->server, out);
	put_line("mostly", w->mostly, out);
	put_line("starter", w->starter, out);
}

void facts_write(const struct facts *f, struct str *out)
{
	str_printf(out, "slow\t%s\t%s\t%s\n", f->slow ? "yes" : "no", bottleneck_name(f->bottleneck), f->named ? culprit_kind_name(f->kind) : "-");
	put_who("who", &f->culprit, out);
	put_who("victim", &f->victim, out);
	for (size_t i = 0; i < f->said.n; i++) {
		str_puts(out, "said");
		put_word(f->said.v[i], out);
		str_putc(out, '\n');
	}
	for (size_t i = 0; i < f->list.n; i++) {
		const struct fact *x = &f->list.v[i];

		str_puts(out, x->part ? "part" : fact_of_names[x->of]);
		if (x->part)
			put_word(x->part, out);
		str_printf(out, "\t%s\t%.4g\t%.4g\t%.4g\n", x->feature->name, x->now, x->usual, x->spread);
	}
	for (enum fact_clause c = 0; c < CLAUSE_COUNT; c++)
		put_line(fact_clause_names[c], f->clauses[c], out);
}
