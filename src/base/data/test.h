/* What every cmocka test includes first. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define RUN_TESTS(...)                                                               \
	int main(void)                                                               \
	{                                                                            \
		const struct CMUnitTest tests[] = {__VA_ARGS__};                     \
		return cmocka_run_group_tests(tests, NULL, NULL);                    \
	}
