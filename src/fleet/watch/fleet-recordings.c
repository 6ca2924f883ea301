/* Our own recordings of many machines as a source of a fleet: files that `whyslow export --format store` wrote, one a
 * machine, named by the file. It is here and not in fleet/formats because it reads the store. */
#include "fleet/watch/fleet-recordings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/model/fleet-source.h"
#include "lib/data/cleanup.h"

#include <fnmatch.h>
#include <sys/stat.h>

#define ENDINGS "/*.{db,whyslow}"

static int64_t before(int64_t to)
{
	return to == INT64_MAX ? to - 1 : to;
}

char *fleet_recording_host(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');

	return dot && dot > name ? strndup(name, (size_t)(dot - name)) : strdup(name);
}

static void keep_matching(const struct fleet_input *input, struct recorded *r)
{
	for (size_t i = 0; i < r->counters.n;) {
		struct recorded_counter *c = &r->counters.v[i];

		if (!input->match || fnmatch(input->match, c->name, 0) == 0) {
			i++;
			continue;
		}
		FREE_ALL(c->name, c->unit, c->values);
		*c = r->counters.v[--r->counters.n];
	}
}

static int load_file(const struct fleet_input *input, struct intake *into, const char *path)
{
	_cleanup_free_ char *error = NULL, *name = fleet_recording_host(path);
	struct store_paths paths = {path, NULL};
	_cleanup_(recorded_free) struct recorded recorded = {};
	_cleanup_store_ struct store *store = NULL;
	int r;

	if (!name)
		return -ENOMEM;
	r = store_open(&paths, STORE_READ, &store, &error);
	if (r < 0) {
		intake_bad(into, path, 0, "%s", error ? error : strerror(-r));
		return r == -ENOMEM ? r : 0;
	}
	r = recorded_read(store, input->from, before(input->to), &recorded);
	if (r == 0) {
		keep_matching(input, &recorded);
		r = fleet_recording_put(&recorded, name, into);
		if (!recorded.times.n)
			intake_bad(into, path, 0, "nothing is recorded in that time");
	} else {
		intake_bad(into, path, 0, "%s", store_reason(store, r));
	}
	return r == -ENOMEM ? r : 0;
}

int fleet_recordings_find(const char *location, glob_t *ret)
{
	_cleanup_free_ char *below = NULL;
	struct stat st;
	int r;

	if (stat(location, &st) == 0 && S_ISDIR(st.st_mode)) {
		if (asprintf(&below, "%s" ENDINGS, location) < 0)
			return -ENOMEM;
		location = below;
	}
	r = glob(location, GLOB_BRACE, NULL, ret);
	return r == GLOB_NOSPACE ? -ENOMEM : r ? -ENOENT : 0;
}

static int load(const struct fleet_input *input, struct intake *into, char **ret_error)
{
	glob_t files = {};
	int r = fleet_recordings_find(input->location, &files);

	if (r < 0)
		return str_fail(ret_error, r, "%s: there is no recording; 'whyslow export --format store' writes one", input->location);
	for (size_t i = 0; r == 0 && i < files.gl_pathc; i++) {
		r = load_file(input, into, files.gl_pathv[i]);
		intake_progress(into, i + 1, files.gl_pathc);
	}
	globfree(&files);
	return r;
}

/* An SQLite file that has our table of segments: a fleet's own store is another. */
static int recognise(const char *location)
{
	static const char magic[] = "SQLite format 3";
	glob_t files = {};
	char begin[sizeof(magic)] = "";
	int score = 0;

	if (fleet_recordings_find(location, &files) == 0) {
		_cleanup_fclose_ FILE *f = fopen(files.gl_pathv[0], "re");
		struct store_paths paths = {files.gl_pathv[0], NULL};
		struct store *store;
		char *error = NULL;

		if (f && fread(begin, 1, sizeof(begin), f) == sizeof(begin) && strcmp(begin, magic) == 0 &&
		    store_open(&paths, STORE_READ, &store, &error) == 0) {
			store_close(store);
			score = 80;
		}
		free(error);
	}
	globfree(&files);
	return score;
}

const struct fleet_source fleet_source_recordings = {
	.name = "recordings",
	.help = "recordings of many machines: a file (export --format store), a folder of .db files, or a glob",
	.recognise = recognise,
	.load = load,
};

int fleet_recording_put(const struct recorded *r, const char *server, struct intake *into)
{
	int s = intake_server(into, server);

	if (s < 0)
		return s;
	VEC_EACH(c, r->counters) {
		int counter = intake_counter(into, c->name, &(struct counter_info){FLEET_GAUGE, c->unit, c->help}), code;

		code = counter < 0 ? counter : intake_column(into, s, counter, r->times.n, r->times.v, c->values);
		if (code < 0)
			return code;
	}
	return 0;
}
