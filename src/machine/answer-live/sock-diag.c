#include "machine/answer-live/sock-diag.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/data/cleanup.h"

#define MESSAGE_BYTES (64 * 1024)
#define DELAY_TIMES   3 /* the round trip, of its minimum */

/* *ret_more = another message follows. */
static int look_at_message(const char *bytes, ssize_t n, sock_diag_look look, void *state, bool *ret_more)
{
	unsigned left = (unsigned)n;
	int r = 0;

	for (const struct nlmsghdr *h = (const void *)bytes; r == 0 && *ret_more && NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
		*ret_more = h->nlmsg_flags & NLM_F_MULTI && h->nlmsg_type != NLMSG_DONE;
		if (h->nlmsg_type == NLMSG_ERROR)
			r = -EIO;
		else if (h->nlmsg_type != NLMSG_DONE)
			r = look(state, h);
	}
	return r;
}

int sock_diag_ask(int protocol, const struct nlmsghdr *question, sock_diag_look look, void *state)
{
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	_cleanup_free_ char *bytes = malloc(MESSAGE_BYTES);
	bool more = true;
	int r = 0;

	if (!bytes)
		return -ENOMEM;
	if (fd < 0 || send(fd, question, question->nlmsg_len, 0) < 0)
		return -errno;
	while (r == 0 && more) {
		ssize_t n = recv(fd, bytes, MESSAGE_BYTES, 0);

		r = n > 0 ? look_at_message(bytes, n, look, state, &more) : -EIO;
	}
	return r;
}

int sock_diag_tcp(uint8_t family, uint32_t states, sock_diag_look look, void *state)
{
	const struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 request;
	} q = {.header = {.nlmsg_len = sizeof(q), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
	       .request = {.sdiag_family = family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = states, .idiag_ext = states == SOCK_DIAG_ESTABLISHED ? 1 << (INET_DIAG_INFO - 1) : 0}};

	return sock_diag_ask(NETLINK_SOCK_DIAG, &q.header, look, state);
}

bool sock_diag_tcp_info(const struct nlmsghdr *answer, struct tcp_info *ret)
{
	const struct inet_diag_msg *m = NLMSG_DATA(answer);
	unsigned left = answer->nlmsg_len - (unsigned)NLMSG_LENGTH(sizeof(*m));

	for (const struct rtattr *a = (const void *)(m + 1); RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == INET_DIAG_INFO) {
			size_t n = RTA_PAYLOAD(a) < sizeof(*ret) ? RTA_PAYLOAD(a) : sizeof(*ret);

			memset(ret, 0, sizeof(*ret));
			memcpy(ret, RTA_DATA(a), n);
			return true;
		}
	return false;
}

uint32_t sock_diag_delay(const struct tcp_info *info)
{
	return info->tcpi_min_rtt && info->tcpi_rtt > DELAY_TIMES * info->tcpi_min_rtt ? info->tcpi_rtt - info->tcpi_min_rtt : 0;
}

bool sock_diag_holds_back(const struct tcp_info *info)
{
	return info->tcpi_unacked && info->tcpi_unacked < info->tcpi_snd_cwnd && info->tcpi_notsent_bytes && info->tcpi_notsent_bytes < info->tcpi_snd_mss;
}
