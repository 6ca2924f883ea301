/* Who calls whom. */
#include "lib/view/json.h"
#include "spans/ask/span-view.h"

void span_calls_text(const struct names *names, const struct span_calls *c, FILE *out)
{
	fputs("caller,callee\n", out);
	for (size_t i = 0; i < c->list.n; i++)
		fprintf(out, "\"%s\",\"%s\"\n", names_get(names, c->list.v[i].caller), names_get(names, c->list.v[i].callee));
}

json_t *span_calls_json(const struct names *names, const struct span_calls *c)
{
	return json_pack("{s:s, s:o}", "schema", "whyslow.spans.calls/1", "calls", JSON_EACH(x, c->list, json_pack("{s:s, s:s}", "caller",
		names_get(names, x->caller), "callee", names_get(names, x->callee))));
}
