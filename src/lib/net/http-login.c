/* Logging in: a page exchanges a login code, or a person's token, for a session. */
#include <errno.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/net/http-incoming.h"

#define BODY_MAX 512 /* bytes: a code or a token and its name */

/* The body is "code=HEX" or "token=TEXT": the value, or NULL for another key. The body's own memory. */
static const char *value_of(const struct http_exchange *e, const char *key)
{
	size_t n = strlen(key);

	if (!e->body.data || e->body.len <= n + 1 || memchr(e->body.data, '\0', e->body.len))
		return NULL;
	return strncmp(e->body.data, key, n) == 0 && e->body.data[n] == '=' ? e->body.data + n + 1 : NULL;
}

static int identify(struct http_exchange *e, struct user *ret)
{
	const char *code = value_of(e, "code"), *token = value_of(e, "token");

	if (code)
		return sessions_use_code(e->server->sessions, code, ret);
	return token ? users_check(e->server->tokens, token, ret) : -EBADMSG;
}

static void put_user(struct str *out, const struct user *user)
{
	str_puts(out, "\"user\": ");
	http_put_string(out, user->name);
	str_printf(out, ", \"scope\": \"%s\"", user_scope_name(user->scope));
}

static void log_in(struct http_exchange *e)
{
	char session[SECRET_TEXT];
	struct user user;
	int r = identify(e, &user);

	if (r == -EBADMSG)
		http_fail(e, 400, "invalid body; expected code=CODE or token=TOKEN");
	else if (r < 0)
		http_fail(e, 401, value_of(e, "code") ? "this login link was used already, or is too old" : "this token is not known here, or has expired");
	else if (user.scope > SCOPE_READ)
		http_fail(e, 403, "the scope of this token does not include the page");
	else if (sessions_begin(e->server->sessions, &user, e->peer, session) < 0)
		http_fail(e, 503, "cannot create a session");
	if (e->status)
		return;
	str_printf(&e->reply, "{\"session\": \"%s\", ", session);
	put_user(&e->reply, &user);
	str_printf(&e->reply, ", \"seconds\": %lld}\n", (long long)(SESSION_LIFE / NS_PER_SEC));
	explicit_bzero(session, sizeof(session));
}

static void log_out(struct http_exchange *e)
{
	const char *bearer = http_bearer(e->server, e->connection);

	if (sessions_end(e->server->sessions, bearer ? bearer : "") < 0)
		http_fail(e, 400, "this is a token, which no logout ends: whyslow serve --revoke-token NAME");
	else
		str_puts(&e->reply, "{}\n");
}

static void tell_session(struct http_exchange *e)
{
	str_puts(&e->reply, "{");
	put_user(&e->reply, &e->user);
	str_puts(&e->reply, "}\n");
}

const struct http_route http_login_routes[] = {
	{"POST", "/login", log_in, BODY_MAX, SCOPE_PUBLIC},
	{"POST", "/logout", log_out, BODY_MAX, SCOPE_METRICS},
	{"GET", "/session", tell_session, 0, SCOPE_METRICS},
	{},
};
