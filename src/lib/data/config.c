#include "lib/data/config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"
#include "lib/data/trusted-file.h"

enum setting_type { SETTING_SPAN, SETTING_BOOL, SETTING_TEXT, SETTING_SIZE, SETTING_MODE };

static const struct setting {
	const char *name;
	enum setting_type type;
	size_t offset;
	int64_t least; /* spans and sizes */
	const char *help;
} settings[] = {
	{"record.interval", SETTING_SPAN, offsetof(struct config, record_interval), NS_PER_SEC / 10,
	 "how often every process is sampled"},
	{"record.sockets", SETTING_BOOL, offsetof(struct config, record_sockets), 0,
	 "count sockets among the open files"},
	{"record.lock_memory", SETTING_BOOL, offsetof(struct config, record_lock_memory), 0,
	 "keep the recorder's memory from being swapped out"},
	{"record.realtime", SETTING_BOOL, offsetof(struct config, record_realtime), 0,
	 "sample at real-time priority where granted, else at nice -20"},
	{"record.rules", SETTING_TEXT, offsetof(struct config, record_rules), 0,
	 "file of rules that find incidents without a mark ('whyslow config --rules'); default: the built-in rules"},
	{"ring.record", SETTING_BOOL, offsetof(struct config, ring), 0,
	 "keep the last seconds of every switch, wake-up, interrupt and request in memory"},
	{"ring.size", SETTING_SIZE, offsetof(struct config, ring_size), 0,
	 "memory for them (0 = 1 % of the memory, at most 64M)"},
	{"ring.profile", SETTING_BOOL, offsetof(struct config, ring_profile), 0,
	 "sample 49 times a second what each busy CPU executes"},
	{"ring.keep_profile", SETTING_BOOL, offsetof(struct config, ring_keep_profile), 0,
	 "keep stacks by program and minute for days ('whyslow flame'), in a tenth of store.max_size; needs ring.profile"},
	{"ring.disk", SETTING_SIZE, offsetof(struct config, ring_disk), 0,
	 "the oldest traces of marks are deleted beyond this size"},
	{"store.file", SETTING_TEXT, offsetof(struct config, store_file), 0, "the recording"},
	{"store.run_dir", SETTING_TEXT, offsetof(struct config, store_run_dir), 0,
	 "memory-backed folder for the journal and the socket"},
	{"store.max_age", SETTING_SPAN, offsetof(struct config, store_max_age), 0,
	 "recordings older than this are deleted (0 = never); pauses of more than 3 days do not count"},
	{"store.max_size", SETTING_SIZE, offsetof(struct config, store_max_size), 0,
	 "the oldest recordings are deleted beyond this size (0 = no limit)"},
	{"socket.mode", SETTING_MODE, offsetof(struct config, socket_mode), 0,
	 "permissions of the recorder's socket: 0666 all users, 0660 root and socket.group, 0600 root"},
	{"socket.group", SETTING_TEXT, offsetof(struct config, socket_group), 0,
	 "its members see everything, as root does ('whyslow config --visibility'); none = no group does"},
	{"answer.window", SETTING_SPAN, offsetof(struct config, answer_window), 60 * NS_PER_SEC,
	 "length of the baseline"},
	{"answer.postgres", SETTING_TEXT, offsetof(struct config, answer_postgres), 0,
	 "connection of pg_service.conf by which 'why WHO' asks PostgreSQL who blocks a session (psql; a role in pg_monitor), or none"},
	{"answer.mariadb", SETTING_TEXT, offsetof(struct config, answer_mariadb), 0,
	 "file of client options by which it asks MariaDB (mariadb; a user with PROCESS), or none"},
	{"agent.key", SETTING_TEXT, offsetof(struct config, agent_key), 0,
	 "the button on the keyboard ('whyslow agent'): Scroll_Lock, Ctrl+Alt+F12 ... or none"},
	{"agent.windows", SETTING_BOOL, offsetof(struct config, agent_windows), 0,
	 "mark the moment when the active window (X11), the program of a terminal or a service of the session does not answer for 6 s"},
	{"ship.to", SETTING_TEXT, offsetof(struct config, ship_to), 0,
	 "where 'whyslow ship' brings the recording, as whyslow-ship.timer has it do each hour: a folder, a URL, or none"},
	{"ship.token_file", SETTING_TEXT, offsetof(struct config, ship_token_file), 0,
	 "of a URL: a file with the token or user:password, or none"},
};

/* "" without a home: opening it says so, where it is needed. */
static char *user_store(void)
{
	char *path = folder_of_user("XDG_STATE_HOME", ".local/state", "whyslow/recording.db");

	return path || errno != ENOENT ? path : strdup("");
}

/* In memory: the session's folder, or one of the user's own in shared memory. */
static char *user_run_dir(void)
{
	const char *base = getenv("XDG_RUNTIME_DIR");
	char *path;
	int r = base && *base ? asprintf(&path, "%s/whyslow", base) : asprintf(&path, "/dev/shm/whyslow-%u", geteuid());

	return r < 0 ? NULL : path;
}

static bool has_texts(const struct config *c)
{
	return c->store_file && c->store_run_dir && c->record_rules && c->agent_key && c->socket_group && c->answer_postgres && c->answer_mariadb && c->ship_to && c->ship_token_file;
}

int config_defaults(struct config *c)
{
	bool root = geteuid() == 0;

	*c = (struct config){
		.record_interval = NS_PER_SEC,
		.record_sockets = true,
		.record_lock_memory = true,
		.record_realtime = true,
		.ring = true,
		.ring_profile = true,
		.ring_disk = 256ull << 20,
		.store_max_age = 30 * 86400 * NS_PER_SEC,
		.store_max_size = 2ull << 30,
		.socket_mode = 0666,
		.answer_window = 4 * 3600 * NS_PER_SEC,
	};
	c->store_file = root ? strdup("/var/lib/whyslow/recording.db") : user_store();
	c->record_rules = strdup("/etc/whyslow/rules");
	c->agent_windows = true;
	c->agent_key = strdup("Scroll_Lock");
	c->ship_to = strdup("none");
	c->ship_token_file = strdup("none");
	c->socket_group = strdup("none");
	c->answer_postgres = strdup("none");
	c->answer_mariadb = strdup("none");
	c->store_run_dir = root ? strdup(SYSTEM_RUN_DIR) : user_run_dir();
	if (has_texts(c))
		return 0;
	config_free(c);
	return -ENOMEM;
}

void config_free(struct config *c)
{
	free(c->record_rules);
	free(c->answer_postgres);
	free(c->answer_mariadb);
	free(c->agent_key);
	free(c->ship_to);
	free(c->ship_token_file);
	free(c->socket_group);
	free(c->store_file);
	free(c->store_run_dir);
	*c = (struct config){};
}

/* "0660", octal as chmod(1) has it. */
static int set_mode(const char *value, uint64_t *ret)
{
	size_t n = strspn(value, "01234567");

	if (n < 3 || n > 4 || value[n] || strtoul(value, NULL, 8) > 0777)
		return -EINVAL;
	*ret = strtoul(value, NULL, 8);
	return 0;
}

static int set(struct config *c, const struct setting *s, const char *value)
{
	void *target = (char *)c + s->offset;
	int64_t span;
	uint64_t size;
	char *text;

	switch (s->type) {
	case SETTING_SPAN:
		if (clock_parse_span(value, &span) < 0 || span < s->least)
			return -EINVAL;
		*(int64_t *)target = span;
		return 0;
	case SETTING_BOOL:
		if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
			return -EINVAL;
		*(bool *)target = *value == 'y';
		return 0;
	case SETTING_SIZE:
		if (str_parse_size(value, &size) < 0)
			return -EINVAL;
		*(uint64_t *)target = size;
		return 0;
	case SETTING_MODE:
		return set_mode(value, target);
	case SETTING_TEXT:
		text = *value ? strdup(value) : NULL;
		if (!text)
			return -EINVAL;
		free(*(char **)target);
		*(char **)target = text;
		return 0;
	}
	return -EINVAL;
}

static const char *expected(const struct setting *s)
{
	switch (s->type) {
	case SETTING_SPAN:
		return "a span such as 1s, 5min or 30d";
	case SETTING_BOOL:
		return "yes or no";
	case SETTING_SIZE:
		return "a size such as 512M or 2G";
	case SETTING_MODE:
		return "an octal mode such as 0660";
	case SETTING_TEXT:
		break;
	}
	return "a text";
}

static char *trim(char *text)
{
	size_t n;

	while (isspace((unsigned char)*text))
		text++;
	n = strlen(text);
	while (n && isspace((unsigned char)text[n - 1]))
		text[--n] = '\0';
	return text;
}

static int complain(char **ret_error, const char *path, int line, int column, const char *what, const char *word)
{
	if (asprintf(ret_error, "%s:%d:%d: %s '%s'", path, line, column, what, word) < 0)
		*ret_error = NULL;
	return -EINVAL;
}

static int read_line(struct config *c, char *line, const char *path, int number, char **ret_error)
{
	char *name, *value, *equals;
	char what[120];

	name = trim(line);
	if (!*name || *name == '#')
		return 0;
	equals = strchr(name, '=');
	if (!equals)
		return complain(ret_error, path, number, (int)(name - line) + 1, "expected NAME = VALUE, not", name);
	*equals = '\0';
	value = trim(equals + 1);
	name = trim(name);
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		if (strcmp(settings[i].name, name) != 0)
			continue;
		if (set(c, &settings[i], value) == 0)
			return 0;
		snprintf(what, sizeof(what), "%s expects %s, not", name, expected(&settings[i]));
		return complain(ret_error, path, number, (int)(value - line) + 1, what, value);
	}
	return complain(ret_error, path, number, (int)(name - line) + 1,
			"there is no such setting ('whyslow config' lists them):", name);
}

int config_read(struct config *c, const char *path, char **ret_error)
{
	_cleanup_free_ char *text = NULL;
	int number = 0, r = trusted_file_read(path, &text, ret_error);

	for (char *line = text, *end; r == 0 && line; line = end) {
		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		r = read_line(c, line, path, ++number, ret_error);
	}
	return r;
}

int config_load(struct config *c, const char *file, char **ret_error)
{
	int r = config_defaults(c);

	if (r == 0)
		r = config_read(c, file ? file : CONFIG_FILE, ret_error);
	return (r == -ENOENT || r == -EACCES) && !file ? 0 : r;
}

static int put_size(uint64_t size, struct str *out)
{
	static const char units[] = {0, 'K', 'M', 'G', 'T'};
	size_t i = 0;

	while (i + 1 < sizeof(units) && size && size % 1024 == 0) {
		size /= 1024;
		i++;
	}
	return units[i] ? str_printf(out, "%" PRIu64 "%c", size, units[i]) : str_printf(out, "%" PRIu64, size);
}

/* In the largest unit of which it is a whole number. */
static int put_span(int64_t ns, struct str *out)
{
	static const struct {
		const char *name;
		int64_t seconds;
	} units[] = {{"d", 86400}, {"h", 3600}, {"min", 60}};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (ns && ns % (units[i].seconds * NS_PER_SEC) == 0)
			return str_printf(out, "%lld%s", ns / NS_PER_SEC / units[i].seconds, units[i].name);
	return str_printf(out, "%.15gs", (double)ns / 1e9);
}

static int put_value(const struct config *c, const struct setting *s, struct str *out)
{
	const void *at = (const char *)c + s->offset;

	switch (s->type) {
	case SETTING_SPAN:
		return put_span(*(const int64_t *)at, out);
	case SETTING_BOOL:
		return str_puts(out, *(const bool *)at ? "yes" : "no");
	case SETTING_SIZE:
		return put_size(*(const uint64_t *)at, out);
	case SETTING_MODE:
		return str_printf(out, "%04" PRIo64, *(const uint64_t *)at);
	case SETTING_TEXT:
		return str_puts(out, *(char *const *)at);
	}
	return -EINVAL;
}

int config_each(const struct config *c, void (*each)(const char *name, const char *help, const char *value, void *data), void *data)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		struct str value = {};
		int r = put_value(c, &settings[i], &value);

		if (r == 0)
			each(settings[i].name, settings[i].help, value.len ? value.data : "", data);
		str_free(&value);
		if (r < 0)
			return r;
	}
	return 0;
}

static void print_setting(const char *name, const char *help, const char *value, void *out)
{
	fprintf(out, "# %s\n%s = %s\n", help, name, value);
}

int config_print(const struct config *c, FILE *out)
{
	return config_each(c, print_setting, out);
}
