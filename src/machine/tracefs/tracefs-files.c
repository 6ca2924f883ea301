#include "machine/tracefs/tracefs-files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/hmap.h"
#include "lib/data/str.h"
#include "lib/input/text.h"
#include "machine/events/classify.h"

#define NAME_MAX_READ 256

struct file_kind {
	uint8_t call;
	uint64_t object;
};

struct tracefs_files {
	char *proc_root;
	struct hmap kinds; /* (process, descriptor) -> struct file_kind */
	struct hmap local; /* (inode, 0) of Unix sockets -> any */
};

/* Num       RefCount Protocol Flags    Type St Inode Path
 * ffff8881: 00000003 00000000 00000000 0001 03 12345 /run/x */
static int list_local_sockets(struct tracefs_files *f)
{
	struct text_file file = {};
	int r = text_file_open(&file, f->proc_root, "net/unix");

	if (r < 0)
		return r == -ENOMEM ? r : 0; /* a kernel without them */
	r = text_file_read(&file);
	for (const char *line = text_next_line(file.data); r == 0 && *line; line = text_next_line(line)) {
		unsigned long long inode;

		if (sscanf(line, "%*s %*s %*s %*s %*s %*s %llu", &inode) == 1)
			r = hmap_put(&f->local, inode, 0, f);
	}
	text_file_close(&file);
	return r == -ENOMEM ? r : 0;
}

int tracefs_files_new(const char *proc_root, struct tracefs_files **ret)
{
	struct tracefs_files *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->proc_root = strdup(proc_root);
	r = f->proc_root ? list_local_sockets(f) : -ENOMEM;
	if (r < 0) {
		tracefs_files_free(f);
		return r;
	}
	*ret = f;
	return 0;
}

void tracefs_files_free(struct tracefs_files *f)
{
	if (!f)
		return;
	hmap_free_values(&f->kinds);
	hmap_free(&f->local);
	FREE_ALL(f->proc_root, f);
}

/* "pipe:[123]", "socket:[123]", "anon_inode:[eventpoll]", "/dev/pts/0", "/home/x" */
static struct file_kind kind_of(const struct tracefs_files *f, const char *name)
{
	unsigned long long inode = 0;

	if (sscanf(name, "pipe:[%llu]", &inode) == 1)
		return (struct file_kind){CALL_PIPE, inode};
	if (sscanf(name, "socket:[%llu]", &inode) == 1)
		return (struct file_kind){hmap_get(&f->local, inode, 0) ? CALL_LOCAL_SOCKET : CALL_SOCKET, inode};
	if (str_starts(name, "anon_inode:"))
		return (struct file_kind){CALL_EVENT, 0};
	if (str_starts(name, "/dev/pts/") || str_starts(name, "/dev/tty") || strcmp(name, "/dev/console") == 0)
		return (struct file_kind){CALL_TERMINAL, 0};
	if (str_starts(name, "/dev/") && !str_starts(name, "/dev/shm/"))
		return (struct file_kind){CALL_DEVICE, 0};
	return (struct file_kind){name[0] == '/' ? CALL_FILE : CALL_OTHER, 0};
}

uint8_t tracefs_file_kind(struct tracefs_files *f, uint32_t process, uint64_t descriptor, uint64_t *ret_object)
{
	struct file_kind *kind = hmap_get(&f->kinds, process, descriptor);
	char name[NAME_MAX_READ];
	ssize_t n;

	if (!kind) {
		n = readlink(STR_TEXT(300, "%s/%u/fd/%llu", f->proc_root, process, (unsigned long long)(uint32_t)descriptor), name, sizeof(name) - 1);
		name[n > 0 ? n : 0] = '\0';
		kind = hmap_keep(&f->kinds, process, descriptor, calloc(1, sizeof(*kind)));
		if (!kind)
			return CALL_OTHER;
		*kind = kind_of(f, name);
	}
	if (kind->object)
		*ret_object = kind->object;
	return kind->call;
}
