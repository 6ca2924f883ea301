#include "machine/answer-live/tcp-delay.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/gen_stats.h>
#include <linux/if_packet.h>
#include <linux/inet_diag.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "lib/data/vec.h"
#include "machine/answer-live/other-end.h"
#include "machine/answer-live/sock-diag.h"

#define HELD_LEAST   5000   /* us: less is a busy machine */
#define HELD_LOOKS   3	    /* between two of which ... */
#define HELD_AFTER   13000  /* us ... pass: a packet is held back for 40 ms, and between two requests nothing is */
#define RECENT	     500    /* ms since it last sent and received */
#define ACTIVE	     3000   /* ms since it last sent: the round trip was measured then */
#define MOVES	     1000   /* ms since it last received */
#define MUCH	     1e6    /* bytes received: a download has more */
#define LINES_MAX    32
#define WAITS_MAX    32
#define QUEUES_MAX   64
#define QUEUE_LEAST  16384 /* bytes: less is gone in no time, or the line is slow for all */
#define QUEUE_LOOKED 30000 /* us in which its rate is measured */

/* Connections from one address of this machine. */
struct line {
	__be32 words[4];
	uint8_t family;
	uint32_t active, slow, delay;	       /* connections; us: the longest */
	uint32_t sender, receiver;	       /* the sockets that have most in their queue, or have received most */
	uint32_t sends, sender_delay;	       /* bytes, us */
	uint32_t waits[WAITS_MAX];	       /* the first sockets that are slow: most are the sender's, if it has several */
	uint64_t receives;
};

/* The bytes that an interface has sent and still has to send, by its queueing discipline. */
struct queue {
	int interface;
	uint64_t sent, left; /* bytes */
};

struct queues {
	struct queue v[QUEUES_MAX];
	size_t n;
};

struct pass {
	struct line lines[LINES_MAX];
	size_t n_lines;
	struct inet_diag_sockid held; /* the connection that holds back longest */
	uint32_t held_socket, held_delay, opposite;
	bool may_hold;
};

bool tcp_waits_add(struct tcp_waits *w, uint32_t pid)
{
	if (pid && w->n < TCP_WAITS_MOST && !ANY_WHERE(i, w->n, w->pids[i] == pid))
		w->pids[w->n++] = pid;
	return w->n < TCP_WAITS_MOST;
}

/* --- connections --- */

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

static void look_at_delay(struct line *l, const struct inet_diag_msg *m, uint32_t delay)
{
	l->active++;
	if (delay >= TCP_DELAY_LEAST && l->slow < WAITS_MAX)
		l->waits[l->slow] = m->idiag_inode;
	l->slow += delay >= TCP_DELAY_LEAST;
	l->delay = delay > l->delay ? delay : l->delay;
	if (m->idiag_wqueue > l->sends) {
		l->sends = m->idiag_wqueue;
		l->sender = m->idiag_inode;
		l->sender_delay = delay;
	}
}

/* It answers, its packets are often confirmed late although the way is short, and now one that is not full waits behind one that is not confirmed. */
static void look_at_held(struct pass *p, const struct inet_diag_msg *m, const struct tcp_info *info, uint32_t delay)
{
	bool is_late = delay >= HELD_LEAST && delay < TCP_DELAY_LEAST && info->tcpi_min_rtt < HELD_LEAST && info->tcpi_last_data_sent < RECENT && info->tcpi_last_data_recv < RECENT;

	p->may_hold |= is_late;
	if (!is_late || !sock_diag_holds_back(info) || delay < p->held_delay)
		return;
	p->held_delay = delay;
	p->held_socket = m->idiag_inode;
	p->held = m->id;
}

static int look_at_connection(void *state, const struct nlmsghdr *answer)
{
	const struct inet_diag_msg *m = NLMSG_DATA(answer);
	struct pass *p = state;
	struct line *l = line_of(p, m);
	struct tcp_info info;
	uint32_t delay;

	if (!l || !sock_diag_tcp_info(answer, &info))
		return 0;
	delay = sock_diag_delay(&info);
	if (info.tcpi_last_data_recv < MOVES && info.tcpi_bytes_received > l->receives) {
		l->receives = info.tcpi_bytes_received;
		l->receiver = m->idiag_inode;
	}
	if (info.tcpi_last_data_sent < ACTIVE)
		look_at_delay(l, m, delay);
	look_at_held(p, m, &info, delay);
	return 0;
}

static int look_at_all(struct pass *p, sock_diag_look look)
{
	return sock_diag_tcp(AF_INET, SOCK_DIAG_ESTABLISHED, look, p) ?: sock_diag_tcp(AF_INET6, SOCK_DIAG_ESTABLISHED, look, p);
}

/* --- queues of interfaces --- */

/* The root of a queue with classes has the sums of all. */
static int look_at_queue(void *state, const struct nlmsghdr *answer)
{
	const struct tcmsg *m = NLMSG_DATA(answer);
	unsigned left = answer->nlmsg_len - (unsigned)NLMSG_LENGTH(sizeof(*m));
	struct queues *queues = state;
	struct queue q = {.interface = m->tcm_ifindex};

	if (m->tcm_parent != TC_H_ROOT)
		return 0;
	for (const struct rtattr *a = (const void *)(m + 1); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		unsigned within = (unsigned)RTA_PAYLOAD(a);

		if (a->rta_type != TCA_STATS2)
			continue;
		for (const struct rtattr *s = RTA_DATA(a); RTA_OK(s, within); s = RTA_NEXT(s, within)) {
			if (s->rta_type == TCA_STATS_BASIC)
				memcpy(&q.sent, RTA_DATA(s), sizeof(q.sent)); /* struct gnet_stats_basic begins with it */
			else if (s->rta_type == TCA_STATS_QUEUE)
				q.left = ((const struct gnet_stats_queue *)RTA_DATA(s))->backlog;
		}
	}
	if (q.left >= QUEUE_LEAST && queues->n < QUEUES_MAX)
		queues->v[queues->n++] = q;
	return 0;
}

static int look_at_queues(struct queues *ret)
{
	const struct {
		struct nlmsghdr header;
		struct tcmsg request;
	} q = {.header = {.nlmsg_len = sizeof(q), .nlmsg_type = RTM_GETQDISC, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}};

	return sock_diag_ask(NETLINK_ROUTE, &q.header, look_at_queue, ret);
}

/* Where what is sent now waits longest, by what left in the time between two looks: *ret_ns, 0 = nowhere. 0 or -errno. */
static int find_queue(int *ret_interface, int64_t *ret_ns)
{
	struct queues before = {}, now = {};
	int64_t begin = clock_monotonic();
	int r = look_at_queues(&before);

	*ret_ns = 0;
	if (r < 0 || !before.n)
		return r;
	usleep(QUEUE_LOOKED);
	r = look_at_queues(&now);
	for (size_t i = 0; r == 0 && i < now.n; i++) {
		const struct queue *q = &now.v[i];

		for (size_t k = 0; k < before.n; k++) {
			uint64_t sent = before.v[k].interface == q->interface && q->sent > before.v[k].sent ? q->sent - before.v[k].sent : 0;
			int64_t ns = sent ? (int64_t)((double)q->left * (double)(clock_monotonic() - begin) / (double)sent) : 0;

			if (ns > *ret_ns) {
				*ret_ns = ns;
				*ret_interface = q->interface;
			}
		}
	}
	return r;
}

/* --- */

typedef bool (*interface_test)(const struct sockaddr *address, const void *data);

static bool has_index(const struct sockaddr *address, const void *data)
{
	return address->sa_family == AF_PACKET && ((const struct sockaddr_ll *)address)->sll_ifindex == *(const int *)data;
}

static bool has_address_of(const struct sockaddr *address, const void *data)
{
	const struct line *l = data;
	const void *bytes = address->sa_family == AF_INET ? (const void *)&((const struct sockaddr_in *)address)->sin_addr : &((const struct sockaddr_in6 *)address)->sin6_addr;

	return address->sa_family == l->family && memcmp(bytes, l->words, l->family == AF_INET ? 4 : 16) == 0;
}

/* "" = none is. Without if_indextoname(), which opens a socket of a kind that the recorder may not open. */
static void name_interface(interface_test test, const void *data, char ret[IF_NAMESIZE])
{
	struct ifaddrs *all = NULL;

	*ret = '\0';
	if (getifaddrs(&all) < 0)
		return;
	for (const struct ifaddrs *i = all; i; i = i->ifa_next)
		if (i->ifa_addr && test(i->ifa_addr, data))
			snprintf(ret, IF_NAMESIZE, "%s", i->ifa_name);
	freeifaddrs(all);
}

static void take_line(struct open_files *files, const struct line *l, bool out, int64_t ns, const char *interface, struct tcp_delay *ret)
{
	*ret = (struct tcp_delay){.kind = out ? TCP_DELAY_OUT : TCP_DELAY_IN, .ns = ns, .pid = other_end_socket_owner(files, out ? l->sender : l->receiver)};
	for (size_t i = 0; i < WAITS_MAX && i < l->slow; i++) {
		uint32_t pid = other_end_socket_owner(files, l->waits[i]);

		tcp_waits_add(&ret->waits, pid == ret->pid ? 0 : pid);
	}
	snprintf(ret->of, sizeof(ret->of), "%s", interface);
}

/* A connection whose data waits alone goes to a slow place. Where others of the same address wait as well, or the interface's own queue is as long, the line is full:
 * of what one sends, or, where most that send wait and nothing here does, of what one receives. */
static void find_line(struct open_files *files, const struct pass *p, const char *queue_of, int64_t queue_ns, struct tcp_delay *ret)
{
	bool queue_counts = queue_ns >= TCP_DELAY_LEAST * 1000ll;

	for (size_t i = 0; i < p->n_lines; i++) {
		const struct line *l = &p->lines[i];
		char interface[IF_NAMESIZE] = "";
		bool queues = queue_counts && l->sender && (name_interface(has_address_of, l, interface), strcmp(interface, queue_of) == 0);
		bool out = queues || (l->sender_delay >= TCP_DELAY_LEAST && l->slow > 1), in = !out && l->slow && 2 * l->slow >= l->active && (double)l->receives >= MUCH;
		int64_t ns = queues && queue_ns > l->delay * 1000ll ? queue_ns : l->delay * 1000ll;

		if ((!out && !in) || ns <= ret->ns)
			continue;
		name_interface(has_address_of, l, interface);
		take_line(files, l, out, ns, interface, ret);
	}
	if (queue_counts && !ret->kind) {
		*ret = (struct tcp_delay){.kind = TCP_DELAY_OUT, .ns = queue_ns};
		snprintf(ret->of, sizeof(ret->of), "%s", queue_of);
	}
}

static int look_at_opposite(void *state, const struct nlmsghdr *answer)
{
	const struct inet_diag_msg *m = NLMSG_DATA(answer);
	struct pass *p = state;

	if (m->id.idiag_sport != p->held.idiag_dport || m->id.idiag_dport != p->held.idiag_sport || memcmp(m->id.idiag_src, p->held.idiag_dst, sizeof(p->held.idiag_dst)) != 0)
		return 0;
	p->opposite = m->idiag_inode;
	return 1;
}

static int find_held(struct open_files *files, struct pass *p, struct tcp_delay *ret)
{
	char text[INET6_ADDRSTRLEN] = "?";
	bool ipv4 = !p->held.idiag_dst[1] && !p->held.idiag_dst[2] && !p->held.idiag_dst[3];
	int r = 0;

	for (int i = 1; r == 0 && i < HELD_LOOKS && p->may_hold && !p->held_socket; i++) {
		usleep(HELD_AFTER);
		r = look_at_all(p, look_at_connection);
	}
	if (r < 0 || !p->held_socket)
		return r;
	r = look_at_all(p, look_at_opposite);
	inet_ntop(ipv4 ? AF_INET : AF_INET6, p->held.idiag_dst, text, sizeof(text));
	*ret = (struct tcp_delay){.kind = TCP_DELAY_HELD, .ns = p->held_delay * 1000ll, .pid = other_end_socket_owner(files, p->held_socket)};
	tcp_waits_add(&ret->waits, p->opposite ? other_end_socket_owner(files, p->opposite) : 0);
	snprintf(ret->of, sizeof(ret->of), ipv4 ? "%s:%u" : "[%s]:%u", text, ntohs(p->held.idiag_dport));
	return r < 0 ? r : 0;
}

int tcp_delay_find(struct open_files *files, struct tcp_delay *ret)
{
	struct pass p = {};
	struct tcp_delay found = {};
	int64_t queue_ns;
	char queue_of[IF_NAMESIZE] = "";
	int interface = 0, r = find_queue(&interface, &queue_ns);

	r = r ?: look_at_all(&p, look_at_connection);
	if (r < 0)
		return r;
	if (queue_ns)
		name_interface(has_index, &interface, queue_of);
	find_line(files, &p, queue_of, queue_ns, &found);
	r = found.kind ? 0 : find_held(files, &p, &found);
	if (r == 0)
		*ret = found;
	return r;
}
