/* Two inspections side by side: by function, how much of a CPU it used. */
#include "cmd/compare-captures.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "base/vec.h"

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

static int by_change(const void *left, const void *right)
{
	const struct function_change *a = left, *b = right;
	double x = fabs(a->b - a->a), y = fabs(b->b - b->a);

	return x > y ? -1 : x < y;
}

static json_t *load(struct common *common, const char *text)
{
	struct store *store;
	struct capture *list = NULL;
	json_t *capture = NULL;
	size_t n = 0;
	uint64_t id;

	if (parse_u64(text, &id) < 0) {
		usage_error("compare",
			    "--captures takes two numbers of incidents ('whyslow list' shows them)");
		return NULL;
	}
	store = open_common_store(common, STORE_READ);
	if (!store)
		return NULL;
	(void)store_captures(store, (int64_t)id, &list, &n);
	store_close(store);
	if (n)
		capture = json_loads(list[0].json, 0, NULL);
	else
		log_error("nothing was looked into for %s; 'whyslow inspect PID --keep %s' does", text, text);
	for (size_t i = 0; i < n; i++)
		capture_free(&list[i]);
	free(list);
	return capture;
}

static void print_text(const struct difference *d, const json_t *a, const json_t *b)
{
	printf("A  %s\nB  %s\n\n%8s %8s %8s  of a CPU, by function\n",
	       json_string_value(json_object_get(a, "summary")),
	       json_string_value(json_object_get(b, "summary")), "A", "B", "change");
	for (size_t i = 0; i < d->list.n && i < SHOWN; i++) {
		const struct function_change *f = &d->list.v[i];

		printf("%6.1f %% %6.1f %% %+6.1f %%  %s\n", 100 * f->a, 100 * f->b, 100 * (f->b - f->a),
		       f->name);
	}
}

static void print_json(const struct difference *d)
{
	json_t *array = json_array(), *root;

	for (size_t i = 0; i < d->list.n; i++)
		json_array_append_new(array, json_pack("{s:s, s:f, s:f}", "function", d->list.v[i].name, "a",
						       d->list.v[i].a, "b", d->list.v[i].b));
	root = json_pack("{s:s, s:o}", "schema", "whyslow.compare-captures/1", "functions", array);
	json_dumpf(root, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(root);
}

int compare_captures(struct common *common, const char *first, const char *second)
{
	struct difference d = {};
	json_t *a = load(common, first), *b = a ? load(common, second) : NULL;
	int status = b ? EXIT_ANSWERED : EXIT_CANNOT;

	if (b) {
		take(&d, a, false);
		take(&d, b, true);
		if (d.list.n)
			qsort(d.list.v, d.list.n, sizeof(d.list.v[0]), by_change);
		if (common->json)
			print_json(&d);
		else
			print_text(&d, a, b);
	}
	VEC_FREE(d.list);
	json_decref(a);
	json_decref(b);
	return status;
}
