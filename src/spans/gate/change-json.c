/* A change between two sets of requests, as JSON. */
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/view/json.h"
#include "spans/ask/span-view.h"

static json_t *vertex_json(const struct forest *f, const struct vertex_change *v)
{
	_cleanup_free_ char *path = vertex_path(f, v->vertex), *through = vertex_path(f, v->through);
	const struct vertex *x = &f->vertices.v[v->vertex];
	json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "path", path ? path : "", "kind", x->kind == VERTEX_EDGE ? "edge" : "call",
			      "service", names_get(f->names, x->service), "operation", names_get(f->names, x->operation), "reason",
			      span_reason_name(v->reason), "through", through ? through : "");
	const struct {
		const char *name;
		double value;
	} figures[] = {{"before_ns", v->before}, {"after_ns", v->after}, {"calls_before", v->calls_before},
		       {"calls_after", v->calls_after}, {"each_before_ns", v->each_before}, {"each_after_ns", v->each_after},
		       {"parallel_before", v->parallel_before}, {"parallel_after", v->parallel_after}, {"p", v->p}};

	for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
		json_object_set_new(o, figures[i].name, json_number(figures[i].value));
	if (v->reason == REASON_ONE_HOST)
		json_object_set_new(o, "host", json_string(names_get(f->names, v->host)));
	return o;
}

static json_t *exemplar_json(const struct forest *f, const struct exemplar *e)
{
	json_t *list = json_array();

	if (!e)
		return json_null();
	VEC_EACH(s, e->spans) {
		_cleanup_free_ char *label = vertex_label(f, s->vertex);

		json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I, s:I, s:s, s:b}", "call", label ? label : "", "parent",
						      s->parent == NO_SPAN ? (json_int_t)-1 : (json_int_t)s->parent, "start_ns",
						      (json_int_t)s->start, "end_ns", (json_int_t)s->end, "path_ns", (json_int_t)s->path, "host",
						      names_get(f->names, s->host), "error", s->error));
	}
	return json_pack("{s:s, s:I, s:I, s:o}", "trace", SPAN_TRACE_ID(f->names, e->high, e->low), "duration_ns",
			 (json_int_t)e->duration, "spans_in_trace", (json_int_t)e->n_spans, "spans", list);
}

static json_t *mix_json(const struct forest *f, const struct span_mix *m)
{
	if (!m->n_keys)
		return json_null();
	return json_pack("{s:o, s:f, s:s, s:f, s:f}", "attributes", JSON_FIRST(x, m->keys, m->n_keys, json_string(names_get(f->names, *x))), "mix_ns", m->mix, "value", span_value_text(f, m->value), "share_before",
			 m->share_before, "share_after", m->share_after);
}

static json_t *slow_json(const struct span_slow *s)
{
	const struct span_slow_share *x = span_slow_worst(s);

	return x ? json_pack("{s:f, s:f, s:f, s:f}", "times", x->times, "before", x->usual / s->requests, "after", x->after / s->requests, "p", s->p) :
		   json_null();
}

static json_t *pool_json(const struct forest *f, const struct pool_change *p)
{
	json_t *key = p->key ? json_string(names_get(f->names, p->key)) : json_null();
	json_t *value = p->value ? json_string(names_get(f->names, p->value)) : json_null();

	return json_pack("{s:o, s:o, s:s, s:s, s:f, s:f, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "attribute", key, "value", value,
			 "verdict", span_verdict_name(p->verdict), "ground",
			 span_ground_name(p->ground), "errors_before", p->errors_before, "errors_after", p->errors_after, "tail_before", p->tail_before,
			 "tail_after", p->tail_after, "slow_for_kind", slow_json(&p->for_kind), "within_ns", json_number(p->within), "low_ns",
			 json_number(p->low), "high_ns", json_number(p->high), "q", json_number(p->q), "could_see", json_number(p->could_see));
}

static json_t *all_json(const struct forest *f, const struct span_change *c)
{
	json_t *o = pool_json(f, &c->all);

	json_object_update_new(o, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "seen_share", json_number(c->seen_share), "some_seen", json_number(c->some_seen),
		"uniform", c->uniform > 0 ? json_real(c->uniform) : json_null(), "seen", json_number(c->seen), "rise_most",
		json_number(c->all.rise_most), "errors_most", json_number(c->all.errors_most)));
	return o;
}

static json_t *bucket_json(size_t top, const struct forest *f, const struct bucket_change *c)
{
	json_t *o = span_bucket_json(f, &f->buckets.v[c->bucket]);
	_cleanup_free_ char *call = c->ground == GROUND_CALL ? vertex_path(f, c->slow_call) : NULL;

	json_object_update_new(o, json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "verdict", span_verdict_name(c->verdict),
		"requests_before", c->before ? json_number(moments_count(&c->before->total)) : json_null(), "requests_after",
		c->after ? json_number(moments_count(&c->after->total)) : json_null(), "mean_before_ns", json_number(c->mean_before), "mean_after_ns",
		json_number(c->mean_after), "low_ns", json_number(c->low), "high_ns", json_number(c->high), "superiority", json_number(c->superiority),
		"p", json_number(c->p), "q", json_number(c->q), "errors_before", json_number(c->errors_before), "errors_after",
		json_number(c->errors_after), "tail_ns", json_number(c->tail_ns), "tail_before", json_number(c->tail_before), "tail_after",
		json_number(c->tail_after), "slow_for_kind", slow_json(&c->for_kind)));
	json_object_update_new(o, json_pack("{s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "within_ns", json_number(c->within), "mix", mix_json(f, &c->mix),
		"could_see", json_number(c->could_see), "ground", span_ground_name(c->ground), "slow_call", json_text(call), "slow_call_errors_before",
		c->ground == GROUND_CALL ? json_number(c->call_errors_before) : json_null(), "slow_call_errors_after",
		c->ground == GROUND_CALL ? json_number(c->call_errors_after) : json_null(), "gained_ns", json_number(c->gained), "lost_ns",
		json_number(c->lost), "vertices", JSON_FIRST(x, c->vertices.v, top < c->vertices.n ? top : c->vertices.n, vertex_json(f, x))));
	if (c->vertices.n && c->verdict == VERDICT_SLOWER) {
		json_object_set_new(o, "slow", exemplar_json(f, c->slow));
		json_object_set_new(o, "usual", exemplar_json(f, c->normal));
	}
	return o;
}

static json_t *deployed_json(size_t top, const struct span_deployed *d)
{
	return JSON_FIRST(one, d->list.v, top < d->list.n ? top : d->list.n, json_pack("{s:s, s:s, s:s, s:I, s:s, s:o, s:b}", "package",
		one->first->package, "version", one->first->version, "hosts", one->hosts, "n_hosts", (json_int_t)one->n_hosts, "since",
		CLOCK_RFC3339(one->first->time), "share", json_number(one->share), "slow_host", one->slow_host));
}

static json_t *saturation_json(const struct span_comparison *s)
{
	const struct span_saturation *x = &s->saturation;
	json_t *wait = x->service ? json_pack("{s:s, s:f, s:f, s:o, s:o}", "service", names_get(s->names, x->service), "before_ns", x->wait_before, "after_ns",
					      x->wait_after, "at_a_time_before", json_number(x->calls[0]), "at_a_time_after", json_number(x->calls[1])) :
				    json_null();

	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "verdict", span_saturation_name(x->verdict), "most_per_second_before",
			 json_number(x->most_before), "normal_at_a_time", json_number(span_comparison_normal(s)), "by_load", json_number(x->by_load),
			 "times_at_first", json_number(x->first), "times_at_last", json_number(x->last), "waits_for", wait);
}

static json_t *suspect_call_json(const struct suspect_call *c)
{
	if (!c->label)
		return json_null();
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:f}", "call", c->label, "reason", span_reason_name(c->reason), "each_ns", json_number(c->each),
			 "each_others_ns", json_number(c->each_others), "calls", json_number(c->calls), "calls_others", json_number(c->calls_others),
			 "gain_ns", json_number(c->gain), "beyond_ns", c->beyond, "share", c->share, "share_others", c->share_others);
}

static json_t *suspects_json(size_t top, const struct forest *f, const struct suspect_version *suspects, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n && i < top; i++) {
		const struct suspect_version *s = &suspects[i];
		const struct suspect_call *call = s->slower || s->failing ? &s->call : &s->silent;

		json_array_append_new(list, json_pack("{s:s, s:s?, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:b, s:o, s:o, s:s?, s:b, s:b, s:b, s:f, s:f, s:f, s:f, s:o}", "bucket", s->label, "only_where", s->only_where, "package",
						      names_get(f->names, s->package), "version", names_get(f->names, s->version), "mean_ns", s->mean,
						      "others_mean_ns", s->others, "requests", s->requests, "p", s->p, "q", s->q, "superiority",
						      s->superiority, "same_times", s->levelled, "own_ns",
						      s->is_service ? json_number(s->own_mean) : json_null(), "own_others_ns",
						      s->is_service ? json_number(s->own_others) : json_null(), "together", s->together,
						      "deployed", s->deployed, "slower", s->slower, "failing", s->failing, "fails", s->fails, "fails_others",
						      s->fails_others, "q_fails", s->q_fails, "q_silent", s->q_silent, "by", suspect_call_json(call)));
	}
	return list;
}

static json_t *causes_json(const struct span_causes *c)
{
	if (!c->looked_at.n)
		return json_null();
	return json_pack("{s:o, s:b, s:o, s:o, s:f, s:b, s:I, s:I}", "causes", JSON_EACH(x, c->list,
			json_pack("{s:s, s:o, s:f, s:f, s:f, s:f, s:f, s:I}", "where", x->where, "traces", span_examples_json(x->traces, x->n_traces), "requests", x->requests, "mean_ns",
				  x->mean, "expected_ns", x->expected, "share", x->share, "moved", x->moved, "kinds", (json_int_t)x->kinds)), "sampled", c->sampled, "looked_at", json_texts(c->looked_at.v, c->looked_at.n),
			 "on_one_side_only", json_texts(c->replaced.v, c->replaced.n), "explained", c->explained, "alike", c->alike, "kinds",
			 (json_int_t)c->kinds, "tried", (json_int_t)c->tried);
}

static json_t *errors_json(size_t top, const struct span_comparison *s)
{
	return JSON_FIRST(e, s->errors.list.v, top < s->errors.list.n ? top : s->errors.list.n, json_pack("{s:s, s:s, s:s, s:f, s:f, s:I}", "call",
		names_get(s->names, e->call), "attribute", names_get(s->names, e->type.key), "type", names_get(s->names, e->type.value), "before",
		e->share[0], "after", e->share[1], "requests", (json_int_t)e->requests));
}

json_t *span_change_json(const char *schema, const struct span_comparison *s, size_t top)
{
	const struct span_change *c = &s->change;
	_cleanup_free_ char *headline = span_why_headline(s), *reason = span_descent_reason(&s->descent);

	return json_pack(
		"{s:s, s:s?, s:s?, s:b, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
		"s:o, s:o, s:o, s:o, s:o, s:o, s:s?, s:s?}",
		"schema", schema, "since",
		s->changed.since ? CLOCK_RFC3339(s->changed.since) : NULL,
		"until",
		s->changed.until ? CLOCK_RFC3339(s->changed.until) : NULL,
		"since_failing", s->changed.failing, "baseline", s->before ? s->before : "", "candidate", s->after ? s->after : "", "rule",
		s->forest.rule, "verdict", span_verdict_name(span_change_gate(c)), "mean_before_ns",
		json_number(c->mean_before), "mean_after_ns", json_number(c->mean_after), "within_ns",
		json_number(c->within), "mix_ns", json_number(c->mix), "per_second_before", json_number(span_comparison_rate(s, 0)),
		"per_second_after", json_number(span_comparison_rate(s, 1)), "at_a_time_before", json_number(span_comparison_at_a_time(s, 0)),
		"at_a_time_after", json_number(span_comparison_at_a_time(s, 1)), "saturation", saturation_json(s), "all", all_json(&s->forest, c),
			"pools", JSON_EACH(x, c->pools, pool_json(&s->forest, x)), "buckets", JSON_FIRST(x, c->buckets.v, top < c->buckets.n ? top : c->buckets.n,
			bucket_json(top, &s->forest, x)),
		"services", JSON_EACH(x, c->services, json_pack("{s:s, s:f, s:f, s:f, s:f}", "service", names_get(s->names, x->service), "score",
			x->score, "expected_ns", x->expected, "got_ns", x->got, "calls", x->calls)), "attributes", causes_json(&s->causes),
			"errors",
		errors_json(top, s), "suspects",
		suspects_json(top, &s->forest, s->suspects.list.v, s->suspects.list.n), "silent",
		suspects_json(top, &s->forest, s->suspects.silent.v, s->suspects.silent.n), "deployments",
		deployed_json(top, &s->deployed), "hosts", span_descent_json(&s->descent), "read",
		span_tally_json(&s->forest), "headline", headline, "reason", reason);
}

