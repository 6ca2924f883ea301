#include "answer/fleet/pooled-incidents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer/fleet/fleet-recordings.h"
#include "base/data/cleanup.h"
#include "base/data/str.h"

static void incident_free(struct pooled_incident *i)
{
	free(i->host);
	mark_free(&i->mark);
	free(i->summary);
	free(i->culprit);
	free(i->symptom);
}

void pooled_incidents_free(struct pooled_incidents *p)
{
	for (size_t i = 0; i < p->list.n; i++)
		incident_free(&p->list.v[i]);
	VEC_FREE(p->list);
	similar_groups_free(&p->groups);
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

/* Takes the mark over. */
static int add_incident(struct pooled_incidents *p, struct store *store, const char *host, struct mark *mark, int64_t window)
{
	static const struct viewer all;
	struct pooled_incident i = {.host = strdup(host), .mark = *mark};
	struct saved_answer t;
	int r = i.host ? saved_answer_get(store, NULL, mark, window, &all, &t) : -ENOMEM;
	bool told = r == 0;

	*mark = (struct mark){};
	if (told)
		r = copy_answer(&t, &i);
	else if (r == -ENODATA)
		r = 0;
	r = r ?: VEC_PUSH(p->list, i);
	if (r < 0)
		incident_free(&i);
	if (r == 0 && told)
		return similar_groups_add(&p->groups, &t, p->list.n - 1);
	if (told)
		saved_answer_free(&t);
	return r;
}

static int read_marks(struct pooled_incidents *p, struct store *store, const char *host, int64_t from, int64_t to, int64_t window)
{
	struct mark *marks;
	size_t n;
	int r = store_marks(store, from, to, &marks, &n);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_incident(p, store, host, &marks[i], window);
	marks_free(marks, n);
	return r;
}

static int read_recording(struct pooled_incidents *p, const char *path, int64_t from, int64_t to, int64_t window)
{
	_cleanup_free_ char *error = NULL, *host = recording_host(path);
	struct store_paths paths = {path, NULL};
	struct store *store;
	int r = host ? store_open(&paths, STORE_READ, &store, &error) : -ENOMEM;

	if (r == 0) {
		r = read_marks(p, store, host, from, to, window);
		if (r < 0 && r != -ENOMEM && !p->first_error)
			fail_with(&p->first_error, r, "%s: %s", path, store_reason(store, r));
		store_close(store);
	} else if (r != -ENOMEM && !p->first_error) {
		fail_with(&p->first_error, r, "%s: %s", path, error ? error : strerror(-r));
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
		noted[i] = (struct noted_incident){mark_is_of_rule(&p->list.v[i].mark) ? NULL : p->list.v[i].mark.note, p->list.v[i].symptom};
	r = note_words_find(noted, p->list.n, &p->words);
	free(noted);
	return r;
}

int pooled_incidents_read(const char *location, int64_t from, int64_t to, int64_t window, struct pooled_incidents *ret)
{
	struct pooled_incidents p = {};
	glob_t files = {};
	int r = recordings_find(location, &files);

	for (size_t i = 0; r == 0 && i < files.gl_pathc; i++)
		r = read_recording(&p, files.gl_pathv[i], from, to, window);
	globfree(&files);
	if (r == 0) {
		similar_groups_sort(&p.groups);
		r = relate_words(&p);
	}
	if (r < 0)
		pooled_incidents_free(&p);
	else
		*ret = p;
	return r;
}
