/* Kernel messages, software, starts. */
#include "machine/sample/test-tree.h"

static void append(const struct tree *t, const char *path, const char *text)
{
	char name[PATH_MAX];
	FILE *f;

	snprintf(name, sizeof(name), "%s/%s", t->root, path);
	f = fopen(name, "a");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void check_note(const struct tree *t, size_t i, enum note_kind kind, const char *text)
{
	assert_true(i < t->tick.notes.n);
	assert_int_equal(t->tick.notes.v[i].kind, kind);
	assert_string_equal(t->tick.notes.v[i].text, text);
}

static void messages_that_matter_are_noted(void **state)
{
	struct tree t = tree_new("laptop");

	tree_open_source(&t, source_named("kmsg"));
	tree_sample(&t);
	assert_int_equal(t.tick.notes.n, 0); /* what was said before the recording */
	append(&t, "dev/kmsg",
	       "6,800,9000000,-;usb 1-2: new high-speed USB device number 5\n SUBSYSTEM=usb\n"
	       "3,801,9000001,-;Out of memory: Killed process 4215 (guilty) total-vm:812340kB, "
	       "anon-rss:800112kB, "
	       "file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1604kB oom_score_adj:0\n"
	       "3,802,9000002,-;I/O error, dev sda, sector 123456 op 0x0:(READ) flags 0x80700\n DEVICE=b8:0\n"
	       "30,803,9000003,-;systemd[1]: a program says I/O error\n"
	       "3,804,9000004,c;INFO: task cp:77 blocked for more than 120 seconds.\n");
	tree_sample(&t);
	assert_int_equal(t.tick.notes.n, 3);
	check_note(&t, 0, NOTE_KERNEL,
		   "Out of memory: Killed process 4215 (guilty) total-vm:812340kB, anon-rss:800112kB, "
		   "file-rss:0kB, "
		   "shmem-rss:0kB");
	check_note(&t, 1, NOTE_KERNEL, "I/O error, dev sda, sector 123456 op 0x0:(READ) flags 0x80700");
	check_note(&t, 2, NOTE_KERNEL, "INFO: task cp:77 blocked for more than 120 seconds.");
	tree_sample(&t);
	assert_int_equal(t.tick.notes.n, 0);
	tree_free(&t);
}

static void a_flood_is_summed_up(void **state)
{
	struct tree t = tree_new("laptop");

	tree_open_source(&t, source_named("kmsg"));
	for (int i = 0; i < 40; i++)
		append(&t, "dev/kmsg", "3,1,2,-;Buffer I/O error on dev sda1, logical block 1\n");
	tree_sample(&t);
	assert_int_equal(t.tick.notes.n, 11);
	check_note(&t, 10, NOTE_KERNEL, "30 more kernel messages of this kind");
	tree_free(&t);
}

static void changes_of_software_are_noted_when_in_effect(void **state)
{
	struct tree t = tree_new("laptop");
	int64_t wall;

	tree_open_source(&t, source_named("packages"));
	tree_sample(&t);
	assert_int_equal(t.tick.notes.n, 0);
	append(&t, "var/log/dpkg.log",
	       "2026-11-20 10:33:44 startup archives unpack\n"
	       "2026-11-20 10:33:44 upgrade libssl3:amd64 3.0.15-1 3.0.17-1\n"
	       "2026-11-20 10:33:44 status half-configured libssl3:amd64 3.0.15-1\n"
	       "2026-11-20 10:33:45 install atop:amd64 <none> 2.8.1-1\n"
	       "2026-11-20 10:33:46 remove nano:amd64 7.2-1 <none>\n"
	       "2026-11-20 10:33:47 status installed man-db:amd64 2.11.2-2\n"
	       "2026-11-20 10:33:49 status installed libssl3:amd64 3.0.17-1\n");
	tree_sample(&t);
	assert_int_equal(t.tick.notes.n, 2);
	check_note(&t, 0, NOTE_PACKAGE, "removed nano:amd64 7.2-1");
	check_note(&t, 1, NOTE_PACKAGE, "upgraded libssl3:amd64 from 3.0.15-1 to 3.0.17-1");
	assert_int_equal(clock_parse_time("2026-11-20 10:33:49", 0, &wall), 0);
	assert_int_equal(t.tick.notes.v[1].wall, wall);
	append(&t, "var/log/dpkg.log", "2026-11-20 10:34:00 status installed atop:amd64 2.8.1-1");
	tree_sample(&t);
	assert_int_equal(t.tick.notes.n, 0); /* the line is not whole */
	append(&t, "var/log/dpkg.log", "\n");
	tree_sample(&t);
	check_note(&t, 0, NOTE_PACKAGE, "installed atop:amd64 2.8.1-1");
	tree_free(&t);
}

static void a_rotated_log_is_followed(void **state)
{
	struct tree t = tree_new("laptop");
	char from[PATH_MAX], to[PATH_MAX];

	tree_open_source(&t, source_named("packages"));
	tree_sample(&t);
	append(&t, "var/log/dpkg.log", "2026-11-20 10:33:45 install atop:amd64 <none> 2.8.1-1\n");
	snprintf(from, sizeof(from), "%s/var/log/dpkg.log", t.root);
	snprintf(to, sizeof(to), "%s/var/log/dpkg.log.1", t.root);
	assert_int_equal(rename(from, to), 0);
	tree_write(&t, "var/log/dpkg.log", "2026-11-20 10:33:49 status installed atop:amd64 2.8.1-1\n");
	for (int i = 0; i < 3 && !t.tick.notes.n; i++)
		tree_sample(&t);
	check_note(&t, 0, NOTE_PACKAGE, "installed atop:amd64 2.8.1-1");
	tree_free(&t);
}

static void a_fresh_start_is_noted_once(void **state)
{
	struct tree t = tree_new("laptop");

	tree_open_source(&t, source_named("boot"));
	tree_sample(&t);
	check_note(&t, 0, NOTE_BOOT, "started, kernel 6.1.0-30-amd64");
	assert_int_equal(t.tick.notes.v[0].wall, t.tick.wall - 95 * NS_PER_SEC);
	tree_sample(&t);
	assert_int_equal(t.tick.notes.n, 0);
	tree_free(&t);
}

static void an_old_start_is_not(void **state)
{
	struct tree t = tree_new("laptop");

	tree_write(&t, "proc/uptime", "600.00 1.0\n");
	tree_open_source(&t, source_named("boot"));
	tree_sample(&t);
	assert_int_equal(t.tick.notes.n, 0);
	tree_free(&t);
}

RUN_TESTS(cmocka_unit_test(messages_that_matter_are_noted), cmocka_unit_test(a_flood_is_summed_up),
	  cmocka_unit_test(changes_of_software_are_noted_when_in_effect),
	  cmocka_unit_test(a_rotated_log_is_followed), cmocka_unit_test(a_fresh_start_is_noted_once),
	  cmocka_unit_test(an_old_start_is_not))
