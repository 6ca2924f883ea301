/* whyslow fleet join [HOST...]: takes machines into the list of hosts, and says which of the list are slow now, and because of what. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fleet/verb/fleet-verb.h"
#include "fleet/watch/fleet-now.h"
#include "fleet/watch/host-recorders.h"
#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "lib/rights/write-path.h"
#include "lib/system/parallel.h"
#include "lib/view/json.h"

#define HOSTS_FILE "/etc/whyslow/hosts"
#define AT_ONCE	   32

static const char *arg_hosts = HOSTS_FILE;

struct joining {
	struct fleet_now now;
	struct host_recorders_options options;
};

static bool is_listed(const struct watch_list *l, const char *url)
{
	return VEC_FIND(h, l->hosts, strcmp(h->url, url) == 0) != NULL;
}

static int read_list(int n, char **hosts, struct joining *j, char **ret_error)
{
	int r = access(arg_hosts, F_OK) < 0 && n ? 0 : fleet_watch_list_read(arg_hosts, &j->now.list, ret_error);

	j->now.known = j->now.list.hosts.n;
	for (int i = 0; i < n && r == 0; i++) {
		_cleanup_free_ char *url = NULL;

		if (asprintf(&url, "%s%s", strstr(hosts[i], "://") ? "" : "ssh://", hosts[i]) < 0)
			return -ENOMEM;
		if (!is_listed(&j->now.list, url))
			r = fleet_watch_list_add(&j->now.list, url, ret_error);
	}
	return r;
}

static int ask_host(void *data, size_t i)
{
	struct joining *j = data;
	const struct host_question now = {};

	return host_recorders_ask_listed(&j->options, &j->now.list.hosts.v[i], &now, &j->now.answers[i]);
}

/* Those that answered are kept: a line each. */
static int keep_new(const struct joining *j, char **ret_error)
{
	_cleanup_fclose_ FILE *f = NULL;

	for (size_t i = j->now.known; i < j->now.list.hosts.n; i++) {
		if (!j->now.answers[i].why)
			continue;
		if (!f) {
			if (strcmp(arg_hosts, HOSTS_FILE) == 0)
				(void)mkdir("/etc/whyslow", 0755);
			f = write_path_stream(arg_hosts, 'a', ret_error);
		}
		if (!f || fprintf(f, "%s\n", j->now.list.hosts.v[i].url) < 0)
			return -errno;
	}
	return f && fflush(f) ? -errno : 0;
}

static int join(struct common *common, struct joining *j)
{
	_cleanup_free_ char *error = NULL;
	size_t silent;
	int r;

	j->now.answers = calloc(j->now.list.hosts.n + 1, sizeof(*j->now.answers));
	r = j->now.answers ? parallel_run(AT_ONCE, j->now.list.hosts.n, ask_host, j) : -ENOMEM;
	if (r < 0)
		return log_failure(EXIT_CANNOT, "%s", strerror(-r));
	if (common->json)
		json_print(fleet_now_json(&j->now), JSON_INDENT(1), stdout);
	else
		fleet_now_text(&j->now, arg_hosts, stdout);
	r = keep_new(j, &error);
	if (r < 0 && error)
		return log_failure(EXIT_CANNOT, "%s; pass --hosts FILE", error);
	if (r < 0)
		return log_failure(EXIT_CANNOT, "cannot write %s: %s; pass --hosts FILE", arg_hosts, strerror(-r));
	silent = j->now.list.hosts.n - fleet_now_count(&j->now, fleet_now_answered);
	if (silent)
		return log_failure(EXIT_CANNOT, "%zu of %zu machines did not answer", silent, j->now.list.hosts.n);
	return fleet_now_count(&j->now, fleet_now_is_slow) ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

static int run(struct common *common, int argc, char **argv)
{
	struct joining j = {.options = {.token_file = fleet_parsed.token_file, .ca_file = fleet_parsed.ca_file}};
	_cleanup_free_ char *error = NULL;
	int status, r;

	if (verb_give_up_rights(DAEMON_WATCHES))
		return EXIT_CANNOT;
	r = read_list(argc - 1, argv + 1, &j, &error);
	status = r < 0 ? log_failure(EXIT_CANNOT, "%s", error ? error : strerror(-r)) : join(common, &j);
	for (size_t i = 0; j.now.answers && i < j.now.list.hosts.n; i++)
		host_answer_free(&j.now.answers[i]);
	free(j.now.answers);
	fleet_watch_list_free(&j.now.list);
	return status;
}

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "hosts", "FILE", &arg_hosts, "the list, which 'fleet watch' and 'spans why --hosts' read, too (default " HOSTS_FILE ")"},
	{OPTION_TEXT, 0, "token-file", "FILE", &fleet_parsed.token_file, "of https:// hosts: the token for those that have none in the list"},
	{OPTION_TEXT, 0, "ca-file", "FILE", &fleet_parsed.ca_file, "the authority that signed their certificates, or the certificate itself"},
	{},
};

const struct subverb fleet_join = {
	.name = "join",
	.words = "[HOST...] ",
	.help = "take machines into the list of hosts, over ssh; say which of them are slow now, and because of what",
	.options = options,
	.run = run,
};
