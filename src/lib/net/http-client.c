#include "lib/net/http-client.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/input/gzip.h"
#include "lib/system/library.h"

#define RETRY_AFTER_MAX (7 * 86400) /* s: a service that says more means "not today" */

#undef curl_easy_setopt
#undef curl_easy_getinfo

#define CURL_CALLS(CALL) \
	CALL(curl_easy_init) CALL(curl_easy_setopt) CALL(curl_easy_perform) CALL(curl_easy_getinfo) CALL(curl_easy_cleanup) \
	CALL(curl_slist_append) CALL(curl_slist_free_all) CALL(curl_url) CALL(curl_url_set) CALL(curl_url_get) CALL(curl_url_cleanup) \
	CALL(curl_free)
struct curl {
	CURL_CALLS(LIBRARY_CALL)
};

static const struct library libcurl = LIBRARY("libcurl.so.4", "libcurl4", CURL_CALLS);

struct http_client {
	struct curl curl;
	CURL *easy;
	char *token;
	bool has_secret, trusted_network;
	struct curl_slist *headers; /* with every request */
	size_t body_max;
	char detail[CURL_ERROR_SIZE];
	char *error;
};

/* One request under way. */
struct transfer {
	struct http_client *client;
	const struct http_request *request;
	struct http_reply *reply;
	int error;
};

const char *http_client_error(const struct http_client *c)
{
	return c->error ? c->error : "out of memory";
}

void http_reply_free(struct http_reply *r)
{
	str_free(&r->body);
}

void http_url_escape(struct str *out, const char *text)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

	for (; *text; text++) {
		if (strchr(plain, *text))
			str_putc(out, *text);
		else
			str_printf(out, "%%%02X", (unsigned char)*text);
	}
}

static int set_headers(struct http_client *c, const char *const *headers)
{
	for (; headers && *headers; headers++) {
		struct curl_slist *longer = c->curl.curl_slist_append(c->headers, *headers);

		if (!longer)
			return -ENOMEM;
		c->headers = longer;
	}
	return 0;
}

static long milliseconds(int64_t ns, long otherwise)
{
	return ns ? (long)((ns + NS_PER_MS - 1) / NS_PER_MS) : otherwise;
}

static void set_trust(struct http_client *c, const struct http_client_options *o)
{
	if (o->ca_file)
		c->curl.curl_easy_setopt(c->easy, CURLOPT_CAINFO, o->ca_file);
	if (!o->pin)
		return;
	c->curl.curl_easy_setopt(c->easy, CURLOPT_PINNEDPUBLICKEY, o->pin);
	if (!o->ca_file) {
		c->curl.curl_easy_setopt(c->easy, CURLOPT_SSL_VERIFYPEER, 0L);
		c->curl.curl_easy_setopt(c->easy, CURLOPT_SSL_VERIFYHOST, 0L);
	}
}

static int set_options(struct http_client *c, const struct http_client_options *o)
{
	CURL *h = c->easy = c->curl.curl_easy_init();

	if (!h || (o->token && !(c->token = strdup(o->token))))
		return -ENOMEM;
	c->has_secret = o->token || o->user;
	c->trusted_network = o->trusted_network;
	if (o->user) {
		c->curl.curl_easy_setopt(h, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		c->curl.curl_easy_setopt(h, CURLOPT_USERNAME, o->user);
		c->curl.curl_easy_setopt(h, CURLOPT_PASSWORD, o->password ? o->password : "");
	}
	c->body_max = o->body_max ? o->body_max : HTTP_BODY_MAX;
	c->curl.curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
	c->curl.curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	c->curl.curl_easy_setopt(h, CURLOPT_ERRORBUFFER, c->detail);
	c->curl.curl_easy_setopt(h, CURLOPT_USERAGENT, "whyslow/" WHYSLOW_VERSION);
	c->curl.curl_easy_setopt(h, CURLOPT_ACCEPT_ENCODING, "gzip");
	c->curl.curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(o->connect_timeout, 5000));
	c->curl.curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, milliseconds(o->timeout, 60000));
	set_trust(c, o);
	return set_headers(c, o->headers);
}

int http_client_open(const struct http_client_options *options, struct http_client **ret, char **ret_error)
{
	struct http_client *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	if (options->ca_file && access(options->ca_file, R_OK) < 0)
		r = str_fail(ret_error, -EINVAL, "cannot read the certificate %s: %s", options->ca_file, strerror(errno));
	else
		r = library_load(&libcurl, &c->curl, ret_error);
	r = r ?: set_options(c, options);
	if (r < 0) {
		http_client_close(c);
		return r;
	}
	*ret = c;
	return 0;
}

void http_client_close(struct http_client *c)
{
	if (!c)
		return;
	if (c->easy)
		c->curl.curl_easy_cleanup(c->easy);
	if (c->headers)
		c->curl.curl_slist_free_all(c->headers);
	if (c->token)
		explicit_bzero(c->token, strlen(c->token));
	FREE_ALL(c->token, c->error, c);
}

static size_t take_body(char *bytes, size_t size, size_t n, void *data)
{
	struct transfer *t = data;
	struct curl *curl = &t->client->curl;
	long status = 0;

	n *= size;
	curl->curl_easy_getinfo(t->client->easy, CURLINFO_RESPONSE_CODE, &status);
	if (t->request->sink && status < 300)
		t->error = t->request->sink(bytes, n, t->request->data);
	else
		t->error = str_append(&t->reply->body, bytes, n);
	return t->error ? 0 : n;
}

void http_take_retry_after(const char *line, size_t n, int64_t *ret_ns)
{
	static const char name[] = "retry-after:";
	size_t at = sizeof(name) - 1;
	int64_t seconds = 0;

	if (n < at || strncasecmp(line, name, at) != 0)
		return;
	while (at < n && (line[at] == ' ' || line[at] == '\t'))
		at++;
	for (; at < n && line[at] >= '0' && line[at] <= '9'; at++) {
		seconds = 10 * seconds + (line[at] - '0');
		if (seconds > RETRY_AFTER_MAX)
			seconds = RETRY_AFTER_MAX;
	}
	*ret_ns = seconds * NS_PER_SEC;
}

static size_t take_header(char *bytes, size_t size, size_t n, void *data)
{
	struct transfer *t = data;

	n *= size;
	http_take_retry_after(bytes, n, &t->reply->retry_after);
	return n;
}

/* What is wrong with a certificate, by the words of OpenSSL or GnuTLS. */
static const struct {
	const char *found, *said;
} certificate_faults[] = {
	{"expired", "its certificate has expired: renew it there"},
	{"not yet valid", "its certificate is not valid yet: is one of the two clocks wrong?"},
	{"pinned", "its key is not the pinned one: has its certificate been renewed, or is this another machine?"},
	{"subject name", "its certificate is for another name: ask it by a name that the certificate has"},
	{"does not match", "its certificate is for another name: ask it by a name that the certificate has"},
	{"self", "its certificate is not signed by a trusted authority: pass the authority's, or its own, with --ca FILE"},
	{"issuer", "its certificate is not signed by a trusted authority: pass the authority's, or its own, with --ca FILE"},
};

static int certificate_error(struct http_client *c, const char *url)
{
	for (size_t i = 0; i < ARRAY_SIZE(certificate_faults); i++)
		if (strcasestr(c->detail, certificate_faults[i].found))
			return str_fail_again(&c->error, -EKEYREJECTED, "%s: %s", url, certificate_faults[i].said);
	return str_fail_again(&c->error, -EKEYREJECTED, "%s: no trusted connection: %s", url, c->detail);
}

static const struct {
	CURLcode code;
	int error;
	const char *said;
} faults[] = {
	{CURLE_COULDNT_RESOLVE_HOST, -EHOSTUNREACH, "unknown host name: is it spelled correctly?"},
	{CURLE_COULDNT_CONNECT, -ECONNREFUSED, "cannot connect: is the service running, and does a firewall allow it?"},
	{CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT, "no answer in time: is the machine up, and the network between?"},
	{CURLE_GOT_NOTHING, -ECONNRESET, "it closed the connection without an answer: does it speak https://?"},
	{CURLE_RECV_ERROR, -ECONNRESET, "the connection broke off"},
	{CURLE_PARTIAL_FILE, -ECONNRESET, "the connection broke off"},
	{CURLE_SEND_ERROR, -ECONNRESET, "the connection broke off"},
	{CURLE_SSL_CONNECT_ERROR, -EPROTO, "it does not speak TLS: does it speak http://?"},
	{CURLE_SSL_CACERT_BADFILE, -EINVAL, "the file given as its authority holds no certificate"},
	{CURLE_URL_MALFORMAT, -EINVAL, "invalid URL; expected http://HOST:PORT or https://HOST:PORT"},
	{CURLE_UNSUPPORTED_PROTOCOL, -EINVAL, "only http:// and https:// can be asked"},
	{CURLE_BAD_CONTENT_ENCODING, -EBADMSG, "its answer cannot be decompressed"},
	{CURLE_WRITE_ERROR, -EBADMSG, "its answer cannot be decompressed"},
	{CURLE_OUT_OF_MEMORY, -ENOMEM, "out of memory"},
};

static int transfer_error(const struct transfer *t, CURLcode code)
{
	struct http_client *c = t->client;
	const char *url = t->request->url;

	if (t->error == -E2BIG)
		return str_fail_again(&c->error, -E2BIG, "%s: the answer is longer than %zu MiB: ask for less", url, c->body_max >> 20);
	if (t->error)
		return str_fail_again(&c->error, t->error, "%s: the answer was not taken to its end", url);
	if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_PINNEDPUBKEYNOTMATCH)
		return certificate_error(c, url);
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		if (faults[i].code == code)
			return str_fail_again(&c->error, faults[i].error, "%s: %s", url, faults[i].said);
	return str_fail_again(&c->error, -EIO, "%s: %s", url,
			      c->detail[0] ? c->detail : "the request failed");
}

static bool is_loopback_6(const char *host)
{
	char text[INET6_ADDRSTRLEN] = "";
	struct in6_addr address;

	if (sscanf(host, "[%45[0-9a-fA-F:.]]", text) != 1 || inet_pton(AF_INET6, text, &address) != 1)
		return false;
	return IN6_IS_ADDR_LOOPBACK(&address) || (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == 127);
}

/* By address: anyone can register a name that begins with "127.". Names have no case, and may end with a dot. */
static bool is_loopback(const char *host)
{
	struct in_addr address;

	if (strcasecmp(host, "localhost") == 0 || strcasecmp(host, "localhost.") == 0 || is_loopback_6(host))
		return true;
	return inet_pton(AF_INET, host, &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

struct target {
	bool valid, tls, here; /* a URL; with TLS; on this machine */
};

static int parse_target(struct http_client *c, const char *url, struct target *ret)
{
	struct curl *curl = &c->curl;
	CURLU *parsed = curl->curl_url();
	char *scheme = NULL, *host = NULL;

	if (!parsed)
		return -ENOMEM;
	if (curl->curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK) {
		curl->curl_url_get(parsed, CURLUPART_SCHEME, &scheme, 0);
		curl->curl_url_get(parsed, CURLUPART_HOST, &host, 0);
	}
	*ret = (struct target){.valid = scheme && host, .tls = scheme && strcmp(scheme, "https") == 0, .here = host && is_loopback(host)};
	curl->curl_free(scheme);
	curl->curl_free(host);
	curl->curl_url_cleanup(parsed);
	return 0;
}

/* A token or password may go over TLS, or stay on this machine. A request to this machine passes no proxy, whatever http_proxy says: the
 * proxy is another program, of another user. */
static int check_target(struct http_client *c, const char *url)
{
	bool secret = c->has_secret && !c->trusted_network;
	struct target target;
	int r = parse_target(c, url, &target);

	if (r < 0)
		return r;
	c->curl.curl_easy_setopt(c->easy, CURLOPT_PROXY, target.here ? "" : NULL);
	if (secret && !target.valid)
		r = str_fail_again(&c->error, -EINVAL, "%s: invalid URL; expected https://HOST:PORT", url);
	else if (secret && !target.tls && !target.here)
		r = str_fail_again(&c->error, -EACCES, "%s: the token or password would travel unencrypted: use https://", url);
	return r;
}

bool http_client_others_can_read(struct http_client *c, const char *url)
{
	struct target target;

	return parse_target(c, url, &target) == 0 && target.valid && !target.tls && !target.here;
}

void http_client_warn_of_readers(struct http_client *c, const char *url, const char *what)
{
	static bool warned;

	if (!warned && http_client_others_can_read(c, url)) {
		log_warning("%s: %s travels unencrypted: all on the way can read it, with the command lines of all users; use https://", url, what);
		warned = true;
	}
}

static int add_header(struct http_client *c, struct curl_slist **list, const char *name, const char *value)
{
	_cleanup_str_ struct str line = {};
	struct curl_slist *longer;

	str_printf(&line, "%s: %s", name, value);
	longer = line.error ? NULL : c->curl.curl_slist_append(*list, line.data);
	if (line.data)
		explicit_bzero(line.data, line.len);
	if (!longer)
		return -ENOMEM;
	*list = longer;
	return 0;
}

static int request_headers(struct http_client *c, const struct http_request *q, struct curl_slist **list)
{
	int r = 0;

	for (struct curl_slist *h = c->headers; h && r == 0; h = h->next) {
		struct curl_slist *longer = c->curl.curl_slist_append(*list, h->data);

		r = longer ? 0 : -ENOMEM;
		*list = longer ? longer : *list;
	}
	if (r == 0 && c->token) {
		_cleanup_str_ struct str bearer = {};

		str_printf(&bearer, "Bearer %s", c->token);
		r = bearer.error ? -ENOMEM : add_header(c, list, "Authorization", bearer.data);
	}
	if (r == 0 && q->body)
		r = add_header(c, list, "Content-Type", q->content_type ? q->content_type : "application/octet-stream");
	if (r == 0 && q->body && q->gzip)
		r = add_header(c, list, "Content-Encoding", "gzip");
	return r == 0 ? add_header(c, list, "Expect", "") : r;
}

static void set_request(struct http_client *c, struct transfer *t, struct curl_slist *headers, const struct str *body)
{
	CURL *h = c->easy;
	const struct http_request *q = t->request;

	c->curl.curl_easy_setopt(h, CURLOPT_URL, q->url);
	c->curl.curl_easy_setopt(h, CURLOPT_HTTPHEADER, headers);
	c->curl.curl_easy_setopt(h, CURLOPT_HTTPGET, 1L);
	if (q->body) {
		c->curl.curl_easy_setopt(h, CURLOPT_POST, 1L);
		c->curl.curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
		c->curl.curl_easy_setopt(h, CURLOPT_POSTFIELDS, body->data);
	}
	c->curl.curl_easy_setopt(h, CURLOPT_CUSTOMREQUEST, q->method);
	c->curl.curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, take_body);
	c->curl.curl_easy_setopt(h, CURLOPT_WRITEDATA, t);
	c->curl.curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, take_header);
	c->curl.curl_easy_setopt(h, CURLOPT_HEADERDATA, t);
}

static int request_body(const struct http_request *q, struct str *packed, struct str *ret)
{
	int r = 0;

	if (q->body && q->gzip)
		r = gzip_pack(q->body, q->n, packed);
	*ret = q->gzip ? *packed : (struct str){.data = (char *)q->body, .len = q->n};
	return r;
}

static int perform(struct transfer *t)
{
	struct http_client *c = t->client;
	curl_off_t received = 0;
	long status = 0;
	CURLcode code;

	c->detail[0] = '\0';
	code = c->curl.curl_easy_perform(c->easy);
	c->curl.curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	c->curl.curl_easy_getinfo(c->easy, CURLINFO_SIZE_DOWNLOAD_T, &received);
	t->reply->status = (unsigned)status;
	t->reply->received = (uint64_t)received;
	return code == CURLE_OK ? 0 : transfer_error(t, code);
}

int http_send(struct http_client *c, const struct http_request *request, struct http_reply *ret)
{
	_cleanup_str_ struct str packed = {};
	struct http_reply reply = {.body.max = c->body_max};
	struct transfer t = {c, request, &reply, 0};
	struct curl_slist *headers = NULL;
	struct str body;
	int r = check_target(c, request->url);

	if (r < 0)
		return r;
	r = request_body(request, &packed, &body);
	r = r ?: request_headers(c, request, &headers);
	if (r == 0) {
		set_request(c, &t, headers, &body);
		r = perform(&t);
		c->curl.curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, NULL);
	}
	c->curl.curl_slist_free_all(headers);
	if (r != 0)
		http_reply_free(&reply);
	else
		*ret = reply;
	return r;
}

static const struct {
	unsigned status;
	int error;
	const char *said;
} status_words[] = {
	{401, -EACCES, "it refuses the token: is it the right one?"},
	{403, -EACCES, "it does not permit this"},
	{404, -ENOENT, "not found there: is it another service, or another version?"},
	{413, -E2BIG, "the request is too large for it"},
	{429, -EBUSY, "it gets too many requests"},
	{503, -EBUSY, "it is overloaded"},
};

/* What a service says of an error, on one line: {"error": "..."}, or its first words. */
static int status_error(struct http_client *c, const char *url, const struct http_reply *reply, int code, const char *said)
{
	const char *text = reply->body.len ? reply->body.data : "";
	int n = (int)strcspn(text, "\r\n");

	if (code == -EBUSY && reply->retry_after)
		return str_fail_again(&c->error, code, "%s: %s; try again in %lld s", url, said,
			    (long long)(reply->retry_after / NS_PER_SEC));
	str_fail_again(&c->error, code, "%s: %s (%u%s%.*s)", url, said, reply->status, n ? ": " : "", n < 200 ? n : 200, text);
	str_make_printable(c->error); /* the words are the server's */
	return code;
}

int http_check_status(struct http_client *c, const struct http_request *request, const struct http_reply *reply)
{
	if (reply->status < 300)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(status_words); i++)
		if (status_words[i].status == reply->status)
			return status_error(c, request->url, reply, status_words[i].error, status_words[i].said);
	return status_error(c, request->url, reply, -EREMOTEIO, reply->status < 400 ? "it redirects to another address" : "it failed");
}
