#include "machine/process/redact.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"
#include "machine/process/redact-rules.h"

#define HIDDEN	   '\1' /* in place of each hidden byte: no other control character is left by then */
#define TOKEN_MOST 16	/* what follows a known prefix and is longer is a key, not a word */
#define WORD_LEAST 8	/* what looks like chance and is shorter is a word */
#define KEY_LEAST  12	/* the same of what is called a key: many are not a secret */
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
	{"storepass", true},  {"keypass", true},      {"requirepass", true}, {"masterauth", true},    {"account-key", true},
	{"auth-key", true},   {"otp", false},	      {"psk", false},
	{"pass", true},	      {"pwd", false},	      {"pw", true},	    {"auth", false},	    {"sig", false},
	{"encryption-key", true}, {"master-key", true}, {"session-key", true}, {"signing-key", true}, {"shared-key", true},
	{"hmac-key", true},   {"license-key", true},  {"certificate-key", true}, {"secret-key-base", true}, {"secret-string", true},
	{"bearer", false},    {"jwt", false},	      {"pin", false},	    {"community", false},
};

/* Words that only end as one of them does. */
static const char *const no_names[] = {"bypass",  "compass",  "multipass", "overpass",
				       "surpass", "trespass", "underpass"};

/* user:secret@ behind these is no user: an address of a person, a version of a package */
static const char *const schemes[] = {"mailto", "acct", "xmpp",	     "sip",   "sips",
				      "npm",	"jsr",	"workspace", "patch", "link"};

/* Keys that say what they are. */
static const char *const prefixes[] = {"ghp_",	"gho_",	 "ghu_",  "ghs_", "ghr_", "github_pat_", "glpat-", "xoxb-",  "xoxp-",
				       "xoxa-", "xapp-", "hvs.", "npm_", "pypi-", "sk-",	 "sk_live_", "AIza", "eyJ",
				       "SG.",	"dop_v1_", "tskey-", "ya29."};

/* Options that say where a secret comes from, and have none next to them. */
static const char *const flags[] = {"--ask-", "--no-", "--with-", "--use-", "--prompt-", "--auth-user-pass"};

/* Words behind which a word that looks like chance is a secret. */
static const char *const hints[] = {"password", "passwd", "passphrase", "secret",
				    "token",	"key",	  "apikey",	"credential"};

/* One argument: [from, to), and the piece of it between spaces that is looked at. */
struct argument {
	char *from, *to;
	char *piece, *end;
};

/* The state that earlier words leave for those that follow. */
struct expected {
	const char *program; /* the last one that has rules */
	size_t program_n;
	bool seen[ARRAY_SIZE(rules)]; /* their verbs */
	bool hide, likely, quoted;    /* the next word: it is; if it looks so; if it is in quotes */
	bool beside_name;	      /* the next word: it is, unless it is a port, an option or a path */
	enum user_name {
		NO_NAME,
		IS_NEXT,
		NAMED,
		IS_ROLE
	} user; /* an option that names a user; of sudo: whose rights */
	char after;
	unsigned words, strict; /* bit 0 = the next word ... */
	char words_after;
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
		if (i && (tolower((unsigned char)word[i - 1]) == name[m - 1] ||
			  (name[m - 1] == '-' && word[i - 1] == '_')))
			i--;
		else if (name[m - 1] != '-')
			return 0;
	}
	return n - i;
}

/* "--db-password", "API_TOKEN", "dbPassword": the last part of a name decides. */
static bool names_a_secret(const char *word, size_t n)
{
	while (n && isdigit((unsigned char)word[n - 1])) /* --password1 */
		n--;
	for (size_t i = 0; i < ARRAY_SIZE(no_names); i++)
		if (ends_with(word, n, no_names[i]))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t m = ends_with(word, n, names[i].text);
		char before = m && m < n ? word[n - m - 1] : '-';

		if (m && (names[i].anywhere || !isalnum((unsigned char)before) ||
			  (islower((unsigned char)before) && isupper((unsigned char)word[n - m]))))
			return true;
	}
	return false;
}

static int class_of(char c)
{
	return islower((unsigned char)c)   ? 1
	       : isupper((unsigned char)c) ? 2
	       : isdigit((unsigned char)c) ? 3
					   : 0;
}

/* Words of a language change seldom between small letters, capitals and digits; what chance made does so all
 * the time. */
static bool looks_random(const char *word, size_t n, size_t least)
{
	size_t changes = 0;

	for (size_t i = 1; i < n; i++)
		changes += class_of(word[i]) && class_of(word[i - 1]) &&
			   class_of(word[i]) != class_of(word[i - 1]);
	return n >= least && changes * 3 >= n && !memchr(word, '/', n);
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
		if ((strchr("?&", before) && strchr("&#", *stop)) ||
		    (strchr(";,", before) && *stop == before))
			break;
	return stop;
}

/* NAME=SECRET, "NAME": "SECRET", NAME: SECRET; `sep` is the = or :. Where to continue. */
static char *redact_assigned(const struct argument *a, char *sep)
{
	char *last = sep > a->piece && is_quote(sep[-1]) ? sep - 1 : sep;
	char *name = name_before(a, last), *value = sep + 1, *end;
	bool option = name == a->from + 1 && value < a->to && *value != '/'; /* /password:X */
	bool path = *sep == ':' && ((name > a->from && name[-1] == '/' && !option) ||
				    (a->to - sep > 2 && memcmp(sep, "://", 3) == 0));
	bool header = *sep == ':' && value == a->end && value < a->to;

	if (path || (!names_a_secret(name, (size_t)(last - name)) &&
		     !(ends_with(name, (size_t)(last - name), "key") &&
		       looks_random(value, (size_t)(a->end - value), KEY_LEAST))))
		return sep + 1;
	while (header && value < a->to && *value == ' ')
		value++;
	end = value_end(a, name, value, header && last == sep);
	hide(value + (value < end && is_quote(*value)), end);
	return end;
}

/* user:secret@host without a scheme; not image:tag@sha256:..., not mailto:user@host */
static void redact_user_info(const struct argument *a)
{
	char *user = a->piece + is_quote(*a->piece), *colon = user, *at;

	while (colon < a->end && (isalnum((unsigned char)*colon) || strchr("._-/\\", *colon)))
		colon++;
	at = colon < a->end ? memrchr(colon, '@', (size_t)(a->end - colon)) : NULL;
	if (colon == user || *colon != ':' || !at || at == colon + 1 ||
	    memchr(colon, '/', (size_t)(at - colon)) || a->end - at < 2 || !isalnum((unsigned char)at[1]) ||
	    str_starts(at, "@sha256:") || str_starts(at, "@sha512:"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (strlen(schemes[i]) == (size_t)(colon - user) &&
		    memcmp(schemes[i], user, (size_t)(colon - user)) == 0)
			return;
	hide(colon + 1, at);
}

/* user:secret@ in an address, or a long token@ */
static void redact_address(const struct argument *a)
{
	char *user = memmem(a->piece, (size_t)(a->end - a->piece), "://", 3), *at, *colon;

	if (!user) {
		redact_user_info(a);
		return;
	}
	user += 3;
	at = memrchr(user, '@', (size_t)(a->end - user));
	colon = at ? memchr(user, ':', (size_t)(at - user)) : NULL;
	if (colon)
		hide(colon + 1, at);
	else if (at && (at - user > USER_MOST || looks_random(user, (size_t)(at - user), WORD_LEAST)))
		hide(user, at);
	for (size_t i = 0; i < ARRAY_SIZE(secret_addresses); i++) {
		size_t n = strlen(secret_addresses[i]);
		char *key = memmem(user, (size_t)(a->end - user), secret_addresses[i], n);
		char *slash = key && i == 0 ? memchr(key + n, '/', (size_t)(a->end - key) - n)
					    : NULL; /* a call follows the bot's key */

		if (key)
			hide(key + n, slash ? slash : a->end);
	}
}

/* user/SECRET@place, alone or at the end of an address of a driver */
static void redact_pair(const struct argument *a, char *from)
{
	char *slash = memchr(from, '/', (size_t)(a->end - from)), *at;

	if (!slash || slash == from || *from == '@' || memchr(from, '=', (size_t)(slash - from)))
		return;
	at = memchr(slash, '@', (size_t)(a->end - slash));
	hide(slash + 1, at ? at : a->end);
}

static void redact_driver(const struct argument *a)
{
	char *thin = memmem(a->piece, (size_t)(a->end - a->piece), ":thin:", 6);

	if (thin)
		redact_pair(a, thin + 6);
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
static char *redact_value(const struct argument *a, char after)
{
	char *value = a->piece + is_quote(*a->piece);
	char *end = value > a->piece ? quoted_to(a, value, *a->piece) : value == a->from ? a->to : a->end;
	char *mark = after ? memchr(value, after, (size_t)(end - value)) : NULL;

	if (mark || !after)
		hide(mark ? mark + 1 : value, end);
	return end;
}

static bool matches(const char *pattern, const char *word, size_t n)
{
	size_t m = strlen(pattern);

	if (m && *pattern == '*')
		return n >= m - 1 && memcmp(word + n - (m - 1), pattern + 1, m - 1) == 0;
	if (m && pattern[m - 1] == '*')
		return n >= m - 1 && memcmp(word, pattern, m - 1) == 0;
	return n == m && memcmp(word, pattern, n) == 0;
}

static bool is_any(const struct argument *a, const char *const *words, size_t n_words)
{
	size_t n = (size_t)(a->end - a->piece);

	return ANY_WHERE(i, n_words, strlen(words[i]) == n && strncasecmp(a->piece, words[i], n) == 0);
}

static void expect_words(const struct secret_rule *rule, struct expected *x)
{
	*(rule->way == STRICT ? &x->strict : &x->words) |= rule->which;
	x->words_after = rule->after;
}

/* A file's name is what its rules go by; of those of a word before it nothing holds any more. */
static void recognize_program(const struct argument *a, struct expected *x)
{
	const char *slash = memrchr(a->piece, '/', (size_t)(a->end - a->piece));
	const char *name = slash ? slash + 1 : a->piece + is_quote(*a->piece);
	size_t n = (size_t)(a->end - name);
	bool known = false;

	for (size_t i = 0; i < ARRAY_SIZE(rules) && !known; i++)
		known = matches(rules[i].program, name, n);
	if (!known)
		return;
	*x = (struct expected){.program = name, .program_n = n, .user = x->user};
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (!rules[i].word && rules[i].way != PAIR && matches(rules[i].program, name, n))
			expect_words(&rules[i], x);
}

/* -pSECRET, -p SECRET */
static void apply_option(const struct secret_rule *rule, const struct argument *a, struct expected *x)
{
	size_t n = (size_t)(a->end - a->piece), m = strlen(rule->word);
	struct argument value = *a;

	if (n < m || memcmp(a->piece, rule->word, m) != 0)
		return;
	if (n == m && rule->way & APART) {
		x->hide = true;
		x->after = rule->after;
	}
	if (n == m || !(rule->way & JOINED))
		return;
	value.piece += m;
	if (a->piece == a->from)
		value.from = value.piece;
	(void)redact_value(&value, rule->after);
}

static void apply_rules(const struct argument *a, struct expected *x)
{
	size_t n = (size_t)(a->end - a->piece);

	for (size_t i = 0; x->program && i < ARRAY_SIZE(rules); i++) {
		const struct secret_rule *rule = &rules[i];

		if (!matches(rule->program, x->program, x->program_n))
			continue;
		x->seen[i] |= rule->verb && matches(rule->verb, a->piece, n);
		if (rule->way == PAIR && a->piece > x->program + x->program_n)
			redact_pair(a, a->piece);
		else if (rule->way >= WORDS && rule->word && matches(rule->word, a->piece, n))
			expect_words(rule, x);
		else if (rule->way < WORDS && (!rule->verb || x->seen[i]))
			apply_option(rule, a, x);
	}
}

/* --key X, `password X`: what is only likely. */
static void take_hint(const struct argument *a, bool option, struct expected *x)
{
	size_t n = (size_t)(a->end - a->piece);
	bool is_sql = a->from != a->piece || a->to != a->end;

	if (option)
		x->likely = ends_with(a->piece, n, "key") && !memmem(a->piece, n, "recv", 4) &&
			    !memmem(a->piece, n, "pub", 3);
	else
		x->likely = is_any(a, hints, ARRAY_SIZE(hints));
	/* ALTER USER u PASSWORD 'X'; IDENTIFIED BY 'X'; SET PASSWORD = 'X' */
	if (is_sql && (is_any(a, (const char *const[]){"password", "by"}, 2)))
		x->quoted = true;
	else if (!is_any(a, (const char *const[]){"=", "=>", "to"}, 3))
		x->quoted = false;
}

/* -u NAME ... -p SECRET, login -p SECRET: so do many programs that have no rules */
static void take_user(const struct argument *a, bool option, struct expected *x)
{
	static const char *const users[] = {"-u",	  "-U",	     "-l",    "--user",
					    "--username", "--login", "-user", "-username"};
	static const char *const roles[] = {"sudo",	  "doas",	 "su",	      "runuser",
					    "machinectl", "systemd-run", "docker",    "podman",
					    "nerdctl",	  "journalctl",	 "systemctl", "pidstat"};

	if (x->user == IS_NEXT)
		x->user = option ? NO_NAME : NAMED;
	else if (option && x->user == NO_NAME && is_any(a, users, ARRAY_SIZE(users)))
		x->user = IS_NEXT;
	else if (!option && is_any(a, roles, ARRAY_SIZE(roles)))
		x->user = IS_ROLE;
	else if (!option && is_any(a, (const char *const[]){"login"}, 1))
		x->user = NAMED;
	x->beside_name =
		option && x->user == NAMED && is_any(a, (const char *const[]){"-p"}, 1) &&
		a->end - a->piece == 2 && a->piece[1] == 'p' &&
		!(x->program && (str_starts(x->program, "mysql") || str_starts(x->program, "mariadb")));
}

/* 80, 8080:80, 127.0.0.1:80:80; /path, a/b */
static bool is_port_or_path(const struct argument *a)
{
	size_t n = (size_t)(a->end - a->piece);

	return memchr(a->piece, '/', n) || strspn(a->piece, "0123456789:.,-") >= n;
}

static bool is_flag(const char *word)
{
	return ANY_WHERE(i, ARRAY_SIZE(flags), str_starts(word, flags[i]));
}

/* Whether this word is the secret that earlier ones announced; then *ret_end is where it ends. */
static bool redact_announced(const struct argument *a, struct expected *x, char **ret_end)
{
	size_t n = (size_t)(a->end - a->piece);
	bool word = x->words & 1 || x->strict & 1;
	char after = x->hide ? x->after : word ? x->words_after : 0;
	bool secret = x->hide || word || (x->quoted && is_quote(*a->piece)) ||
		      (x->likely && looks_random(a->piece, n, WORD_LEAST)) ||
		      (x->beside_name && !is_port_or_path(a));

	if (!x->hide) { /* what belongs to an option is not a word */
		x->words >>= 1;
		x->strict >>= 1;
	}
	x->hide = x->likely = x->beside_name = false;
	if (x->user == IS_NEXT) /* its name is in what follows the option */
		x->user = NAMED;
	if (!secret)
		return false;
	*ret_end = redact_value(a, after);
	x->quoted = false;
	return true;
}

/* One piece; returns where the next one begins. */
static char *redact_piece(struct argument *a, struct expected *x)
{
	size_t n = (size_t)(a->end - a->piece);
	bool option = *a->piece == '-' && n > 1;
	char *at = a->piece, *end;

	if (!option && redact_announced(a, x, &end))
		return end;
	x->hide = false;
	x->strict = option ? 0 : x->strict;
	redact_address(a);
	redact_driver(a);
	while (at < a->end) {
		at += strcspn(at, "=: ");
		at = at < a->end ? redact_assigned(a, at) : at;
	}
	redact_known_keys(a);
	take_hint(a, option, x);
	take_user(a, option, x);
	if (!option)
		recognize_program(a, x);
	apply_rules(a, x);
	if ((option && !memchr(a->piece, '=', n) && names_a_secret(a->piece, n) && !is_flag(a->piece)) ||
	    (n == 6 && strncasecmp(a->piece, "bearer", n) == 0)) {
		x->hide = true;
		x->after = 0;
	}
	return at > a->end ? at : a->end;
}

/* --- what is echoed into a program --- */

static bool reads_secret(const char *from, const char *to)
{
	return ANY_WHERE(i, ARRAY_SIZE(secret_readers), memmem(from, (size_t)(to - from), secret_readers[i], strlen(secret_readers[i])));
}

static char *skip_spaces(char *at, const char *to)
{
	while (at < to && *at == ' ')
		at++;
	return at;
}

/* [from, to) without the quotes around it. */
static void hide_text(char *from, char *to)
{
	while (to > from && to[-1] == ' ')
		to--;
	if (to - from >= 2 && is_quote(*from) && to[-1] == *from) {
		from++;
		to--;
	}
	hide(from, to);
}

/* echo -n SECRET, printf %s SECRET */
static void redact_echo(char *from, char *to)
{
	from += strspn(from, " ({");
	if (strncmp(from, "echo ", 5) != 0 && strncmp(from, "printf ", 7) != 0 &&
	    strncmp(from, "yes ", 4) != 0)
		return;
	while (to > from && strchr(" )}", to[-1]))
		to--;
	do {
		from += strcspn(from, " ");
		from = skip_spaces(from, to);
	} while (from < to && (*from == '-' || (memchr(from, '%', strcspn(from, " ")) &&
						memchr(from, ' ', (size_t)(to - from)))));
	hide_text(from, to);
}

/* Commands of a shell's line: each, or the group of them in brackets, with the one that follows behind a
 * pipe. */
static void redact_pipes(char *from, char *to)
{
	char *group = from;

	while (from < to) {
		char *end = from + strcspn(from, "|;&\n"), *next = end < to ? end + 1 : to,
		     *first = from + strspn(from, " ");
		char *here = memmem(from, (size_t)(end - from), "<<<", 3);

		group = *first == '(' || *first == '{' ? from : group;
		if (*end == '|' && reads_secret(next, next + strcspn(next, "|;&\n"))) {
			bool grouped = end > from &&
				       memchr(from, memchr(group, '{', strspn(group, " {")) ? '}' : ')',
					      (size_t)(end - from));

			for (char *at = grouped ? group : from, *stop; at < end; at = stop + 1) {
				stop = at + strcspn(at, "|;&\n");
				redact_echo(at, stop);
			}
		}
		if (here && reads_secret(from, here))
			hide_text(skip_spaces(here + 3, end), end);
		from = next;
	}
}

static void redact_argument(char *from, char *to, struct expected *x)
{
	struct argument a = {from, to, from, from};

	redact_pipes(from, to);
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
		str_make_printable(at);
		redact_argument(at, at + strlen(at), &x);
		if (at > copy)
			str_putc(out, ' ');
		put_redacted(at, out);
	}
}
