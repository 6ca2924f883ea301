/* Which times of a recording cannot be read. */
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "machine/recording/internal.h"

void store_note_damage(struct store *s, int64_t from, int64_t to)
{
	for (size_t i = 0; i < s->n_damage; i++)
		if (s->damage[i].from == from && s->damage[i].to == to)
			return;
	if (s->n_damage < DAMAGE_MAX)
		s->damage[s->n_damage++] = (struct damage){from, to};
}

char *store_damage(const struct store *s)
{
	struct str words = {};

	for (size_t i = 0; i < s->n_damage; i++) {
		const struct damage *d = &s->damage[i];

		str_printf(
			&words, "%s%s to %s", i ? ", " : "", CLOCK_LOCAL(d->from),
			d->to ? CLOCK_LOCAL(d->to) : "the end of those ten minutes");
	}
	if (s->n_damage == DAMAGE_MAX)
		str_puts(&words, ", and more");
	if (words.error) {
		str_free(&words);
		return NULL;
	}
	return words.data;
}
