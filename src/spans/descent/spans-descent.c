#include "spans/descent/spans-descent.h"

#include <string.h>

#include "fleet/watch/host-recorders.h"
#include "lib/data/cleanup.h"
#include "lib/data/folder.h"
#include "lib/data/log.h"

#define HOSTS_FILE "/etc/whyslow/hosts"

/* By its number, unless that is of a container (on a host 1 is the init process); else by its service's name. */
static int ask_program(struct host_recorders *h, const struct descent *d, const struct host_question *where, struct descent_place *p)
{
	const char *number = names_get(d->forest->names, p->span->process);
	const char *service = names_get(d->forest->names, d->forest->vertices.v[p->span->vertex].service);
	struct host_question q = *where;
	int r = 0;

	q.program = *number && strcmp(number, "1") != 0 ? number : service;
	r = host_recorders_ask(h, &q, &p->program);
	if (r < 0 || p->program.why || q.program == service)
		return r;
	host_answer_free(&p->program);
	q.program = service;
	return host_recorders_ask(h, &q, &p->program);
}

/* About the process, or about the machine as a whole. */
static int ask_place(struct host_recorders *h, const struct descent *d, struct descent_place *p, bool process)
{
	const struct host_question q = {.host = names_get(d->forest->names, p->span->host), .since = process ? p->request->start + p->span->start : 0,
					.at = p->request->start + p->span->end};

	if (!p->span->host)
		return process ? 0 : str_fail(&p->machine.error, 0, "the spans do not name the host they ran on (host.name; --mapping names another attribute)");
	return process ? ask_program(h, d, &q, p) : host_recorders_ask(h, &q, &p->machine);
}

static const char *hosts_location(const struct spans_query *q)
{
	return q->host_list ? q->host_list : folder_path_exists(HOSTS_FILE) ? HOSTS_FILE : NULL;
}

static int ask_places(const struct common *common, const struct spans_query *q, struct descent *d)
{
	const struct host_recorders_options o = {.location = hosts_location(q), .token_file = q->token_file, .ca_file = q->ca_file,
						 .local = {.run_dir = common->run_dir, .config_file = common->config_file}};
	_cleanup_free_ char *error = NULL;
	struct host_recorders *h = NULL;
	int r = host_recorders_open(&o, &h, &error);

	if (r < 0)
		log_error("%s", error ? error : strerror(-r));
	for (size_t i = 0; r == 0 && i < d->places.n; i++) /* what processes waited for first: recorders forget events within seconds */
		r = ask_place(h, d, &d->places.v[i], true);
	for (size_t i = 0; r == 0 && i < d->places.n; i++)
		r = ask_place(h, d, &d->places.v[i], false);
	host_recorders_free(h);
	return r;
}

int spans_descend(const struct common *common, const struct spans_query *q, const struct forest *f,
	    const struct exemplar *request, uint32_t vertex, struct descent *ret)
{
	struct descent d = {.forest = f};
	int r = descent_find_places(request, vertex, &d);

	if (r == 0 && d.places.n)
		r = ask_places(common, q, &d);
	if (r < 0)
		descent_free(&d);
	else
		*ret = d;
	return r;
}
