/* HTTP requests, over libcurl: kept-alive connections, bounded bodies, errors in words that say what to do.
 *
 * A client belongs to one thread. Redirects are not followed (a token would go along). A token or password is not sent
 * unencrypted to another machine unless that is asked for.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/str.h"

#define HTTP_BODY_MAX ((size_t)256 << 20)

struct http_client;

struct http_client_options {
	const char *ca_file; /* PEM: an authority, or the server's own certificate (so pinned); NULL = the system's */
	const char *pin;     /* "sha256//BASE64" of the server's public key, trusted instead of any authority; or NULL */
	const char *token;   /* sent as bearer token; or NULL */
	const char *user, *password; /* sent as basic authentication; or NULL */
	bool trusted_network;	     /* the two above may go unencrypted to another machine */
	const char *const *headers; /* "Name: value", sent with each request; NULL-terminated, or NULL */
	int64_t connect_timeout;    /* ns; 0 = 5 s */
	int64_t timeout;	    /* ns for a whole request; 0 = 60 s */
	size_t body_max;	    /* of an answer; 0 = HTTP_BODY_MAX */
};

struct http_request {
	const char *method; /* NULL = GET, with a body POST */
	const char *url;
	const void *body;
	size_t n;
	const char *content_type;
	bool gzip; /* send the body compressed */
	/* Takes the body of an answer below 300 as it comes, instead of reply.body; other than 0 ends the request, which
	 * then returns it. Not bounded by body_max. */
	int (*sink)(const void *bytes, size_t n, void *data);
	void *data;
};

struct http_reply {
	unsigned status;
	int64_t retry_after; /* ns; 0 = not said */
	struct str body;
	uint64_t received; /* bytes of the body as they came over the wire */
};

/* 0, -EINVAL for a CA file that is not there, -ENOENT without libcurl; *ret_error (caller frees) in words. */
int http_client_open(const struct http_client_options *options, struct http_client **ret, char **ret_error);
void http_client_close(struct http_client *c);
/* 0 whatever the status says. -ECONNREFUSED, -EHOSTUNREACH (no such name), -ETIMEDOUT, -EKEYREJECTED (TLS: expired, not
 * trusted, for another name), -E2BIG, -EACCES (the token would travel unencrypted), -EIO, or what the sink returned;
 * then http_client_error() says it in words. */
int http_send(struct http_client *c, const struct http_request *request, struct http_reply *ret);
/* 0 below 300; else -EACCES (401, 403), -ENOENT, -EBUSY (429, 503), -EREMOTEIO, in words from http_client_error(). */
int http_check_status(struct http_client *c, const struct http_request *request, const struct http_reply *reply);
const char *http_client_error(const struct http_client *c);
void http_reply_free(struct http_reply *r);

/* Whether those on the way can read what is sent there: it leaves this machine without TLS. */
bool http_client_others_can_read(struct http_client *c, const char *url);
/* Warns of that, once in a process: "URL: `what` travels unencrypted ...". */
void http_client_warn_of_readers(struct http_client *c, const char *url, const char *what);
/* Takes one header line of an answer: if it is "Retry-After: SECONDS", *ret_ns is that (at most a week; 0 for a date). */
void http_take_retry_after(const char *line, size_t n, int64_t *ret_ns);
/* Appends text as it may stand in a URL's query. */
void http_url_escape(struct str *out, const char *text);
