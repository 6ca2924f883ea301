/* Who may ask over the network: a file of "NAME TOKEN" lines, one a user, that nobody else may read.
 *
 * The file is read again when it changes, so that a user is let in or locked out without a restart.
 */
#pragma once

#include <stddef.h>

#define TOKEN_LENGTH_MIN 24 /* characters: not to be guessed */
#define TOKEN_USER_MAX	 64

struct users;

/* 0; -ENOENT, -EACCES (others may read it, or it is not to be read), -EINVAL (a line, named); *ret_error (caller frees). */
int users_open(const char *file, struct users **ret, char **ret_error);
void users_free(struct users *t);
/* Whose token it is: 0 and the name, or -EACCES. Compares in a time that says nothing about the tokens. Any thread. */
int users_check(struct users *t, const char *token, char ret_user[TOKEN_USER_MAX]);
/* Makes a file with one new token, for its owner alone; what is there stays as it is (0 as well). 0 or -errno. */
int token_make(const char *file, const char *user);
/* What a client shows: a token, or a name and a password. */
struct credentials {
	char *token;
	char *user, *password;
};

/* Reads the first line of a private file: "USER:PASSWORD", "NAME TOKEN" (a server's own file) or "TOKEN". Same errors as
 * users_open(). */
int credentials_read(const char *file, struct credentials *ret, char **ret_error);
void credentials_free(struct credentials *c);
