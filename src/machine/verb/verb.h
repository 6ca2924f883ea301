/* A verb of the command line: one const table in one file of a room of src/cmd, one row in verbs.c. */
#pragma once

#include <stdbool.h>

#include "lib/data/config.h"
#include "lib/data/options.h"
#include "lib/rights/fewer-rights.h"
#include "machine/client/ask.h"
#include "machine/recording/store.h"

/* Exit statuses, the same for every verb. */
enum { EXIT_ANSWERED = 0, EXIT_NOTHING_FOUND = 1, EXIT_USAGE = 2, EXIT_CANNOT = 3, EXIT_ABSENT = 4 };

struct capture;
struct dataset;
struct service_question;
struct trace;

/* A recorder does these for verbs, which otherwise need none of its code: the functions are described in machine/recorder. */
struct recorder_calls {
	int (*look)(unsigned ticks, int pause, struct dataset *ret, char **ret_missing, char **ret_error); /* recorder_look() */
	int (*freeze)(struct capture *c, uint64_t since, size_t most, bool named, int patience, struct trace *ret); /* capture_freeze() */
	int (*freeze_now)(struct capture *c, uint64_t since, size_t most, int patience, int64_t *at, struct trace *ret); /* capture_freeze_now() */
	void (*leave)(struct capture *c); /* capture_leave() */
};

/* What all verbs share; set before a verb runs. */
struct common {
	struct config config;
	const char *config_file; /* NULL = the normal place, if it is there */
	const char *store_file;	 /* --store */
	const char *from_file;	 /* --from: an exported recording */
	const char *run_dir;	 /* --run-dir */
	bool json;
	bool help;
	bool colour;
	const struct option_row *shared_options; /* those of all verbs, for help */
	struct viewer viewer; /* for whom (machine/model/visibility.h) */
	int asked;	    /* -errno: the client has asked the recorder in vain; 0 = it has not asked */
	bool for_client;    /* answers a question asked of the recorder: only the verb's own options count */
	const struct recorder_calls *recorder;
	struct capture *capture; /* the recorder's flight recorder, where for_client; NULL = none */
	uint32_t client_gid;	  /* where for_client: the asker's group */
	bool rights_given_up;	  /* client-rights.h */
	struct store *held;	  /* keeps the recording's files open where rights are given up */
	struct answer_saver *saver; /* save-answers.h; NULL = none */
};

/* What an answer to another user's question does with root's rights (client-rights.h). */
enum verb_rights { RIGHTS_GIVEN_UP, RIGHTS_GIVEN_UP_BY_VERB };

/* A process by its number, or by a word that means one that lives (entity_matches()). EXIT_ANSWERED; else an exit status, after saying why
 * there is none or listing the several. */
int verb_find_process(const struct common *common, const char *who, uint32_t *ret);

/* How the files that a verb reads are written, in full, for its help and its manual page; each line ends with a newline. */
struct grammar {
	const char *title, *text;
};

/* A command line that does something useful, and what it is for: of --help and the manual page. */
struct example {
	const char *command, *meaning;
};

struct verb {
	const char *name;
	const char *group; /* of `whyslow help` */
	const char *words; /* "[NOTE]": what follows the name */
	const char *help;  /* one line */
	const char *about; /* what it does and what its words mean, for its manual page: a line a paragraph; NULL = its subverbs' intro says it */
	const struct example *examples; /* the last one is empty */
	const struct option_row *options;
	const struct grammar *grammar; /* of its files; may be NULL */
	bool takes_command; /* its first word begins a command line of its own */
	const struct subverbs *subverbs; /* ... of one of these (subverb.h): run without words it lists them, as for --help; may be NULL */
	bool remote; /* the daemon answers it for unprivileged users */
	const char *const *own_file; /* an option's value: a path that is read with the user's own rights, so that no recorder answers where it is given; may be NULL */
	enum verb_rights rights;
	bool for_clients; /* the daemon lets it answer, but it runs with the user's rights and asks for what it cannot read */
	bool text_only; /* it has no --json */
	bool runs_programs; /* or itself for long: then it has no bound of memory as a question has */
	int (*run)(struct common *common, int argc, char **argv); /* argv[0] is the verb; options are gone */
};

extern const struct verb *const verbs[]; /* NULL-terminated */
const struct verb *verb_find(const char *name);
/* Says that there is no such verb, and which one may be meant. EXIT_USAGE. */
int verb_unknown(const char *said_by, const char *name);
/* Those of the shared options that this verb takes. The result is valid until the next call. */
const struct option_row *verb_shared_options(const struct verb *verb, const struct option_row *shared);
/* The options of the verb, and of its subverb, that begin these words; NULL = there is none. */
const struct option_row *verb_options_of(const char *const *words);
/* Answers a question that a user asked the recorder; data is the recorder's struct record_options. As struct record_options wants it. */
int verbs_answer(const struct service_question *q, const void *data);
/* Reads options, configuration and rights, and runs the verb. Returns the exit status. */
int verbs_main(int argc, char **argv, int asked);

/* The recording that the options name. One that --from names has no recorder, and may be from anywhere (lib/store/database.h). */
struct store_paths common_paths(const struct common *common);
/* Opens the store a verb reads or writes marks in; says on standard error why it cannot. NULL then. */
struct store *common_open_store(const struct common *common, enum store_mode mode);
/* Whether the recorder of the run directory, if one runs there, writes the recording that is asked about: else its events and its
 * button are not this one's. */
bool common_has_own_recorder(const struct common *common);
/* Says which times of the recording are damaged and left out, where any are. */
void verb_warn_of_damage(const struct store *store);
/* Who may not read the recording asks the recorder (machine/client/request.h): an unprivileged user who names no recording. */
bool common_asks_recorder(const struct common *common);
/* How a view that is started like this asks its questions; `common` must outlive it. */
struct asker common_asker(const struct common *common);
/* The same for a view that is about to give up root's rights: it asks the recorder. */
struct asker common_recorder_asker(const struct common *common);
/* A verb that runs for long gives up what it does not need of root's rights (fewer_rights_take_daemon()). 0; EXIT_CANNOT, after saying why. */
int verb_give_up_rights(enum fewer_rights_daemon work);
/* Says "whyslow VERB: ..." and returns EXIT_USAGE. */
int verb_usage_error(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));
