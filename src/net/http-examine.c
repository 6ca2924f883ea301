#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/gzip.h"
#include "net/http-incoming.h"

/* The name in "name", "name:port", "[v6]:port". */
static size_t host_length(const char *host)
{
	const char *end = *host == '[' ? strchr(host, ']') : NULL;

	return end ? (size_t)(end + 1 - host) : strcspn(host, ":");
}

static bool is_address(const char *host, size_t n)
{
	char text[INET6_ADDRSTRLEN + 2] = "";
	struct in6_addr address;

	if (n >= sizeof(text))
		return false;
	if (host[0] == '[' && n > 2) {
		memcpy(text, host + 1, n - 2);
		return inet_pton(AF_INET6, text, &address) == 1;
	}
	memcpy(text, host, n);
	return inet_pton(AF_INET, text, &address) == 1;
}

static bool same_name(const char *host, size_t n, const char *name)
{
	return strlen(name) == n && strncasecmp(host, name, n) == 0;
}

/* A page of elsewhere can have its own name point here, but not send another Host than that name: addresses, this
 * machine's names and those it was told of are fine. */
static bool is_own_host(const struct http_server *s, const char *host)
{
	size_t n = host_length(host);

	if (same_name(host, n, "localhost") || is_address(host, n))
		return true;
	if (!s->loopback && same_name(host, n, s->hostname))
		return true;
	for (const char *const *name = s->names; name && *name; name++)
		if (same_name(host, n, *name))
			return true;
	return false;
}

static bool is_own_origin(const struct http_server *s, struct MHD_Connection *c, const char *host)
{
	const char *origin = http_value(s, c, MHD_HEADER_KIND, "Origin");
	const char *site = http_value(s, c, MHD_HEADER_KIND, "Sec-Fetch-Site");
	const char *scheme = s->certificate ? "https://" : "http://";

	if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
		return false;
	return !origin || (text_starts(origin, scheme) && strcasecmp(origin + strlen(scheme), host) == 0);
}

static bool is_known_user(struct http_server *s, struct MHD_Connection *c, char ret_user[TOKEN_USER_MAX])
{
	const char *bearer = http_value(s, c, MHD_HEADER_KIND, "Authorization");
	const char *cookie = http_value(s, c, MHD_COOKIE_KIND, TOKEN_COOKIE);

	if (bearer && text_starts(bearer, "Bearer "))
		return users_check(s->tokens, bearer + strlen("Bearer "), ret_user) == 0;
	return cookie && users_check(s->tokens, cookie, ret_user) == 0;
}

static bool brings_token(const struct http_server *s, struct MHD_Connection *c)
{
	return http_value(s, c, MHD_HEADER_KIND, "Authorization") || http_value(s, c, MHD_COOKIE_KIND, TOKEN_COOKIE);
}

bool http_asks_for_page(const struct http_exchange *e)
{
	return strcmp(e->method, "GET") == 0 && strcmp(e->path, "/") == 0;
}

static const struct http_route *find_route(const struct http_route *routes, const char *method, const char *path, bool *ret_path_known)
{
	*ret_path_known = false;
	for (; routes->path; routes++) {
		size_t n = strlen(routes->path);
		bool rest = n && routes->path[n - 1] == '*';

		if (rest ? strncmp(path, routes->path, n - 1) != 0 : strcmp(path, routes->path) != 0)
			continue;
		*ret_path_known = true;
		if (strcmp(routes->method, method) == 0)
			return routes;
	}
	return NULL;
}

static bool announces_too_much(const struct http_incoming *q, struct MHD_Connection *c)
{
	const char *length = http_value(q->server, c, MHD_HEADER_KIND, "Content-Length");

	return length && strtoull(length, NULL, 10) > q->route->body_max;
}

static const struct http_refusal no_host = {421, WRONG_HOST, "this machine is not known under that name: add it with --name"};
static const struct http_refusal wrong_origin = {403, WRONG_ORIGIN, "pages of other sites may not ask"};
static const struct http_refusal no_token = {401, NO_TOKEN, "a token is wanted: Authorization: Bearer TOKEN"};
static const struct http_refusal wrong_token = {401, NO_TOKEN, "that token is not known here: whyslow serve prints the address with the right one"};
static const struct http_refusal no_path = {404, UNKNOWN_PATH, "there is nothing of that name here"};
static const struct http_refusal no_method = {405, UNKNOWN_PATH, "it cannot be asked that way"};
static const struct http_refusal too_many = {503, TOO_MANY, "too many requests at a time"};
static const struct http_refusal too_large = {413, TOO_LARGE, "the body is too large"};
static const struct http_refusal bad_encoding = {415, BAD_BODY, "the body may be plain or gzip"};
static const struct http_refusal bad_body = {400, BAD_BODY, "the body cannot be unpacked"};

const struct http_refusal *http_examine(struct http_incoming *q, struct MHD_Connection *c, const char *path)
{
	struct http_exchange *e = &q->exchange;
	struct http_server *s = q->server;
	const char *host = http_value(s, c, MHD_HEADER_KIND, "Host");
	bool path_known;

	if (!host || !is_own_host(s, host))
		return &no_host;
	if (!is_own_origin(s, c, host))
		return &wrong_origin;
	q->token = http_asks_for_page(e) ? http_query(e, "token") : NULL;
	if (q->token)
		return users_check(s->tokens, q->token, e->user) == 0 ? NULL : &wrong_token;
	if (!is_known_user(s, c, e->user))
		return brings_token(s, c) ? &wrong_token : &no_token;
	q->route = find_route(s->routes, e->method, path, &path_known);
	if (!q->route)
		return path_known ? &no_method : &no_path;
	if (announces_too_much(q, c))
		return &too_large;
	return atomic_load(&s->under_way) > s->requests_max ? &too_many : NULL;
}

const struct http_refusal *http_unpack(struct http_incoming *q)
{
	const char *encoding = http_header(&q->exchange, "Content-Encoding");
	struct str plain = {.max = q->route->body_max + 2};
	int r;

	if (q->too_large)
		return &too_large;
	if (!encoding || strcmp(encoding, "identity") == 0)
		return NULL;
	if (strcmp(encoding, "gzip") != 0)
		return &bad_encoding;
	r = gzip_unpack(q->exchange.body.data, q->exchange.body.len, &plain);
	str_free(&q->exchange.body);
	q->exchange.body = plain;
	return r == 0 ? NULL : r == -E2BIG ? &too_large : &bad_body;
}
