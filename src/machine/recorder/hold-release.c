#include "machine/recorder/hold-release.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/folder.h"
#include "lib/data/log.h"
#include "machine/act/hold-file.h"

#define WATCHED_MAX 64	 /* processes: of holds beyond it the end is seen at the next change only */
#define AGAIN	    1000 /* ms until what could not be given back is tried again */
#define PROC	    "/proc"

struct hold_release {
	pthread_t thread;
	int stop[2], changes;
	char *run_dir;
};

struct watched {
	struct pollfd fds[WATCHED_MAX + 2];
	nfds_t n;
};

static void watch_process(struct watched *w, uint32_t pid, uint64_t start)
{
	int fd;

	if (!pid || w->n == ARRAY_SIZE(w->fds))
		return;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return;
	if (process_lives(PROC, pid, start))
		w->fds[w->n++] = (struct pollfd){fd, POLLIN, 0};
	else
		close(fd);
}

static void watch_all(const struct hold_release *k, struct watched *w)
{
	_cleanup_free_ struct hold *list = NULL;
	size_t n;

	if (hold_file_list(k->run_dir, &list, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		watch_process(w, list[i].owner, list[i].owner_start);
		watch_process(w, list[i].guardian, list[i].hold_watchdog_start);
		for (size_t h = 0; list[i].kept && h < list[i].heads.list.n; h++)
			watch_process(w, list[i].heads.list.v[h].pid, list[i].heads.list.v[h].start);
		hold_free(&list[i]);
	}
}

static void forget(struct watched *w)
{
	for (nfds_t i = 2; i < w->n; i++)
		close(w->fds[i].fd);
	w->n = 2;
}

/* Watched first and swept after: who ends in between is seen by the sweep. */
static void *keep(void *argument)
{
	struct hold_release *k = argument;
	struct watched w = {.fds = {{k->stop[0], POLLIN, 0}, {k->changes, POLLIN, 0}}, .n = 2};
	char events[4096];
	int said = 0;

	for (;;) {
		int r;

		watch_all(k, &w);
		r = hold_sweep(PROC, k->run_dir);
		if (r < 0 && r != -EBUSY && r != said)
			log_warning("cannot release a process that is held back: %s",
				    strerror(-r));
		said = r;
		if (poll(w.fds, w.n, r < 0 ? AGAIN : -1) < 0 && errno != EINTR)
			break;
		if (w.fds[0].revents)
			break;
		(void)!read(k->changes, events, sizeof(events));
		forget(&w);
	}
	forget(&w);
	return NULL;
}

static int open_all(struct hold_release *k)
{
	_cleanup_free_ char *folder = hold_folder(k->run_dir);
	int r = folder ? folder_make(folder, 0700) : -ENOMEM;

	if (r < 0)
		return r;
	k->changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (k->changes < 0 || inotify_add_watch(k->changes, folder, IN_MOVED_TO | IN_DELETE) < 0 ||
	    pipe2(k->stop, O_CLOEXEC) < 0)
		return -errno;
	return 0;
}

static void free_hold_release(struct hold_release *k)
{
	cleanup_fd(&k->changes);
	cleanup_fd(&k->stop[0]);
	cleanup_fd(&k->stop[1]);
	FREE_ALL(k->run_dir, k);
}

int hold_release_start(const char *run_dir, struct hold_release **ret)
{
	struct hold_release *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return -ENOMEM;
	k->changes = k->stop[0] = k->stop[1] = -1;
	k->run_dir = strdup(run_dir);
	r = k->run_dir ? open_all(k) : -ENOMEM;
	r = r ?: -pthread_create(&k->thread, NULL, keep, k);
	if (r < 0) {
		free_hold_release(k);
		return r;
	}
	pthread_setname_np(k->thread, "keeper");
	*ret = k;
	return 0;
}

void hold_release_stop(struct hold_release *k)
{
	if (!k)
		return;
	cleanup_fd(&k->stop[1]);
	k->stop[1] = -1;
	pthread_join(k->thread, NULL);
	free_hold_release(k);
}
