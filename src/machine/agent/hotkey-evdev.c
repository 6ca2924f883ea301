/* The key, read from the input devices: on the console, where this user may read them (group input). Other
 * programs see it, too. */
#include <errno.h>
#include <fcntl.h>
#include <linux/input.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"
#include "machine/agent/hotkey.h"

#define FOLDER "/dev/input"

struct device {
	int fd;
	sd_event_source *source;
};

struct evdev {
	void (*pressed)(void *data);
	void *data;
	int code;
	unsigned wanted, down; /* modifiers */
	VEC(struct device) devices;
};

static unsigned modifier_of(int code)
{
	switch (code) {
	case KEY_LEFTSHIFT:
	case KEY_RIGHTSHIFT:
		return KEY_WITH_SHIFT;
	case KEY_LEFTCTRL:
	case KEY_RIGHTCTRL:
		return KEY_WITH_CONTROL;
	case KEY_LEFTALT:
	case KEY_RIGHTALT:
		return KEY_WITH_ALT;
	case KEY_LEFTMETA:
	case KEY_RIGHTMETA:
		return KEY_WITH_SUPER;
	}
	return 0;
}

/* value: 0 = released, 1 = pressed, 2 = repeated */
static void take(struct evdev *s, const struct input_event *e)
{
	unsigned modifier;

	if (e->type != EV_KEY)
		return;
	modifier = modifier_of(e->code);
	if (modifier)
		s->down = e->value ? s->down | modifier : s->down & ~modifier;
	else if (e->code == s->code && e->value == 1 && s->down == s->wanted)
		s->pressed(s->data);
}

static int on_input(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct input_event list[64];
	ssize_t n = read(fd, list, sizeof(list));

	(void)events;
	for (size_t i = 0; n > 0 && i < (size_t)n / sizeof(*list); i++)
		take(data, &list[i]);
	/* unplugged */
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
	return 0;
}

static bool has_key(int fd, int code)
{
	unsigned char keys[KEY_MAX / 8 + 1] = {};

	return ioctl(fd, EVIOCGBIT(EV_KEY, sizeof(keys)), keys) >= 0 && keys[code / 8] >> (code % 8) & 1;
}

/* A device that is named need not say what keys it has: a recorded stream cannot. */
static int add_device(struct evdev *s, const struct hotkey_options *o, const char *path, bool named)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct device d = {};
	int r;

	if (fd < 0)
		return -errno;
	if (!named && !has_key(fd, s->code))
		return 0;
	r = sd_event_add_io(o->event, &d.source, fd, EPOLLIN, on_input, s);
	if (r < 0)
		return r;
	d.fd = TAKE_FD(fd);
	if (VEC_PUSH(s->devices, d) == 0)
		return 0;
	sd_event_source_disable_unref(d.source);
	close(d.fd);
	return -ENOMEM;
}

static int add_all(struct evdev *s, const struct hotkey_options *o, char **ret_why)
{
	DIR *folder = opendir(FOLDER);
	int refused = folder ? 0 : errno;

	FOLDER_EACH(e, folder) {
		_cleanup_free_ char *path = NULL;
		int r;

		if (!str_starts(e.name, "event") || asprintf(&path, FOLDER "/%s", e.name) < 0)
			continue;
		r = add_device(s, o, path, false);
		refused = r < 0 ? -r : refused;
	}
	if (s->devices.n)
		return 0;
	return str_fail(ret_why, refused ? -refused : -ENODEV,
			 refused == EACCES ? "this user may not read the keyboard (group 'input')"
					   : "there is no keyboard with %s",
			 o->key);
}

static void evdev_close(void *state)
{
	struct evdev *s = state;

	VEC_FREE_EACH(s->devices, sd_event_source_disable_unref(each->source); close(each->fd));
	free(s);
}

static int evdev_open(const struct hotkey_options *o, void **ret, char **ret_why)
{
	struct evdev *s = calloc(1, sizeof(*s));
	struct key_name key;
	int r;

	if (!s)
		return -ENOMEM;
	(void)hotkey_parse(o->key, &key);
	s->pressed = o->pressed;
	s->data = o->data;
	s->wanted = key.modifiers;
	s->code = hotkey_code(key.name);
	if (s->code < 0)
		r = str_fail(ret_why, -EINVAL,
			      "the input devices' number of '%s' is not known: choose Scroll_Lock, Pause or "
			      "F1 to F15",
			      key.name);
	else if (o->device)
		r = add_device(s, o, o->device, true);
	else
		r = add_all(s, o, ret_why);
	if (r < 0 && !*ret_why)
		(void)str_fail(ret_why, r, "%s cannot be read: %s", o->device, strerror(-r));
	if (r < 0) {
		evdev_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

const struct hotkey_way hotkey_evdev = {"evdev", "read from the input devices", evdev_open, evdev_close};
