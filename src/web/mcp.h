/* The Model Context Protocol (https://modelcontextprotocol.io/specification), for assistants: the questions of the HTTP interface (calls.h)
 * that change nothing, each a tool with the values that its verb's table of options allows. Messages are JSON-RPC 2.0. */
#pragma once

#include <jansson.h>

#include "web/call-asker.h"

#define MCP_MESSAGE_MAX ((size_t)1 << 20) /* bytes of a message */

/* The answer to a message; the caller's reference. NULL: it was a notification, or an answer itself. `bounds` of one question. */
json_t *mcp_answer(const struct call_asker *a, const char *message, size_t n, const struct ask_bounds *bounds);
