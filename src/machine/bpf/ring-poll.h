/* The flight recorder finds out here what a thread polls (machine/events/poll.h). */
#pragma once

#include "machine/bpf/ring-waits.h"

#define TCP_ESTABLISHED	 1
#define TCP_CLOSE	 7
#define TCP_LISTEN	 10
#define IPPROTO_TCP	 6
#define OPENED_BY_CONNECT (-1) /* inet_bind_bucket.fastreuse: connect(2) has chosen the port */
#define POLLED_MOST	 3     /* files of poll() that are looked at */
#define SELECTED_WORDS	 4     /* of 64 descriptors; the last one is not read */

/* One entry of the array that poll(2) gets. */
struct polled_file {
	s32 fd;
	u32 events;
};

struct polled {
	u32 n; /* files of poll() or select(); of an epoll's the kernel has a list */
	struct polled_file files[POLLED_MOST + 1];
	u32 key; /* the same thread that polls the same again has the same one */
	struct poll_wait wait;
	u64 connection, inode; /* the last one that this side opened */
};

/* Is it connected, and by this side? Nothing is said of a pair of sockets, by which mostly a process wakes itself. */
static __always_inline void count_socket(struct polled *p, struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sk = BPF_CORE_READ(socket, sk);
	u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
	u8 state = BPF_CORE_READ(sk, __sk_common.skc_state);
	bool opened = false, served = state == TCP_LISTEN;

	if (family == AF_UNIX) {
		struct unix_sock *own = (void *)sk, *peer = (void *)BPF_CORE_READ(own, peer);

		served |= BPF_CORE_READ(own, addr) != NULL;
		opened = !served && peer && BPF_CORE_READ(peer, addr) != NULL;
	} else if (family != AF_NETLINK && BPF_CORE_READ(sk, sk_protocol) != IPPROTO_TCP) {
		opened = state == TCP_ESTABLISHED;
		served = !opened;
	} else if (family != AF_NETLINK && state != TCP_LISTEN && state != TCP_CLOSE) {
		struct inet_connection_sock *icsk = (void *)sk;

		opened = BPF_CORE_READ(icsk, icsk_bind_hash, fastreuse) == OPENED_BY_CONNECT;
		served = !opened;
	}
	p->wait.served += served;
	if (!opened)
		return;
	p->wait.opened++;
	p->wait.call = call_of_sock(sk, family);
	p->connection = (u64)sk;
	p->inode = (u64)BPF_CORE_READ(file, f_inode);
}

static __always_inline void count_file(struct polled *p, struct file *file)
{
	p->wait.files++;
	if ((BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) == S_IFSOCK)
		count_socket(p, file);
}

static __always_inline struct file *file_of(struct task_struct *task, u32 number)
{
	struct files_struct *files = task->files;
	struct file *file = NULL;

	if (files && number < files->fdt->max_fds)
		bpf_probe_read_kernel(&file, sizeof(file), files->fdt->fd + number);
	return file;
}

static __always_inline void read_poll(u64 user, u32 n, struct polled *p)
{
	u32 size = n * sizeof(*p->files);

	if (!n || n > POLLED_MOST)
		return;
	asm volatile("%0 &= 31" : "+r"(size)); /* the verifier forgets what n is */
	if (bpf_probe_read_user(p->files, size, (void *)user) < 0)
		return;
	p->n = n;
	p->key = (p->files[0].fd * 31 + p->files[1].fd) * 31 + p->files[2].fd + n;
}

/* One descriptor of select(2) at most is looked at; who waits for several is taken for an event loop. */
static __noinline int read_select(u32 n, u64 to_read, u64 to_write, struct polled *p)
{
	u64 sets[2][SELECTED_WORDS] = {}, word = 0;
	u32 size = (n + 63) / 64 * 8, base = 0, words = 0;

	if (!size || size >= sizeof(sets[0]))
		return 0;
	asm volatile("%0 &= 31" : "+r"(size));
	if ((to_read && bpf_probe_read_user(sets[0], size, (void *)to_read) < 0) || (to_write && bpf_probe_read_user(sets[1], size, (void *)to_write) < 0))
		return 0;
	for (u32 i = 0; i < SELECTED_WORDS; i++)
		if (sets[0][i] | sets[1][i]) {
			word = sets[0][i] | sets[1][i];
			base = i * 64;
			words++;
		}
	if (words != 1 || word & (word - 1))
		return 0;
	for (u32 step = 32; step; step /= 2)
		if (word >> step) {
			word >>= step;
			base += step;
		}
	p->n = 1;
	p->files[0].fd = base;
	p->key = base;
	return 0;
}

static __always_inline void count_polled(struct task_struct *task, struct polled *p)
{
	for (u32 i = 0; i < POLLED_MOST; i++) {
		struct file *file = i < p->n && p->files[i].fd >= 0 ? file_of(task, p->files[i].fd) : NULL;

		if (file)
			count_file(p, file);
	}
}

/* The files of an epoll lie in a red-black tree; of at most seven they mostly fill three levels. */
static __noinline int count_awaited(struct task_struct *task, u32 number, struct polled *p)
{
	struct file *file = file_of(task, number);
	struct eventpoll *loop = file ? BPF_CORE_READ(file, private_data) : NULL;
	struct rb_node *nodes[POLL_FILES_MOST] = {}; /* before 6.2 a chain of calls has hardly stack enough for these */

	if (!loop)
		return 0;
	nodes[0] = BPF_CORE_READ(loop, rbr.rb_root.rb_node);
#pragma clang loop unroll(full)
	for (int i = 0; i < POLL_FILES_MOST; i++) {
		struct rb_node *left = nodes[i] ? BPF_CORE_READ(nodes[i], rb_left) : NULL, *right = nodes[i] ? BPF_CORE_READ(nodes[i], rb_right) : NULL;

		if (2 * i + 2 < POLL_FILES_MOST) {
			nodes[2 * i + 1] = left;
			nodes[2 * i + 2] = right;
		} else if (left || right) {
			p->wait.files = POLL_FILES_MOST + 1;
		}
	}
	for (int i = 0; i < POLL_FILES_MOST && p->wait.files <= POLL_FILES_MOST; i++) {
		struct epitem *item = (void *)nodes[i] - bpf_core_field_offset(struct epitem, rbn);

		if (nodes[i])
			count_file(p, BPF_CORE_READ(item, ffd.file));
	}
	return 0;
}

static __always_inline bool is_epoll(s16 call)
{
	return call == CALL_NUMBER_EPOLL || call == CALL_NUMBER_EPOLL_P || call == CALL_NUMBER_EPOLL_P2;
}

static __always_inline void read_polled(const struct pt_regs *regs, s16 call, struct polled *p)
{
#if defined(__TARGET_ARCH_arm64)
	u64 first = regs->regs[0], second = regs->regs[1], third = regs->regs[2];
#else
	u64 first = regs->di, second = regs->si, third = regs->dx;
#endif
	if (is_epoll(call))
		p->key = first;
	else if (call == CALL_NUMBER_POLL || call == CALL_NUMBER_PPOLL)
		read_poll(first, second, p);
	else if (call == CALL_NUMBER_SELECT || call == CALL_NUMBER_PSELECT)
		read_select(first, second, third, p);
}

/* TCP counts what goes over a connection; of others it is known only whether the other end has not yet read it. */
static __always_inline bool was_asked(struct ring_thread *t)
{
	struct tcp_sock *tcp = (void *)t->polled;
	struct sock *sk = (void *)t->polled;
	u64 received;

	if (t->call == CALL_LOCAL_SOCKET)
		return BPF_CORE_READ(sk, sk_wmem_alloc.refs.counter) > 1;
	if (BPF_CORE_READ(sk, sk_protocol) != IPPROTO_TCP)
		return false;
	received = BPF_CORE_READ(tcp, bytes_received);
	return poll_note(&t->exchanged, t->polled, BPF_CORE_READ(tcp, write_seq), received, received != 0);
}

/* Kept with the thread as the file of a read is. */
static __noinline int look_at_polled(struct task_struct *task, struct ring_thread *t, const struct departure *d, struct polled *p)
{
	if (is_epoll(d->syscall))
		count_awaited(task, p->key, p);
	else
		count_polled(task, p);
	t->file = 0;
	t->inode = p->inode;
	t->call = p->wait.call;
	t->polled = poll_is_of_one(&p->wait) ? p->connection : 0;
	t->polls_more = p->wait.files > 1;
	t->file_place = d->place;
	t->file_number = p->key;
	t->file_seen = t->since;
	return 0;
}

/* Only while the sleeper is current: its memory is read. */
static __noinline int find_polled(struct task_struct *task, struct ring_thread *t, struct departure *d)
{
	struct polled p = {};

	read_polled(registers_of(task), d->syscall, &p);
	if (unlikely(t->file_place != d->place || t->file_number != p.key || t->since - t->file_seen >= FILE_FRESH))
		look_at_polled(task, t, d, &p);
	if (!t->polled || (t->polls_more && !was_asked(t)))
		return 0;
	d->facts.call = t->call;
	d->object = t->inode;
	return 0;
}
