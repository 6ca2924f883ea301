/* sysstat's recordings: what `sadf -j` wrote (-x: sysstat-xml.c), or sar's own files (saDD), for which sadf is called.
 *
 *   {"sysstat": {"hosts": [{"nodename": "web-1", "statistics": [
 *      {"timestamp": {"date": "2026-11-20", "time": "14:00:01", "utc": 1, "interval": 600},
 *       "cpu-load": [{"cpu": "all", "user": 1.2}], "memory": {"memfree": 12}, "network": {"net-dev": [{"iface": "lo", ...}]}}]}]}}
 *
 * All are levels or rates that sadf has computed. Of a list's members the text that names them (cpu, iface,
 * disk-device ...) becomes part of the counter: cpu-load.user[all].
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fleet/formats/sysstat-record.h"
#include "fleet/model/selection.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/file.h"
#include "lib/data/str.h"
#include "lib/input/files.h"
#include "lib/input/stream.h"
#include "lib/input/timestamp.h"

#define TEXT_MAX  ((size_t)1 << 30) /* a month of one machine as JSON is 200 MB */
#define DEPTH_MAX 8

extern char **environ;

static const char *const endings[] = {".json", ".xml", ".sa", NULL};

struct host {
	const struct text_lines *at;
	int server;
	int64_t time;
};

static int put(struct host *h, const char *path, const char *key, const char *member, const json_t *value)
{
	_cleanup_str_ struct str name = {};
	int counter;

	str_printf(&name, "%s%s%s", path, *path ? "." : "", key);
	if (member)
		str_printf(&name, "[%s]", member);
	if (name.error)
		return -ENOMEM;
	if (!selection_wants_counter(h->at->input, name.data))
		return 0;
	counter = intake_counter(h->at->into, name.data, &(struct counter_info){.kind = FLEET_GAUGE});
	return counter < 0 ? counter : intake_put(h->at->into, h->server, counter, h->time, json_number_value(value));
}

/* The name of a list's member: its first text. */
static const char *member_of(const json_t *object)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value)
		if (json_is_string(value))
			return json_string_value(value);
	return NULL;
}

static int walk(struct host *h, const char *path, const char *member, const json_t *object, int depth)
{
	const char *key;
	json_t *value, *item;
	size_t i;
	int r = 0;

	json_object_foreach((json_t *)object, key, value) {
		_cleanup_free_ char *below = NULL;

		if (json_is_number(value)) {
			r = put(h, path, key, member, value);
		} else if (depth < DEPTH_MAX && (json_is_object(value) || json_is_array(value))) {
			if (asprintf(&below, "%s%s%s", path, *path ? "." : "", key) < 0)
				return -ENOMEM;
			if (json_is_object(value))
				r = walk(h, below, member, value, depth + 1);
			else
				json_array_foreach(value, i, item) {
					r = r < 0 ? r : walk(h, below, member_of(item) ? member_of(item) : member, item, depth + 1);
				}
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* iostat writes it as the user's locale has it: "11/29/26 19:53:55" (C), "11/29/2026 07:53:55 PM", "29.11.2026 19:53:55"; format: NULL = one of these. */
static int parse_timestamp(const char *text, const char *format, int64_t *ret)
{
	static const char *const formats[] = {"%m/%d/%y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p", "%d.%m.%Y %H:%M:%S"};
	const char *end = strchr(text, 0);

	if (format)
		return timestamp_parse_as(format, text, end, ret);
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (timestamp_parse_as(formats[i], text, end, ret) == 0)
			return 0;
	return strchr(text, '-') ? timestamp_parse(text, end, ret) : -EINVAL;
}

/* The zone is UTC where it says so (it does unless sadf was called with -t), else this machine's. */
static int time_of(const json_t *timestamp, const char *format, int64_t *ret)
{
	const char *date = json_string_value(json_object_get(timestamp, "date"));
	const char *time = json_string_value(json_object_get(timestamp, "time"));
	const json_t *utc = json_object_get(timestamp, "utc");
	struct tm tm = {.tm_isdst = -1};
	char text[64];
	time_t seconds;

	if (json_is_string(timestamp)) /* iostat -o JSON */
		return parse_timestamp(json_string_value(timestamp), format, ret);
	if (!date || !time || snprintf(text, sizeof(text), "%s %s", date, time) >= (int)sizeof(text))
		return -EINVAL;
	if (json_is_true(utc) || json_integer_value(utc) != 0)
		return timestamp_parse(text, text + strlen(text), ret);
	if (!strptime(text, "%Y-%m-%d %H:%M:%S", &tm))
		return -EINVAL;
	seconds = mktime(&tm);
	if (seconds < 0 || seconds > INT64_MAX / NS_PER_SEC)
		return -EINVAL;
	*ret = seconds * NS_PER_SEC;
	return 0;
}

int sysstat_record_take(const struct text_lines *l, const char *server, uint64_t number, const json_t *record)
{
	struct host h = {.at = l, .server = intake_server(l->into, server)};
	json_t *rest;
	int r;

	if (h.server < 0)
		return h.server;
	if (!json_is_object(record) || time_of(json_object_get(record, "timestamp"), l->input->time_format, &h.time) < 0) {
		intake_bad(l->into, l->path, 0, "record %" PRIu64 " has no date and time, as sadf -j and iostat -t -o JSON write them", number);
		return 0;
	}
	if (!selection_wants_time(l->input, h.time))
		return 0;
	rest = json_copy((json_t *)record);
	if (!rest)
		return -ENOMEM;
	json_object_del(rest, "timestamp");
	r = walk(&h, "", NULL, rest, 0);
	json_decref(rest);
	return r;
}

static int take_hosts(const struct text_lines *l, const json_t *root)
{
	const json_t *hosts = json_object_get(json_object_get(root, "sysstat"), "hosts"), *host, *record;
	uint64_t number = 0;
	size_t i, k;
	int r = 0;

	if (!json_is_array(hosts)) {
		intake_bad(l->into, l->path, 0, "not a recording of sysstat: sadf -j writes {\"sysstat\": {\"hosts\": ...}}");
		return 0;
	}
	json_array_foreach((json_t *)hosts, i, host) {
		const char *name = json_string_value(json_object_get(host, "nodename"));

		json_array_foreach(json_object_get(host, "statistics"), k, record) {
			r = r ?: sysstat_record_take(l, name ? name : l->name, ++number, record);
		}
	}
	return r;
}

static int take_json(const struct text_lines *l, const struct str *text)
{
	json_error_t error;
	_cleanup_(json_decrefp) json_t *root = json_loadb(text->data ? text->data : "", text->len, 0, &error);
	int r = 0;

	if (root)
		r = take_hosts(l, root);
	else
		intake_bad(l->into, l->path, (uint64_t)(error.line > 0 ? error.line : 0), "no JSON: %s", error.text);
	return r;
}

/* --- sar's own files --- */

/* sa's magic number, and sysstat's of the header behind it. */
static bool is_sa_file(const char *path)
{
	static const unsigned char magic[] = {0x96, 0xd5, 0x75, 0x21};
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	unsigned char begin[4];

	if (!f || fread(begin, 1, sizeof(begin), f) != sizeof(begin))
		return false;
	return (memcmp(begin, magic, 2) == 0 && begin[2] == magic[2]) || (begin[0] == 0xd5 && begin[1] == 0x96);
}

static int start_sadf(const char *path, int out, pid_t *ret)
{
	char *argv[] = {(char *)"sadf", (char *)"-j", (char *)path, (char *)"--", (char *)"-A", NULL}; /* UTC: no -t */
	posix_spawn_file_actions_t actions;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	r = -posix_spawnp(ret, "sadf", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

static int call_sadf(const char *path, struct str *out)
{
	int fds[2], status = 0, r;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	r = start_sadf(path, fds[1], &pid);
	close(fds[1]);
	if (r == 0) {
		r = file_read_all(fds[0], out);
		close(fds[0]);
		fds[0] = -1;
		waitpid(pid, &status, 0);
	}
	cleanup_fd(&fds[0]);
	return r < 0 ? r : WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EBADMSG;
}

static int load_sa_file(const struct text_lines *l)
{
	_cleanup_str_ struct str text = {.max = TEXT_MAX};
	int r = call_sadf(l->path, &text);

	if (r == -ENOENT)
		intake_bad(l->into, l->path, 0, "a file of sar's: sadf is needed to read it (apt-get install sysstat)");
	else if (r == -EBADMSG)
		intake_bad(l->into, l->path, 0, "sadf cannot read it: was it written by another version? sadf -c converts it");
	else if (r < 0)
		intake_bad(l->into, l->path, 0, "sadf: %s", strerror(-r));
	else
		r = take_json(l, &text);
	return r == -ENOMEM ? r : 0;
}

static int load_text_file(const struct text_lines *l)
{
	_cleanup_str_ struct str text = {.max = TEXT_MAX};
	int r = stream_read_all(l->path, &text);

	if (r == 0)
		return text.len && *text.data == '<' ? sysstat_xml_take(l, &text) : take_json(l, &text);
	intake_bad(l->into, l->path, 0, "%s", text.error ? "it is too long" : r == -EBADMSG || r == -EIO ? "cannot be read to its end: damaged" : strerror(-r));
	return r == -ENOMEM ? r : 0;
}

static int take_file(struct text_lines *l, const void *how)
{
	(void)how;
	return is_sa_file(l->path) ? load_sa_file(l) : load_text_file(l);
}

static int load(const struct fleet_input *input, struct intake *into, char **ret_error)
{
	return text_lines_each_file(&(struct text_lines){.input = input, .into = into}, endings, take_file, NULL, ret_error);
}

static int recognise(const char *location)
{
	struct file_list files;
	char head[512];
	int score = 90;

	if (files_list(location, endings, &files) < 0)
		return 0;
	if (!is_sa_file(files.paths.v[0])) {
		stream_head(files.paths.v[0], head, sizeof(head));
		score = (head[0] == '{' && strstr(head, "\"sysstat\"")) || (head[0] == '<' && strstr(head, "<sysstat")) ? 90 : 0;
	}
	file_list_free(&files);
	return score;
}

const struct fleet_source fleet_source_sysstat = {
	.name = "sysstat",
	.help = "sysstat: what sadf -j or -x wrote, or sar's own files (/var/log/sysstat/saDD)",
	.recognise = recognise,
	.load = load,
};
