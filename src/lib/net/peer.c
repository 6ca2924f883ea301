#include "lib/net/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>

#include "lib/data/cleanup.h"

#define ANSWER_MAX 4096 /* one socket's record */

bool peer_is_loopback(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == 127;
	return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

static void put_address(const struct sockaddr_storage *a, __be16 *port, __be32 words[4])
{
	if (a->ss_family == AF_INET) {
		*port = ((const struct sockaddr_in *)a)->sin_port;
		words[0] = ((const struct sockaddr_in *)a)->sin_addr.s_addr;
	} else {
		*port = ((const struct sockaddr_in6 *)a)->sin6_port;
		memcpy(words, &((const struct sockaddr_in6 *)a)->sin6_addr, 4 * sizeof(*words));
	}
}

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 body;
};

/* Asks for one socket: that which has our peer's address as its own. */
static int ask(int netlink, const struct sockaddr_storage *theirs, const struct sockaddr_storage *ours)
{
	struct question q = {
		.head = {.nlmsg_len = sizeof(q), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
		.body = {.sdiag_family = (uint8_t)theirs->ss_family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u},
	};

	put_address(theirs, &q.body.id.idiag_sport, q.body.id.idiag_src);
	put_address(ours, &q.body.id.idiag_dport, q.body.id.idiag_dst);
	q.body.id.idiag_cookie[0] = q.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	return send(netlink, &q, sizeof(q), 0) < 0 ? -errno : 0;
}

static int take_answer(int netlink, uint32_t *ret_uid)
{
	union {
		struct nlmsghdr head;
		char bytes[ANSWER_MAX];
	} answer;
	ssize_t n = recv(netlink, &answer, sizeof(answer), 0);
	const struct inet_diag_msg *found = NLMSG_DATA(&answer.head);

	if (n < 0)
		return -errno;
	if (!NLMSG_OK(&answer.head, (size_t)n) || answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    answer.head.nlmsg_len < NLMSG_LENGTH(sizeof(*found)))
		return -ENOENT;
	if (!found->idiag_inode) /* its program has closed it: the kernel calls it root's */
		return -ENOENT;
	*ret_uid = found->idiag_uid;
	return 0;
}

int peer_uid(int fd, uint32_t *ret_uid)
{
	struct sockaddr_storage ours = {}, theirs = {};
	socklen_t n = sizeof(ours), m = sizeof(theirs);
	_cleanup_close_ int netlink = -1;
	int r;

	if (getsockname(fd, (struct sockaddr *)&ours, &n) < 0 || getpeername(fd, (struct sockaddr *)&theirs, &m) < 0)
		return -errno;
	if (!peer_is_loopback((struct sockaddr *)&theirs))
		return -ENOENT;
	netlink = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (netlink < 0)
		return -errno;
	r = ask(netlink, &theirs, &ours);
	return r < 0 ? r : take_answer(netlink, ret_uid);
}
