#include "machine/answer-live/other-end.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/file.h"
#include "lib/data/str.h"
#include "lib/rights/outside.h"
#include "machine/answer-live/live-thread.h"
#include "machine/answer-live/sock-diag.h"
#include "machine/answer-live/tcp-delay.h"

#define MQUEUE_MAGIC	0x19800202 /* ipc/mqueue.c */
#define MQUEUE_SIZE	80	   /* ... FILENT_SIZE: as long as each of its files is said to be */
#define LOOKS_MAX	16	   /* at descriptors of one process that lead to the same */
#define TCP_LISTENS	10
#define TCP_CONNECTS	2
#define LISTENERS_STATE (1u << TCP_LISTENS)
#define ADDRESS_LENGTH	(32 + 1 + 4) /* hex digits of IPv6, colon, port */

/* --- who has it open --- */

/* "flags:	0100002": O_RDONLY, O_WRONLY or O_RDWR; -1 = not known. */
static int access_of(const char *proc_root, unsigned pid, unsigned fd)
{
	unsigned flags;

	LINES_EACH(line, fopen(STR_TEXT(512, "%s/%u/fdinfo/%u", proc_root, pid, fd), "re"))
		if (sscanf(line.text, "flags: %o", &flags) == 1)
			return (int)(flags & O_ACCMODE);
	return -1;
}

struct wanted {
	const char *link;
	unsigned but;	 /* this process is left out */
	int not_access; /* who has it open only for this does not count; -1 = everybody does */
	const char *note; /* a line that its fdinfo must have; NULL = none */
};

/* proc(5), fdinfo. */
static bool has_note(const char *proc_root, unsigned pid, unsigned fd, const char *note)
{
	LINES_EACH(line, fopen(STR_TEXT(512, "%s/%u/fdinfo/%u", proc_root, pid, fd), "re"))
		if (strcmp(line.text, note) == 0)
			return true;
	return false;
}

static bool is_wanted(const struct open_files *files, const struct wanted *w, unsigned pid, unsigned fd)
{
	return (w->not_access < 0 || access_of(files->proc_root, pid, fd) != w->not_access) && (!w->note || has_note(files->proc_root, pid, fd, w->note));
}

/* True: the process that is left out has it open itself, too. */
static bool find_owners(struct open_files *files, const struct wanted *w, struct other_end *ret)
{
	unsigned pid, fd, last = 0, looks = 0;
	bool own = false;

	for (size_t at = 0; open_files_next(files, w->link, &at, &pid, &fd);) {
		bool full = pid != w->but && ret->n == OTHER_ENDS_MAX, wanted = !full && is_wanted(files, w, pid, fd);

		looks = pid == last ? looks + 1 : 1;
		last = pid;
		if (wanted && pid == w->but)
			own = true;
		else if (wanted)
			ret->pids[ret->n++] = pid;
		if (full || wanted || looks == LOOKS_MAX)
			open_files_skip_process(files, &at);
	}
	return own;
}

static void find_socket_owners(struct open_files *files, unsigned but, unsigned long inode, struct other_end *ret)
{
	char link[OPEN_FILES_LINK];

	snprintf(link, sizeof(link), "socket:[%lu]", inode);
	find_owners(files, &(struct wanted){link, but, -1, NULL}, ret);
}

/* --- TCP --- */

/* "0100007F:1538" as IPv6 would have it, so that both tables compare. */
static void widen(const char *address, char *buf)
{
	const char *colon = strchr(address, ':');

	if (colon && colon - address == 8)
		snprintf(buf, ADDRESS_LENGTH + 1, "0000000000000000FFFF0000%s", address);
	else
		snprintf(buf, ADDRESS_LENGTH + 1, "%s", address);
}

struct connection {
	char local[ADDRESS_LENGTH + 1], remote[ADDRESS_LENGTH + 1];
	unsigned state, unread; /* bytes that wait for its process */
	unsigned long inode;
};

/* "   0: 0100007F:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000   105        0 15804 1 ..." */
static bool parse_connection(const char *line, struct connection *c)
{
	char local[ADDRESS_LENGTH + 1], remote[ADDRESS_LENGTH + 1];

	if (sscanf(line, " %*u: %37s %37s %x %*x:%x %*s %*s %*u %*u %lu", local, remote, &c->state, &c->unread, &c->inode) != 5)
		return false;
	widen(local, c->local);
	widen(remote, c->remote);
	return true;
}

typedef bool (*connection_test)(const struct connection *c, const void *data);

/* /proc/PID/net of a protocol, for IPv4 and IPv6. */
static const char *const tcp_tables[2] = {"tcp", "tcp6"}, *const udp_tables[2] = {"udp", "udp6"};

/* The first of those that the process's network namespace has for which `test` holds. */
static bool find_connection(const char *proc_root, unsigned pid, const char *const tables[2], connection_test test, const void *data,
			    struct connection *ret)
{
	for (size_t i = 0; i < 2; i++)
		LINES_EACH(line, fopen(STR_TEXT(300, "%s/%u/net/%s", proc_root, pid, tables[i]), "re"))
			if (parse_connection(line.text, ret) && test(ret, data))
				return true;
	return false;
}

static bool has_inode(const struct connection *c, const void *data)
{
	return c->inode == *(const unsigned long *)data;
}

static bool is_opposite(const struct connection *c, const void *data)
{
	const struct connection *mine = data;

	return strcmp(c->local, mine->remote) == 0 && strcmp(c->remote, mine->local) == 0;
}

/* Of its port, at its address or at all of them. */
static bool is_at_place(const struct connection *c, const void *data)
{
	static const char any[] = "00000000000000000000000000000000", any_ipv4[] = "0000000000000000FFFF000000000000";
	const struct connection *mine = data;

	return strcmp(c->local + 32, mine->remote + 32) == 0 &&
	       (strncmp(c->local, mine->remote, 32) == 0 || strncmp(c->local, any, 32) == 0 || strncmp(c->local, any_ipv4, 32) == 0);
}

static bool listens_there(const struct connection *c, const void *data)
{
	return c->state == TCP_LISTENS && is_at_place(c, data);
}

/* The kernel prints each 32 bits of an address as the machine's own number. */
static void write_place(const char *address, char *buf, size_t size)
{
	static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
	unsigned words[4], port;
	unsigned char bytes[16];
	char text[INET6_ADDRSTRLEN] = "?";

	if (sscanf(address, "%8x%8x%8x%8x:%x", &words[0], &words[1], &words[2], &words[3], &port) != 5)
		return;
	memcpy(bytes, words, sizeof(bytes));
	if (memcmp(bytes, mapped, sizeof(mapped)) == 0) {
		inet_ntop(AF_INET, bytes + sizeof(mapped), text, sizeof(text));
		snprintf(buf, size, "%s:%u", text, port);
	} else {
		inet_ntop(AF_INET6, bytes, text, sizeof(text));
		snprintf(buf, size, "[%s]:%u", text, port);
	}
}

struct tcp_question {
	struct nlmsghdr header;
	struct inet_diag_req_v2 request;
};

/* "0100007F:1538": the address as the kernel has it in memory, the port in its numbers. */
static bool parse_address(const char *text, __be32 *ret_words, __be16 *ret_port)
{
	unsigned words[4], port;

	if (sscanf(text, "%8x%8x%8x%8x:%x", &words[0], &words[1], &words[2], &words[3], &port) != 5)
		return false;
	memcpy(ret_words, words, sizeof(words));
	*ret_port = htons((uint16_t)port);
	return true;
}

static void make_tcp_question(const struct connection *c, bool ipv4, struct tcp_question *q)
{
	struct inet_diag_sockid *id = &q->request.id;

	*q = (struct tcp_question){.header = {.nlmsg_len = sizeof(*q), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
				   .request = {.sdiag_family = ipv4 ? AF_INET : AF_INET6, .sdiag_protocol = IPPROTO_TCP,
					       .idiag_ext = 1 << (INET_DIAG_INFO - 1), .idiag_states = ~0u,
					       .id.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}};
	if (!parse_address(c->local, id->idiag_src, &id->idiag_sport) || !parse_address(c->remote, id->idiag_dst, &id->idiag_dport))
		q->header.nlmsg_type = NLMSG_NOOP;
	if (ipv4) {
		id->idiag_src[0] = id->idiag_src[3];
		id->idiag_dst[0] = id->idiag_dst[3];
	}
}

struct tcp_answer {
	unsigned long inode;
	struct tcp_info *info;
};

/* 1 = it is that socket's. */
static int take_tcp(void *state, const struct nlmsghdr *answer)
{
	const struct tcp_answer *a = state;

	return ((const struct inet_diag_msg *)NLMSG_DATA(answer))->idiag_inode == a->inode && sock_diag_tcp_info(answer, a->info);
}

/* False: it is of another network namespace, or gone. */
static bool ask_tcp_of(const struct connection *c, bool ipv4, struct tcp_info *ret)
{
	struct tcp_question q;

	make_tcp_question(c, ipv4, &q);
	return q.header.nlmsg_type != NLMSG_NOOP && sock_diag_ask(NETLINK_SOCK_DIAG, &q.header, take_tcp, &(struct tcp_answer){c->inode, ret}) > 0;
}

/* An IPv4 address may be that of an IPv6 socket. */
static bool ask_tcp(const struct connection *c, struct tcp_info *ret)
{
	bool ipv4 = strncmp(c->local, "0000000000000000FFFF0000", 24) == 0;

	return ask_tcp_of(c, ipv4, ret) || (ipv4 && ask_tcp_of(c, false, ret));
}

/* The last that was sent has no answer yet: it was sent after the last that was received. The first request may be sent in the tick of the clock in which it was connected. */
static bool has_no_answer(const struct tcp_info *info)
{
	return info->tcpi_last_data_sent < info->tcpi_last_data_recv || (info->tcpi_bytes_sent && !info->tcpi_bytes_received);
}

/* A client has asked: a server has sent its answer. */
static void find_request(const char *proc_root, unsigned pid, const struct connection *mine, struct other_end *ret)
{
	struct connection here, door;
	struct tcp_info info;

	if (!ask_tcp(mine, &info))
		return;
	memcpy(here.remote, mine->local, sizeof(here.remote));
	ret->serves = find_connection(proc_root, pid, tcp_tables, listens_there, &here, &door);
	if (has_no_answer(&info) && !ret->serves)
		ret->asked_ms = info.tcpi_last_data_sent ?: 1;
	if (ret->serves && info.tcpi_last_data_recv < info.tcpi_last_data_sent)
		ret->owed_ms = info.tcpi_last_data_recv ?: 1;
	ret->retransmits = info.tcpi_retransmits;
	if (mine->state == TCP_CONNECTS) /* again after 1, 3, 7 s ... */
		ret->asked_ms = info.tcpi_retransmits < 8 ? ((1u << info.tcpi_retransmits) - 1) * 1000 : UINT8_MAX * 1000;
	ret->queue_ms = sock_diag_delay(&info) >= TCP_DELAY_LEAST ? sock_diag_delay(&info) / 1000 : 0;
}

static int find_tcp(struct open_files *files, unsigned pid, unsigned long inode, struct other_end *ret)
{
	const char *proc_root = files->proc_root;
	struct connection mine, other;
	struct tcp_info info;

	if (!find_connection(proc_root, pid, tcp_tables, has_inode, &inode, &mine) || mine.state == TCP_LISTENS)
		return -ENOENT;
	ret->kind = END_TCP;
	write_place(mine.remote, ret->place, sizeof(ret->place));
	find_request(proc_root, pid, &mine, ret);
	ret->accepted = find_connection(proc_root, pid, tcp_tables, is_opposite, &mine, &other) && other.inode;
	ret->unread = ret->accepted && other.unread;
	ret->held = ret->accepted && ask_tcp(&other, &info) && sock_diag_holds_back(&info);
	if (ret->accepted || find_connection(proc_root, pid, tcp_tables, listens_there, &mine, &other))
		find_socket_owners(files, pid, other.inode, ret);
	else
		ret->remote = true;
	return 0;
}

/* Only of one that was connected is it known whom it asks. */
static int find_udp(struct open_files *files, unsigned pid, unsigned long inode, struct other_end *ret)
{
	const char *proc_root = files->proc_root;
	struct connection mine, other;

	if (!find_connection(proc_root, pid, udp_tables, has_inode, &inode, &mine) || strcmp(mine.remote + 32, ":0000") == 0)
		return -ENOENT;
	ret->kind = END_UDP;
	ret->accepted = true; /* there is nothing to accept */
	write_place(mine.remote, ret->place, sizeof(ret->place));
	if (find_connection(proc_root, pid, udp_tables, is_opposite, &mine, &other) || find_connection(proc_root, pid, udp_tables, is_at_place, &mine, &other))
		find_socket_owners(files, pid, other.inode, ret);
	else
		ret->remote = true;
	return 0;
}

/* --- local sockets --- */

struct unix_question {
	struct nlmsghdr header;
	struct unix_diag_req request;
};

/* unix(7): a path or, from a zero byte on, an abstract name. n = 0: it has none. */
struct unix_name {
	char bytes[sizeof(((struct sockaddr_un *)0)->sun_path)];
	size_t n;
};

/* What the kernel says of one socket. */
struct unix_answer {
	unsigned inode, peer;
	bool listens;
	struct unix_name name;
	unsigned sent; /* bytes of memory that hold what it sent and its peer has not read */
	unsigned *waiting; /* inodes of the connections that it has not yet accepted; inside the answer */
	size_t n_waiting;
};

static void parse_unix(const struct nlmsghdr *h, struct unix_answer *ret)
{
	const struct unix_diag_msg *m = NLMSG_DATA(h);
	const struct rtattr *a = (const struct rtattr *)(m + 1);
	int left = (int)(h->nlmsg_len - NLMSG_LENGTH(sizeof(*m)));

	*ret = (struct unix_answer){.inode = m->udiag_ino, .listens = m->udiag_state == TCP_LISTENS};
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type == UNIX_DIAG_PEER && RTA_PAYLOAD(a) >= sizeof(ret->peer))
			memcpy(&ret->peer, RTA_DATA(a), sizeof(ret->peer));
		if (a->rta_type == UNIX_DIAG_NAME && RTA_PAYLOAD(a) <= sizeof(ret->name.bytes)) {
			ret->name.n = RTA_PAYLOAD(a);
			memcpy(ret->name.bytes, RTA_DATA(a), ret->name.n);
		}
		if (a->rta_type == UNIX_DIAG_RQLEN && RTA_PAYLOAD(a) >= sizeof(struct unix_diag_rqlen))
			ret->sent = ((const struct unix_diag_rqlen *)RTA_DATA(a))->udiag_wqueue;
		if (a->rta_type == UNIX_DIAG_ICONS) {
			ret->waiting = RTA_DATA(a);
			ret->n_waiting = RTA_PAYLOAD(a) / sizeof(*ret->waiting);
		}
	}
}

typedef bool (*unix_test)(const struct unix_answer *a, const void *data);

struct unix_search {
	unix_test test;
	const void *data;
	struct unix_answer *found;
};

/* 1 = found */
static int look_at_unix(void *state, const struct nlmsghdr *answer)
{
	const struct unix_search *s = state;

	parse_unix(answer, s->found);
	return s->test(s->found, s->data);
}

/* The first socket of this network namespace for which `test` holds. 0 or -errno. */
static int ask_kernel(const struct unix_diag_req *request, bool all, unix_test test, const void *data, struct unix_answer *ret)
{
	const struct unix_question q = {.header = {.nlmsg_len = sizeof(q), .nlmsg_type = SOCK_DIAG_BY_FAMILY,
						   .nlmsg_flags = (__u16)(NLM_F_REQUEST | (all ? NLM_F_DUMP : 0))},
					.request = *request};
	int r = sock_diag_ask(NETLINK_SOCK_DIAG, &q.header, look_at_unix, &(struct unix_search){test, data, ret});

	ret->waiting = NULL;
	return r < 0 ? r : r ? 0 : -ENOENT;
}

static bool any_answer(const struct unix_answer *a, const void *data)
{
	(void)a;
	(void)data;
	return true;
}

static bool keeps_waiting(const struct unix_answer *a, const void *data)
{
	return ANY_WHERE(i, a->n_waiting, a->waiting[i] == *(const unsigned *)data);
}

static int ask_unix(unsigned inode, struct unix_answer *ret)
{
	struct unix_diag_req one = {.sdiag_family = AF_UNIX, .udiag_states = ~0u, .udiag_ino = inode, .udiag_show = UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN | UDIAG_SHOW_NAME,
				    .udiag_cookie = {~0u, ~0u}};

	return ask_kernel(&one, false, any_answer, NULL, ret);
}

static bool find_socket(const char *proc_root, unsigned pid, unsigned long long fd, unsigned long *ret_inode)
{
	char link[OPEN_FILES_LINK];

	return live_fd_link(proc_root, pid, fd, link, sizeof(link)) && sscanf(link, "socket:[%lu]", ret_inode) == 1;
}

bool other_end_has_unread(const char *proc_root, unsigned pid, unsigned long long fd)
{
	struct unix_answer answer = {};
	unsigned long inode;

	return find_socket(proc_root, pid, fd, &inode) && ask_unix((unsigned)inode, &answer) == 0 &&
	       answer.peer && answer.sent;
}

bool other_end_listens(const char *proc_root, unsigned pid, unsigned long long fd)
{
	struct unix_answer answer = {};
	struct connection mine;
	unsigned long inode;

	if (!find_socket(proc_root, pid, fd, &inode))
		return false;
	if (find_connection(proc_root, pid, tcp_tables, has_inode, &inode, &mine))
		return mine.state == TCP_LISTENS;
	return ask_unix((unsigned)inode, &answer) == 0 && answer.listens;
}

static bool has_name(const struct unix_answer *a, const void *data)
{
	const struct unix_name *name = data;

	return a->name.n == name->n && memcmp(a->name.bytes, name->bytes, name->n) == 0;
}

/* A socket that accept(2) has made bears the name of the one that listens; who connects has no name, or one of its own. */
static bool was_connected_to(const struct unix_answer *mine)
{
	const struct unix_diag_req listeners = {.sdiag_family = AF_UNIX, .udiag_states = LISTENERS_STATE, .udiag_show = UDIAG_SHOW_NAME};
	struct unix_answer other;

	return mine->peer && mine->name.n && ask_unix(mine->peer, &other) == 0 &&
	       (!other.name.n || ask_kernel(&listeners, true, has_name, &mine->name, &other) == 0);
}

static int find_local(struct open_files *files, unsigned pid, unsigned inode, struct other_end *ret)
{
	struct unix_diag_req listeners = {.sdiag_family = AF_UNIX, .udiag_states = LISTENERS_STATE, .udiag_show = UDIAG_SHOW_ICONS};
	struct unix_answer answer = {};
	int r = ask_unix(inode, &answer);

	if (r < 0)
		return r == -ENOMEM ? r : -ENOENT;
	ret->kind = END_LOCAL_SOCKET;
	ret->accepted = answer.peer != 0;
	ret->unread = ret->accepted && answer.sent;
	ret->serves = was_connected_to(&answer);
	if (!answer.peer && ask_kernel(&listeners, true, keeps_waiting, &inode, &answer) == 0)
		answer.peer = answer.inode;
	if (!answer.peer)
		return -ENOENT;
	find_socket_owners(files, pid, answer.peer, ret);
	return 0;
}

/* --- all of them --- */

/* Whether it has a name or not. */
static bool is_pipe(const char *proc_root, unsigned pid, unsigned fd)
{
	struct stat st;

	return outside_stat(AT_FDCWD, STR_TEXT(512, "%s/%u/fd/%u", proc_root, pid, fd), 0, &st) == 0 && S_ISFIFO(st.st_mode);
}

/* mq_overview(7): a descriptor of a file in a file system of its own. */
static bool is_queue(const char *proc_root, unsigned pid, unsigned fd)
{
	char path[512];
	struct statfs fs;
	struct stat st;

	snprintf(path, sizeof(path), "%s/%u/fd/%u", proc_root, pid, fd);
	return outside_stat(AT_FDCWD, path, 0, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == MQUEUE_SIZE && statfs(path, &fs) == 0 && fs.f_type == MQUEUE_MAGIC;
}

static void find_opposite(struct open_files *files, unsigned pid, unsigned fd, const char *link, struct other_end *ret)
{
	int access = access_of(files->proc_root, pid, fd);

	ret->own = find_owners(files, &(struct wanted){link, pid, access == O_RDWR ? -1 : access, NULL}, ret);
	ret->both_ways = ret->kind == END_PIPE && access == O_RDWR;
}

/* "/dev/pts/3" is the other side of the master whose fdinfo has "tty-index:	3". */
static bool find_terminal(struct open_files *files, unsigned pid, const char *link, struct other_end *ret)
{
	unsigned index;
	char note[40];

	if (sscanf(link, "/dev/pts/%u", &index) != 1)
		return false;
	snprintf(note, sizeof(note), "tty-index:\t%u", index);
	ret->kind = END_TERMINAL;
	find_owners(files, &(struct wanted){"/dev/ptmx", pid, -1, note}, ret);
	if (!ret->n)
		find_owners(files, &(struct wanted){"/dev/pts/ptmx", pid, -1, note}, ret);
	return ret->n > 0;
}

int other_end_find(struct open_files *files, unsigned pid, unsigned long long fd, struct other_end *ret)
{
	const char *proc_root = files->proc_root;
	struct other_end end = {.kind = END_PIPE, .accepted = true};
	char link[OPEN_FILES_LINK];
	unsigned number = (unsigned)fd;
	unsigned long inode;
	int r = -ENOENT;

	if (number != fd || !live_fd_link(proc_root, pid, number, link, sizeof(link)))
		return -ENOENT;
	if (is_pipe(proc_root, pid, number) || is_queue(proc_root, pid, number)) {
		end.kind = is_pipe(proc_root, pid, number) ? END_PIPE : END_QUEUE;
		find_opposite(files, pid, number, link, &end);
		r = 0;
	} else if (find_terminal(files, pid, link, &end)) {
		r = 0;
	} else if (sscanf(link, "socket:[%lu]", &inode) == 1) {
		r = find_tcp(files, pid, inode, &end);
		r = r == -ENOENT ? find_udp(files, pid, inode, &end) : r;
		if (r == -ENOENT)
			r = find_local(files, pid, (unsigned)inode, &end);
	}
	if (r == 0)
		*ret = end;
	return r;
}

bool other_end_has(const struct other_end *e, unsigned pid)
{
	return ANY_WHERE(i, e->n, e->pids[i] == pid);
}

unsigned other_end_socket_owner(struct open_files *files, unsigned long inode)
{
	struct other_end owners = {};

	find_socket_owners(files, 0, inode, &owners);
	return owners.n ? owners.pids[0] : 0;
}

void other_end_scanners(struct open_files *files, unsigned but, struct other_end *ret)
{
	*ret = (struct other_end){.accepted = true};
	find_owners(files, &(struct wanted){"anon_inode:[fanotify]", but, -1, NULL}, ret);
}

void other_end_fuse_servers(struct open_files *files, unsigned but, const struct fuse_mount *mount, struct other_end *ret)
{
	struct other_end all = {};

	*ret = (struct other_end){.accepted = true};
	find_owners(files, &(struct wanted){"/dev/fuse", but, -1, NULL}, &all);
	for (size_t i = 0; i < all.n; i++)
		if (all.n == 1 || !mount || fuse_mount_is_served_by(files->proc_root, mount, all.pids[i]))
			ret->pids[ret->n++] = all.pids[i];
}
