#include "machine/answer-history/boot.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"

#define CALM	     0.10		/* share of time in which someone waits */
#define CALM_TICKS   10
#define FAULT_BYTES  65536.0 /* what one major fault reads: the normal read-around */

struct start {
	double cpu, read_bytes, faults_major, io_pressure, cpu_pressure, seconds;
	const struct subject *most_cpu, *most_read;
	double cpu_share, read_share;
};

static double growth(const struct dataset *d, const struct subject *s, size_t f, uint32_t to)
{
	return subject_has(s, f) ? subject_growth(d, s, f, 0, to) : 0;
}

static double pressure(const struct dataset *d, int feature, uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < d->subjects.n; i++)
		if (d->subjects.v[i]->info.kind == ENTITY_SYSTEM)
			return subject_mean(d, d->subjects.v[i], (size_t)feature, from, to) / 1e9;
	return NAN;
}

/* The last tick of the start: after it everybody gets what they want for a while. */
static uint32_t end_of_start(const struct dataset *d)
{
	uint32_t last = (uint32_t)d->ticks.n - 1;

	for (uint32_t t = 1; t + CALM_TICKS <= last; t++)
		if (!(pressure(d, FEATURE_PSI_CPU_SOME, t, t + CALM_TICKS) >= CALM) &&
		    !(pressure(d, FEATURE_PSI_IO_SOME, t, t + CALM_TICKS) >= CALM))
			return t;
	return last;
}

static struct start measure(const struct dataset *d, uint32_t end)
{
	struct start st = {.seconds = (double)(d->ticks.v[end].boot) / 1e9};
	double most_cpu = 0, most_read = 0;

	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];
		double cpu, bytes;

		if (s->info.kind != ENTITY_PROCESS || s->first > end)
			continue;
		cpu = growth(d, s, FEATURE_CPU_TIME, end);
		bytes = growth(d, s, FEATURE_IO_READ_BYTES, end);
		st.cpu += cpu;
		st.read_bytes += bytes;
		st.faults_major += growth(d, s, FEATURE_FAULTS_MAJOR, end);
		if (cpu > most_cpu) {
			most_cpu = cpu;
			st.most_cpu = s;
		}
		if (bytes > most_read) {
			most_read = bytes;
			st.most_read = s;
		}
	}
	st.cpu_share = st.cpu > 0 ? most_cpu / st.cpu : 0;
	st.read_share = st.read_bytes > 0 ? most_read / st.read_bytes : 0;
	st.io_pressure = pressure(d, FEATURE_PSI_IO_SOME, 0, end);
	st.cpu_pressure = pressure(d, FEATURE_PSI_CPU_SOME, 0, end);
	return st;
}

static bool is_script(const struct subject *s)
{
	_cleanup_free_ char *label = s ? entity_label(&s->info) : NULL;

	return label && strchr(label, ' '); /* an interpreter with what it runs */
}

static const char *kind_of(const struct start *st)
{
	if (st->io_pressure >= CALM && !(st->io_pressure < st->cpu_pressure))
		return st->faults_major * FAULT_BYTES > 0.5 * st->read_bytes ? "start-up: paging in code" :
									       "start-up: reading files";
	if (st->cpu_pressure >= CALM || st->cpu / 1e9 > 0.5 * st->seconds)
		return is_script(st->most_cpu) && st->cpu_share > 0.3 ? "start-up: a start-up script" : "start-up: computing";
	return NULL;
}

static char *tell(const struct start *st, const char *kind, int64_t until)
{
	_cleanup_free_ char *cpu = st->most_cpu ? entity_label(&st->most_cpu->info) : NULL;
	_cleanup_free_ char *reads = st->most_read ? entity_label(&st->most_read->info) : NULL;
	struct str s = {};

	str_printf(&s, "the start took %s", CLOCK_SPAN(until));
	str_printf(&s, kind ? "; %s" : "; nothing was short", kind ? kind + strlen("start-up: ") : "");
	str_printf(&s, ": %.1f s of CPU", st->cpu / 1e9);
	if (cpu)
		str_printf(&s, " (most, %.0f %%: %s)", 100 * st->cpu_share, cpu);
	str_printf(&s, ", %.0f MB read", st->read_bytes / 1e6);
	if (reads)
		str_printf(&s, " (most, %.0f %%: %s)", 100 * st->read_share, reads);
	return s.data;
}

int boot_answer(struct dataset *d, const struct why_request *request, struct answer *ret)
{
	struct why_request until = *request;
	const char *kind;
	struct start st;
	uint32_t end;
	int r;

	if (d->ticks.n < 2 || d->ticks.v[0].wall - request->since > BOOT_RECORDED_BY)
		return -ENODATA;
	end = end_of_start(d);
	st = measure(d, end);
	kind = kind_of(&st);
	until.at = d->ticks.v[end].wall;
	r = why_answer(d, &until, ret);
	if (r < 0)
		return r;
	ret->slow = kind != NULL;
	ret->slow_since = request->since;
	free(ret->summary);
	ret->summary = tell(&st, kind, d->ticks.v[end].wall - request->since);
	ret->cause = kind ? strdup(kind) : NULL;
	return 0;
}
