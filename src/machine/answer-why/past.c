#include "machine/answer-why/past.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"

#define RECORDING ".db" /* the end of its name */
#define HOUR		(3600 * NS_PER_SEC)
#define ELSEWHERE_REACH (30 * 24 * HOUR) /* what is older says little of today, and a year of a hundred machines would fill the memory */
#define GAUGE_COVERED \
	0.9 /* a level that did not change is in no summary: below this the program's sum is not known */

struct past_hour {
	int64_t from, to;
	double ticks; /* of the machine's own entity: how many were recorded */
};

struct origin {
	uint32_t hour, group;
};

struct history {
	bool gauge, of_each;
	VEC(struct older_stretch) stretches;
	VEC(struct origin) origins; /* one a stretch */
};

static uint64_t feature_key(enum entity_kind kind, size_t feature)
{
	return (uint64_t)kind * FEATURES_MAX + feature;
}

static int begin_hour(struct past *p, const struct summary *s)
{
	if (p->hours.n > p->begin && p->hours.v[p->hours.n - 1].from == s->from)
		return 0;
	return VEC_PUSH(p->hours, (struct past_hour){.from = s->from, .to = s->to});
}

static struct history *history_of(struct past *p, const struct summary *s)
{
	uint64_t hash = hmap_hash_text(s->program), key = feature_key(s->kind, (size_t)s->feature);
	struct history *h = hmap_get(&p->histories, hash, key);
	size_t n;

	if (h)
		return h;
	h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	h->gauge = features_of(s->kind, &n)[s->feature].kind != COUNTER;
	h->of_each = features_of(s->kind, &n)[s->feature].flags & OF_EACH;
	if (hmap_put(&p->histories, hash, key, h) < 0) {
		free(h);
		return NULL;
	}
	return h;
}

/* Rows of one program and hour follow each other. */
static int begin_group(struct past *p, const struct summary *s)
{
	uint64_t now[3] = {p->hours.n, hmap_hash_text(s->program), s->kind};

	if (p->most.n && now[0] == p->last[0] && now[1] == p->last[1] && now[2] == p->last[2])
		return 0;
	for (size_t i = 0; i < 3; i++)
		p->last[i] = now[i];
	return VEC_PUSH(p->most, 0);
}

static int take(const struct summary *s, void *data)
{
	struct past *p = data;
	struct history *h;

	if (marked_times_touch(&p->marked, s->from, s->to))
		return 0;
	if (begin_hour(p, s) < 0 || begin_group(p, s) < 0)
		return -ENOMEM;
	if (s->kind == ENTITY_SYSTEM && s->distribution.n > p->hours.v[p->hours.n - 1].ticks)
		p->hours.v[p->hours.n - 1].ticks = s->distribution.n;
	if (s->kind != ENTITY_PROCESS && s->kind != ENTITY_SHORT_LIVED && s->kind != ENTITY_KERNEL)
		return 0;
	if (s->distribution.n > p->most.v[p->most.n - 1])
		p->most.v[p->most.n - 1] = s->distribution.n;
	h = history_of(p, s);
	if (!h ||
	    VEC_PUSH(h->origins, (struct origin){(uint32_t)p->hours.n - 1, (uint32_t)p->most.n - 1}) < 0)
		return -ENOMEM;
	return VEC_PUSH(h->stretches,
			(struct older_stretch){.from = s->from, .to = s->to, .of_member = s->distribution});
}

/* How much of it was recorded. */
static double seconds_of(const struct past_hour *hour)
{
	return hour->ticks > 0 ? hour->ticks : (double)(hour->to - hour->from) / 1e9;
}

/* What only the whole hour tells: how much of it was recorded, and whether a gauge's rows are complete. */
static void settle(const struct past *p, struct history *h)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->stretches.n; i++) {
		struct older_stretch s = h->stretches.v[i];
		const struct past_hour *hour = &p->hours.v[h->origins.v[i].hour];

		if (h->gauge && s.of_member.n < GAUGE_COVERED * p->most.v[h->origins.v[i].group])
			continue;
		s.seconds = seconds_of(hour);
		s.members = h->of_each ? 1 : s.of_member.n / s.seconds;
		h->stretches.v[kept++] = s;
	}
	h->stretches.n = kept;
}

int past_read(struct past *p, struct store *s, int64_t from, int64_t to, const struct mark *marks,
	      size_t n_marks)
{
	unsigned damaged;
	int r;

	p->begin = p->hours.n;
	memset(p->last, 0, sizeof(p->last));
	marked_times_free(&p->marked);
	r = marked_times_collect(marks, n_marks, 0, 0, true, INT64_MAX, &p->marked);
	r = r ?: store_summaries(s, SUMMARY_HOUR, from, to, take, p, &damaged);
	if (r < 0 || p->begin || !p->hours.n)
		return r;
	p->from = p->hours.v[0].from;
	VEC_EACH(hour, p->hours)
		p->recorded += (int64_t)(seconds_of(hour) * 1e9);
	return 0;
}

struct elsewhere {
	struct stat asked; /* the recording that is asked about */
	int64_t from, to;
};

static int read_recording(struct past *p, const char *file, int64_t from, int64_t to, char **ret_error)
{
	const struct store_paths paths = {file, NULL};
	_cleanup_store_ struct store *store = NULL;
	struct mark *marks = NULL;
	size_t n = 0;
	int r = store_open(&paths, STORE_READ, &store, ret_error);

	if (r < 0)
		return r;
	r = store_marks(store, INT64_MIN, INT64_MAX, &marks, &n);
	r = r ?: past_read(p, store, from, to, marks, n);
	marks_free(marks, n);
	if (r < 0)
		*ret_error = strdup(store_reason(store, r));
	else if (p->hours.n == p->begin) {
		r = -ENODATA;
		if (asprintf(ret_error, "%s has no full hour of that time", file) < 0)
			*ret_error = NULL;
	}
	return r;
}

/* One that cannot be read leaves the others; the one that is asked about is none of another machine. */
static int read_or_note(struct past *p, const char *file, const struct elsewhere *other, size_t *read, struct str *left_out)
{
	_cleanup_free_ char *error = NULL;
	struct stat st;
	int r;

	if (stat(file, &st) == 0 && st.st_dev == other->asked.st_dev && st.st_ino == other->asked.st_ino)
		return 0;
	r = read_recording(p, file, other->from, other->to, &error);
	if (r == -ENOMEM)
		return r;
	*read += r == 0;
	return r < 0 ? str_printf(left_out, "%s%s", left_out->len ? "; " : "", error ? error : strerror(-r)) : 0;
}

static int read_folder(struct past *p, const char *path, const struct elsewhere *other, size_t *read, struct str *left_out)
{
	DIR *folder = opendir(path);
	int r = 0;

	if (!folder)
		return -errno;
	FOLDER_EACH(e, folder)
		if (r == 0 && strlen(e.name) > strlen(RECORDING) && strcmp(e.name + strlen(e.name) - strlen(RECORDING), RECORDING) == 0)
			r = read_or_note(p, STR_TEXT(PATH_MAX, "%s/%s", path, e.name), other, read, left_out);
	return r;
}

int past_read_elsewhere(struct past *p, const char *path, const char *asked, int64_t at, size_t *ret_read, char **ret_left_out)
{
	/* what is a copy of the same machine's must not make the incident normal, so the hour before it is left out, too */
	struct elsewhere other = {.from = at - ELSEWHERE_REACH, .to = at - HOUR};
	const int64_t from = p->from, recorded = p->recorded;
	struct str left_out = {};
	struct stat st;
	size_t read = 0;
	int r = stat(path, &st) < 0 ? -errno : 0;

	(void)stat(asked, &other.asked); /* one that is not there is no other either */
	if (r == 0)
		r = S_ISDIR(st.st_mode) ? read_folder(p, path, &other, &read, &left_out) : read_or_note(p, path, &other, &read, &left_out);
	p->from = from;
	p->recorded = recorded;
	*ret_read = read;
	*ret_left_out = left_out.data;
	return r < 0 || read || left_out.len ? r : -ENOMEDIUM;
}

void past_settle(struct past *p)
{
	HMAP_FOREACH(slot, &p->histories)
		settle(p, slot->value);
}

void past_free(struct past *p)
{
	HMAP_FOREACH(slot, &p->histories)
	{
		struct history *h = slot->value;

		VEC_FREE(h->stretches);
		VEC_FREE(h->origins);
		free(h);
	}
	hmap_free(&p->histories);
	VEC_FREE(p->hours);
	VEC_FREE(p->most);
	marked_times_free(&p->marked);
}

const struct older_stretch *past_find(const struct past *p, enum entity_kind kind, const char *program,
				size_t feature, size_t *ret_n)
{
	const struct history *h =
		p->histories.n ? hmap_get(&p->histories, hmap_hash_text(program), feature_key(kind, feature))
			       : NULL;

	*ret_n = h ? h->stretches.n : 0;
	return *ret_n ? h->stretches.v : NULL;
}
