#include "lib/data/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/config.h"

static int read_text(const char *text, struct config *c, char **error)
{
	char path[] = "/tmp/whyslow-config-XXXXXX";
	int fd = mkstemp(path), r;

	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	*error = NULL;
	assert_int_equal(config_defaults(c), 0);
	r = config_read(c, path, error);
	unlink(path);
	return r;
}

static void settings_override_defaults(void **state)
{
	struct config c;
	char *error;

	assert_int_equal(read_text("# mine\n\nrecord.interval = 2s\n store.max_size=64M\nrecord.sockets = no\n"
				   "store.file = /data/x y.db\nsocket.mode = 0660\nsocket.group = adm\nanswer.postgres = whyslow\n",
				   &c, &error),
			 0);
	assert_int_equal(c.record_interval, 2000000000ll);
	assert_int_equal(c.store_max_size, 64 << 20);
	assert_false(c.record_sockets);
	assert_string_equal(c.store_file, "/data/x y.db");
	assert_int_equal(c.socket_mode, 0660);
	assert_string_equal(c.socket_group, "adm");
	assert_string_equal(c.answer_postgres, "whyslow");
	config_free(&c);
}

static void mistakes_have_line_and_column(void **state)
{
	static const struct {
		const char *text, *where;
	} cases[] = {
		{"record.interval = 1s\nrecord.intervall = 2s\n", ":2:1: "},
		{"record.interval = soon\n", ":1:19: "},
		{"record.interval = 1ms\n", ":1:19: "},
		{"  just words\n", ":1:3: "},
		{"record.sockets = maybe\n", ":1:18: "},
		{"store.max_size = 12 parsecs\n", ":1:18: "},
		{"socket.mode = 8666\n", ":1:15: "},
		{"socket.mode = 01666\n", ":1:15: "},
		{"socket.mode = 66\n", ":1:15: "},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config c;
		char *error;

		assert_int_equal(read_text(cases[i].text, &c, &error), -EINVAL);
		if (!strstr(error, cases[i].where))
			fail_msg("'%s' said: %s", cases[i].text, error);
		free(error);
		config_free(&c);
	}
}

static void what_is_printed_can_be_read(void **state)
{
	struct config c, again;
	char *text = NULL, *error;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	config_defaults(&c);
	c.record_interval = 1500000000;
	config_print(&c, f);
	fclose(f);
	assert_int_equal(read_text(text, &again, &error), 0);
	assert_int_equal(again.record_interval, c.record_interval);
	assert_int_equal(again.store_max_size, c.store_max_size);
	assert_int_equal(again.store_max_age, c.store_max_age);
	assert_string_equal(again.store_file, c.store_file);
	free(text);
	config_free(&c);
	config_free(&again);
}

RUN_TESTS(cmocka_unit_test(settings_override_defaults), cmocka_unit_test(mistakes_have_line_and_column),
	  cmocka_unit_test(what_is_printed_can_be_read))
