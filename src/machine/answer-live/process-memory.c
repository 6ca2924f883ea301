#include "machine/answer-live/process-memory.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/file.h"
#include "lib/data/str.h"
#include "lib/rights/outside.h"

#define PATIENCE  (300 * NS_PER_MS) /* for one copy: some us, unless the machine crawls */

static int counted = -1; /* a file without bytes, of which each reader has one locked */

void process_memory_keep_count(void)
{
	counted = memfd_create("readers", MFD_CLOEXEC);
}

/* Open file descriptions hold locks of this kind: it is given back when our descriptor and the reader's are closed. -1: none is left. */
static int take_place(void)
{
	int fd;

	fd = open(STR_TEXT(64, "/proc/self/fd/%d", counted), O_RDWR | O_CLOEXEC);
	for (int i = 0; fd >= 0 && i < PROCESS_MEMORY_LEFT_MAX; i++)
		if (fcntl(fd, F_OFD_SETLK, &(struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = i, .l_len = 1}) == 0)
			return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* In the reader: an address and a length; the first file is the memory. */
static void copy(void *data, struct sandbox_request *request, struct str *answer)
{
	uint64_t address = reader_varint(&request->bytes), n = reader_varint(&request->bytes);
	char bytes[PROCESS_MEMORY_PIECE];

	(void)data;
	if (request->n_files && !request->bytes.bad && n <= sizeof(bytes) && pread(request->files[0], bytes, n, (off_t)address) == (ssize_t)n)
		str_append(answer, bytes, n);
}

static bool start(struct process_memory *m)
{
	if (m->started)
		return !m->given_up;
	m->started = true;
	m->place = counted >= 0 ? take_place() : -1;
	m->given_up = (counted >= 0 && m->place < 0) || sandbox_start(copy, NULL, &m->reader) < 0;
	return !m->given_up;
}

/* "55d0c8a5e000-55d0c8ed4000 rw-p 00000000 00:00 0    [heap]": device 0:0 is of no file */
static bool parse_part(const char *line, struct memory_part *ret)
{
	unsigned ma, mi;

	if (sscanf(line, "%llx-%llx %*s %*x %x:%x", &ret->from, &ret->to, &ma, &mi) != 4)
		return false;
	ret->may_be_read = (!ma && !mi) || outside_may_read_mapped(makedev(ma, mi));
	return true;
}

static void read_parts(struct process_memory *m, const char *proc_root)
{
	struct memory_part p;

	m->parts.n = 0;
	LINES_EACH(line, fopen(STR_TEXT(300, "%s/%u/maps", proc_root, m->pid), "re"))
		if (parse_part(line.text, &p) && VEC_PUSH(m->parts, p) < 0)
			return;
}

static void forget_process(struct process_memory *m)
{
	if (m->pid && m->memory >= 0)
		close(m->memory);
	VEC_FREE(m->parts);
	m->pid = 0;
}

static void look_at_process(struct process_memory *m, const char *proc_root, unsigned pid)
{
	if (m->pid == pid)
		return;
	forget_process(m);
	m->pid = pid;
	m->memory = open(STR_TEXT(300, "%s/%u/mem", proc_root, pid), O_RDONLY | O_CLOEXEC);
}

/* Whether all n bytes are there, and may be read. */
static bool has_parts(const struct process_memory *m, unsigned long long address, size_t n)
{
	size_t i = FIRST_WHERE(k, m->parts.n, m->parts.v[k].to > address);

	for (; i < m->parts.n && m->parts.v[i].from <= address && m->parts.v[i].may_be_read; i++) {
		size_t here = (size_t)(m->parts.v[i].to - address);

		if (here >= n)
			return true;
		n -= here;
		address = m->parts.v[i].to;
	}
	return false;
}

/* A part that is not there may be newer than the list. */
static bool may_read(struct process_memory *m, const char *proc_root, unsigned long long address, size_t n)
{
	if (has_parts(m, address, n))
		return true;
	read_parts(m, proc_root);
	return has_parts(m, address, n);
}

static bool ask(struct process_memory *m, unsigned long long address, void *buf, size_t n)
{
	const int files[] = {m->memory, m->place};
	_cleanup_str_ struct str request = {}, answer = {};
	struct sandbox_call call = {.request = &request, .files = files, .n_files = m->place >= 0 ? 2 : 1, .patience = PATIENCE};

	str_put_varint(&request, address);
	str_put_varint(&request, n);
	m->given_up = request.error || sandbox_call(&m->reader, &call, &answer) < 0;
	if (m->given_up || answer.len != n)
		return false;
	memcpy(buf, answer.data, n);
	return true;
}

bool process_memory_copy(struct process_memory *m, const char *proc_root, unsigned pid, unsigned long long address, void *buf, size_t n)
{
	if (!n || n > PROCESS_MEMORY_PIECE || address > INT64_MAX - n || !start(m))
		return false;
	look_at_process(m, proc_root, pid);
	return m->memory >= 0 && ask(m, address, buf, n);
}

bool process_memory_read(struct process_memory *m, const char *proc_root, unsigned pid, unsigned long long address, void *buf, size_t n)
{
	if (m->given_up || address > INT64_MAX - n)
		return false;
	look_at_process(m, proc_root, pid);
	return may_read(m, proc_root, address, n) && process_memory_copy(m, proc_root, pid, address, buf, n);
}

void process_memory_free(struct process_memory *m)
{
	forget_process(m);
	if (m->started && m->place >= 0)
		close(m->place);
	sandbox_stop(&m->reader);
	*m = (struct process_memory){};
}
