/* An answer as text says how much is known. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/clock.h"
#include "lib/data/test.h"
#include "machine/view-waits/why-program.h"
#include "machine/view-why/why.h"

/* An answer that names one program, which explains so much and uses one thing that it did not use before. To be freed. */
static char *print(struct explained explains, bool evidence)
{
	const struct why_text_options options = {.suspects = 1, .features = 1, .evidence = evidence};
	struct subject s = {.info = {.pid = 7, .name = (char *)"hog", .kind = ENTITY_PROCESS}};
	size_t n;
	struct deviation dev = {.feature = features_of(ENTITY_PROCESS, &n), .observed = 2, .usual = 1, .flags = FINDING_NEW | FINDING_HIGHEST};
	struct suspect suspect = {.subject = &s, .score = 1, .probability = 0.6, .share = NAN, .explains = explains};
	struct answer a = {.slow = true, .confidence = 0.9999, .summary = (char *)"slow", .ranking = {.method = "blame", .added = 2, .unexplained = 0.1}};
	char *text = NULL;
	FILE *f = open_memstream(&text, &n);

	assert_int_equal(VEC_PUSH(suspect.features, dev), 0);
	assert_int_equal(VEC_PUSH(a.ranking.suspects, suspect), 0);
	why_text(&a, &options, f);
	fclose(f);
	ranking_free(&a.ranking);
	return text;
}

static void says(struct explained explains, bool evidence, const char *what, bool expected)
{
	char *text = print(explains, evidence);

	if (!strstr(text, what) == expected)
		fail_msg("'%s' is %s in: %s", what, expected ? "not" : "there", text);
	free(text);
}

static const struct explained large = {.part = 0.9, .share = 0.9, .low = 0.4, .high = 1}, vague = {.part = 0.3, .share = 0.8, .low = 0.1, .high = 1};

static void a_wide_interval_is_said_to_be_unknown(void **state)
{
	says(large, false, "explains 90 % (40-100 %) of the additional waiting", true);
	says(large, false, "per second more than normally; 10 % is unexplained.", true);
	says(vague, false, "how much of the additional waiting of other programs it explains is not known", true);
	says(vague, false, "80 %", false);
	says(vague, false, "per second more than normally.", true);
}

static void one_number_says_how_sure_it_is(void **state)
{
	says(large, false, "Confidence: 99 %.", true);
	says(large, false, "probability", false);
	says(large, true, "probability 60 %", true);
}

static void of_a_program_that_is_new_nothing_is_called_the_highest(void **state)
{
	says(large, false, "was not running before", true);
	says(large, false, "highest in the window", false);
}

static void says_of_short_lived(uint32_t members, const char *expected)
{
	struct subject s = {.info = {.name = (char *)"cc1", .kind = ENTITY_SHORT_LIVED}};
	struct suspect suspect = {.subject = &s, .score = 1, .share = NAN, .members = members, .explains = {.share = NAN}};
	struct answer a = {.slow = true, .confidence = NAN, .summary = (char *)"slow", .ranking = {.method = "blame", .unexplained = NAN}};
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	assert_int_equal(VEC_PUSH(a.ranking.suspects, suspect), 0);
	why_text(&a, &(struct why_text_options){.suspects = 1}, f);
	fclose(f);
	if (!strstr(text, expected))
		fail_msg("'%s' is not in: %s", expected, text);
	free(text);
	ranking_free(&a.ranking);
}

static void short_lived_processes_that_still_run_are_not_counted(void **state)
{
	says_of_short_lived(0, "cc1, short-lived processes ");
	says_of_short_lived(1, "cc1, 1 short-lived process ");
	says_of_short_lived(7, "cc1, 7 short-lived processes ");
}

/* A client that polls for answers which come late is not said to wait for nothing. */
static void late_answers_are_what_a_program_waits_for(void **state)
{
	struct program_waits p = {.server = (char *)"nginx", .server_pid = 812, .answer_took = 5700 * NS_PER_MS, .answer_normally = 7 * NS_PER_MS}, none = {};
	struct str late = {}, nothing = {};

	assert_true(why_program_summary(&p, &late));
	assert_string_equal(late.data, "The answers of nginx (812) take up to 5.7 s, normally 0.007 s at most.");
	assert_false(why_program_summary(&none, &nothing));
	str_free(&late);
	str_free(&nothing);
}

/* A program that has just begun waits for something, whatever is normal. */
static void what_is_not_known_to_be_normal_is_said(void **state)
{
	size_t n;
	struct program_wait wait = {.feature = &features_of(ENTITY_PROCESS, &n)[FEATURE_WAIT_NETWORK], .words = "network sockets", .now = 9.7e8, .p50 = NAN, .p90 = NAN};
	struct program_waits p = {};
	struct str words = {};

	assert_int_equal(VEC_PUSH(p.waits, wait), 0);
	assert_false(why_program_summary(&p, &words));
	assert_string_equal(words.data, "It waits for network sockets, 0.97 s per second: too little is recorded of it to say whether that is normal.");
	str_free(&words);
	p.waits.v[0].p90 = 9.6e8;
	p.sent_again = 0.12;
	assert_true(why_program_summary(&p, &words));
	assert_string_equal(words.data, "The network loses packets: 12 % of the TCP segments that the machine sent in that time were sent again.");
	str_free(&words);
	p.sent_again = 0.01;
	assert_false(why_program_summary(&p, &words));
	assert_string_equal(words.data, "It waits for nothing that it does not normally wait for.");
	str_free(&words);
	VEC_FREE(p.waits);
}

static void says_of_call(struct program_waits *p, int64_t ran, const char *expected)
{
	struct str words = {};

	p->ran = ran;
	assert_true(why_program_summary(p, &words));
	assert_string_equal(words.data, expected);
	str_free(&words);
}

/* A server normally waits for the network, for its next request: of one call it is said nevertheless. */
static void of_a_call_is_said_where_its_time_went(void **state)
{
	struct blame_cell unknown = {.culprit = BY_UNKNOWN, .wait = FOR_NETWORK, .via = NOBODY, .ns = 7 * NS_PER_MS},
			  remote = {.culprit = BY_REMOTE, .wait = FOR_NETWORK, .via = NOBODY, .ns = 5 * NS_PER_MS};
	struct held_in own = {.cell = HELD_IN_CALL, .n = 1, .functions = {(char *)"getaddrinfo"}};
	struct program_waits p = {.past = true, .call = true, .by_process = {.to = 10 * NS_PER_MS}};
	struct str words = {};

	assert_int_equal(VEC_PUSH(p.by_process.cells, unknown), 0);
	assert_int_equal(VEC_PUSH(p.by_process.cells, remote), 0);
	assert_int_equal(VEC_PUSH(p.held_in, own), 0);
	says_of_call(&p, 1 * NS_PER_MS, "In these 10.0 ms it waited 5.00 ms for the network: another machine; it waited itself, in getaddrinfo.");
	says_of_call(&p, 12 * NS_PER_MS, "In these 10.0 ms it computed itself for 12.0 ms, in getaddrinfo.");
	p.by_process.cells.v[1].ns = 1 * NS_PER_MS;
	says_of_call(&p, 1 * NS_PER_MS, "In these 10.0 ms it waited 7.00 ms for the network: unknown; it waited itself, in getaddrinfo.");
	p.call = false;
	assert_false(why_program_summary(&p, &words));
	str_free(&words);
	p.call = true;
	p.by_process.cells.n = 0;
	for (int i = 0; i < 3; i++) /* many keep it, or whom it waits for, from a CPU: the machine's answer says who they are together */
		assert_int_equal(VEC_PUSH(p.by_process.cells, ((struct blame_cell){.culprit = BY_REMOTE, .wait = i ? FOR_CPU : FOR_NETWORK, .root = i ? 0 : FOR_CPU,
										   .via = NOBODY, .ns = 2 * NS_PER_MS})), 0);
	assert_false(why_program_summary(&p, &words));
	str_free(&words);
	p.by_process.cells.v[0].wait = FOR_LOCK; /* of a lock its holder is the reason, though three others kept that from a CPU */
	p.by_process.cells.v[1] = p.by_process.cells.v[2] = p.by_process.cells.v[0];
	assert_true(why_program_summary(&p, &words));
	str_free(&words);
	p.by_process.cells.v[0].wait = FOR_NETWORK;
	p.by_process.cells.v[0].ns = 7 * NS_PER_MS;
	assert_true(why_program_summary(&p, &words));
	str_free(&words);
	VEC_FREE(p.by_process.cells);
	VEC_FREE(p.held_in);
}

RUN_TESTS(cmocka_unit_test(of_a_call_is_said_where_its_time_went), cmocka_unit_test(what_is_not_known_to_be_normal_is_said), cmocka_unit_test(late_answers_are_what_a_program_waits_for),
		cmocka_unit_test(a_wide_interval_is_said_to_be_unknown), cmocka_unit_test(one_number_says_how_sure_it_is),
	  cmocka_unit_test(of_a_program_that_is_new_nothing_is_called_the_highest), cmocka_unit_test(short_lived_processes_that_still_run_are_not_counted))
