/* What the files of `serve` and `open` share. */
#pragma once

#include "machine/verb/verb.h"

#define SERVE_LISTEN "127.0.0.1:7170"

/* Which recording these options name, in one text: two servers of the same serve the same. The caller frees; NULL without memory. */
char *serve_recording(const struct common *common);

/* --- tokens and sessions (serve-tokens.c): each prints, or says on standard error why it cannot, and returns an exit status --- */

struct serve_token_options {
	const char *file, *name, *scope;
	int64_t life; /* ns; 0 = for ever */
};
int serve_add_token(const struct serve_token_options *options);
int serve_revoke_token(const struct serve_token_options *options);
int serve_list_tokens(const struct serve_token_options *options, bool json);
int serve_list_sessions(const struct common *common);
/* `which`: a session's number, or "all". */
int serve_end_session(const struct common *common, const char *which);

/* --- rights (serve-rights.c) --- */

/* Whose rights a server that root starts by hand continues with: the user named; else the one who called sudo; else whyslow-web, else
 * nothing. 0, or -errno with *ret_error (caller frees): -ENOENT: there is no such user. */
struct serve_user {
	uid_t uid;
	gid_t gid;
	char name[64], home[256];
};
int serve_choose_user(const char *named, struct serve_user *ret, char **ret_error);
/* Gives up root's rights for good, in every thread. 0, or -errno with *ret_error: that user cannot run this program, or could get root's
 * rights back. */
int serve_become(const struct serve_user *user, char **ret_error);
