#include "machine/model/totals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/hmap.h"
#include "lib/data/str.h"

#define FILE_NAME "totals"
#define FILE_SIZE (TOTALS_ROWS * sizeof(struct totals_row))
#define OTHERS	  0 /* the row of programs without one of their own */

struct totals {
	struct totals_row *rows;
	char *path;
	struct hmap by_name;   /* (hash of its texts, kind) -> row */
	struct hmap by_entity; /* (the entity's address, 0) -> row */
	uint64_t ticks;
};

int totals_new(const char *run_dir, struct totals **ret)
{
	struct totals *t = calloc(1, sizeof(*t));
	_cleanup_close_ int fd = -1;
	void *rows;

	if (!t || asprintf(&t->path, "%s/" FILE_NAME, run_dir) < 0) {
		free(t);
		return -ENOMEM;
	}
	(void)unlink(t->path);
	fd = open(t->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	rows = fd < 0 || ftruncate(fd, (off_t)FILE_SIZE) < 0 ? MAP_FAILED : mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (rows == MAP_FAILED) {
		int r = -errno;

		FREE_ALL(t->path, t);
		return r;
	}
	t->rows = rows;
	*ret = t;
	return 0;
}

void totals_free(struct totals *t)
{
	if (!t)
		return;
	(void)unlink(t->path);
	(void)munmap(t->rows, FILE_SIZE);
	hmap_free(&t->by_name);
	hmap_free(&t->by_entity);
	FREE_ALL(t->path, t);
}

/* --- rows --- */

static void put_text(char text[static TOTALS_TEXT], const char *from)
{
	snprintf(text, TOTALS_TEXT, "%s", from ? from : "");
	str_make_printable(text);
}

static uint64_t hash_row(const struct totals_row *row)
{
	return hmap_hash_text(row->name) ^ hmap_hash(hmap_hash_text(row->unit), hmap_hash_text(row->container)) ^ hmap_hash(row->uid, hmap_hash_text(row->plain));
}

static void free_row(struct totals *t, struct totals_row *row)
{
	hmap_remove(&t->by_name, hash_row(row), row->kind);
	__atomic_store_n(&row->kind, 0, __ATOMIC_RELEASE);
	memset(row, 0, sizeof(*row));
}

/* A free one, else that of the program which ended longest ago; NULL: all live. */
static struct totals_row *make_room(struct totals *t)
{
	struct totals_row *oldest = NULL;

	for (struct totals_row *row = t->rows + OTHERS + 1; row < t->rows + TOTALS_ROWS; row++) {
		if (!row->kind)
			return row;
		if (row->kind == ENTITY_PROCESS && !row->living && (!oldest || row->last < oldest->last))
			oldest = row;
	}
	if (oldest)
		free_row(t, oldest);
	return oldest;
}

static struct totals_row *row_named(struct totals *t, const struct totals_row *wanted, uint32_t kind)
{
	uint64_t hash = hash_row(wanted);
	struct totals_row *row = hmap_get(&t->by_name, hash, kind);

	if (row)
		return row;
	row = make_room(t);
	if (!row && kind == ENTITY_PROCESS) {
		row = t->rows + OTHERS;
		put_text(row->name, TOTALS_OTHERS);
		put_text(row->plain, TOTALS_OTHERS);
	} else if (!row || hmap_put(&t->by_name, hash, kind, row) < 0) {
		return NULL;
	} else {
		memcpy(row->name, wanted->name, sizeof(row->name));
		memcpy(row->unit, wanted->unit, sizeof(row->unit));
		memcpy(row->container, wanted->container, sizeof(row->container));
		memcpy(row->plain, wanted->plain, sizeof(row->plain));
		row->uid = wanted->uid;
	}
	__atomic_store_n(&row->kind, kind, __ATOMIC_RELEASE);
	return row;
}

static struct totals_row *find_named(struct totals *t, const struct entity *e)
{
	const bool program = entity_is_program(&e->info);
	_cleanup_free_ char *label = program ? entity_label(&e->info) : NULL, *plain = program ? entity_plain_label(&e->info) : NULL;
	struct totals_row wanted = {.uid = program ? e->info.uid : 0};

	put_text(wanted.name, label ? label : e->info.name);
	put_text(wanted.plain, plain);
	put_text(wanted.unit, program ? e->info.unit : NULL);
	put_text(wanted.container, program ? e->info.container : NULL);
	return row_named(t, &wanted, program ? ENTITY_PROCESS : e->info.kind);
}

/* A program's name is known a little later than it is first seen, and may change. */
static struct totals_row *row_of(struct totals *t, const struct entity *e)
{
	struct totals_row *known = hmap_get(&t->by_entity, (uintptr_t)e, 0), *row;

	if (known && !e->changed)
		return known;
	row = find_named(t, e);
	if (!row || row == known || hmap_put(&t->by_entity, (uintptr_t)e, 0, row) < 0)
		return known;
	if (known)
		known->living--;
	row->living++;
	return row;
}

/* --- a tick --- */

/* An entity of a program adds what its counters have grown by, as the encoder shows it. */
static void add_growth(struct totals_row *row, const struct sample *s)
{
	const struct entity *e = s->entity;
	size_t n;
	const struct feature *features = features_of(e->info.kind, &n);

	for (size_t i = 0; i < n; i++) {
		int64_t before = entity_before(e, &features[i], i, s->values[i]);

		if (features[i].kind != COUNTER || !(s->present >> i & 1) || s->values[i] <= before)
			continue;
		__atomic_store_n(&row->values[i], row->values[i] + (s->values[i] - before), __ATOMIC_RELAXED);
		row->present |= FEATURE_BIT(i);
	}
}

static void set_values(struct totals_row *row, const struct sample *s)
{
	size_t n;

	features_of(s->entity->info.kind, &n);
	for (size_t i = 0; i < n; i++)
		if (s->present >> i & 1)
			__atomic_store_n(&row->values[i], s->values[i], __ATOMIC_RELAXED);
	row->present = s->present;
}

static void forget(struct totals *t, const struct entity *e)
{
	struct totals_row *row = hmap_remove(&t->by_entity, (uintptr_t)e, 0);

	if (!row)
		return;
	row->living--;
	if (!entity_is_program(&e->info) && !row->living)
		free_row(t, row); /* a level of what has ended is none */
}

/* A row that stays, whatever room is needed; NULL: there is none. */
static struct totals_row *own_row(struct totals *t, const char *name, uint32_t kind)
{
	struct totals_row wanted = {}, *row;

	put_text(wanted.name, name);
	row = row_named(t, &wanted, kind);
	if (row) {
		row->living = 1;
		row->present = FEATURES_ALL;
	}
	return row;
}

void totals_count_incidents(struct totals *t, const char *rule, int began, int continuing)
{
	struct totals_row *row = own_row(t, rule, TOTALS_RULE);

	if (!row)
		return;
	__atomic_fetch_add(&row->values[TOTALS_RULE_INCIDENTS], began, __ATOMIC_RELAXED);
	__atomic_fetch_add(&row->values[TOTALS_RULE_CONTINUING], continuing, __ATOMIC_RELAXED);
}

static void take_recorder(struct totals *t, const struct tick *tick)
{
	struct totals_row *row = own_row(t, "", TOTALS_RECORDER);

	if (!row)
		return;
	if (!row->values[TOTALS_RECORDER_STARTED])
		__atomic_store_n(&row->values[TOTALS_RECORDER_STARTED], tick->wall, __ATOMIC_RELAXED);
	__atomic_store_n(&row->values[TOTALS_RECORDER_TICKS], (int64_t)t->ticks, __ATOMIC_RELAXED);
	__atomic_store_n(&row->values[TOTALS_RECORDER_LAST], tick->wall, __ATOMIC_RELAXED);
}

void totals_take(struct totals *t, const struct tick *tick)
{
	t->ticks++;
	take_recorder(t, tick);
	VEC_EACH(s, tick->samples) {
		struct totals_row *row = s->same && !s->entity->changed ? NULL : row_of(t, s->entity);

		if (!row)
			continue;
		row->last = t->ticks;
		if (entity_is_program(&s->entity->info))
			add_growth(row, s);
		else
			set_values(row, s);
	}
	for (size_t i = 0; i < tick->ended.n; i++)
		forget(t, tick->ended.v[i]);
}

/* --- readers --- */

int totals_open(const char *run_dir, const struct totals_row **ret_rows)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int fd = -1;
	struct stat st;
	void *rows;

	if (asprintf(&path, "%s/" FILE_NAME, run_dir) < 0)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size != (off_t)FILE_SIZE)
		return -EBADMSG;
	rows = mmap(NULL, FILE_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	if (rows == MAP_FAILED)
		return -errno;
	*ret_rows = rows;
	return 0;
}

/* As the viewer may see it; false: not at all. */
static bool hide(struct totals_row *row, const struct viewer *v)
{
	if (row->kind != ENTITY_PROCESS)
		return true;
	if (visibility(v, DATUM_PROCESS, row->uid) == SHOWN_NOT)
		return false;
	if (visibility(v, DATUM_COMMAND_LINE, row->uid) != SHOWN_WHOLE)
		memcpy(row->name, row->plain, sizeof(row->name));
	visibility_shorten(v, DATUM_UNIT, row->uid, row->unit);
	visibility_shorten(v, DATUM_UNIT, row->uid, row->container);
	*row->plain = '\0';
	row->uid = 0;
	return true;
}

static void add_row(struct totals_row *to, const struct totals_row *from)
{
	for (size_t i = 0; i < FEATURES_MAX; i++)
		to->values[i] += from->values[i];
	to->present |= from->present;
	to->living += from->living;
}

int totals_view(const struct totals_row *rows, const struct viewer *v, struct totals_row **ret)
{
	_cleanup_free_ struct totals_row *copy = calloc(TOTALS_ROWS, sizeof(*copy));
	struct hmap by_name = {};
	size_t n = 0;
	int r = copy ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < TOTALS_ROWS; i++) {
		const struct totals_row *row = totals_at(rows, i);
		struct totals_row *same;

		if (!row)
			continue;
		copy[n] = *row;
		if (!hide(&copy[n], v))
			continue;
		same = hmap_get(&by_name, hash_row(&copy[n]), copy[n].kind);
		if (same && same->kind == ENTITY_PROCESS)
			add_row(same, &copy[n]);
		else if (hmap_put(&by_name, hash_row(&copy[n]), copy[n].kind, &copy[n]) == 0)
			n++;
		else
			r = -ENOMEM;
	}
	hmap_free(&by_name);
	if (r < 0)
		return r;
	if (n < TOTALS_ROWS)
		memset(&copy[n], 0, sizeof(*copy)); /* it may have been put together with another */
	*ret = TAKE(copy);
	return 0;
}

const struct totals_row *totals_at(const struct totals_row *rows, size_t i)
{
	return __atomic_load_n(&rows[i].kind, __ATOMIC_ACQUIRE) ? &rows[i] : NULL;
}

void totals_close(const struct totals_row *rows)
{
	if (rows)
		(void)munmap((void *)rows, FILE_SIZE);
}
