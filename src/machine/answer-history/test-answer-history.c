/* Whose word moves whose confidence. */
#include "machine/answer-why/test-stored.h"

#include "machine/answer-history/answer-history.h"

static void answer_and_judge(struct store *store, uint32_t uid, enum feedback feedback)
{
	static const char answer[] =
		"{\"at\": 1, \"slow\": true, \"summary\": \"s\", \"bottleneck\": \"cpu\", \"fingerprint\": {}, \"confidence\": 0.5}";
	int64_t id;

	assert_int_equal(store_rule_incident(store, START, "cpu: up to 97 %", &id), 0);
	assert_int_equal(store_tell(store, id, 0, answer), 0);
	assert_int_equal(store_tell(store, id, 1000, answer), 0);
	assert_int_equal(store_mark_feedback(store, id, uid, feedback), 0);
}

static double confidence_of_user(struct store *store, uint32_t uid)
{
	struct viewer viewer = {.uid = uid};
	struct answer a = {.confidence = 0.5};
	struct mark *marks;
	size_t n;

	assert_int_equal(store_marks(store, INT64_MIN, INT64_MAX, &marks, &n), 0);
	saved_answer_calibrate(store, marks, n, &viewer, &a);
	marks_free(marks, n);
	return a.confidence;
}

static void feedback_calibrates_who_gave_it(void **state)
{
	struct stored s = {};

	stored_begin(&s);
	for (int i = 0; i < 5; i++)
		answer_and_judge(s.store, 1000, FEEDBACK_WRONG);
	assert_true(confidence_of_user(s.store, 0) == 0.5);
	assert_true(confidence_of_user(s.store, 1001) == 0.5);
	assert_true(confidence_of_user(s.store, 1000) < 0.4);
	answer_and_judge(s.store, 0, FEEDBACK_RIGHT);
	assert_true(confidence_of_user(s.store, 0) > 0.5);
	stored_end(&s);
}

/* A question a moment after a press is about the incident of that press, which is not an earlier one like it. */
static void an_incident_is_not_similar_to_itself(void **state)
{
	static const char saved[] = "{\"at\": 1, \"slow\": true, \"summary\": \"s\", \"bottleneck\": \"cpu\", \"fingerprint\": {\"short:cpu\": 1}}";
	struct viewer viewer = {};
	struct stored s = {};
	struct mark *marks;
	int64_t id;
	size_t n;

	stored_begin(&s);
	assert_int_equal(store_rule_incident(s.store, START, "cpu: up to 97 %", &id), 0);
	assert_int_equal(store_tell(s.store, id, 0, saved), 0);
	assert_int_equal(store_marks(s.store, INT64_MIN, INT64_MAX, &marks, &n), 0);
	for (int again = 0; again < 2; again++) {
		struct answer a = {.slow = true, .bottleneck = BOTTLENECK_CPU, .summary = (char *)"s", .at = START + 10 * NS_PER_SEC,
				   .slow_since = START + (again ? 5 : -5) * NS_PER_SEC};

		assert_int_equal(saved_answer_find_similar(s.store, marks, n, 0, &viewer, &a), 0);
		assert_int_equal(a.similar.n, again);
		for (size_t i = 0; i < a.similar.n; i++)
			earlier_free(&a.similar.v[i]);
		VEC_FREE(a.similar);
	}
	marks_free(marks, n);
	stored_end(&s);
}

static void what_is_searched_is_what_is_shown(void **state)
{
	static const char answer[] = "{\"at\": 1, \"slow\": true, \"summary\": \"Backups read\", \"cause\": \"disk-queue\", \"culprit\": \"rsync\","
				     " \"bottleneck\": \"disk\", \"fingerprint\": {\"secret-tool\": 1}}";

	assert_true(saved_answer_mentions(answer, "backups"));
	assert_true(saved_answer_mentions(answer, "disk-queue"));
	assert_true(saved_answer_mentions(answer, "rsync"));
	assert_false(saved_answer_mentions(answer, "secret-tool"));
	assert_false(saved_answer_mentions(answer, "summary"));
	assert_false(saved_answer_mentions("torn", "torn"));
}

RUN_TESTS(cmocka_unit_test(feedback_calibrates_who_gave_it), cmocka_unit_test(what_is_searched_is_what_is_shown),
	  cmocka_unit_test(an_incident_is_not_similar_to_itself))
