#include "machine/act/unit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-login.h>

#include "lib/data/cleanup.h"

#define MANAGER	  "org.freedesktop.systemd1"
#define OBJECT	  "/org/freedesktop/systemd1"
#define INTERFACE "org.freedesktop.systemd1.Manager"
#define PATIENCE  2000000 /* us: who is held back must be given back soon, manager or not */
#define PRIVATE	  "unix:path=/run/systemd/private" /* root's own way in, without a message bus */

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

int unit_of(uint32_t pid, char ret[UNIT_NAME])
{
	_cleanup_free_ char *unit = NULL, *session = NULL;

	if (sd_booted() <= 0 || sd_pid_get_unit((pid_t)pid, &unit) < 0 || strlen(unit) >= UNIT_NAME)
		return -ENXIO;
	if (sd_pid_get_session((pid_t)pid, &session) >= 0 || str_starts(unit, "user@") ||
	    strcmp(unit, "init.scope") == 0 || (!ends_with(unit, ".service") && !ends_with(unit, ".scope")))
		return -ENXIO;
	strcpy(ret, unit);
	return 0;
}

static void free_bus(sd_bus **bus)
{
	sd_bus_flush_close_unref(*bus);
}

static void free_message(sd_bus_message **m)
{
	sd_bus_message_unref(*m);
}

static int open_private(sd_bus **ret)
{
	sd_bus *bus = NULL;
	int r = sd_bus_new(&bus);

	if (r >= 0)
		r = sd_bus_set_address(bus, PRIVATE);
	if (r >= 0)
		r = sd_bus_start(bus);
	if (r < 0) {
		sd_bus_unref(bus);
		return r;
	}
	*ret = bus;
	return 0;
}

static int open_bus(sd_bus **ret)
{
	int r = sd_bus_open_system(ret);

	if (r < 0)
		r = open_private(ret);
	if (r >= 0)
		(void)sd_bus_set_method_call_timeout(*ret, PATIENCE);
	return r < 0 ? r : 0;
}

static int get_path(sd_bus *bus, const char *unit, char **ret)
{
	_cleanup_(free_message) sd_bus_message *reply = NULL;
	const char *path;
	int r = sd_bus_call_method(bus, MANAGER, OBJECT, INTERFACE, "GetUnit", NULL, &reply, "s", unit);

	if (r >= 0)
		r = sd_bus_message_read(reply, "o", &path);
	if (r < 0)
		return r;
	*ret = strdup(path);
	return *ret ? 0 : -ENOMEM;
}

static bool is_number(const char *property)
{
	return ends_with(property, "USec");
}

static int read_value(sd_bus_message *m, const char *property, struct str *out)
{
	uint64_t number;
	const char *device;
	int r;

	str_puts(out, property);
	if (is_number(property)) {
		r = sd_bus_message_read(m, "t", &number);
		return r < 0 ? r : str_printf(out, " %" PRIu64, number);
	}
	r = sd_bus_message_enter_container(m, 'a', "(st)");
	while (r >= 0 && (r = sd_bus_message_read(m, "(st)", &device, &number)) > 0)
		str_printf(out, " %s %" PRIu64, device, number);
	return r < 0 ? r : out->error;
}

int unit_get(const char *unit, const char *property, char **ret)
{
	_cleanup_(free_message) sd_bus_message *reply = NULL;
	_cleanup_(free_bus) sd_bus *bus = NULL;
	_cleanup_free_ char *path = NULL;
	_cleanup_str_ struct str value = {};
	const char *interface = ends_with(unit, ".scope") ? MANAGER ".Scope" : MANAGER ".Service";
	int r = open_bus(&bus);

	if (r >= 0)
		r = get_path(bus, unit, &path);
	if (r >= 0)
		r = sd_bus_get_property(bus, MANAGER, path, interface, property, NULL, &reply,
					is_number(property) ? "t" : "a(st)");
	if (r >= 0)
		r = read_value(reply, property, &value);
	if (r < 0)
		return r;
	*ret = TAKE(value.data);
	return 0;
}

/* An array that is set adds to what there is; an empty one clears it. */
static int append_value(sd_bus_message *m, char *words)
{
	char *save, *property = strtok_r(words, " ", &save), *first, *second;
	int r;

	if (!property)
		return -EINVAL;
	if (is_number(property)) {
		first = strtok_r(NULL, " ", &save);
		return first ? sd_bus_message_append(m, "(sv)", property, "t", strtoull(first, NULL, 10))
			     : -EINVAL;
	}
	r = sd_bus_message_append(m, "(sv)", property, "a(st)", 0);
	while (r >= 0 && (first = strtok_r(NULL, " ", &save)) && (second = strtok_r(NULL, " ", &save)))
		r = sd_bus_message_append(m, "(sv)", property, "a(st)", 1, first, strtoull(second, NULL, 10));
	return r;
}

int unit_set(const char *unit, const char *property_and_value)
{
	_cleanup_(free_message) sd_bus_message *m = NULL;
	_cleanup_(free_bus) sd_bus *bus = NULL;
	_cleanup_free_ char *words = strdup(property_and_value);
	int r = words ? open_bus(&bus) : -ENOMEM;

	if (r >= 0)
		r = sd_bus_message_new_method_call(bus, &m, MANAGER, OBJECT, INTERFACE, "SetUnitProperties");
	if (r >= 0)
		r = sd_bus_message_append(m, "sb", unit, true);
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'a', "(sv)");
	if (r >= 0)
		r = append_value(m, words);
	if (r >= 0)
		r = sd_bus_message_close_container(m);
	if (r >= 0)
		r = sd_bus_call(bus, m, 0, NULL, NULL);
	return r < 0 ? r : 0;
}

static int call(const char *method, const char *unit, sd_bus_error *error)
{
	_cleanup_(free_bus) sd_bus *bus = NULL;
	int r = open_bus(&bus);

	return r < 0 ? r
		     : sd_bus_call_method(bus, MANAGER, OBJECT, INTERFACE, method, error, NULL, "s", unit);
}

int unit_freeze(const char *unit)
{
	int r = call("FreezeUnit", unit, NULL);

	return r < 0 ? r : 0;
}

int unit_thaw(const char *unit)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int r = call("ThawUnit", unit, &error);

	if (r < 0 && (sd_bus_error_has_name(&error, MANAGER ".NoSuchUnit") ||
		      sd_bus_error_has_name(&error, MANAGER ".UnitInactive")))
		r = 0;
	sd_bus_error_free(&error);
	return r < 0 ? r : 0;
}
