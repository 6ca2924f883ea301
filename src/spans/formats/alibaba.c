#include "spans/formats/alibaba.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/data/cleanup.h"

static int column(const struct text_field *names, size_t n, const char *one, const char *other)
{
	for (size_t i = 0; i < n; i++)
		if ((names[i].n == strlen(one) && !strncasecmp(names[i].at, one, names[i].n)) ||
		    (names[i].n == strlen(other) && !strncasecmp(names[i].at, other, names[i].n)))
			return (int)i;
	return -1;
}

static struct text_field text(const char *at)
{
	return (struct text_field){at, strlen(at)};
}

void alibaba_columns(struct text_field names[COLUMNS_MAX], size_t *n, struct alibaba *ret)
{
	static const char *const made[ALIBABA_COLUMNS] = {"SpanID", "ParentID", "OperationName", "SpanKind", "service.name", "duration_ms",
							   "peer.service"};
	int when = column(names, *n, "timestamp", "timestamp");

	*ret = (struct alibaba){column(names, *n, "rpcid", "rpc_id"), column(names, *n, "um", "um"), column(names, *n, "dm", "dm"),
				column(names, *n, "rpctype", "rpc_type"), column(names, *n, "interface", "interface"), column(names, *n, "rt", "rt"),
				"", ""};
	if (ret->rpcid < 0 || ret->um < 0 || ret->dm < 0 || ret->kind < 0 || ret->interface < 0 || when < 0 || *n + ALIBABA_COLUMNS > COLUMNS_MAX)
		ret->rt = -1;
	if (ret->rt < 0)
		return;
	names[when] = text("start_ms"); /* since the recording began */
	for (size_t i = 0; i < ARRAY_SIZE(made); i++)
		names[(*n)++] = text(made[i]);
}

/* Ids that are never read as numbers, of which "0" is none. */
static struct text_field put_id(char room[48], const struct text_field *rpcid, size_t n)
{
	int length = snprintf(room, 48, "rpc %.*s", (int)n, rpcid->at);

	return (struct text_field){room, length < 48 ? (size_t)length : 47};
}

bool alibaba_row(struct alibaba *a, struct text_field *fields, size_t n)
{
	const struct text_field *rpcid = &fields[a->rpcid], *kind = &fields[a->kind];
	struct text_field *made = &fields[n - ALIBABA_COLUMNS], rt = fields[a->rt];
	bool answered = rt.n && *rt.at == '-', message = kind->n == 2 && !strncasecmp(kind->at, "mq", 2);
	const char *dot = memrchr(rpcid->at, '.', rpcid->n);

	if (!rpcid->n || rpcid->n > 40 || rt.n <= answered)
		return false;
	made[0] = put_id(a->id, rpcid, rpcid->n);
	made[1] = dot ? put_id(a->parent, rpcid, (size_t)(dot - rpcid->at)) : text("");
	made[2] = fields[a->interface];
	made[3] = text(answered ? (message ? "consumer" : "server") : message ? "producer" : "client");
	made[4] = fields[answered ? a->dm : a->um];
	made[5] = (struct text_field){rt.at + answered, rt.n - answered};
	made[6] = answered ? text("") : fields[a->dm];
	return true;
}
