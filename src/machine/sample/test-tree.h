/* A recorded machine (tests/fixtures/NAME) as a source sees it: copied to a folder of its own, so that the files can
 * change under the source's open descriptors as the kernel's do. "first" is the whole tree, "second" what of it was
 * different a moment later. */
#pragma once

#include "lib/data/test.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/data/clock.h"
#include "machine/sample/source.h"

struct tree {
	const char *name;
	char root[64], proc[80], sys[80];
	const struct source *source;
	void *state;
	struct tick tick;
};

static inline void tree_copy(const struct tree *t, const char *version)
{
	char command[PATH_MAX + 200];

	snprintf(command, sizeof(command), "cp -rT '%s/%s/%s' '%s'", FIXTURES, t->name, version, t->root);
	assert_int_equal(system(command), 0);
}

static inline struct tree tree_new(const char *name)
{
	struct tree t = {.name = name, .root = "/tmp/whyslow-tree-XXXXXX"};

	assert_non_null(mkdtemp(t.root));
	snprintf(t.proc, sizeof(t.proc), "%s/proc", t.root);
	snprintf(t.sys, sizeof(t.sys), "%s/sys", t.root);
	tree_copy(&t, "first");
	return t;
}

static inline int tree_try_source(struct tree *t, const struct source *source)
{
	struct source_options options = {.proc_root = t->proc, .sys_root = t->sys};
	const char *why = NULL;

	t->source = source;
	return source->open(&options, &t->state, &why);
}

static inline void tree_open_source(struct tree *t, const struct source *source)
{
	assert_int_equal(tree_try_source(t, source), 0);
}

static inline const struct source *source_named(const char *name)
{
	for (size_t i = 0; system_sources[i]; i++)
		if (strcmp(system_sources[i]->name, name) == 0)
			return system_sources[i];
	fail_msg("no source %s", name);
	return NULL;
}

static inline void tree_sample(struct tree *t)
{
	tick_begin(&t->tick, t->tick.boot + NS_PER_SEC, 1790000000 * NS_PER_SEC);
	t->source->sample(t->state, &t->tick);
}

static inline void tree_write(const struct tree *t, const char *path, const char *text)
{
	char name[PATH_MAX];
	FILE *f;

	snprintf(name, sizeof(name), "%s/%s", t->root, path);
	f = fopen(name, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static inline int remove_entry(const char *path, const struct stat *s, int kind, struct FTW *ftw)
{
	(void)s, (void)kind, (void)ftw;
	return remove(path);
}

static inline void tree_remove(const struct tree *t, const char *path)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s/%s", t->root, path);
	assert_int_equal(nftw(name, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static inline void tree_free(struct tree *t)
{
	if (t->state)
		t->source->close(t->state);
	tick_free(&t->tick);
	tree_remove(t, "");
}

static inline const struct sample *sample_of(const struct tree *t, enum entity_kind kind, const char *name)
{
	for (size_t i = 0; i < t->tick.samples.n; i++) {
		const struct sample *s = &t->tick.samples.v[i];

		if (s->entity->info.kind == kind && strcmp(s->entity->info.name, name) == 0)
			return s;
	}
	return NULL;
}

static inline size_t count_of(const struct tree *t, enum entity_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < t->tick.samples.n; i++)
		n += t->tick.samples.v[i].entity->info.kind == kind;
	return n;
}

static inline void check_value(const struct tree *t, enum entity_kind kind, const char *name,
			       const char *feature, int64_t value)
{
	const struct sample *s = sample_of(t, kind, name);
	int i = feature_index(kind, feature);

	if (!s || i < 0 || !(s->present >> i & 1))
		fail_msg("%s of %s: not measured", feature, name);
	else if (s->values[i] != value)
		fail_msg("%s of %s: %lld, not %lld", feature, name, (long long)s->values[i],
			 (long long)value);
}

static inline void check_missing(const struct tree *t, enum entity_kind kind, const char *name,
				 const char *feature)
{
	const struct sample *s = sample_of(t, kind, name);
	int i = feature_index(kind, feature);

	assert_true(i >= 0);
	if (s && s->present >> i & 1)
		fail_msg("%s of %s: measured as %lld", feature, name, (long long)s->values[i]);
}

/* A feature of one entity in the two versions of a tree. */
struct expected {
	const char *name, *feature;
	int64_t first, second;
};

static inline void check_first(const struct tree *t, enum entity_kind kind, const struct expected *e,
			       size_t n)
{
	for (size_t i = 0; i < n; i++)
		check_value(t, kind, e[i].name, e[i].feature, e[i].first);
}

static inline void check_second(const struct tree *t, enum entity_kind kind, const struct expected *e,
				size_t n)
{
	for (size_t i = 0; i < n; i++)
		check_value(t, kind, e[i].name, e[i].feature, e[i].second);
}
