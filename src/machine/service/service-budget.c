#include "machine/service/service-budget.h"

static void pay_back(struct budget_user *u, int64_t now)
{
	u->spent -= (now - u->at) / BUDGET_SHARE;
	if (u->spent < 0)
		u->spent = 0;
	u->at = now;
}

static struct budget_user *find(struct budget *b, uint32_t uid)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->users[i].uid == uid)
			return &b->users[i];
	return NULL;
}

/* Where there is no room, the user that owes least of those without a question is forgotten: one person may have 65,536 uids. */
static struct budget_user *make_room(struct budget *b, int64_t now)
{
	struct budget_user *least = NULL;

	if (b->n < BUDGET_USERS)
		return &b->users[b->n++];
	for (size_t i = 0; i < b->n; i++) {
		struct budget_user *u = &b->users[i];

		pay_back(u, now);
		if (!u->running && (!least || u->spent < least->spent))
			least = u;
	}
	return least;
}

static struct budget_user *find_or_add(struct budget *b, uint32_t uid, int64_t now)
{
	struct budget_user *u = find(b, uid);

	if (u)
		return u;
	u = make_room(b, now);
	if (u)
		*u = (struct budget_user){.uid = uid, .at = now};
	return u;
}

bool budget_begin(struct budget *b, uint32_t uid, int64_t now, bool *ret_urgent)
{
	struct budget_user *u = find_or_add(b, uid, now);

	if (!u || u->running >= (uid == 0 ? ROOT_RUNNING : BUDGET_RUNNING) || (uid != 0 && b->running >= BUDGET_ALL))
		return false;
	pay_back(u, now);
	*ret_urgent = u->spent + BUDGET_QUESTION <= BUDGET_SAVED;
	u->running++;
	b->running += uid != 0;
	return true;
}

bool budget_find_heaviest(const struct budget *b, uint32_t uid, uint32_t *ret)
{
	const struct budget_user *heaviest = NULL;
	uint32_t own = 0;

	for (size_t i = 0; i < b->n; i++) {
		const struct budget_user *u = &b->users[i];

		if (u->uid == uid)
			own = u->running;
		else if (u->uid != 0 && (!heaviest || u->running > heaviest->running))
			heaviest = u;
	}
	if (!heaviest || heaviest->running <= own || own >= BUDGET_RUNNING)
		return false;
	*ret = heaviest->uid;
	return true;
}

void budget_leave(struct budget *b, uint32_t uid)
{
	struct budget_user *u = find(b, uid);

	if (!u || !u->running)
		return;
	u->running--;
	b->running -= uid != 0;
}

void budget_charge(struct budget *b, uint32_t uid, int64_t now, int64_t cpu)
{
	struct budget_user *u = find(b, uid);

	if (!u)
		return;
	pay_back(u, now);
	u->spent += cpu < BUDGET_QUESTION ? cpu : BUDGET_QUESTION;
}
