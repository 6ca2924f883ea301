#include "lib/data/test.h"
#include "lib/view/json.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "machine/view-why/why.h"

static json_t *print(const struct answer *a)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	json_t *root;

	assert_int_equal(why_json(a, f), 0);
	fclose(f);
	root = json_loads(text, 0, NULL);
	free(text);
	assert_non_null(root);
	return root;
}

static void has_keys(json_t *object, const char *const *keys)
{
	for (; *keys; keys++)
		if (!json_object_get(object, *keys))
			fail_msg("the contract's key '%s' is missing", *keys);
}

/* The contract: these keys stay. */
static void every_key_of_the_contract_is_there(void **state)
{
	static const char *const top[] = {"schema",	"at",	   "window", "slow",	 "confidence", "bottleneck",
					  "cause",	"summary", "culprits", "victims", "added_waiting", "unexplained", NULL};
	static const char *const culprit[] = {"rank", "role",	 "kind",  "pid",   "start_time", "name", "exe",
					      "cmdline", "unit", "score", "share", "features",   "evidence", "explains", "factors", "matters", NULL};
	static const char *const feature[] = {"name",	   "resource",	     "unit",  "value", "usual", "spread",
					      "deviation", "rank_in_window", "shape", "since", "new", "spark", NULL};
	size_t n;
	struct subject s = {.info = {.pid = 7, .name = (char *)"x", .kind = ENTITY_PROCESS}};
	struct deviation dev = {.feature = features_of(ENTITY_PROCESS, &n), .observed = 2, .usual = NAN, .spread = NAN,
				.deviation = NAN, .since = 1795185127000000000ll};
	struct suspect suspect = {.subject = &s, .score = 1, .share = NAN};
	struct answer a = {.at = 1795185127000000000ll, .slow = true, .confidence = NAN, .bottleneck = BOTTLENECK_CPU,
			   .summary = (char *)"slow", .ranking = {.method = "blame"}};
	json_t *root, *c;

	for (int i = 0; i < BOTTLENECK_COUNT; i++)
		a.pressure.now[i] = a.pressure.usual[i] = NAN;
	assert_int_equal(VEC_PUSH(suspect.features, dev), 0);
	assert_int_equal(VEC_PUSH(a.ranking.suspects, suspect), 0);
	root = print(&a);
	has_keys(root, top);
	assert_string_equal(json_string_value(json_object_get(root, "schema")), "whyslow.why/1");
	assert_string_equal(json_string_value(json_object_get(root, "at")), "2026-11-20T14:32:07.000Z");
	assert_true(json_is_null(json_object_get(root, "confidence")));
	c = json_array_get(json_object_get(root, "culprits"), 0);
	has_keys(c, culprit);
	assert_true(json_is_null(json_object_get(c, "share")));
	has_keys(json_array_get(json_object_get(c, "features"), 0), feature);
	json_decref(root);
	ranking_free(&a.ranking);
}

/* A name that is not UTF-8 must not end all of the answer. */
static void a_text_that_is_no_utf8(void **state)
{
	char broken[] = "x\377.lock", *const several[] = {broken};
	json_t *one = json_text(broken), *list = json_texts(several, 1), *none = json_text(NULL);

	assert_string_equal(json_string_value(one), "x?.lock");
	assert_string_equal(json_string_value(json_array_get(list, 0)), "x?.lock");
	assert_true(json_is_null(none));
	json_decref(one);
	json_decref(list);
	json_decref(none);
}

RUN_TESTS(cmocka_unit_test(a_text_that_is_no_utf8), cmocka_unit_test(every_key_of_the_contract_is_there))
