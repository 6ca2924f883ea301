#include "machine/process/describe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/file.h"
#include "lib/data/str.h"
#include "machine/process/container-name.h"
#include "machine/process/redact.h"

void process_text_free(struct process_text *text)
{
	FREE_ALL(text->exe, text->cmdline, text->unit, text->container);
	*text = (struct process_text){};
}

static ssize_t read_file(int dir, const char *name, char *buf, size_t n)
{
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t have = fd < 0 ? -errno : file_read(fd, buf, n - 1);

	buf[have > 0 ? have : 0] = '\0';
	return have;
}

/* The end of a path tells most. */
static char *keep_end(char *text)
{
	size_t n = text ? strlen(text) : 0;

	if (n > NAME_TEXT_MAX) {
		memmove(text + 3, text + n - (NAME_TEXT_MAX - 3), NAME_TEXT_MAX - 3 + 1);
		memcpy(text, "...", 3);
	}
	return text;
}

static char *read_cmdline(int dir)
{
	char buf[CMDLINE_MAX + 2];
	ssize_t n = read_file(dir, "cmdline", buf, sizeof(buf));
	struct str out = {};

	if (n <= 0)
		return NULL;
	while (n > 0 && buf[n - 1] == '\0')
		n--;
	redact_secrets(buf, (size_t)n, &out);
	if (n > CMDLINE_MAX)
		str_puts(&out, "...");
	return out.error ? (str_free(&out), NULL) : out.data;
}

static char *read_exe(int dir)
{
	static const char deleted[] = " (deleted)";
	char buf[4096];
	ssize_t n = readlinkat(dir, "exe", buf, sizeof(buf) - 1);
	size_t tail = sizeof(deleted) - 1;

	if (n <= 0)
		return NULL;
	buf[n] = '\0';
	/* an upgraded program is still the same program */
	if ((size_t)n > tail && strcmp(buf + n - tail, deleted) == 0)
		buf[(size_t)n - tail] = '\0';
	return strdup(keep_end(buf));
}

static bool is_unit(const char *part, size_t n)
{
	static const char *const kinds[] = {".service", ".scope", ".socket", ".mount"};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t m = strlen(kinds[i]);

		if (n > m && strncmp(part + n - m, kinds[i], m) == 0)
			return true;
	}
	return false;
}

static size_t hex_run(const char *text)
{
	return strspn(text, "0123456789abcdef");
}

/* docker-<id>.scope, /docker/<id>, cri-containerd-<id>, libpod-<id>, /lxc/<name>, kubepods-...-pod<uid>; of containers in
 * containers (kind, minikube) the innermost. */
static char *container_of(const char *path)
{
	static const char *const named[] = {"/lxc/", "/lxc.payload.", "/machine.slice/systemd-nspawn@"};
	const char *pods = strstr(path, "kubepods"), *pod = pods ? strstr(pods, "-pod") : NULL, *id = NULL;
	char *text;

	if (pods && !pod)
		pod = strstr(pods, "/pod");
	for (const char *at = path; *at; at += hex_run(at) + !hex_run(at))
		if (hex_run(at) >= 64)
			id = at;
	if (id && pod && pod < id)
		return asprintf(&text, "%.*s/%.12s", (int)strcspn(pod + 1, "/."), pod + 1, id) < 0 ? NULL : text;
	if (id)
		return strndup(id, 12);
	for (size_t i = 0; i < ARRAY_SIZE(named); i++) {
		const char *name = strstr(path, named[i]);

		if (name) {
			const char *end, *unit;

			name += strlen(named[i]);
			end = strchrnul(name, '/');
			unit = memmem(name, (size_t)(end - name), ".service", 8); /* of nspawn's template */
			return strndup(name, (size_t)((unit ? unit : end) - name));
		}
	}
	return NULL;
}

static char *unit_of(const char *path)
{
	const char *part = path;
	char *unit = NULL;

	while (*part) {
		size_t n;

		part += *part == '/';
		n = strcspn(part, "/");
		/* a user manager's own units lie below user@1000.service: the deepest wins */
		if (is_unit(part, n)) {
			free(unit);
			unit = strndup(part, n);
		}
		part += n;
	}
	if (unit || strcmp(path, "/") == 0)
		return unit;
	return strdup(path);
}

void describe_cgroup(const char *text, char **ret_unit, char **ret_container)
{
	char *unit = NULL, *container = NULL;

	/* 0::/system.slice/nginx.service  (v2)     4:memory:/user.slice  (v1) */
	while (*text) {
		size_t n = strcspn(text, "\n");
		_cleanup_free_ char *line = strndup(text, n);
		char *path = line ? strchr(line, ':') : NULL;

		path = path ? strchr(path + 1, ':') : NULL;
		if (path && path[1] == '/') {
			path++;
			if (!unit)
				unit = unit_of(path);
			if (!container)
				container = container_of(path);
		}
		text += n + (text[n] == '\n');
	}
	*ret_unit = keep_end(unit);
	*ret_container = keep_end(container);
}

/* 4711 (cat) R 1 4711 4711 ... field 22 is the start in clock ticks since boot */
static int check_start(int dir, uint64_t start)
{
	char buf[1024];
	ssize_t n = read_file(dir, "stat", buf, sizeof(buf));
	char *at = n > 0 ? strrchr(buf, ')') : NULL;
	unsigned long long ticks;
	uint64_t ns;

	if (!at)
		return -ESRCH;
	for (int field = 2; field < 22 && at; field++)
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, "%llu", &ticks) != 1)
		return -ESRCH;
	ns = ticks * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
	return start - ns < 20000000ull || ns - start < 20000000ull ? 0 : -ESRCH;
}

/* Numbers of containers and pods become names, where this machine knows them. */
static void name_container(char **container)
{
	char *name = container_name("", *container);

	if (name) {
		free(*container);
		*container = keep_end(name);
	}
}

static int describe(const char *proc_root, uint32_t pid, uint64_t start, bool arguments, struct process_text *ret)
{
	struct process_text text = {};
	char cgroup[4096];
	_cleanup_close_ int dir = -1;

	dir = open(STR_TEXT(4096, "%s/%u", proc_root, pid), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -ESRCH;
	text.exe = read_exe(dir);
	text.cmdline = arguments ? read_cmdline(dir) : NULL;
	if (read_file(dir, "cgroup", cgroup, sizeof(cgroup)) > 0)
		describe_cgroup(cgroup, &text.unit, &text.container);
	name_container(&text.container);
	str_make_printable(text.exe);
	str_make_printable(text.unit);
	str_make_printable(text.container);
	if (start && check_start(dir, start) < 0) {
		process_text_free(&text);
		return -ESRCH;
	}
	*ret = text;
	return 0;
}

int describe_live(const char *proc_root, uint32_t pid, uint64_t start, struct process_text *ret)
{
	return describe(proc_root, pid, start, true, ret);
}

int describe_program(const char *proc_root, uint32_t pid, uint64_t start, struct process_text *ret)
{
	return describe(proc_root, pid, start, false, ret);
}
