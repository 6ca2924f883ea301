/* What `whyslow waits` says of many who waited for one: one line. */
#include "machine/threads/test-story.h"

#include <stdlib.h>
#include <string.h>

#include "machine/view-waits/waits.h"

#define HOLDER	9000
#define PROCESS	50
#define VICTIMS 40
#define LOCK	0x1000

/* Threads of a process wait for a lock that HOLDER has, which runs all the time on another CPU. */
static void begin(struct story *s, uint32_t victims)
{
	story_begin(s, 2);
	cast_thread(s, HOLDER, PROCESS, "holder", 0);
	leave(s, 1, 1, 0, HOLDER, 0, 0, 0);
	for (uint32_t i = 0; i < victims; i++) {
		cast_thread(s, 100 + i, PROCESS, "victim", 0);
		leave(s, 10 + 20 * i, 0, 0, 100 + i, 0, 0, 0);
		wait_lock(s, 20 + 20 * i, 0, 100 + i, 0, LOCK, HOLDER);
	}
	for (uint32_t i = 0; i < victims; i++) {
		wake(s, 100000 + 20 * i, 1, HOLDER, 100 + i, 0);
		leave(s, 100001 + 20 * i, 0, 0, 100 + i, 0, 0, 0);
		leave(s, 100010 + 20 * i, 0, 100 + i, 0, TASK_STATE_SLEEPS, 0, CALL_POLL);
	}
	tell(s, 110000);
}

static char *text_of(uint32_t victims)
{
	const struct waits_options o = {.top = 8};
	struct blame_matrix m = {};
	struct story s;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	begin(&s, victims);
	assert_int_equal(blame_build(&s.line, 1, s.line.end, NULL, 0, LEVEL_THREAD, &m), 0);
	waits_text(&s.line, &m, &o, f);
	fclose(f);
	blame_matrix_free(&m);
	story_end(&s);
	return text;
}

static void one_holder_and_all_its_victims_are_one_line(void **state)
{
	_cleanup_free_ char *text = text_of(VICTIMS);

	(void)state;
	assert_non_null(strstr(text, "\n40 threads waited "));
	assert_non_null(strstr(text, "for a lock because of holder (50) thread 9000: victim (50)"));
	assert_non_null(strstr(text, ", and 37 more\n"));
	assert_null(strstr(text, "others waited less"));
}

static void few_victims_are_told_one_by_one(void **state)
{
	_cleanup_free_ char *text = text_of(3);

	(void)state;
	assert_null(strstr(text, "threads waited"));
	assert_non_null(strstr(text, "victim (50) thread 100 waited "));
}

RUN_TESTS(cmocka_unit_test(one_holder_and_all_its_victims_are_one_line), cmocka_unit_test(few_victims_are_told_one_by_one))
