#include "machine/process/start-record.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/folder.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "lib/input/text.h"
#include "lib/rights/outside.h"
#include "lib/system/spawn.h"
#include "machine/process/proc.h"

#define SYSTEMCTL   "/usr/bin/systemctl"
#define OUTPUT_MAX  ((size_t)8 << 20) /* a machine with 5000 units prints 4 MB */
#define LOG_MAX	    ((size_t)4 << 20) /* the kernel's log buffer is rarely larger than 1 MB */
#define RECORD_MAX  8192	      /* CONSOLE_EXT_LOG_MAX */
#define MESSAGE_MAX 160
#define US	    1000ll

extern char **environ;

/* --- systemd --- */

/* "KEY=12" -> 12 us as ns, where the line has this key. */
static bool take_us(const char *line, const char *key, int64_t *ret)
{
	size_t n = strlen(key);
	const char *at = line + n + 1;
	uint64_t us;

	if (strncmp(line, key, n) != 0 || line[n] != '=' || !text_scan_number(&at, &us))
		return false;
	*ret = (int64_t)us * US;
	return true;
}

void start_record_take_manager(const char *text, struct start_record *r)
{
	for (const char *line = text; *line; line = text_next_line(line))
		(void)(take_us(line, "FirmwareTimestampMonotonic", &r->firmware) || take_us(line, "LoaderTimestampMonotonic", &r->loader) ||
		       take_us(line, "InitRDTimestampMonotonic", &r->initrd) || take_us(line, "UserspaceTimestampMonotonic", &r->userspace) ||
		       take_us(line, "FinishTimestampMonotonic", &r->finished));
}

static char *value_of(const char *line, const char *key)
{
	size_t n = strlen(key);
	char *value;

	if (strncmp(line, key, n) != 0 || line[n] != '=')
		return NULL;
	value = strndup(line + n + 1, strcspn(line + n + 1, "\n"));
	str_make_printable(value);
	return value;
}

static void take_unit_line(const char *line, struct start_unit *u)
{
	if (!u->name)
		u->name = value_of(line, "Id");
	if (!u->after)
		u->after = value_of(line, "After");
	(void)(take_us(line, "InactiveExitTimestampMonotonic", &u->began) || take_us(line, "ActiveEnterTimestampMonotonic", &u->active));
}

/* One that never ran, or only long after the start, is dropped. */
static int keep_unit(struct start_record *r, struct start_unit *u)
{
	bool wanted = u->name && u->active > 0 && u->active <= START_LONGEST && u->began <= u->active;
	int result = wanted ? VEC_PUSH(r->units, *u) : 0;

	if (!wanted || result < 0) {
		FREE_ALL(u->name, u->after);
	}
	*u = (struct start_unit){};
	return result;
}

int start_record_take_units(const char *text, struct start_record *r)
{
	struct start_unit u = {};
	int result = 0;

	for (const char *line = text; *line && result == 0; line = text_next_line(line)) {
		if (*line == '\n')
			result = keep_unit(r, &u);
		else
			take_unit_line(line, &u);
	}
	return result < 0 ? result : keep_unit(r, &u);
}

/* The output of a command; NULL where it cannot be run or fails. */
static char *output_of(char *const *argv)
{
	_cleanup_close_ int fd = memfd_create("output", MFD_CLOEXEC);
	const struct spawn s = {.program = argv[0], .argv = argv, .environment = environ, .fds = {SPAWN_NULL, fd, SPAWN_NULL}};
	char *text = NULL;
	pid_t child;
	ssize_t n;
	int status;

	if (fd < 0 || spawn_start(&s, &child) < 0)
		return NULL;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	text = WIFEXITED(status) && WEXITSTATUS(status) == 0 ? malloc(OUTPUT_MAX + 1) : NULL;
	n = text ? pread(fd, text, OUTPUT_MAX, 0) : -1;
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	return text;
}

static int ask_systemd(struct start_record *r)
{
	char *const manager[] = {(char *)SYSTEMCTL, (char *)"show", NULL};
	char *const units[] = {(char *)SYSTEMCTL, (char *)"show", (char *)"*", (char *)"--property=Id,InactiveExitTimestampMonotonic,ActiveEnterTimestampMonotonic,After", NULL};
	_cleanup_free_ char *text = NULL, *more = NULL;

	if (!folder_path_exists("/run/systemd/system") || !folder_path_exists(SYSTEMCTL))
		return 0;
	text = output_of(manager);
	more = text ? output_of(units) : NULL;
	if (text)
		start_record_take_manager(text, r);
	return more ? start_record_take_units(more, r) : 0;
}

/* --- the kernel's log --- */

struct log_end {
	int64_t at;
	char message[MESSAGE_MAX];
};

static int take_message(struct start_record *r, struct log_end *last, int64_t at, const char *message, size_t n)
{
	struct start_gap gap = {.from = last->at, .to = at};
	int result = 0;

	if (at > START_LONGEST)
		return 0;
	n = n < MESSAGE_MAX ? n : MESSAGE_MAX - 1;
	if (last->at && at - last->at >= START_GAP) {
		gap.before = strdup(last->message);
		gap.next = strndup(message, n);
		str_make_printable(gap.next);
		result = gap.before && gap.next ? VEC_PUSH(r->gaps, gap) : -ENOMEM;
		if (result < 0) {
			FREE_ALL(gap.before, gap.next);
		}
	}
	last->at = at;
	memcpy(last->message, message, n);
	last->message[n] = '\0';
	str_make_printable(last->message);
	return result;
}

int start_record_take_log(const char *text, struct start_record *r)
{
	struct log_end last = {};
	int result = 0;

	for (const char *line = text; *line && result == 0; line = text_next_line(line)) {
		const char *end = strchrnul(line, '\n'), *at = line, *message = memchr(line, ';', (size_t)(end - line));
		uint64_t head[3] = {};
		size_t n = 0;

		while (message && n < 3 && text_scan_number(&at, &head[n])) {
			n++;
			at += *at == ',';
		}
		if (n == 3 && head[0] < 8) /* the kernel's own */
			result = take_message(r, &last, (int64_t)head[2] * US, message + 1, (size_t)(end - message - 1));
	}
	return result;
}

static bool may_read_log(const char *proc_root, const struct viewer *viewer)
{
	char text[8] = "1";

	return viewer_sees_all(viewer) || (text_attribute_take(proc_root, "sys/kernel/dmesg_restrict", text, sizeof(text)) == 0 && *text == '0');
}

/* A record a read, from the oldest that the ring still has. */
static int read_log(const char *proc_root, struct start_record *r)
{
	_cleanup_close_ int fd = text_attribute_open(proc_root, "../dev/kmsg");
	_cleanup_str_ struct str text = {.max = LOG_MAX};
	char record[RECORD_MAX];

	while (fd >= 0 && !text.error) {
		ssize_t n = read(fd, record, sizeof(record));

		if (n < 0 && (errno == EPIPE || errno == EINTR))
			continue;
		if (n <= 0)
			break;
		str_append(&text, record, (size_t)n);
	}
	return text.data ? start_record_take_log(text.data, r) : 0;
}

/* --- processes --- */

ORDER(by_begin, struct start_process, ASCENDING(began) ?: ASCENDING(pid))

static int take_process(struct start_record *r, const char *proc_root, unsigned pid)
{
	struct start_process p = {.pid = pid};
	char text[1024];
	struct proc_stat stat;

	if (text_attribute_take(proc_root, STR_TEXT(32, "%u/stat", pid), text, sizeof(text)) < 0 || proc_parse_stat(text, &stat) < 0 || stat.flags & PF_KTHREAD ||
	    stat.start > START_LONGEST)
		return 0;
	p.began = (int64_t)stat.start;
	p.cpu = (int64_t)(stat.user + stat.system);
	p.name = strdup(stat.comm);
	str_make_printable(p.name);
	return VEC_PUSH_OWNER(r->processes, p.name, p);
}

static bool is_visible(const char *proc_root, unsigned pid, const struct viewer *viewer)
{
	uint32_t owner;

	return outside_owner(proc_root, pid, &owner) == 0 && visibility(viewer, DATUM_PROCESS, owner) == SHOWN_WHOLE;
}

static int read_processes(const char *proc_root, const struct viewer *viewer, struct start_record *r)
{
	int result = 0;

	FOLDER_EACH(e, opendir(proc_root))
		if (result == 0 && isdigit((unsigned char)*e.name) && is_visible(proc_root, (unsigned)strtoul(e.name, NULL, 10), viewer))
			result = take_process(r, proc_root, (unsigned)strtoul(e.name, NULL, 10));
	VEC_SORT(r->processes, by_begin);
	return result;
}

int start_record_read(const char *proc_root, const struct viewer *viewer, struct start_record *ret)
{
	struct start_record r = {};
	int result = ask_systemd(&r);

	if (result == 0 && may_read_log(proc_root, viewer))
		result = read_log(proc_root, &r);
	result = result ?: read_processes(proc_root, viewer, &r);
	if (result < 0)
		start_record_free(&r);
	else
		*ret = r;
	return result;
}
