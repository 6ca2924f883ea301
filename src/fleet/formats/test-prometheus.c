#include "fleet/formats/test-intake.h"

#include <signal.h>
#include <sys/wait.h>

#include "lib/net/http-server.h"
#include "lib/net/test-clickhouse.h" /* free_port() */

extern const struct fleet_source fleet_source_prometheus;

#define T 1795183200ll /* 2026-11-20T14:00:00Z */

/* --- a server that says what a fixture says --- */

static const char metadata[] = "{\"status\":\"success\",\"data\":{\"node_load1\":[{\"type\":\"gauge\",\"help\":\"1m load average.\","
			       "\"unit\":\"\"}],\"bytes\":[{\"type\":\"counter\",\"help\":\"Sent.\",\"unit\":\"bytes\"}],"
			       "\"wait\":[{\"type\":\"histogram\",\"help\":\"\",\"unit\":\"\"}]}}";
static const char names[] = "{\"status\":\"success\",\"data\":[\"node_load1\",\"bytes_total\",\"wait_bucket\",\"wait_sum\"]}";
static const char load1[] = "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":["
			    "{\"metric\":{\"__name__\":\"node_load1\",\"instance\":\"a:1\",\"job\":\"node\"},"
			    "\"values\":[[1795183200,\"0.5\"],[1795183215,\"NaN\"],[1795183230.5,\"0.75\"]]},"
			    "{\"metric\":{\"__name__\":\"node_load1\",\"instance\":\"b:1\",\"job\":\"node\",\"env\":\"test\"},\"values\":[[1795183200,\"x\"],[1795183215,\"1\"]]},"
			    "{\"metric\":{\"__name__\":\"node_load1\"},\"values\":[[1795183200,\"9\"]]}]}}";
static const char bytes[] = "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":["
			    "{\"metric\":{\"__name__\":\"bytes_total\",\"instance\":\"a:1\",\"device\":\"eth0\",\"env\":\"prod\",\"role\":\"web\"},"
			    "\"values\":[[1795183200,\"1000\"],[1795183210,\"3000\"],[1795183220,\"500\"]]}]}}";
static const char targets[] = "{\"status\":\"success\",\"data\":["
			      "{\"__name__\":\"up\",\"instance\":\"a:1\",\"job\":\"node\",\"env\":\"prod\",\"role\":\"web\",\"rack\":\"1\"},"
			      "{\"__name__\":\"up\",\"instance\":\"a:1\",\"job\":\"mail\",\"env\":\"prod\",\"role\":\"web\",\"rack\":\"2\"}]}";
static const char nothing[] = "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[]}}";

static int mutations; /* per answer */

static void answer(struct http_exchange *e, const char *text)
{
	str_puts(&e->reply, text);
	for (int i = 0; i < mutations; i++)
		e->reply.data[random() % (long)e->reply.len] = random() % 2 ? (char)random() : "\"{}[],:0"[random() % 8];
}

static void tell_metadata(struct http_exchange *e)
{
	answer(e, metadata);
}

static void tell_targets(struct http_exchange *e)
{
	assert_string_equal(http_query(e, "match[]"), "up");
	answer(e, targets);
}

static void tell_names(struct http_exchange *e)
{
	answer(e, names);
}

static void tell_range(struct http_exchange *e)
{
	const char *query = http_query(e, "query"), *step = http_query(e, "step");

	assert_non_null(query);
	if (step && strtod(step, NULL) <= 0) {
		e->status = 400;
		answer(e, "{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"zero or negative query resolution step\"}");
		return;
	}
	answer(e, strstr(query, "\"node_load1\"") ? load1 : strstr(query, "\"bytes_total\"") ? bytes : nothing);
}

static const struct http_route routes[] = {{"GET", "/api/v1/metadata", tell_metadata, 0, SCOPE_ALL},
					   {"GET", "/api/v1/series", tell_targets, 0, SCOPE_ALL},
					   {"GET", "/api/v1/label/__name__/values", tell_names, 0, SCOPE_ALL},
					   {"GET", "/api/v1/query_range", tell_range, 0, SCOPE_ALL},
					   {}};

struct fake {
	struct http_server *server;
	char token_file[32], url[64];
	struct fleet_input input;
};

static void fake_start(struct fake *f)
{
	struct http_server_options o = {.token_file = f->token_file, .routes = routes};
	char *error = NULL;
	int fd;

	strcpy(f->token_file, "/tmp/whyslow-token-XXXXXX");
	fd = mkstemp(f->token_file);
	assert_int_equal(write(fd, "0123456789abcdef0123456789abcdef\n", 33), 33);
	close(fd);
	if (http_server_start(&o, &f->server, &error) < 0)
		fail_msg("%s", error);
	snprintf(f->url, sizeof(f->url), "prometheus://127.0.0.1:%u/", http_server_port(f->server));
	f->input = (struct fleet_input){.location = f->url, .from = T * NS_PER_SEC, .to = (T + 60) * NS_PER_SEC, .token_file = f->token_file};
}

static void fake_stop(struct fake *f)
{
	http_server_stop(f->server);
	unlink(f->token_file);
}

static void series_become_servers_and_counters(void **state)
{
	struct fake f;
	struct loaded l;

	fake_start(&f);
	l = load_input(&fleet_source_prometheus, &f.input);
	if (l.result < 0)
		fail_msg("%s", l.error);
	check_at(&l, "a:1", "node_load1", T, 0.5);
	assert_true(value_at(&l, "a:1", "node_load1", T * NS_PER_SEC + 30500000000) == 0.75);
	check_at(&l, "a:1", "bytes_total{device=\"eth0\"}", T + 10, 200);
	assert_int_equal(counter_named(&l, "bytes_total{device=\"eth0\"}")->kind, FLEET_COUNTER);
	assert_string_equal(counter_named(&l, "bytes_total{device=\"eth0\"}")->unit, "bytes");
	assert_string_equal(counter_named(&l, "node_load1")->help, "1m load average.");
	assert_int_equal(intake_count(l.intake).bad, 1);
	check_bad(&l, "point 1 of node_load1{env=\"test\"} is not a point");
	loaded_free(&l);
	fake_stop(&f);
}

static const char *role_of(const struct loaded *l, const char *server)
{
	return l->fleet->servers.v[fleet_find_server(l->fleet, server)].role;
}

/* Labels of targets are not part of counters' names. `rack` differs between its two targets, and b:1 has none. */
static void labels_of_targets_are_the_servers(void **state)
{
	struct fake f;
	struct loaded l;

	fake_start(&f);
	l = load_input(&fleet_source_prometheus, &f.input);
	assert_int_equal(l.result, 0);
	assert_string_equal(role_of(&l, "a:1"), "web");
	assert_string_equal(role_of(&l, "b:1"), "node");
	check_at(&l, "b:1", "node_load1{env=\"test\"}", T + 15, 1);
	loaded_free(&l);
	f.input.role_column = "env";
	l = load_input(&fleet_source_prometheus, &f.input);
	assert_int_equal(l.result, 0);
	assert_string_equal(role_of(&l, "a:1"), "prod");
	assert_string_equal(role_of(&l, "b:1"), "test");
	check_at(&l, "b:1", "node_load1", T + 15, 1);
	loaded_free(&l);
	fake_stop(&f);
}

static void an_answer_that_was_kept_is_read(void **state)
{
	char path[] = "/tmp/whyslow-answer-XXXXXX.json";
	int fd = mkstemps(path, 5);
	struct loaded l;

	assert_int_equal(write(fd, load1, strlen(load1)), strlen(load1));
	close(fd);
	assert_true(fleet_source_prometheus.recognise(path) > 60);
	l = load_location(&fleet_source_prometheus, path);
	assert_int_equal(l.result, 0);
	check_at(&l, "a:1", "node_load1", T, 0.5);
	assert_int_equal(intake_count(l.intake).bad, 1);
	assert_non_null(strstr(l.fleet->remarks.v[0], "1 series without the label 'instance'"));
	loaded_free(&l);
	unlink(path);
}

static void a_moment_beyond_all_clocks_is_no_point(void **state)
{
	static const char text[] = "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":["
				   "{\"metric\":{\"__name__\":\"node_load1\",\"instance\":\"a:1\"},"
				   "\"values\":[[1795183200,\"0.5\"],[1e17,\"1\"],[-1e300,\"2\"]]}]}}";
	char path[] = "/tmp/whyslow-answer-XXXXXX.json";
	int fd = mkstemps(path, 5);
	struct loaded l;

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	l = load_location(&fleet_source_prometheus, path);
	assert_int_equal(l.result, 0);
	check_at(&l, "a:1", "node_load1", T, 0.5);
	assert_int_equal(intake_count(l.intake).bad, 2);
	check_bad(&l, "point 2 of node_load1 has no time");
	loaded_free(&l);
	unlink(path);
}

static void what_prometheus_refuses_is_said(void **state)
{
	struct fake f;
	struct loaded l;

	fake_start(&f);
	f.input.step = -1;
	l = load_input(&fleet_source_prometheus, &f.input);
	assert_int_equal(l.result, -EREMOTEIO);
	assert_non_null(strstr(l.error, "zero or negative query resolution step"));
	loaded_free(&l);
	f.input.step = 0;
	f.input.token_file = NULL;
	l = load_input(&fleet_source_prometheus, &f.input);
	assert_int_equal(l.result, -EACCES);
	assert_non_null(strstr(l.error, "refuses the token"));
	loaded_free(&l);
	fake_stop(&f);
}

static void damaged_answers_do_no_harm(void **state)
{
	struct fake f;

	fake_start(&f);
	srandom(3);
	for (int i = 0; i < 200; i++) {
		struct loaded l;

		mutations = 1 + i % 3;
		l = load_input(&fleet_source_prometheus, &f.input);
		assert_true(l.result == 0 || l.error);
		loaded_free(&l);
	}
	mutations = 0;
	fake_stop(&f);
}

/* --- Debian's Prometheus and node_exporter --- */

static pid_t start(char *const *argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(126);
		execvp(argv[0], argv);
		_exit(127);
	}
	return pid;
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

struct real {
	char folder[40], address[2][32];
	pid_t exporter, prometheus;
};

static bool real_start(struct real *r)
{
	char config[80], data[80], exporter_at[64], prometheus_at[64];
	FILE *f;

	if (system("command -v prometheus >/dev/null && command -v prometheus-node-exporter >/dev/null") != 0)
		return false;
	strcpy(r->folder, "/tmp/whyslow-prometheus-XXXXXX");
	assert_non_null(mkdtemp(r->folder));
	for (int i = 0; i < 2; i++)
		snprintf(r->address[i], sizeof(r->address[i]), "127.0.0.1:%u", free_port());
	snprintf(config, sizeof(config), "--config.file=%s/config.yml", r->folder);
	snprintf(data, sizeof(data), "--storage.tsdb.path=%s/data", r->folder);
	snprintf(exporter_at, sizeof(exporter_at), "--web.listen-address=%s", r->address[0]);
	snprintf(prometheus_at, sizeof(prometheus_at), "--web.listen-address=%s", r->address[1]);
	f = fopen(config + strlen("--config.file="), "w");
	fprintf(f, "global: {scrape_interval: 1s}\nscrape_configs: [{job_name: node, static_configs: [{targets: ['%s']}]}]\n", r->address[0]);
	fclose(f);
	r->exporter = start((char *[]){(char *)"prometheus-node-exporter", exporter_at, (char *)"--collector.disable-defaults",
				       (char *)"--collector.meminfo", (char *)"--collector.cpu", (char *)"--collector.loadavg", NULL});
	r->prometheus = start((char *[]){(char *)"prometheus", config, data, prometheus_at, NULL});
	return true;
}

static void real_stop(struct real *r)
{
	char command[80];

	end_process(r->prometheus);
	end_process(r->exporter);
	snprintf(command, sizeof(command), "rm -rf %s", r->folder);
	assert_int_equal(system(command), 0);
}

/* Once Prometheus has some seconds of it. */
static struct loaded load_when_there(const struct real *r)
{
	char url[64];
	struct fleet_input in = {.location = url, .from = INT64_MIN, .to = INT64_MAX, .step = NS_PER_SEC, .match = "node_*"};
	struct loaded l = {};

	snprintf(url, sizeof(url), "http://%s", r->address[1]);
	for (int i = 0; i < 60; i++) {
		int64_t now = clock_wall();

		in.from = now - 60 * NS_PER_SEC;
		in.to = now;
		l = load_input(&fleet_source_prometheus, &in);
		if (l.result == 0 && l.fleet && l.fleet->servers.v[0].n >= 5)
			return l;
		loaded_free(&l);
		usleep(500000);
	}
	fail_msg("Prometheus never had five seconds of node_exporter");
	return l;
}

static double memory_of_this_machine(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	double kib = 0;

	assert_int_equal(fscanf(f, "MemTotal: %lf", &kib), 1);
	fclose(f);
	return kib * 1024;
}

static void debians_prometheus_is_read(void **state)
{
	struct real r = {};
	const struct fleet_server *s;
	struct loaded l;
	double total;

	if (!real_start(&r))
		skip();
	l = load_when_there(&r);
	s = &l.fleet->servers.v[0];
	assert_string_equal(s->name, r.address[0]);
	assert_string_equal(s->role, "node");
	total = (double)s->column[fleet_find_counter(l.fleet, "node_memory_MemTotal_bytes")][2];
	assert_true(fabs(total - memory_of_this_machine()) < 1e-6 * total);
	assert_int_equal(counter_named(&l, "node_memory_MemTotal_bytes")->kind, FLEET_GAUGE);
	assert_int_equal(counter_named(&l, "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"}")->kind, FLEET_COUNTER);
	assert_int_equal(l.fleet->interval, NS_PER_SEC);
	loaded_free(&l);
	real_stop(&r);
}

RUN_TESTS(cmocka_unit_test(series_become_servers_and_counters), cmocka_unit_test(labels_of_targets_are_the_servers), cmocka_unit_test(an_answer_that_was_kept_is_read), cmocka_unit_test(a_moment_beyond_all_clocks_is_no_point), cmocka_unit_test(what_prometheus_refuses_is_said),
	  cmocka_unit_test(damaged_answers_do_no_harm), cmocka_unit_test(debians_prometheus_is_read))
