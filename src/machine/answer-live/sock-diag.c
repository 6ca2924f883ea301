#include "machine/answer-live/sock-diag.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/data/cleanup.h"

#define MESSAGE_BYTES (64 * 1024)

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

int sock_diag_ask(const struct nlmsghdr *question, sock_diag_look look, void *state)
{
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
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
