/* Who may ask, and who sees no others: by group, mode and the way /proc is mounted. */
#include "machine/service/access.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/test.h"

/* Debian's accounts: `nobody` is in nogroup (65534), `man` (6) in group man (12). */
enum { NOBODY = 65534, MAN = 6 };

struct machine {
	char dir[40], mounts[60];
	struct config config;
};

static void mount_proc(struct machine *m, const char *options)
{
	FILE *f = fopen(m->mounts, "we");

	fprintf(f, "sysfs /sys sysfs rw 0 0\nproc /proc proc rw,hidepid=invisible 0 0\nproc /proc proc %s 0 0\nproc /jail/proc proc rw,hidepid=invisible 0 0\n", options);
	assert_int_equal(fclose(f), 0);
}

static int set_up(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	assert_int_equal(config_defaults(&m->config), 0);
	strcpy(m->dir, "/tmp/whyslow-access-XXXXXX");
	assert_non_null(mkdtemp(m->dir));
	snprintf(m->mounts, sizeof(m->mounts), "%s/mounts", m->dir);
	free(m->config.store_run_dir);
	m->config.store_run_dir = strdup(m->dir);
	mount_proc(m, "rw,relatime");
	*state = m;
	return 0;
}

static int tear_down(void **state)
{
	struct machine *m = *state;
	char path[60];

	unlink(m->mounts);
	snprintf(path, sizeof(path), "%s/socket", m->dir);
	unlink(path);
	rmdir(m->dir);
	config_free(&m->config);
	free(m);
	return 0;
}

static void set_group(struct machine *m, const char *name, uint64_t mode)
{
	free(m->config.socket_group);
	m->config.socket_group = strdup(name);
	m->config.socket_mode = mode;
}

static struct viewer view(struct machine *m, uint32_t uid)
{
	struct viewer v;

	assert_int_equal(access_viewer(&m->config, m->mounts, uid, &v), 0);
	return v;
}

static void by_default_all_may_ask_and_none_sees_all(void **state)
{
	struct viewer v = view(*state, NOBODY);
	struct machine *m = *state;

	assert_false(viewer_sees_all(&v));
	assert_false(v.hides_others);
	assert_true(access_is_allowed(&m->config, &v));
}

static void the_group_sees_all_and_may_be_alone(void **state)
{
	struct machine *m = *state;
	struct viewer member, other;

	set_group(m, "man", 0660);
	member = view(m, MAN);
	other = view(m, NOBODY);
	assert_true(viewer_sees_all(&member));
	assert_true(access_is_allowed(&m->config, &member));
	assert_false(viewer_sees_all(&other));
	assert_false(access_is_allowed(&m->config, &other));
	assert_true(access_is_allowed(&m->config, &(struct viewer){.uid = 0}));
	m->config.socket_mode = 0600;
	assert_false(access_is_allowed(&m->config, &member));
}

static void hidepid_is_honored(void **state)
{
	static const struct {
		const char *options;
		bool nobody, man;
	} cases[] = {
		{"rw,hidepid=invisible", true, true}, {"rw,hidepid=2,gid=12", true, false},   {"rw,gid=12,hidepid=noaccess", true, false},
		{"rw,hidepid=ptraceable", true, true}, {"rw,hidepid=0", false, false}, {"rw,hidepid=off", false, false},
	};
	struct machine *m = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		mount_proc(m, cases[i].options);
		assert_int_equal(view(m, NOBODY).hides_others, cases[i].nobody);
		assert_int_equal(view(m, MAN).hides_others, cases[i].man);
	}
}

static void what_cannot_be_found_out_shows_least(void **state)
{
	struct machine *m = *state;
	struct viewer v = {};

	assert_int_equal(access_viewer(&m->config, "/nonexistent/mounts", NOBODY, &v), -ENOENT);
	assert_true(v.hides_others);
	set_group(m, "no-such-group-here", 0660);
	assert_int_equal(access_viewer(&m->config, m->mounts, NOBODY, &v), -ENOENT);
	assert_false(viewer_sees_all(&v));
	assert_false(access_is_allowed(&m->config, &v));
}

static void the_socket_gets_its_mode(void **state)
{
	struct machine *m = *state;
	char path[60];
	struct stat st;

	snprintf(path, sizeof(path), "%s/socket", m->dir);
	assert_int_equal(fclose(fopen(path, "we")), 0);
	set_group(m, "none", 0644);
	assert_int_equal(access_apply(&m->config, m->dir), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	set_group(m, "no-such-group-here", 0666);
	assert_int_equal(access_apply(&m->config, m->dir), -ENOENT);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	if (geteuid() != 0)
		return;
	set_group(m, "man", 0660);
	assert_int_equal(access_apply(&m->config, m->dir), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
	assert_int_equal(st.st_gid, 12);
}

#define WITH_MACHINE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

RUN_TESTS(WITH_MACHINE(by_default_all_may_ask_and_none_sees_all), WITH_MACHINE(the_group_sees_all_and_may_be_alone),
	  WITH_MACHINE(hidepid_is_honored), WITH_MACHINE(what_cannot_be_found_out_shows_least), WITH_MACHINE(the_socket_gets_its_mode))
