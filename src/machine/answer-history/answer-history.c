#include "machine/answer-history/answer-history.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"

#define FEATURES 5   /* of the culprit: the most unusual */
#define PROGRAM	 1.5 /* the same program is more than the same shortage */
#define FEATURE	 0.5

void saved_answer_free(struct saved_answer *t)
{
	FREE_ALL(t->summary, t->cause, t->culprit, t->bottleneck);
	fingerprint_free(&t->print);
	*t = (struct saved_answer){};
}

static int add_named(struct fingerprint *f, const char *kind, const char *name, double weight)
{
	_cleanup_free_ char *key = NULL;

	if (asprintf(&key, "%s:%s", kind, name) < 0)
		return -ENOMEM;
	return fingerprint_add(f, key, weight);
}

/* The parts are the shortage, the cause, the culprit and its most unusual features; an answer that found nothing has none. */
static int fingerprint_of_answer(const struct answer *a, struct fingerprint *ret)
{
	const struct suspect *top = a->slow && a->culprit_is_named && a->ranking.suspects.n ? &a->ranking.suspects.v[0] : NULL;
	struct fingerprint f = {};
	int r = a->slow ? add_named(&f, "short", bottleneck_name(a->bottleneck), 1) : 0;

	if (r == 0 && a->slow && a->cause)
		r = add_named(&f, "cause", a->cause, 1);
	if (r == 0 && top)
		r = add_named(&f, "program", top->subject->program, PROGRAM);
	for (size_t i = 0; r == 0 && top && i < top->features.n && i < FEATURES; i++)
		r = add_named(&f, "feature", top->features.v[i].feature->name, FEATURE);
	if (r < 0)
		fingerprint_free(&f);
	else
		*ret = f;
	return r;
}

static char *culprit_of(const struct answer *a)
{
	return a->slow && a->culprit_is_named && a->ranking.suspects.n ? entity_label(&a->ranking.suspects.v[0].subject->info) : NULL;
}

static char *write_answer(const struct answer *a)
{
	_cleanup_(fingerprint_free) struct fingerprint print = {};
	_cleanup_free_ char *culprit = culprit_of(a);
	char *text;
	_cleanup_(json_decrefp) json_t *root = NULL;

	if (fingerprint_of_answer(a, &print) < 0)
		return NULL;
	root = json_pack("{s:I, s:b, s:s, s:s?, s:s?, s:s, s:o}", "at", (json_int_t)a->at, "slow", a->slow, "summary", a->summary, "cause",
			 a->cause, "culprit", culprit, "bottleneck", bottleneck_name(a->bottleneck), "fingerprint", fingerprint_json(&print));
	if (root && !isnan(a->confidence))
		json_object_set_new(root, "confidence", json_real(a->confidence));
	text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	return text;
}

static char *text_of(json_t *root, const char *key)
{
	const char *text = json_string_value(json_object_get(root, key));

	return text ? strdup(text) : NULL;
}

int saved_answer_read(const char *text, struct saved_answer *ret)
{
	json_t *root = json_loads(text, 0, NULL), *confidence = json_object_get(root, "confidence");
	struct saved_answer t = {.slow = json_is_true(json_object_get(root, "slow")), .summary = text_of(root, "summary"), .cause = text_of(root, "cause"),
			 .culprit = text_of(root, "culprit"), .bottleneck = text_of(root, "bottleneck"),
			 .wall = json_integer_value(json_object_get(root, "at")),
			 .confidence = json_is_number(confidence) ? json_number_value(confidence) : NAN};
	int r = t.summary && t.bottleneck ? fingerprint_read(json_object_get(root, "fingerprint"), &t.print) : -EBADMSG;

	json_decref(root);
	if (r < 0)
		saved_answer_free(&t);
	else
		*ret = t;
	return r;
}

static bool contains(const char *text, const char *words)
{
	return text && strcasestr(text, words);
}

bool saved_answer_mentions(const char *text, const char *words)
{
	struct saved_answer t;
	bool found;

	if (saved_answer_read(text, &t) < 0)
		return false;
	found = contains(t.summary, words) || contains(t.cause, words) || contains(t.culprit, words);
	saved_answer_free(&t);
	return found;
}

int saved_answer_save(const struct answer_sink *sink, int64_t mark, const struct answer *a)
{
	_cleanup_free_ char *text = write_answer(a);

	return text ? sink->save(sink->data, mark, text) : -ENOMEM;
}

static int answer_now(struct store *store, const struct answer_sink *sink, const struct mark *mark, int64_t window, const struct viewer *viewer, struct saved_answer *ret)
{
	struct why_request request = {
		.at = mark->wall, .window = window, .recorded = true, .marked = true, .viewer = *viewer};
	_cleanup_free_ char *text = NULL;
	_cleanup_(why_data_free) struct why_data data = {};
	struct answer a;
	int r = why_from_store(store, &request, &data, &a);

	if (r == 0) {
		text = write_answer(&a);
		r = text ? saved_answer_read(text, ret) : -ENOMEM;
		answer_free(&a);
	}
	if (r == 0 && sink)
		(void)sink->save(sink->data, mark->id, text);
	return r;
}

int saved_answer_get(struct store *store, const struct answer_sink *sink, const struct mark *mark, int64_t window, const struct viewer *viewer, struct saved_answer *ret)
{
	_cleanup_free_ char *text = store_read_answer(store, mark->id, viewer->uid);
	int r = text ? saved_answer_read(text, ret) : -ENOENT;

	if (r < 0)
		r = answer_now(store, sink, mark, window, viewer, ret);
	if (r == 0)
		ret->mark = mark->id;
	return r;
}

ORDER(by_likeness, struct earlier, DESCENDING(likeness) ?: DESCENDING(wall))

static const char *feedback_text(enum feedback f)
{
	static const char *const names[] = {NULL, "right", "wrong", "fixed"};

	return names[f];
}

static int add_earlier(struct answer *a, const struct mark *mark, struct saved_answer *t, double likeness)
{
	struct earlier e = {.mark = mark->id, .wall = mark->wall, .likeness = likeness, .feedback = feedback_text(mark->feedback)};

	e.note = mark->note ? strdup(mark->note) : NULL;
	e.what = strdup(t->culprit ? t->culprit : t->summary);
	if ((e.note || !mark->note) && e.what && VEC_PUSH(a->similar, e) == 0)
		return 0;
	earlier_free(&e);
	return -ENOMEM;
}

/* Whether a mark is of another incident, before this one: who presses twice, or asks after a press, does not ask about two. */
static bool is_earlier(const struct answer *a, const struct mark *mark, int64_t this_mark)
{
	return mark->id != this_mark && mark->wall < a->at && !(a->slow_since && mark->wall >= a->slow_since);
}

int saved_answer_find_similar(struct store *store, const struct mark *marks, size_t n, int64_t this_mark, const struct viewer *viewer, struct answer *a)
{
	_cleanup_(fingerprint_free) struct fingerprint now = {};
	int r = fingerprint_of_answer(a, &now);

	for (size_t i = 0; r == 0 && now.parts.n && i < n; i++) {
		_cleanup_free_ char *text = is_earlier(a, &marks[i], this_mark) ? store_read_answer(store, marks[i].id, viewer->uid) : NULL;
		struct saved_answer t;
		double likeness;

		if (!text || saved_answer_read(text, &t) < 0)
			continue;
		likeness = fingerprint_likeness(&now, &t.print);
		if (likeness >= LIKE)
			r = add_earlier(a, &marks[i], &t, likeness);
		saved_answer_free(&t);
	}
	VEC_SORT(a->similar, by_likeness);
	return r;
}

/* With what the users of this machine said of earlier answers: so many were right and wrong, of which so many were expected to be
 * right (the sum of what was stated). Odds are multiplied by (right + 1) / (wrong + 1) over what was expected of both, so that a
 * few verdicts change little. */
static double adjusted(double stated, unsigned right, unsigned wrong, double expected)
{
	double odds, found, believed;

	if (isnan(stated) || !(right + wrong))
		return stated;
	odds = stated / fmax(1e-6, 1 - stated);
	found = (right + 1.0) / (wrong + 1.0);
	believed = (expected + 1.0) / (right + wrong - expected + 1.0);
	odds *= found / believed;
	return odds / (1 + odds);
}

void saved_answer_calibrate(struct store *store, const struct mark *marks, size_t n, const struct viewer *viewer, struct answer *a)
{
	unsigned right = 0, wrong = 0;
	double expected = 0;

	for (size_t i = 0; i < n; i++) {
		enum feedback feedback = marks[i].feedback != FEEDBACK_NONE ? store_feedback_by(store, &marks[i], viewer->uid) : FEEDBACK_NONE;
		_cleanup_free_ char *text = feedback != FEEDBACK_NONE ? store_read_answer(store, marks[i].id, viewer->uid) : NULL;
		struct saved_answer t;

		if (!text || saved_answer_read(text, &t) < 0)
			continue;
		if (!isnan(t.confidence)) {
			expected += t.confidence;
			/* what was fixed had been found */
			right += feedback != FEEDBACK_WRONG;
			wrong += feedback == FEEDBACK_WRONG;
		}
		saved_answer_free(&t);
	}
	a->confidence = adjusted(a->confidence, right, wrong, expected);
}

/* --- groups --- */

void similar_groups_free(struct similar_groups *a)
{
	VEC_FREE_EACH(a->list, saved_answer_free(&each->first); VEC_FREE(each->marks));
}

static struct similar_marks *nearest(struct similar_groups *a, const struct saved_answer *t)
{
	struct similar_marks *best = NULL;
	double most = LIKE;

	VEC_EACH(one, a->list) {
		/* nothing found is like nothing found */
		double likeness = !t->print.parts.n && !one->first.print.parts.n ? 1 : fingerprint_likeness(&one->first.print, &t->print);

		if (likeness >= most) {
			most = likeness;
			best = one;
		}
	}
	return best;
}

int similar_groups_add(struct similar_groups *a, struct saved_answer *t, size_t mark)
{
	struct similar_marks *group = nearest(a, t);

	if (group) {
		saved_answer_free(t);
	} else {
		if (VEC_PUSH(a->list, (struct similar_marks){.first = *t}) < 0) {
			saved_answer_free(t);
			return -ENOMEM;
		}
		group = &a->list.v[a->list.n - 1];
	}
	return VEC_PUSH(group->marks, mark);
}

ORDER(by_number, struct similar_marks, DESCENDING(marks.n) ?: ASCENDING(first.wall))

void similar_groups_sort(struct similar_groups *a)
{
	VEC_SORT(a->list, by_number);
}

int saved_answer_group(struct store *store, const struct answer_sink *sink, const struct mark *marks, size_t n, int64_t window, const struct viewer *viewer, struct similar_groups *ret)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct saved_answer t;

		r = saved_answer_get(store, sink, &marks[i], window, viewer, &t);
		if (r == 0)
			r = similar_groups_add(ret, &t, i);
		else if (r == -ENODATA)
			r = 0;
	}
	similar_groups_sort(ret);
	return r;
}
