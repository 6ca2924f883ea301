#include "daemon/service/service-budget.h"

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

/* Users that owe nothing are forgotten where there is no room. */
static struct budget_user *make_room(struct budget *b, int64_t now)
{
	if (b->n < BUDGET_USERS)
		return &b->users[b->n++];
	for (size_t i = 0; i < b->n; i++) {
		pay_back(&b->users[i], now);
		if (!b->users[i].running && !b->users[i].spent)
			return &b->users[i];
	}
	return NULL;
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
	b->running++;
	return true;
}

void budget_end(struct budget *b, uint32_t uid, int64_t now, int64_t cpu)
{
	struct budget_user *u = find(b, uid);

	if (!u || !u->running)
		return;
	pay_back(u, now);
	u->spent += cpu < BUDGET_QUESTION ? cpu : BUDGET_QUESTION;
	u->running--;
	b->running--;
}
