#include "lib/net/webhook.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/net/http-client.h"

#define ATTEMPTS   3
#define PAUSE	   (2 * NS_PER_SEC) /* after the first; then four times as long */
#define PAUSE_MAX  (30 * NS_PER_SEC)
#define ANSWER_MAX 65536
#define PATIENCE   (10 * NS_PER_SEC) /* for one attempt */

/* What may be better in a moment. */
static bool is_passing(int error, unsigned status)
{
	return error == -ECONNREFUSED || error == -EHOSTUNREACH || error == -ETIMEDOUT || error == -EIO || error == -EBUSY ||
	       status >= 500;
}

static void pause_for(int64_t ns)
{
	struct timespec rest = {ns / NS_PER_SEC, ns % NS_PER_SEC};

	while (nanosleep(&rest, &rest) < 0 && errno == EINTR)
		continue;
}

/* One attempt. *ret_pause: how long to wait before the next; 0 = another one would not help. */
static int attempt(struct http_client *client, const struct http_request *request, int64_t *ret_pause)
{
	_cleanup_(http_reply_free) struct http_reply reply = {};
	int r = http_send(client, request, &reply);

	r = r ?: http_check_status(client, request, &reply);
	*ret_pause = 0;
	if (r < 0 && is_passing(r, reply.status))
		*ret_pause = reply.retry_after > PAUSE_MAX ? PAUSE_MAX : reply.retry_after > PAUSE ? reply.retry_after : PAUSE;
	return r;
}

static const char *without_address(const char *text, const char *url)
{
	size_t n = strlen(url);

	return strncmp(text, url, n) == 0 && strncmp(text + n, ": ", 2) == 0 ? text + n + 2 : text;
}

int webhook_post(const char *url, const char *json, char **ret_error)
{
	const struct http_client_options options = {.timeout = PATIENCE, .body_max = ANSWER_MAX};
	const struct http_request request = {
		.url = url, .body = json, .n = strlen(json), .content_type = "application/json"};
	struct http_client *client;
	int64_t pause;
	int r = http_client_open(&options, &client, ret_error);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < ATTEMPTS; i++) {
		r = attempt(client, &request, &pause);
		if (r == 0 || !pause || i + 1 == ATTEMPTS)
			break;
		pause_for(i && pause == PAUSE ? 4 * PAUSE : pause);
	}
	if (r < 0)
		*ret_error = strdup(without_address(http_client_error(client), url));
	http_client_close(client);
	return r;
}
