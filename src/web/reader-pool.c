#include "web/reader-pool.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/view/json.h"
#include "machine/client/request.h"

#define KEPT_MAX     2
#define KEY_SIZE     64
#define ANSWER_MAX   ((size_t)64 << 20)
#define ANSWER_WAIT  60000 /* ms; a starved machine reads a trace for long */

struct hold_release {
	char key[KEY_SIZE];
	pid_t pid; /* 0 = none */
	int fd, errors;
	int64_t used;
	unsigned users; /* those who ask, or wait to */
	pthread_mutex_t lock; /* one question at a time */
};

struct reader_pool {
	const struct asker *asker;
	pthread_mutex_t lock; /* of the table */
	struct hold_release all[KEPT_MAX];
};

int reader_pool_new(const struct asker *asker, struct reader_pool **ret)
{
	struct reader_pool *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
	k->asker = asker;
	pthread_mutex_init(&k->lock, NULL);
	for (size_t i = 0; i < KEPT_MAX; i++)
		pthread_mutex_init(&k->all[i].lock, NULL);
	*ret = k;
	return 0;
}

static void end(struct hold_release *p)
{
	if (!p->pid)
		return;
	close(p->fd);
	close(p->errors);
	kill(p->pid, SIGTERM);
	waitpid(p->pid, NULL, 0);
	p->pid = 0;
}

void reader_pool_free(struct reader_pool *k)
{
	for (size_t i = 0; k && i < KEPT_MAX; i++) {
		end(&k->all[i]);
		pthread_mutex_destroy(&k->all[i].lock);
	}
	if (k)
		pthread_mutex_destroy(&k->lock);
	free(k);
}

/* --- which one --- */

static struct hold_release *choose(struct reader_pool *k, const char *key)
{
	struct hold_release *best = NULL;

	for (size_t i = 0; i < KEPT_MAX; i++)
		if (strcmp(k->all[i].key, key) == 0)
			return &k->all[i];
	for (size_t i = 0; i < KEPT_MAX; i++)
		if (!k->all[i].users && (!best || k->all[i].used < best->used))
			best = &k->all[i];
	if (best) {
		end(best);
		snprintf(best->key, sizeof(best->key), "%s", key);
	}
	return best;
}

static struct hold_release *take(struct reader_pool *k, const char *key)
{
	struct hold_release *p;

	pthread_mutex_lock(&k->lock);
	p = choose(k, key);
	if (p)
		p->users++;
	pthread_mutex_unlock(&k->lock);
	if (p)
		pthread_mutex_lock(&p->lock);
	return p;
}

static void give_back(struct reader_pool *k, struct hold_release *p)
{
	pthread_mutex_unlock(&p->lock);
	pthread_mutex_lock(&k->lock);
	p->users--;
	p->used = clock_boot();
	pthread_mutex_unlock(&k->lock);
}

/* --- one question --- */

static int start(const struct asker *a, struct hold_release *p, size_t n, const char *const *words)
{
	int ends[2], r;

	p->errors = memfd_create("errors", MFD_CLOEXEC);
	if (p->errors < 0)
		return -errno;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		cleanup_fd(&p->errors);
		return -errno;
	}
	r = ask_start(a, n, words, ends[1], ends[1], p->errors, &p->pid);
	close(ends[1]);
	p->fd = ends[0];
	if (r < 0) {
		p->pid = 0;
		cleanup_fd(&p->fd);
		cleanup_fd(&p->errors);
	}
	return r;
}

static int send_question(struct hold_release *p, size_t n, const char *const *words)
{
	json_t *line = JSON_COUNT(i, n, json_string(words[i]));
	_cleanup_free_ char *text = NULL;
	size_t done = 0, length;

	text = json_dumps(line, JSON_COMPACT);
	json_decref(line);
	if (!text)
		return -EINVAL; /* a word that is not UTF-8 */
	length = strlen(text);
	text[length++] = '\n'; /* in the place of the NUL */
	while (done < length) {
		ssize_t sent = send(p->fd, text + done, length - done, MSG_NOSIGNAL);

		if (sent < 0)
			return -errno;
		done += (size_t)sent;
	}
	return 0;
}

/* The whole line, without its end. -ECONNRESET when the process ended instead. */
static int read_answer(struct hold_release *p, struct str *text)
{
	struct pollfd readable = {p->fd, POLLIN, 0};

	text->max = ANSWER_MAX;
	for (;;) {
		ssize_t n;

		if (str_reserve(text, 1 << 16) < 0)
			return -ENOMEM;
		if (poll(&readable, 1, ANSWER_WAIT) <= 0)
			return -ETIMEDOUT;
		n = read(p->fd, text->data + text->len, 1 << 16);
		if (n <= 0)
			return -ECONNRESET;
		text->len += (size_t)n;
		if (text->data[text->len - 1] == '\n')
			break;
	}
	text->data[--text->len] = '\0';
	return 0;
}

/* {"schema":"whyslow.refusal/1","status":N}: why is on standard error. */
static int status_of(struct str *text)
{
	json_t *said = text->len < 100 ? json_loads(text->data, 0, NULL) : NULL;
	const char *schema = json_string_value(json_object_get(said, "schema"));
	int status = 0;

	if (schema && strcmp(schema, "whyslow.refusal/1") == 0) {
		status = (int)json_integer_value(json_object_get(said, "status"));
		str_clear(text);
	}
	json_decref(said);
	return status;
}

static int ask_once(const struct asker *a, struct hold_release *p, size_t n_begin, const char *const *begin, size_t n, const char *const *words,
		    struct str *text, struct str *errors)
{
	int r = p->pid ? 0 : start(a, p, n_begin, begin);

	if (r < 0)
		return r;
	if (ftruncate(p->errors, 0) < 0 || lseek(p->errors, 0, SEEK_SET) < 0)
		return -errno;
	r = send_question(p, n, words);
	r = r ?: read_answer(p, text);
	if (r == 0)
		r = status_of(text);
	else if (r == -EPIPE || r == -ECONNRESET)
		r = -ECONNRESET;
	ask_said(p->errors, errors);
	if (r < 0)
		end(p);
	return r;
}

int reader_pool_ask(struct reader_pool *k, const char *key, size_t n_begin, const char *const *begin, size_t n, const char *const *words, struct str *text,
	     struct str *errors)
{
	struct hold_release *p = take(k, key);
	bool was_there;
	int r;

	if (!p)
		return -EBUSY;
	was_there = p->pid;
	r = ask_once(k->asker, p, n_begin, begin, n, words, text, errors);
	if (r == -ECONNRESET && was_there) { /* it had waited too long for us */
		str_clear(text);
		str_clear(errors);
		r = ask_once(k->asker, p, n_begin, begin, n, words, text, errors);
	}
	give_back(k, p);
	return r == -ECONNRESET && errors->len ? STATUS_CANNOT : r;
}
