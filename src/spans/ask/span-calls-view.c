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
	json_t *list = json_array();

	for (size_t i = 0; i < c->list.n; i++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "caller", names_get(names, c->list.v[i].caller), "callee",
						      names_get(names, c->list.v[i].callee)));
	return json_pack("{s:s, s:o}", "schema", "whyslow.spans.calls/1", "calls", list);
}
