/* The configuration: one table of settings, a file that overrides defaults, and a way to print what is in force.
 *
 *   # comment
 *   record.interval = 1s
 *
 * An unknown name or a bad value is an error with its line and column: a typing error must not silently leave a
 * default in force.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define CONFIG_FILE "/etc/whyslow/whyslow.conf"
#define SYSTEM_RUN_DIR "/run/whyslow" /* of the recorder that root runs: its socket answers everybody */

struct config {
	int64_t record_interval; /* ns */
	bool record_sockets;
	bool record_lock_memory;
	bool record_realtime;
	char *record_rules;	 /* file; not there: the rules that are built in */
	bool ring;
	uint64_t ring_size; /* bytes of memory; 0 = 1 % of it, at most 64 MiB */
	bool ring_profile;
	bool ring_keep_profile;
	uint64_t ring_disk; /* bytes of traces kept of marks */
	char *store_file;
	char *store_run_dir;
	int64_t store_max_age;	 /* ns */
	uint64_t store_max_size; /* bytes */
	int64_t answer_window;	 /* ns */
	char *answer_postgres;	 /* a service of libpq's by which PostgreSQL is asked; "none" = it is not */
	char *answer_mariadb;	 /* a file of options by which MariaDB is asked; "none" = it is not */
	uint64_t socket_mode;	 /* of RUN/socket */
	char *socket_group;	 /* its group, whose members see everything; "none" = none */
	char *agent_key;	 /* the button; "none" = none */
	bool agent_windows;	 /* mark programs that do not answer */
	char *ship_to;		 /* a folder or a URL; "none" = none */
	char *ship_token_file;	 /* of a URL; "none" = none */
};

/* Defaults: the system's places for root, the user's own otherwise. 0 or -ENOMEM. */
int config_defaults(struct config *c);
/* Reads a file over what is set. -ENOENT when it is not there; -EINVAL with *ret_error "file:line:column: ...". */
int config_read(struct config *c, const char *path, char **ret_error);
/* Defaults, and over them `file`; NULL = the system's, which need not be there, nor be readable: where the administrator keeps it
 * to itself, users have the defaults. As config_read(); *c is to be freed in any case. */
int config_load(struct config *c, const char *file, char **ret_error);
/* Calls `each` for every setting, with its value as the file has it. 0 or -ENOMEM. */
int config_each(const struct config *c, void (*each)(const char *name, const char *help, const char *value, void *data), void *data);
/* The effective settings with their help, in the file's own syntax. 0 or -ENOMEM. */
int config_print(const struct config *c, FILE *out);
void config_free(struct config *c);
