#include "lib/net/clickhouse-inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/net/http-client.h"
#include "lib/net/users.h"

#define QUERY_TIME (600 * NS_PER_SEC)

const char *clickhouse_error(const struct clickhouse *c)
{
	return c->error ? c->error : "out of memory";
}

const char *clickhouse_table(const struct clickhouse *c)
{
	return c->table;
}

const char *clickhouse_cluster(const struct clickhouse *c)
{
	return c->cluster;
}

/* --- the URL --- */

struct parts {
	char *text; /* the others point into it */
	const char *user, *host, *port, *database, *table, *cluster, *ca;
	bool tls, plain;
};

static int take_option(struct parts *p, const char *name, const char *value, char **ret_error)
{
	if (strcmp(name, "cluster") == 0)
		p->cluster = value;
	else if (strcmp(name, "ca") == 0)
		p->ca = value;
	else if (strcmp(name, "tls") == 0)
		p->tls = strcmp(value, "0") != 0;
	else if (strcmp(name, "plain") == 0)
		p->plain = strcmp(value, "0") != 0;
	else
		return str_fail(ret_error, -EINVAL, "clickhouse://...?%s: the options are cluster, tls, ca and plain", name);
	return 0;
}

static int take_options(struct parts *p, char *options, char **ret_error)
{
	char *rest = NULL;
	int r = 0;

	for (char *word = strtok_r(options, "&", &rest); word && r == 0; word = strtok_r(NULL, "&", &rest)) {
		char *equals = strchr(word, '=');

		if (equals)
			*equals = '\0';
		r = take_option(p, word, equals ? equals + 1 : "1", ret_error);
	}
	return r;
}

static char *cut(char *text, char at)
{
	char *found = text ? strchr(text, at) : NULL;

	if (!found)
		return NULL;
	*found = '\0';
	return found + 1;
}

static int parse_url(const char *url, struct parts *p, char **ret_error)
{
	static const char scheme[] = "clickhouse://";
	char *options, *path, *at, *port, *host;

	if (!str_starts(url, scheme))
		return str_fail(ret_error, -EINVAL, "invalid URL '%s'; expected clickhouse://HOST[:PORT]/DATABASE", url);
	p->text = strdup(url + sizeof(scheme) - 1);
	if (!p->text)
		return -ENOMEM;
	options = cut(p->text, '?');
	path = cut(p->text, '/');
	at = strrchr(p->text, '@');
	p->host = host = at ? at + 1 : p->text;
	if (at) {
		*at = '\0';
		p->user = p->text;
		if (strchr(p->user, ':'))
			return str_fail(ret_error, -EINVAL, "every user of this machine can read a password in the URL: put "
					 "USER:PASSWORD into a file of mode 600 and its name into WHYSLOW_CLICKHOUSE_CREDENTIALS");
	}
	port = *host == '[' ? strstr(host, "]:") : strrchr(host, ':');
	if (port) {
		port += *port == ']';
		*port = '\0';
		p->port = port + 1;
	}
	if (!*p->host)
		return str_fail(ret_error, -EINVAL, "'%s' names no host", url);
	p->table = cut(path, '/');
	p->database = path && *path ? path : NULL;
	return options ? take_options(p, options, ret_error) : 0;
}

static int find_credentials(const struct parts *p, const char *file, struct credentials *ret, char **ret_error)
{
	const char *user = getenv("WHYSLOW_CLICKHOUSE_USER"), *password = getenv("WHYSLOW_CLICKHOUSE_PASSWORD");

	if (!file)
		file = getenv("WHYSLOW_CLICKHOUSE_CREDENTIALS");
	if (file)
		return user_credentials_read(file, ret, ret_error);
	if (!user && !p->user)
		return 0;
	ret->user = strdup(p->user ? p->user : user);
	ret->password = strdup(password ? password : "");
	return ret->user && ret->password ? 0 : -ENOMEM;
}

static int keep(char **to, const char *text)
{
	if (text && *text)
		*to = strdup(text);
	return text && *text && !*to ? -ENOMEM : 0;
}

static int set_base(struct clickhouse *c, const struct parts *p)
{
	_cleanup_str_ struct str base = {};

	str_printf(&base, "%s://%s:%s/?", p->tls ? "https" : "http", p->host, p->port ? p->port : p->tls ? "8443" : "8123");
	if (p->database) {
		str_puts(&base, "database=");
		http_url_escape(&base, p->database);
	}
	if (base.error)
		return base.error;
	c->base = TAKE(base.data);
	return keep(&c->database, p->database) || keep(&c->table, p->table) || keep(&c->cluster, p->cluster) ? -ENOMEM : 0;
}

static int connect_to(struct clickhouse *c, const struct parts *p, const struct credentials *who, const char *ca_file,
		      char **ret_error)
{
	struct http_client_options options = {
		.ca_file = ca_file ? ca_file : p->ca,
		.token = who->token,
		.user = who->user,
		.password = who->password,
		.trusted_network = p->plain || (who->user && !*who->password),
		.timeout = QUERY_TIME,
	};
	int r = set_base(c, p);

	return r < 0 ? r : http_client_open(&options, &c->http, ret_error);
}

int clickhouse_open(const char *url, const char *credentials_file, const char *ca_file, struct clickhouse **ret,
		    char **ret_error)
{
	struct clickhouse *c = calloc(1, sizeof(*c));
	struct credentials who = {};
	struct parts p = {};
	int r = c ? parse_url(url, &p, ret_error) : -ENOMEM;

	r = r ?: find_credentials(&p, credentials_file, &who, ret_error);
	r = r ?: connect_to(c, &p, &who, ca_file, ret_error);
	user_credentials_free(&who);
	free(p.text);
	if (r < 0)
		clickhouse_close(c);
	else
		*ret = c;
	return r;
}

void clickhouse_close(struct clickhouse *c)
{
	if (!c)
		return;
	http_client_close(c->http);
	FREE_ALL(c->base, c->database, c->table, c->cluster, c->error, c);
}

/* --- errors --- */

static const struct {
	int code, error;
	const char *said;
} faults[] = {
	{36, -EINVAL, "the query does not fit this server"},
	{47, -EINVAL, "its table lacks a column: see docs/clickhouse.md for what is expected"},
	{16, -EINVAL, "its table lacks a column: see docs/clickhouse.md for what is expected"},
	{60, -ENOENT, "there is no such table"},
	{62, -EINVAL, "the query was not understood"},
	{81, -ENOENT, "there is no such database"},
	{159, -ETIMEDOUT, "it took longer than the server allows: ask for less time, or for one counter (--match)"},
	{160, -ETIMEDOUT, "it would take longer than the server allows: ask for less time, or for one counter (--match)"},
	{164, -EACCES, "this user may only read"},
	{192, -EACCES, "it does not know this user: see WHYSLOW_CLICKHOUSE_USER"},
	{193, -EACCES, "wrong password: see WHYSLOW_CLICKHOUSE_CREDENTIALS"},
	{194, -EACCES, "this user needs a password: see WHYSLOW_CLICKHOUSE_CREDENTIALS"},
	{195, -EACCES, "this user may not ask from this machine"},
	{209, -ETIMEDOUT, "one of its shards does not answer"},
	{210, -EREMOTEIO, "one of its shards cannot be reached"},
	{241, -ENOMEM, "it needs more memory than the server allows: ask for less time, or for one counter (--match)"},
	{279, -EREMOTEIO, "one of its shards cannot be reached"},
	{291, -EACCES, "this user may not read that database"},
	{497, -EACCES, "this user lacks the rights"},
	{516, -EACCES, "user or password is wrong: see WHYSLOW_CLICKHOUSE_CREDENTIALS"},
};

/* "Code: 60, e.displayText() = DB::Exception: Table x doesn't exist., e.what() = DB::Exception" and, from newer servers,
 * "Code: 60. DB::Exception: Table x doesn't exist. (UNKNOWN_TABLE) (version 23.8)". */
static int say_fault(struct clickhouse *c, const char *text)
{
	static const char mark[] = "DB::Exception: ";
	const char *words = strstr(text, mark), *end;
	int code = 0, n;

	if (sscanf(text, CLICKHOUSE_EXCEPTION "%d", &code) != 1)
		return str_fail_again(&c->error, -EREMOTEIO, "%s: %.200s", c->base, text);
	words = words ? words + sizeof(mark) - 1 : text;
	end = strstr(words, ", e.what()");
	n = (int)(end ? (size_t)(end - words) : strcspn(words, "\n"));
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		if (faults[i].code == code)
			return str_fail_again(&c->error, faults[i].error, "ClickHouse at %s: %s (%.*s)", c->base, faults[i].said, n < 300 ? n : 300, words);
	return str_fail_again(&c->error, -EREMOTEIO, "ClickHouse at %s: %.*s (code %d)", c->base, n < 300 ? n : 300, words, code);
}

int clickhouse_fault(struct clickhouse *c, const char *text)
{
	int r = say_fault(c, text);

	str_make_printable(c->error); /* the words are the server's */
	return r;
}

int clickhouse_send(struct clickhouse *c, const struct http_request *q)
{
	struct http_reply reply = {};
	int r;

	free(c->error);
	c->error = NULL;
	r = http_send(c->http, q, &reply);
	if (r < 0 && !c->error)
		str_fail_again(&c->error, r, "%s", http_client_error(c->http));
	if (r != 0)
		return r;
	if (reply.status >= 300)
		r = reply.body.len ? clickhouse_fault(c, reply.body.data)
				   : str_fail_again(&c->error, -EREMOTEIO, "%s: it failed (%u)", c->base, reply.status);
	http_reply_free(&reply);
	return r;
}
