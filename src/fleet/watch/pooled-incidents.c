#include "fleet/watch/pooled-incidents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/watch/fleet-recordings.h"
#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "machine/answer-history/answer-history.h"

/* The incidents read so far, and the groups that they form. */
struct pool {
	struct pooled_incidents p;
	struct similar_groups groups; /* marks: indexes into p.list */
};

static void incident_free(struct pooled_incident *i)
{
	FREE_ALL(i->host, i->note, i->summary, i->culprit, i->symptom);
}

static void group_free(struct pooled_group *g)
{
	FREE_ALL(g->summary, g->culprit, g->cause);
	VEC_FREE(g->incidents);
}

void pooled_incidents_free(struct pooled_incidents *p)
{
	VEC_FREE_EACH(p->list, incident_free(each));
	VEC_FREE_EACH(p->groups, group_free(each));
	note_words_free(&p->words);
	free(p->first_error);
	*p = (struct pooled_incidents){};
}

/* The part of an answer that the words of notes are related to. */
static const char *symptom_of(const struct saved_answer *t)
{
	return !t->slow ? NULL : t->cause ? t->cause : t->bottleneck;
}

static int copy_answer(const struct saved_answer *t, struct pooled_incident *i)
{
	const char *symptom = symptom_of(t);

	i->summary = strdup(t->summary ? t->summary : "");
	i->culprit = t->culprit ? strdup(t->culprit) : NULL;
	i->symptom = symptom ? strdup(symptom) : NULL;
	return i->summary && !t->culprit == !i->culprit && !symptom == !i->symptom ? 0 : -ENOMEM;
}

static int copy_mark(const struct mark *mark, const char *host, struct pooled_incident *i)
{
	*i = (struct pooled_incident){.host = strdup(host), .id = mark->id, .wall = mark->wall, .note = mark->note ? strdup(mark->note) : NULL,
				      .feedback = mark->feedback, .by_rule = mark_is_of_rule(mark)};
	return i->host && !mark->note == !i->note ? 0 : -ENOMEM;
}

static int add_incident(struct pool *pool, struct store *store, const char *host, const struct mark *mark, int64_t window)
{
	static const struct viewer all;
	struct pooled_incident i;
	struct saved_answer t;
	int r = copy_mark(mark, host, &i) ?: saved_answer_get(store, NULL, mark, window, &all, &t);
	bool told = r == 0;

	if (told)
		r = copy_answer(&t, &i);
	else if (r == -ENODATA)
		r = 0;
	r = r ?: VEC_PUSH(pool->p.list, i);
	if (r < 0)
		incident_free(&i);
	if (r == 0 && told)
		return similar_groups_add(&pool->groups, &t, pool->p.list.n - 1);
	if (told)
		saved_answer_free(&t);
	return r;
}

static int read_marks(struct pool *pool, struct store *store, const char *host, int64_t from, int64_t to, int64_t window)
{
	struct mark *marks;
	size_t n;
	int r = store_marks(store, from, to, &marks, &n);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_incident(pool, store, host, &marks[i], window);
	marks_free(marks, n);
	return r;
}

static int read_recording(struct pool *pool, const char *path, int64_t from, int64_t to, int64_t window)
{
	_cleanup_free_ char *error = NULL, *host = fleet_recording_host(path);
	struct store_paths paths = {path, NULL};
	struct pooled_incidents *p = &pool->p;
	struct store *store;
	int r = host ? store_open(&paths, STORE_READ, &store, &error) : -ENOMEM;

	if (r == 0) {
		r = read_marks(pool, store, host, from, to, window);
		if (r < 0 && r != -ENOMEM && !p->first_error)
			str_fail(&p->first_error, r, "%s: %s", path, store_reason(store, r));
		store_close(store);
	} else if (r != -ENOMEM && !p->first_error) {
		str_fail(&p->first_error, r, "%s: %s", path, error ? error : strerror(-r));
	}
	p->hosts += r == 0;
	p->unreadable += r < 0;
	return r == -ENOMEM ? r : 0;
}

static int relate_words(struct pooled_incidents *p)
{
	struct noted_incident *noted = calloc(p->list.n + 1, sizeof(*noted));
	int r;

	if (!noted)
		return -ENOMEM;
	for (size_t i = 0; i < p->list.n; i++)
		noted[i] = (struct noted_incident){p->list.v[i].by_rule ? NULL : p->list.v[i].note, p->list.v[i].symptom};
	r = note_words_find(noted, p->list.n, &p->words);
	free(noted);
	return r;
}

static bool is_first_of_host(const struct pooled_incidents *p, const struct pooled_group *g, size_t i)
{
	return !ANY_WHERE(k, i, strcmp(p->list.v[g->incidents.v[k]].host, p->list.v[g->incidents.v[i]].host) == 0);
}

static void count_group(const struct pooled_incidents *p, struct pooled_group *g)
{
	for (size_t i = 0; i < g->incidents.n; i++) {
		const enum feedback said = p->list.v[g->incidents.v[i]].feedback;

		g->hosts += is_first_of_host(p, g, i);
		g->right += said == FEEDBACK_RIGHT;
		g->wrong += said == FEEDBACK_WRONG;
		g->fixed += said == FEEDBACK_FIXED;
	}
}

/* Takes over what the groups own. */
static int take_groups(struct pool *pool)
{
	int r = 0;

	similar_groups_sort(&pool->groups);
	for (size_t i = 0; r == 0 && i < pool->groups.list.n; i++) {
		struct similar_marks *from = &pool->groups.list.v[i];
		struct saved_answer *first = &from->first;
		struct pooled_group g = {.summary = first->summary, .culprit = first->culprit, .cause = first->cause, .slow = first->slow,
					 .incidents = {from->marks.v, from->marks.n, from->marks.allocated}};

		count_group(&pool->p, &g);
		r = VEC_PUSH(pool->p.groups, g);
		if (r == 0) {
			first->summary = first->culprit = first->cause = NULL;
			from->marks.v = NULL;
			from->marks.n = from->marks.allocated = 0;
		}
	}
	return r;
}

int pooled_incidents_read(const char *location, int64_t from, int64_t to, int64_t window, struct pooled_incidents *ret)
{
	struct pool pool = {};
	glob_t files = {};
	int r = fleet_recordings_find(location, &files);

	for (size_t i = 0; r == 0 && i < files.gl_pathc; i++)
		r = read_recording(&pool, files.gl_pathv[i], from, to, window);
	globfree(&files);
	r = r ?: take_groups(&pool) ?: relate_words(&pool.p);
	similar_groups_free(&pool.groups);
	if (r < 0)
		pooled_incidents_free(&pool.p);
	else
		*ret = pool.p;
	return r;
}
