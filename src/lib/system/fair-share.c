#include "lib/system/fair-share.h"

#define SYSTEM_PART 4 /* one in so many is kept for the system's users */

static uint32_t taken_by(const struct fair_share *s, uint32_t uid, uint64_t parent)
{
	return (uint32_t)(uintptr_t)hmap_get(&s->takers, uid, parent);
}

static void set_taken(struct fair_share *s, uint32_t uid, uint64_t parent, uint32_t amount)
{
	if (amount)
		(void)hmap_put(&s->takers, uid, parent, (void *)(uintptr_t)amount);
	else
		hmap_remove(&s->takers, uid, parent);
}

static uint32_t left_of(uint32_t total, uint32_t used)
{
	return total > used ? total - used : 0;
}

/* The rest that is left for a user: of the whole, and of the part that ordinary users may have. */
static uint32_t left_for(const struct fair_share *s, uint32_t uid)
{
	uint32_t left = left_of(s->total, s->used), ordinary;

	if (uid < FIRST_ORDINARY_UID)
		return left;
	ordinary = left_of(s->total - s->total / SYSTEM_PART, s->by_users);
	return ordinary < left ? ordinary : left;
}

static bool may_take(const struct fair_share *s, uint32_t uid, uint32_t parent, uint32_t amount)
{
	uint32_t left = left_for(s, uid), own = taken_by(s, uid, 0);

	if ((uint64_t)own + amount > left)
		return false;
	return !parent || (uint64_t)taken_by(s, uid, 1ull + parent) + amount <= left - own;
}

void fair_share_charge(struct fair_share *s, uint32_t uid, uint32_t parent, uint32_t amount)
{
	s->used += amount;
	s->by_users += uid < FIRST_ORDINARY_UID ? 0 : amount;
	set_taken(s, uid, 0, taken_by(s, uid, 0) + amount);
	if (parent)
		set_taken(s, uid, 1ull + parent, taken_by(s, uid, 1ull + parent) + amount);
}

bool fair_share_take(struct fair_share *s, uint32_t uid, uint32_t parent, uint32_t amount)
{
	if (!may_take(s, uid, parent, amount))
		return false;
	fair_share_charge(s, uid, parent, amount);
	return true;
}

void fair_share_release(struct fair_share *s, uint32_t uid, uint32_t parent, uint32_t amount)
{
	s->used = left_of(s->used, amount);
	if (uid >= FIRST_ORDINARY_UID)
		s->by_users = left_of(s->by_users, amount);
	set_taken(s, uid, 0, left_of(taken_by(s, uid, 0), amount));
	if (parent)
		set_taken(s, uid, 1ull + parent, left_of(taken_by(s, uid, 1ull + parent), amount));
}

void fair_share_reset(struct fair_share *s)
{
	hmap_free(&s->takers);
	*s = (struct fair_share){.total = s->total};
}
