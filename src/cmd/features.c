#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/view/json.h"
#include "machine/recorder/recorder.h"
#include "machine/recording/store.h"
#include "machine/verb/verb.h"

#define JUST_NOW (5 * NS_PER_SEC)  /* a recorder that wrote so lately is running */
#define LATELY	 (10 * NS_PER_SEC) /* which of its ticks are asked */

static const struct option_row options[] = {{}};

/* live: measured here, now. fixture: not here, but tested with recorded input. unverified: neither. */
static const char *status_of(const struct feature *f, bool present)
{
	if (present)
		return "live";
	return str_starts(f->proof, "fixture:") ? "fixture" : "unverified";
}

static void note_present(const struct dataset *d, feature_set present[ENTITY_KIND_END])
{
	for (size_t i = 0; i < d->subjects.n; i++)
		present[d->subjects.v[i]->info.kind] |= d->subjects.v[i]->info.present;
}

/* A running recorder has just measured what a look of our own would, and more: the flight recorder's. Loading the programs
 * that look into the kernel takes seconds. -ENOENT where none runs. */
static int ask_recording(const struct common *common, feature_set present[ENTITY_KIND_END])
{
	const struct store_paths paths = common_paths(common);
	_cleanup_free_ char *error = NULL;
	_cleanup_(dataset_free) struct dataset d = {};
	_cleanup_store_ struct store *store = NULL;
	int64_t first, last;
	unsigned damaged;
	int r = store_open(&paths, STORE_READ, &store, &error);

	if (r < 0)
		return r;
	r = store_extent(store, &first, &last);
	if (r == 0 && last < clock_wall() - JUST_NOW)
		r = -ENOENT;
	r = r ?: store_load(store, last - LATELY, last, &d, &damaged);
	if (r == 0)
		note_present(&d, present);
	return r;
}

/* Which features of each kind two samples of everything give. */
static int look(feature_set present[ENTITY_KIND_END], char **ret_missing)
{
	_cleanup_free_ char *error = NULL;
	_cleanup_(dataset_free) struct dataset d = {};
	int r = recorder_look(2, 100, &d, ret_missing, &error);

	if (r < 0)
		(void)log_failure(r, "%s", error ? error : strerror(-r));
	else
		note_present(&d, present);
	return r;
}

static json_t *feature_json(const struct feature *f, enum entity_kind kind, bool present)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:s, s:s, s:s}", "kind", entity_kind_name(kind), "name", f->name,
			 "unit", unit_name(f->unit), "type",
			 f->kind == COUNTER ? "counter" :
			 f->kind == GAUGE   ? "gauge" :
					      "sampled gauge",
			 "resource", resource_name(f->resource), "quantum", (json_int_t)f->quantum, "status",
			 status_of(f, present), "proof", f->proof, "help", f->help);
}

static void print_kind(enum entity_kind kind, feature_set present)
{
	size_t n, live = 0;
	const struct feature *f = features_of(kind, &n);

	for (size_t i = 0; i < n; i++)
		live += present >> i & 1;
	printf("\n%s: %zu features, %zu on this machine\n", entity_kind_name(kind), n, live);
	for (size_t i = 0; i < n; i++)
		printf("  %-22s %-4s %-20s %s\n", f[i].name, present >> i & 1 ? "yes" : "no", unit_name(f[i].unit),
		       f[i].help);
}

static int print_json(const feature_set present[ENTITY_KIND_END])
{
	json_t *array = json_array();

	for (int kind = ENTITY_PROCESS; kind < ENTITY_SHORT_LIVED; kind++) {
		size_t n;
		const struct feature *f = features_of((enum entity_kind)kind, &n);

		for (size_t i = 0; i < n; i++)
			json_array_append_new(array, feature_json(&f[i], (enum entity_kind)kind, present[kind] >> i & 1));
	}
	json_print(json_pack("{s:s, s:o}", "schema", "whyslow.features/1", "features", array), JSON_INDENT(1), stdout);
	return EXIT_ANSWERED;
}

static int run(struct common *common, int argc, char **argv)
{
	feature_set present[ENTITY_KIND_END] = {};
	_cleanup_free_ char *missing = NULL;

	if (argc > 1)
		return verb_usage_error("features", "unexpected argument '%s'", argv[1]);
	if (ask_recording(common, present) < 0 && look(present, &missing) < 0)
		return EXIT_CANNOT;
	if (common->json)
		return print_json(present);
	puts("yes: this machine provides it; no: it does not, or not to this recorder ('whyslow doctor' says why)");
	for (int kind = ENTITY_PROCESS; kind < ENTITY_SHORT_LIVED; kind++)
		print_kind((enum entity_kind)kind, present[kind]);
	if (missing && *missing)
		printf("\nmissing:\n%s", missing);
	if (!missing)
		puts("\nas a running recorder measures it; 'whyslow doctor' shows how to fix the rest");
	return EXIT_ANSWERED;
}

const struct verb verb_features = {
	.name = "features",
	.group = "Administration",
	.words = "",
	.help = "list what is measured, and what this machine provides",
	.about = "Lists every counter that is recorded of processes and of the machine, its unit, and whether this machine provides it.",
	.examples = (const struct example[]){
		{"whyslow features", "all of them"},
		{"whyslow features --json", "for a program"},
		{}},
	.options = options,
	.run = run,
};
