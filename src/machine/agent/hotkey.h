/* The button on the keyboard: one key, heard whatever program has the focus.
 *
 * Under X11 the key is grabbed; under Wayland the desktop's portal binds it (the user may choose another key
 * there); on the console, and where there is no portal, it is read from the input devices, where this user
 * may.
 */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

struct hotkey_way;
struct hotkey_options {
	const char *key;    /* "Scroll_Lock", "Ctrl+Alt+F12": names as X has them */
	const char *way;    /* "x11", "portal" or "evdev"; NULL = what this session has */
	const char *device; /* evdev: this one only; NULL = all */
	sd_event *event;
	sd_bus *user; /* attached to `event` */
	void (*pressed)(void *data);
	void *data;
};

struct hotkey;
/* NULL = there is none of that name. */
const struct hotkey_way *hotkey_find_way(const char *name);
/* 0 and *ret_words, how the key is heard; or -errno and why it is not (the caller frees the words). The
 * portal answers later: what it refuses is logged. */
int hotkey_open(const struct hotkey_options *o, struct hotkey **ret, char **ret_words);
void hotkey_close(struct hotkey *h);

/* --- ways (hotkey-x11.c, hotkey-portal.c, hotkey-evdev.c) --- */

struct hotkey_way {
	const char *name;
	const char *words; /* "grabbed from the X server" */
	int (*open)(const struct hotkey_options *o, void **ret, char **ret_why);
	void (*close)(void *state);
};
extern const struct hotkey_way hotkey_x11, hotkey_portal, hotkey_evdev;

enum key_modifiers { KEY_WITH_SHIFT = 1, KEY_WITH_CONTROL = 2, KEY_WITH_ALT = 4, KEY_WITH_SUPER = 8 };

struct key_name {
	unsigned modifiers;
	const char *name; /* points into the text */
};
/* "Ctrl+Alt+F12". 0 or -EINVAL. */
int hotkey_parse(const char *text, struct key_name *ret);
/* The input devices' number of a key; -EINVAL for a name that is not known. */
int hotkey_code(const char *name);
