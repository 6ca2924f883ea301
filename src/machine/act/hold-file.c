#include "machine/act/hold-file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/file.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"

#define FIRST_LINE "whyslow.held/2"
#define UNQUOTED   "whyslow.held/1" /* as version 1.0 wrote it: texts as they are */
#define STEPS_MAX  256
#define THREADS_MAX 65536 /* of a target: the kernel's default for a whole machine is half of it */
#define UNFINISHED ".new"

static const char *const step_names[] = {"write", "move", "property", "freeze", "class"};

char *hold_folder(const char *run_dir)
{
	char *path;

	return asprintf(&path, "%s/held", run_dir) < 0 ? NULL : path;
}

static char *file_of(const char *run_dir, const char *id, const char *end)
{
	char *path;

	return asprintf(&path, "%s/held/%s%s", run_dir, id, end) < 0 ? NULL : path;
}

/* --- writing --- */

/* Names and paths are chosen by others: none of their characters ends a word or a line. "-" stands for none. */
static void put_text(struct str *out, const char *text)
{
	static const char special[] = "\\\t\n", letters[] = "\\tn";

	str_putc(out, '\t');
	if (!text || !*text) {
		str_putc(out, '-');
		return;
	}
	if (strcmp(text, "-") == 0)
		str_putc(out, '\\');
	for (; *text; text++) {
		const char *at = strchr(special, *text);

		if (at)
			str_putc(out, '\\');
		str_putc(out, at ? letters[at - special] : *text);
	}
}

static void put_step(const struct hold_step *s, struct str *out)
{
	str_puts(out, step_names[s->kind]);
	put_text(out, s->path);
	put_text(out, s->value);
	put_text(out, s->before);
	str_putc(out, '\n');
}

static void put_thread(const struct hold_thread *t, struct str *out)
{
	str_printf(out,
		   "thread\t%u\t%u\t%" PRIu64 "\t%u\t%u\t%d\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
		   "\t%d\n",
		   t->tid, t->process, t->start, t->policy, t->priority, t->nice, t->flags, t->runtime,
		   t->deadline, t->period, t->io);
}

static void put_head(const struct process *p, struct str *out)
{
	str_printf(out, "who\t%u\t%" PRIu64 "\t%u\t%u", p->pid, p->start, p->group, p->session);
	put_text(out, p->name);
	str_putc(out, '\n');
}

void hold_write(const struct hold *h, struct str *out)
{
	str_puts(out, FIRST_LINE "\nboot");
	put_text(out, h->boot);
	str_putc(out, '\n');
	for (size_t i = 0; i < h->heads.list.n; i++)
		put_head(&h->heads.list.v[i], out);
	str_printf(out, "how\t%u\t%u", h->of, h->way);
	put_text(out, h->unit);
	str_putc(out, '\n');
	str_printf(out, "by\t%u\t%" PRId64 "\t%d\n", h->by, h->since, h->kept);
	str_printf(out, "owner\t%u\t%" PRIu64 "\t%u\t%" PRIu64 "\n", h->owner, h->owner_start, h->guardian,
		   h->hold_watchdog_start);
	for (size_t i = 0; i < h->threads.n; i++)
		put_thread(&h->threads.v[i], out);
	for (size_t i = 0; i < h->steps.n; i++)
		put_step(&h->steps.v[i], out);
	str_puts(out, "end\n");
}

static int write_whole(const char *path, const struct str *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 ? -errno : file_write(fd, text->data, text->len);
}

int hold_file_write(const char *run_dir, const struct hold *h)
{
	_cleanup_free_ char *folder = hold_folder(run_dir), *path = file_of(run_dir, h->id, ""),
			    *fresh = file_of(run_dir, h->id, UNFINISHED);
	_cleanup_str_ struct str text = {};
	int r;

	hold_write(h, &text);
	if (!folder || !path || !fresh || text.error)
		return -ENOMEM;
	r = folder_make(folder, 0700);
	r = r ?: write_whole(fresh, &text);
	if (r == 0 && rename(fresh, path) < 0)
		r = -errno;
	return r;
}

bool hold_file_exists(const char *run_dir, const char *id)
{
	_cleanup_free_ char *path = file_of(run_dir, id, "");

	return path && access(path, F_OK) == 0;
}

int hold_file_remove(const char *run_dir, const char *id)
{
	_cleanup_free_ char *path = file_of(run_dir, id, ""), *fresh = file_of(run_dir, id, UNFINISHED);

	if (!path || !fresh)
		return -ENOMEM;
	(void)unlink(fresh);
	return unlink(path) == 0 || errno == ENOENT ? 0 : -errno;
}

/* --- reading --- */

#define WORDS_MAX 16

static size_t split(char *line, char *words[WORDS_MAX])
{
	size_t n = 0;

	for (char *at = line; at && n < WORDS_MAX; n++) {
		words[n] = at;
		at = strchr(at, '\t');
		if (at)
			*at++ = '\0';
	}
	return n;
}

/* In place. */
static void unquote(char *word)
{
	char *to = word;

	for (const char *at = word; *at; at++) {
		if (*at == '\\' && at[1]) {
			at++;
			*to++ = *at == 't' ? '\t' : *at == 'n' ? '\n' : *at;
		} else {
			*to++ = *at;
		}
	}
	*to = '\0';
}

/* "-" is not a text; what is quoted may be one dash. */
static char *take_text(char *word, bool quoted)
{
	if (strcmp(word, "-") == 0)
		word[0] = '\0';
	else if (quoted)
		unquote(word);
	return word;
}

static uint64_t number(const char *text)
{
	return strtoull(text, NULL, 10);
}

static int copy(const char *word, char **ret)
{
	if (!*word)
		return 0;
	*ret = strdup(word);
	return *ret ? 0 : -ENOMEM;
}

static int take_step(struct hold *h, char **w, size_t n)
{
	struct hold_step s = {};
	size_t kind = 0;

	while (kind < ARRAY_SIZE(step_names) && strcmp(step_names[kind], w[0]) != 0)
		kind++;
	if (kind == ARRAY_SIZE(step_names) || n != 4 || h->steps.n >= STEPS_MAX)
		return -EBADMSG;
	s.kind = (enum step_kind)kind;
	for (size_t i = 1; i < n; i++)
		(void)take_text(w[i], h->quoted);
	if (copy(w[1], &s.path) < 0 || copy(w[2], &s.value) < 0 || copy(w[3], &s.before) < 0 ||
	    VEC_PUSH(h->steps, s) < 0) {
		FREE_ALL(s.path, s.value, s.before);
		return -ENOMEM;
	}
	return 0;
}

static int take_thread(struct hold *h, char **w)
{
	if (h->threads.n >= THREADS_MAX)
		return -EBADMSG;
	return VEC_PUSH(h->threads, (struct hold_thread){.tid = (uint32_t)number(w[1]),
							 .process = (uint32_t)number(w[2]),
							 .start = number(w[3]),
							 .policy = (uint32_t)number(w[4]),
							 .priority = (uint32_t)number(w[5]),
							 .nice = atoi(w[6]),
							 .flags = number(w[7]),
							 .runtime = number(w[8]),
							 .deadline = number(w[9]),
							 .period = number(w[10]),
							 .io = atoi(w[11])});
}

static int take_head(struct hold *h, char **w)
{
	struct process p = {.pid = (uint32_t)number(w[1]),
			    .start = number(w[2]),
			    .group = (uint32_t)number(w[3]),
			    .session = (uint32_t)number(w[4])};

	if (h->heads.list.n >= THREADS_MAX)
		return -EBADMSG;
	snprintf(p.name, sizeof(p.name), "%s", take_text(w[5], h->quoted));
	return VEC_PUSH(h->heads.list, p);
}

static int take_line(struct hold *h, char **w, size_t n)
{
	if (strcmp(w[0], "boot") == 0 && n == 2) {
		snprintf(h->boot, sizeof(h->boot), "%s", take_text(w[1], h->quoted));
		return 0;
	}
	if (strcmp(w[0], "who") == 0 && n == 6)
		return take_head(h, w);
	if (strcmp(w[0], "how") == 0 && n == 4) {
		h->of = (enum hold_short)(number(w[1]) % SHORT_COUNT);
		h->way = (enum hold_way)(number(w[2]) % WAY_COUNT);
		snprintf(h->unit, sizeof(h->unit), "%s", take_text(w[3], h->quoted));
		return 0;
	}
	if (strcmp(w[0], "by") == 0 && n == 4) {
		h->by = (uint32_t)number(w[1]);
		h->since = strtoll(w[2], NULL, 10);
		h->kept = *w[3] == '1';
		return 0;
	}
	if (strcmp(w[0], "owner") == 0 && n == 5) {
		h->owner = (uint32_t)number(w[1]);
		h->owner_start = number(w[2]);
		h->guardian = (uint32_t)number(w[3]);
		h->hold_watchdog_start = number(w[4]);
		return 0;
	}
	return strcmp(w[0], "thread") == 0 && n == 12 ? take_thread(h, w) : take_step(h, w, n);
}

/* Ours, and none else's to write. */
static bool is_private(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & 022);
}

static int take_first(struct hold *h, const char *line)
{
	h->quoted = strcmp(line, FIRST_LINE) == 0;
	return h->quoted || strcmp(line, UNQUOTED) == 0 ? 0 : -EBADMSG;
}

int hold_read(FILE *f, struct hold *ret)
{
	_cleanup_(hold_free) struct hold h = {};
	int r = 0;

	LINES_EACH(line, f) {
		char *words[WORDS_MAX];
		size_t words_n = split(line.text, words);

		if (strcmp(line.text, "end") == 0 && h.heads.list.n) {
			*ret = h;
			h = (struct hold){};
			return 0;
		}
		r = line.number == 1 ? take_first(&h, line.text) : take_line(&h, words, words_n);
		if (r < 0)
			break;
	}
	return r < 0 ? r : -EBADMSG;
}

int hold_file_read(const char *run_dir, const char *id, struct hold *ret)
{
	_cleanup_free_ char *folder = hold_folder(run_dir), *path = file_of(run_dir, id, "");
	_cleanup_close_ int fd = -1;
	struct stat st, above;
	FILE *f;
	int r;

	if (!folder || !path)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || stat(folder, &above) < 0 || !is_private(&st) || !is_private(&above))
		return -EPERM;
	f = fdopen(fd, "r");
	if (!f)
		return -ENOMEM;
	fd = -1; /* the file's */
	r = hold_read(f, ret);
	if (r == 0)
		snprintf(ret->id, sizeof(ret->id), "%s", id);
	return r;
}

int hold_file_list(const char *run_dir, struct hold **ret, size_t *ret_n)
{
	_cleanup_free_ char *name = hold_folder(run_dir);
	DIR *folder = name ? opendir(name) : NULL;
	struct {
		VEC(struct hold) list;
	} all = {};

	if (!folder)
		return name ? -errno : -ENOMEM;
	FOLDER_EACH(e, folder) {
		struct hold h;

		if (strchr(e.name, '.') || hold_file_read(run_dir, e.name, &h) < 0)
			continue;
		if (VEC_PUSH(all.list, h) < 0)
			hold_free(&h);
	}
	*ret = all.list.v;
	*ret_n = all.list.n;
	return 0;
}

/* --- one at a time --- */

int hold_lock(const char *run_dir, uint32_t uid, int *ret_fd)
{
	_cleanup_free_ char *folder = hold_folder(run_dir), *path = NULL;
	_cleanup_close_ int fd = -1;
	int r = folder ? folder_make(folder, 0700) : -ENOMEM;

	if (r < 0)
		return r;
	if ((uid ? asprintf(&path, "%s/.lock-%u", folder, uid) : asprintf(&path, "%s/.lock", folder)) < 0)
		return -ENOMEM;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* --- what nothing minds any more --- */

static bool is_unfinished(const char *name)
{
	const char *end = strchr(name, '.');

	return end && end != name && strcmp(end, UNFINISHED) == 0;
}

/* Whose it is: hold_name(). */
static uint32_t user_of(const char *name)
{
	const char *at = strstr(name, "-u");

	return at ? (uint32_t)number(at + 2) : 0;
}

/* Files that nothing lives to finish; the one that holds the lock may be writing one. */
static void remove_unfinished(const char *run_dir)
{
	_cleanup_free_ char *name = hold_folder(run_dir);

	FOLDER_EACH(e, name ? opendir(name) : NULL) {
		_cleanup_close_ int lock = -1;

		if (is_unfinished(e.name) && hold_lock(run_dir, user_of(e.name), &lock) == 0)
			(void)unlinkat(dirfd(e.folder), e.name, 0);
	}
}

/* Whether something lives whose it is to undo. */
static bool has_owner(const char *proc_root, const struct hold *h)
{
	return (h->owner && process_lives(proc_root, h->owner, h->owner_start)) ||
	       (h->guardian && process_lives(proc_root, h->guardian, h->hold_watchdog_start));
}

struct sweep {
	const char *proc_root, *run_dir;
	const uint32_t *locked; /* the user whose lock this process has, or NULL */
	char boot[CLOCK_BOOT_ID];
};

static bool is_minded(const struct sweep *s, const struct hold *h)
{
	return strcmp(h->boot, s->boot) == 0 &&
	       (has_owner(s->proc_root, h) || (h->kept && processes_live(s->proc_root, &h->heads)));
}

static int undo(const struct sweep *s, struct hold *h)
{
	int r = strcmp(h->boot, s->boot) == 0 ? hold_undo(s->proc_root, h) : 0;

	return r < 0 ? r : hold_file_remove(s->run_dir, h->id);
}

/* Since it was read `calm` may have written that it is kept, and ended: it is read again where nothing else writes it. */
static int sweep_one(const struct sweep *s, struct hold *h)
{
	_cleanup_(hold_free) struct hold now = {};
	_cleanup_close_ int lock = -1;
	int r;

	if (is_minded(s, h))
		return 0;
	if (s->locked && *s->locked == h->by)
		return undo(s, h);
	r = hold_lock(s->run_dir, h->by, &lock);
	r = r ?: hold_file_read(s->run_dir, h->id, &now);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return is_minded(s, &now) ? 0 : undo(s, &now);
}

static int sweep(struct sweep *s)
{
	const char *proc_root = s->proc_root, *run_dir = s->run_dir;
	_cleanup_free_ struct hold *list = NULL;
	size_t n;
	int r = clock_boot_id(proc_root, s->boot), first = 0;

	hold_group_sweep(proc_root, run_dir);
	r = r ?: hold_file_list(run_dir, &list, &n);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (size_t i = 0; i < n; i++) {
		r = sweep_one(s, &list[i]);
		first = r < 0 && first == 0 ? r : first;
		hold_free(&list[i]);
	}
	remove_unfinished(run_dir);
	return first;
}

int hold_sweep(const char *proc_root, const char *run_dir)
{
	return sweep(&(struct sweep){.proc_root = proc_root, .run_dir = run_dir});
}

int hold_sweep_locked(const char *proc_root, const char *run_dir, uint32_t uid)
{
	return sweep(&(struct sweep){.proc_root = proc_root, .run_dir = run_dir, .locked = &uid});
}
