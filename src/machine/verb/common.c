/* The options that verbs share name a recording: here it is opened, and here is decided who is asked about it. */
#include "machine/verb/verb.h"

#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "machine/trace/trace-file.h"

struct store_paths common_paths(const struct common *c)
{
	return (struct store_paths){c->config.store_file, c->from_file ? NULL : c->config.store_run_dir};
}

struct store *common_open_store(const struct common *c, enum store_mode mode)
{
	struct store_paths paths = common_paths(c);
	_cleanup_free_ char *error = NULL;
	struct store *store;
	int r = store_open(&paths, mode, &store, &error);

	if (r == 0 && store_run_dir_is_foreign(store))
		log_warning("the journal and marks in %s belong to another recording and are left out; pass this one's --run-dir, or read it with --from",
			    paths.run_dir);
	if (r == 0)
		return store;
	if (c->from_file && trace_is_file(c->from_file))
		log_error("%s holds only events, no counters: 'waits', 'threads', 'cpu' and 'export' read it", c->from_file);
	else if (common_asks_recorder(c)) /* the recorder was asked before, if the verb may: it is not for everybody, or nothing listens */
		log_error("%s; only root can read a recording that root's recorder made", error ? error : strerror(-r));
	else
		log_error("%s", error ? error : strerror(-r));
	return NULL;
}

bool common_has_own_recorder(const struct common *c)
{
	const struct store_paths paths = common_paths(c);
	_cleanup_free_ char *error = NULL;
	_cleanup_store_ struct store *store = NULL;

	if (c->for_client || !c->store_file || store_open(&paths, STORE_READ, &store, &error) < 0)
		return true;
	return !store_run_dir_is_foreign(store);
}

int verb_give_up_rights(enum fewer_rights_daemon work)
{
	int r = fewer_rights_take_daemon(work);

	if (r < 0)
		log_error("cannot give up root's rights: %s", strerror(-r));
	return r < 0 ? EXIT_CANNOT : 0;
}

void verb_warn_of_damage(const struct store *store)
{
	_cleanup_free_ char *times = store_damage(store);

	if (times)
		log_warning("parts of the recording are damaged and were left out: %s", times);
}

bool common_asks_recorder(const struct common *c)
{
	return !c->for_client && geteuid() != 0 && !c->store_file && !c->from_file && !c->run_dir && !c->config_file;
}

static bool is_remote(const char *name)
{
	const struct verb *verb = verb_find(name);

	return verb && verb->remote;
}

struct asker common_asker(const struct common *c)
{
	return (struct asker){c->store_file, c->from_file, c->run_dir, c->config_file, common_asks_recorder(c) ? is_remote : NULL};
}

struct asker common_recorder_asker(const struct common *c)
{
	return (struct asker){c->store_file, c->from_file, c->run_dir, c->config_file,
			      c->store_file || c->from_file || c->run_dir || c->config_file ? NULL : is_remote};
}
