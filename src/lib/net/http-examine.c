#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "lib/data/cleanup.h"
#include "lib/input/gzip.h"
#include "lib/net/http-incoming.h"

#define UNPACKED_LEAST ((size_t)1 << 20)
#define UNPACKED_TIMES 100 /* spans unpack to 5 to 30 times their size */

/* The name in "name", "name:port", "[v6]:port". */
static size_t host_length(const char *host)
{
	const char *end = *host == '[' ? strchr(host, ']') : NULL;

	if (!end)
		return strcspn(host, ":");
	return !end[1] || end[1] == ':' ? (size_t)(end + 1 - host) : strlen(host); /* no name at all */
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
 * machine's names and those it was reported of are fine. */
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

/* The page itself may be opened from anywhere, as from the file that `whyslow open` writes: it holds nothing. */
static bool is_page_opened(const struct http_server *s, struct MHD_Connection *c, const struct http_route *route)
{
	const char *mode = http_value(s, c, MHD_HEADER_KIND, "Sec-Fetch-Mode"), *into = http_value(s, c, MHD_HEADER_KIND, "Sec-Fetch-Dest");

	return route && route->needs == SCOPE_PUBLIC && strcmp(route->method, "GET") == 0 && mode && strcmp(mode, "navigate") == 0 && into &&
	       strcmp(into, "document") == 0;
}

static bool is_own_origin(const struct http_server *s, struct MHD_Connection *c, const char *host, const struct http_route *route)
{
	const char *origin = http_value(s, c, MHD_HEADER_KIND, "Origin");
	const char *site = http_value(s, c, MHD_HEADER_KIND, "Sec-Fetch-Site");
	const char *scheme = s->certificate ? "https://" : "http://";

	if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0 && !is_page_opened(s, c, route))
		return false;
	return !origin || (str_starts(origin, scheme) && strcasecmp(origin + strlen(scheme), host) == 0);
}

const char *http_bearer(const struct http_server *s, struct MHD_Connection *c)
{
	static const char scheme[] = "Bearer ";
	const char *given = http_value(s, c, MHD_HEADER_KIND, "Authorization");

	return given && strncasecmp(given, scheme, sizeof(scheme) - 1) == 0 ? given + sizeof(scheme) - 1 : NULL;
}

int http_authorise(struct http_server *s, const char *bearer, uint32_t peer, struct user *ret)
{
	int r = s->sessions ? sessions_check(s->sessions, bearer, peer, ret) : -EACCES;

	if (r == -EACCES)
		return users_check(s->tokens, bearer, ret);
	if (r == 0 && *ret->token && users_check_digest(s->tokens, ret->token, ret) < 0) {
		(void)sessions_end(s->sessions, bearer); /* it began with a token that is gone, or has expired */
		r = -ETIME;
	}
	return r;
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

static const struct http_route *route_of(const struct http_server *s, const char *method, const char *path, bool *ret_path_known)
{
	const struct http_route *route = s->sessions ? find_route(http_login_routes, method, path, ret_path_known) : NULL;

	return route ? route : find_route(s->routes, method, path, ret_path_known);
}

/* libmicrohttpd takes digits alone; a length that does not fit is too much. */
static bool announces_too_much(const struct http_incoming *q, struct MHD_Connection *c)
{
	const char *length = http_value(q->server, c, MHD_HEADER_KIND, "Content-Length");
	uint64_t n;

	return length && (str_parse_u64(length, &n) < 0 || n > q->route->body_max);
}

/* --- headers that decide --- */

/* Who reads one of them twice would have to choose, and a proxy on the way may have chosen the other one. */
static const char *const only_once[] = {"Host", "Origin", "Authorization", "Content-Type", "Content-Encoding", "Content-Length", "Sec-Fetch-Site",
					"Sec-Fetch-Mode", "Sec-Fetch-Dest"};

struct seen_headers {
	unsigned n[ARRAY_SIZE(only_once)];
	bool twice;
};

static enum MHD_Result see_header(void *data, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct seen_headers *seen = data;

	(void)kind, (void)value;
	for (size_t i = 0; i < ARRAY_SIZE(only_once); i++)
		if (strcasecmp(name, only_once[i]) == 0 && ++seen->n[i] > 1)
			seen->twice = true;
	return MHD_YES;
}

static bool says_twice(const struct http_server *s, struct MHD_Connection *c)
{
	struct seen_headers seen = {};

	(void)s->mhd.MHD_get_connection_values(c, MHD_HEADER_KIND, see_header, &seen);
	return seen.twice;
}

/* A form of another page's can send three types, none of which is JSON. */
static bool is_of_another_type(const struct http_incoming *q, struct MHD_Connection *c)
{
	static const char json[] = "application/json";
	const char *type = http_value(q->server, c, MHD_HEADER_KIND, "Content-Type"), *length = http_value(q->server, c, MHD_HEADER_KIND, "Content-Length");
	size_t n = type ? strcspn(type, "; ") : 0;

	if (!q->route->body_max || !q->server->json_below || !str_starts(q->exchange.path, q->server->json_below))
		return false;
	if (!type && (!length || strcmp(length, "0") == 0))
		return false;
	return n != strlen(json) || strncasecmp(type, json, n) != 0;
}

static const struct http_refusal twice = {400, BAD_BODY, "a header that may be given once (Host, Origin, Authorization, Content-Type ...) is given twice"};
static const struct http_refusal wrong_type = {415, BAD_BODY, "the body must be JSON, with the header Content-Type: application/json"};
static const struct http_refusal no_host = {421, WRONG_HOST, "unknown name of this machine: add it with --name"};
static const struct http_refusal wrong_origin = {403, WRONG_ORIGIN, "requests from pages of other sites are refused"};
static const struct http_refusal no_token = {401, NO_TOKEN, "log in first: a request needs a session or a token (Authorization: Bearer TOKEN)"};
static const struct http_refusal wrong_token = {401, NO_TOKEN, "this session or token is not known here"};
static const struct http_refusal old_token = {401, NO_TOKEN, "this session or token has expired"};
static const struct http_refusal too_narrow = {403, TOO_NARROW, "the scope of this token does not include that"};
static const struct http_refusal no_path = {404, UNKNOWN_PATH, "not found"};
static const struct http_refusal no_method = {405, UNKNOWN_PATH, "method not allowed"};
static const struct http_refusal too_many = {503, TOO_MANY, "too many requests at a time, or too many bytes of them"};
static const struct http_refusal too_large = {413, TOO_LARGE, "the body is too large"};
static const struct http_refusal bad_encoding = {415, BAD_BODY, "the body may be plain or gzip"};
static const struct http_refusal bad_body = {400, BAD_BODY, "the body cannot be unpacked"};

/* Who asks; and such a connection is not ended for others' sake. */
static const struct http_refusal *examine_user(struct http_incoming *q, struct MHD_Connection *c)
{
	struct http_server *s = q->server;
	const char *bearer = http_bearer(s, c);
	int r = bearer ? http_authorise(s, bearer, q->exchange.peer, &q->exchange.user) : -ENOENT;

	if (r < 0)
		return r == -ENOENT ? &no_token : r == -ETIME ? &old_token : &wrong_token;
	gate_trust(s->gate, q->place);
	return NULL;
}

static unsigned count_of_user(const struct http_server *s, const struct user *user)
{
	unsigned n = 0;

	for (const struct http_incoming *q = s->asking; q; q = q->next)
		n += strcmp(q->exchange.user.name, user->name) == 0;
	return n;
}

/* Counts it among those under way, of which there may be so many. Where users log in, one of them alone may have three quarters, and leaves a third as many
 * for others as it has (lib/system/fair-share.h says why). Public ones are not counted: the one that asks for those could fill them. */
static bool is_one_too_many(struct http_incoming *q)
{
	struct http_server *s = q->server;
	unsigned own;

	pthread_mutex_lock(&s->lock);
	own = s->sessions ? count_of_user(s, &q->exchange.user) : 0;
	q->counted = s->under_way + own / 3 < s->requests_max;
	if (q->counted) {
		s->under_way++;
		q->next = s->asking;
		s->asking = q;
	}
	pthread_mutex_unlock(&s->lock);
	return !q->counted;
}

void http_leave(struct http_incoming *q)
{
	struct http_server *s = q->server;

	if (!q->counted)
		return;
	pthread_mutex_lock(&s->lock);
	for (struct http_incoming **at = &s->asking; *at; at = &(*at)->next)
		if (*at == q) {
			*at = q->next;
			break;
		}
	s->under_way--;
	pthread_mutex_unlock(&s->lock);
}

const struct http_refusal *http_examine(struct http_incoming *q, struct MHD_Connection *c, const char *path)
{
	struct http_exchange *e = &q->exchange;
	struct http_server *s = q->server;
	const char *host = http_value(s, c, MHD_HEADER_KIND, "Host");
	const struct http_refusal *why;
	bool path_known, public;

	q->route = route_of(s, e->method, path, &path_known);
	public = q->route && q->route->needs == SCOPE_PUBLIC;
	if (says_twice(s, c))
		return &twice;
	if (!host || !is_own_host(s, host))
		return &no_host;
	if (!is_own_origin(s, c, host, q->route))
		return &wrong_origin;
	why = public ? NULL : examine_user(q, c);
	if (why)
		return why;
	if (!q->route)
		return path_known ? &no_method : &no_path;
	if (!public && q->route->needs < e->user.scope)
		return &too_narrow;
	if (announces_too_much(q, c))
		return &too_large;
	if (is_of_another_type(q, c))
		return &wrong_type;
	return !public && is_one_too_many(q) ? &too_many : NULL;
}

int http_charge(struct http_incoming *q, size_t n)
{
	q->crowded = memory_budget_take(q->server->memory, n, 1) < 0;
	q->charged += q->crowded ? 0 : n;
	return q->crowded ? -ENOMEM : 0;
}

void http_free_body(struct http_incoming *q)
{
	str_free(&q->exchange.body);
	memory_budget_give(q->server->memory, q->charged, 1);
	q->charged = 0;
}

/* 60 KB of gzip can hold 64 MB, which take seconds to read. */
static size_t unpacked_max(const struct http_incoming *q)
{
	size_t most = q->route->body_max + 2, packed = q->exchange.body.len;

	return packed < most / UNPACKED_TIMES && UNPACKED_LEAST + packed * UNPACKED_TIMES < most ? UNPACKED_LEAST + packed * UNPACKED_TIMES : most;
}

const struct http_refusal *http_unpack(struct http_incoming *q)
{
	const char *encoding = http_header(&q->exchange, "Content-Encoding");
	struct str plain = {.max = unpacked_max(q)};
	int r;

	if (q->crowded || q->too_large)
		return q->crowded ? &too_many : &too_large;
	if (!encoding || strcmp(encoding, "identity") == 0)
		return NULL;
	if (strcmp(encoding, "gzip") != 0)
		return &bad_encoding;
	r = gzip_unpack(q->exchange.body.data, q->exchange.body.len, q->server->memory, &plain);
	http_free_body(q);
	q->exchange.body = plain;
	q->charged = plain.len;
	return r == 0 ? NULL : r == -EDQUOT ? &too_many : r == -E2BIG ? &too_large : &bad_body;
}
