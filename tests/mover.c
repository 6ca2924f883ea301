/* Does a known amount of one thing when asked: what a feature's proof is measured against.
 *
 *   mover CASE FOLDER
 *
 * It prepares, writes "ready", waits for a byte, does its amount, writes "done A B C" and waits until its input ends.
 * A, B, C are what only it can know: times, and counts it learnt by another way than the recorder. "skip WHY" instead of
 * "ready" where the machine cannot. FOLDER lies on a disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mover.h"

#define PAGE ((size_t)4096)

static const char *folder;
static char group[256]; /* the control group made for this run */
static int64_t told[3];

static void say(const char *format, ...)
{
	char line[256];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (write(STDOUT_FILENO, line, (size_t)n) != n)
		_exit(1);
}

static void leave_group(void);

static _Noreturn void skip_case(const char *why)
{
	say("skip %s\n", why);
	leave_group();
	_exit(0);
}

static _Noreturn void fail(const char *what)
{
	say("fail %s: %s\n", what, strerror(errno));
	leave_group();
	_exit(1);
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void pause_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

static void burn(unsigned rounds)
{
	volatile unsigned x = 1;

	while (rounds--)
		x = x * 1664525 + 1013904223;
}

static void spin(int64_t ns, clockid_t clock)
{
	int64_t end = clock_ns(clock) + ns;

	while (clock_ns(clock) < end)
		burn(100000);
}

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		fail("sched_setaffinity");
}

/* ---- the CPU ---- */

static void spin_user(void)
{
	int64_t before = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	spin(MOVER_SPIN_NS, CLOCK_PROCESS_CPUTIME_ID);
	told[0] = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before;
}

static void spin_kernel(void)
{
	int64_t before = clock_ns(CLOCK_PROCESS_CPUTIME_ID), end = before + MOVER_SPIN_NS;
	static char buf[1 << 20];
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < end)
		if (read(zero, buf, sizeof(buf)) < 0)
			fail("/dev/zero");
	told[0] = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before;
	close(zero);
}

static void *spin_for_ever(void *argument)
{
	(void)argument;
	for (;;)
		burn(1000);
	return NULL;
}

/* Above everybody else's priority, so that at every moment it does run. */
static void run_now(void)
{
	struct sched_param priority = {.sched_priority = 1};
	pthread_t thread;

	if (pthread_create(&thread, NULL, spin_for_ever, NULL) != 0)
		fail("pthread_create");
	if (pthread_setschedparam(thread, SCHED_FIFO, &priority) != 0)
		skip_case("real-time priority is not granted");
	pause_ms(20);
}

static void wait_now(void)
{
	stay_on(1);
	for (int i = 0; i < MOVER_CROWD; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, spin_for_ever, NULL) != 0)
			fail("pthread_create");
	}
	pause_ms(100);
}

static void needs_two_cpus(void)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip_case("needs two CPUs");
}

static pthread_barrier_t barrier;
static _Atomic int64_t waited;

/* It never sleeps: time that it did not run it was kept waiting. */
static void *spin_its_share(void *argument)
{
	int64_t wall, cpu;

	(void)argument;
	pthread_barrier_wait(&barrier);
	wall = clock_ns(CLOCK_MONOTONIC);
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	spin(100000000, CLOCK_THREAD_CPUTIME_ID);
	wall = clock_ns(CLOCK_MONOTONIC) - wall;
	waited += wall - (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu);
	return NULL;
}

static void crowd(void)
{
	pthread_t threads[MOVER_CROWD];
	struct rusage before, after;

	stay_on(1);
	getrusage(RUSAGE_SELF, &before);
	pthread_barrier_init(&barrier, NULL, MOVER_CROWD);
	for (int i = 0; i < MOVER_CROWD; i++)
		if (pthread_create(&threads[i], NULL, spin_its_share, NULL) != 0)
			fail("pthread_create");
	for (int i = 0; i < MOVER_CROWD; i++)
		pthread_join(threads[i], NULL);
	getrusage(RUSAGE_SELF, &after);
	told[0] = waited;
	told[1] = after.ru_nivcsw - before.ru_nivcsw;
}

static void sleep_wake(void)
{
	struct rusage before, after;

	getrusage(RUSAGE_SELF, &before);
	for (int i = 0; i < MOVER_SLEEPS; i++)
		pause_ms(1);
	getrusage(RUSAGE_SELF, &after);
	told[0] = MOVER_SLEEPS + after.ru_nivcsw - before.ru_nivcsw;
}

static void migrate(void)
{
	stay_on(sched_getcpu() == 0 ? 0 : 1);
	for (int i = 0; i < MOVER_MIGRATIONS; i++)
		stay_on(sched_getcpu() == 0 ? 1 : 0);
}

static void *sleep_for_ever(void *argument)
{
	(void)argument;
	for (;;)
		pause();
	return NULL;
}

static void many_threads(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	for (int i = 0; i < MOVER_THREADS; i++)
		if (pthread_create(&thread, &attributes, sleep_for_ever, NULL) != 0)
			fail("pthread_create");
}

/* Who has called vfork() sleeps uninterruptibly until its child lets go of the memory. */
static void *call_vfork(void *argument)
{
	int *end = argument;

	if (vfork() == 0) {
		char c;

		close(end[1]); /* its own copy would keep the pipe open, and itself alive, for ever */
		while (read(*end, &c, 1) < 0 && errno == EINTR)
			;
		_exit(0);
	}
	return NULL;
}

static void wait_for_vfork(void)
{
	static int ends[2];
	pthread_t thread;

	if (pipe2(ends, O_CLOEXEC) < 0 || pthread_create(&thread, NULL, call_vfork, &ends[0]) != 0)
		fail("vfork");
	pause_ms(50);
}

/* ---- waits ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t locked;

static void *hold_lock(void *unused)
{
	pthread_mutex_lock(&lock);
	sem_post(&locked);
	pause_ms(MOVER_WAIT_NS / 1000000);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void wait_for_lock(void)
{
	pthread_t thread;

	sem_init(&locked, 0, 0);
	if (pthread_create(&thread, NULL, hold_lock, NULL) != 0)
		fail("thread");
	sem_wait(&locked);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
}

static void wait_for_condition(void)
{
	pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += MOVER_WAIT_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&lock);
	while (pthread_cond_timedwait(&never, &lock, &until) == 0)
		continue;
	pthread_mutex_unlock(&lock);
}

static void wait_for_peer(void)
{
	int ends[2];
	pid_t child;
	char c;

	if (pipe(ends) < 0)
		fail("pipe");
	child = fork();
	if (child == 0) {
		pause_ms(MOVER_WAIT_NS / 1000000);
		_exit(write(ends[1], "!", 1) != 1);
	}
	if (child < 0 || read(ends[0], &c, 1) != 1)
		fail("read");
	waitpid(child, NULL, 0);
}

static void wait_for_network(void)
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct timeval patience = {.tv_usec = MOVER_WAIT_NS / 1000};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	char c;

	if (fd < 0 || bind(fd, (struct sockaddr *)&here, sizeof(here)) < 0)
		fail("socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	(void)!recv(fd, &c, 1, 0);
	close(fd);
}

/* ---- memory ---- */

static char *map(size_t size, int flags)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		fail("mmap");
	(void)madvise(p, size, MADV_NOHUGEPAGE);
	return p;
}

static void touch(char *p, size_t size, char with)
{
	for (size_t at = 0; at < size; at += PAGE)
		((volatile char *)p)[at] = with;
}

static int look_at(const char *p, size_t size)
{
	int sum = 0;

	for (size_t at = 0; at < size; at += PAGE)
		sum += ((const volatile char *)p)[at];
	return sum;
}

static void touch_memory(void)
{
	touch(map(MOVER_MEMORY, MAP_PRIVATE), MOVER_MEMORY, 1);
}

static void shared_memory(void)
{
	touch(map(MOVER_SMALL, MAP_SHARED), MOVER_SMALL, 1);
}

static void map_anonymous(void)
{
	map(MOVER_ADDRESSES, MAP_PRIVATE);
}

static void lock_memory(void)
{
	if (mlock(map(MOVER_LOCKED, MAP_PRIVATE), MOVER_LOCKED) < 0)
		fail("mlock");
}

static void __attribute__((noinline)) go_deep(int left)
{
	volatile char frame[4096];

	frame[0] = frame[sizeof(frame) - 1] = (char)left;
	if (left > 0)
		go_deep(left - 1);
	frame[1] = frame[0];
}

static void deep_stack(void)
{
	go_deep((int)(MOVER_SMALL / 4 / PAGE));
}

static char *copied;

static void copy_on_write_prepare(void)
{
	copied = map(MOVER_MEMORY, MAP_PRIVATE);
	touch(copied, MOVER_MEMORY, 1);
	if (fork() == 0) {
		char c;

		/* it holds the other reference until the mover is asked to end */
		while (getppid() != 1 && poll(NULL, 0, 50) == 0)
			;
		c = copied[0];
		_exit(c == 0);
	}
}

static void copy_on_write(void)
{
	int64_t begin = clock_ns(CLOCK_MONOTONIC);

	touch(copied, MOVER_MEMORY, 2);
	told[0] = clock_ns(CLOCK_MONOTONIC) - begin;
}

/* ---- files ---- */

static int outside_open_in_folder(const char *name, int flags)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, flags | O_CLOEXEC, 0600);
	if (fd < 0)
		fail(path);
	return fd;
}

static void write_blocks(int fd, size_t size)
{
	static char block[MOVER_BLOCK];

	memset(block, 'x', sizeof(block));
	for (size_t at = 0; at < size; at += sizeof(block))
		if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			fail("write");
}

/* On the disk, and nowhere else. */
static void make_cold_file(const char *name, size_t size)
{
	int fd = outside_open_in_folder(name, O_RDWR | O_CREAT | O_TRUNC);

	write_blocks(fd, size);
	if (fsync(fd) < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
		fail(name);
	close(fd);
}

static char *mapped;

static void map_file_prepare(void)
{
	int fd;

	make_cold_file("mapped", MOVER_MAPPED);
	fd = outside_open_in_folder("mapped", O_RDONLY);
	mapped = mmap(NULL, MOVER_MAPPED, PROT_READ, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED || madvise(mapped, MOVER_MAPPED, MADV_RANDOM) < 0)
		fail("mmap");
}

static void map_file(void)
{
	look_at(mapped, MOVER_MAPPED);
}

static int data = -1;

static void read_cached_prepare(void)
{
	data = outside_open_in_folder("cached", O_RDWR | O_CREAT | O_TRUNC);
	write_blocks(data, MOVER_BLOCK);
}

static void read_cached(void)
{
	static char block[MOVER_BLOCK];

	for (int i = 0; i < MOVER_CALLS; i++)
		if (pread(data, block, sizeof(block), 0) != (ssize_t)sizeof(block))
			fail("pread");
}

static void write_file_prepare(void)
{
	data = outside_open_in_folder("written", O_RDWR | O_CREAT | O_TRUNC);
}

static void write_file(void)
{
	write_blocks(data, MOVER_CALLS * MOVER_BLOCK);
}

static void truncate_file(void)
{
	write_blocks(data, MOVER_CALLS * MOVER_BLOCK);
	if (ftruncate(data, 0) < 0)
		fail("ftruncate");
}

static int64_t run_delay(void)
{
	unsigned long long on_cpu, delay;
	FILE *f = fopen("/proc/thread-self/schedstat", "re");

	if (!f || fscanf(f, "%llu %llu", &on_cpu, &delay) != 2)
		fail("schedstat");
	fclose(f);
	return (int64_t)delay;
}

/* What is neither running nor ready to run is blocked. */
static int64_t blocked_so_far(void)
{
	return clock_ns(CLOCK_MONOTONIC) - clock_ns(CLOCK_THREAD_CPUTIME_ID) - run_delay();
}

/* From Linux 6.12 on, a task of the fair class that blocks next to others may stay in its queue for a while, and the wait
 * is then charged from the start of some earlier wait, or not at all; a real-time task leaves at once. */
static void be_real_time(void)
{
	struct sched_param first = {.sched_priority = 1};

	if (sched_setscheduler(0, SCHED_FIFO, &first) < 0)
		fputs("real-time priority is not granted: the kernel may charge waits wrongly\n", stderr);
}

static void read_disk_prepare(void)
{
	be_real_time();
	make_cold_file("cold", MOVER_CALLS * MOVER_BLOCK);
	data = outside_open_in_folder("cold", O_RDONLY | O_DIRECT);
	(void)run_delay();
}

static void read_disk(void)
{
	static char block[MOVER_BLOCK] __attribute__((aligned(4096)));
	int64_t before = blocked_so_far(), queued = run_delay();
	struct rusage first, last;

	getrusage(RUSAGE_THREAD, &first);
	for (int i = 0; i < MOVER_CALLS; i++)
		if (pread(data, block, sizeof(block), (off_t)i * MOVER_BLOCK) != MOVER_BLOCK)
			fail("pread");
	told[0] = blocked_so_far() - before;
	told[1] = told[0] + run_delay() - queued; /* delay accounting's clock stops when it runs again */
	getrusage(RUSAGE_THREAD, &last);
	told[2] = last.ru_nvcsw - first.ru_nvcsw; /* a fast disk may answer before it sleeps */
}

static void open_files(void)
{
	for (int i = 0; i < MOVER_HANDLES; i++)
		if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
			fail("open");
}

static void open_sockets(void)
{
	for (int i = 0; i < MOVER_HANDLES; i++)
		if (socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0)
			fail("socket");
}

static int pair[2];

static void socket_prepare(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		fail("socketpair");
}

static void move_bytes(void)
{
	char message[MOVER_MESSAGE] = {};

	for (int i = 0; i < MOVER_CALLS; i++)
		if (send(pair[0], message, sizeof(message), 0) != MOVER_MESSAGE ||
		    recv(pair[1], message, sizeof(message), 0) != MOVER_MESSAGE)
			fail("send");
}

/* ---- how it is treated ---- */

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		error = -errno;
	close(fd);
	return error;
}

static void set_treatment(int nice, int policy, int score)
{
	struct sched_param none = {};
	char text[16];

	snprintf(text, sizeof(text), "%d", score);
	if (setpriority(PRIO_PROCESS, 0, nice) < 0)
		fail("setpriority");
	if (sched_setscheduler(0, policy, &none) < 0)
		fail("sched_setscheduler");
	if (write_text("/proc/self/oom_score_adj", text) < 0)
		fail("oom_score_adj");
}

/* How a process is treated is inherited: each case begins at the defaults. */
static void treatment_prepare(void)
{
	set_treatment(0, SCHED_OTHER, 0);
}

static void be_nice(void)
{
	set_treatment(MOVER_NICE, SCHED_OTHER, 0);
}

static void change_policy(void)
{
	set_treatment(0, SCHED_BATCH, 0);
}

static void oom_score(void)
{
	set_treatment(0, SCHED_OTHER, MOVER_OOM_SCORE);
}

static int write_group(const char *file, const char *text)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", group, file);
	return write_text(path, text);
}

/* True for a version 1 hierarchy. */
static bool enter_group(const char *controller)
{
	char root[128], path[256];
	bool v1;

	snprintf(root, sizeof(root), "/sys/fs/cgroup/%s", controller);
	v1 = access(root, F_OK) == 0;
	if (!v1) {
		strcpy(root, "/sys/fs/cgroup");
		snprintf(path, sizeof(path), "+%s", controller);
		if (write_text("/sys/fs/cgroup/cgroup.subtree_control", path) < 0)
			skip_case("no control group with this controller");
	}
	snprintf(group, sizeof(group), "%s/whyslow-mover-%d", root, getpid());
	if (mkdir(group, 0755) < 0) {
		group[0] = '\0';
		skip_case("no control group can be made");
	}
	if (write_group("cgroup.procs", "0") < 0)
		skip_case("no control group can be entered");
	return v1;
}

static void leave_group(void)
{
	char path[512];

	if (!group[0])
		return;
	snprintf(path, sizeof(path), "%s/../cgroup.procs", group);
	(void)write_text(path, "0");
	for (int i = 0; i < 50 && rmdir(group) < 0 && errno == EBUSY; i++)
		pause_ms(20);
}

static void quota_prepare(void)
{
	bool v1 = enter_group("cpu");

	if (v1 ? write_group("cpu.cfs_period_us", "100000") < 0 || write_group("cpu.cfs_quota_us", "10000") < 0
	       : write_group("cpu.max", "10000 100000") < 0)
		skip_case("this kernel has no CPU quotas");
}

/* What the group itself says it was held back, in ns, and how often. */
static void read_throttled(int64_t *ret_time, int64_t *ret_periods)
{
	char path[512], key[64];
	long long value;
	FILE *f;

	snprintf(path, sizeof(path), "%s/cpu.stat", group);
	f = fopen(path, "re");
	if (!f)
		fail(path);
	while (fscanf(f, "%63s %lld", key, &value) == 2) {
		if (strcmp(key, "throttled_time") == 0)
			*ret_time = value;
		if (strcmp(key, "throttled_usec") == 0)
			*ret_time = value * 1000;
		if (strcmp(key, "nr_throttled") == 0)
			*ret_periods = value;
	}
	fclose(f);
}

static void use_quota(void)
{
	int64_t time = 0, periods = 0;

	read_throttled(&time, &periods);
	spin(MOVER_QUOTA_SPIN_NS, CLOCK_PROCESS_CPUTIME_ID);
	pause_ms(150); /* the last slice is given back */
	read_throttled(&told[0], &told[1]);
	told[0] -= time;
	told[1] -= periods;
}

static void limit_memory(const char *bytes)
{
	if (enter_group("memory") ? write_group("memory.limit_in_bytes", bytes) < 0 : write_group("memory.max", bytes) < 0)
		skip_case("this kernel does not limit memory");
}

static void lift_limit(void)
{
	if (write_group("memory.limit_in_bytes", "-1") < 0)
		(void)write_group("memory.max", "max");
}

static void make_swap(void)
{
	char command[4200], path[4096];

	snprintf(path, sizeof(path), "%s/swap", folder);
	snprintf(command, sizeof(command), "PATH=/usr/sbin:/sbin:$PATH mkswap -q '%s' >/dev/null 2>&1", path);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || posix_fallocate(fd, 0, 2 * MOVER_MEMORY) != 0)
		fail(path);
	close(fd);
	if (system(command) != 0 || swapon(path, 0) < 0)
		skip_case("no swap file can be made here");
}

static char *swapped;

static void swap_prepare(void)
{
	make_swap();
	limit_memory("16M");
	swapped = map(MOVER_MEMORY, MAP_PRIVATE);
}

static void swap_out(void)
{
	int64_t begin = clock_ns(CLOCK_MONOTONIC);

	touch(swapped, MOVER_MEMORY, 1);
	told[0] = clock_ns(CLOCK_MONOTONIC) - begin;
}

static void swap_in_prepare(void)
{
	swap_prepare();
	swap_out();
	lift_limit();
	(void)madvise(swapped, MOVER_MEMORY, MADV_RANDOM);
}

static void swap_in(void)
{
	int64_t begin = clock_ns(CLOCK_MONOTONIC);

	look_at(swapped, MOVER_MEMORY);
	told[0] = clock_ns(CLOCK_MONOTONIC) - begin;
}

/* Half as much again of a file as the group may keep, round and round. Each part is read twice, so that the kernel
 * takes it for worth keeping: only what was that when it was evicted counts as thrashing when it comes back. */
static void thrash_prepare(void)
{
	make_cold_file("cold", MOVER_THRASHED);
	limit_memory("16M");
	data = outside_open_in_folder("cold", O_RDONLY);
	if (posix_fadvise(data, 0, 0, POSIX_FADV_RANDOM) != 0)
		fail("posix_fadvise");
}

static void read_part(off_t from, off_t size)
{
	static char block[MOVER_BLOCK];

	for (off_t at = from; at < from + size; at += MOVER_BLOCK)
		if (pread(data, block, sizeof(block), at) != MOVER_BLOCK)
			fail("pread");
}

/* Pages that came back and were held worth keeping when they went. */
static long long pages_restored(void)
{
	long long value, restored = 0;
	char key[64];
	FILE *f = fopen("/proc/vmstat", "re");

	while (f && fscanf(f, "%63s %lld", key, &value) == 2)
		if (strcmp(key, "workingset_restore_file") == 0)
			restored = value;
	if (f)
		fclose(f);
	return restored;
}

#define THRASHED_PAGES 1000 /* fewer that come back are too little to tell their delays from the rest */

static void thrash(void)
{
	const off_t part = MOVER_THRASHED / 12;
	long long restored = pages_restored();
	int64_t begin = clock_ns(CLOCK_MONOTONIC);

	for (off_t at = 0; at < 72 * part; at += part) {
		read_part(at % MOVER_THRASHED, part);
		read_part(at % MOVER_THRASHED, part);
	}
	if (pages_restored() - restored < THRASHED_PAGES)
		skip_case("the kernel evicted next to nothing that it held worth keeping");
	told[0] = clock_ns(CLOCK_MONOTONIC) - begin;
}

/* ---- children ---- */

static void have_children(void)
{
	struct rusage before, after;

	getrusage(RUSAGE_CHILDREN, &before);
	for (int i = 0; i < MOVER_CHILDREN; i++) {
		pid_t child = fork();

		if (child < 0)
			fail("fork");
		if (child == 0) {
			spin(MOVER_CHILD_NS, CLOCK_MONOTONIC);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	getrusage(RUSAGE_CHILDREN, &after);
	told[0] = (after.ru_utime.tv_sec - before.ru_utime.tv_sec + after.ru_stime.tv_sec - before.ru_stime.tv_sec) *
			  1000000000ll +
		  (after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec - before.ru_stime.tv_usec) *
			  1000ll;
}

static const struct {
	const char *name;
	void (*prepare)(void), (*move)(void);
} cases[] = {
	{"spin-user", NULL, spin_user},
	{"spin-kernel", NULL, spin_kernel},
	{"run-now", needs_two_cpus, run_now},
	{"wait-now", needs_two_cpus, wait_now},
	{"crowd", needs_two_cpus, crowd},
	{"sleep-wake", NULL, sleep_wake},
	{"migrate", needs_two_cpus, migrate},
	{"threads", NULL, many_threads},
	{"vfork", NULL, wait_for_vfork},
	{"futex", NULL, wait_for_lock},
	{"condition", NULL, wait_for_condition},
	{"pipe", NULL, wait_for_peer},
	{"datagram", NULL, wait_for_network},
	{"touch-memory", NULL, touch_memory},
	{"shared-memory", NULL, shared_memory},
	{"map-anonymous", NULL, map_anonymous},
	{"lock-memory", NULL, lock_memory},
	{"deep-stack", NULL, deep_stack},
	{"copy-on-write", copy_on_write_prepare, copy_on_write},
	{"map-file", map_file_prepare, map_file},
	{"read-cached", read_cached_prepare, read_cached},
	{"write-file", write_file_prepare, write_file},
	{"truncate", write_file_prepare, truncate_file},
	{"read-disk", read_disk_prepare, read_disk},
	{"open-files", NULL, open_files},
	{"open-sockets", NULL, open_sockets},
	{"socket", socket_prepare, move_bytes},
	{"nice", treatment_prepare, be_nice},
	{"policy", treatment_prepare, change_policy},
	{"oom-score", treatment_prepare, oom_score},
	{"quota", quota_prepare, use_quota},
	{"swap", swap_prepare, swap_out},
	{"swap-in", swap_in_prepare, swap_in},
	{"thrash", thrash_prepare, thrash},
	{"children", NULL, have_children},
};

static bool wait_for_byte(void)
{
	char c;
	ssize_t n;

	while ((n = read(STDIN_FILENO, &c, 1)) < 0 && errno == EINTR)
		;
	return n == 1;
}

int main(int argc, char **argv)
{
	folder = argc > 2 ? argv[2] : ".";
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[1]) != 0)
			continue;
		if (cases[i].prepare)
			cases[i].prepare();
		say("ready\n");
		if (wait_for_byte()) {
			cases[i].move();
			say("done %lld %lld %lld\n", (long long)told[0], (long long)told[1], (long long)told[2]);
			(void)wait_for_byte();
		}
		leave_group();
		_exit(0);
	}
	say("fail no case of this name\n");
	return 1;
}
