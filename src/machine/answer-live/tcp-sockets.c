#include "machine/answer-live/tcp-sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/data/cleanup.h"
#include "lib/data/hmap.h"
#include "lib/data/vec.h"
#include "machine/answer-live/other-end.h"
#include "machine/answer-live/sock-diag.h"

#define QUEUE_WORTH   5	   /* connections that wait: a shorter queue is full in no time, and empty again */
#define PORTS_WORTH   0.95 /* of the range: sockets of all kinds, before they are counted one by one */
#define SOCKETS_MOST  20000 /* about 1 us each: of more nothing is said of lines */
#define DELAY_LEAST   100000 /* us: acknowledgements may be held back for 40 ms */
#define DELAY_TIMES   3	     /* the round trip, of its minimum */
#define ACTIVE	      3000   /* ms since it last sent: the round trip was measured then */
#define MOVES	      1000   /* ms since it last received */
#define MUCH	      1e6    /* bytes received: a download has more */
#define LINES_MAX     32
#define ESTABLISHED   (1u << 1) /* TCP_ESTABLISHED, TCP_LISTEN of net/tcp_states.h */
#define LISTENING     (1u << 10)
#define ADDRESSES_MAX 65536

/* Sockets towards one address and port. */
struct address {
	__be32 words[4];
	uint16_t port;
	uint8_t family;
	uint32_t n;
};

/* Connections from one address of this machine. */
struct line {
	__be32 words[4];
	uint8_t family;
	uint32_t active, slow, delay; /* connections; us: the longest */
	uint32_t sender, receiver;    /* the sockets that have most in their queue, or have received most */
	uint32_t sends, sender_delay; /* bytes, us */
	uint64_t receives;
};

struct pass {
	struct tcp_pressure *result;
	struct line lines[LINES_MAX];
	size_t n_lines;
	uint32_t queue_inode;
	unsigned first, last; /* the range of ports for clients */
	struct hmap by_address; /* (address, port) -> place in `addresses` + 1 */
	VEC(struct address) addresses;
};

typedef int (*socket_look)(struct pass *p, const struct inet_diag_msg *m, const struct tcp_info *info);

struct tcp_question {
	struct nlmsghdr header;
	struct inet_diag_req_v2 request;
};

struct looking {
	struct pass *pass;
	socket_look look;
};

static int look_at_one(void *state, const struct nlmsghdr *answer)
{
	const struct looking *l = state;
	const struct inet_diag_msg *m = NLMSG_DATA(answer);
	unsigned left = (unsigned)(answer->nlmsg_len - NLMSG_LENGTH(sizeof(*m)));
	struct tcp_info info = {}, *found = NULL;

	for (const struct rtattr *a = (const void *)(m + 1); RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == INET_DIAG_INFO) {
			size_t n = RTA_PAYLOAD(a);

			memcpy(&info, RTA_DATA(a), n < sizeof(info) ? n : sizeof(info));
			found = &info;
		}
	return l->look(l->pass, m, found);
}

static int look_at_sockets(struct pass *p, uint8_t family, uint32_t states, socket_look look)
{
	const struct tcp_question q = {
		.header = {.nlmsg_len = sizeof(q), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.request = {.sdiag_family = family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = states, .idiag_ext = states == ESTABLISHED ? 1 << (INET_DIAG_INFO - 1) : 0}};

	return sock_diag_ask(&q.header, look_at_one, &(struct looking){p, look});
}

/* A listening socket's numbers are the length of its queue and the most that it takes (net/ipv4/tcp_diag.c). */
static int look_at_queue(struct pass *p, const struct inet_diag_msg *m, const struct tcp_info *info)
{
	struct tcp_pressure *t = p->result;

	(void)info;
	if (m->idiag_rqueue < QUEUE_WORTH || (uint64_t)m->idiag_rqueue * t->queue_limit < (uint64_t)t->queue * m->idiag_wqueue)
		return 0;
	t->queue = m->idiag_rqueue;
	t->queue_limit = m->idiag_wqueue;
	t->queue_port = ntohs(m->id.idiag_sport);
	p->queue_inode = m->idiag_inode;
	return 0;
}

static int look_at_port(struct pass *p, const struct inet_diag_msg *m, const struct tcp_info *info)
{
	unsigned port = ntohs(m->id.idiag_sport);
	const __be32 *words = m->id.idiag_dst;
	uint64_t key = (uint64_t)words[0] << 32 | words[1], key2 = ((uint64_t)words[2] << 32 | words[3]) ^ (uint64_t)m->id.idiag_dport << 48;
	uintptr_t place;
	struct address a = {.port = ntohs(m->id.idiag_dport), .family = m->idiag_family};

	(void)info;
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

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_fclose_ FILE *f = NULL;
		char path[160], line[256];

		snprintf(path, sizeof(path), "%s/net/%s", proc_root, files[i]);
		f = fopen(path, "re");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "TCP: inuse %u orphan %*u tw %u", &in_use, &waiting) == 2 || sscanf(line, "TCP6: inuse %u", &in_use) == 1)
				sum += in_use + waiting * !i;
	}
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
	r = look_at_sockets(p, AF_INET, ~LISTENING, look_at_port);
	r = r ?: look_at_sockets(p, AF_INET6, ~LISTENING, look_at_port);
	take_ports(p);
	return r;
}

static struct line *line_of(struct pass *p, const struct inet_diag_msg *m)
{
	struct line *l = p->lines;

	while (l < p->lines + p->n_lines && (l->family != m->idiag_family || memcmp(l->words, m->id.idiag_src, sizeof(l->words)) != 0))
		l++;
	if (l == p->lines + LINES_MAX)
		return NULL;
	if (l == p->lines + p->n_lines) {
		*l = (struct line){.family = m->idiag_family};
		memcpy(l->words, m->id.idiag_src, sizeof(l->words));
		p->n_lines++;
	}
	return l;
}

static int look_at_line(struct pass *p, const struct inet_diag_msg *m, const struct tcp_info *info)
{
	struct line *l = info ? line_of(p, m) : NULL;
	uint32_t delay = info && info->tcpi_min_rtt && info->tcpi_rtt > DELAY_TIMES * info->tcpi_min_rtt ? info->tcpi_rtt - info->tcpi_min_rtt : 0;

	if (!l)
		return 0;
	if (info->tcpi_last_data_recv < MOVES && info->tcpi_bytes_received > l->receives) {
		l->receives = info->tcpi_bytes_received;
		l->receiver = m->idiag_inode;
	}
	if (info->tcpi_last_data_sent >= ACTIVE)
		return 0;
	l->active++;
	l->slow += delay >= DELAY_LEAST;
	l->delay = delay > l->delay ? delay : l->delay;
	if (m->idiag_wqueue > l->sends) {
		l->sends = m->idiag_wqueue;
		l->sender = m->idiag_inode;
		l->sender_delay = delay;
	}
	return 0;
}

static void name_interface(const struct line *l, char ret[16])
{
	struct ifaddrs *all = NULL;

	if (getifaddrs(&all) < 0)
		return;
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		const void *address = i->ifa_addr && i->ifa_addr->sa_family == AF_INET  ? (const void *)&((const struct sockaddr_in *)i->ifa_addr)->sin_addr :
				      i->ifa_addr && i->ifa_addr->sa_family == AF_INET6 ? (const void *)&((const struct sockaddr_in6 *)i->ifa_addr)->sin6_addr :
											   NULL;

		if (address && i->ifa_addr->sa_family == l->family && memcmp(address, l->words, l->family == AF_INET ? 4 : 16) == 0)
			snprintf(ret, 16, "%s", i->ifa_name);
	}
	freeifaddrs(all);
}

/* A connection whose data waits alone goes to a slow place. Where others of the same address wait as well, the line is full: of what one sends, whose own data
 * waits, or, where most that send wait and nothing here does, of what one receives. */
static int find_line(const char *proc_root, struct pass *p, uint32_t *ret_socket)
{
	int r = count_sockets(proc_root) > SOCKETS_MOST ? 0 : look_at_sockets(p, AF_INET, ESTABLISHED, look_at_line) ?: look_at_sockets(p, AF_INET6, ESTABLISHED, look_at_line);

	for (size_t i = 0; i < p->n_lines; i++) {
		const struct line *l = &p->lines[i];
		bool out = l->sender_delay >= DELAY_LEAST && l->slow > 1, in = !out && l->slow && 2 * l->slow >= l->active && (double)l->receives >= MUCH;

		if ((!out && !in) || l->delay * 1000ll <= p->result->line_delay)
			continue;
		p->result->line_delay = l->delay * 1000ll;
		p->result->line_is_out = out;
		*ret_socket = out ? l->sender : l->receiver;
		name_interface(l, p->result->line_of);
	}
	return r;
}

int tcp_pressure_find(const char *proc_root, struct tcp_pressure *ret)
{
	struct open_files files = {.proc_root = proc_root};
	struct tcp_pressure found = {};
	struct pass p = {.result = &found};
	uint32_t line_socket = 0;
	int r = look_at_sockets(&p, AF_INET, LISTENING, look_at_queue);

	r = r ?: look_at_sockets(&p, AF_INET6, LISTENING, look_at_queue);
	r = r ?: find_ports(proc_root, &p) ?: find_line(proc_root, &p, &line_socket);
	if (r == 0 && line_socket)
		found.line_pid = other_end_socket_owner(&files, line_socket);
	if (r == 0 && p.queue_inode)
		found.queue_pid = other_end_socket_owner(&files, p.queue_inode);
	open_files_free(&files);
	hmap_free(&p.by_address);
	VEC_FREE(p.addresses);
	if (r == 0)
		*ret = found;
	return r;
}
