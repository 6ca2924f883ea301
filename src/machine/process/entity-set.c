#include "machine/process/entity-set.h"

#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"

static void member_free(struct entity_set *r, struct entity_slot *m)
{
	if (m->own && r->release)
		r->release(m->own);
	entity_free(m->entity);
	free(m);
}

void entity_set_begin(struct entity_set *r)
{
	for (size_t i = 0; i < r->gone.n; i++)
		member_free(r, r->gone.v[i]);
	r->gone.n = 0;
	r->sample++;
	r->next = 0;
}

static bool is_named(const struct entity_slot *m, const char *name, size_t n)
{
	const char *own = m->entity->info.name;

	return strncmp(own, name, n) == 0 && own[n] == '\0';
}

static struct entity_slot *find(struct entity_set *r, const char *name, size_t n)
{
	for (size_t i = 0; i < r->members.n; i++) {
		size_t at = (r->next + i) % r->members.n;

		if (is_named(r->members.v[at], name, n)) {
			r->next = at + 1;
			return r->members.v[at];
		}
	}
	return NULL;
}

static struct entity_slot *add(struct entity_set *r, const char *name, size_t n)
{
	_cleanup_free_ char *text = strndup(name, n);
	size_t n_features;
	struct entity_slot *m;

	features_of(r->kind, &n_features);
	m = text && r->members.n < r->max ? calloc(1, sizeof(*m) + n_features * sizeof(m->values[0])) : NULL;
	if (!m)
		return NULL;
	m->entity = entity_new(r->kind, text);
	if (!m->entity || VEC_PUSH(r->members, m) < 0) {
		member_free(r, m);
		return NULL;
	}
	r->next = r->members.n;
	return m;
}

struct entity_slot *entity_set_see(struct entity_set *r, const char *name, size_t n, bool *ret_new)
{
	struct entity_slot *m = find(r, name, n);
	bool is_new = !m;

	if (is_new)
		m = add(r, name, n);
	if (!m)
		return NULL;
	m->sample = r->sample;
	if (ret_new)
		*ret_new = is_new;
	return m;
}

/* False without memory: then it stays, and ends at the next sample. */
static bool end(struct entity_set *r, struct entity_slot *m, struct tick *tick)
{
	if (VEC_PUSH(r->gone, m) < 0)
		return false;
	if (m->entity->info.id) /* else none ever heard of it */
		(void)VEC_PUSH(tick->ended, m->entity);
	return true;
}

void entity_set_put(struct entity_set *r, struct tick *tick)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->members.n; i++) {
		struct entity_slot *m = r->members.v[i];

		if (!entity_set_saw(r, m) && end(r, m, tick))
			continue;
		r->members.v[kept++] = m;
		if (entity_set_saw(r, m) && !m->ignored)
			(m->same ? tick_put_same : tick_put)(tick, m->entity, m->values, m->present);
	}
	r->members.n = kept;
}

void entity_set_free(struct entity_set *r)
{
	VEC_FREE_EACH(r->members, member_free(r, *each));
	VEC_FREE_EACH(r->gone, member_free(r, *each));
}
