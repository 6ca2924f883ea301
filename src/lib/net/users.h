/* Who may ask over the network with a long-lived token: a file with one line for each.
 *
 *   NAME sha256:DIGEST [scope=all|read|metrics] [expires=2027-01-31T00:00:00Z]
 *   NAME TOKEN [scope=...] [expires=...]           (the token itself: the file is its owner's alone)
 *   TOKEN                                          (the same, of "anybody")
 *
 * The server needs no token, only its digest: `whyslow serve --add-token NAME` writes the first form. The file is read again when it
 * changes, so that a user is let in or locked out without a restart.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/net/digest.h"

#define TOKEN_LENGTH_MIN 24 /* characters: nothing guesses as many */
#define TOKEN_USER_MAX	 64

/* What may be asked for; each scope includes those below it. */
enum scope {
	SCOPE_ALL,     /* also what changes something: marks, notes, proofs */
	SCOPE_READ,    /* every answer */
	SCOPE_METRICS, /* the newest counters, for Prometheus */
	SCOPE_PUBLIC,  /* the page itself, which holds no answer: needs no token */
};

struct user {
	char name[TOKEN_USER_MAX];
	enum scope scope;
	char token[DIGEST_TEXT]; /* digest of the token that showed who it is; "" = none did */
};

/* "all", "read", "metrics". */
const char *user_scope_name(enum scope scope);
/* 0 or -EINVAL. */
int user_scope_parse(const char *name, enum scope *ret);

struct users;

/* 0; -ENOENT, -EACCES (others may read tokens in it, or it cannot be read), -EINVAL (a line, named); *ret_error (caller frees).
 * may_come: a file that is not there yet is one without users. */
int users_open(const char *file, bool may_come, struct users **ret, char **ret_error);
void users_free(struct users *t);
/* Whose token it is: 0 and the user, -EACCES, or -ETIME for one that has expired. Compares in a time that says nothing about the
 * tokens. Any thread. */
int users_check(struct users *t, const char *token, struct user *ret);
/* The same of a token whose digest is known (struct user). */
int users_check_digest(struct users *t, const char *digest, struct user *ret);
/* How many tokens there are; how many of them stand there in clear instead of their digest. */
size_t users_count(const struct users *t);
size_t users_in_clear(const struct users *t);

struct listed_token {
	const char *name;
	enum scope scope;
	int64_t expires; /* wall ns; INT64_MAX = never */
	bool in_clear;
};
/* Each line of the file, in order. */
void users_each(struct users *t, void (*each)(void *data, const struct listed_token *token), void *data);

/* Adds a line for a new token, which is returned and stands nowhere else; makes the file where there is none. `expires`: wall ns,
 * INT64_MAX = never. 0, -EEXIST (the name has one), -EINVAL (a name with spaces) or -errno; *ret_error (caller frees). */
int users_add(const char *file, const char *name, enum scope scope, int64_t expires, char ret_token[SECRET_TEXT], char **ret_error);
/* Removes every line of that name. How many, or -errno; *ret_error (caller frees). */
int users_remove(const char *file, const char *name, char **ret_error);

/* Makes a file with one new token in clear, for its owner alone, who copies it to those who send; what is there stays as it is (0 as
 * well). 0 or -errno. */
int user_token_make(const char *file, const char *user);

/* What a client shows: a token, or a name and a password. */
struct credentials {
	char *token;
	char *user, *password;
};

/* Reads the first line of a private file: "USER:PASSWORD", "NAME TOKEN" (a server's own file) or "TOKEN". Same errors as
 * users_open(). */
int user_credentials_read(const char *file, struct credentials *ret, char **ret_error);
void user_credentials_free(struct credentials *c);
/* http_client_open() with what such a file says (NULL: no file) in place of the options' token, user and password. */
struct http_client;
struct http_client_options;
int user_open_client(const struct http_client_options *options, const char *file, struct http_client **ret, char **ret_error);
/* The file of tokens that servers use where no other is named; the caller frees. NULL without memory. */
char *users_token_file(void);
