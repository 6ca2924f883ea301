#include "cmd/act/client-rights.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/data/log.h"
#include "base/system/fewer-rights.h"
#include "cmd/act/save-answers.h"
#include "rule/cause.h"
#include "store/trace/trace-folder.h"

/* What an answer reads of the system: who processes are, how the machine is, what users and times are called. */
static const char *const system_paths[] = {
	"/proc",	  "/sys/fs/cgroup",    "/sys/block",	  "/sys/class",	       "/sys/devices",	   "/etc/passwd",
	"/etc/group",	  "/etc/nsswitch.conf", "/etc/localtime", "/etc/ld.so.cache",   "/usr",		   "/lib",
	"/lib64",	  "/run/systemd/userdb", "/var/lib/extrausers", SYSTEM_CAUSES,
};

#define OWN_PATHS 5 /* the recording, its log and index; traces; the run dir */

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

static int take_fewer(const struct common *c, unsigned wants)
{
	const char *paths[ARRAY_SIZE(system_paths) + OWN_PATHS], *file = c->config.store_file;
	_cleanup_free_ char *log = NULL, *index = NULL, *traces = trace_folder(file);
	struct fewer_rights to = {c->viewer.uid, (gid_t)c->client_gid, paths, 0, wants & CLIENT_READS_MAPS};

	if (asprintf(&log, "%s-wal", file) < 0)
		log = NULL;
	if (asprintf(&index, "%s-shm", file) < 0)
		index = NULL;
	if (!log || !index || !traces)
		return -ENOMEM;
	for (; to.n_readable < ARRAY_SIZE(system_paths); to.n_readable++)
		paths[to.n_readable] = system_paths[to.n_readable];
	for (size_t i = 0; i < OWN_PATHS; i++)
		paths[to.n_readable++] = (const char *[OWN_PATHS]){file, log, index, traces, c->config.store_run_dir}[i];
	return fewer_rights_take(&to);
}

int client_give_up_rights(struct common *c, unsigned wants)
{
	int r;

	if (!client_has_rights_left(c))
		return 0;
	if (wants & CLIENT_SAVES_ANSWERS)
		save_answers_begin(c);
	hold_store(c);
	r = take_fewer(c, wants);
	c->rights_given_up = r == 0;
	if (r < 0)
		log_error("cannot answer: the process cannot give up root's rights (%s)", strerror(-r));
	return r < 0 ? EXIT_CANNOT : 0;
}

void client_close(struct common *c)
{
	store_close(c->held);
	c->held = NULL;
	save_answers_end(c);
}
