/* Two sets of requests and what changed between them: `spans why`, `compare`, `gate` and `watch`. */
#pragma once

#include "analysis/span/span-cause.h"
#include "analysis/span/span-change.h"
#include "analysis/span/span-deployed.h"
#include "analysis/span/span-since.h"
#include "analysis/span/span-suspect.h"
#include "cmd/spans/spans-descent.h"
#include "cmd/spans/spans.h"

/* Two sides and what they are called. */
struct sides {
	struct names *names;
	struct forest forest; /* finished */
	char *before, *after; /* in words */
	struct suspects suspects; /* where versions were looked for */
	struct span_causes causes; /* which requests became slower */
	struct descent descent;	   /* of the first that became slower, where that was asked */
	struct deployments deployments; /* that are known, by time */
	struct span_deployed deployed;	/* of them what may have made requests slower, the likeliest first */
	struct span_since changed; /* where no version was to blame: since when all take longer; since 0 = they do not */
};

void change_print(const struct sides *s, const struct span_change *c);
json_t *change_json(const char *schema, const struct sides *s, const struct span_change *c);
/* "slower: hardware=gen5: api create vm: 412 ms, was 330 ms; storage create disk": caller frees, NULL without memory. */
char *change_headline(const struct sides *s, const struct span_change *c);
/* The answer as one HTML page, "-" = on standard output. 0 or -errno. */
int change_html(const char *path, const struct sides *s, const struct span_change *c);
/* What the gate says, as --report asks for it; NULL = in full. */
void gate_print(const struct sides *s, const struct span_change *c, enum span_verdict verdict);
bool gate_report_is_known(const char *form);
/* The versions that are slower than others of their bucket. */
void suspects_print(const struct sides *s);
