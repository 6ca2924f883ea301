#include "fleet/watch/fleet-now.h"

#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "lib/view/json.h"

#define CAUSES 3 /* that the first line names */

bool fleet_now_is_slow(const struct host_answer *a)
{
	return json_is_true(json_object_get(a->why, "slow"));
}

/* The program that is named there; NULL = none is. */
static const char *culprit_of(const struct host_answer *a)
{
	if (!fleet_now_is_slow(a) || !json_is_number(json_object_get(a->why, "confidence")))
		return NULL;
	return json_string_value(json_object_get(json_array_get(json_object_get(a->why, "culprits"), 0), "label"));
}

size_t fleet_now_count(const struct fleet_now *j, bool (*holds)(const struct host_answer *))
{
	size_t n = 0;

	for (size_t i = 0; i < j->list.hosts.n; i++)
		n += holds(&j->answers[i]);
	return n;
}

bool fleet_now_answered(const struct host_answer *a)
{
	return a->why;
}

/* Another machine's words: no sequence of theirs may reach the terminal. */
static void put_safely(const char *text, FILE *out)
{
	_cleanup_free_ char *copy = strdup(text ? text : "?");

	if (copy)
		str_make_printable(copy);
	fputs(copy ? copy : "?", out);
}

struct named {
	const char *program;
	size_t hosts;
};
ORDER(most_hosts_first, struct named, DESCENDING(hosts) ?: strcmp(a->program, b->program))

/* "because of backup (3), dd". */
static int put_causes(const struct fleet_now *j, FILE *out)
{
	VEC(struct named) all = {};
	int r = 0;

	for (size_t i = 0; i < j->list.hosts.n && r == 0; i++) {
		const char *program = culprit_of(&j->answers[i]);
		struct named *known = NULL;

		VEC_EACH(x, all)
			if (program && strcmp(x->program, program) == 0)
				known = x;
		if (known)
			known->hosts++;
		else if (program)
			r = VEC_PUSH(all, ((struct named){program, 1}));
	}
	if (all.n)
		VEC_SORT(all, most_hosts_first);
	for (size_t i = 0; i < all.n && i < CAUSES; i++) {
		fputs(i ? ", " : ", because of ", out);
		put_safely(all.v[i].program, out);
		if (all.v[i].hosts > 1)
			fprintf(out, " (%zu)", all.v[i].hosts);
	}
	VEC_FREE(all);
	return r;
}

static const char *name_of(const struct watch_host *h)
{
	const char *at = strstr(h->url, "://");

	return h->name ? h->name : at ? at + 3 : h->url;
}

void fleet_now_text(const struct fleet_now *j, const char *file, FILE *out)
{
	const size_t slow = fleet_now_count(j, fleet_now_is_slow), answered = fleet_now_count(j, fleet_now_answered);

	fprintf(out, "slow now: %zu of %zu", slow, j->list.hosts.n);
	(void)put_causes(j, out);
	fputc('\n', out);
	for (size_t i = 0; i < j->list.hosts.n; i++)
		if (fleet_now_is_slow(&j->answers[i])) {
			fprintf(out, "  %-24s  ", name_of(&j->list.hosts.v[i]));
			put_safely(json_string_value(json_object_get(j->answers[i].why, "summary")), out);
			fputc('\n', out);
		}
	for (size_t i = 0; i < j->list.hosts.n; i++)
		if (!j->answers[i].why)
			fprintf(out, "  %-24s  not asked: %s\n", name_of(&j->list.hosts.v[i]), j->answers[i].error ? j->answers[i].error : "?");
	if (answered > slow)
		fprintf(out, "%zu %s not slow.\n", answered - slow, answered - slow == 1 ? "is" : "are");
	for (size_t i = j->known; i < j->list.hosts.n; i++)
		if (j->answers[i].why)
			fprintf(out, "%s is in %s now.\n", name_of(&j->list.hosts.v[i]), file);
}

static json_t *host_json(const struct watch_host *h, const struct host_answer *a)
{
	return json_pack("{s:s, s:s, s:o, s:o?, s:o, s:o}", "host", name_of(h), "recorder", h->url, "slow", a->why ? json_boolean(fleet_now_is_slow(a)) : json_null(), "summary",
			 a->why ? json_incref(json_object_get(a->why, "summary")) : json_null(), "culprit", json_text(culprit_of(a)), "error", json_text(a->error));
}

json_t *fleet_now_json(const struct fleet_now *j)
{
	json_t *hosts = json_array();

	for (size_t i = 0; i < j->list.hosts.n; i++)
		json_array_append_new(hosts, host_json(&j->list.hosts.v[i], &j->answers[i]));
	return json_pack("{s:s, s:I, s:I, s:o}", "schema", "whyslow.fleet.now/1", "slow", (json_int_t)fleet_now_count(j, fleet_now_is_slow), "asked",
			 (json_int_t)j->list.hosts.n, "hosts", hosts);
}
