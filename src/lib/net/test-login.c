/* Codes, sessions and tokens, and what someone who steals one gets for it. */
#include "lib/data/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/net/http-server.h"
#include "lib/net/peer.h"

#define OTHER	  65534 /* a user that is not root */
#define HALF_OPEN 500
#define MINUTE	  (60 * NS_PER_SEC)

static char folder[] = "/tmp/whyslow-login-XXXXXX", token_file[64];
static const struct user anna = {"anna", SCOPE_ALL, ""}, reader = {"reader", SCOPE_READ, ""}, scraper = {"scraper", SCOPE_METRICS, ""};

/* --- sessions alone, with a clock of the test's own --- */

static int64_t now;

static int64_t test_clock(void)
{
	return now;
}

static struct sessions *new_sessions(void)
{
	now = 1000 * NS_PER_SEC;
	return sessions_new(test_clock);
}

static void a_code_is_good_for_one_login(void **state)
{
	struct sessions *s = new_sessions();
	char code[SECRET_TEXT], other[SECRET_TEXT];
	struct user who;

	assert_int_equal(sessions_make_code(s, &anna, MINUTE, code), 0);
	assert_int_equal(sessions_make_code(s, &anna, MINUTE, other), 0);
	assert_string_not_equal(code, other);
	assert_true(sessions_code_waits(s, code));
	assert_int_equal(sessions_use_code(s, code, &who), 0);
	assert_string_equal(who.name, "anna");
	assert_false(sessions_code_waits(s, code));
	assert_int_equal(sessions_use_code(s, code, &who), -EACCES);
	assert_int_equal(sessions_use_code(s, "", &who), -EACCES);
	sessions_free(s);
}

static void a_code_gets_too_old(void **state)
{
	struct sessions *s = new_sessions();
	char code[SECRET_TEXT];
	struct user who;

	assert_int_equal(sessions_make_code(s, &anna, MINUTE, code), 0);
	now += MINUTE;
	assert_int_equal(sessions_use_code(s, code, &who), -EACCES);
	sessions_free(s);
}

static void a_session_ends_when_it_is_not_used(void **state)
{
	struct sessions *s = new_sessions();
	char session[SECRET_TEXT];
	struct user who;

	assert_int_equal(sessions_begin(s, &reader, 7, session), 0);
	now += SESSION_IDLE - 1;
	assert_int_equal(sessions_check(s, session, 7, &who), 0);
	assert_int_equal(who.scope, SCOPE_READ);
	now += SESSION_IDLE;
	assert_int_equal(sessions_check(s, session, 7, &who), -ETIME);
	assert_int_equal(sessions_check(s, "unknown", 7, &who), -EACCES);
	sessions_free(s);
}

static void a_session_ends_after_its_life(void **state)
{
	struct sessions *s = new_sessions();
	char session[SECRET_TEXT];
	struct user who;
	int64_t began = now = 1000 * NS_PER_SEC;

	assert_int_equal(sessions_begin(s, &anna, 7, session), 0);
	for (; now - began < SESSION_LIFE; now += SESSION_IDLE / 2)
		assert_int_equal(sessions_check(s, session, 7, &who), 0);
	assert_int_equal(sessions_check(s, session, 7, &who), -ETIME);
	sessions_free(s);
}

static void a_session_is_of_one_user_of_this_machine(void **state)
{
	struct sessions *s = new_sessions();
	char local[SECRET_TEXT], remote[SECRET_TEXT];
	struct user who;

	assert_int_equal(sessions_begin(s, &anna, 7, local), 0);
	assert_int_equal(sessions_check(s, local, 8, &who), -EACCES);
	assert_int_equal(sessions_check(s, local, PEER_UNKNOWN, &who), -EACCES);
	assert_int_equal(sessions_check(s, local, 7, &who), 0);
	assert_int_equal(sessions_begin(s, &anna, PEER_UNKNOWN, remote), 0); /* of another machine: TLS guards it */
	assert_int_equal(sessions_check(s, remote, PEER_UNKNOWN, &who), 0);
	sessions_free(s);
}

static void there_are_so_many_sessions(void **state)
{
	struct sessions *s = new_sessions();
	char first[SECRET_TEXT], session[SECRET_TEXT];
	struct user who;

	assert_int_equal(sessions_begin(s, &anna, 7, first), 0);
	for (int i = 0; i < SESSIONS_MAX; i++) {
		now++;
		assert_int_equal(sessions_begin(s, &anna, 7, session), 0);
	}
	assert_int_equal(sessions_check(s, first, 7, &who), -ETIME);
	assert_int_equal(sessions_check(s, session, 7, &who), 0);
	assert_int_equal(sessions_end_number(s, 0), SESSIONS_MAX);
	assert_int_equal(sessions_check(s, session, 7, &who), -ETIME);
	sessions_free(s);
}

/* --- tokens in a file --- */

static void read_file(const char *path, char *text, size_t max)
{
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, max - 1, f) : 0;

	assert_non_null(f);
	text[n] = '\0';
	fclose(f);
}

static void a_token_is_kept_as_its_digest(void **state)
{
	char path[80], text[1024], first[SECRET_TEXT], second[SECRET_TEXT], *error = NULL;
	struct users *t;
	struct user who;

	snprintf(path, sizeof(path), "%s/digests", folder);
	assert_int_equal(users_add(path, "prometheus", SCOPE_METRICS, INT64_MAX, first, &error), 0);
	assert_int_equal(users_add(path, "bert", SCOPE_READ, clock_wall() + MINUTE, second, &error), 0);
	assert_int_equal(users_add(path, "bert", SCOPE_READ, INT64_MAX, second, &error), -EEXIST);
	free(error);
	assert_int_equal(users_add(path, "two words", SCOPE_READ, INT64_MAX, text, &error), -EINVAL);
	free(error);
	read_file(path, text, sizeof(text));
	assert_null(strstr(text, first));
	assert_non_null(strstr(text, "prometheus sha256:"));
	assert_int_equal(users_open(path, false, &t, &error), 0);
	assert_int_equal(users_in_clear(t), 0);
	assert_int_equal(users_check(t, first, &who), 0);
	assert_string_equal(who.name, "prometheus");
	assert_int_equal(who.scope, SCOPE_METRICS);
	assert_int_equal(users_check(t, second, &who), 0);
	assert_int_equal(who.scope, SCOPE_READ);
	assert_int_equal(users_remove(path, "prometheus", &error), 1);
	assert_int_equal(users_remove(path, "prometheus", &error), 0);
	assert_int_equal(users_check(t, first, &who), -EACCES);
	assert_int_equal(users_check(t, second, &who), 0);
	users_free(t);
}

/* The digest lets no one in: a copy of the file is worth nothing. */
static void a_digest_is_no_token(void **state)
{
	char path[80], text[1024], token[SECRET_TEXT], digest[DIGEST_TEXT] = "", *error = NULL;
	struct users *t;
	struct user who;

	snprintf(path, sizeof(path), "%s/copied", folder);
	assert_int_equal(users_add(path, "anna", SCOPE_ALL, INT64_MAX, token, &error), 0);
	read_file(path, text, sizeof(text));
	memcpy(digest, strstr(text, "sha256:") + strlen("sha256:"), DIGEST_TEXT - 1);
	assert_int_equal(users_open(path, false, &t, &error), 0);
	assert_int_equal(users_check(t, digest, &who), -EACCES);
	assert_int_equal(users_check(t, token, &who), 0);
	users_free(t);
}

static void a_digest_is_sha_256(void **state)
{
	char digest[DIGEST_TEXT];

	assert_int_equal(digest_text("abc", digest, NULL), 0);
	assert_string_equal(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void a_token_expires(void **state)
{
	char path[80], token[SECRET_TEXT], *error = NULL;
	struct users *t;
	struct user who;

	snprintf(path, sizeof(path), "%s/expired", folder);
	assert_int_equal(users_add(path, "old", SCOPE_ALL, clock_wall() - MINUTE, token, &error), 0);
	assert_int_equal(users_open(path, false, &t, &error), 0);
	assert_int_equal(users_check(t, token, &who), -ETIME);
	users_free(t);
}

static void a_group_may_read_digests_alone(void **state)
{
	char path[80], token[SECRET_TEXT], *error = NULL;
	struct users *t;
	FILE *f;

	snprintf(path, sizeof(path), "%s/group", folder);
	assert_int_equal(users_add(path, "anna", SCOPE_ALL, INT64_MAX, token, &error), 0);
	chmod(path, 0640);
	assert_int_equal(users_open(path, false, &t, &error), 0);
	users_free(t);
	f = fopen(path, "a");
	fputs("bert 0123456789abcdef0123456789abcdef\n", f);
	fclose(f);
	assert_int_equal(users_open(path, false, &t, &error), -EACCES);
	free(error);
}

/* --- over HTTP --- */

static void tell_user(struct http_exchange *e)
{
	str_puts(&e->reply, e->user.name);
}

static int never_ends(void *state, struct str *out)
{
	return str_puts(out, "."), 1;
}

static void stream(struct http_exchange *e)
{
	e->stream = (struct http_stream){never_ends, NULL, NULL};
}

static const struct http_route routes[] = {
	{"GET", "/", tell_user, 0, SCOPE_PUBLIC},     {"GET", "/metrics", tell_user, 0, SCOPE_METRICS},
	{"GET", "/answer", tell_user, 0, SCOPE_READ}, {"POST", "/change", tell_user, 0, SCOPE_ALL},
	{"GET", "/stream", stream, 0, SCOPE_READ},    {},
};

static struct http_server *start(void)
{
	struct http_server_options o = {.token_file = token_file, .sessions = true, .routes = routes};
	struct http_server *server;
	char *error = NULL;

	if (http_server_start(&o, &server, &error) < 0)
		fail_msg("%s", error);
	return server;
}

static int connect_to(const struct http_server *s)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(http_server_port(s)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

/* Status and answer of one request; `more`: headers, each with its end. */
static unsigned ask(const struct http_server *s, const char *method, const char *path, const char *more, const char *body, char text[8192])
{
	_cleanup_close_ int fd = connect_to(s);
	_cleanup_str_ struct str request = {};
	size_t have = 0;
	ssize_t n;

	str_printf(&request, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s", method, path, more);
	if (body)
		str_printf(&request, "Content-Length: %zu\r\n", strlen(body));
	str_printf(&request, "\r\n%s", body ? body : "");
	assert_int_equal(send(fd, request.data, request.len, MSG_NOSIGNAL), (ssize_t)request.len);
	while (have < 8191 && (n = read(fd, text + have, 8191 - have)) > 0)
		have += (size_t)n;
	text[have] = '\0';
	return have > 12 ? (unsigned)strtoul(text + 9, NULL, 10) : 0;
}

static unsigned get(const struct http_server *s, const char *path, const char *bearer, char text[8192])
{
	char header[256] = "";

	if (bearer)
		snprintf(header, sizeof(header), "Authorization: Bearer %s\r\n", bearer);
	return ask(s, "GET", path, header, NULL, text);
}

static unsigned post(const struct http_server *s, const char *path, const char *bearer, const char *body, char text[8192])
{
	char header[256];

	snprintf(header, sizeof(header), "Authorization: Bearer %s\r\n", bearer ? bearer : "");
	return ask(s, "POST", path, bearer ? header : "", body, text);
}

/* Logs in with a code of this user. */
static void log_in(const struct http_server *s, const struct user *user, char ret_session[SECRET_TEXT])
{
	char code[SECRET_TEXT], body[SECRET_TEXT + 8], text[8192], *at;

	assert_int_equal(sessions_make_code(http_server_sessions(s), user, MINUTE, code), 0);
	snprintf(body, sizeof(body), "code=%s", code);
	assert_int_equal(post(s, "/login", NULL, body, text), 200);
	at = strstr(text, "\"session\": \"");
	assert_non_null(at);
	snprintf(ret_session, SECRET_TEXT, "%s", at + strlen("\"session\": \""));
	assert_int_equal(post(s, "/login", NULL, body, text), 401); /* once */
	assert_non_null(strstr(text, "was used already"));
}

static void one_logs_in_and_out(void **state)
{
	struct http_server *s = start();
	char session[SECRET_TEXT], text[8192];

	assert_int_equal(get(s, "/answer", NULL, text), 401);
	log_in(s, &anna, session);
	assert_int_equal(get(s, "/answer", session, text), 200);
	assert_non_null(strstr(text, "\r\n\r\nanna"));
	assert_null(strstr(text, "Set-Cookie"));
	assert_int_equal(get(s, "/session", session, text), 200);
	assert_non_null(strstr(text, "\"scope\": \"all\""));
	assert_int_equal(post(s, "/logout", session, "", text), 200);
	assert_int_equal(get(s, "/answer", session, text), 401);
	assert_non_null(strstr(text, "expired"));
	http_server_stop(s);
}

/* A browser sends a cookie to every port of the host. */
static void no_cookie_and_no_address_lets_in(void **state)
{
	struct http_server *s = start();
	char session[SECRET_TEXT], header[256], path[256], text[8192];

	log_in(s, &anna, session);
	snprintf(header, sizeof(header), "Cookie: whyslow_token=%s; session=%s\r\n", session, session);
	assert_int_equal(ask(s, "GET", "/answer", header, NULL, text), 401);
	snprintf(path, sizeof(path), "/answer?token=%s&session=%s", session, session);
	assert_int_equal(get(s, path, NULL, text), 401);
	http_server_stop(s);
}

static void a_scope_bounds_what_is_answered(void **state)
{
	static const struct {
		const struct user *who;
		unsigned metrics, answer, change;
	} cases[] = {{&anna, 200, 200, 200}, {&reader, 200, 200, 403}, {&scraper, 200, 403, 403}};
	struct http_server *s = start();
	char session[SECRET_TEXT], text[8192];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(sessions_begin(http_server_sessions(s), cases[i].who, geteuid(), session), 0);
		assert_int_equal(get(s, "/", NULL, text), 200);
		assert_int_equal(get(s, "/metrics", session, text), cases[i].metrics);
		assert_int_equal(get(s, "/answer", session, text), cases[i].answer);
		assert_int_equal(post(s, "/change", session, "", text), cases[i].change);
	}
	assert_int_equal(http_server_counts(s).too_narrow, 3);
	http_server_stop(s);
}

static void a_token_logs_in_when_its_scope_allows_the_page(void **state)
{
	struct http_server *s = start();
	char token[SECRET_TEXT], narrow[SECRET_TEXT], body[96], text[8192], *error = NULL;

	assert_int_equal(users_add(token_file, "carl", SCOPE_READ, INT64_MAX, token, &error), 0);
	assert_int_equal(users_add(token_file, "prometheus", SCOPE_METRICS, INT64_MAX, narrow, &error), 0);
	snprintf(body, sizeof(body), "token=%s", token);
	assert_int_equal(post(s, "/login", NULL, body, text), 200);
	assert_non_null(strstr(text, "\"user\": \"carl\", \"scope\": \"read\""));
	snprintf(body, sizeof(body), "token=%s", narrow);
	assert_int_equal(post(s, "/login", NULL, body, text), 403);
	assert_int_equal(get(s, "/metrics", narrow, text), 200);
	assert_int_equal(post(s, "/login", NULL, "token=guessed", text), 401);
	assert_int_equal(post(s, "/login", NULL, "", text), 400);
	assert_int_equal(post(s, "/logout", token, "", text), 400);
	http_server_stop(s);
}

/* Writes the file again: a line for carl's token, as an administrator's editor does. */
static void rewrite_token(const char *token, const char *more)
{
	_cleanup_fclose_ FILE *f = fopen(token_file, "we");
	char digest[DIGEST_TEXT];

	assert_non_null(f);
	assert_int_equal(digest_text(token, digest, NULL), 0);
	fprintf(f, "carl sha256:%s %s\n", digest, more);
}

/* A session that began with a token is worth no more than the token is now. */
static void a_session_ends_with_the_token_that_began_it(void **state)
{
	static const char *const endings[] = {"scope=read expires=2020-01-01T00:00:00Z", NULL};
	char token[SECRET_TEXT], session[SECRET_TEXT] = "", body[96], text[8192], *error = NULL, *at;
	struct http_server *s = start();

	(void)users_remove(token_file, "carl", &error);
	assert_int_equal(users_add(token_file, "carl", SCOPE_ALL, INT64_MAX, token, &error), 0);
	snprintf(body, sizeof(body), "token=%s", token);
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		rewrite_token(token, "scope=all");
		assert_int_equal(post(s, "/login", NULL, body, text), 200);
		at = strstr(text, "\"session\": \"");
		assert_non_null(at);
		memcpy(session, at + strlen("\"session\": \""), SECRET_TEXT - 1);
		assert_int_equal(post(s, "/change", session, "", text), 200);
		rewrite_token(token, "scope=read"); /* narrower from now on */
		assert_int_equal(get(s, "/answer", session, text), 200);
		assert_int_equal(post(s, "/change", session, "", text), 403);
		if (endings[i])
			rewrite_token(token, endings[i]);
		else
			assert_int_equal(users_remove(token_file, "carl", &error), 1);
		assert_int_equal(get(s, "/answer", session, text), 401);
		rewrite_token(token, "scope=all"); /* the session does not come back with it */
		assert_int_equal(get(s, "/answer", session, text), 401);
	}
	http_server_stop(s);
}

struct stream_of_user {
	int fd;
	bool answered;
};

static struct stream_of_user open_stream(const struct http_server *s, const char *session)
{
	struct stream_of_user o = {.fd = connect_to(s)};
	char request[256], piece[4096] = "";
	int n = snprintf(request, sizeof(request), "GET /stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", session);

	assert_int_equal(write(o.fd, request, (size_t)n), n);
	assert_true(read(o.fd, piece, sizeof(piece) - 1) > 0);
	o.answered = strstr(piece, " 200 ") != NULL;
	return o;
}

/* A user with the narrowest of rights opens streams without end: others are answered all the same, and so is a second such user. */
static void one_user_leaves_requests_for_others(void **state)
{
	struct http_server *s = start();
	struct stream_of_user streams[2 * 40];
	char session[2][SECRET_TEXT], other[SECRET_TEXT], text[8192];
	unsigned answered[2] = {};

	log_in(s, &anna, other);
	for (int who = 0; who < 2; who++) {
		const struct user *const greedy[] = {&reader, &(struct user){"second", SCOPE_READ, ""}};

		assert_int_equal(sessions_begin(http_server_sessions(s), greedy[who], geteuid(), session[who]), 0);
		for (int i = 0; i < 40; i++) {
			streams[40 * who + i] = open_stream(s, session[who]);
			answered[who] += streams[40 * who + i].answered;
		}
	}
	assert_int_equal(answered[0], 24);
	assert_int_equal(answered[1], 6);
	assert_int_equal(get(s, "/answer", other, text), 200);
	assert_int_equal(get(s, "/answer", session[0], text), 503);
	assert_int_equal(sessions_end_number(http_server_sessions(s), 0), 3);
	for (size_t i = 0; i < ARRAY_SIZE(streams); i++)
		close(streams[i].fd);
	http_server_stop(s);
}

/* From the file that `whyslow open` writes the page is opened, and nothing else. */
static void the_page_may_be_opened_from_anywhere(void **state)
{
	static const char opened[] = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
	struct http_server *s = start();
	char session[SECRET_TEXT], headers[512], text[8192];

	log_in(s, &anna, session);
	assert_int_equal(ask(s, "GET", "/", opened, NULL, text), 200);
	assert_int_equal(ask(s, "GET", "/", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: script\r\n", NULL, text), 403);
	assert_int_equal(ask(s, "GET", "/", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n", NULL, text), 403);
	snprintf(headers, sizeof(headers), "%sAuthorization: Bearer %s\r\n", opened, session);
	assert_int_equal(ask(s, "GET", "/answer", headers, NULL, text), 403);
	assert_int_equal(ask(s, "POST", "/login", "Origin: http://evil.example\r\n", "code=x", text), 403);
	http_server_stop(s);
}

/* Another user of this machine has got hold of a session. */
static void a_stolen_session_is_of_no_use_to_another_user(void **state)
{
	struct http_server *s;
	char session[SECRET_TEXT], text[8192];
	int status;
	pid_t pid;

	if (geteuid() != 0)
		skip();
	s = start();
	log_in(s, &anna, session);
	pid = fork();
	if (pid == 0)
		_exit(setresuid(OTHER, OTHER, OTHER) < 0 ? 1 : get(s, "/answer", session, text) == 401 ? 42 : 2);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 42);
	assert_int_equal(get(s, "/answer", session, text), 200);
	http_server_stop(s);
}

/* It reads until the stream ends, which it does not by itself. */
static void a_stream_ends_with_its_session(void **state)
{
	struct http_server *s = start();
	char session[SECRET_TEXT], request[256], piece[4096];
	_cleanup_close_ int fd = connect_to(s);
	int n;

	log_in(s, &anna, session);
	n = snprintf(request, sizeof(request), "GET /stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", session);
	assert_int_equal(write(fd, request, (size_t)n), n);
	assert_true(read(fd, piece, sizeof(piece)) > 0);
	assert_int_equal(sessions_end_number(http_server_sessions(s), 0), 1);
	shutdown(fd, SHUT_WR);
	while (read(fd, piece, sizeof(piece)) > 0)
		continue;
	http_server_stop(s);
}

/* Some say nothing, some half of a request's headers, some a login whose body does not come. The page comes nevertheless, and so do answers. */
static void half_open_connections_shut_no_one_out(void **state)
{
	static const char *const parts[] = {"", "GET / HTTP/1.1\r\nHost: lo", "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 400\r\n\r\ncode"};
	const struct rlimit many = {4096, 4096};
	struct http_server *s = start();
	char session[SECRET_TEXT], text[8192];
	int fds[HALF_OPEN];

	(void)setrlimit(RLIMIT_NOFILE, &many);
	log_in(s, &anna, session);
	for (int i = 0; i < HALF_OPEN; i++) {
		fds[i] = connect_to(s);
		(void)send(fds[i], parts[i % 3], strlen(parts[i % 3]), MSG_NOSIGNAL); /* an earlier one's place may be taken by now */
	}
	assert_int_equal(get(s, "/", NULL, text), 200);
	assert_int_equal(get(s, "/answer", session, text), 200);
	assert_true(http_server_evicted(s) >= HALF_OPEN / 2);
	for (int i = 0; i < HALF_OPEN; i++)
		close(fds[i]);
	http_server_stop(s);
}

static int set_up(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	chmod(folder, 0755);
	snprintf(token_file, sizeof(token_file), "%s/tokens", folder);
	return 0;
}

static int tear_down(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_code_is_good_for_one_login),
		cmocka_unit_test(a_code_gets_too_old),
		cmocka_unit_test(a_session_ends_when_it_is_not_used),
		cmocka_unit_test(a_session_ends_after_its_life),
		cmocka_unit_test(a_session_is_of_one_user_of_this_machine),
		cmocka_unit_test(there_are_so_many_sessions),
		cmocka_unit_test(a_token_is_kept_as_its_digest),
		cmocka_unit_test(a_digest_is_no_token),
		cmocka_unit_test(a_digest_is_sha_256),
		cmocka_unit_test(a_token_expires),
		cmocka_unit_test(a_group_may_read_digests_alone),
		cmocka_unit_test(one_logs_in_and_out),
		cmocka_unit_test(no_cookie_and_no_address_lets_in),
		cmocka_unit_test(a_scope_bounds_what_is_answered),
		cmocka_unit_test(a_token_logs_in_when_its_scope_allows_the_page),
		cmocka_unit_test(a_session_ends_with_the_token_that_began_it),
		cmocka_unit_test(one_user_leaves_requests_for_others),
		cmocka_unit_test(the_page_may_be_opened_from_anywhere),
		cmocka_unit_test(a_stolen_session_is_of_no_use_to_another_user),
		cmocka_unit_test(a_stream_ends_with_its_session),
		cmocka_unit_test(half_open_connections_shut_no_one_out),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
