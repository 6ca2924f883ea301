#include "machine/view-waits/wait-reasons.h"

#include <errno.h>
#include <jansson.h>

#include "lib/data/clock.h"
#include "lib/view/json.h"

void wait_reasons_text(const struct wait_reasons *r, size_t top, FILE *out)
{
	char span[32];

	if (!r->list.n) {
		fputs("\nIts stacks tell of no wait.\n", out);
		return;
	}
	fputs("\nWhat its stacks say it waited for:\n", out);
	for (size_t i = 0; i < r->list.n && i < top; i++) {
		const struct wait_reason *x = &r->list.v[i];

		fprintf(out, "  %10s %3.0f %%  ", clock_format_span((int64_t)x->ns, span, sizeof(span)), 100.0 * (double)x->ns / (double)r->ns);
		if (x->kind == REASON_SIGNATURE)
			fprintf(out, "%s (%s)\n", x->words, x->name);
		else if (x->kind == REASON_KERNEL)
			fprintf(out, "in the kernel's %s\n", x->name);
		else
			fputs("no signature matches\n", out);
	}
	if (r->list.n > top)
		fprintf(out, "  and %zu more\n", r->list.n - top);
}

int wait_reasons_json(const struct wait_reasons *r, FILE *out)
{
	static const char *const kinds[] = {[REASON_SIGNATURE] = "signature", [REASON_KERNEL] = "kernel", [REASON_UNKNOWN] = "unknown"};
	json_t *list = json_array(), *root;

	for (size_t i = 0; list && i < r->list.n; i++) {
		const struct wait_reason *x = &r->list.v[i];

		json_array_append_new(list, json_pack("{s:s, s:s?, s:s?, s:f}", "kind", kinds[x->kind], "name", x->name, "words", x->words, "waited",
						      (double)x->ns / 1e9));
	}
	root = json_pack("{s:s, s:f, s:o}", "schema", "whyslow.reasons/1", "waited", (double)r->ns / 1e9, "reasons", list);
	if (!root)
		return -ENOMEM;
	json_print(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9), out);
	return 0;
}
