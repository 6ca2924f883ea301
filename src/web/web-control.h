/* How programs of this machine reach a `whyslow serve` that runs: a socket named by its port, in a folder that only who serves may
 * write. So a login code goes to no one but the server, no matter who listens on a port; and nothing secret stands in a command line.
 *
 * One packet asks, one answers, in JSON:
 *   login       {"address": "http://127.0.0.1:7170/", "recording": "...", "code": "..."}   a code for one login
 *   waits CODE  {"waits": true}                     whether that code is still to be used
 *   sessions    {"sessions": [{"number", "user", "scope", "uid", "age", "idle", "left"}, ...]}   (seconds)
 *   end N       {"ended": N}                        ends one session, with 0 all of them and the codes
 * The server answers root and the user that it runs as, by the kernel's word (SO_PEERCRED).
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/net/sessions.h"

#define SYSTEM_WEB_DIR "/run/whyslow-web" /* of the unit; RUNTIME_DIRECTORY in whyslow-web.service */
#define CODE_LIFE      (2 * 60 * NS_PER_SEC)  /* of one that a program passes on at once */
#define PRINTED_LIFE   (10 * 60 * NS_PER_SEC) /* of one that a person copies */

/* The folder of who serves, made where it is missing: RUN_DIR/web, or the unit's. 0, or -errno with *ret_error (caller frees): -EPERM:
 * others may write it or the folder above. */
int web_folder(const char *run_dir, char **ret, char **ret_error);

struct web_control;
struct web_control_options {
	const char *folder, *address, *recording; /* the last: which recording is served*/
	uint16_t port;
	struct sessions *sessions;
};

/* 0 or -errno. */
int web_control_start(const struct web_control_options *options, struct web_control **ret);
void web_control_stop(struct web_control *c);

/* Asks every server that can be reached and trusted: those of RUN_DIR, of root and of the unit. `take` gets each answer (borrowed) with
 * the server's folder and port, and says whether to ask the next one. Returns how many answered, or -errno. */
typedef bool web_answer_fn(void *data, const char *folder, uint16_t port, const json_t *answer);
int web_ask_all(const char *run_dir, const char *words, web_answer_fn *take, void *data);
/* Asks one of them. The caller's reference, or NULL. */
json_t *web_ask(const char *folder, uint16_t port, const char *words);
/* Who asks, as the user of a session. */
struct user web_user(uint32_t uid);
