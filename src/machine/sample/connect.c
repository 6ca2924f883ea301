/* How long TCP connections take to open, by BPF (connect.bpf.c). Snmp counts them; how long they take the kernel tells
 * nothing. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "connect.skel.h"
#include "machine/sample/system.h"

static void connect_close(void *state)
{
	connect_bpf__destroy(state);
}

static int connect_open(const struct source_options *options, void **ret_state)
{
	struct connect_bpf *skel;
	int r;

	if (strcmp(options->proc_root, "/proc") != 0 || options->own_processes_only)
		return -EOPNOTSUPP; /* a recorded machine opens no connections; without rights there is no BPF */
	libbpf_set_print(NULL); /* what it would say does not help a user */
	skel = connect_bpf__open_and_load();
	if (!skel)
		return -errno;
	r = connect_bpf__attach(skel);
	if (r < 0) {
		connect_bpf__destroy(skel);
		return r;
	}
	*ret_state = skel;
	return 0;
}

static void connect_read(void *state, struct tick *tick, int64_t *values, feature_set *present)
{
	struct connect_bpf *skel = state;

	(void)tick;
	values[FEATURE_SYS_TCP_HANDSHAKES] = (int64_t)skel->bss->ended;
	values[FEATURE_SYS_TCP_HANDSHAKE_TIME] = (int64_t)skel->bss->time;
	values[FEATURE_SYS_TCP_HANDSHAKE_LONGEST] = (int64_t)__atomic_exchange_n(&skel->bss->longest, 0, __ATOMIC_RELAXED);
	*present |= FEATURE_BIT(FEATURE_SYS_TCP_HANDSHAKES) | FEATURE_BIT(FEATURE_SYS_TCP_HANDSHAKE_TIME) |
		    FEATURE_BIT(FEATURE_SYS_TCP_HANDSHAKE_LONGEST);
}

const struct system_reader connect_reader = {
	.open = connect_open,
	.read = connect_read,
	.close = connect_close,
	.missing = "no BPF: how long TCP connections take to open is not measured",
};
