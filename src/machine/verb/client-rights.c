#include "machine/verb/client-rights.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/file.h"
#include "lib/data/folder.h"
#include "lib/data/log.h"
#include "lib/rights/fewer-rights.h"
#include "lib/system/spawn.h"
#include "lib/system/urgent.h"
#include "machine/client/request.h"
#include "machine/rule/cause.h"
#include "machine/trace/profile-file.h"
#include "machine/trace/trace-folder.h"
#include "machine/verb/save-answers.h"

/* What an answer reads of the system: who processes are, how the machine is, what users and times are called. */
static const char *const system_paths[] = {
	"/proc",	  "/sys/fs/cgroup",    "/sys/block",	  "/sys/class",	       "/sys/devices",	   "/etc/passwd",
	"/etc/group",	  "/etc/nsswitch.conf", "/etc/localtime", "/etc/ld.so.cache",   "/usr",		   "/lib",
	"/lib64",	  "/run/systemd/userdb", "/var/lib/extrausers", SYSTEM_CAUSES,	       "/dev/urandom",
};

#define OWN_PATHS 6 /* the recording, its log and index; traces; profiles; the run dir */

bool client_has_rights_left(const struct common *c)
{
	return c->for_client && c->viewer.uid != 0 && !c->rights_given_up && geteuid() == 0;
}

/* SQLite opens the log and its index with the first statement. While this is open its file stays usable. */
static void hold_store(struct common *c)
{
	struct store_paths paths = common_paths(c);
	_cleanup_free_ char *error = NULL;

	if (store_open(&paths, STORE_READ, &c->held, &error) < 0)
		c->held = NULL; /* the verb says so */
}

static unsigned work_of(unsigned wants)
{
	return wants & CLIENT_READS_MAPS ? WORK_READS_MAPS : 0;
}

static int take_reading(const struct common *c, unsigned wants)
{
	const char *paths[ARRAY_SIZE(system_paths) + OWN_PATHS], *file = c->config.store_file;
	_cleanup_free_ char *log = NULL, *index = NULL, *traces = trace_folder(file), *profiles = profile_folder(file);
	struct fewer_rights to = {.uid = c->viewer.uid, .gid = (gid_t)c->client_gid, .readable = paths,
				  .work = work_of(wants)};

	if (asprintf(&log, "%s-wal", file) < 0)
		log = NULL;
	if (asprintf(&index, "%s-shm", file) < 0)
		index = NULL;
	if (!log || !index || !traces || !profiles)
		return -ENOMEM;
	for (; to.n_readable < ARRAY_SIZE(system_paths); to.n_readable++)
		paths[to.n_readable] = system_paths[to.n_readable];
	for (size_t i = 0; i < OWN_PATHS; i++)
		paths[to.n_readable++] = (const char *[OWN_PATHS]){file, log, index, traces, profiles, c->config.store_run_dir}[i];
	return fewer_rights_take(&to);
}

/* As root, who writes only there. */
static int take_writing(const char *const *writable, size_t n, unsigned work)
{
	const struct fewer_rights to = {.readable = system_paths, .n_readable = ARRAY_SIZE(system_paths),
					.writable = writable, .n_writable = n, .work = work};

	return fewer_rights_take(&to);
}

static int note_given_up(struct common *c, int r)
{
	c->rights_given_up = r == 0;
	if (r < 0)
		log_error("cannot answer: the process cannot give up root's rights (%s)", strerror(-r));
	return r < 0 ? EXIT_CANNOT : 0;
}

int client_give_up_rights(struct common *c, unsigned wants)
{
	if (!client_has_rights_left(c))
		return 0;
	if (wants & CLIENT_SAVES_ANSWERS)
		save_answers_begin(c);
	hold_store(c);
	if (c->capture)
		c->recorder->leave(c->capture);
	return note_given_up(c, take_reading(c, wants));
}

int client_work_apart(struct common *c, int (*work)(struct common *common, const void *data, void *result), const void *data, void *result,
		      size_t size)
{
	bool urgent = urgent_is(), whole;
	int ends[2], status;
	pid_t pid;

	memset(result, 0, size);
	fflush(NULL);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return EXIT_CANNOT;
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		(void)alarm(ANSWER_TIMEOUT); /* a fork has neither */
		if (urgent)
			(void)urgent_for(BUDGET_QUESTION);
		status = work(c, data, result);
		fflush(NULL);
		_exit(file_write(ends[1], result, size) == 0 ? status : EXIT_CANNOT);
	}
	close(ends[1]);
	whole = pid > 0 && file_read(ends[0], result, size) == (ssize_t)size;
	close(ends[0]);
	return pid > 0 && waitpid(pid, &status, 0) == pid && whole && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_CANNOT;
}

/* SQLite makes files next to the recording. */
int client_keep_writing(struct common *c)
{
	_cleanup_free_ char *folder = folder_of(c->config.store_file);

	if (!client_has_rights_left(c))
		return 0;
	if (!folder)
		return note_given_up(c, -ENOMEM);
	return note_given_up(c, take_writing((const char *[]){c->config.store_run_dir, folder}, 2, WORK_WRITES));
}

int client_keep_holding(struct common *c, unsigned wants)
{
	if (!client_has_rights_left(c))
		return 0;
	spawn_oom_adjust(OOM_SURVIVES); /* the hold watchdog inherits it, and cannot write to its own file any more */
	return note_given_up(c, take_writing((const char *[]){c->config.store_run_dir, "/sys/fs/cgroup", "/dev/null"}, 3, WORK_HOLDS | work_of(wants)));
}

void client_close(struct common *c)
{
	store_close(c->held);
	c->held = NULL;
	save_answers_end(c);
}
