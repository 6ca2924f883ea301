/* whyslow serve: who may ask. Tokens for programs, and who is logged in. */
#include "web/serve-verb.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "lib/net/users.h"
#include "web/web-control.h"

static int cannot(const char *file, int r, const char *error)
{
	if (error)
		log_error("%s", error);
	else
		log_error("%s: %s", file, strerror(-r));
	return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
}

int serve_add_token(const struct serve_token_options *o)
{
	_cleanup_free_ char *error = NULL;
	char token[SECRET_TEXT];
	enum scope scope = SCOPE_READ;
	int r;

	if (o->scope && user_scope_parse(o->scope, &scope) < 0)
		return verb_usage_error("serve", "invalid SCOPE '%s'; expected all, read or metrics",
					o->scope);
	r = users_add(o->file, o->name, scope, o->life ? clock_wall() + o->life : INT64_MAX, token, &error);
	if (r < 0)
		return cannot(o->file, r, error);
	fprintf(stderr, "The token of %s, for %s. Save it now: %s holds only its digest.\n", o->name, user_scope_name(scope), o->file);
	puts(token);
	explicit_bzero(token, sizeof(token));
	return EXIT_ANSWERED;
}

int serve_revoke_token(const struct serve_token_options *o)
{
	_cleanup_free_ char *error = NULL;
	int r = users_remove(o->file, o->name, &error);

	if (r < 0)
		return cannot(o->file, r, error);
	if (r == 0)
		return log_failure(EXIT_NOTHING_FOUND, "%s has no token of the name '%s'", o->file, o->name);
	printf("The token of %s is revoked.\n", o->name);
	return EXIT_ANSWERED;
}

static void print_token(void *data, const struct listed_token *t)
{
	char when[48] = "never";

	(void)data;
	if (t->expires != INT64_MAX)
		clock_format_local(t->expires, when, sizeof(when));
	printf("%-24s %-8s %-24s %s\n", t->name, user_scope_name(t->scope), when, t->in_clear ? "in clear: revoke it and add it again" : "");
}

static void put_token(void *data, const struct listed_token *t)
{
	json_array_append_new(data, json_pack("{s:s, s:s, s:s?, s:b}", "name", t->name, "scope", user_scope_name(t->scope), "expires",
					      t->expires == INT64_MAX ? NULL : CLOCK_RFC3339(t->expires), "in_clear", t->in_clear));
}

int serve_list_tokens(const struct serve_token_options *o, bool json)
{
	_cleanup_free_ char *error = NULL;
	struct users *users;
	json_t *list;
	int r = users_open(o->file, true, &users, &error);

	if (r < 0)
		return cannot(o->file, r, error);
	if (json) {
		list = json_array();
		users_each(users, put_token, list);
		json_dumpf(list, stdout, JSON_INDENT(1));
		putchar('\n');
		json_decref(list);
	} else if (users_count(users) == 0) {
		printf("no tokens in %s; add one with --add-token NAME\n", o->file);
	} else {
		printf("%-24s %-8s %-24s\n", "NAME", "SCOPE", "EXPIRES");
		users_each(users, print_token, NULL);
	}
	users_free(users);
	return EXIT_ANSWERED;
}

/* --- sessions --- */

static int64_t number_of(const json_t *session, const char *key)
{
	return json_integer_value(json_object_get(session, key));
}

static bool print_sessions(void *data, const char *folder, uint16_t port, const json_t *answer)
{
	const json_t *list = json_object_get(answer, "sessions"), *s;
	size_t i;

	(void)data, (void)folder, (void)port;
	printf("%s: %zu logged in\n", json_string_value(json_object_get(answer, "address")), json_array_size(list));
	json_array_foreach(list, i, s)
		printf("%6lld  %s, scope %s, since %s, ends in %s\n", (long long)number_of(s, "number"), json_string_value(json_object_get(s, "user")),
		       json_string_value(json_object_get(s, "scope")), CLOCK_SPAN(number_of(s, "age") * NS_PER_SEC),
		       CLOCK_SPAN(number_of(s, "left") * NS_PER_SEC));
	return true;
}

static bool collect_sessions(void *data, const char *folder, uint16_t port, const json_t *answer)
{
	(void)folder, (void)port;
	json_array_append_new(data, json_deep_copy(answer));
	return true;
}

static int no_server(void)
{
	return log_failure(EXIT_NOTHING_FOUND, "you have no running web view: start one with 'whyslow open' or 'whyslow serve'");
}

int serve_list_sessions(const struct common *common)
{
	json_t *all = common->json ? json_array() : NULL;
	int n = web_ask_all(common->config.store_run_dir, "sessions", all ? collect_sessions : print_sessions, all);

	if (all) {
		json_dumpf(all, stdout, JSON_INDENT(1));
		putchar('\n');
		json_decref(all);
	}
	return n > 0 ? EXIT_ANSWERED : all ? EXIT_NOTHING_FOUND : no_server();
}

static bool add_ended(void *data, const char *folder, uint16_t port, const json_t *answer)
{
	(void)folder, (void)port;
	*(long long *)data += json_integer_value(json_object_get(answer, "ended"));
	return true;
}

int serve_end_session(const struct common *common, const char *which)
{
	uint64_t number = 0;
	long long ended = 0;

	if (strcmp(which, "all") != 0 && (str_parse_u64(which, &number) < 0 || !number))
		return verb_usage_error("serve", "invalid session '%s'; expected a number of 'whyslow serve --sessions', or all", which);
	if (web_ask_all(common->config.store_run_dir, STR_TEXT(40, "end %llu", (unsigned long long)number), add_ended, &ended) <= 0)
		return no_server();
	printf("%lld ended\n", ended);
	return ended ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}
