/* TCP of the whole machine, from /proc/net/snmp and /proc/net/netstat (net/ipv4/proc.c): pairs of lines, the names
 * and the numbers.
 *
 *   Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs RetransSegs
 *   Tcp: 1 200 120000 -1 14 2 0 0 0 1005 592 0
 *
 * /proc/net is that of the recorder's network namespace: containers with their own count for themselves.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/input/text.h"
#include "machine/sample/system.h"

/* The kernel prints 4 kB of netstat, for 15 us, and one number of it is wanted. */
#define NETSTAT_EVERY 5

struct column {
	const char *name;
	int feature;
};

static const struct column tcp[] = {
	{"ActiveOpens", FEATURE_SYS_TCP_OPENS},
	{"OutSegs", FEATURE_SYS_TCP_OUT},
	{"RetransSegs", FEATURE_SYS_TCP_RETRANS},
	{},
};
static const struct column tcp_extended[] = {
	{"ListenDrops", FEATURE_SYS_TCP_DROPS},
	{},
};

struct snmp {
	struct text_file snmp, netstat; /* netstat.data == NULL: not there */
	uint64_t samples;
};

static const char *find_line(const char *text, const char *prefix)
{
	for (; *text; text = text_next_line(text))
		if (strncmp(text, prefix, strlen(prefix)) == 0)
			return text;
	return NULL;
}

static int feature_of(const struct column *columns, const char *name, size_t n)
{
	for (; columns->name; columns++)
		if (strlen(columns->name) == n && memcmp(columns->name, name, n) == 0)
			return columns->feature;
	return -1;
}

static void take(const char *text, const char *prefix, const struct column *columns, int64_t *values,
		 feature_set *present)
{
	const char *names = find_line(text, prefix),
		   *numbers = names ? find_line(text_next_line(names), prefix) : NULL;

	if (!numbers)
		return;
	names += strlen(prefix);
	numbers += strlen(prefix);
	for (;;) {
		const char *name = text_skip_blanks(names), *number = text_skip_blanks(numbers);
		int feature;
		uint64_t value;

		names = text_skip_word(name);
		numbers = text_skip_word(number);
		if (names == name || numbers == number)
			return;
		feature = feature_of(columns, name, (size_t)(names - name));
		if (feature < 0 || !text_scan_number(&number, &value))
			continue;
		values[feature] = (int64_t)value;
		*present |= FEATURE_BIT(feature);
	}
}

static void snmp_close(void *state)
{
	struct snmp *s = state;

	text_file_close(&s->snmp);
	text_file_close(&s->netstat);
	free(s);
}

static int snmp_open(const struct source_options *options, void **ret_state)
{
	struct snmp *s = calloc(1, sizeof(*s));
	int r = s ? text_file_open(&s->snmp, options->proc_root, "net/snmp") : -ENOMEM;

	if (r < 0) {
		free(s);
		return r;
	}
	(void)text_file_open(&s->netstat, options->proc_root, "net/netstat");
	*ret_state = s;
	return 0;
}

static void snmp_read(void *state, struct tick *tick, int64_t *values, feature_set *present)
{
	struct snmp *s = state;

	(void)tick;
	if (text_file_read(&s->snmp) == 0)
		take(s->snmp.data, "Tcp:", tcp, values, present);
	if (s->netstat.data && s->samples++ % NETSTAT_EVERY == 0 && text_file_read(&s->netstat) == 0)
		take(s->netstat.data, "TcpExt:", tcp_extended, values, present);
}

const struct system_reader snmp_reader = {
	.open = snmp_open,
	.read = snmp_read,
	.close = snmp_close,
	.missing = "no /proc/net/snmp: TCP cannot be judged",
};
