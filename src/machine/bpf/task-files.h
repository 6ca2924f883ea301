/* A part of the programs that read tasks: how many descriptors a process has open, and how many of them are sockets. */
#pragma once

#include "machine/bpf/task-extra.h"

#define FD_WORDS_MAX	 16384 /* at most a million descriptors are counted */
#define SOCKET_SCAN_MAX	 4096
#define FEW_WORDS	 4  /* of the bitmap of descriptors: nearly every process has no more */
#define S_IFMT		 0170000
#define S_IFSOCK	 0140000

static u32 popcount(u64 x)
{
	x -= (x >> 1) & 0x5555555555555555ull;
	x = (x & 0x3333333333333333ull) + ((x >> 2) & 0x3333333333333333ull);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return (x * 0x0101010101010101ull) >> 56;
}

/* Bits up to the highest that is set. Without a branch: the verifier would follow each, for every word. */
static u32 length_of(u64 x)
{
	x |= x >> 1;
	x |= x >> 2;
	x |= x >> 4;
	x |= x >> 8;
	x |= x >> 16;
	x |= x >> 32;
	return popcount(x);
}

struct fd_scan {
	unsigned long *open;
	u32 words;
	u32 n;
	u32 end; /* past the last open descriptor */
	u64 hash;
};

/* Without a branch, as length_of(). */
static __always_inline void add_word(struct fd_scan *scan, u32 i, u64 word)
{
	u64 any = (word | -word) >> 63;

	scan->hash = (scan->hash ^ word) * MIX;
	scan->n += popcount(word);
	scan->end += any * (i * 64 + length_of(word) - scan->end);
}

static long count_word(u32 i, struct fd_scan *scan)
{
	u64 word = 0;

	if (i >= scan->words)
		return 1;
	bpf_probe_read_kernel(&word, sizeof(word), scan->open + i);
	add_word(scan, i, word);
	return 0;
}

static void scan_descriptors(struct fd_scan *scan)
{
	u64 words[FEW_WORDS] = {};

	if (scan->words > FEW_WORDS) {
		bpf_loop(FD_WORDS_MAX, count_word, scan, 0);
		return;
	}
	/* behind a shorter bitmap lie other things of the same allocation */
	bpf_probe_read_kernel(words, sizeof(words), scan->open);
	for (u32 i = 0; i < FEW_WORDS; i++)
		add_word(scan, i, words[i] & (u64)(((s64)i - (s64)scan->words) >> 63));
}

struct socket_scan {
	struct file **fd;
	u32 n;
	u32 sockets;
};

static long count_socket(u32 i, struct socket_scan *scan)
{
	struct file *file;
	unsigned short mode;

	if (i >= scan->n)
		return 1;
	if (bpf_probe_read_kernel(&file, sizeof(file), scan->fd + i) < 0 || !file)
		return 0;
	mode = BPF_CORE_READ(file, f_inode, i_mode);
	if ((mode & S_IFMT) == S_IFSOCK)
		scan->sockets++;
	return 0;
}

static void read_files(struct task_sample *s, struct task_struct *task, struct process_extra *extra)
{
	struct files_struct *files = task->files;
	struct fd_scan scan = {};
	struct fdtable *fdt;

	if (!files)
		return;
	fdt = files->fdt;
	scan.open = fdt->open_fds;
	scan.words = fdt->max_fds / 64;
	scan_descriptors(&scan);
	SET(s, HANDLES_FILES, scan.n);
	if (!extra || !count_sockets)
		return;
	if (!extra->counted || extra->fd_hash != scan.hash ||
	    (((sweep_number + s->pid) & RESCAN_MASK) == 0 && (extra->ran != s->v[FEATURE_CPU_TIME] || !is_alone(task)))) {
		struct socket_scan sockets = {.fd = fdt->fd, .n = scan.end};

		bpf_loop(SOCKET_SCAN_MAX, count_socket, &sockets, 0);
		extra->sockets = sockets.sockets;
		extra->fd_hash = scan.hash;
		extra->ran = s->v[FEATURE_CPU_TIME];
		extra->counted = 1;
	}
	SET(s, HANDLES_SOCKETS, extra->sockets);
}
