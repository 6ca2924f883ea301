/* For Prometheus, in its text format: /metrics, and export --format prometheus.
 *
 * Names are as its conventions want them: base units (seconds, bytes), `_total` for running sums.
 */
#include <stdio.h>
#include <string.h>

#include "machine/view-why/metrics.h"

struct text {
	FILE *out;
	char name[128]; /* of the metric in hand */
};

static void replace_ending(char *name, const char *ending, const char *with)
{
	size_t length = strlen(name), n = strlen(ending);

	if (length > n && strcmp(name + length - n, ending) == 0)
		memcpy(name + length - n, with, strlen(with) + 1); /* which is no longer */
}

/* A program's "io.read_bytes" is whyslow_program_io_read_bytes_total; a disk's "disk.queue" is whyslow_disk_queue. */
static void begin(const struct metric *m, void *data)
{
	struct text *t = data;
	const struct feature *f = m->feature;
	const bool sum = f->kind == COUNTER;
	const char *unit = metric_unit(f)->ending;
	char name[96];

	memcpy(name, "whyslow_", 8);
	metric_name(m, name + 8, sizeof(name) - 16);
	for (char *c = name; *c; c++)
		if (*c == '.' || *c == '-')
			*c = '_';
	if (!sum) { /* these endings mean other kinds of metrics */
		replace_ending(name, "_count", "");
		replace_ending(name, "_total", "_size");
	}
	replace_ending(name, unit, "");
	snprintf(t->name, sizeof(t->name), "%s%s%s", name, unit, sum ? "_total" : "");
	fprintf(t->out, "# HELP %s %s\n# TYPE %s %s\n", t->name, f->help, t->name, sum ? "counter" : "gauge");
}

static void put_label(const char *name, const char *value, int n, bool *any, FILE *out)
{
	if (!n)
		return;
	fprintf(out, "%s%s=\"", *any ? "," : "{", name);
	*any = true;
	for (int i = 0; i < n; i++) {
		if (value[i] == '\\' || value[i] == '"')
			fputc('\\', out);
		fputc(value[i] == '\n' ? ' ' : value[i], out);
	}
	fputc('"', out);
}

static void put_value(const struct metric *m, const struct metric_owner *owner, double value, void *data)
{
	static const char *const labels[] = {
		[ENTITY_PROCESS] = "program", [ENTITY_CPU] = "cpu", [ENTITY_DISK] = "device", [ENTITY_FILESYSTEM] = "mountpoint",
		[ENTITY_INTERFACE] = "device", [ENTITY_CGROUP] = "cgroup", [ENTITY_SENSOR] = "sensor", [ENTITY_KERNEL] = "work",
		[TOTALS_RULE] = "rule", [METRIC_CULPRIT] = "program",
	};
	const struct text *t = data;
	const struct container_parts in = container_parts(owner->container);
	bool any = false;

	fputs(t->name, t->out);
	if (labels[m->kind])
		put_label(labels[m->kind], owner->name, (int)strlen(owner->name), &any, t->out);
	put_label("unit", owner->unit, (int)strlen(owner->unit), &any, t->out);
	put_label("namespace", in.namespace_.at, in.namespace_.n, &any, t->out);
	put_label("pod", in.pod.at, in.pod.n, &any, t->out);
	put_label("pod_uid", in.uid.at, in.uid.n, &any, t->out);
	put_label("container", in.name.at, in.name.n, &any, t->out);
	fprintf(t->out, "%s %.15g\n", any ? "}" : "", value);
}

void metrics_prometheus(const struct metrics *m, FILE *out)
{
	struct text t = {.out = out};

	fputs("# HELP whyslow_build_info which whyslow answers\n# TYPE whyslow_build_info gauge\n"
	      "whyslow_build_info{version=\"" WHYSLOW_VERSION "\"} 1\n", out);
	metrics_walk(m, &(struct metric_writer){begin, put_value, &t});
}
