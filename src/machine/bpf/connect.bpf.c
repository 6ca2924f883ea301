/* How long TCP connections take to open, of the whole machine: from the first SYN to the answer (IPv4 and IPv6, in all
 * network namespaces). One handshake is timed in storage that hangs on its socket; every other change of state costs two
 * comparisons. */
#include "machine/bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT	2
#define TCP_SYN_RECV	3
#define IPPROTO_TCP	6

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} began SEC(".maps");

__u64 time;    /* ns: of all handshakes that ended, answered or given up */
__u64 ended;   /* handshakes */
__u64 longest; /* ns: since user space last set it to 0 */

static void begin(struct sock *sk)
{
	u64 *at = bpf_sk_storage_get(&began, sk, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (at)
		*at = bpf_ktime_get_ns();
}

static void end(struct sock *sk)
{
	u64 *at = bpf_sk_storage_get(&began, sk, 0, 0);
	u64 took;

	if (!at || !*at) /* it began before we did */
		return;
	took = bpf_ktime_get_ns() - *at;
	*at = 0;
	__sync_fetch_and_add(&time, took);
	__sync_fetch_and_add(&ended, 1);
	if (took > longest)
		longest = took;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, struct sock *sk, int before, int now)
{
	if (now != TCP_SYN_SENT && before != TCP_SYN_SENT)
		return 0;
	if (sk->sk_protocol != IPPROTO_TCP || now == TCP_SYN_RECV) /* both sides called at once: it continues */
		return 0;
	if (now == TCP_SYN_SENT)
		begin(sk);
	else
		end(sk);
	return 0;
}
