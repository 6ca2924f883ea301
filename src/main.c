/* The client. On a machine that crawls a question must start at once: it goes to the recorder from here, with the C library alone.
 * Everything else, and a question that no recorder takes, loads the program: twenty libraries and 4 ms of CPU. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/config.h"
#include "lib/data/str.h"
#include "lib/system/urgent.h"
#include "machine/client/request.h"
#include "lib/system/program.h"

#define EXIT_WITHOUT_PROGRAM 3

/* --- the question --- */

struct question {
	const char *run_dir;
	char *words[REQUEST_WORDS + 1];
	int n;
};

static bool add_word(struct question *q, const char *word)
{
	if (q->n == REQUEST_WORDS)
		return false;
	q->words[q->n++] = (char *)word;
	return true;
}

/* Options that name a recording, or that this process must see to: --post is the recorder's own (machine/recorder/hook.h). */
static bool is_for_program(const char *word)
{
	static const char *const names[] = {"--store", "--from", "--config", "--elsewhere", "--help"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str_starts(word, names[i]) && strchr("=", word[strlen(names[i])]))
			return true;
	return strcmp(word, "-h") == 0 || strcmp(word, "--version") == 0 || strcmp(word, "--post") == 0;
}

/* The recorder that is asked knows where its files are: --run-dir does not go with the question. */
static bool take_words(struct question *q, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--run-dir") == 0) {
			if (++i == argc)
				return false;
			q->run_dir = argv[i];
		} else if (str_starts(argv[i], "--run-dir=")) {
			q->run_dir = argv[i] + strlen("--run-dir=");
		} else if (is_for_program(argv[i]) || !add_word(q, argv[i])) {
			return false;
		}
	}
	return true;
}

/* Whether the recorder is to be asked; without a verb the words are of `why`. */
static bool read_question(int argc, char **argv, struct question *q)
{
	bool bare = argc < 2 || argv[1][0] == '-';

	*q = (struct question){.run_dir = SYSTEM_RUN_DIR};
	if (!request_is_urgent(bare ? "why" : argv[1]))
		return false;
	return (!bare || add_word(q, "why")) && take_words(q, argc - 1, argv + 1);
}

/* Root's client is urgent while it asks, and while it ends: next to programs that switch as fast as they can a task of the normal priority
 * waits seconds for a CPU, and the shell waits for the end. */
static int ask(const struct question *q)
{
	struct urgent_section urgent = urgent_section_begin();
	int status = request_send(q->run_dir, q->n, q->words, STDOUT_FILENO);

	if (status < 0) /* the program takes longer */
		urgent_section_end(&urgent);
	return status;
}

/* --- the program --- */

static void *load_from(const char *folder, const char *below)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s%s/" PROGRAM_FILE, folder, below) >= sizeof(path) || access(path, F_OK) < 0)
		return NULL;
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *load_program(void)
{
	char folder[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	const char *held = getenv(PROGRAM_HELD);
	char *slash;
	void *handle;

	if (n < 0)
		return NULL;
	folder[n] = '\0';
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	handle = load_from(folder, "");
	if (!handle)
		handle = load_from(folder, "/../lib/whyslow");
	if (!handle && held && strncmp(held, HELD_FOLDER, strlen(HELD_FOLDER)) == 0)
		handle = dlopen(held, RTLD_NOW | RTLD_LOCAL);
	return handle;
}

static int run_program(int argc, char **argv, int asked)
{
	void *handle = load_program(), *address = handle ? dlsym(handle, PROGRAM_FUNCTION) : NULL;
	const char *reason = address ? NULL : dlerror();
	int (*program)(int, char **, int);

	if (!address) {
		fprintf(stderr, "whyslow: cannot load " PROGRAM_FILE " (%s): install whyslow again\n",
			reason ? reason : "it is neither in the folder of this program nor in ../lib/whyslow");
		return EXIT_WITHOUT_PROGRAM;
	}
	memcpy(&program, &address, sizeof(program));
	return program(argc, argv, asked);
}

int main(int argc, char **argv)
{
	struct question q;
	int status = -EOPNOTSUPP, asked = 0;

	/* texts are UTF-8, whatever the user's locale is (lib/data/fold.h); where the C library came without this one the user's is mostly UTF-8 */
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		setlocale(LC_CTYPE, "");
	if (read_question(argc, argv, &q))
		asked = status = ask(&q);
	return status >= 0 ? status : run_program(argc, argv, asked);
}
