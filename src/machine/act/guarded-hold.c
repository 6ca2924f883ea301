#include "machine/act/guarded-hold.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/system/spawn.h"
#include "machine/act/hold-file.h"

#define LOCK_TRIES  20	/* of 100 ms: another hold may be about to end */
#define UNDO_TRIES  300 /* of 200 ms: the service manager, too, may be starved */
#define STACK_TOUCH (64 << 10)

struct guarded_hold {
	struct hold_request request;
	struct hold hold;
	struct target target;
	char *proc_root, *run_dir;
	pid_t guardian;
	int pipe, lock;
	bool written; /* there is a file */
	bool known;   /* it says all that is to be undone */
};

/* --- the hold watchdog --- */

static void sleep_ms(int ms)
{
	poll(NULL, 0, ms);
}

/* Nothing sees what it would say: the recorder tries again where it cannot. */
static void give_back(const struct guarded_hold *c)
{
	for (int i = 0; i < UNDO_TRIES; i++) {
		struct hold h;
		int r = hold_file_read(c->run_dir, c->hold.id, &h);

		if (r < 0) {
			/* killed before the first file was whole: nothing is held yet */
			if (r == -ENOENT)
				(void)hold_file_remove(c->run_dir, c->hold.id);
			return;
		}
		if (h.guardian == (uint32_t)getpid())
			r = hold_undo(c->proc_root, &h);
		else
			r = -EPERM; /* another hold's, or what `calm` keeps */
		hold_free(&h);
		if (r == 0)
			(void)hold_file_remove(c->run_dir, c->hold.id);
		if (r == 0 || r == -EPERM)
			return;
		sleep_ms(200);
	}
}

/* It must come to run on a machine that is short of everything. */
static void make_ready(void)
{
	struct sched_param first = {.sched_priority = 1};
	volatile char stack[STACK_TOUCH];

	memset((void *)stack, 0, sizeof(stack));
	spawn_oom_adjust(OOM_SURVIVES);
	(void)mlockall(MCL_CURRENT);
	if (sched_setscheduler(0, SCHED_FIFO, &first) < 0)
		(void)setpriority(PRIO_PROCESS, 0, -20);
}

static volatile sig_atomic_t told_to_end;

static void take_signal(int number)
{
	(void)number;
	told_to_end = 1;
}

static void take_signals(void)
{
	const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
	struct sigaction end = {.sa_handler = take_signal};
	sigset_t none;

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sigaction(numbers[i], &end, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Until it hears that all is given back ('q'), or hears nothing more. */
static bool is_left_alone(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};

	while (!told_to_end) {
		char c;
		int n = poll(&p, 1, HOLD_WATCHDOG_PATIENCE);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || read(fd, &c, 1) != 1)
			return true;
		if (c == 'q')
			return false;
	}
	return true;
}

/* Keeps the lock: nothing begins another hold before this one is undone. */
static void close_others(int keep, int keep_too)
{
	unsigned low = (unsigned)(keep < keep_too ? keep : keep_too),
		 high = (unsigned)(keep < keep_too ? keep_too : keep);

	(void)close_range(0, low - 1, 0);
	if (high > low + 1)
		(void)close_range(low + 1, high - 1, 0);
	(void)close_range(high + 1, ~0u, 0);
	(void)open("/dev/null", O_RDWR);
	(void)open("/dev/null", O_RDWR);
	(void)open("/dev/null", O_RDWR);
}

static void __attribute__((noreturn)) guard(const struct guarded_hold *c, int fd)
{
	setsid();
	(void)prctl(PR_SET_NAME, "whyslow-guard");
	take_signals();
	close_others(fd, c->lock);
	(void)!chdir("/");
	make_ready();
	if (!is_left_alone(fd))
		_exit(0);
	give_back(c);
	_exit(1);
}

static int start_hold_watchdog(struct guarded_hold *c)
{
	struct process self = {}, guardian = {};
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	c->guardian = fork();
	if (c->guardian == 0) {
		close(ends[1]);
		guard(c, ends[0]);
	}
	close(ends[0]);
	c->pipe = ends[1];
	if (c->guardian < 0)
		return -errno;
	r = process_read(c->proc_root, (uint32_t)getpid(), &self);
	r = r ?: process_read(c->proc_root, (uint32_t)c->guardian, &guardian);
	c->hold.owner = self.pid;
	c->hold.owner_start = self.start;
	c->hold.guardian = guardian.pid;
	c->hold.hold_watchdog_start = guardian.start;
	return r;
}

static bool hold_watchdog_lives(struct guarded_hold *c)
{
	return c->guardian > 0 && waitpid(c->guardian, NULL, WNOHANG) == 0;
}

/* --- who holds --- */

static int take_lock(const char *run_dir, uint32_t uid, int *ret)
{
	int r = hold_lock(run_dir, uid, ret);

	for (int i = 0; r == -EBUSY && i < LOCK_TRIES; i++) {
		sleep_ms(100);
		r = hold_lock(run_dir, uid, ret);
	}
	return r;
}

static void guarded_hold_free(struct guarded_hold *c)
{
	if (!c)
		return;
	cleanup_fd(&c->pipe);
	if (c->guardian > 0)
		waitpid(c->guardian, NULL, 0);
	cleanup_fd(&c->lock);
	hold_free(&c->hold);
	target_free(&c->target);
	FREE_ALL(c->proc_root, c->run_dir, c);
}

static bool is_held(const struct target *t, const struct hold *h)
{
	return ANY_WHERE(i, h->heads.list.n, target_has(t, h->heads.list.v[i].pid));
}

/* Root's goes before a user's: that one finds its file gone, and ends. Undone twice, as it may be doing its steps just now: those it
 * does later still it undoes itself. */
static int take_over(const struct guarded_hold *c, struct hold *h)
{
	int r = hold_undo(c->proc_root, h);

	r = r ?: hold_file_remove(c->run_dir, h->id);
	return r < 0 ? r : hold_undo(c->proc_root, h);
}

static bool goes_before(const struct guarded_hold *c, const struct hold *h)
{
	return c->request.rights.viewer == 0 && h->by != 0 && !h->kept;
}

/* Held for good already, by itself or by its unit; or by another user's hold. 1 = what was in contention was given back: what was
 * planned so far goes by how things were before. */
static int check_free(const struct guarded_hold *c, const struct hold *h, char **ret_words)
{
	_cleanup_free_ struct hold *list = NULL;
	size_t n;
	int r = hold_file_list(c->run_dir, &list, &n);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (size_t i = 0; i < n; i++) {
		const struct process *head = list[i].heads.list.v;

		if (!is_held(&c->target, &list[i]) && !(*h->unit && strcmp(h->unit, list[i].unit) == 0)) {
			hold_free(&list[i]);
			continue;
		}
		if (goes_before(c, &list[i]))
			r = r < 0 ? r : take_over(c, &list[i]) < 0 ? -EBUSY : 1;
		else
			r = str_fail_again(
				ret_words, -EBUSY,
				"%s (pid %u) is held back already: 'whyslow calm --undo %u' releases it",
				head->name, head->pid, head->pid);
		hold_free(&list[i]);
	}
	return r;
}

int guarded_hold_join(struct guarded_hold *c, const struct target *t)
{
	struct processes heads;

	if (t->heads.list.n == c->hold.heads.list.n)
		return 0;
	if (processes_copy(&t->heads, &heads) < 0)
		return -ENOMEM;
	processes_free(&c->hold.heads);
	c->hold.heads = heads;
	c->known = false;
	return 0;
}

/* Root has taken it over. */
static bool is_taken(const struct guarded_hold *c)
{
	return c->written && c->hold.by != 0 && !hold_file_exists(c->run_dir, c->hold.id);
}

int guarded_hold_apply(struct guarded_hold *c)
{
	int r = hold_watchdog_lives(c) && !is_taken(c) ? guarded_hold_alive(c) : -EOWNERDEAD;

	/* its threads come and go */
	if (r == 0 && c->hold.way == WAY_CLASS) {
		_cleanup_(target_free) struct target t = {};

		c->hold.threads.n = 0;
		c->known = false;
		r = target_of(c->proc_root, &c->hold.heads, false, &t);
		r = r ?: hold_class_save(c->proc_root, &t, &c->hold);
	}
	if (r == 0 && !c->known)
		r = hold_file_write(c->run_dir, &c->hold);
	if (r < 0)
		return r;
	c->written = c->known = true;
	r = hold_do(c->proc_root, &c->hold);
	if (is_taken(c)) {
		(void)hold_undo(c->proc_root, &c->hold);
		return -EOWNERDEAD;
	}
	return r;
}

int guarded_hold_let_go(struct guarded_hold *c)
{
	return c->written && !is_taken(c) ? hold_undo(c->proc_root, &c->hold) : 0;
}

int guarded_hold_alive(struct guarded_hold *c)
{
	if (!hold_watchdog_lives(c))
		return -EOWNERDEAD;
	return write(c->pipe, "h", 1) == 1 ? 0 : -EOWNERDEAD;
}

const struct hold *guarded_hold_of(const struct guarded_hold *c)
{
	return &c->hold;
}

/* Whether it left all as it is; one that had heard nothing for too long has given back, or is about to. */
static bool end_hold_watchdog(struct guarded_hold *c)
{
	int status = -1;

	(void)!write(c->pipe, "q", 1);
	cleanup_fd(&c->pipe);
	c->pipe = -1;
	if (c->guardian > 0)
		while (waitpid(c->guardian, &status, 0) < 0 && errno == EINTR)
			;
	c->guardian = 0;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int guarded_hold_end(struct guarded_hold *c, bool keep)
{
	int r = !keep ? guarded_hold_let_go(c) : is_taken(c) ? -EOWNERDEAD : 0;

	if (keep && r == 0) {
		c->hold.kept = true;
		c->hold.owner = c->hold.guardian = 0;
		r = hold_file_write(c->run_dir, &c->hold);
	} else if (r == 0 && c->written) {
		r = hold_file_remove(c->run_dir, c->hold.id);
	}
	/* where it could not be given back the hold watchdog continues trying */
	if (r == 0 && !end_hold_watchdog(c) && keep) {
		r = hold_undo(c->proc_root, &c->hold);
		r = r ?: hold_file_remove(c->run_dir, c->hold.id);
		r = r < 0 ? r : -EOWNERDEAD;
	}
	guarded_hold_free(c);
	return r;
}

/* Plans a way and tries it out; one that cannot be done gives way to the next. */
static int find_way(struct guarded_hold *c, char **ret_words)
{
	struct hold who = c->hold;
	int r;

	for (;;) {
		free(*ret_words);
		*ret_words = NULL;
		r = hold_plan(&c->request, &c->target, &c->hold, ret_words);
		r = r ?: check_free(c, &c->hold, ret_words);
		if (r < 0)
			return r;
		if (r > 0) {
			hold_free(&c->hold);
			continue;
		}
		c->hold.kept = false;
		c->hold.owner = who.owner;
		c->hold.owner_start = who.owner_start;
		c->hold.guardian = who.guardian;
		c->hold.hold_watchdog_start = who.hold_watchdog_start;
		r = guarded_hold_apply(c);
		if (r == 0)
			r = guarded_hold_let_go(c);
		else
			(void)guarded_hold_let_go(c);
		if (r == 0 || r == -ESRCH || r == -EOWNERDEAD || c->request.way >= 0)
			break;
		c->request.without |= 1u << c->hold.way;
		(void)hold_file_remove(c->run_dir, c->hold.id);
		c->written = c->known = false;
		hold_free(&c->hold);
	}
	return r < 0 ? str_fail_again(ret_words, r, "%s (pid %u) could not be held back: %s", target_head(&c->target)->name,
				  target_head(&c->target)->pid, strerror(-r))
		     : 0;
}

static int new_guarded_hold(const struct hold_request *q, struct guarded_hold **ret)
{
	struct guarded_hold *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->pipe = c->lock = -1;
	c->proc_root = strdup(q->proc_root);
	c->run_dir = strdup(q->run_dir);
	c->request = *q;
	c->request.proc_root = c->proc_root;
	c->request.run_dir = c->run_dir;
	*ret = c;
	return c->proc_root && c->run_dir ? 0 : -ENOMEM;
}

static int check_quota(const struct hold_request *q, char **ret_words)
{
	struct hold *list = NULL;
	size_t n = 0, kept = 0;

	if (q->rights.viewer && q->gentle)
		(void)hold_file_list(q->run_dir, &list, &n);
	for (size_t i = 0; i < n; i++) {
		kept += list[i].kept && list[i].by == q->rights.viewer;
		hold_free(&list[i]);
	}
	free(list);
	return kept < HOLDS_OF_ONE ? 0 :
				     str_fail(ret_words, -EDQUOT, "you hold back %zu programs already, which is the most: release some with 'whyslow calm --undo'",
					       kept);
}

int guarded_hold_begin(const struct hold_request *q, const struct target *t, struct guarded_hold **ret,
		  char **ret_words)
{
	struct guarded_hold *c = NULL;
	int r;

	*ret_words = NULL;
	r = target_refuse(q->proc_root, t, &q->rights, ret_words);
	r = r ?: new_guarded_hold(q, &c);
	r = r ?: take_lock(q->run_dir, q->rights.viewer, &c->lock);
	if (r == 0) {
		(void)hold_sweep_locked(q->proc_root, q->run_dir, q->rights.viewer);
		r = check_quota(q, ret_words);
	}
	r = r ?: target_of(q->proc_root, &t->heads, t->open, &c->target);
	/* the hold watchdog knows whose file to look for before there is one */
	if (r == 0) {
		const struct process *head = target_head(&c->target);

		hold_name(&c->hold, head, q->rights.viewer);
		r = start_hold_watchdog(c);
	}
	r = r ?: find_way(c, ret_words);
	if (r < 0) {
		if (c && c->written)
			(void)guarded_hold_end(c, false);
		else
			guarded_hold_free(c);
		if (!*ret_words)
			(void)str_fail(ret_words, r, "%s",
					r == -EBUSY ? "you are holding back another process: wait for it"
						    : strerror(-r));
		return r;
	}
	*ret = c;
	return 0;
}

int guarded_hold_release(const char *proc_root, const char *run_dir, uint32_t pid, uint32_t viewer, size_t *ret_n)
{
	_cleanup_close_ int lock = -1;
	_cleanup_free_ struct hold *list = NULL;
	size_t n;
	int r = take_lock(run_dir, viewer, &lock), first = 0;

	*ret_n = 0;
	r = r ?: hold_file_list(run_dir, &list, &n);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (size_t i = 0; i < n; i++) {
		struct hold *h = &list[i];

		r = 0;
		if (h->kept && (!pid || processes_have(&h->heads, pid)) && (viewer == 0 || h->by == viewer)) {
			r = hold_undo(proc_root, h);
			r = r ?: hold_file_remove(run_dir, h->id);
			*ret_n += r == 0;
		}
		first = r < 0 && first == 0 ? r : first;
		hold_free(h);
	}
	return first;
}
