#include "fleet/model/counter-call.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fleet/model/server-role.h"
#include "lib/data/cleanup.h"

#define WORDS_MAX 8 /* of a server's name */
#define SEVERAL	  ((void *)(uintptr_t)-1) /* servers of one name */

enum side { UNKNOWN, CALLER, CALLEE };

/* A server's name within a counter's. */
struct mention {
	const char *begin, *end;
	int server;
};

static bool in_word(char c)
{
	return isalnum((unsigned char)c);
}

/* Two names of one server may be the same; a name of two servers tells neither. */
static int add_name(struct hmap *names, const char *name, size_t n, size_t server)
{
	uint64_t key;
	void *known, *value = (void *)(uintptr_t)(server + 1);

	while (n && !in_word(*name)) {
		name++;
		n--;
	}
	while (n && !in_word(name[n - 1]))
		n--;
	if (n < 2)
		return 0;
	key = hmap_hash_bytes(name, n);
	known = hmap_get(names, key, n);
	return known == value ? 0 : hmap_put(names, key, n, known ? SEVERAL : value);
}

static int add_names(const struct fleet *f, struct hmap *names)
{
	int r = 0;

	for (size_t i = 0; i < f->servers.n && r == 0; i++) {
		const char *name = f->servers.v[i].name;
		_cleanup_free_ char *stem = server_role_stem(name);

		r = stem ? add_name(names, name, strlen(name), i) : -ENOMEM;
		if (r == 0 && server_role_stem_tells(stem))
			r = add_name(names, stem, strlen(stem), i);
	}
	return r;
}

/* The longest name that begins with the word at `begin`. */
static bool find_mention(const struct hmap *names, const char *begin, struct mention *ret)
{
	const char *end = begin;
	bool found = false;

	for (unsigned i = 0; i < WORDS_MAX && in_word(*end); i++) {
		void *server;

		while (in_word(*end))
			end++;
		server = hmap_get(names, hmap_hash_bytes(begin, (size_t)(end - begin)), (size_t)(end - begin));
		if (server && server != SEVERAL) {
			*ret = (struct mention){begin, end, (int)(uintptr_t)server - 1};
			found = true;
		}
		while (*end && !in_word(*end))
			end++;
	}
	return found;
}

/* How many servers a name mentions; the first two of them. */
static size_t find_mentions(const struct hmap *names, const char *name, struct mention ret[2])
{
	const char *p = name;
	size_t n = 0;

	while (*p) {
		struct mention m;

		if (!in_word(*p)) {
			p++;
		} else if (find_mention(names, p, &m)) {
			if (n < 2)
				ret[n] = m;
			n++;
			p = m.end;
		} else {
			while (in_word(*p))
				p++;
		}
	}
	return n;
}

/* The side of a call that the words between `from` and a mention name. */
static enum side side_of(const char *from, const char *to)
{
	static const struct {
		const char *word;
		enum side side;
	} words[] = {
		{"source", CALLER}, {"src", CALLER}, {"caller", CALLER}, {"client", CALLER}, {"downstream", CALLER}, {"from", CALLER},
		{"destination", CALLEE}, {"dest", CALLEE}, {"dst", CALLEE}, {"callee", CALLEE}, {"server", CALLEE}, {"upstream", CALLEE},
		{"target", CALLEE}, {"peer", CALLEE}, {"to", CALLEE},
	};
	enum side side = UNKNOWN;

	for (const char *p = from, *end; p < to; p = end + (end < to)) {
		for (end = p; end < to && in_word(*end);)
			end++;
		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			if (strlen(words[i].word) == (size_t)(end - p) && strncasecmp(words[i].word, p, (size_t)(end - p)) == 0)
				side = words[i].side;
	}
	return side;
}

static struct fleet_call call_of(const struct hmap *names, const char *name)
{
	struct mention m[2] = {};
	enum side first, second;

	if (find_mentions(names, name, m) != 2 || m[0].server == m[1].server)
		return (struct fleet_call){-1, -1};
	first = side_of(name, m[0].begin);
	second = side_of(m[0].end, m[1].begin);
	if (second == CALLER && first != CALLER)
		return (struct fleet_call){m[1].server, m[0].server};
	return (struct fleet_call){m[0].server, m[1].server};
}

/* Whether all that a server measures are calls between others. */
static bool is_observer(const struct fleet *f, const struct counter_calls *c, int server)
{
	size_t calls = 0;

	for (size_t i = 0; i < f->counters.n; i++) {
		if (!f->servers.v[server].column[i])
			continue;
		if (c->of[i].callee < 0 || c->of[i].caller == server || c->of[i].callee == server)
			return false;
		calls++;
	}
	return calls;
}

int counter_calls_find(const struct fleet *f, struct counter_calls *ret)
{
	_cleanup_(hmap_free) struct hmap names = {};
	int r;

	*ret = (struct counter_calls){calloc(f->counters.n + 1, sizeof(*ret->of)), calloc(f->servers.n + 1, sizeof(*ret->observer)), 0};
	r = ret->of && ret->observer ? add_names(f, &names) : -ENOMEM;
	for (size_t i = 0; i < f->counters.n && r == 0; i++) {
		ret->of[i] = call_of(&names, f->counters.v[i].name);
		ret->n += ret->of[i].callee >= 0;
	}
	for (size_t i = 0; i < f->servers.n && r == 0 && ret->n; i++)
		ret->observer[i] = is_observer(f, ret, (int)i);
	return r;
}

void counter_call_attribute(const struct counter_calls *c, struct fleet_finding *x)
{
	int callee = c->of[x->counter].callee;

	if (callee < 0 || callee == x->server)
		return;
	x->measured_on = x->server;
	x->server = callee;
	x->flags |= FLEET_CALLED;
}

void counter_calls_free(struct counter_calls *c)
{
	FREE_ALL(c->of, c->observer);
	*c = (struct counter_calls){};
}
