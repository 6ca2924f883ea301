#include "lib/data/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/input/gzip.h"
#include "lib/net/certificate.h"
#include "lib/net/http-client.h"
#include "lib/net/http-server.h"
#include "lib/net/test-proxy.h"

#define TOKEN "0123456789abcdef0123456789abcdef"

static char folder[] = "/tmp/whyslow-http-XXXXXX", token_file[64];

static void echo(struct http_exchange *e)
{
	e->type = "text/plain";
	str_printf(&e->reply, "%s %s:", e->user.name, http_query(e, "q") ? http_query(e, "q") : "-");
	str_append(&e->reply, e->body.data, e->body.len);
}

static void big(struct http_exchange *e)
{
	for (int i = 0; i < 10000; i++)
		str_puts(&e->reply, "again and ");
}

static void busy(struct http_exchange *e)
{
	e->retry_after = 7;
	http_fail(e, 429, "later");
}

static int count_down(void *state, struct str *out)
{
	int *left = state;
	char text[8];

	snprintf(text, sizeof(text), "%d\n%d", *left, *left);
	http_event(out, "tick", text);
	return --*left > 0;
}

static int next_never(void *state, struct str *out)
{
	(void)out;
	return (*(int *)state)++ == 0 ? str_puts(out, "begin"), 1 : 1;
}

static void events(struct http_exchange *e)
{
	int *left = malloc(sizeof(*left));

	*left = 3;
	e->type = "text/event-stream";
	e->stream = (struct http_stream){count_down, free, left};
}

static void endless(struct http_exchange *e)
{
	e->stream = (struct http_stream){next_never, free, calloc(1, sizeof(int))};
}

static void rude(struct http_exchange *e)
{
	http_fail(e, 429, "later");
	str_clear(&e->reply);
	str_puts(&e->reply, "\033[2J\033]0;gone\007");
}

static atomic_int began, gone;

static void patient(struct http_exchange *e)
{
	atomic_store(&gone, http_client_has_gone(e) ? 2 : 0);
	atomic_store(&began, 1);
	for (int i = 0; i < 500 && !atomic_load(&gone); i++) {
		if (http_client_has_gone(e))
			atomic_store(&gone, 1);
		usleep(10000);
	}
}

static void quotes(struct http_exchange *e)
{
	http_fail(e, 400, "bad \"\xff\xc3 x\033");
}

static const struct http_route routes[] = {
	{"GET", "/quotes", quotes, 0, SCOPE_ALL},
	{"POST", "/json", echo, 4096, SCOPE_ALL},
	{"GET", "/patient", patient, 0, SCOPE_ALL},
	{"GET", "/rude", rude, 0, SCOPE_ALL},
	{"GET", "/echo", echo, 0, SCOPE_ALL},	{"POST", "/echo", echo, 4096, SCOPE_ALL}, {"GET", "/big", big, 0, SCOPE_ALL},	   {"GET", "/busy", busy, 0, SCOPE_ALL},
	{"GET", "/events", events, 0, SCOPE_ALL},	{"GET", "/endless", endless, 0, SCOPE_ALL}, {"GET", "/files/*", echo, 0, SCOPE_ALL}, {},
};

struct both {
	struct http_server *server;
	struct http_client *client;
	char base[64];
};

static void write_file(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	chmod(path, mode);
}

static struct http_server *start(struct http_server_options *o)
{
	struct http_server *server = NULL;
	char *error = NULL;

	o->routes = routes;
	o->json_below = "/json";
	o->token_file = token_file;
	if (http_server_start(o, &server, &error) < 0)
		fail_msg("%s", error);
	return server;
}

static struct http_client *client(const struct http_client_options *o)
{
	struct http_client *c = NULL;
	char *error = NULL;

	if (http_client_open(o, &c, &error) < 0)
		fail_msg("%s", error);
	return c;
}

static struct both both(unsigned requests_max, const char *token)
{
	struct http_server_options so = {.requests_max = requests_max};
	struct http_client_options co = {.token = token, .timeout = 5 * NS_PER_SEC};
	struct both b = {start(&so), client(&co), ""};

	snprintf(b.base, sizeof(b.base), "http://127.0.0.1:%u", http_server_port(b.server));
	return b;
}

static void both_free(struct both *b)
{
	http_client_close(b->client);
	http_server_stop(b->server);
}

/* Sends and returns the status; the body in *ret, where wanted. */
static unsigned ask(struct both *b, const char *path, struct http_request q, struct http_reply *ret)
{
	_cleanup_free_ char *url = NULL;
	struct http_reply reply = {};
	unsigned status;

	assert_true(asprintf(&url, "%s%s", b->base, path) > 0);
	q.url = url;
	if (http_send(b->client, &q, &reply) < 0)
		fail_msg("%s", http_client_error(b->client));
	status = reply.status;
	if (ret)
		*ret = reply;
	else
		http_reply_free(&reply);
	return status;
}

/* What comes back for bytes sent as they are. */
static char *raw(const struct both *b, const char *request)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(http_server_port(b->server)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM, 0);
	static char text[16384];
	size_t have = 0;
	ssize_t n;

	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(write(fd, request, strlen(request)), (ssize_t)strlen(request));
	shutdown(fd, SHUT_WR);
	while ((n = read(fd, text + have, sizeof(text) - 1 - have)) > 0)
		have += (size_t)n;
	text[have] = '\0';
	return text;
}

static void a_client_that_goes_away_is_noticed(void **state)
{
	static const char request[] = "GET /patient HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " TOKEN "\r\n\r\n";
	struct both b = both(0, TOKEN);
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(http_server_port(b.server)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(write(fd, request, strlen(request)), (ssize_t)strlen(request));
	for (int i = 0; i < 500 && !atomic_load(&began); i++)
		usleep(10000);
	assert_int_equal(atomic_load(&began), 1);
	assert_int_equal(atomic_load(&gone), 0);
	close(fd);
	both_free(&b); /* waits for the handler */
	assert_int_equal(atomic_load(&gone), 1);
}

static void nothing_is_answered_without_a_token(void **state)
{
	struct both b = both(0, NULL);
	struct http_counts n;

	assert_int_equal(ask(&b, "/echo", (struct http_request){}, NULL), 401);
	assert_int_equal(ask(&b, "/unknown", (struct http_request){}, NULL), 401);
	http_client_close(b.client);
	b.client = client(&(struct http_client_options){.token = "0123456789abcdef0123456789abcdeX"});
	assert_int_equal(ask(&b, "/echo", (struct http_request){}, NULL), 401);
	n = http_server_counts(b.server);
	assert_int_equal(n.requests, 3);
	assert_int_equal(n.no_token, 3);
	both_free(&b);
}

static void a_user_is_known_by_the_token(void **state)
{
	struct both b = both(0, TOKEN);
	struct http_reply r;

	assert_int_equal(ask(&b, "/echo?q=a%20b", (struct http_request){}, &r), 200);
	assert_string_equal(r.body.data, "anna a b:");
	http_reply_free(&r);
	both_free(&b);
}

static void foreign_names_and_pages_are_refused(void **state)
{
	static const struct {
		const char *header;
		unsigned status;
	} cases[] = {
		{"Host: evil.example", 421},	       {"Host: evil.example:80", 421}, {"Host: localhost:1", 200},
		{"Host: [::1]:9", 200},		       {"Host: [::1].evil.example", 421}, {"Host: [::1]evil.example:80", 421},		       {"Origin: http://evil.example", 403}, {"Origin: null", 403},
		{"Sec-Fetch-Site: cross-site", 403}, {"Sec-Fetch-Site: same-origin", 200},
	};
	struct http_counts n;
	struct both b = both(0, TOKEN);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *headers[] = {cases[i].header, NULL};

		http_client_close(b.client);
		b.client = client(&(struct http_client_options){.token = TOKEN, .headers = headers});
		assert_int_equal(ask(&b, "/echo", (struct http_request){}, NULL), cases[i].status);
	}
	n = http_server_counts(b.server);
	assert_int_equal(n.wrong_host, 4);
	assert_int_equal(n.wrong_origin, 3);
	both_free(&b);
}

static void answers_carry_a_policy_and_no_cors(void **state)
{
	struct both b = both(0, TOKEN);
	const char *text = raw(&b, "GET /echo HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " TOKEN
				   "\r\nConnection: close\r\n\r\n");

	assert_non_null(strstr(text, "HTTP/1.1 200"));
	assert_non_null(strstr(text, "Content-Security-Policy: default-src 'self'"));
	assert_non_null(strstr(text, "X-Content-Type-Options: nosniff"));
	assert_null(strstr(text, "Access-Control"));
	both_free(&b);
}

/* A proxy in between may read the other one. */
static void a_header_that_decides_is_given_once(void **state)
{
	static const char *const twice[] = {"Host: localhost\r\nHost: evil.example", "Host: localhost\r\nhost: localhost",
					    "Host: localhost\r\nAuthorization: Bearer x", "Host: localhost\r\nContent-Type: a/b\r\nContent-Type: c/d"};
	struct both b = both(0, TOKEN);
	char text[300];

	for (size_t i = 0; i < ARRAY_SIZE(twice); i++) {
		snprintf(text, sizeof(text), "GET /echo HTTP/1.1\r\n%s\r\nAuthorization: Bearer " TOKEN "\r\nConnection: close\r\n\r\n", twice[i]);
		assert_non_null(strstr(raw(&b, text), "HTTP/1.1 400"));
	}
	both_free(&b);
}

static int post_as(const struct both *b, const char *type)
{
	char text[400];

	snprintf(text, sizeof(text), "POST /json HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " TOKEN "\r\n%s%s%sContent-Length: 2\r\nConnection: close\r\n\r\n{}",
		 type ? "Content-Type: " : "", type ? type : "", type ? "\r\n" : "");
	return atoi(strchr(raw(b, text), ' ') + 1);
}

/* Forms of pages send the others. */
static void a_body_has_the_type_of_its_route(void **state)
{
	struct both b = both(0, TOKEN);

	assert_int_equal(post_as(&b, "application/json"), 200);
	assert_int_equal(post_as(&b, "Application/JSON; charset=utf-8"), 200);
	assert_int_equal(post_as(&b, "text/plain"), 415);
	assert_int_equal(post_as(&b, "application/jsonp"), 415);
	assert_int_equal(post_as(&b, "application/x-www-form-urlencoded"), 415);
	assert_int_equal(post_as(&b, NULL), 415);
	both_free(&b);
}

static void an_error_is_json_whatever_it_quotes(void **state)
{
	struct both b = both(0, TOKEN);
	const char *text = raw(&b, "GET /quotes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " TOKEN "\r\nConnection: close\r\n\r\n");
	const char *body = strstr(text, "\r\n\r\n");

	assert_non_null(body);
	assert_true(str_is_utf8(body, strlen(body)));
	assert_non_null(strstr(body, "{\"error\": \"bad \\\"?? x?\"}"));
	both_free(&b);
}

static void what_leaves_the_machine_without_tls_can_be_read(void **state)
{
	struct http_client *c = client(&(struct http_client_options){});

	assert_true(http_client_others_can_read(c, "http://pool.example/x"));
	assert_true(http_client_others_can_read(c, "http://127.0.0.1.example/x"));
	assert_true(http_client_others_can_read(c, "http://127.0.0.1@pool.example/x"));
	assert_false(http_client_others_can_read(c, "https://pool.example/x"));
	assert_false(http_client_others_can_read(c, "http://127.0.0.1:80/x"));
	assert_false(http_client_others_can_read(c, "http://LOCALHOST/x"));
	assert_false(http_client_others_can_read(c, "http://[::1]:80/x"));
	http_client_close(c);
}

/* What a server without logins has none of. */
static void without_sessions_no_one_logs_in(void **state)
{
	struct both b = both(0, TOKEN);

	assert_int_equal(ask(&b, "/login", (struct http_request){.body = "code=x", .n = 6}, NULL), 404);
	assert_null(http_server_sessions(b.server));
	both_free(&b);
}

static void paths_and_methods_come_from_the_table(void **state)
{
	struct both b = both(0, TOKEN);

	assert_int_equal(ask(&b, "/nowhere", (struct http_request){}, NULL), 404);
	assert_int_equal(ask(&b, "/files/a/b", (struct http_request){}, NULL), 200);
	assert_int_equal(ask(&b, "/big", (struct http_request){.body = "x", .n = 1}, NULL), 405);
	both_free(&b);
}

static void bodies_are_unpacked_and_bounded(void **state)
{
	static char zeros[1 << 20];
	struct both b = both(0, TOKEN);
	struct http_reply r;

	assert_int_equal(ask(&b, "/echo", (struct http_request){.body = "hello", .n = 5}, &r), 200);
	assert_string_equal(r.body.data, "anna -:hello");
	http_reply_free(&r);
	assert_int_equal(ask(&b, "/echo", (struct http_request){.body = "hello", .n = 5, .gzip = true}, &r), 200);
	assert_string_equal(r.body.data, "anna -:hello");
	http_reply_free(&r);
	assert_int_equal(ask(&b, "/echo", (struct http_request){.body = zeros, .n = 4096}, NULL), 200);
	assert_int_equal(ask(&b, "/echo", (struct http_request){.body = zeros, .n = 4097}, NULL), 413);
	assert_int_equal(ask(&b, "/echo", (struct http_request){.body = zeros, .n = sizeof(zeros), .gzip = true}, NULL), 413);
	assert_int_equal(http_server_counts(b.server).too_large, 2);
	both_free(&b);
}

static void a_damaged_body_is_refused(void **state)
{
	const char *headers[] = {"Content-Encoding: gzip", NULL};
	struct both b = both(0, TOKEN);
	_cleanup_str_ struct str packed = {};

	http_client_close(b.client);
	b.client = client(&(struct http_client_options){.token = TOKEN, .headers = headers});
	assert_int_equal(ask(&b, "/echo", (struct http_request){.body = "no gzip", .n = 7}, NULL), 400);
	assert_int_equal(gzip_pack("hello hello hello", 17, &packed), 0);
	assert_int_equal(ask(&b, "/echo", (struct http_request){.body = packed.data, .n = packed.len}, NULL), 200);
	assert_int_equal(ask(&b, "/echo", (struct http_request){.body = packed.data, .n = packed.len - 5}, NULL), 400);
	assert_int_equal(http_server_counts(b.server).bad_body, 2);
	both_free(&b);
}

static void long_answers_travel_packed(void **state)
{
	struct both b = both(0, TOKEN);
	struct http_reply r;

	assert_int_equal(ask(&b, "/big", (struct http_request){}, &r), 200);
	assert_int_equal(r.body.len, 100000);
	assert_true(r.received < 5000);
	http_reply_free(&r);
	http_client_close(b.client);
	b.client = client(&(struct http_client_options){.token = TOKEN, .body_max = 50000});
	assert_int_equal(http_send(b.client, &(struct http_request){.url = b.base}, &r), 0);
	http_reply_free(&r);
	strcat(b.base, "/big");
	assert_int_equal(http_send(b.client, &(struct http_request){.url = b.base}, &r), -E2BIG);
	assert_non_null(strstr(http_client_error(b.client), "ask for less"));
	both_free(&b);
}

static int collect(const void *bytes, size_t n, void *data)
{
	return str_append(data, bytes, n);
}

static void events_stream(void **state)
{
	static const char expected[] = "event: tick\ndata: 3\ndata: 3\n\nevent: tick\ndata: 2\ndata: 2\n\n"
				       "event: tick\ndata: 1\ndata: 1\n\n";
	struct both b = both(0, TOKEN);
	_cleanup_str_ struct str text = {};

	assert_int_equal(ask(&b, "/events", (struct http_request){.sink = collect, .data = &text}, NULL), 200);
	assert_string_equal(text.data, expected);
	both_free(&b);
}

/* While the first request is being answered: what a second one is reported. */
static int ask_second(const void *bytes, size_t n, void *data)
{
	struct both *second = data;
	struct http_reply r;

	(void)bytes, (void)n;
	assert_int_equal(ask(second, "/echo", (struct http_request){}, &r), 503);
	assert_int_equal(r.retry_after, NS_PER_SEC);
	http_reply_free(&r);
	return -ECANCELED;
}

static void beyond_the_limit_is_told_to_come_again(void **state)
{
	struct both b = both(1, TOKEN), second = b;
	struct http_reply r;
	char url[80];

	second.client = client(&(struct http_client_options){.token = TOKEN});
	snprintf(url, sizeof(url), "%s/endless", b.base);
	assert_int_equal(http_send(b.client, &(struct http_request){.url = url, .sink = ask_second, .data = &second}, &r), -ECANCELED);
	assert_int_equal(http_server_counts(b.server).too_many, 1);
	http_client_close(second.client);
	both_free(&b);
}

static void a_busy_service_is_said_in_words(void **state)
{
	struct both b = both(0, TOKEN);
	struct http_request q = {.url = b.base};
	struct http_reply r;

	strcat(b.base, "/busy");
	assert_int_equal(http_send(b.client, &q, &r), 0);
	assert_int_equal(r.status, 429);
	assert_int_equal(http_check_status(b.client, &q, &r), -EBUSY);
	assert_non_null(strstr(http_client_error(b.client), "try again in 7 s"));
	http_reply_free(&r);
	both_free(&b);
}

/* A server's words reach a terminal. */
static void what_a_service_says_is_no_terminal_command(void **state)
{
	struct both b = both(0, TOKEN);
	struct http_request q = {.url = b.base};
	struct http_reply r;

	strcat(b.base, "/rude");
	assert_int_equal(http_send(b.client, &q, &r), 0);
	r.retry_after = 0;
	assert_int_equal(http_check_status(b.client, &q, &r), -EBUSY);
	assert_non_null(strstr(http_client_error(b.client), "gone"));
	assert_null(strpbrk(http_client_error(b.client), "\033\007"));
	http_reply_free(&r);
	both_free(&b);
}

static void tokens_must_be_private_and_may_change(void **state)
{
	struct both b = both(0, TOKEN);
	char *error = NULL;
	struct users *t;

	write_file(token_file, "bert fedcba9876543210fedcba9876543210\n", 0600);
	assert_int_equal(ask(&b, "/echo", (struct http_request){}, NULL), 401);
	write_file(token_file, "anna " TOKEN "\n", 0644);
	assert_int_equal(ask(&b, "/echo", (struct http_request){}, NULL), 401);
	assert_int_equal(users_open(token_file, false, &t, &error), -EACCES);
	assert_non_null(strstr(error, "chmod 600"));
	free(error);
	chmod(token_file, 0600);
	assert_int_equal(ask(&b, "/echo", (struct http_request){}, NULL), 200);
	both_free(&b);
}

static void bad_token_files_are_located(void **state)
{
	static const struct {
		const char *text, *said;
	} cases[] = {{"anna short\n", ":1: a token has at least"}, {"anna sha256:12\n", ":1: invalid line; expected NAME TOKEN"},
		     {"anna " TOKEN " scope=some\n", ":1: invalid line; expected NAME TOKEN"}, {"anna " TOKEN " expires=never\n", ":1: invalid line; expected NAME TOKEN"},
		     {"# x\nanna " TOKEN " more\n", ":2: invalid line; expected NAME TOKEN"}};
	char path[80], *error;
	struct users *t;

	snprintf(path, sizeof(path), "%s/bad", folder);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		write_file(path, cases[i].text, 0600);
		assert_int_equal(users_open(path, false, &t, &error), -EINVAL);
		assert_non_null(strstr(error, cases[i].said));
		free(error);
	}
	unlink(path);
}

static void a_file_without_tokens_is_a_mistake(void **state)
{
	char path[80], *error = NULL;
	struct http_server_options o = {.token_file = path, .routes = routes};
	struct http_server *server;

	snprintf(path, sizeof(path), "%s/none", folder);
	write_file(path, "# none\n\n", 0600);
	assert_int_equal(http_server_start(&o, &server, &error), -EINVAL);
	assert_non_null(strstr(error, "has no token"));
	free(error);
	unlink(path);
}

static void a_token_is_made_once(void **state)
{
	struct credentials first, second;
	char path[80], *error;

	snprintf(path, sizeof(path), "%s/made/token", folder);
	assert_int_equal(user_token_make(path, "root"), 0);
	assert_int_equal(user_credentials_read(path, &first, &error), 0);
	assert_int_equal(user_token_make(path, "root"), 0);
	assert_int_equal(user_credentials_read(path, &second, &error), 0);
	assert_int_equal(strlen(first.token), 64);
	assert_string_equal(first.token, second.token);
	user_credentials_free(&first);
	user_credentials_free(&second);
}

static void a_password_may_stand_in_a_file(void **state)
{
	struct credentials c;
	char path[80], *error;

	snprintf(path, sizeof(path), "%s/password", folder);
	write_file(path, "\nanna:a b\n", 0600);
	assert_int_equal(user_credentials_read(path, &c, &error), -EINVAL);
	free(error);
	write_file(path, "# me\nanna:se:cret\n", 0600);
	assert_int_equal(user_credentials_read(path, &c, &error), 0);
	assert_null(c.token);
	assert_string_equal(c.user, "anna");
	assert_string_equal(c.password, "se:cret");
	user_credentials_free(&c);
}

static void other_machines_are_served_encrypted_or_not_at_all(void **state)
{
	struct http_server_options o = {.listen = "0.0.0.0:0", .routes = routes, .token_file = token_file};
	struct http_server *server;
	char *error = NULL;

	assert_int_equal(http_server_start(&o, &server, &error), -EACCES);
	assert_non_null(strstr(error, "--tls-cert"));
	free(error);
}

static void a_token_does_not_travel_unencrypted(void **state)
{
	struct http_client *c = client(&(struct http_client_options){.token = TOKEN});
	struct http_reply r;

	assert_int_equal(http_send(c, &(struct http_request){.url = "http://192.0.2.1:80/"}, &r), -EACCES);
	assert_non_null(strstr(http_client_error(c), "use https://"));
	http_client_close(c);
}

/* A name is not this machine because it begins like its address. */
static void a_name_that_looks_like_loopback_is_another_machine(void **state)
{
	struct http_client *c = client(&(struct http_client_options){.token = TOKEN});
	struct http_reply r;

	assert_int_equal(http_send(c, &(struct http_request){.url = "http://127.evil.example/"}, &r), -EACCES);
	http_client_close(c);
}

static void this_machine_is_asked_without_a_proxy(void **state)
{
	struct both b = both(0, TOKEN);

	setenv("http_proxy", "http://127.0.0.1:1", 1); /* where nothing listens */
	assert_int_equal(ask(&b, "/echo", (struct http_request){}, NULL), 200);
	unsetenv("http_proxy");
	both_free(&b);
}

/* However it is written: a proxy of another user's hears nothing of it, by any of the variables that libcurl knows. */
static void no_spelling_of_this_machine_reaches_a_proxy(void **state)
{
	static const char *const names[] = {"http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"};
	static const char *const hosts[] = {"localhost", "LOCALHOST", "localhost.", "LocalHost.", "127.1", "127.0.0.1", "2130706433", "0x7f.1", "[::1]",
					    "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]"};
	struct both b = both(0, TOKEN);
	struct http_client *plain = client(&(struct http_client_options){.timeout = 5 * NS_PER_SEC});
	atomic_uint_fast64_t heard = 0;
	struct http_reply r;
	struct proxy p;
	char url[96];

	assert_int_equal(proxy_start(&p, http_server_port(b.server), &heard), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", p.port);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		setenv(names[i], url, 1);
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		snprintf(url, sizeof(url), "http://%s:%u/echo", hosts[i], http_server_port(b.server));
		for (int secret = 0; secret < 2; secret++)
			if (http_send(secret ? b.client : plain, &(struct http_request){.url = url}, &r) == 0)
				http_reply_free(&r);
		if (heard)
			fail_msg("%s went to the proxy", hosts[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unsetenv(names[i]);
	/* the proxy does hear what is for another machine */
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", p.port);
	setenv("http_proxy", url, 1);
	if (http_send(plain, &(struct http_request){.url = "http://elsewhere.invalid/"}, &r) == 0)
		http_reply_free(&r);
	assert_true(heard > 0);
	unsetenv("http_proxy");
	http_client_close(plain);
	both_free(&b);
	proxy_stop(&p);
}

static void a_pause_is_bounded(void **state)
{
	static const struct {
		const char *line;
		int64_t seconds;
	} cases[] = {{"Retry-After: 7\r\n", 7},	{"retry-after:\t12", 12}, {"Retry-After: 99999999999999999999", 7 * 86400},
		     {"Retry-After: -5", 0},	{"Retry-After:", 0},	  {"Retry-After: Fri, 31 Dec 1999", 0},
		     {"Retry-Aft", -1}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t ns = -NS_PER_SEC;

		http_take_retry_after(cases[i].line, strlen(cases[i].line), &ns);
		assert_int_equal(ns, cases[i].seconds * NS_PER_SEC);
	}
}

static void nobody_there_is_said_in_words(void **state)
{
	struct http_client *c = client(&(struct http_client_options){});
	struct http_reply r;

	assert_int_equal(http_send(c, &(struct http_request){.url = "http://127.0.0.1:1/"}, &r), -ECONNREFUSED);
	assert_non_null(strstr(http_client_error(c), "is the service running"));
	assert_int_equal(http_send(c, &(struct http_request){.url = "ftp://127.0.0.1/"}, &r), -EINVAL);
	http_client_close(c);
}

/* --- TLS --- */

static void make_certificate(const char *name, const char *address, const char *more)
{
	char command[512];
	int status;

	snprintf(command, sizeof(command), "'%s/../make-certificate' %s/%s %s %s", FIXTURES, folder, name, address, more);
	status = system(command);
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

/* Asks a server with one certificate, trusting the one named; what the client says, or NULL when it was answered. */
static const char *ask_over_tls(const char *certificate, const char *trusted)
{
	char cert[96], key[96], ca[96], url[64];
	static char said[512];
	struct http_server_options so = {.cert_file = cert, .key_file = key};
	struct http_client_options co = {.token = TOKEN, .ca_file = trusted ? ca : NULL};
	struct http_reply r;
	struct both b;
	int code;

	snprintf(cert, sizeof(cert), "%s/%s.crt", folder, certificate);
	snprintf(key, sizeof(key), "%s/%s.key", folder, certificate);
	snprintf(ca, sizeof(ca), "%s/%s.crt", folder, trusted ? trusted : "");
	b = (struct both){start(&so), client(&co), ""};
	snprintf(url, sizeof(url), "https://127.0.0.1:%u/echo", http_server_port(b.server));
	code = http_send(b.client, &(struct http_request){.url = url}, &r);
	if (code == 0) {
		assert_int_equal(r.status, 200);
		http_reply_free(&r);
	} else {
		assert_int_equal(code, -EKEYREJECTED);
		snprintf(said, sizeof(said), "%s", http_client_error(b.client));
	}
	both_free(&b);
	return code == 0 ? NULL : said;
}

static void certificates_are_checked(void **state)
{
	make_certificate("good", "127.0.0.1", "");
	make_certificate("other", "127.0.0.1", "");
	make_certificate("elsewhere", "127.0.0.9", "");
	make_certificate("expired", "127.0.0.1", "expired");
	assert_null(ask_over_tls("good", "good"));
	assert_non_null(strstr(ask_over_tls("good", NULL), "is not signed by a trusted authority"));
	assert_non_null(strstr(ask_over_tls("good", "other"), "is not signed by a trusted authority"));
	assert_non_null(strstr(ask_over_tls("elsewhere", "elsewhere"), "is for another name"));
	assert_non_null(strstr(ask_over_tls("expired", "expired"), "has expired"));
}

/* It is reported from three weeks before. */
static void an_end_of_a_certificate_is_told(void **state)
{
	_cleanup_str_ struct str said = {};
	char file[96];
	int64_t end, day = 86400 * NS_PER_SEC;

	make_certificate("short", "127.0.0.1", "");
	snprintf(file, sizeof(file), "%s/short.crt", folder);
	assert_int_equal(certificate_end(file, &end, NULL), 0);
	assert_in_range(end, clock_wall() + day, clock_wall() + 2 * day);
	certificate_warning(end, end - 22 * day, &said);
	assert_int_equal(said.len, 0);
	certificate_warning(end, end - 20 * day, &said);
	assert_non_null(strstr(said.data, "expires in 20 days"));
	str_clear(&said);
	certificate_warning(end, end, &said);
	assert_non_null(strstr(said.data, "expired on"));
	assert_int_equal(certificate_end(token_file, &end, NULL), -EINVAL);
	assert_int_equal(certificate_end("/nonexistent", &end, NULL), -ENOENT);
}

static void a_key_that_others_may_read_is_refused(void **state)
{
	static const mode_t refused[] = {0644, 0604, 0660, 0622}, fine[] = {0600, 0400, 0640};
	char file[96], *text = NULL, *error = NULL;

	make_certificate("open", "127.0.0.1", "");
	snprintf(file, sizeof(file), "%s/open.key", folder);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		chmod(file, refused[i]);
		assert_int_equal(certificate_read_key(file, &text, &error), -EACCES);
		assert_non_null(strstr(error, "run 'chmod 600 "));
		free(error);
	}
	for (size_t i = 0; i < ARRAY_SIZE(fine); i++) {
		chmod(file, fine[i]);
		assert_int_equal(certificate_read_key(file, &text, &error), 0);
		free(text);
	}
}

/* What s_client of OpenSSL says of one version, which it is made to offer. */
static bool speaks(uint16_t port, const char *version)
{
	char command[192];
	int status;

	snprintf(command, sizeof(command), "openssl s_client -connect 127.0.0.1:%u %s -cipher ALL:@SECLEVEL=0 </dev/null 2>/dev/null | grep -q '^New, TLS'",
		 port, version);
	status = system(command);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void old_versions_of_tls_are_refused(void **state)
{
	char cert[96], key[96];
	struct http_server_options so = {.cert_file = cert, .key_file = key};
	struct http_server *server;

	make_certificate("versions", "127.0.0.1", "");
	snprintf(cert, sizeof(cert), "%s/versions.crt", folder);
	snprintf(key, sizeof(key), "%s/versions.key", folder);
	server = start(&so);
	assert_false(speaks(http_server_port(server), "-tls1"));
	assert_false(speaks(http_server_port(server), "-tls1_1"));
	assert_true(speaks(http_server_port(server), "-tls1_2"));
	assert_true(speaks(http_server_port(server), "-tls1_3"));
	http_server_stop(server);
}

static void a_bad_certificate_file_is_said(void **state)
{
	struct http_server_options o = {.cert_file = token_file, .key_file = token_file, .routes = routes, .token_file = token_file};
	struct http_server *server;
	char *error = NULL;

	assert_int_equal(http_server_start(&o, &server, &error), -EINVAL);
	assert_non_null(strstr(error, "not a PEM file"));
	free(error);
}

static void a_port_that_cannot_be_is_said(void **state)
{
	struct http_server_options o = {.listen = "127.0.0.1:99999", .routes = routes, .token_file = token_file};
	struct http_server *server;
	char *error = NULL;

	assert_int_equal(http_server_start(&o, &server, &error), -EINVAL);
	assert_non_null(strstr(error, "65535"));
	free(error);
}

/* Any bytes as a request: an answer or none, but no crash. */
static void mutated_requests_do_no_harm(void **state)
{
	static const char request[] = "POST /echo?q=1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " TOKEN
				      "\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello";
	struct both b = both(0, TOKEN);
	char text[sizeof(request)];

	srandom(1);
	for (int i = 0; i < 300; i++) {
		memcpy(text, request, sizeof(text));
		for (int k = 0; k < 1 + i % 5; k++)
			text[random() % (long)(sizeof(text) - 1)] = (char)(1 + random() % 255);
		(void)raw(&b, text);
	}
	assert_int_equal(ask(&b, "/echo", (struct http_request){}, NULL), 200);
	both_free(&b);
}

static int set_up(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	snprintf(token_file, sizeof(token_file), "%s/tokens", folder);
	write_file(token_file, "# who\nanna " TOKEN "\n", 0600);
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
		cmocka_unit_test(nothing_is_answered_without_a_token),
		cmocka_unit_test(a_user_is_known_by_the_token),
		cmocka_unit_test(foreign_names_and_pages_are_refused),
		cmocka_unit_test(answers_carry_a_policy_and_no_cors), cmocka_unit_test(a_header_that_decides_is_given_once), cmocka_unit_test(a_body_has_the_type_of_its_route), cmocka_unit_test(an_error_is_json_whatever_it_quotes), cmocka_unit_test(what_leaves_the_machine_without_tls_can_be_read),
		cmocka_unit_test(without_sessions_no_one_logs_in),
		cmocka_unit_test(a_file_without_tokens_is_a_mistake),
		cmocka_unit_test(paths_and_methods_come_from_the_table),
		cmocka_unit_test(bodies_are_unpacked_and_bounded),
		cmocka_unit_test(a_damaged_body_is_refused),
		cmocka_unit_test(long_answers_travel_packed),
		cmocka_unit_test(events_stream),
		cmocka_unit_test(beyond_the_limit_is_told_to_come_again),
		cmocka_unit_test(a_busy_service_is_said_in_words),
		cmocka_unit_test(what_a_service_says_is_no_terminal_command),
		cmocka_unit_test(tokens_must_be_private_and_may_change),
		cmocka_unit_test(bad_token_files_are_located),
		cmocka_unit_test(a_token_is_made_once),
		cmocka_unit_test(a_password_may_stand_in_a_file),
		cmocka_unit_test(other_machines_are_served_encrypted_or_not_at_all),
		cmocka_unit_test(a_token_does_not_travel_unencrypted),
		cmocka_unit_test(a_name_that_looks_like_loopback_is_another_machine),
		cmocka_unit_test(this_machine_is_asked_without_a_proxy),
		cmocka_unit_test(no_spelling_of_this_machine_reaches_a_proxy),
		cmocka_unit_test(a_pause_is_bounded),
		cmocka_unit_test(nobody_there_is_said_in_words),
		cmocka_unit_test(certificates_are_checked),
		cmocka_unit_test(an_end_of_a_certificate_is_told),
		cmocka_unit_test(a_key_that_others_may_read_is_refused),
		cmocka_unit_test(old_versions_of_tls_are_refused),
		cmocka_unit_test(a_bad_certificate_file_is_said),
	  cmocka_unit_test(a_port_that_cannot_be_is_said),
		cmocka_unit_test(a_client_that_goes_away_is_noticed),
		cmocka_unit_test(mutated_requests_do_no_harm),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
