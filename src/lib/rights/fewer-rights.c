#include "lib/rights/fewer-rights.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/rights/call-filter.h"

#ifndef CAP_BPF
#define CAP_BPF 39
#endif

/* --- paths (linux/landlock.h, of which older systems have less) --- */

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule	    445
#define SYS_landlock_restrict_self  446
#endif
#define LANDLOCK_VERSION    1 /* a flag */
#define LANDLOCK_BELOW_PATH 1 /* a kind of rule */
#define LANDLOCK_READ	    (1ull << 2)
#define LANDLOCK_READ_DIR   (1ull << 3)
#define LANDLOCK_CHANGE	    (1ull << 1 | 1ull << 14) /* write, truncate */
#define LANDLOCK_CHANGE_DIR (1ull << 4 | 1ull << 5 | 1ull << 7 | 1ull << 8) /* remove folders and files, make folders and files */

struct landlock_rules {
	uint64_t files; /* what is forbidden where no rule allows it */
};

struct landlock_path {
	uint64_t allowed;
	int32_t folder;
} __attribute__((packed));

/* How many kinds of access to files each version knows: one bit each. */
static uint64_t accesses_of(int version)
{
	static const unsigned known[] = {0, 13, 14, 15, 15, 16};
	size_t last = ARRAY_SIZE(known) - 1;

	return (1ull << known[(size_t)version < last ? (size_t)version : last]) - 1;
}

static int allow(int rules, const char *path, uint64_t to_file, uint64_t to_folder)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	struct landlock_path rule = {to_file, fd};
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		rule.allowed |= to_folder;
	return syscall(SYS_landlock_add_rule, rules, LANDLOCK_BELOW_PATH, &rule, 0) < 0 ? -errno : 0;
}

static int allow_paths(int rules, const struct fewer_rights *to, uint64_t known)
{
	const uint64_t change = (LANDLOCK_READ | LANDLOCK_CHANGE) & known, change_folder = (LANDLOCK_READ_DIR | LANDLOCK_CHANGE_DIR) & known;
	int r = 0;

	for (size_t i = 0; r == 0 && i < to->n_readable; i++)
		r = allow(rules, to->readable[i], LANDLOCK_READ, LANDLOCK_READ_DIR);
	for (size_t i = 0; r == 0 && i < to->n_writable; i++)
		r = allow(rules, to->writable[i], change, change_folder);
	return r;
}

int fewer_rights_restrict_paths(const struct fewer_rights *to)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION);
	struct landlock_rules forbidden = {version > 0 ? accesses_of((int)version) : 0};
	_cleanup_close_ int rules = -1;
	int r;

	if (version <= 0)
		return 0;
	rules = (int)syscall(SYS_landlock_create_ruleset, &forbidden, sizeof(forbidden), 0);
	if (rules < 0)
		return -errno;
	r = allow_paths(rules, to, forbidden.files);
	if (r == 0 && syscall(SYS_landlock_restrict_self, rules, 0) < 0)
		r = -errno;
	return r;
}

/* --- ids and capabilities --- */

/* Signals ask for the real and the saved user, which stay root's. */
static int take_ids(const struct fewer_rights *to)
{
	const gid_t nobody = FEWER_RIGHTS_NOBODY;

	if (to->uid == 0)
		return setgroups(0, NULL) < 0 && errno != EPERM ? -errno : 0;
	if (setgroups(0, NULL) < 0 || setresgid(nobody, to->gid, nobody) < 0 || setresuid((uid_t)-1, to->uid, (uid_t)-1) < 0)
		return errno == EPERM || errno == EINVAL ? 0 : -errno;
	return 0;
}

static void want(struct __user_cap_data_struct *sets, const struct __user_cap_data_struct *have, unsigned capability)
{
	uint32_t bit = 1u << capability % 32;

	sets[capability / 32].permitted |= bit & have[capability / 32].permitted;
	sets[capability / 32].effective |= bit & have[capability / 32].permitted;
}

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#define ANSWERS ((unsigned)1 << 31) /* a process that answers or works for another user */
#define SHOWS	(DAEMON_RECORDS | DAEMON_SERVES)

/* packaging/whyslow.service.in says what each is for; tests/rights compares. */
static const struct {
	unsigned capability, work;
} capabilities[] = {
	{CAP_BPF, SHOWS | WORK_READS_MAPS},    {CAP_PERFMON, SHOWS},
	{CAP_SYS_PTRACE, SHOWS | WORK_HOLDS},  {CAP_DAC_READ_SEARCH, SHOWS | ANSWERS},
	{CAP_IPC_LOCK, SHOWS | WORK_HOLDS},    {CAP_SYS_NICE, SHOWS | WORK_HOLDS | WORK_WRITES},
	{CAP_SYSLOG, SHOWS},		       {CAP_SYS_RESOURCE, SHOWS | WORK_HOLDS},
	{CAP_SETUID, SHOWS},		       {CAP_SETGID, SHOWS},
	{CAP_DAC_OVERRIDE, DAEMON_SHIPS},      {CAP_NET_BIND_SERVICE, DAEMON_SERVES | DAEMON_RECEIVES},
};

/* A program that is started gets no capability that is not in the bounding set. */
static void bound_capabilities(const struct __user_cap_data_struct *kept)
{
	for (unsigned capability = 0; capability < 64; capability++)
		if (!(kept[capability / 32].permitted & 1u << capability % 32) && prctl(PR_CAPBSET_READ, capability) == 1)
			(void)prctl(PR_CAPBSET_DROP, capability); /* without CAP_SETPCAP it stays there: no new privileges come of it */
}

int fewer_rights_keep_capabilities(unsigned work)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3] = {}, kept[_LINUX_CAPABILITY_U32S_3] = {};

	if (syscall(SYS_capget, &header, have) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++)
		if (capabilities[i].work & work)
			want(kept, have, capabilities[i].capability);
	if (work & SHOWS && prctl(PR_CAPBSET_READ, CAP_BPF) < 0) /* before Linux 5.8 */
		want(kept, have, CAP_SYS_ADMIN);
	if (!(work & ANSWERS)) /* they execute nothing */
		bound_capabilities(kept);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, kept) < 0 ? -errno : 0;
}

/* --- system calls --- */

#define NAMESPACES                                                                                                        \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

#define ALLOW_VALUE(value) IF_CALL(value, 1), ALLOW
/* bpf(), with the commands that read what is open */
#define ALLOW_BPF_READS                                                                                                   \
	IF_CALL(SYS_bpf, 10), LOAD(FIELD(args)), ALLOW_VALUE(BPF_MAP_LOOKUP_ELEM), ALLOW_VALUE(BPF_MAP_GET_NEXT_KEY),             \
		ALLOW_VALUE(BPF_OBJ_GET_INFO_BY_FD), ALLOW_VALUE(BPF_ITER_CREATE), REFUSE

static const struct sock_filter begin[] = {FILTER_BEGIN};
/* An unknown call is one that this kernel does not have: libraries then take the older one. */
static const struct sock_filter end[] = {RETURN(SECCOMP_RET_ERRNO | ENOSYS)};

static const struct sock_filter reads[] = {
	/* files */
	ALLOW_CALL(SYS_read),
	ALLOW_CALL(SYS_readv),
	ALLOW_CALL(SYS_pread64),
	ALLOW_CALL(SYS_write),
	ALLOW_CALL(SYS_writev),
	ALLOW_CALL(SYS_pwrite64),
	ALLOW_CALL(SYS_lseek),
	ALLOW_CALL(SYS_openat),
	ALLOW_CALL(SYS_close),
	ALLOW_CALL(SYS_fstat),
	ALLOW_CALL(SYS_newfstatat),
	ALLOW_CALL(SYS_statx),
	ALLOW_CALL(SYS_statfs),
	ALLOW_CALL(SYS_fstatfs),
	ALLOW_CALL(SYS_faccessat),
#ifdef SYS_faccessat2
	ALLOW_CALL(SYS_faccessat2),
#endif
	ALLOW_CALL(SYS_readlinkat),
	ALLOW_CALL(SYS_getdents64),
	ALLOW_CALL(SYS_getcwd),
	ALLOW_CALL(SYS_fcntl),
	ALLOW_CALL(SYS_flock),
	ALLOW_CALL(SYS_fsync),
	ALLOW_CALL(SYS_fdatasync),
	ALLOW_CALL(SYS_ftruncate),
	ALLOW_CALL(SYS_fadvise64),
	ALLOW_CALL(SYS_memfd_create),
	ALLOW_CALL(SYS_dup),
	ALLOW_CALL(SYS_dup3),
	ALLOW_CALL(SYS_pipe2),
	ALLOW_CALL(SYS_eventfd2),
	ALLOW_ONE_OF(SYS_ioctl, 1, TCGETS, TIOCGWINSZ),
#ifdef SYS_open /* x86-64 has older names, too */
	ALLOW_CALL(SYS_open),
	ALLOW_CALL(SYS_stat),
	ALLOW_CALL(SYS_lstat),
	ALLOW_CALL(SYS_access),
	ALLOW_CALL(SYS_readlink),
	ALLOW_CALL(SYS_dup2),
	ALLOW_CALL(SYS_pipe),
	ALLOW_CALL(SYS_poll),
	ALLOW_CALL(SYS_select),
	ALLOW_CALL(SYS_time),
#endif
	/* memory */
	ALLOW_CALL(SYS_brk),
	ALLOW_CALL(SYS_mmap),
	ALLOW_CALL(SYS_munmap),
	ALLOW_CALL(SYS_mremap),
	ALLOW_CALL(SYS_mprotect),
	ALLOW_CALL(SYS_madvise),
	/* threads, processes, time */
	ALLOW_CALL(SYS_futex),
	ALLOW_CALL(SYS_set_robust_list),
	ALLOW_CALL(SYS_set_tid_address),
#ifdef SYS_rseq
	ALLOW_CALL(SYS_rseq),
#endif
	ALLOW_WITHOUT(SYS_clone, 0, NAMESPACES),
	ALLOW_CALL(SYS_wait4),
	ALLOW_CALL(SYS_exit),
	ALLOW_CALL(SYS_exit_group),
	ALLOW_CALL(SYS_getpid),
	ALLOW_CALL(SYS_gettid),
	ALLOW_CALL(SYS_getppid),
	ALLOW_CALL(SYS_getuid),
	ALLOW_CALL(SYS_geteuid),
	ALLOW_CALL(SYS_getgid),
	ALLOW_CALL(SYS_getegid),
	ALLOW_CALL(SYS_getpriority),
	ALLOW_CALL(SYS_setpriority),
	ALLOW_CALL(SYS_sched_setscheduler), /* the end of real-time priority */
	ALLOW_CALL(SYS_sched_getaffinity),
	ALLOW_CALL(SYS_sched_yield),
	ALLOW_CALL(SYS_semctl), /* who used a semaphore last */
	ALLOW_CALL(SYS_getrusage),
	ALLOW_CALL(SYS_prlimit64),
	ALLOW_CALL(SYS_sysinfo),
	ALLOW_CALL(SYS_uname),
	ALLOW_CALL(SYS_prctl),
	ALLOW_CALL(SYS_getrandom),
	ALLOW_CALL(SYS_clock_gettime),
	ALLOW_CALL(SYS_clock_getres),
	ALLOW_CALL(SYS_clock_nanosleep),
	ALLOW_CALL(SYS_nanosleep),
	ALLOW_CALL(SYS_gettimeofday),
	ALLOW_CALL(SYS_timer_settime),
	ALLOW_CALL(SYS_timer_delete),
	ALLOW_CALL(SYS_rt_sigaction),
	ALLOW_CALL(SYS_rt_sigprocmask),
	ALLOW_CALL(SYS_rt_sigreturn),
	ALLOW_CALL(SYS_restart_syscall),
	ALLOW_CALL(SYS_ppoll),
	ALLOW_CALL(SYS_pselect6),
	/* the answer; who a user is (NSS); who is at the other end of a socket */
	ALLOW_ONE_OF(SYS_socket, 0, AF_UNIX, AF_NETLINK),
	ALLOW_CALL(SYS_connect),
	ALLOW_CALL(SYS_sendto),
	ALLOW_CALL(SYS_sendmsg),
	ALLOW_CALL(SYS_recvfrom),
	ALLOW_CALL(SYS_recvmsg),
	ALLOW_CALL(SYS_getsockopt),
	ALLOW_CALL(SYS_setsockopt),
	ALLOW_CALL(SYS_getsockname),
	ALLOW_CALL(SYS_getpeername),
	ALLOW_CALL(SYS_shutdown),
	ALLOW_BPF_READS,
};

static const struct sock_filter writes[] = {
	ALLOW_CALL(SYS_unlinkat),
	ALLOW_CALL(SYS_mkdirat),
	ALLOW_CALL(SYS_renameat2),
#ifdef SYS_renameat
	ALLOW_CALL(SYS_renameat),
#endif
	ALLOW_CALL(SYS_fallocate),
	ALLOW_CALL(SYS_sched_getscheduler),
	ALLOW_CALL(SYS_sched_getparam),
#ifdef SYS_unlink
	ALLOW_CALL(SYS_unlink),
	ALLOW_CALL(SYS_mkdir),
	ALLOW_CALL(SYS_rmdir),
	ALLOW_CALL(SYS_rename),
#endif
};

static const struct sock_filter holds[] = {
	ALLOW_CALL(SYS_sched_setattr),
	ALLOW_CALL(SYS_sched_getattr),
	ALLOW_CALL(SYS_ioprio_set),
	ALLOW_CALL(SYS_ioprio_get),
	ALLOW_CALL(SYS_mlockall),
	ALLOW_CALL(SYS_rt_sigtimedwait),
	/* the hold watchdog */
	ALLOW_CALL(SYS_setsid),
	ALLOW_CALL(SYS_close_range),
	ALLOW_CALL(SYS_chdir),
};

#define FILTER_MOST (ARRAY_SIZE(begin) + ARRAY_SIZE(reads) + ARRAY_SIZE(writes) + ARRAY_SIZE(holds) + ARRAY_SIZE(end))

static int restrict_calls(unsigned work)
{
	const struct {
		const struct sock_filter *rows;
		size_t n;
		bool wanted;
	} parts[] = {
		{begin, ARRAY_SIZE(begin), true},
		{reads, ARRAY_SIZE(reads), true},
		{writes, ARRAY_SIZE(writes), work & (WORK_WRITES | WORK_HOLDS)},
		{holds, ARRAY_SIZE(holds), work & WORK_HOLDS},
		{end, ARRAY_SIZE(end), true},
	};
	struct sock_filter filter[FILTER_MOST];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!parts[i].wanted)
			continue;
		memcpy(filter + n, parts[i].rows, parts[i].n * sizeof(*filter));
		n += parts[i].n;
	}
	return call_filter_set(filter, n);
}

/* --- all of it --- */

int fewer_rights_take(const struct fewer_rights *to)
{
	int r;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	r = fewer_rights_restrict_paths(to);
	if (r == 0)
		r = take_ids(to);
	if (r == 0)
		r = fewer_rights_keep_capabilities(to->work | ANSWERS);
	/* after the ids, which reset both */
	if (r == 0 && (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0))
		r = -errno;
	return r == 0 ? restrict_calls(to->work) : r;
}

/* --- a daemon --- */

#define REFUSE_CALL(nr) IF_CALL(nr, 1), REFUSE
#define REFUSE_WITH(nr, argument, bits)                                                                                   \
	IF_CALL(nr, 4), LOAD(FIELD(args) + 8 * (argument)), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 0, 1), REFUSE, ALLOW

/* The groups of calls that its unit leaves out, as far as root without those capabilities could do something by them. */
static const struct sock_filter refused[] = {
	FILTER_BEGIN,
	/* mounts and namespaces */
	REFUSE_CALL(SYS_mount),
	REFUSE_CALL(SYS_umount2),
	REFUSE_CALL(SYS_pivot_root),
	REFUSE_CALL(SYS_chroot),
	REFUSE_CALL(428), /* open_tree */
	REFUSE_CALL(429), /* move_mount */
	REFUSE_CALL(430), /* fsopen */
	REFUSE_CALL(431), /* fsconfig */
	REFUSE_CALL(432), /* fsmount */
	REFUSE_CALL(433), /* fspick */
	REFUSE_CALL(442), /* mount_setattr */
	REFUSE_CALL(SYS_unshare),
	REFUSE_CALL(SYS_setns),
	REFUSE_WITH(SYS_clone, 0, NAMESPACES),
	IF_CALL(435, 1), /* clone3, whose flags are in memory: libraries take clone() then */
	RETURN(SECCOMP_RET_ERRNO | ENOSYS),
	/* the kernel itself */
	REFUSE_CALL(SYS_init_module),
	REFUSE_CALL(SYS_finit_module),
	REFUSE_CALL(SYS_delete_module),
	REFUSE_CALL(SYS_kexec_load),
#ifdef SYS_kexec_file_load
	REFUSE_CALL(SYS_kexec_file_load),
#endif
	REFUSE_CALL(SYS_reboot),
	REFUSE_CALL(SYS_swapon),
	REFUSE_CALL(SYS_swapoff),
	REFUSE_CALL(SYS_acct),
	REFUSE_CALL(SYS_quotactl),
	REFUSE_CALL(SYS_settimeofday),
	REFUSE_CALL(SYS_clock_settime),
	REFUSE_CALL(SYS_clock_adjtime),
	REFUSE_CALL(SYS_adjtimex),
#ifdef SYS_iopl
	REFUSE_CALL(SYS_iopl),
	REFUSE_CALL(SYS_ioperm),
#endif
	/* other processes, and what attacks on the kernel begin with */
	REFUSE_CALL(SYS_ptrace),
	REFUSE_CALL(SYS_process_vm_readv),
	REFUSE_CALL(SYS_process_vm_writev),
	REFUSE_CALL(SYS_kcmp),
	REFUSE_CALL(438), /* pidfd_getfd */
	REFUSE_CALL(SYS_open_by_handle_at),
	REFUSE_CALL(SYS_userfaultfd),
	REFUSE_CALL(SYS_add_key),
	REFUSE_CALL(SYS_request_key),
	REFUSE_CALL(SYS_keyctl),
	REFUSE_CALL(SYS_personality),
	REFUSE_CALL(SYS_syslog),
	REFUSE_CALL(SYS_vhangup),
	ALLOW,
};

int fewer_rights_take_daemon(enum fewer_rights_daemon work)
{
	int r;

	if (geteuid() != 0)
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	r = fewer_rights_keep_capabilities(work);
	return r == 0 ? call_filter_set(refused, ARRAY_SIZE(refused)) : r;
}
