/* A connection of gRPC, after the client's preface: frames, headers and messages, and what is answered. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/target.h"
#include "lib/data/cleanup.h"
#include "lib/net/grpc.h"

#define PIECE 61 /* bytes at a time: frames come in pieces */

static const uint8_t preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";

static void answer(struct http_exchange *e)
{
	str_append(&e->reply, e->body.data, e->body.len);
}

static const struct http_route routes[] = {{"POST", "/a", answer, 4096, SCOPE_PUBLIC}, {"POST", "/b", answer, 4096, SCOPE_ALL}, {}};

static void converse(struct http_server *s, const uint8_t *bytes, size_t n)
{
	struct grpc_connection c = {.server = s, .fd = -1};
	const uint8_t *out;
	int r = grpc_connection_begin(&c);

	if (r == 0)
		r = grpc_connection_take(&c, preface, sizeof(preface));
	while (r == 0 && n) {
		size_t piece = n < PIECE ? n : PIECE;

		r = grpc_connection_take(&c, bytes, piece);
		bytes += piece;
		n -= piece;
		while (grpc_connection_give(&c, &out) > 0)
			;
	}
	grpc_connection_end(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static const char *const names[] = {"server.example", NULL};
	_cleanup_free_ char *error = NULL;
	struct memory_budget memory = {.most = 64 << 10};
	struct http_server s = {.routes = routes, .names = names, .loopback = true, .requests_max = 8, .memory = &memory};

	s.sessions = sessions_new(NULL);
	if (!s.sessions || users_open("/nonexistent/tokens", true, &s.tokens, &error) < 0)
		abort();
	if (grpc_open(&s, &error) == 0)
		converse(&s, bytes, n);
	if (memory.used || s.under_way)
		abort();
	grpc_close(s.grpc);
	sessions_free(s.sessions);
	users_free(s.tokens);
	return 0;
}
