#include "lib/net/sessions.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"

#define ENDED_MAX 64 /* whose page is told that it expired, not that it is unknown */

struct code {
	char text[SECRET_TEXT]; /* "" = none */
	struct user user;
	int64_t until;
};

struct session {
	char text[SECRET_TEXT]; /* "" = none */
	struct user user;
	uint32_t peer;
	uint64_t number;
	int64_t began, used;
};

struct sessions {
	pthread_mutex_t lock;
	int64_t (*clock)(void);
	uint64_t last_number;
	struct code codes[CODES_MAX];
	struct session all[SESSIONS_MAX];
	char ended[ENDED_MAX][SECRET_TEXT];
	size_t n_ended;
};

struct sessions *sessions_new(int64_t (*clock)(void))
{
	struct sessions *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	s->clock = clock ? clock : clock_boot;
	return s;
}

void sessions_free(struct sessions *s)
{
	if (!s)
		return;
	pthread_mutex_destroy(&s->lock);
	explicit_bzero(s, sizeof(*s));
	free(s);
}

/* --- codes --- */

static void forget_code(struct code *c)
{
	explicit_bzero(c, sizeof(*c));
}

static struct code *find_code(struct sessions *s, const char *text)
{
	int64_t now = s->clock();
	struct code *found = NULL;

	for (size_t i = 0; i < CODES_MAX; i++) {
		struct code *c = &s->codes[i];

		if (*c->text && c->until <= now)
			forget_code(c);
		if (*c->text && digest_is_of_secret(c->text, text))
			found = c;
	}
	return found;
}

int sessions_make_code(struct sessions *s, const struct user *user, int64_t life, char ret_code[SECRET_TEXT])
{
	struct code *oldest = s->codes;
	int r = digest_make_secret(ret_code);

	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	for (size_t i = 1; i < CODES_MAX; i++)
		if (s->codes[i].until < oldest->until)
			oldest = &s->codes[i];
	*oldest = (struct code){.user = *user, .until = s->clock() + life};
	memcpy(oldest->text, ret_code, SECRET_TEXT);
	pthread_mutex_unlock(&s->lock);
	return 0;
}

bool sessions_code_waits(struct sessions *s, const char *code)
{
	bool waits;

	pthread_mutex_lock(&s->lock);
	waits = find_code(s, code) != NULL;
	pthread_mutex_unlock(&s->lock);
	return waits;
}

int sessions_use_code(struct sessions *s, const char *code, struct user *ret)
{
	struct code *found;

	pthread_mutex_lock(&s->lock);
	found = find_code(s, code);
	if (found) {
		*ret = found->user;
		forget_code(found);
	}
	pthread_mutex_unlock(&s->lock);
	return found ? 0 : -EACCES;
}

/* --- sessions --- */

static void end(struct sessions *s, struct session *one)
{
	memcpy(s->ended[s->n_ended++ % ENDED_MAX], one->text, SECRET_TEXT);
	explicit_bzero(one, sizeof(*one));
}

static bool is_over(const struct session *one, int64_t now)
{
	return now - one->began >= SESSION_LIFE || now - one->used >= SESSION_IDLE;
}

static void end_old(struct sessions *s)
{
	int64_t now = s->clock();

	for (size_t i = 0; i < SESSIONS_MAX; i++)
		if (*s->all[i].text && is_over(&s->all[i], now))
			end(s, &s->all[i]);
}

static struct session *find(struct sessions *s, const char *text)
{
	struct session *found = NULL;

	end_old(s);
	for (size_t i = 0; i < SESSIONS_MAX; i++)
		if (*s->all[i].text && digest_is_of_secret(s->all[i].text, text))
			found = &s->all[i];
	return found;
}

/* A free place, or that of the session that was unused for longest. */
static struct session *make_room(struct sessions *s)
{
	struct session *place = s->all;

	end_old(s);
	for (size_t i = 0; i < SESSIONS_MAX && *place->text; i++)
		if (!*s->all[i].text || s->all[i].used < place->used)
			place = &s->all[i];
	if (*place->text)
		end(s, place);
	return place;
}

int sessions_begin(struct sessions *s, const struct user *user, uint32_t peer, char ret_session[SECRET_TEXT])
{
	struct session *one;
	int64_t now;
	int r = digest_make_secret(ret_session);

	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	now = s->clock();
	one = make_room(s);
	*one = (struct session){.user = *user, .peer = peer, .number = ++s->last_number, .began = now, .used = now};
	memcpy(one->text, ret_session, SECRET_TEXT);
	pthread_mutex_unlock(&s->lock);
	return 0;
}

static bool has_ended(const struct sessions *s, const char *text)
{
	bool has = false;

	for (size_t i = 0; i < ENDED_MAX; i++)
		has |= *s->ended[i] && digest_is_of_secret(s->ended[i], text);
	return has;
}

int sessions_check(struct sessions *s, const char *session, uint32_t peer, struct user *ret)
{
	struct session *one;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	one = find(s, session);
	if (!one)
		r = has_ended(s, session) ? -ETIME : -EACCES;
	else if (one->peer != PEER_UNKNOWN && one->peer != peer)
		r = -EACCES;
	if (r == 0) {
		one->used = s->clock();
		*ret = one->user;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

int sessions_end(struct sessions *s, const char *session)
{
	struct session *one;

	pthread_mutex_lock(&s->lock);
	one = find(s, session);
	if (one)
		end(s, one);
	pthread_mutex_unlock(&s->lock);
	return one ? 0 : -ENOENT;
}

void sessions_each(struct sessions *s, void (*each)(void *data, const struct listed_session *session), void *data)
{
	int64_t now;

	pthread_mutex_lock(&s->lock);
	end_old(s);
	now = s->clock();
	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		const struct session *one = &s->all[i];
		int64_t until = one->began + SESSION_LIFE;

		if (until > one->used + SESSION_IDLE)
			until = one->used + SESSION_IDLE;
		if (*one->text)
			each(data, &(struct listed_session){one->number, &one->user, one->peer, now - one->began, now - one->used, until - now});
	}
	pthread_mutex_unlock(&s->lock);
}

unsigned sessions_end_number(struct sessions *s, uint64_t number)
{
	unsigned n = 0;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < SESSIONS_MAX; i++)
		if (*s->all[i].text && (!number || s->all[i].number == number)) {
			end(s, &s->all[i]);
			n++;
		}
	for (size_t i = 0; i < CODES_MAX; i++)
		forget_code(&s->codes[i]);
	pthread_mutex_unlock(&s->lock);
	return n;
}
