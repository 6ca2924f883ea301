/* Every cmocka test includes this first. */
#pragma once

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#pragma GCC diagnostic ignored "-Wunused-parameter" /* few tests use the state that cmocka passes to all of them */

/* A test that fails leaves its children behind, and who runs the tests waits until the last one has closed the output. */
__attribute__((destructor)) static void test_end_children(void)
{
	FILE *children = fopen("/proc/thread-self/children", "re");
	int pid;

	while (children && fscanf(children, "%d", &pid) == 1)
		(void)kill(pid, SIGKILL);
	if (children)
		(void)fclose(children);
}

#define RUN_TESTS(...)                                                               \
	int main(void)                                                               \
	{                                                                            \
		const struct CMUnitTest tests[] = {__VA_ARGS__};                     \
		return cmocka_run_group_tests(tests, NULL, NULL);                    \
	}
