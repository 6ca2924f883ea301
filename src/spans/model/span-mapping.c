#include "spans/model/span-mapping.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/file.h"

struct field {
	const char *name;
	const char *keys; /* by default, in order of preference */
};

static const struct field fields[FIELD_COUNT] = {
	[FIELD_TRACE] = {"trace", "TraceID, TraceId, traceId, trace_id, rootId, root_id"},
	[FIELD_SPAN] = {"span", "SpanID, SpanId, spanId, span_id, activityId, activity_id"},
	[FIELD_PARENT] = {"parent", "ParentID, ParentSpanId, parentSpanId, parent_span_id, parentId, parent_id, ParentSpan"},
	[FIELD_FUNCTION] = {"function", "OperationName, SpanName, operationName, operation_name, function, function_name, name, URL"},
	[FIELD_START] = {"start", "StartTimeUnixNano, startTimeUnixNano, start_time_unix_nano, Timestamp, StartTime, startTime, start_time, start"},
	[FIELD_END] = {"end", "EndTimeUnixNano, endTimeUnixNano, end_time_unix_nano, EndTime, endTime, end_time, end"},
	[FIELD_DURATION] = {"duration", "DurationNano, duration_nano, duration_ns, DurationMicro, duration_us, duration_ms, Duration, duration, executionTime, execution_time"},
	[FIELD_KIND] = {"kind", "SpanKind, spanKind, span_kind, span.kind, kind, SpanType"},
	[FIELD_STATUS] = {"status", "StatusCode, statusCode, status_code, otel.status_code, error, status, IsError"},
	[FIELD_SERVICE] = {"service", "service.name, ServiceName, serviceName, service_name, service, component, PodName, k8s.pod.name, cmdb_id"},
	[FIELD_INSTANCE] = {"instance", "service.instance.id, k8s.pod.name, PodName, instance, container.id, cmdb_id"},
	[FIELD_HOST] = {"host", "host.name, k8s.node.name, hostname, host, shard"},
	[FIELD_HARDWARE] = {"hardware", "hardware.generation, hw.generation, hardware_generation, hardwareGeneration, host.type, hardware, host.cpu.model.name"},
	[FIELD_WORKLOAD] = {"workload", "workload.type, vm.type, VMType, vmType, vm_type, workload_type, workload, request.type, request_type"},
	[FIELD_VERSION] = {"version", "service.version, softwareVersion, software_version, version, container.image.tag"},
	[FIELD_CALLEE] = {"callee", "peer.service, rpc.service, db.system.name, db.system, messaging.system, server.address, net.peer.name, "
			   "net.sock.peer.name, http.host, peer.hostname, out.host"},
	[FIELD_WEIGHT] = {"weight", "sampling.adjusted_count, sampler.adjusted_count, adjusted_count, SampleRate, sample_rate, weight"},
	[FIELD_ROUTE] = {"route", "http.route, url.template, url.path, http.target, url.full, http.url"},
	[FIELD_TARGET] = {"target", "db.collection.name, db.sql.table, db.mongodb.collection, db.cassandra.table, messaging.destination.template, "
				    "messaging.destination.name, messaging.destination, db.namespace, db.name"},
	[FIELD_REMOTE] = {"remote", "rpc.service"},
	[FIELD_OPERATION] = {"operation", "db.operation.name, db.operation, messaging.operation.name, messaging.operation, rpc.method"},
	[FIELD_PROCESS] = {"process", "process.pid, process_pid"},
};

const char *span_field_name(enum span_field field)
{
	return fields[field].name;
}

static void clear(struct span_mapping *m, enum span_field field)
{
	for (size_t i = 0; i < FIELD_KEYS_MAX; i++) {
		free(m->keys[field][i]);
		m->keys[field][i] = NULL;
	}
}

void span_mapping_free(struct span_mapping *m)
{
	for (int f = 0; f < FIELD_COUNT; f++)
		clear(m, (enum span_field)f);
}

static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

/* "key, key": 0, -ENOMEM, -E2BIG, or -EINVAL for an empty one. */
static int set_keys(struct span_mapping *m, enum span_field field, const char *text)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = copy, *word;
	size_t n = 0;

	if (!copy)
		return -ENOMEM;
	clear(m, field);
	while ((word = strsep(&rest, ","))) {
		word = trim(word);
		if (!*word)
			return -EINVAL;
		if (n == FIELD_KEYS_MAX)
			return -E2BIG;
		m->keys[field][n] = strdup(word);
		if (!m->keys[field][n++])
			return -ENOMEM;
	}
	return 0;
}

int span_mapping_init(struct span_mapping *m)
{
	int r = 0;

	*m = (struct span_mapping){};
	for (int f = 0; f < FIELD_COUNT && r == 0; f++)
		r = set_keys(m, (enum span_field)f, fields[f].keys);
	if (r < 0)
		span_mapping_free(m);
	return r;
}

static int complain(char **ret_error, const char *path, unsigned line, const char *what, const char *name)
{
	if (asprintf(ret_error, "%s:%u: %s '%s'; a line is: field = attribute, attribute (fields: trace, span, parent, "
				"function, start, end, duration, kind, status, service, instance, host, hardware, workload, "
				"version, callee, weight, route, target, remote, operation, process)", path, line, what, name) < 0)
		*ret_error = NULL;
	return -EINVAL;
}

static int read_line(struct span_mapping *m, const char *path, unsigned line, char *text, char **ret_error)
{
	char *value = strchr(text, '=');
	int r;

	if (!value)
		return complain(ret_error, path, line, "there is no '=' in", text);
	*value++ = '\0';
	text = trim(text);
	for (int f = 0; f < FIELD_COUNT; f++) {
		if (strcmp(fields[f].name, text))
			continue;
		r = set_keys(m, (enum span_field)f, trim(value));
		if (r == -E2BIG)
			return complain(ret_error, path, line, "more than 12 attributes for", text);
		return r == -EINVAL ? complain(ret_error, path, line, "an attribute without a name in", text) : r;
	}
	return complain(ret_error, path, line, "there is no field", text);
}

int span_mapping_read(struct span_mapping *m, const char *path, char **ret_error)
{
	FILE *f = fopen(path, "re");
	int r = 0;

	*ret_error = NULL;
	if (!f)
		return -errno;
	LINES_EACH(line, f) {
		char *start;

		line.text[strcspn(line.text, "#")] = '\0';
		start = trim(line.text);
		if (r == 0 && *start)
			r = read_line(m, path, line.number, start, ret_error);
	}
	return r;
}

static bool names_key(const struct span_mapping *m, int field, const char *key, size_t n)
{
	for (char *const *k = m->keys[field]; *k; k++)
		if (strlen(*k) == n && !memcmp(*k, key, n))
			return true;
	return false;
}

bool span_mapping_wants(const struct span_mapping *m, const char *key, size_t n)
{
	for (int f = FIELD_SERVICE; f < FIELD_COUNT; f++)
		if (names_key(m, f, key, n))
			return true;
	return false;
}

bool span_field_is_of_process(enum span_field field)
{
	return field == FIELD_SERVICE || field == FIELD_INSTANCE || field == FIELD_HOST || field == FIELD_HARDWARE || field == FIELD_VERSION ||
	       field == FIELD_PROCESS;
}

bool span_mapping_is_of_process(const struct span_mapping *m, const char *key, size_t n)
{
	for (int f = FIELD_SERVICE; f < FIELD_COUNT; f++)
		if (span_field_is_of_process((enum span_field)f) && names_key(m, f, key, n))
			return true;
	return false;
}
