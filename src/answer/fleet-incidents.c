#include "answer/fleet-incidents.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void fleet_incidents_free(struct fleet_incidents *i)
{
	for (size_t k = 0; k < i->list.n; k++) {
		free(i->list.v[k].name);
		free(i->list.v[k].counter);
	}
	VEC_FREE(i->list);
}

/* {"counter": +-score}: findings come most unusual first, so the first of a counter is its highest. */
static json_t *fingerprint(const struct fleet *f, const struct fleet_answer *a)
{
	json_t *print = json_object();

	for (size_t i = 0; i < a->unusual.list.n && json_object_size(print) < FINGERPRINT_COUNTERS; i++) {
		const struct fleet_finding *x = &a->unusual.list.v[i];
		const char *name = f->counters.v[x->counter].name;

		if (!json_object_get(print, name))
			json_object_set_new(print, name, json_real(x->flags & FLEET_LOWER ? -x->score : x->score));
	}
	return print;
}

static double cosine(json_t *a, json_t *b)
{
	double aa = 0, bb = 0, ab = 0;
	const char *key;
	json_t *value;

	json_object_foreach(a, key, value) {
		aa += json_number_value(value) * json_number_value(value);
		ab += json_number_value(value) * json_number_value(json_object_get(b, key));
	}
	json_object_foreach(b, key, value)
		bb += json_number_value(value) * json_number_value(value);
	return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

int fleet_incident_remember(const char *path, const char *name, const struct fleet *f, const struct fleet_answer *a)
{
	_cleanup_fclose_ FILE *file = fopen(path, "ae");
	_cleanup_free_ char *line = NULL;
	json_t *root;

	if (!file)
		return -errno;
	root = json_pack("{s:s, s:s, s:I, s:o}", "name", name, "symptom", f->counters.v[a->counter].name, "at", (json_int_t)a->window.from,
			 "fingerprint", fingerprint(f, a));
	line = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	if (!line)
		return -ENOMEM;
	return fprintf(file, "%s\n", line) < 0 || fflush(file) != 0 ? -EIO : 0;
}

static int compare_incidents(const void *a, const void *b)
{
	double x = ((const struct fleet_incident *)a)->similarity, y = ((const struct fleet_incident *)b)->similarity;

	return x > y ? -1 : x < y;
}

static int take_line(const char *line, json_t *now, struct fleet_incidents *ret)
{
	json_t *root = json_loads(line, 0, NULL), *print;
	struct fleet_incident x = {};
	const char *name, *symptom;
	json_int_t at;
	int r = 0;

	if (root && json_unpack(root, "{s:s, s:s, s:I, s:o}", "name", &name, "symptom", &symptom, "at", &at, "fingerprint", &print) == 0 &&
	    json_is_object(print)) {
		x = (struct fleet_incident){strdup(name), strdup(symptom), at, cosine(now, print)};
		r = x.name && x.counter ? VEC_PUSH(ret->list, x) : -ENOMEM;
	}
	json_decref(root);
	return r;
}

int fleet_incidents_like(const char *path, const struct fleet *f, const struct fleet_answer *a, struct fleet_incidents *ret)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	json_t *now;
	int r = 0;

	if (!file)
		return -errno;
	now = fingerprint(f, a);
	while (r == 0 && getline(&line, &size, file) > 0)
		r = take_line(line, now, ret);
	json_decref(now);
	if (r == 0 && ret->list.n)
		qsort(ret->list.v, ret->list.n, sizeof(*ret->list.v), compare_incidents);
	return r;
}
