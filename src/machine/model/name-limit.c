#include "machine/model/name-limit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/system/fair-share.h"

#define QUIET_TICKS   60 /* without any entity folded into it, a stand-in ends */
#define EVERY_OTHER_USER UINT32_MAX
#define KEY_OF_OTHERS 0 /* in place of a name's hash */

/* What means nothing added up over processes, and what a group says of its own. */
#define NOT_ADDED                                                                                                   \
	(FEATURE_BIT(FEATURE_SCHED_NICE) | FEATURE_BIT(FEATURE_SCHED_POLICY) | FEATURE_BIT(FEATURE_OOM_SCORE_ADJ) |               \
	 FEATURE_BIT(FEATURE_CHILDREN_SHORT) | FEATURE_BIT(FEATURE_CHILDREN_CPU))

struct stand_in {
	struct entity *entity;
	uint64_t key;
	uint32_t uid;
	uint32_t members; /* folded entities that live */
	uint64_t used;	  /* tick that changed it last */
	feature_set present;
	int64_t sum[PROCESS_FEATURE_COUNT];
};

struct name_limit {
	struct fair_share tick, changes; /* of this tick */
	struct fair_share processes, lasting, groups, folded_names, things; /* of the window */
	struct hmap by_name; /* (hash of name or KEY_OF_OTHERS, uid) -> struct stand_in */
	VEC(struct stand_in *) all, past;
	struct hmap noted; /* (uid, 0): said in this window */
	uint64_t ticks;
	unsigned users; /* that have a stand-in for others */
	int64_t window_began, folded;
	bool begins; /* this tick begins a window: folded ones are tried again */
};

struct name_limit *name_limit_new(void)
{
	struct name_limit *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->tick.total = l->changes.total = NAMES_A_TICK;
	l->processes.total = PROCESSES_A_WINDOW;
	l->lasting.total = LASTING_A_WINDOW;
	l->groups.total = GROUPS_A_WINDOW;
	l->folded_names.total = FOLDED_NAMES_A_WINDOW;
	l->things.total = THINGS_A_WINDOW;
	return l;
}

static void stand_in_free(struct stand_in *s)
{
	entity_free(s->entity);
	free(s);
}

static void forget_past(struct name_limit *l)
{
	for (size_t i = 0; i < l->past.n; i++)
		stand_in_free(l->past.v[i]);
	l->past.n = 0;
}

static void reset_shares(struct name_limit *l)
{
	fair_share_reset(&l->processes);
	fair_share_reset(&l->lasting);
	fair_share_reset(&l->groups);
	fair_share_reset(&l->folded_names);
	fair_share_reset(&l->things);
	hmap_free(&l->noted);
}

void name_limit_free(struct name_limit *l)
{
	if (!l)
		return;
	forget_past(l);
	VEC_FREE_EACH(l->all, stand_in_free(*each));
	VEC_FREE(l->past);
	hmap_free(&l->by_name);
	reset_shares(l);
	fair_share_reset(&l->tick);
	fair_share_reset(&l->changes);
	free(l);
}

int64_t name_limit_folded(const struct name_limit *l)
{
	return l->folded;
}

/* --- who gets a name --- */

/* The others are the machine's own, and few. */
static bool is_made_by_users(const struct entity *e)
{
	return entity_is_program(&e->info) || e->info.kind == ENTITY_CGROUP || e->info.kind == ENTITY_FILESYSTEM ||
	       e->info.kind == ENTITY_INTERFACE || e->info.kind == ENTITY_DISK;
}

static size_t length(const char *text)
{
	return text ? strlen(text) : 0;
}

static uint32_t cost(const struct entity_info *info)
{
	size_t text = length(info->name) + length(info->exe) + length(info->cmdline) + length(info->unit) + length(info->container);

	return 1 + (uint32_t)(text / NAME_TEXT);
}

static struct fair_share *share_of(struct name_limit *l, const struct entity *e)
{
	return e->info.kind == ENTITY_PROCESS ? &l->processes : e->info.kind == ENTITY_SHORT_LIVED ? &l->groups : &l->things;
}

/* Kinds share what is not a program's as users share programs. */
static uint32_t owner_of(const struct entity *e)
{
	return entity_is_program(&e->info) ? e->info.uid : e->info.kind;
}

static bool take_name(struct name_limit *l, const struct entity *e)
{
	uint32_t owner = owner_of(e), parent = entity_is_program(&e->info) ? e->info.parent : 0, amount = cost(&e->info);
	struct fair_share *window = share_of(l, e);

	if (!is_made_by_users(e) || (e->info.kind == ENTITY_PROCESS && !e->born && !e->folded))
		return true;
	if (!fair_share_take(&l->tick, owner, parent, amount))
		return false;
	if (fair_share_take(window, owner, parent, amount))
		return true;
	fair_share_release(&l->tick, owner, parent, amount);
	return false;
}

/* One that has a name may get another: by exec, prctl, or as soon as it is described. Beyond its share this is kept
 * back until the next segment, which defines everybody. */
static void limit_change(struct name_limit *l, struct entity *e)
{
	uint32_t owner = owner_of(e), parent = entity_is_program(&e->info) ? e->info.parent : 0, amount = cost(&e->info);

	if (!e->changed || !e->info.id)
		return;
	if (!fair_share_take(&l->changes, owner, parent, amount)) {
		e->changed = false;
		return;
	}
	fair_share_charge(share_of(l, e), owner, parent, amount);
}

/* --- stand-ins --- */

static struct stand_in *new_stand_in(struct name_limit *l, const char *name, uint64_t key, uint32_t uid)
{
	struct stand_in *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->entity = entity_new(ENTITY_SHORT_LIVED, name);
	if (!s->entity || VEC_PUSH(l->all, s) < 0) {
		entity_free(s->entity);
		free(s);
		return NULL;
	}
	if (hmap_put(&l->by_name, key, uid, s) < 0) {
		l->all.n--;
		stand_in_free(s);
		return NULL;
	}
	s->entity->info.uid = uid;
	s->entity->born = true;
	s->key = key;
	s->uid = uid;
	s->present = FEATURE_BIT(FEATURE_CHILDREN_SHORT);
	return s;
}

static struct stand_in *stand_in_for_others(struct name_limit *l, uint32_t uid)
{
	struct stand_in *s = hmap_get(&l->by_name, KEY_OF_OTHERS, uid);

	if (s)
		return s;
	if (uid != EVERY_OTHER_USER && l->users >= USERS_WITH_OTHERS)
		return stand_in_for_others(l, EVERY_OTHER_USER);
	s = new_stand_in(l, NAME_OF_OTHERS, KEY_OF_OTHERS, uid);
	l->users += s != NULL;
	return s;
}

static struct stand_in *stand_in_for(struct name_limit *l, const struct entity *e)
{
	uint64_t key = hmap_hash_text(e->info.name);
	struct stand_in *s = hmap_get(&l->by_name, key, e->info.uid);

	if (!s && key != KEY_OF_OTHERS && fair_share_take(&l->folded_names, e->info.uid, 0, 1))
		s = new_stand_in(l, e->info.name, key, e->info.uid);
	return s ? s : stand_in_for_others(l, e->info.uid);
}

/* What a sample adds, as the encoder tells growth. */
static void add_sample(struct name_limit *l, struct stand_in *s, const struct sample *sample)
{
	struct entity *e = sample->entity;
	feature_set added = e->info.kind == ENTITY_PROCESS ? ~NOT_ADDED : FEATURES_ALL;
	const struct feature *features;
	size_t n;

	features = features_of(e->info.kind, &n);
	for (feature_set left = sample->present; left; left &= left - 1) {
		size_t i = feature_set_first(left);
		int64_t now = sample->values[i], before = entity_before(e, &features[i], i, now);

		if ((added >> i & 1) && !(features[i].kind == COUNTER && now < before))
			s->sum[i] += now - before;
		e->previous[i] = now;
	}
	e->measured |= sample->present;
	e->info.present |= sample->present;
	e->fresh = e->changed = false; /* nothing more of it is to be encoded */
	s->present |= sample->present & added;
	s->used = l->ticks;
}

/* The levels of one that ended, or has a name again, are in the sum no longer. */
static void take_levels_out(struct name_limit *l, struct stand_in *s, const struct entity *e)
{
	feature_set added = e->info.kind == ENTITY_PROCESS ? ~NOT_ADDED : FEATURES_ALL;
	const struct feature *features;
	size_t n;

	features = features_of(e->info.kind, &n);
	for (size_t i = 0; i < n; i++)
		if (features[i].kind != COUNTER && (e->measured & added) >> i & 1)
			s->sum[i] -= e->previous[i];
	s->members--;
	s->used = l->ticks;
}

/* --- a tick --- */

static void note_once(struct name_limit *l, struct tick *tick, const struct entity *e)
{
	uint32_t owner = owner_of(e);

	if (hmap_get(&l->noted, owner, 0))
		return;
	if (hmap_put(&l->noted, owner, 0, l) < 0)
		return;
	tick_note(tick, NOTE_RECORDER, 0,
		  "user %u starts more programs than can be recorded one by one: the rest is added up by name, and as " NAME_OF_OTHERS, owner);
}

/* False: nothing stands for it. */
static bool fold(struct name_limit *l, struct tick *tick, struct entity *e)
{
	struct stand_in *s = entity_is_program(&e->info) ? stand_in_for(l, e) : NULL;

	if (!s)
		return false;
	note_once(l, tick, e);
	l->folded++;
	e->folded = s;
	s->members++;
	return true;
}

static void give_name(struct name_limit *l, struct tick *tick, struct entity *e)
{
	take_levels_out(l, e->folded, e);
	e->folded = NULL;
	e->changed = true;
	e->info.flags |= ENTITY_WAS_RUNNING; /* its first sample is not a birth */
	if (e->info.kind == ENTITY_PROCESS && !(e->info.flags & ENTITY_IS_KERNEL_THREAD))
		(void)VEC_PUSH(tick->unnamed, e);
}

/* A storm is of processes that end soon, or of more than have room here, too. */
static bool lasts(struct name_limit *l, const struct tick *tick, const struct entity *e)
{
	return e->info.kind == ENTITY_PROCESS && e->info.start && tick->boot - (int64_t)e->info.start >= LASTING &&
	       fair_share_take(&l->lasting, e->info.uid, e->info.parent, 1);
}

/* True: the sample stays in the tick. */
static bool limit_sample(struct name_limit *l, struct tick *tick, const struct sample *sample)
{
	struct entity *e = sample->entity;

	if (e->info.id) {
		limit_change(l, e);
		return true;
	}
	if (e->folded && ((l->begins && take_name(l, e)) || lasts(l, tick, e)))
		give_name(l, tick, e);
	else if (!e->folded && !take_name(l, e) && !fold(l, tick, e))
		return false;
	if (!e->folded)
		return true;
	add_sample(l, e->folded, sample);
	return false;
}

static void limit_samples(struct name_limit *l, struct tick *tick)
{
	size_t n = 0;

	for (size_t i = 0; i < tick->samples.n; i++) {
		const struct sample sample = tick->samples.v[i];

		if (limit_sample(l, tick, &sample))
			tick->samples.v[n++] = sample;
	}
	tick->samples.n = n;
}

static void drop_ended(struct name_limit *l, struct tick *tick)
{
	size_t n = 0;

	for (size_t i = 0; i < tick->ended.n; i++) {
		struct entity *e = tick->ended.v[i];

		if (!e->folded) {
			tick->ended.v[n++] = e;
			continue;
		}
		take_levels_out(l, e->folded, e);
		e->folded->sum[FEATURE_CHILDREN_SHORT] += e->info.kind == ENTITY_PROCESS;
		e->folded = NULL;
	}
	tick->ended.n = n;
}

/* Who is not recorded needs no description. */
static void drop_unnamed(struct tick *tick)
{
	size_t n = 0;

	for (size_t i = 0; i < tick->unnamed.n; i++)
		if (!tick->unnamed.v[i]->folded)
			tick->unnamed.v[n++] = tick->unnamed.v[i];
	tick->unnamed.n = n;
}

/* At every tick: a segment begins with all that later ticks of it may speak of. */
static void put_stand_ins(struct name_limit *l, struct tick *tick)
{
	size_t n = 0;

	for (size_t i = 0; i < l->all.n; i++) {
		struct stand_in *s = l->all.v[i];

		if (!s->members && s->used + QUIET_TICKS <= l->ticks && VEC_PUSH(l->past, s) == 0) {
			hmap_remove(&l->by_name, s->key, s->uid);
			l->users -= s->key == KEY_OF_OTHERS;
			(void)VEC_PUSH(tick->ended, s->entity);
			continue;
		}
		if (s->used == l->ticks)
			tick_put(tick, s->entity, s->sum, s->present);
		else
			tick_put_same(tick, s->entity, s->sum, s->present);
		l->all.v[n++] = s;
	}
	l->all.n = n;
}

void name_limit_apply(struct name_limit *l, struct tick *tick, bool key)
{
	forget_past(l); /* of the tick before: they have been encoded by now */
	l->ticks++;
	l->begins = key && (!l->window_began || tick->boot - l->window_began >= NAME_WINDOW);
	if (l->begins) {
		l->window_began = tick->boot;
		reset_shares(l);
	}
	fair_share_reset(&l->tick);
	fair_share_reset(&l->changes);
	limit_samples(l, tick);
	drop_ended(l, tick);
	drop_unnamed(tick);
	put_stand_ins(l, tick);
}
