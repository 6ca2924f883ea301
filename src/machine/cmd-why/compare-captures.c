/* Two inspections side by side: by function, how much of a CPU it used. */
#include "machine/cmd-why/compare-captures.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"
#include "lib/view/json.h"

#define SHOWN 20

struct function_change {
	const char *name; /* belongs to the captures */
	double a, b;	  /* of one CPU, 0..1 */
};

struct difference {
	VEC(struct function_change) list;
};

static struct function_change *find(struct difference *d, const char *name)
{
	for (size_t i = 0; i < d->list.n; i++)
		if (strcmp(d->list.v[i].name, name) == 0)
			return &d->list.v[i];
	return VEC_PUSH(d->list, (struct function_change){.name = name}) == 0 ? &d->list.v[d->list.n - 1]
									      : NULL;
}

/* The first level of the tree from the bottom up is what ran. */
static void take(struct difference *d, const json_t *capture, bool second)
{
	const json_t *root = json_object_get(capture, "bottom_up"),
		     *children = json_object_get(root, "children");
	double total = (double)json_integer_value(json_object_get(root, "total"));
	double cpu = json_number_value(json_object_get(capture, "cpu"));
	size_t i;
	json_t *child;

	json_array_foreach(children, i, child)
	{
		const char *name = json_string_value(json_object_get(child, "name"));
		struct function_change *f = name ? find(d, name) : NULL;

		if (f && total > 0)
			*(second ? &f->b : &f->a) =
				cpu * (double)json_integer_value(json_object_get(child, "total")) / total;
	}
}

ORDER(by_change, struct function_change, CMP(fabs(b->b - b->a), fabs(a->b - a->a)))

/* "7", or "7.2": what was seen in its second phase. */
static int parse(const char *text, int64_t *ret_id, uint32_t *ret_phase)
{
	const char *dot = strchr(text, '.');
	_cleanup_free_ char *number = dot ? strndup(text, (size_t)(dot - text)) : strdup(text);
	uint64_t id, phase = 0;

	if (!number || str_parse_u64(number, &id) < 0 || (dot && str_parse_u64(dot + 1, &phase) < 0))
		return -EINVAL;
	*ret_id = (int64_t)id;
	*ret_phase = (uint32_t)phase;
	return 0;
}

static json_t *load(struct common *common, const char *text)
{
	struct store *store;
	struct capture *list = NULL;
	json_t *capture = NULL;
	size_t n = 0;
	uint32_t phase;
	int64_t id;

	if (parse(text, &id, &phase) < 0) {
		verb_usage_error("compare",
			    "--captures expects two incident numbers ('whyslow list' shows them), or their phases: 7.1 7.2");
		return NULL;
	}
	store = common_open_store(common, STORE_READ);
	if (!store)
		return NULL;
	(void)store_captures(store, id, &list, &n);
	store_close(store);
	for (size_t i = 0; i < n && !capture; i++)
		if (!phase || list[i].phase == phase)
			capture = json_loads(list[i].json, 0, NULL);
	if (!capture)
		log_error("no process was inspected for %s; 'whyslow inspect PID --keep %s' does that", text, text);
	for (size_t i = 0; i < n; i++)
		capture_free(&list[i]);
	free(list);
	return capture;
}

static const char *summary_of(const json_t *capture)
{
	const char *summary = json_string_value(json_object_get(capture, "summary"));

	return summary ? summary : "a process (its report has no summary)";
}

static void print_text(const struct difference *d, const json_t *a, const json_t *b)
{
	printf("A  %s\nB  %s\n\n%8s %8s %8s  of one CPU, by function\n",
	       summary_of(a), summary_of(b), "A", "B", "change");
	for (size_t i = 0; i < d->list.n && i < SHOWN; i++) {
		const struct function_change *f = &d->list.v[i];

		printf("%6.1f %% %6.1f %% %+6.1f %%  %s\n", 100 * f->a, 100 * f->b, 100 * (f->b - f->a),
		       f->name);
	}
}

static json_t *side(const json_t *capture)
{
	json_t *object = json_object();
	static const char *const keys[] = {"summary", "pid", "phase", "cpu"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		json_object_set(object, keys[i], json_object_get(capture, keys[i]));
	return object;
}

static void print_json(const struct difference *d, const json_t *a, const json_t *b)
{
	json_print(json_pack("{s:s, s:o, s:o, s:o}", "schema", "whyslow.compare-captures/1", "a", side(a), "b", side(b), "functions", JSON_EACH(x,
		d->list, json_pack("{s:s, s:f, s:f}", "function", x->name, "a", x->a, "b", x->b))), JSON_INDENT(1), stdout);
}

int compare_captures(struct common *common, const char *first, const char *second)
{
	struct difference d = {};
	json_t *a = load(common, first), *b = a ? load(common, second) : NULL;
	int status = b ? EXIT_ANSWERED : EXIT_CANNOT;

	if (b) {
		take(&d, a, false);
		take(&d, b, true);
		VEC_SORT(d.list, by_change);
		if (common->json)
			print_json(&d, a, b);
		else
			print_text(&d, a, b);
	}
	VEC_FREE(d.list);
	json_decref(a);
	json_decref(b);
	return status;
}
