#include "machine/cmd-waits/export-counters.h"

#include <inttypes.h>
#include <math.h>
#include <unistd.h>

#include "machine/answer-history/recorded.h"

static void put_text(const char *text, FILE *out)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		if ((unsigned char)*text >= ' ')
			fputc(*text, out);
	}
	fputc('"', out);
}

static void put_counter(const struct recorded_counter *c, size_t n, FILE *out)
{
	fputs("{\"name\": ", out);
	put_text(c->name, out);
	fputs(", \"unit\": ", out);
	put_text(c->unit, out);
	fputs(", \"values\": [", out);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? "," : "", out);
		if (isfinite(c->values[i]))
			fprintf(out, "%.9g", c->values[i]);
		else
			fputs("null", out);
	}
	fputs("]}", out);
}

int export_counters(struct store *s, int64_t from, int64_t to, FILE *out)
{
	struct recorded recorded = {};
	char name[256] = "";
	int r = recorded_read(s, from, to - from > EXPORT_COUNTERS_MAX ? from + EXPORT_COUNTERS_MAX : to, &recorded);

	if (r < 0)
		return r;
	gethostname(name, sizeof(name) - 1);
	fputs("{\"server\": ", out);
	put_text(name, out);
	fputs(", \"times\": [", out);
	for (size_t i = 0; i < recorded.times.n; i++)
		fprintf(out, "%s%" PRId64, i ? "," : "", recorded.times.v[i]);
	fputs("], \"counters\": [", out);
	for (size_t i = 0; i < recorded.counters.n; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_counter(&recorded.counters.v[i], recorded.times.n, out);
	}
	fputs("]}\n", out);
	recorded_free(&recorded);
	return 0;
}
