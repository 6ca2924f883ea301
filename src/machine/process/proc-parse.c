#include "machine/process/proc.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"

static int64_t clock_tick_ns(void)
{
	return NS_PER_SEC / sysconf(_SC_CLK_TCK);
}

/* Where in a stat line reading has come to. */
struct fields {
	const char *at;
	int next; /* its number in man 5 proc */
	bool bad;
};

static uint64_t field(struct fields *f, int number)
{
	unsigned long long value;
	char *end;

	for (; f->next < number && !f->bad; f->next++) {
		f->at = strchr(f->at, ' ');
		f->bad = !f->at;
		if (f->at)
			f->at++;
	}
	if (f->bad)
		return 0;
	value = strtoull(f->at, &end, 10); /* negative ones wrap and come back as int64_t */
	f->bad = end == f->at || (*end != ' ' && *end != '\n');
	return value;
}

/* 4215 (the culprit) R 4210 4200 4190 34816 4200 4194304 155 0 0 0 1205 3 0 0 20 0 1 0 531442 2703360 417 ... \n
 * The name may hold anything, brackets and spaces too; the last bracket ends it. */
int proc_parse_stat(const char *text, struct proc_stat *ret)
{
	const char *name = strchr(text, '('), *end = strrchr(text, ')');
	uint64_t tick_ns = (uint64_t)clock_tick_ns();
	struct proc_stat s = {};
	struct fields f;

	if (!name || !end || end < name || end[1] != ' ' || !isalpha((unsigned char)end[2]) || end[3] != ' ')
		return -EBADMSG;
	snprintf(s.comm, sizeof(s.comm), "%.*s", (int)(end - name - 1), name + 1);
	s.state = end[2];
	f = (struct fields){.at = end + 4, .next = 4};
	s.parent = (uint32_t)field(&f, 4);
	s.group = (uint32_t)field(&f, 5);
	s.session = (uint32_t)field(&f, 6);
	s.terminal = field(&f, 7);
	s.foreground = (int64_t)field(&f, 8);
	s.flags = (uint32_t)field(&f, 9);
	s.minor_faults = field(&f, 10);
	s.major_faults = field(&f, 12);
	s.user = field(&f, 14) * tick_ns;
	s.system = field(&f, 15) * tick_ns;
	s.nice = (int64_t)field(&f, 19);
	s.threads = field(&f, 20);
	s.start = field(&f, 22) * tick_ns;
	s.image = field(&f, 26);
	s.image = s.image * 31 + field(&f, 28);
	s.policy = field(&f, 41);
	if (f.bad)
		return -EBADMSG;
	*ret = s;
	return 0;
}

/* 1205031442 80433 155\n */
int proc_parse_schedstat(const char *text, int64_t ret[3])
{
	unsigned long long v[3];
	char newline;

	if (sscanf(text, "%llu %llu %llu%c", &v[0], &v[1], &v[2], &newline) != 4 || newline != '\n')
		return -EBADMSG;
	for (int i = 0; i < 3; i++)
		ret[i] = (int64_t)v[i];
	return 0;
}

/* A line of "key: value" and where its value goes. */
struct line {
	const char *key;
	int feature;
	int64_t unit;
};

/* The value of the line that begins with key; false where it is not there whole. */
static bool find_line(const char *text, const char *key, uint64_t *ret)
{
	size_t n = strlen(key);

	while (*text) {
		size_t length = strcspn(text, "\n");

		if (!text[length])
			return false;
		if (strncmp(text, key, n) == 0) {
			const char *value = text + n + strspn(text + n, " \t");

			*ret = strtoull(value, NULL, 10);
			return isdigit((unsigned char)*value);
		}
		text += length + 1;
	}
	return false;
}

static void take_lines(const char *text, const struct line *lines, size_t n, int64_t *values, feature_set *present)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t value;

		if (!find_line(text, lines[i].key, &value) || value > (uint64_t)(INT64_MAX / lines[i].unit))
			continue;
		values[lines[i].feature] = (int64_t)value * lines[i].unit;
		*present |= FEATURE_BIT(lines[i].feature);
	}
}

/* Uid:	1000	1000	1000	1000
 * VmLck:	       0 kB
 * RssAnon:	     104 kB
 * voluntary_ctxt_switches:	12 */
void proc_parse_status(const char *text, int64_t values[PROCESS_FEATURE_COUNT], feature_set *present, uint32_t *uid)
{
	static const struct line lines[] = {
		{"RssAnon:", FEATURE_MEM_ANON, 1024},
		{"RssFile:", FEATURE_MEM_FILE, 1024},
		{"RssShmem:", FEATURE_MEM_SHMEM, 1024},
		{"VmSwap:", FEATURE_MEM_SWAP, 1024},
		{"VmSize:", FEATURE_MEM_VIRTUAL, 1024},
		{"VmData:", FEATURE_MEM_DATA, 1024},
		{"VmStk:", FEATURE_MEM_STACK, 1024},
		{"VmLck:", FEATURE_MEM_LOCKED, 1024},
		{"VmPTE:", FEATURE_MEM_PAGE_TABLES, 1024},
		{"VmHWM:", FEATURE_MEM_PEAK, 1024},
		{"voluntary_ctxt_switches:", FEATURE_CTX_VOLUNTARY, 1},
		{"nonvoluntary_ctxt_switches:", FEATURE_CTX_INVOLUNTARY, 1},
	};
	uint64_t value;

	take_lines(text, lines, ARRAY_SIZE(lines), values, present);
	if (find_line(text, "Uid:", &value))
		*uid = (uint32_t)value;
}

/* rchar: 3231
 * ...
 * cancelled_write_bytes: 0 */
void proc_parse_io(const char *text, int64_t values[PROCESS_FEATURE_COUNT], feature_set *present)
{
	static const struct line lines[] = {
		{"rchar:", FEATURE_IO_READ_CHARS, 1},
		{"wchar:", FEATURE_IO_WRITE_CHARS, 1},
		{"syscr:", FEATURE_IO_READ_CALLS, 1},
		{"syscw:", FEATURE_IO_WRITE_CALLS, 1},
		{"read_bytes:", FEATURE_IO_READ_BYTES, 1},
		{"write_bytes:", FEATURE_IO_WRITE_BYTES, 1},
		{"cancelled_write_bytes:", FEATURE_IO_CANCELLED_BYTES, 1},
	};

	take_lines(text, lines, ARRAY_SIZE(lines), values, present);
}

uint32_t proc_inner_number(const char *status)
{
	const char *line = strstr(status, "\nNSpid:");
	size_t n = line ? strcspn(line + 1, "\n") + 1 : 0;

	while (n && line[n - 1] != '\t' && line[n - 1] != ' ')
		n--;
	return n ? (uint32_t)strtoul(line + n, NULL, 10) : 0;
}
