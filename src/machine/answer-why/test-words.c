/* Advice of an answer about a program that hangs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/test.h"
#include "machine/answer-why/words.h"

/* psql waits for its backend, this one for another backend's transaction, and that for its client; `ends`: the SQL that ends that session. */
static char *advice(const char *ends)
{
	struct chain_link links[] = {
		{.pid = 11, .comm = "psql", .kind = CHAIN_LOCAL_SOCKET, .words = (char *)"waits for an answer over a local socket"},
		{.pid = 12, .comm = "postgres", .kind = CHAIN_DATABASE, .words = (char *)"waits for a lock inside the database shop", .role = "at the other end"},
		{.pid = 13, .comm = "postgres", .kind = CHAIN_DATABASE, .words = (char *)"has a transaction open", .role = "which blocks it"},
		{.pid = 14, .comm = "python3", .kind = CHAIN_SLEEPS, .words = (char *)"has not ended its transaction", .role = "its client"}};
	struct subject victim = {.info = {.pid = 11}, .program = (char *)"psql"}, culprit = {.info = {.pid = 14}, .program = (char *)"python3"};
	struct hang h = {.victim = &victim, .culprit = &culprit, .chain = {.links = {.v = links, .n = 4}}};
	struct suspect first = {.subject = &culprit, .hang = &h};
	struct answer a = {.at = 10 * 1000000000ll, .slow = true, .culprit_is_named = true, .told = &h, .ranking = {.suspects = {.v = &first, .n = 1}}};
	struct facts facts = {};

	snprintf(links[2].ends, sizeof(links[2].ends), "%s", ends);
	assert_int_equal(words_of_answer(&a, &facts, NULL), 0);
	free(a.summary);
	return a.next;
}

static void an_open_transaction_is_ended_in_sql(void **state)
{
	char *sql = advice("select pg_terminate_backend(7);"), *unknown = advice("");

	assert_string_equal(sql, "Commit or roll back in python3 (pid 14). Or end that session, and lose what it has not committed: select pg_terminate_backend(7);");
	assert_string_equal(unknown, "'whyslow inspect 14' shows in which function it is; 'whyslow why 11' shows the waits of the one that hangs.");
	free(sql);
	free(unknown);
}

RUN_TESTS(cmocka_unit_test(an_open_transaction_is_ended_in_sql))
