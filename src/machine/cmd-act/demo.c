/* A newcomer's first minute: plays one harmless slowdown before a recorder of its own, presses the button and
 * prints the answer next to the truth. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/file.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "lib/view/json.h"
#include "machine/cmd-why/why.h"
#include "machine/verb/verb.h"

#define ARGUMENTS_MAX 8
#define PAST_SECONDS  40 /* an answer takes less than 30 for no past at all */
#define SLOW_SECONDS  9
#define START_TRIES   300 /* of 100 ms: a recorder loads its programs into the kernel */
#define PATH_LONGEST  256
#define FOLDER	      "FOLDER" /* in arguments: the demo's own */
#define LIBRARY	      "/library" /* in it: what the editor reads in */
#define LIBRARY_SIZE  (256 << 20)
#define SETTLING      3	 /* seconds in which the editor opens its files */
#define MUCH_LATER    20 /* ms: nothing sees less */
#define TWICE_CPUS    "CPUS"   /* so many threads that they are in each other's way at once */

/* `arguments` are of one of the lab's programs. */
struct demo {
	const char *name, *help, *program;
	const char *arguments[ARGUMENTS_MAX];
	bool library; /* needs it filled */
};

static const struct demo demos[] = {
	{.name = "cpu",
	 .help = "a program computes on all CPUs",
	 .program = "burn",
	 .arguments = {TWICE_CPUS, "100"}},
	{.name = "disk",
	 .help = "sixteen processes read a 256 MB file from the disk repeatedly, as fast as possible",
	 .program = "stream",
	 .arguments = {"read", FOLDER LIBRARY, "256", "0", "16"},
	 .library = true},
	{.name = "threads",
	 .help = "a program starts 400 threads that never sleep",
	 .program = "swarm",
	 .arguments = {"400", "150", "10"}},
	{.name = "files",
	 .help = "a program opens 300 files a second and closes none",
	 .program = "leak",
	 .arguments = {"300"}},
	{},
};

static const struct option_row options[] = {{}};

struct play {
	char programs[PATH_LONGEST]; /* the lab's */
	char folder[PATH_LONGEST], store[PATH_LONGEST], run_dir[PATH_LONGEST];
	pid_t recorder, victim, culprit;
	time_t began, hurt; /* the victim, and what hurts it */
};

static volatile sig_atomic_t is_stopped;

static void stop(int unused)
{
	(void)unused;
	is_stopped = 1;
}

static json_t *demos_json(void)
{
	json_t *list = json_array();

	for (const struct demo *d = demos; d->name; d++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "name", d->name, "help", d->help));
	return json_pack("{s:s, s:o}", "schema", "whyslow.demos/1", "demos", list);
}

static int list(const struct common *common)
{
	if (common->json)
		return json_print(demos_json(), JSON_INDENT(1), stdout) < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
	puts("A demo takes 45 seconds and does no harm. Available demos:");
	for (const struct demo *d = demos; d->name; d++)
		printf("  whyslow demo %-8s %s\n", d->name, d->help);
	return EXIT_ANSWERED;
}

static const struct demo *find(const char *name)
{
	for (const struct demo *d = demos; d->name; d++)
		if (strcmp(d->name, name) == 0)
			return d;
	return NULL;
}

/* Installed below the prefix, or next to the program in a build folder. */
static int find_programs(char *ret, size_t size)
{
	static const char *const places[] = {"../lib/whyslow/lab", "../lab/programs"};
	char self[PATH_LONGEST];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n < 0)
		return -errno;
	self[n] = '\0';
	slash = strrchr(self, '/');
	*slash = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (access(STR_TEXT(PATH_LONGEST * 2, "%s/%s/burn", self, places[i]), X_OK) == 0)
			return (size_t)snprintf(ret, size, "%s/%s", self, places[i]) < size ? 0
											    : -ENAMETOOLONG;
	}
	return -ENOENT;
}

static bool nap(int ms)
{
	poll(NULL, 0, ms);
	return !is_stopped;
}

static void wait_seconds(int seconds, const char *what)
{
	for (int left = seconds; left > 0 && !is_stopped; left--) {
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "\r%s: %d s ... ", what, left);
		nap(1000);
	}
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

/* The handlers are this program's: a signal that came between fork and exec would be swallowed by one. */
static void take_signals(const sigset_t *mask)
{
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
}

/* Dies with this process. Its words go to a file, or nowhere. Returns its pid or -errno. */
static pid_t start(const char *path, char *const *argv, const char *words)
{
	pid_t parent = getpid(), pid;
	sigset_t all, before;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		prctl(PR_SET_PDEATHSIG, SIGTERM);
		take_signals(&before);
		if (getppid() != parent || null < 0)
			_exit(127);
		for (int fd = 0; fd <= 2; fd++)
			dup2(null, fd);
		if (words && dup2(open(words, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), STDOUT_FILENO) < 0)
			_exit(127);
		execv(path, argv);
		_exit(127);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid < 0 ? -errno : pid;
}

static pid_t start_recorder(const struct play *p)
{
	char *const argv[] = {(char *)"whyslow",
			      (char *)"record",
			      (char *)"--store",
			      (char *)p->store,
			      (char *)"--run-dir",
			      (char *)p->run_dir,
			      NULL};

	return start("/proc/self/exe", argv, NULL);
}

/* What stands for the demo's folder and a number of CPUs are put in. */
static void fill_in(const struct play *p, const char *argument, char *ret, size_t size)
{
	if (strncmp(argument, FOLDER, strlen(FOLDER)) == 0)
		snprintf(ret, size, "%s%s", p->folder, argument + strlen(FOLDER));
	else if (strcmp(argument, TWICE_CPUS) == 0)
		snprintf(ret, size, "%ld", 2 * sysconf(_SC_NPROCESSORS_ONLN));
	else
		snprintf(ret, size, "%s", argument);
}

static pid_t start_program(const struct play *p, const char *program, const char *const *arguments, const char *words)
{
	char path[PATH_LONGEST * 2], filled[ARGUMENTS_MAX][PATH_LONGEST * 2];
	char *argv[ARGUMENTS_MAX + 2] = {path};

	snprintf(path, sizeof(path), "%s/%s", p->programs, program);
	for (size_t i = 0; i < ARGUMENTS_MAX && arguments[i]; i++) {
		fill_in(p, arguments[i], filled[i], sizeof(filled[i]));
		argv[i + 1] = filled[i];
	}
	return start(path, argv, words);
}

/* Of blocks that are on the disk: what was never written is not read from there. */
static int fill_library(const struct play *p)
{
	static char block[1 << 20];
	_cleanup_close_ int fd = -1;

	fd = open(STR_TEXT(PATH_LONGEST * 2, "%s" LIBRARY, p->folder), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	memset(block, 'x', sizeof(block));
	for (size_t done = 0; fd >= 0 && done < LIBRARY_SIZE && !is_stopped; done += sizeof(block))
		if (write(fd, block, sizeof(block)) != sizeof(block))
			break;
	if (fd >= 0 && lseek(fd, 0, SEEK_CUR) == LIBRARY_SIZE && fsync(fd) == 0)
		return 0;
	return log_failure(-EIO, "cannot write a file of %d MB in %s: %s (set TMPDIR to use another folder)", LIBRARY_SIZE >> 20, p->folder, strerror(errno));
}

static void lateness_file(const struct play *p, char *ret, size_t size)
{
	snprintf(ret, size, "%s/lateness", p->folder);
}

/* Something who is in no one's way, and says how late it was. */
static void start_victim(struct play *p)
{
	const char *const arguments[] = {FOLDER LIBRARY, FOLDER "/text", NULL};
	char words[PATH_LONGEST * 2];
	int fd;

	fd = open(STR_TEXT(PATH_LONGEST * 2, "%s" LIBRARY, p->folder), O_WRONLY | O_CREAT | O_CLOEXEC, 0600); /* it may be empty */
	if (fd >= 0)
		close(fd);
	lateness_file(p, words, sizeof(words));
	p->victim = start_program(p, "edit", arguments, words);
	p->began = time(NULL);
}

/* By how many ms it was late at worst in [from, to]; negative = it says nothing of then. Its lines: "UNIX_TIME MS" */
static double worst_lateness(const struct play *p, time_t from, time_t to)
{
	char path[PATH_LONGEST * 2];
	double worst = -1, late;
	long long at;

	lateness_file(p, path, sizeof(path));
	LINES_EACH(line, fopen(path, "re"))
		if (sscanf(line.text, "%lld %lf", &at, &late) == 2 && at >= from && at <= to && late > worst)
			worst = late;
	return worst;
}

static void tell_victim(const struct play *p, bool answered)
{
	double before = worst_lateness(p, p->began + SETTLING, p->hurt - 1);
	double then = worst_lateness(p, p->hurt + 1, p->hurt + SLOW_SECONDS + 1);

	if (before < 0 || then < 0)
		return;
	printf("A simulated editor ran at the same time: its work was up to %.0f ms late (%.0f ms before).\n", then, before);
	if (!answered && then < before + MUCH_LATER)
		puts("This delay is too small to notice: this machine is too fast for this demo. 'whyslow demo cpu' works on every machine.");
}

/* Who has ended is forgotten: the number may be another one's by now. */
static bool has_ended(pid_t *pid)
{
	if (*pid > 0 && waitpid(*pid, NULL, WNOHANG) == 0)
		return false;
	*pid = 0;
	return true;
}

/* It has recorded: there is a segment. */
static bool has_journal(const struct play *p)
{
	_cleanup_free_ char *pattern = NULL;
	glob_t found = {};
	bool any;

	if (asprintf(&pattern, "%s/journal/*", p->run_dir) < 0)
		return false;
	any = glob(pattern, 0, NULL, &found) == 0;
	globfree(&found);
	return any;
}

static int wait_for_recorder(struct play *p)
{
	for (int i = 0; i < START_TRIES && nap(100); i++) {
		if (has_ended(&p->recorder))
			break;
		if (has_journal(p))
			return 0;
	}
	if (is_stopped)
		return -EINTR;
	return log_failure(-ECHILD, 
		"the demo's recorder does not start; 'whyslow record' says why, 'whyslow doctor' what to do");
}

static int make_folder(struct play *p)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(p->folder, sizeof(p->folder), "%s/whyslow-demo.XXXXXX", tmp ? tmp : "/var/tmp");
	if (!mkdtemp(p->folder)) {
		int r = -errno;

		log_error("cannot make a folder %s: %s", p->folder, strerror(errno));
		*p->folder = '\0';
		return r;
	}
	if ((size_t)snprintf(p->store, sizeof(p->store), "%s/recording.db", p->folder) >= sizeof(p->store) ||
	    (size_t)snprintf(p->run_dir, sizeof(p->run_dir), "%s/run", p->folder) >= sizeof(p->run_dir))
		return -ENAMETOOLONG;
	return 0;
}

static int use_store(struct common *common, const struct play *p)
{
	FREE_ALL(common->config.store_file, common->config.store_run_dir);
	common->config.store_file = strdup(p->store);
	common->config.store_run_dir = strdup(p->run_dir);
	return common->config.store_file && common->config.store_run_dir ? 0 : -ENOMEM;
}

/* The button, and the answer as `whyslow mark --why` prints it. Returns that verb's status. */
static int press(struct common *common, const struct play *p)
{
	int64_t now = clock_wall(), id;
	struct store *store;
	int r;

	store = use_store(common, p) < 0 ? NULL : common_open_store(common, STORE_MARK);
	if (!store)
		return EXIT_CANNOT;
	r = store_mark(store, now, common->viewer.uid, "a demo", &id);
	if (r < 0)
		log_error("%s", store_error(store));
	store_close(store);
	return r < 0 ? EXIT_CANNOT : why_at(common, now, true);
}

static int act(struct common *common, struct play *p, const struct demo *d)
{
	int status;

	if (!common->json)
		printf("Demo '%s': %s.\nFirst %d seconds of normal work, then %d of "
		       "that.\n\n",
		       d->name, d->help, PAST_SECONDS, SLOW_SECONDS);
	fflush(stdout);
	if (d->library && fill_library(p) < 0)
		return EXIT_CANNOT;
	p->recorder = start_recorder(p);
	if (wait_for_recorder(p) < 0)
		return EXIT_CANNOT;
	start_victim(p);
	wait_seconds(PAST_SECONDS, "recording the baseline");
	p->culprit = start_program(p, d->program, d->arguments, NULL);
	p->hurt = time(NULL);
	wait_seconds(SLOW_SECONDS, "making it slow");
	if (is_stopped)
		return EXIT_CANNOT;
	if (has_ended(&p->culprit))
		return log_failure(EXIT_CANNOT, "the demo's program %s/%s ended early", p->programs, d->program);
	status = press(common, p);
	if (common->json || (status != EXIT_ANSWERED && status != EXIT_NOTHING_FOUND))
		return status;
	printf("\nThe truth: the cause is %s (pid %d), which this demo started %d seconds before the mark.\n", d->program,
	       (int)p->culprit, SLOW_SECONDS);
	tell_victim(p, status == EXIT_ANSWERED);
	puts("'make start' or the service whyslow records permanently; then mark a slow moment with 'whyslow mark', and ask with 'whyslow'.");
	return status;
}

static void end(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
}

static void clean_up(struct play *p)
{
	pid_t pid;
	char *const argv[] = {(char *)"rm", (char *)"-rf", (char *)"--", p->folder, NULL};

	end(p->culprit);
	end(p->victim);
	end(p->recorder);
	if (*p->folder && posix_spawnp(&pid, "rm", NULL, NULL, argv, environ) == 0)
		waitpid(pid, NULL, 0);
}

static int run(struct common *common, int argc, char **argv)
{
	const struct sigaction on_stop = {.sa_handler = stop};
	const struct demo *demo;
	struct play play = {};
	int status = EXIT_CANNOT;

	if (argc == 1)
		return list(common);
	demo = argc == 2 ? find(argv[1]) : NULL;
	if (!demo)
		return verb_usage_error("demo", "unknown demo '%s'; 'whyslow demo' lists them",
				   argv[argc - 1]);
	if (find_programs(play.programs, sizeof(play.programs)) < 0)
		return log_failure(EXIT_CANNOT, "the lab's programs are not installed with this whyslow "
			  "(PREFIX/lib/whyslow/lab): 'make install' puts them there");
	sigaction(SIGINT, &on_stop, NULL);
	sigaction(SIGTERM, &on_stop, NULL);
	sigaction(SIGHUP, &on_stop, NULL);
	if (make_folder(&play) == 0)
		status = act(common, &play, demo);
	clean_up(&play);
	return status;
}

const struct verb verb_demo = {
	.name = "demo",
	.group = "Administration",
	.words = "[NAME] ",
	.help = "play a harmless slowdown and show the answer; without a name: list the demos",
	.about = "Plays a slowdown that harms nothing and ends by itself, asks why, and shows the answer: to see whether whyslow works here.",
	.examples = (const struct example[]){
		{"whyslow demo", "which demos are there?"},
		{"whyslow demo cpu", "a program computes on all CPUs, for 45 seconds"},
		{}},
	.options = options,
	.runs_programs = true,
	.run = run,
};
