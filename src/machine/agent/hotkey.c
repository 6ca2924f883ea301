#include "machine/agent/hotkey.h"

#include <errno.h>
#include <linux/input-event-codes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"

struct hotkey {
	const struct hotkey_way *way;
	void *state;
};

static const struct hotkey_way *const ways[] = {&hotkey_portal, &hotkey_x11, &hotkey_evdev};

int hotkey_parse(const char *text, struct key_name *ret)
{
	static const struct {
		const char *name;
		unsigned bit;
	} modifiers[] = {{"shift", KEY_WITH_SHIFT},
			 {"ctrl", KEY_WITH_CONTROL},
			 {"control", KEY_WITH_CONTROL},
			 {"alt", KEY_WITH_ALT},
			 {"super", KEY_WITH_SUPER}};
	const char *plus;

	*ret = (struct key_name){};
	while ((plus = strchr(text, '+')) && plus[1]) {
		size_t i = 0, n = (size_t)(plus - text);

		while (i < ARRAY_SIZE(modifiers) &&
		       (strlen(modifiers[i].name) != n || strncasecmp(modifiers[i].name, text, n) != 0))
			i++;
		if (i == ARRAY_SIZE(modifiers))
			return -EINVAL;
		ret->modifiers |= modifiers[i].bit;
		text = plus + 1;
	}
	ret->name = text;
	return *text ? 0 : -EINVAL;
}

int hotkey_code(const char *name)
{
	static const struct {
		const char *name;
		int code;
	} keys[] = {{"Scroll_Lock", KEY_SCROLLLOCK},
		    {"Pause", KEY_PAUSE},
		    {"Print", KEY_SYSRQ},
		    {"Menu", KEY_COMPOSE},
		    {"Insert", KEY_INSERT},
		    {"F1", KEY_F1},
		    {"F2", KEY_F2},
		    {"F3", KEY_F3},
		    {"F4", KEY_F4},
		    {"F5", KEY_F5},
		    {"F6", KEY_F6},
		    {"F7", KEY_F7},
		    {"F8", KEY_F8},
		    {"F9", KEY_F9},
		    {"F10", KEY_F10},
		    {"F11", KEY_F11},
		    {"F12", KEY_F12},
		    {"F13", KEY_F13},
		    {"F14", KEY_F14},
		    {"F15", KEY_F15},
		    {"XF86Launch1", KEY_PROG1},
		    {"XF86Launch2", KEY_PROG2}};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcasecmp(keys[i].name, name) == 0)
			return keys[i].code;
	return -EINVAL;
}

const struct hotkey_way *hotkey_find_way(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		if (strcmp(ways[i]->name, name) == 0)
			return ways[i];
	return NULL;
}

/* X programs of a Wayland session see their own windows' keys only. */
static const struct hotkey_way *choose(const struct hotkey_options *o)
{
	const char *wayland = getenv("WAYLAND_DISPLAY"), *x11 = getenv("DISPLAY");

	return o->way		     ? hotkey_find_way(o->way)
	       : wayland && *wayland ? &hotkey_portal
	       : x11 && *x11	     ? &hotkey_x11
				     : &hotkey_evdev;
}

int hotkey_open(const struct hotkey_options *o, struct hotkey **ret, char **ret_words)
{
	const struct hotkey_way *way = choose(o);
	struct hotkey *h = calloc(1, sizeof(*h));
	struct key_name key;
	int r;

	if (!h)
		return -ENOMEM;
	if (!way)
		r = str_fail(ret_words, -EINVAL, "cannot listen by '%s'; expected x11, portal or evdev", o->way);
	else if (hotkey_parse(o->key, &key) < 0)
		r = str_fail(ret_words, -EINVAL, "invalid key '%s'; expected Scroll_Lock, Ctrl+Alt+F12", o->key);
	else
		r = way->open(o, &h->state, ret_words);
	if (r < 0) {
		free(h);
		return r;
	}
	h->way = way;
	*ret = h;
	return asprintf(ret_words, "%s, %s", o->key, way->words) < 0 ? -ENOMEM : 0;
}

void hotkey_close(struct hotkey *h)
{
	if (!h)
		return;
	h->way->close(h->state);
	free(h);
}
