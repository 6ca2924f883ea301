/* The policy, and what is left of a process and of a recording for who does not see all. */
#include "machine/model/visibility.h"

#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/test.h"
#include "machine/model/dataset.h"

static const struct viewer root = {}, user = {.uid = 1000}, group = {.uid = 1000, .in_group = true}, hidden = {.uid = 1000, .hides_others = true};

static void everybody_sees_their_own_and_root_sees_all(void **state)
{
	for (enum datum d = 0; d < DATUM_COUNT; d++) {
		assert_int_equal(visibility(&root, d, 1000), SHOWN_WHOLE);
		assert_int_equal(visibility(&group, d, 1001), SHOWN_WHOLE);
		assert_int_equal(visibility(&user, d, 1000), d == DATUM_CAPTURES ? SHOWN_NOT : SHOWN_WHOLE);
		assert_int_equal(visibility(&hidden, d, 1000), visibility(&user, d, 1000));
		assert_true(visibility(&hidden, d, 1001) >= visibility(&user, d, 1001));
	}
	assert_int_equal(visibility(&user, DATUM_COMMAND_LINE, 0), SHOWN_NOT);
	assert_int_equal(visibility(&user, DATUM_EXECUTABLE, 0), SHOWN_BASE_NAME);
	assert_int_equal(visibility(&hidden, DATUM_PROCESS, 0), SHOWN_NOT);
}

static struct entity_info process(uint32_t id, uint32_t uid, const char *exe, const char *name, const char *cmdline)
{
	return (struct entity_info){.id = id, .kind = ENTITY_PROCESS, .pid = id, .start = 100 * id, .uid = uid, .name = strdup(name), .exe = strdup(exe),
				    .cmdline = strdup(cmdline), .unit = strdup("/user.slice/private/app.scope"), .container = strdup("alice/secret")};
}

static void paths_of_others_end_in_their_base_name(void **state)
{
	struct entity_info info = process(1, 1001, "/home/alice/private-project/tool", "tool", "/home/alice/private-project/tool --for bob");

	entity_hide(&info, &group);
	assert_string_equal(info.exe, "/home/alice/private-project/tool");
	entity_hide(&info, &user);
	assert_string_equal(info.exe, "tool");
	assert_string_equal(info.unit, "app.scope");
	assert_string_equal(info.container, "secret");
	assert_null(info.cmdline);
	entity_info_free(&info);
}

static void arguments_are_hidden_and_the_name_stays(void **state)
{
	struct entity_info info = process(1, 0, "/usr/bin/redis-check-rdb", "redis-server", "/srv/alice/redis-server --requirepass letmein");
	_cleanup_free_ char *before = entity_label(&info), *after = NULL;

	entity_hide(&info, &user);
	assert_string_equal(info.cmdline, "redis-server");
	after = entity_label(&info);
	assert_string_equal(before, after);
	entity_hide(&info, &user);
	assert_string_equal(info.cmdline, "redis-server");
	entity_info_free(&info);
}

static void ones_own_and_the_machines_stay(void **state)
{
	struct entity_info own = process(1, 1000, "/home/me/tool", "tool", "tool -x"), disk = {.id = 2, .kind = ENTITY_DISK, .name = strdup("sda")};

	entity_hide(&own, &hidden);
	assert_string_equal(own.exe, "/home/me/tool");
	assert_string_equal(own.cmdline, "tool -x");
	assert_true(entity_is_visible(&own, &hidden));
	assert_true(entity_is_visible(&disk, &hidden));
	entity_info_free(&own);
	entity_info_free(&disk);
}

static void define(struct dataset *d, uint32_t id, uint32_t uid)
{
	struct entity_info info = process(id, uid, "/opt/x/program", "program", "program");

	assert_non_null(dataset_define(d, &info));
	entity_info_free(&info);
}

/* Who is taken out may be defined again (a board that follows), and is taken out again. */
static void with_hidepid_others_are_not_there(void **state)
{
	struct dataset d = {};

	assert_int_equal(dataset_add_tick(&d, 1, 1, 1), 0);
	for (int round = 0; round < 2; round++) {
		define(&d, 1, 1000);
		define(&d, 2, 1001);
		define(&d, 3, 0);
		assert_int_equal(d.subjects.n, 3);
		assert_int_equal(dataset_hide(&d, &hidden), 0);
		assert_int_equal(d.subjects.n, 1);
		assert_int_equal(d.subjects.v[0]->info.pid, 1);
		assert_null(dataset_subject(&d, 2));
	}
	dataset_free(&d);
}

static void others_are_there_by_name(void **state)
{
	struct dataset d = {};

	assert_int_equal(dataset_add_tick(&d, 1, 1, 1), 0);
	define(&d, 2, 1001);
	assert_int_equal(dataset_hide(&d, &user), 0);
	assert_string_equal(dataset_subject(&d, 2)->info.exe, "program");
	assert_int_equal(dataset_hide(&d, &user), 0);
	assert_string_equal(dataset_subject(&d, 2)->info.exe, "program");
	dataset_free(&d);
}

RUN_TESTS(cmocka_unit_test(everybody_sees_their_own_and_root_sees_all), cmocka_unit_test(paths_of_others_end_in_their_base_name),
	  cmocka_unit_test(arguments_are_hidden_and_the_name_stays), cmocka_unit_test(ones_own_and_the_machines_stay),
	  cmocka_unit_test(with_hidepid_others_are_not_there), cmocka_unit_test(others_are_there_by_name))
