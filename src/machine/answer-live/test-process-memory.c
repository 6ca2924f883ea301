/* Bytes are copied as they are there; a file system that its user serves, and never answers for, holds no reader up. */
#include "lib/data/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "machine/answer-live/process-memory.h"

#define SIZE 4096

static char written[64] = "written before the fork"; /* in memory of a file, and changed since */

/* It changes what it has mapped now and then, as the thread that a sanitizer adds to it does. */
static pid_t begin_sleeper(void)
{
	pid_t pid;

	strcpy(written, "its own text");
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			usleep(20000);
			munmap(mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), SIZE);
		}
	}
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A reader that has no CPU in time is given up, as on a machine that crawls: then another one is asked. */
static bool reads(struct process_memory *m, unsigned pid, unsigned long long address, void *buf, size_t n)
{
	bool there = process_memory_read(m, "/proc", pid, address, buf, n);

	for (int i = 0; i < 50 && !there && m->given_up; i++) {
		process_memory_free(m);
		there = process_memory_read(m, "/proc", pid, address, buf, n);
	}
	return there;
}

static void what_is_there(void **state)
{
	_cleanup_(process_memory_free) struct process_memory m = {};
	char *two = mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), buf[SIZE] = "";
	static const char constant[] = "of a file";
	pid_t pid;

	strcpy(two + SIZE - 4, "across two pages");
	pid = begin_sleeper();
	assert_true(reads(&m, (unsigned)pid, (uintptr_t)written, buf, sizeof(written)));
	assert_string_equal(buf, "its own text");
	assert_true(reads(&m, (unsigned)pid, (uintptr_t)constant, buf, sizeof(constant)));
	assert_string_equal(buf, constant);
	assert_true(reads(&m, (unsigned)pid, (uintptr_t)two + SIZE - 4, buf, 17));
	assert_string_equal(buf, "across two pages");
	assert_false(process_memory_read(&m, "/proc", (unsigned)pid, 8, buf, 8));
	assert_false(process_memory_read(&m, "/proc", (unsigned)pid, ~0ull - 4, buf, 8));
	assert_false(process_memory_read(&m, "/proc", (unsigned)pid, (uintptr_t)two + SIZE, buf, PROCESS_MEMORY_PIECE + 1));
	assert_true(reads(&m, (unsigned)getpid(), (uintptr_t)written, buf, sizeof(written)));
	end(pid);
	munmap(two, 2 * SIZE);
}

/* --- a file system whose server answers until a page is read --- */

static void reply(int fuse, uint64_t unique, const void *bytes, size_t n)
{
	struct fuse_out_header out = {.len = (uint32_t)(sizeof(out) + n), .unique = unique};
	char message[256];

	memcpy(message, &out, sizeof(out));
	memcpy(message + sizeof(out), bytes, n);
	(void)!write(fuse, message, out.len);
}

static struct fuse_attr attributes_of(uint64_t node)
{
	return (struct fuse_attr){.ino = node, .size = SIZE, .blocks = 8, .mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0644, .nlink = 1, .blksize = SIZE};
}

static void __attribute__((noreturn)) serve(int fuse)
{
	static char bytes[1 << 20];

	for (;;) {
		ssize_t n = read(fuse, bytes, sizeof(bytes));
		const struct fuse_in_header *in = (const void *)bytes;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < (ssize_t)sizeof(*in))
			_exit(0);
		if (in->opcode == FUSE_INIT)
			reply(fuse, in->unique, &(struct fuse_init_out){.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = SIZE}, sizeof(struct fuse_init_out));
		else if (in->opcode == FUSE_LOOKUP)
			reply(fuse, in->unique, &(struct fuse_entry_out){.nodeid = 2, .attr_valid = 1000, .entry_valid = 1000, .attr = attributes_of(2)}, sizeof(struct fuse_entry_out));
		else if (in->opcode == FUSE_GETATTR)
			reply(fuse, in->unique, &(struct fuse_attr_out){.attr_valid = 1000, .attr = attributes_of(in->nodeid)}, sizeof(struct fuse_attr_out));
		else if (in->opcode != FUSE_READ)
			reply(fuse, in->unique, &(struct fuse_open_out){}, sizeof(struct fuse_open_out));
	}
}

struct fuse_fixture {
	char folder[64];
	pid_t server, sleeper;
	char *mapped;
};

/* False: this machine has no FUSE. */
static bool begin_fuse(struct fuse_fixture *f)
{
	int fuse, file;
	char options[128], path[80];

	strcpy(f->folder, "/tmp/whyslow-memory-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(path, sizeof(path), "%s/device", f->folder); /* a container may have no /dev/fuse */
	if (mknod(path, S_IFCHR | 0600, makedev(10, 229)) < 0 || (fuse = open(path, O_RDWR | O_CLOEXEC)) < 0)
		return false;
	unlink(path);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
	if (mount("none", f->folder, "fuse", MS_NOSUID | MS_NODEV, options) < 0)
		return false;
	f->server = fork();
	if (f->server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(fuse);
	}
	close(fuse);
	snprintf(path, sizeof(path), "%s/page", f->folder);
	file = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(file >= 0);
	f->mapped = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, file, 0);
	assert_true(f->mapped != MAP_FAILED);
	close(file);
	f->sleeper = begin_sleeper();
	return true;
}

static void end_fuse(struct fuse_fixture *f)
{
	end(f->sleeper);
	end(f->server);
	munmap(f->mapped, SIZE);
	umount2(f->folder, MNT_DETACH);
	rmdir(f->folder);
}

static void a_page_that_never_comes(void **state)
{
	struct process_memory looks = {}, copies = {};
	struct fuse_fixture f = {};
	int64_t begin;
	char buf[8];

	if (getuid() || !begin_fuse(&f)) {
		rmdir(f.folder);
		skip();
	}
	assert_false(process_memory_read(&looks, "/proc", (unsigned)f.sleeper, (uintptr_t)f.mapped, buf, sizeof(buf)));
	assert_false(looks.given_up); /* it was not asked for */
	process_memory_free(&looks);
	process_memory_keep_count();
	begin = clock_monotonic();
	assert_false(process_memory_copy(&copies, "/proc", (unsigned)f.sleeper, (uintptr_t)f.mapped, buf, sizeof(buf))); /* as if it had come after the look */
	assert_true(copies.given_up);
	assert_true(clock_monotonic() - begin < 30 * NS_PER_SEC);
	assert_false(process_memory_read(&copies, "/proc", (unsigned)f.sleeper, (uintptr_t)written, buf, sizeof(buf)));
	process_memory_free(&copies);
	/* The copy holds the lock of what the sleeper has mapped until its server answers: behind it waits the sleeper, and behind that who reads it next. */
	assert_true(reads(&looks, (unsigned)getpid(), (uintptr_t)written, buf, sizeof(buf)));
	assert_int_not_equal(looks.place, -1);
	process_memory_free(&looks);
	end_fuse(&f);
}

RUN_TESTS(cmocka_unit_test(what_is_there), cmocka_unit_test(a_page_that_never_comes))
