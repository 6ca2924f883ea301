#include "fleet/ask/fleet-deployed.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/ask/fleet-culprit.h"
#include "fleet/model/server-role.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/order.h"
#include "lib/data/str.h"

#define SHOWS_OWN   (30 * 60 * NS_PER_SEC) /* within which a deployment shows on its own server */
#define SHOWS_OTHER (20 * 60 * NS_PER_SEC) /* and on another one */
#define OTHER	    0.5 /* the weight of another server's deployment */
#define BURST	    (15 * 60 * NS_PER_SEC) /* deployments of one service that belong together */

struct judging {
	const struct fleet *f;
	const struct fleet_answer *a;
	const int64_t *since; /* by server: when it fell ill; INT64_MAX = it did not */
	bool *connected; /* by server: calls lead from it to the culprit, or back; NULL = no calls are known */
	int culprit;
	int64_t begin; /* of the incident */
};

/* The service itself, or one of its replicas: "cart-1", "cart-7f9c-x2k4z". */
static bool is_of_service(const struct fleet_server *s, const char *service)
{
	_cleanup_free_ char *stem = NULL;
	size_t n = strlen(service);

	if (strcasecmp(s->name, service) == 0 || (s->role && strcasecmp(s->role, service) == 0))
		return true;
	if (strncasecmp(s->name, service, n) != 0)
		return false;
	stem = server_role_stem(s->name);
	return stem && strncasecmp(stem, service, n) == 0 && strspn(stem + n, "-_.:") == strlen(stem + n);
}

/* Everything that is reached by calls from the culprit in one direction. */
static void mark(const struct fleet_calls *calls, int server, bool callers, bool *marks)
{
	VEC_EACH(x, calls->list) {
		int from = callers ? x->callee : x->caller, to = callers ? x->caller : x->callee;

		if (from != server || marks[to])
			continue;
		marks[to] = true;
		mark(calls, to, callers, marks);
	}
}

static int find_connected(const struct judging *j, const struct fleet_calls *calls)
{
	_cleanup_free_ bool *callees = calloc(j->f->servers.n + 1, sizeof(*callees));

	if (!callees)
		return -ENOMEM;
	mark(calls, j->culprit, true, j->connected);
	mark(calls, j->culprit, false, callees);
	for (size_t i = 0; i < j->f->servers.n; i++)
		j->connected[i] |= callees[i];
	return 0;
}

/* Whether another server than the culprit's may have made that ill. */
static bool may_have_led(const struct judging *j, size_t server)
{
	return j->since[server] <= j->begin && (!j->connected || j->connected[server]);
}

static void judge(const struct judging *j, struct fleet_deployed *d)
{
	bool own = false, other = false;
	int64_t shows;

	for (size_t i = 0; i < j->f->servers.n; i++) {
		bool its = is_of_service(&j->f->servers.v[i], d->what.package);

		own |= its && (int)i == j->culprit;
		other |= its && (int)i != j->culprit && may_have_led(j, i);
	}
	shows = own ? SHOWS_OWN : SHOWS_OTHER;
	d->ahead = j->begin - d->what.time;
	d->verdict = d->ahead <= -j->f->interval ? DEPLOYMENT_LATER : !own && !other ? DEPLOYMENT_ELSEWHERE : d->ahead > shows ? DEPLOYMENT_EARLIER : DEPLOYMENT_MAY_BE;
	d->score = d->verdict == DEPLOYMENT_MAY_BE ? (own ? 1 : OTHER) * exp(-(double)(d->ahead > 0 ? d->ahead : 0) / (double)shows) : 0;
}

/* The first of a burst of one service has the score of the best of them, and a little more. */
static void credit_first(struct fleet_deployed *d, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++) {
			struct fleet_deployed *x = &d[i];
			const struct fleet_deployed *y = &d[k];
			int64_t before = y->what.time - x->what.time;

			if (i == k || x->score == 0 || y->score == 0 || before < 0 || before > BURST || (!before && i < k) || strcmp(x->what.package, y->what.package) != 0)
				continue;
			x->score = fmax(x->score, y->score * 1.01);
		}
}

ORDER(by_score, struct fleet_deployed, CMP(b->verdict == DEPLOYMENT_MAY_BE, a->verdict == DEPLOYMENT_MAY_BE) ?: DESCENDING(score) ?: DESCENDING(what.time))

static int say(const struct fleet_deployed *x, size_t n, const struct fleet_answer *a, struct str *s)
{
	str_puts(s, a->summary);
	if (x->verdict == DEPLOYMENT_MAY_BE) {
		str_printf(s, " Most likely it came with the deployment of %s%s%s%s%.12s at %s", x->what.package, *x->what.version ? " " : "", x->what.version, *x->what.commit ? ", commit " : "", x->what.commit,
			   CLOCK_RFC3339(x->what.time));
		if (x->ahead >= NS_PER_SEC)
			str_printf(s, ", %lld s before", (long long)(x->ahead / NS_PER_SEC));
		str_putc(s, '.');
	} else {
		str_printf(s, " None of the %zu deployments explains it.", n);
	}
	return s->error ? -ENOMEM : 0;
}

const char *fleet_deployed_why_not(const struct fleet_deployed *d)
{
	switch (d->verdict) {
	case DEPLOYMENT_LATER:
		return "after the incident began";
	case DEPLOYMENT_EARLIER:
		return "so long before that it would have shown";
	case DEPLOYMENT_ELSEWHERE:
		return "its servers did not change before the culprit did";
	default:
		return "";
	}
}

int fleet_deployed_rank(const struct fleet *f, const struct fleet_calls *calls, struct fleet_answer *a, const struct deployments *d, struct fleet_deployed **ret)
{
	_cleanup_free_ int64_t *since = calloc(f->servers.n + 1, sizeof(*since));
	_cleanup_free_ bool *connected = calls->list.n ? calloc(f->servers.n + 1, sizeof(*connected)) : NULL;
	struct judging j = {f, a, since, connected, a->named ? a->culprit.server : a->server, 0};
	struct fleet_deployed *list = calloc(d->list.n + 1, sizeof(*list));
	_cleanup_str_ struct str s = {};

	*ret = list;
	if (!list || !since || (calls->list.n && (!connected || find_connected(&j, calls) < 0)))
		return -ENOMEM;
	for (size_t i = 0; i < d->list.n; i++)
		list[i].what = d->list.v[i];
	if (a->calm || !d->list.n)
		return 0;
	if (fleet_culprit_since(f, &a->unusual, since) < 0)
		return -ENOMEM;
	if (a->culprit.since && a->culprit.since < since[j.culprit])
		since[j.culprit] = a->culprit.since;
	j.begin = since[j.culprit] < INT64_MAX ? since[j.culprit] : a->window.from;
	for (size_t i = 0; i < d->list.n; i++)
		judge(&j, &list[i]);
	credit_first(list, d->list.n);
	qsort(list, d->list.n, sizeof(*list), by_score);
	if (say(list, d->list.n, a, &s) < 0)
		return -ENOMEM;
	free(a->summary);
	a->summary = s.data;
	s = (struct str){};
	return 0;
}
