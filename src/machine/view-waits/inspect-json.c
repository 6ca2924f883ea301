#include <jansson.h>

#include "lib/view/json.h"
#include "machine/view-waits/inspect.h"

#define PLACES_SHOWN 20

static json_t *places(const struct inspected_places *list, uint64_t whole)
{
	return JSON_FIRST(p, list->v, PLACES_SHOWN < list->n ? PLACES_SHOWN : list->n, json_pack("{s:s?, s:s?, s:s?, s:o, s:I, s:f}", "function",
		p->function, "place", p->place, "file", p->file, "line", p->line ? json_integer(p->line) : json_null(), "count", (json_int_t)p->count,
		"share", whole ? (double)p->count / (double)whole : 0.0));
}

static json_t *thread(const struct inspected_thread *t)
{
	uint64_t waited = t->looks - t->states[CAPTURE_RUNNING] - t->states[CAPTURE_RUNNABLE];

	return json_pack(
		"{s:i, s:s, s:o, s:o, s:s?, s:s?, s:b, s:b, s:I, s:I, s:{s:I, s:I, s:I, s:I, s:I}, s:o, s:o, "
		"s:o}",
		"tid", (int)t->tid, "name", t->comm, "cpu", json_number(t->cpu), "ready", json_number(t->ready),
		"begins", t->begins, "begins_at", t->begins_at, "came", t->came, "went", t->went, "looks",
		(json_int_t)t->looks, "samples", (json_int_t)t->samples, "states", "running",
		(json_int_t)t->states[CAPTURE_RUNNING], "ready", (json_int_t)t->states[CAPTURE_RUNNABLE],
		"sleeping", (json_int_t)t->states[CAPTURE_SLEEPING], "blocked",
		(json_int_t)t->states[CAPTURE_BLOCKED], "stopped", (json_int_t)t->states[CAPTURE_STOPPED],
		"functions", places(&t->functions, t->samples), "instructions",
		places(&t->instructions, t->samples), "waits", places(&t->waits, waited));
}

/* Nodes deeper than jansson prints (its parser stops at 2048, and nothing reads them) are not reached: trees
 * end at 256. */
static json_t *node(const struct path_tree *t, uint32_t index)
{
	const struct tree_node *n = &t->nodes.v[index];
	json_t *children = json_array();

	for (uint32_t i = n->child; i; i = t->nodes.v[i].next)
		json_array_append_new(children, node(t, i));
	return json_pack("{s:s?, s:I, s:I, s:o}", "name", n->name, "total", (json_int_t)n->total, "self",
			 (json_int_t)n->self, "children", children);
}

static json_t *tree(const struct path_tree *t)
{
	return t->nodes.n ? node(t, 0) : json_null();
}

static json_t *files(const struct inspection *n)
{
	return JSON_EACH(f, n->files, json_pack("{s:s?, s:I, s:I, s:I, s:I}", "path", f->path, "read_bytes", (json_int_t)f->read_bytes,
		"written_bytes", (json_int_t)f->written_bytes, "read_calls", (json_int_t)f->read_calls, "write_calls", (json_int_t)f->write_calls));
}

static json_t *memory(const struct inspection *n)
{
	return JSON_EACH(m, n->memory, json_pack("{s:o, s:i, s:I, s:I, s:I, s:I}", "name", json_text(m->name), "mappings", (int)m->mappings, "size",
		(json_int_t)m->size, "resident", (json_int_t)m->resident, "anonymous", (json_int_t)m->anonymous, "swapped", (json_int_t)m->swapped));
}

/* It came as JSON from views of its own. */
static json_t *recorded(const struct inspection *n)
{
	json_t *value = n->recorded_json ? json_loads(n->recorded_json, 0, NULL) : NULL;

	return value ? value : json_null();
}

void inspect_json(const struct inspection *n, size_t most, FILE *out)
{
	json_t *threads = JSON_FIRST(x, n->threads.v, most < n->threads.n ? most : n->threads.n, thread(x)), *root;

	root = json_pack("{s:s, s:s, s:i, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:o}", "schema",
			 "whyslow.inspect/1", "summary", n->summary, "pid", (int)n->pid, "exe", n->exe,
			 "cmdline", n->cmdline, "unit", n->unit, "container", n->container, "package",
			 n->package, "version", n->version, "limits", json_texts(n->limits.v, n->limits.n));
	json_object_set_new(root, "span", json_real((double)n->span / 1e9));
	json_object_set_new(root, "cpus", json_integer(n->cpus));
	json_object_set_new(root, "cpu", json_real(n->cpu));
	json_object_set_new(root, "looks", json_integer((json_int_t)n->looks));
	json_object_set_new(root, "samples", json_integer((json_int_t)n->samples));
	json_object_set_new(root, "lost", json_integer((json_int_t)n->lost));
	json_object_set_new(root, "threads", threads);
	json_object_set_new(root, "threads_left_out", json_integer((json_int_t)(n->threads.n - json_array_size(threads))));
	json_object_set_new(root, "top_down", tree(&n->top_down));
	json_object_set_new(root, "bottom_up", tree(&n->bottom_up));
	json_object_set_new(root, "waits", tree(&n->waits));
	json_object_set_new(root, "files", files(n));
	json_object_set_new(root, "memory", memory(n));
	json_object_set_new(root, "phase", n->phase ? json_integer(n->phase) : json_null());
	json_object_set_new(root, "recorded", recorded(n));
	json_object_set_new(root, "missing", json_texts(n->missing.v, n->missing.n));
	json_object_set_new(root, "remarks", json_texts(n->remarks.v, n->remarks.n));
	/* trees are 256 deep: to indent them would make ten times as much of what is saved */
	json_print(root, most == SIZE_MAX ? JSON_INDENT(1) : JSON_COMPACT, out);
}
