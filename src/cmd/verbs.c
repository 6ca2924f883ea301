#include "cmd/verb.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"

#define CONFIG_FILE "/etc/whyslow/whyslow.conf"

extern const struct verb verb_why, verb_mark, verb_list, verb_show, verb_feedback, verb_record, verb_features, verb_config,
	verb_doctor, verb_export;

const struct verb *const verbs[] = {
	&verb_why,    &verb_mark,     &verb_list,   &verb_config, &verb_record, &verb_features, NULL,
};

const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; verbs[i]; i++)
		if (strcmp(verbs[i]->name, name) == 0)
			return verbs[i];
	return NULL;
}

int usage_error(const char *verb, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "whyslow %s: ", verb);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return EXIT_USAGE;
}

static void print_overview(void)
{
	const char *group = "";

	puts("Usage: whyslow [VERB] [OPTIONS]\n\nWhy is it slow? Without a verb: why now.");
	for (size_t i = 0; verbs[i]; i++) {
		char left[64];

		if (strcmp(group, verbs[i]->group) != 0)
			printf("\n%s\n", verbs[i]->group);
		group = verbs[i]->group;
		snprintf(left, sizeof(left), "%s %s", verbs[i]->name, verbs[i]->words);
		printf("  %-28s %s\n", left, verbs[i]->help);
	}
	puts("\n'whyslow VERB --help' lists a verb's options.");
}

static void print_help(const struct verb *verb, const struct option_row *common)
{
	printf("Usage: whyslow %s %s[OPTIONS]\n\n%s\n\nOptions:\n", verb->name, *verb->words ? verb->words : "",
	       verb->help);
	options_print(verb->options);
	options_print(common);
	puts("\nTIME is what journalctl takes (now, -5min, 14:32, '2026-11-20 14:32:07') or a mark's id.");
	puts("Exit status: 0 answered, 1 nothing found wrong, 2 usage, 3 cannot (said why).");
}

static int read_config(struct common *c)
{
	const char *path = c->config_file ? c->config_file : CONFIG_FILE;
	_cleanup_free_ char *error = NULL;
	int r = config_defaults(&c->config);

	if (r == 0)
		r = config_read(&c->config, path, &error);
	if (r == -ENOENT && !c->config_file)
		r = 0;
	if (r < 0) {
		log_error("%s", error ? error : strerror(-r));
		return r;
	}
	if (c->store_file || c->from_file) {
		free(c->config.store_file);
		c->config.store_file = strdup(c->from_file ? c->from_file : c->store_file);
	}
	if (c->run_dir) {
		free(c->config.store_run_dir);
		c->config.store_run_dir = strdup(c->run_dir);
	}
	return c->config.store_file && c->config.store_run_dir ? 0 : -ENOMEM;
}

struct store *open_common_store(const struct common *c, enum store_mode mode)
{
	struct store_paths paths = {c->config.store_file, c->from_file ? NULL : c->config.store_run_dir};
	_cleanup_free_ char *error = NULL;
	struct store *store;
	int r = store_open(&paths, mode, &store, &error);

	if (r == 0)
		return store;
	log_error("%s", error ? error : strerror(-r));
	return NULL;
}

int verbs_main(int argc, char **argv)
{
	struct common common = {};
	const struct option_row rows[] = {
		{OPTION_TEXT, 0, "store", "FILE", &common.store_file, "the recording (default: see 'whyslow config')"},
		{OPTION_TEXT, 0, "from", "FILE", &common.from_file, "an exported recording, of any machine"},
		{OPTION_TEXT, 0, "run-dir", "DIR", &common.run_dir, "where the recorder keeps its journal and socket"},
		{OPTION_TEXT, 0, "config", "FILE", &common.config_file, "configuration (default: " CONFIG_FILE ")"},
		{OPTION_FLAG, 0, "json", NULL, &common.json, "JSON, for programs"},
		{OPTION_FLAG, 'h', "help", NULL, &common.help, "this text"},
		{},
	};
	static char *const bare[] = {"why", NULL};
	_cleanup_free_ char *error = NULL;
	const struct verb *verb;
	int words, status;

	if (argc > 1 && (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		print_overview();
		return EXIT_ANSWERED;
	}
	if (argc > 1 && strcmp(argv[1], "--version") == 0) {
		puts("whyslow " WHYSLOW_VERSION);
		return EXIT_ANSWERED;
	}
	if (argc > 1 && argv[1][0] != '-') {
		verb = verb_find(argv[1]);
		if (!verb)
			return usage_error(argv[1], "there is no such verb; 'whyslow help' lists them");
		argc--;
		argv++;
	} else {
		verb = verb_find(bare[0]);
	}
	words = options_parse(verb->options, rows, argc, argv, &error);
	if (words < 0)
		return usage_error(verb->name, "%s", error ? error : "bad options");
	if (common.help) {
		print_help(verb, rows);
		return EXIT_ANSWERED;
	}
	common.colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	if (read_config(&common) < 0)
		return EXIT_USAGE;
	status = verb->run(&common, words, argv);
	config_free(&common.config);
	return status;
}
