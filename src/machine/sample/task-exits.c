#include <stdlib.h>
#include <string.h>

#include "lib/data/order.h"
#include "machine/sample/task-inside.h"

#define EXIT_BITS   65536
#define KEY2_OF_OTHERS (1ull << 32) /* parents are numbers below it */
#define EXITS_KEPT  256 /* room that stays for the next tick: a storm of ends takes megabytes */
#define QUIET_TICKS 60 /* without any of a name its group ends */

ORDER(compare_seen, struct seen, ASCENDING(tid) ?: ASCENDING(start))

/* Of those seen only the few are kept whose number is that of one that has ended since. */
static void keep_seen_that_ended(struct task_source *src)
{
	uint64_t ended[EXIT_BITS / 64] = {};
	size_t n = 0;

	for (size_t i = 0; i < src->exits.n; i++)
		ended[src->exits.v[i].tid % EXIT_BITS / 64] |= 1ull << src->exits.v[i].tid % 64;
	for (size_t i = 0; i < src->seen.n; i++)
		if (ended[src->seen.v[i].tid % EXIT_BITS / 64] >> src->seen.v[i].tid % 64 & 1)
			src->seen.v[n++] = src->seen.v[i];
	src->seen.n = n;
	if (n)
		qsort(src->seen.v, n, sizeof(src->seen.v[0]), compare_seen);
}

/* Of a process that slept on the sweep reported no threads: all it had then are in its sums. */
static bool slept_in_sweep(struct task_source *src, const struct task_sample *s)
{
	const struct task_process *p = hmap_get(&src->processes, s->pid, s->start);

	return p && task_was_seen(src, p) && task_slot(src, p)->slept;
}

static bool seen_in_sweep(struct task_source *src, const struct task_sample *s)
{
	struct seen key = {.tid = s->tid, .start = s->thread_start};
	const struct seen *found =
		src->seen.n ? bsearch(&key, src->seen.v, src->seen.n, sizeof(key), compare_seen) : NULL;

	return (found && task_same_thread(found, s)) || slept_in_sweep(src, s);
}

static struct short_lived *new_short_lived(struct task_source *src, const char *name, uint64_t key, uint64_t key2)
{
	struct short_lived *group = calloc(1, sizeof(*group));

	if (group)
		group->entity = entity_new(ENTITY_SHORT_LIVED, name);
	if (!group || !group->entity || VEC_GROW(src->groups) < 0 || hmap_put(&src->short_lived, key, key2, group) < 0) {
		if (group)
			entity_free(group->entity);
		free(group);
		return NULL;
	}
	src->groups.v[src->groups.n++] = group;
	group->key = key;
	group->key2 = key2;
	group->entity->born = true;
	return group;
}

/* All of a user's for which there is no room; beyond a number of users, all of everybody's. */
static struct short_lived *find_others(struct task_source *src, uint32_t uid)
{
	struct short_lived *group = hmap_get(&src->short_lived, 0, KEY2_OF_OTHERS | uid);

	if (group)
		return group;
	if (src->users_with_others >= USERS_WITH_OTHERS && uid != UINT32_MAX)
		return find_others(src, UINT32_MAX);
	group = new_short_lived(src, NAME_OF_OTHERS, 0, KEY2_OF_OTHERS | uid);
	if (!group)
		return NULL;
	src->users_with_others++;
	group->entity->info.uid = uid;
	return group;
}

static uint64_t hash_name(const char *comm)
{
	return hmap_hash_bytes(comm, strnlen(comm, TASK_COMM_SIZE));
}

static struct short_lived *find_short_lived(struct task_source *src, const struct task_process *p)
{
	uint64_t name = hash_name(p->comm);
	struct short_lived *group = hmap_get(&src->short_lived, name, p->parent);
	char text[TASK_COMM_SIZE + 1];

	if (group)
		return group;
	if (!fair_share_take(&src->group_share, p->uid, p->parent, 1))
		return find_others(src, p->uid);
	memcpy(text, p->comm, TASK_COMM_SIZE);
	text[TASK_COMM_SIZE] = '\0';
	group = new_short_lived(src, text, name, p->parent);
	if (!group) {
		fair_share_release(&src->group_share, p->uid, p->parent, 1);
		return NULL;
	}
	group->owner = p->uid;
	group->entity->info.parent = p->parent;
	group->entity->info.uid = p->uid;
	return group;
}

/* A script that asks this program a question did not do the work of the answer. */
static struct task_process *find_parent_of_work(struct task_source *src, const char *comm, uint32_t parent)
{
	char name[TASK_COMM_SIZE + 1] = "";

	memcpy(name, comm, TASK_COMM_SIZE);
	return entity_name_is_ours(name) ? NULL : hmap_get(&src->by_pid, parent, 0);
}

void task_count_short_lived(struct task_source *src, const struct task_process *p)
{
	struct short_lived *group = find_short_lived(src, p);
	struct task_process *parent;

	if (group) {
		if (group->tick != src->tick)
			group->present = THREAD_MASK & ~LEVELS_MASK;
		group->tick = src->tick;
		group->changed = true;
		group->present &= p->ended_present;
		for (int i = 0; i < THREAD_FEATURE_COUNT; i++)
			group->sum[i] += p->ended[i];
		group->sum[FEATURE_CHILDREN_SHORT]++;
		if (!(group->key2 & KEY2_OF_OTHERS))
			group->entity->info.uid = p->uid;
	}
	parent = find_parent_of_work(src, p->comm, p->parent);
	if (parent) {
		task_look_again(src, parent);
		parent->children++;
		parent->children_cpu += p->ended[FEATURE_CPU_TIME];
	}
}

static struct task_process *find_or_add_unseen(struct task_source *src, const struct task_sample *s)
{
	struct task_process *p = hmap_get(&src->processes, s->pid, s->start);

	if (p)
		return p;
	p = task_add_process(src, s);
	if (p)
		(void)VEC_PUSH(src->unseen, p);
	return p;
}

static void count_exit(struct task_source *src, const struct task_sample *s)
{
	struct task_process *p = find_or_add_unseen(src, s);

	if (!p)
		return;
	task_look_again(src, p);
	(void)VEC_PUSH(src->announced, (struct seen){s->tid, s->flags & TASK_GROUP_DEAD, s->thread_start, s->exec_id});
	p->exit_tick = src->tick;
	p->ended_present &= s->present | ~THREAD_MASK;
	p->present &= s->present | ~THREAD_MASK;
	for (int i = 0; i < THREAD_FEATURE_COUNT; i++) {
		p->ended[i] += (int64_t)s->v[i];
		if (task_was_seen(src, p))
			p->now[i] += (int64_t)s->v[i];
	}
	p->parent = s->parent;
	p->uid = s->uid;
	memcpy(p->comm, s->comm, sizeof(p->comm));
	if (!(s->flags & TASK_GROUP_DEAD))
		return;
	p->dead = true;
	if (p->place)
		task_slot(src, p)->dead = true;
	if (s->present & (FEATURE_BIT(FEATURE_NET_RX_BYTES)))
		task_take_traffic(p, s);
}

void task_count_exits(struct task_source *src)
{
	ring_buffer__consume(src->ring);
	if (!src->exits.n)
		return;
	keep_seen_that_ended(src);
	VEC_EACH(s, src->exits) {
		if (seen_in_sweep(src, s))
			(void)VEC_PUSH(src->later, *s);
		else
			count_exit(src, s);
	}
	src->exits.n = 0;
	for (size_t i = 0; i < src->later.n; i++)
		(void)VEC_PUSH(src->exits, src->later.v[i]);
	src->later.n = 0;
	VEC_GIVE_BACK(src->later, EXITS_KEPT);
	VEC_GIVE_BACK(src->exits, EXITS_KEPT);
}

static void count_rest_of_process(struct task_source *src, struct task_process *p, const struct task_rest *rest)
{
	task_look_again(src, p);
	p->ended[FEATURE_CPU_TIME] += (int64_t)rest->cpu;
	p->ended[FEATURE_CPU_SYSTEM] += (int64_t)rest->system;
	if (!task_was_seen(src, p))
		return;
	p->now[FEATURE_CPU_TIME] += (int64_t)rest->cpu;
	p->now[FEATURE_CPU_SYSTEM] += (int64_t)rest->system;
}

static void count_rest_of_short_lived(struct task_source *src, const struct task_rest *rest)
{
	struct short_lived *group = hmap_get(&src->short_lived, hash_name(rest->comm), rest->parent);
	struct task_process *parent = find_parent_of_work(src, rest->comm, rest->parent);

	if (!group)
		group = hmap_get(&src->short_lived, 0, KEY2_OF_OTHERS | rest->uid);
	if (!group)
		return; /* a process that lived long, and is already reported as ended */
	group->changed = true;
	group->sum[FEATURE_CPU_TIME] += (int64_t)rest->cpu;
	group->sum[FEATURE_CPU_SYSTEM] += (int64_t)rest->system;
	if (!parent)
		return;
	task_look_again(src, parent);
	parent->children_cpu += (int64_t)rest->cpu;
}

/* Each waits for one tick: the exit record that was read with it may be counted as late as now. */
void task_count_rests(struct task_source *src)
{
	VEC_EACH(rest, src->due) {
		struct task_process *p = hmap_get(&src->processes, rest->pid, rest->start);

		if (p)
			count_rest_of_process(src, p, rest);
		else
			count_rest_of_short_lived(src, rest);
	}
	src->due.n = 0;
	VEC_GIVE_BACK(src->due, EXITS_KEPT);
	for (size_t i = 0; i < src->rests.n; i++)
		(void)VEC_PUSH(src->due, src->rests.v[i]);
	src->rests.n = 0;
	VEC_GIVE_BACK(src->rests, EXITS_KEPT);
}

void task_count_all_short_lived(struct task_source *src)
{
	size_t n = 0;

	for (size_t i = 0; i < src->unseen.n; i++) {
		struct task_process *p = src->unseen.v[i];

		if (p->place)
			continue; /* a sweep has seen it since */
		if (p->dead)
			task_count_short_lived(src, p);
		/* one that began after the sweep and of which only a thread has ended is seen by the next */
		if (p->dead || p->exit_tick != src->tick)
			(void)VEC_PUSH(src->gone, p);
		else
			src->unseen.v[n++] = p;
	}
	src->unseen.n = n;
}

/* At every tick, idle or not: a segment of the recording begins with all that later ticks of it may speak of. */
void task_put_short_lived(struct task_source *src, struct tick *tick)
{
	size_t n = 0;

	for (size_t i = 0; i < src->groups.n; i++) {
		struct short_lived *group = src->groups.v[i];
		feature_set present = group->present | FEATURE_BIT(FEATURE_CHILDREN_SHORT);

		if (group->tick + QUIET_TICKS <= src->tick && VEC_PUSH(src->past_groups, group) == 0) {
			(void)VEC_PUSH(tick->ended, group->entity);
			continue;
		}
		if (group->changed)
			tick_put(tick, group->entity, group->sum, present);
		else
			tick_put_same(tick, group->entity, group->sum, present);
		group->changed = false;
		src->groups.v[n++] = group;
	}
	src->groups.n = n;
}

void task_forget_short_lived(struct task_source *src)
{
	for (size_t i = 0; i < src->past_groups.n; i++) {
		struct short_lived *group = src->past_groups.v[i];

		hmap_remove(&src->short_lived, group->key, group->key2);
		if (group->key2 & KEY2_OF_OTHERS)
			src->users_with_others--;
		else
			fair_share_release(&src->group_share, group->owner, (uint32_t)group->key2, 1);
		entity_free(group->entity);
		free(group);
	}
	src->past_groups.n = 0;
}
