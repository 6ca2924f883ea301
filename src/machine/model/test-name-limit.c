#include "lib/data/test.h"

#include <stdio.h>
#include <string.h>

#include "lib/data/clock.h"
#include "machine/model/name-limit.h"

#define CPU	 (FEATURE_BIT(FEATURE_CPU_TIME))
#define MEASURED (CPU | FEATURE_BIT(FEATURE_MEM_ANON) | FEATURE_BIT(FEATURE_SCHED_NICE))
#define USER	 1000

/* Plays the sources and the encoder: entities come, are put with these values, and end. */
struct world {
	struct name_limit *limit;
	struct tick tick;
	uint32_t next_id, named, named_in_tick;
	int64_t now;
	int64_t cpu, memory; /* of all samples that came through: growth, and levels at the last tick */
	VEC(struct entity *) living;
	int64_t values[PROCESS_FEATURE_COUNT];
};

static struct world begin(void)
{
	return (struct world){.limit = name_limit_new(), .now = 1000 * NS_PER_SEC};
}

static void end(struct world *w)
{
	for (size_t i = 0; i < w->living.n; i++)
		entity_free(w->living.v[i]);
	VEC_FREE(w->living);
	name_limit_free(w->limit);
	tick_free(&w->tick);
}

static void begin_tick(struct world *w)
{
	w->now += NS_PER_SEC;
	tick_begin(&w->tick, w->now, w->now);
}

static struct entity *start(struct world *w, enum entity_kind kind, const char *name, uint32_t uid, uint32_t parent)
{
	struct entity *e = entity_new(kind, name);

	assert_non_null(e);
	e->info.uid = uid;
	e->info.parent = parent;
	e->born = true;
	assert_int_equal(VEC_PUSH(w->living, e), 0);
	(void)VEC_PUSH(w->tick.unnamed, e);
	return e;
}

static void put(struct world *w, struct entity *e)
{
	assert_int_equal(tick_put(&w->tick, e, w->values, MEASURED), 0);
}

/* As machine/chunk/frame.c does. */
static void encode(struct world *w, bool key)
{
	name_limit_apply(w->limit, &w->tick, key);
	w->named_in_tick = 0;
	w->memory = 0;
	for (size_t i = 0; i < w->tick.samples.n; i++) {
		const struct sample *s = &w->tick.samples.v[i];
		struct entity *e = s->entity;

		w->named_in_tick += !e->info.id;
		if (!e->info.id)
			e->info.id = ++w->next_id;
		w->cpu += s->values[FEATURE_CPU_TIME] - e->previous[FEATURE_CPU_TIME];
		w->memory += s->values[FEATURE_MEM_ANON];
		e->previous[FEATURE_CPU_TIME] = s->values[FEATURE_CPU_TIME];
		e->measured |= s->present;
		e->fresh = e->changed = false;
	}
	w->named += w->named_in_tick;
}

/* `n` processes of ever new names do 1 ms each and hold a page, then all end. */
static void storm(struct world *w, uint32_t uid, uint32_t parent, unsigned n, bool key)
{
	static unsigned number;

	begin_tick(w);
	w->values[FEATURE_CPU_TIME] = NS_PER_MS;
	w->values[FEATURE_MEM_ANON] = 4096;
	for (unsigned i = 0; i < n; i++) {
		char name[16];

		snprintf(name, sizeof(name), "x%u", number++);
		put(w, start(w, ENTITY_PROCESS, name, uid, parent));
	}
	encode(w, key);
}

static void end_all(struct world *w)
{
	begin_tick(w);
	for (size_t i = 0; i < w->living.n; i++)
		(void)VEC_PUSH(w->tick.ended, w->living.v[i]);
	encode(w, false);
	for (size_t i = 0; i < w->living.n; i++)
		entity_free(w->living.v[i]);
	w->living.n = 0;
}

static const struct sample *find(const struct world *w, const char *name, uint32_t uid)
{
	for (size_t i = 0; i < w->tick.samples.n; i++) {
		const struct entity_info *info = &w->tick.samples.v[i].entity->info;

		if (strcmp(info->name, name) == 0 && info->uid == uid)
			return &w->tick.samples.v[i];
	}
	return NULL;
}

static void a_storm_of_names_is_bounded_and_nothing_is_lost(void **state)
{
	struct world w = begin();
	unsigned ticks = 40, each = 2000;

	for (unsigned t = 0; t < ticks; t++) {
		storm(&w, USER, 7, each, t == 0);
		assert_int_equal(w.memory, each * 4096);
		assert_true(w.named_in_tick <= NAMES_A_TICK);
		end_all(&w);
		assert_int_equal(w.memory, 0);
	}
	assert_int_equal(w.cpu, (int64_t)ticks * each * NS_PER_MS);
	assert_true(w.named < PROCESSES_A_WINDOW / 2 + FOLDED_NAMES_A_WINDOW / 2);
	assert_true(name_limit_folded(w.limit) > ticks * each / 2);
	end(&w);
}

static void what_stands_for_others_counts_them(void **state)
{
	struct world w = begin();
	const struct sample *others;

	storm(&w, USER, 7, 5000, true);
	assert_null(find(&w, NAME_OF_OTHERS, 0));
	others = find(&w, NAME_OF_OTHERS, USER);
	assert_non_null(others);
	assert_int_equal(others->entity->info.kind, ENTITY_SHORT_LIVED);
	assert_true(others->values[FEATURE_CPU_TIME] > 4000 * NS_PER_MS);
	assert_false(others->present >> FEATURE_SCHED_NICE & 1);
	end_all(&w);
	others = find(&w, NAME_OF_OTHERS, USER);
	assert_non_null(others);
	assert_true(others->values[FEATURE_CHILDREN_SHORT] > 4000);
	end(&w);
}

static void others_get_their_names_during_a_storm(void **state)
{
	struct world w = begin();
	struct entity *of_root, *of_user, *of_same_user;

	for (unsigned t = 0; t < 30; t++) {
		storm(&w, USER, 7, 2000, t == 0);
		end_all(&w);
	}
	begin_tick(&w);
	for (unsigned i = 0; i < 2000; i++)
		put(&w, start(&w, ENTITY_PROCESS, "storm", USER, 7));
	of_root = start(&w, ENTITY_PROCESS, "sshd", 0, 1);
	of_user = start(&w, ENTITY_PROCESS, "editor", USER + 1, 900);
	of_same_user = start(&w, ENTITY_PROCESS, "browser", USER, 901);
	put(&w, of_root);
	put(&w, of_user);
	put(&w, of_same_user);
	encode(&w, false);
	assert_non_null(find(&w, "sshd", 0));
	assert_int_not_equal(of_root->info.id, 0);
	assert_int_not_equal(of_user->info.id, 0);
	assert_int_not_equal(of_same_user->info.id, 0);
	end(&w);
}

/* All processes of a name that is not new are added up under it. */
static void a_name_is_kept_where_only_the_processes_are_new(void **state)
{
	struct world w = begin();
	const struct sample *s = NULL;

	begin_tick(&w);
	w.values[FEATURE_CPU_TIME] = NS_PER_MS;
	for (unsigned i = 0; i < 2000; i++)
		put(&w, start(&w, ENTITY_PROCESS, "cc1", USER, 7));
	encode(&w, true);
	assert_null(find(&w, NAME_OF_OTHERS, USER));
	for (size_t i = 0; i < w.tick.samples.n; i++)
		if (w.tick.samples.v[i].entity->info.kind == ENTITY_SHORT_LIVED)
			s = &w.tick.samples.v[i];
	assert_non_null(s);
	assert_string_equal(s->entity->info.name, "cc1");
	assert_true(s->values[FEATURE_CPU_TIME] > 1000 * NS_PER_MS);
	end(&w);
}

static void who_outlives_the_window_gets_a_name(void **state)
{
	struct world w = begin();
	struct entity *last;

	storm(&w, USER, 7, 1000, true);
	last = w.living.v[w.living.n - 1];
	assert_int_equal(last->info.id, 0);
	assert_int_equal(w.tick.unnamed.n, w.named_in_tick - 1 - FOLDED_NAMES_A_WINDOW * 3 / 8);
	w.now += NAME_WINDOW;
	begin_tick(&w);
	w.values[FEATURE_CPU_TIME] = 3 * NS_PER_MS;
	put(&w, last);
	encode(&w, true);
	assert_int_not_equal(last->info.id, 0);
	assert_null(last->folded);
	assert_int_equal(w.tick.unnamed.n, 1);
	assert_int_equal(last->previous[FEATURE_CPU_TIME], 3 * NS_PER_MS);
	assert_int_equal(w.cpu, 1000 * NS_PER_MS + 2 * NS_PER_MS);
	end(&w);
}

/* A browser that began during a storm of its own user's. */
static void who_lasts_gets_a_name_within_the_window(void **state)
{
	struct world w = begin();
	unsigned named = 0;

	storm(&w, USER, 7, 1000, true);
	for (size_t i = 0; i < w.living.n; i++)
		w.living.v[i]->info.start = (uint64_t)w.now;
	begin_tick(&w);
	put(&w, w.living.v[999]);
	encode(&w, false);
	assert_int_equal(w.living.v[999]->info.id, 0);
	w.now += LASTING;
	begin_tick(&w);
	for (size_t i = 0; i < w.living.n; i++)
		put(&w, w.living.v[w.living.n - 1 - i]);
	encode(&w, false);
	assert_int_not_equal(w.living.v[999]->info.id, 0);
	for (size_t i = 0; i < w.living.n; i++)
		named += w.living.v[i]->info.id != 0;
	assert_in_range(named, 300, 256 + LASTING_A_WINDOW * 3 / 8);
	assert_int_equal(w.memory, 1000 * 4096);
	assert_int_equal(w.cpu, 1000 * NS_PER_MS);
	end(&w);
}

static void who_was_there_before_the_recorder_keeps_a_name(void **state)
{
	struct world w = begin();

	begin_tick(&w);
	for (unsigned i = 0; i < 20000; i++) {
		struct entity *e = start(&w, ENTITY_PROCESS, "worker", USER, 7);

		e->born = false;
		put(&w, e);
	}
	encode(&w, true);
	assert_int_equal(w.named_in_tick, 20000);
	assert_int_equal(name_limit_folded(w.limit), 0);
	end(&w);
}

/* prctl(PR_SET_NAME) at every tick by a thousand processes: each would be a definition in the journal. */
static void names_that_change_are_bounded_too(void **state)
{
	struct world w = begin();
	size_t changed = 0;

	begin_tick(&w);
	for (unsigned i = 0; i < 20000; i++) {
		struct entity *e = start(&w, ENTITY_PROCESS, "worker", USER, 7);

		e->born = false;
		put(&w, e);
	}
	encode(&w, true);
	begin_tick(&w);
	for (size_t i = 0; i < w.living.n; i++) {
		w.living.v[i]->changed = true;
		put(&w, w.living.v[i]);
	}
	name_limit_apply(w.limit, &w.tick, false);
	for (size_t i = 0; i < w.living.n; i++)
		changed += w.living.v[i]->changed;
	assert_in_range(changed, 1, NAMES_A_TICK / 2);
	end(&w);
}

/* Subordinate uids: each storm is another user's. */
static void many_users_cannot_take_it_all(void **state)
{
	struct world w = begin();
	struct entity *e;

	for (uint32_t uid = 100000; uid < 100300; uid++)
		storm(&w, uid, uid, 300, uid == 100000);
	assert_true(w.named < PROCESSES_A_WINDOW + FOLDED_NAMES_A_WINDOW + USERS_WITH_OTHERS + 1);
	begin_tick(&w);
	e = start(&w, ENTITY_PROCESS, "sshd", 0, 1);
	put(&w, e);
	encode(&w, false);
	assert_int_not_equal(e->info.id, 0);
	end(&w);
}

static void it_is_noted_once(void **state)
{
	struct world w = begin();
	size_t notes = 0;

	for (unsigned t = 0; t < 5; t++) {
		storm(&w, USER, 7, 2000, t == 0);
		notes += w.tick.notes.n;
	}
	assert_int_equal(notes, 1);
	end(&w);
}

RUN_TESTS(cmocka_unit_test(a_storm_of_names_is_bounded_and_nothing_is_lost), cmocka_unit_test(what_stands_for_others_counts_them),
	  cmocka_unit_test(others_get_their_names_during_a_storm),
	  cmocka_unit_test(a_name_is_kept_where_only_the_processes_are_new), cmocka_unit_test(who_outlives_the_window_gets_a_name),
	  cmocka_unit_test(who_lasts_gets_a_name_within_the_window),
	  cmocka_unit_test(who_was_there_before_the_recorder_keeps_a_name), cmocka_unit_test(names_that_change_are_bounded_too),
	  cmocka_unit_test(many_users_cannot_take_it_all), cmocka_unit_test(it_is_noted_once))
