#include "source/redact.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/str.h"

#define HIDDEN	   '\1' /* in place of each hidden byte: no other control character is left by then */
#define TOKEN_MOST 16	/* what follows a known prefix and is longer is a key, not a word */
#define USER_MOST  20	/* a user's name in an address; what is longer is a token */

struct secret_name {
	const char *text;
	bool anywhere; /* also at the end of a longer word: PGPASSWORD, dbpassword; not "bypass" */
};

/* - stands for _ and for nothing, too */
static const struct secret_name names[] = {
	{"password", true},   {"passwd", true},	      {"passphrase", true}, {"passcode", true},	    {"secret", true},
	{"token", true},      {"credential", true},   {"credentials", true}, {"api-key", true},	    {"access-key", true},
	{"secret-key", true}, {"private-key", true},  {"authorization", true}, {"signature", true}, {"cookie", true},
	{"pass", false},      {"pwd", false},	      {"pw", false},	    {"auth", false},	    {"sig", false},
};

enum way { JOINED = 1, APART = 2, BOTH = 3 };

/* Programs with a short way to say it. `after` is what ends the name that stands before the secret, or 0. */
static const struct short_way {
	const char *program; /* what its name begins with */
	const char *option;
	enum way way;
	char after;
} ways[] = {
	{"mysql", "-p", JOINED, 0},	{"mariadb", "-p", JOINED, 0},	{"sshpass", "-p", BOTH, 0},   {"redis-cli", "-a", BOTH, 0},
	{"ldap", "-w", BOTH, 0},	{"curl", "-u", BOTH, ':'},	{"curl", "-U", BOTH, ':'},    {"curl", "--user", APART, ':'},
	{"curl", "--user=", JOINED, ':'}, {"curl", "--proxy-user", APART, ':'}, {"7z", "-p", JOINED, 0},	{"zip", "-P", BOTH, 0},	      {"unzip", "-P", BOTH, 0},
	{"mongo", "-p", BOTH, 0},	{"mosquitto_", "-P", BOTH, 0},	{"ipmitool", "-P", BOTH, 0},  {"sqlcmd", "-P", BOTH, 0},
	{"smbclient", "-U", BOTH, '%'}, {"xfreerdp", "/p:", JOINED, 0}, {"openssl", "-k", APART, 0},
};

/* Keys that say what they are. */
static const char *const prefixes[] = {"ghp_",	"gho_",	 "ghu_",  "ghs_", "ghr_", "github_pat_", "glpat-", "xoxb-",  "xoxp-",
				       "xoxa-", "xapp-", "hvs.", "npm_", "pypi-", "sk-",	 "sk_live_", "AIza", "eyJ"};

/* One argument: [from, to), and the piece of it between spaces that is looked at. */
struct argument {
	char *from, *to;
	char *piece, *end;
};

/* What an earlier word said of the next one. */
struct expected {
	const char *program; /* of `ways` */
	bool hide;
	char after;
};

static void hide(char *from, const char *to)
{
	if (to > from)
		memset(from, HIDDEN, (size_t)(to - from));
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'';
}

/* Where the text ends that a quote began; its argument's end where it is not closed. */
static char *quoted_to(const struct argument *a, char *from, char quote)
{
	char *close = memchr(from, quote, (size_t)(a->to - from));

	return close ? close : a->to;
}

/* The length of `name` at the end of the word, or 0; a dash of it may be left out, or be a _. */
static size_t ends_with(const char *word, size_t n, const char *name)
{
	size_t i = n;

	for (size_t m = strlen(name); m; m--) {
		if (i && (tolower((unsigned char)word[i - 1]) == name[m - 1] || (name[m - 1] == '-' && word[i - 1] == '_')))
			i--;
		else if (name[m - 1] != '-')
			return 0;
	}
	return n - i;
}

/* "--db-password", "API_TOKEN", "dbPassword": the last part of a name decides. */
static bool names_a_secret(const char *word, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t m = ends_with(word, n, names[i].text);
		char before = m && m < n ? word[n - m - 1] : '-';

		if (m && (names[i].anywhere || !isalnum((unsigned char)before) ||
			  (islower((unsigned char)before) && isupper((unsigned char)word[n - m]))))
			return true;
	}
	return false;
}

static char *name_before(const struct argument *a, char *to)
{
	while (to > a->piece && (isalnum((unsigned char)to[-1]) || strchr("_-.", to[-1])))
		to--;
	return to;
}

/* Where a secret ends that begins at `value` and whose name begins at `name`. */
static char *value_end(const struct argument *a, const char *name, char *value, bool header)
{
	char before = name > a->from ? name[-1] : '\0';
	char *stop = NULL;

	if (value < a->to && is_quote(*value))
		return quoted_to(a, value + 1, *value);
	if (is_quote(before))
		return quoted_to(a, value, before);
	if (!before || header)
		return a->to;
	for (stop = value; stop < a->end; stop++)
		if ((strchr("?&", before) && strchr("&#", *stop)) || (strchr(";,", before) && *stop == before))
			break;
	return stop;
}

/* NAME=SECRET, "NAME": "SECRET", NAME: SECRET; `sep` is the = or :. Where to go on. */
static char *redact_assigned(const struct argument *a, char *sep)
{
	char *last = sep > a->piece && is_quote(sep[-1]) ? sep - 1 : sep;
	char *name = name_before(a, last), *value = sep + 1, *end;
	bool path = *sep == ':' && ((name > a->from && name[-1] == '/') || (a->to - sep > 2 && memcmp(sep, "://", 3) == 0));
	bool header = *sep == ':' && value == a->end && value < a->to;

	if (path || !names_a_secret(name, (size_t)(last - name)))
		return sep + 1;
	while (header && value < a->to && *value == ' ')
		value++;
	end = value_end(a, name, value, header && last == sep);
	hide(value + (value < end && is_quote(*value)), end);
	return end;
}

/* user:secret@ in an address, or a long token@ */
static void redact_address(const struct argument *a)
{
	char *user = memmem(a->piece, (size_t)(a->end - a->piece), "://", 3), *at, *colon;

	if (!user)
		return;
	user += 3;
	at = memrchr(user, '@', (size_t)(a->end - user));
	colon = at ? memchr(user, ':', (size_t)(at - user)) : NULL;
	if (colon)
		hide(colon + 1, at);
	else if (at && at - user > USER_MOST)
		hide(user, at);
}

static void redact_known_keys(const struct argument *a)
{
	for (char *at = a->piece; at < a->end; at++) {
		if (at > a->piece && isalnum((unsigned char)at[-1]))
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
			size_t n = strlen(prefixes[i]);
			char *stop = at + n;

			if ((size_t)(a->end - at) < n || memcmp(at, prefixes[i], n) != 0)
				continue;
			while (stop < a->end && (isalnum((unsigned char)*stop) || strchr("_-.", *stop)))
				stop++;
			if (stop - at > TOKEN_MOST)
				hide(at, stop);
		}
	}
}

/* The secret that was announced: what the quote holds, the argument that begins here, or the word. */
static char *redact_expected(const struct argument *a, struct expected *x)
{
	char *value = a->piece + is_quote(*a->piece);
	char *end = value > a->piece ? quoted_to(a, value, *a->piece) : value == a->from ? a->to : a->end;
	char *colon = x->after ? memchr(value, x->after, (size_t)(end - value)) : NULL;

	if (colon || !x->after)
		hide(colon ? colon + 1 : value, end);
	x->hide = false;
	return end;
}

/* -pSECRET of a program that has it so. */
static void redact_short(const struct argument *a, struct expected *x)
{
	size_t n = (size_t)(a->end - a->piece);

	for (size_t i = 0; x->program && i < ARRAY_SIZE(ways); i++) {
		const struct short_way *w = &ways[i];
		size_t m = strlen(w->option);
		struct argument value = *a;

		if (strcmp(w->program, x->program) != 0 || n < m || memcmp(a->piece, w->option, m) != 0)
			continue;
		x->after = w->after;
		x->hide = n == m && w->way & APART;
		if (n == m || !(w->way & JOINED))
			continue;
		value.piece += m;
		if (a->piece == a->from)
			value.from = value.piece;
		redact_expected(&value, x);
	}
}

static void recognize_program(const struct argument *a, struct expected *x)
{
	const char *slash = memrchr(a->piece, '/', (size_t)(a->end - a->piece));
	const char *name = slash ? slash + 1 : a->piece + is_quote(*a->piece);

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		size_t n = strlen(ways[i].program);

		if ((size_t)(a->end - name) >= n && memcmp(name, ways[i].program, n) == 0)
			x->program = ways[i].program;
	}
}

/* One piece; returns where the next one begins. */
static char *redact_piece(struct argument *a, struct expected *x)
{
	size_t n = (size_t)(a->end - a->piece);
	bool option = *a->piece == '-';
	char *at = a->piece;

	if (x->hide && !option)
		return redact_expected(a, x);
	x->hide = false;
	redact_address(a);
	while (at < a->end) {
		at += strcspn(at, "=: ");
		at = at < a->end ? redact_assigned(a, at) : at;
	}
	redact_known_keys(a);
	if (!option)
		recognize_program(a, x);
	redact_short(a, x);
	if ((option && names_a_secret(a->piece, n)) || (n == 6 && strncasecmp(a->piece, "bearer", n) == 0))
		*x = (struct expected){.program = x->program, .hide = true};
	return at > a->end ? at : a->end;
}

static void redact_argument(char *from, char *to, struct expected *x)
{
	struct argument a = {from, to, from, from};

	while (a.piece < to) {
		a.end = a.piece + strcspn(a.piece, " ");
		a.piece = a.end > a.piece ? redact_piece(&a, x) : a.piece + 1;
	}
}

static void put_redacted(const char *text, struct str *out)
{
	while (*text) {
		size_t hidden = strspn(text, "\1"), n = strcspn(text + hidden, "\1");

		if (hidden)
			str_puts(out, "***");
		str_append(out, text + hidden, n);
		text += hidden + n;
	}
}

void redact_secrets(const char *args, size_t n, struct str *out)
{
	_cleanup_free_ char *copy = malloc(n + 1);
	struct expected x = {};

	if (!copy) {
		out->error = -ENOMEM;
		return;
	}
	memcpy(copy, args, n);
	copy[n] = '\0';
	for (char *at = copy; at < copy + n; at += strlen(at) + 1) {
		text_make_printable(at);
		redact_argument(at, at + strlen(at), &x);
		if (at > copy)
			str_putc(out, ' ');
		put_redacted(at, out);
	}
}
