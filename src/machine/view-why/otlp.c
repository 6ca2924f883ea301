#include "machine/view-why/otlp.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "lib/view/json.h"

#define POINTS_AT_A_TIME 5000 /* of a document: 2 MB; collectors take 20 */
#define CUMULATIVE	 2
#define WARN		 13

/* --- what all have --- */

/* OTLP has 64-bit numbers as text. */
static json_t *number_text(int64_t value)
{
	return json_string(STR_TEXT(24, "%" PRId64, value));
}

static void add_attribute(json_t *attributes, const char *key, const char *type, json_t *value)
{
	json_array_append_new(attributes, json_pack("{s:s, s:{s:o}}", "key", key, "value", type, value));
}

static void add_text(json_t *attributes, const char *key, const char *value)
{
	if (value && *value)
		add_attribute(attributes, key, "stringValue", json_string(value));
}

static void add_part(json_t *attributes, const char *key, struct container_part part)
{
	if (part.n)
		add_attribute(attributes, key, "stringValue", json_stringn(part.at, (size_t)part.n));
}

static json_t *resource(void)
{
	char host[256] = "";
	json_t *attributes = json_array();

	(void)gethostname(host, sizeof(host) - 1);
	add_text(attributes, "service.name", "whyslow");
	add_text(attributes, "service.version", WHYSLOW_VERSION);
	add_text(attributes, "host.name", host);
	add_text(attributes, "os.type", "linux");
	return json_pack("{s:o}", "attributes", attributes);
}

/* {"resourceMetrics": [{"resource": ..., "scopeMetrics": [{"scope": ..., "metrics": list}]}]}, and so of logs. Takes the list. */
static json_t *document(const char *resources, const char *scopes, const char *name, json_t *list)
{
	return json_pack("{s:[{s:o, s:[{s:{s:s, s:s}, s:o}]}]}", resources, "resource", resource(), scopes, "scope", "name", "whyslow", "version",
			 WHYSLOW_VERSION, name, list);
}

static int send_list(const char *signal, const char *resources, const char *scopes, const char *name, json_t *list, otlp_send send, void *data)
{
	json_t *d = document(resources, scopes, name, list);
	int r = d ? send(signal, d, data) : -ENOMEM;

	json_decref(d);
	return r;
}

/* --- whose --- */

static bool is_id(struct container_part p)
{
	return p.n == 12 && (int)strspn(p.at, "0123456789abcdef") >= p.n;
}

static void add_program(json_t *attributes, const struct metric_owner *owner)
{
	const struct container_parts in = container_parts(owner->container);
	const char *container = is_id(in.name) ? "container.id" : in.pod.n ? "k8s.container.name" : "container.name";

	add_part(attributes, "process.executable.name", (struct container_part){owner->name, (int)strcspn(owner->name, " ")});
	add_text(attributes, "whyslow.program", owner->name);
	add_text(attributes, owner->unit[0] == '/' ? "process.linux.cgroup" : "systemd.unit.name", owner->unit);
	add_part(attributes, "k8s.namespace.name", in.namespace_);
	add_part(attributes, "k8s.pod.name", in.pod);
	add_part(attributes, "k8s.pod.uid", in.uid);
	add_part(attributes, container, in.name);
}

static json_t *attributes_of(const struct metric *m, const struct metric_owner *owner)
{
	static const char *const keys[] = {
		[ENTITY_CPU] = "cpu.logical_number",	 [ENTITY_DISK] = "system.device",	  [ENTITY_FILESYSTEM] = "system.filesystem.mountpoint",
		[ENTITY_INTERFACE] = "network.interface.name", [ENTITY_CGROUP] = "process.linux.cgroup", [ENTITY_SENSOR] = "hw.name",
		[ENTITY_KERNEL] = "whyslow.work",	 [TOTALS_RULE] = "whyslow.rule",	  [METRIC_CULPRIT] = NULL,
	};
	json_t *attributes = json_array();

	if (m->kind == ENTITY_PROCESS || m->kind == METRIC_CULPRIT)
		add_program(attributes, owner);
	else if (keys[m->kind])
		add_text(attributes, keys[m->kind], owner->name);
	return attributes;
}

/* --- metrics --- */

/* The name that OpenTelemetry's conventions have for a feature, and what distinguishes it from others of that name. */
struct convention {
	size_t feature;
	const char *name, *key, *value;
};

static const struct convention *find_convention(const struct metric *m)
{
	static const struct convention conventions[] = {
		{FEATURE_CPU_USER, "process.cpu.time", "cpu.mode", "user"},
		{FEATURE_CPU_SYSTEM, "process.cpu.time", "cpu.mode", "system"},
		{FEATURE_MEM_VIRTUAL, "process.memory.virtual", NULL, NULL},
		{FEATURE_IO_READ_BYTES, "process.disk.io", "disk.io.direction", "read"},
		{FEATURE_IO_WRITE_BYTES, "process.disk.io", "disk.io.direction", "write"},
		{FEATURE_NET_RX_BYTES, "process.network.io", "network.io.direction", "receive"},
		{FEATURE_NET_TX_BYTES, "process.network.io", "network.io.direction", "transmit"},
		{FEATURE_CTX_VOLUNTARY, "process.context_switches", "process.context_switch.type", "voluntary"},
		{FEATURE_CTX_INVOLUNTARY, "process.context_switches", "process.context_switch.type", "involuntary"},
		{FEATURE_FAULTS_MINOR, "process.paging.faults", "system.paging.fault.type", "minor"},
		{FEATURE_FAULTS_MAJOR, "process.paging.faults", "system.paging.fault.type", "major"},
		{FEATURE_THREADS, "process.thread.count", NULL, NULL},
		{FEATURE_HANDLES_FILES, "process.unix.file_descriptor.count", NULL, NULL},
	};
	size_t n;
	const struct feature *features = features_of(ENTITY_PROCESS, &n);

	for (size_t i = 0; m->kind == ENTITY_PROCESS && i < ARRAY_SIZE(conventions); i++)
		if (m->feature == &features[conventions[i].feature])
			return &conventions[i];
	return NULL;
}

/* The metric in hand, and those before it that were not sent yet. */
struct batch {
	json_t *metrics, *points; /* points: of the last metric; belongs to it */
	const struct convention *convention; /* of the metric in hand */
	size_t n;
	int64_t started, now;
	otlp_send send;
	void *data;
	int r;
};

static void send_batch(struct batch *b)
{
	if (b->r == 0 && b->n)
		b->r = send_list("metrics", "resourceMetrics", "scopeMetrics", "metrics", json_incref(b->metrics), b->send, b->data);
	json_decref(b->metrics);
	b->metrics = json_array();
	b->points = NULL;
	b->n = 0;
}

/* Two features may be one metric: its points are then in one list. */
static json_t *points_named(json_t *metrics, const char *name)
{
	size_t i;
	json_t *metric;

	json_array_foreach (metrics, i, metric)
		if (strcmp(json_string_value(json_object_get(metric, "name")), name) == 0)
			return json_object_get(json_object_get(metric, json_object_get(metric, "sum") ? "sum" : "gauge"), "dataPoints");
	return NULL;
}

static void begin(const struct metric *m, void *data)
{
	struct batch *b = data;
	const bool sum = m->feature->kind == COUNTER;
	char own[96] = "whyslow.";
	const char *name;
	json_t *values;

	if (b->n >= POINTS_AT_A_TIME)
		send_batch(b);
	b->convention = find_convention(m);
	name = b->convention ? b->convention->name : (metric_name(m, own + strlen(own), sizeof(own) - strlen(own)), own);
	b->points = points_named(b->metrics, name);
	if (b->points)
		return;
	b->points = json_array();
	values = json_pack("{s:O}", "dataPoints", b->points);
	if (sum) {
		json_object_set_new(values, "aggregationTemporality", json_integer(CUMULATIVE));
		json_object_set_new(values, "isMonotonic", json_true());
	}
	json_array_append_new(b->metrics, json_pack("{s:s, s:s, s:s, s:o}", "name", name, "unit", metric_unit(m->feature)->code, "description",
						    m->feature->help, sum ? "sum" : "gauge", values));
	json_decref(b->points); /* its metric keeps it */
}

static void put_value(const struct metric *m, const struct metric_owner *owner, double value, void *data)
{
	struct batch *b = data;
	json_t *attributes = attributes_of(m, owner);

	if (b->convention && b->convention->key)
		add_text(attributes, b->convention->key, b->convention->value);
	json_array_append_new(b->points, json_pack("{s:o, s:o, s:o, s:o}", "attributes", attributes, "startTimeUnixNano", number_text(b->started),
						   "timeUnixNano", number_text(b->now), "asDouble", json_number(value)));
	b->n++;
}

static int64_t recorder_value(const struct totals_row *rows, size_t value)
{
	for (size_t i = 0; i < TOTALS_ROWS; i++) {
		const struct totals_row *row = totals_at(rows, i);

		if (row && row->kind == TOTALS_RECORDER)
			return __atomic_load_n(&row->values[value], __ATOMIC_RELAXED);
	}
	return 0;
}

int otlp_metrics(const struct metrics *m, otlp_send send, void *data)
{
	struct batch b = {.metrics = json_array(), .started = recorder_value(m->rows, TOTALS_RECORDER_STARTED),
			  .now = recorder_value(m->rows, TOTALS_RECORDER_LAST), .send = send, .data = data};

	metrics_walk(m, &(struct metric_writer){begin, put_value, &b});
	send_batch(&b);
	json_decref(b.metrics);
	return b.r;
}

/* --- incidents --- */

/* A label may be that of programs in several places: then none of them is said. */
static struct metric_owner owner_named(const struct totals_row *rows, const char *label)
{
	const struct totals_row *found = NULL;

	for (size_t i = 0; i < TOTALS_ROWS; i++) {
		const struct totals_row *row = totals_at(rows, i);

		if (!row || row->kind != ENTITY_PROCESS || strcmp(row->name, label) != 0)
			continue;
		if (found)
			return (struct metric_owner){label, "", ""};
		found = row;
	}
	return (struct metric_owner){label, found ? found->unit : "", found ? found->container : ""};
}

static json_t *incident_record(const struct otlp_incident *x, const struct totals_row *rows)
{
	json_t *attributes = json_array();
	const struct metric_owner owner = owner_named(rows, x->culprit ? x->culprit : "");

	add_attribute(attributes, "whyslow.incident.id", "intValue", number_text(x->id));
	add_text(attributes, "whyslow.incident.source", x->rule ? "rule" : "user");
	add_attribute(attributes, "whyslow.incident.duration", "doubleValue", json_real((double)(x->last - x->wall) / 1e9));
	add_text(attributes, "whyslow.rule", x->rule);
	add_text(attributes, "whyslow.incident.note", x->note);
	add_text(attributes, "whyslow.cause", x->cause);
	add_text(attributes, "whyslow.resource", x->resource);
	if (x->culprit) {
		add_attribute(attributes, "whyslow.confidence", "doubleValue", json_real(x->confidence));
		add_program(attributes, &owner);
	}
	return json_pack("{s:o, s:o, s:i, s:s, s:s, s:{s:o}, s:o}", "timeUnixNano", number_text(x->wall), "observedTimeUnixNano", number_text(clock_wall()),
			 "severityNumber", WARN, "severityText", "WARN", "eventName", "whyslow.incident", "body", "stringValue",
			 json_text(x->summary ? x->summary : x->note ? x->note : "this machine was slow"), "attributes", attributes);
}

int otlp_incidents(const struct otlp_incident *incidents, size_t n, const struct totals_row *rows, otlp_send send, void *data)
{
	if (!n)
		return 0;
	return send_list("logs", "resourceLogs", "scopeLogs", "logRecords", JSON_FIRST(x, incidents, n, incident_record(x, rows)), send, data);
}
