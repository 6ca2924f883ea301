#include "fleet/ask/fleet-incidents.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/rights/write-path.h"
#include "lib/stat/likeness.h"

void fleet_incidents_free(struct fleet_incidents *i)
{
	for (size_t k = 0; k < i->list.n; k++) {
		FREE_ALL(i->list.v[k].name, i->list.v[k].counter);
	}
	VEC_FREE(i->list);
}

/* {"counter": +-score}: findings come most unusual first, so the first of a counter is its highest. */
static int fingerprint_of(const struct fleet *f, const struct fleet_answer *a, struct fingerprint *ret)
{
	struct fingerprint print = {};
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->unusual.list.n && print.parts.n < FINGERPRINT_COUNTERS; i++) {
		const struct fleet_finding *x = &a->unusual.list.v[i];

		r = fingerprint_add(&print, f->counters.v[x->counter].name, x->flags & FLEET_LOWER ? -x->score : x->score);
	}
	if (r < 0)
		fingerprint_free(&print);
	else
		*ret = print;
	return r;
}

int fleet_incident_remember(const char *path, const char *name, const struct fleet *f, const struct fleet_answer *a, char **ret_error)
{
	_cleanup_fclose_ FILE *file = write_path_stream(path, 'a', ret_error);
	_cleanup_(fingerprint_free) struct fingerprint print = {};
	_cleanup_free_ char *line = NULL;
	json_t *root;

	if (!file)
		return -errno;
	if (fingerprint_of(f, a, &print) < 0)
		return -ENOMEM;
	root = json_pack("{s:s, s:s, s:I, s:o}", "name", name, "symptom", f->counters.v[a->counter].name, "at", (json_int_t)a->window.from,
			 "fingerprint", fingerprint_json(&print));
	line = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	if (!line)
		return -ENOMEM;
	return fprintf(file, "%s\n", line) < 0 || fflush(file) != 0 ? -EIO : 0;
}

ORDER(compare_incidents, struct fleet_incident, DESCENDING(similarity))

static int take_line(const char *line, const struct fingerprint *now, struct fleet_incidents *ret)
{
	_cleanup_(fingerprint_free) struct fingerprint earlier = {};
	json_t *root = json_loads(line, 0, NULL), *print;
	struct fleet_incident x = {};
	const char *name, *symptom;
	json_int_t at;
	int r = 0;

	if (root && json_unpack(root, "{s:s, s:s, s:I, s:o}", "name", &name, "symptom", &symptom, "at", &at, "fingerprint", &print) == 0 &&
	    fingerprint_read(print, &earlier) == 0) {
		x = (struct fleet_incident){strdup(name), strdup(symptom), at, fingerprint_likeness(now, &earlier)};
		r = x.name && x.counter ? VEC_PUSH(ret->list, x) : -ENOMEM;
	}
	json_decref(root);
	return r;
}

int fleet_incidents_like(const char *path, const struct fleet *f, const struct fleet_answer *a, struct fleet_incidents *ret)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	_cleanup_(fingerprint_free) struct fingerprint now = {};
	size_t size = 0;
	int r;

	if (!file)
		return -errno;
	r = fingerprint_of(f, a, &now);
	while (r == 0 && getline(&line, &size, file) > 0)
		r = take_line(line, &now, ret);
	if (r == 0 && ret->list.n)
		VEC_SORT(ret->list, compare_incidents);
	return r;
}
