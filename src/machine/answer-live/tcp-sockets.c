#include "machine/answer-live/tcp-sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/data/cleanup.h"
#include "lib/data/file.h"
#include "lib/data/hmap.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"
#include "machine/answer-live/other-end.h"
#include "machine/answer-live/sock-diag.h"

#define QUEUE_WORTH   5	   /* connections that wait: a shorter queue is full in no time, and empty again */
#define PORTS_WORTH   0.95 /* of the range: sockets of all kinds, before they are counted one by one */
#define SOCKETS_MOST  20000 /* about 1 us each: of more nothing is said of delays */
#define ADDRESSES_MAX 65536

/* Sockets towards one address and port. */
struct address {
	__be32 words[4];
	uint16_t port;
	uint8_t family;
	uint32_t n;
};

struct pass {
	struct tcp_pressure *result;
	uint32_t queue_inode;
	unsigned first, last; /* the range of ports for clients */
	struct hmap by_address; /* (address, port) -> place in `addresses` + 1 */
	VEC(struct address) addresses;
};

/* A listening socket's numbers are the length of its queue and the most that it takes (net/ipv4/tcp_diag.c). */
static int look_at_queue(void *state, const struct nlmsghdr *answer)
{
	const struct inet_diag_msg *m = NLMSG_DATA(answer);
	struct pass *p = state;
	struct tcp_pressure *t = p->result;

	if (m->idiag_rqueue < QUEUE_WORTH || (uint64_t)m->idiag_rqueue * t->queue_limit < (uint64_t)t->queue * m->idiag_wqueue)
		return 0;
	t->queue = m->idiag_rqueue;
	t->queue_limit = m->idiag_wqueue;
	t->queue_port = ntohs(m->id.idiag_sport);
	p->queue_inode = m->idiag_inode;
	return 0;
}

static int look_at_port(void *state, const struct nlmsghdr *answer)
{
	const struct inet_diag_msg *m = NLMSG_DATA(answer);
	struct pass *p = state;
	unsigned port = ntohs(m->id.idiag_sport);
	const __be32 *words = m->id.idiag_dst;
	uint64_t key = (uint64_t)words[0] << 32 | words[1], key2 = ((uint64_t)words[2] << 32 | words[3]) ^ (uint64_t)m->id.idiag_dport << 48;
	uintptr_t place;
	struct address a = {.port = ntohs(m->id.idiag_dport), .family = m->idiag_family};

	if (port < p->first || port > p->last)
		return 0;
	place = (uintptr_t)hmap_get(&p->by_address, key, key2);
	if (!place) {
		memcpy(a.words, words, sizeof(a.words));
		if (p->addresses.n == ADDRESSES_MAX)
			return 0;
		if (VEC_PUSH(p->addresses, a) < 0 || hmap_put(&p->by_address, key, key2, (void *)(uintptr_t)p->addresses.n) < 0)
			return -ENOMEM;
		place = p->addresses.n;
	}
	p->addresses.v[place - 1].n++;
	return 0;
}

/* "TCP: inuse 27 orphan 0 tw 2 alloc 31 mem 3", of IPv6 "TCP6: inuse 4" */
static unsigned count_sockets(const char *proc_root)
{
	static const char *const files[] = {"sockstat", "sockstat6"};
	unsigned sum = 0, in_use, waiting = 0;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		LINES_EACH(line, fopen(STR_TEXT(160, "%s/net/%s", proc_root, files[i]), "re"))
			if (sscanf(line.text, "TCP: inuse %u orphan %*u tw %u", &in_use, &waiting) == 2 || sscanf(line.text, "TCP6: inuse %u", &in_use) == 1)
				sum += in_use + waiting * !i;
	return sum;
}

static bool read_range(const char *proc_root, struct pass *p)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[160];

	snprintf(path, sizeof(path), "%s/sys/net/ipv4/ip_local_port_range", proc_root);
	f = fopen(path, "re");
	return f && fscanf(f, "%u %u", &p->first, &p->last) == 2 && p->last >= p->first;
}

static void take_ports(struct pass *p)
{
	const struct address *most = NULL;
	char text[INET6_ADDRSTRLEN] = "?";

	for (size_t i = 0; i < p->addresses.n; i++)
		if (!most || p->addresses.v[i].n > most->n)
			most = &p->addresses.v[i];
	if (!most)
		return;
	inet_ntop(most->family, most->words, text, sizeof(text));
	snprintf(p->result->ports_to, sizeof(p->result->ports_to), most->family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, most->port);
	p->result->ports = most->n;
	p->result->ports_limit = p->last - p->first + 1;
}

static int find_ports(const char *proc_root, struct pass *p)
{
	int r;

	if (!read_range(proc_root, p) || count_sockets(proc_root) < PORTS_WORTH * (p->last - p->first + 1))
		return 0;
	r = sock_diag_tcp(AF_INET, ~SOCK_DIAG_LISTENING, look_at_port, p);
	r = r ?: sock_diag_tcp(AF_INET6, ~SOCK_DIAG_LISTENING, look_at_port, p);
	take_ports(p);
	return r;
}

int tcp_pressure_find(const char *proc_root, struct tcp_pressure *ret)
{
	struct open_files files = {.proc_root = proc_root};
	struct tcp_pressure found = {};
	struct pass p = {.result = &found};
	int r = sock_diag_tcp(AF_INET, SOCK_DIAG_LISTENING, look_at_queue, &p);

	r = r ?: sock_diag_tcp(AF_INET6, SOCK_DIAG_LISTENING, look_at_queue, &p);
	r = r ?: find_ports(proc_root, &p);
	if (r == 0 && count_sockets(proc_root) <= SOCKETS_MOST)
		r = tcp_delay_find(&files, &found.delay);
	if (r == 0 && p.queue_inode)
		found.queue_pid = other_end_socket_owner(&files, p.queue_inode);
	open_files_free(&files);
	hmap_free(&p.by_address);
	VEC_FREE(p.addresses);
	if (r == 0)
		*ret = found;
	return r;
}

struct owner {
	uint32_t pid;
	uint64_t n;
};

struct owners {
	struct open_files *files;
	VEC(struct owner) list;
};

static int look_at_owner(void *state, const struct nlmsghdr *answer)
{
	const struct inet_diag_msg *m = NLMSG_DATA(answer);
	struct owners *o = state;
	uint32_t pid = other_end_socket_owner(o->files, m->idiag_inode);
	struct owner *known = VEC_FIND(x, o->list, x->pid == pid);

	if (!known && pid)
		return VEC_PUSH(o->list, (struct owner){pid, 1});
	if (known)
		known->n++;
	return 0;
}

uint32_t tcp_most_connections(struct open_files *files, uint64_t *ret_n)
{
	struct owners o = {.files = files};
	struct owner most = {};

	(void)(sock_diag_tcp(AF_INET, ~SOCK_DIAG_LISTENING, look_at_owner, &o) ?: sock_diag_tcp(AF_INET6, ~SOCK_DIAG_LISTENING, look_at_owner, &o));
	VEC_EACH(one, o.list)
		most = one->n > most.n ? *one : most;
	VEC_FREE(o.list);
	*ret_n = most.n;
	return most.pid;
}

struct vain {
	struct open_files *files;
	uint32_t but;
	struct tcp_waits *waits;
};

static int look_at_vain(void *state, const struct nlmsghdr *answer)
{
	const struct inet_diag_msg *m = NLMSG_DATA(answer);
	struct vain *v = state;
	uint32_t pid = m->idiag_retrans ? other_end_socket_owner(v->files, m->idiag_inode) : 0;

	return !tcp_waits_add(v->waits, pid == v->but ? 0 : pid);
}

void tcp_connects_in_vain(struct open_files *files, uint32_t but, struct tcp_waits *ret)
{
	struct vain v = {.files = files, .but = but, .waits = ret};

	(void)(sock_diag_tcp(AF_INET, SOCK_DIAG_CONNECTING, look_at_vain, &v) ?: sock_diag_tcp(AF_INET6, SOCK_DIAG_CONNECTING, look_at_vain, &v));
}
