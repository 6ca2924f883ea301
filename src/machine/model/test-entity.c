#include "lib/data/test.h"

#include <string.h>

#include "lib/data/cleanup.h"
#include "machine/model/entity.h"

static void is_called(const char *exe, const char *cmdline, const char *comm, const char *label)
{
	struct entity_info info = {.kind = ENTITY_PROCESS, .exe = (char *)exe, .cmdline = (char *)cmdline, .name = (char *)comm};
	_cleanup_free_ char *told = entity_label(&info);

	assert_non_null(told);
	assert_string_equal(told, label);
}

static void a_program_is_called_as_it_was_started(void **state)
{
	is_called("/usr/bin/redis-check-rdb", "/usr/bin/redis-server 127.0.0.1:6379", "redis-server", "redis-server");
	is_called("/usr/bin/busybox", "ls -l", "ls", "ls");
	is_called("/usr/bin/x86_64-linux-gnu-gcc-12", "gcc -c a.c", "gcc", "gcc");
	is_called("/usr/bin/thing.real", "/bin/a-name-of-many-letters", "a-name-of-many-", "a-name-of-many-letters");
	/* the file's name, where the first argument is not what was executed */
	is_called("/usr/lib/postgresql/15/bin/postgres", "postgres: writer", "postgres", "postgres");
	is_called("/usr/lib/systemd/systemd", "/sbin/init", "systemd", "systemd");
	is_called("/usr/bin/bash", "-bash", "bash", "bash");
	is_called("/usr/bin/whyslow", "/proc/self/exe record", "exe", "whyslow");
	is_called("/usr/bin/whyslow", NULL, "exe", "whyslow");
	/* and of what runs a text, the text */
	is_called("/usr/bin/node", "npm", "npm ci", "npm ci");
	is_called("/usr/bin/dash", "sh", "sh", "sh");
	is_called("/usr/bin/dash", "/bin/sh /srv/update.sh", "update.sh", "sh update.sh");
	is_called("/usr/bin/bash", "bash --rcfile /etc/rc -i", "bash", "bash");
	is_called("/usr/bin/bash", "bash /dev/fd/3", "bash", "bash");
	is_called("/usr/bin/python3.11", "python3 -m http.server 80", "python3", "python3 -m http.server");
	is_called("/usr/lib/jvm/bin/java", "java -Xmx1g -cp /opt/shop/lib/* org.example.shop.Main --port 80", "java", "java Main");
	is_called("/usr/lib/jvm/bin/java", "/usr/bin/java -Dx=/a -jar /opt/shop.jar", "java", "java shop.jar");
	is_called("/usr/lib/jvm/bin/java", "java -m shop/org.example.Main", "java", "java Main");
	is_called("/memfd:runc_cloned:/proc/self/exe", "runc init", "runc:[2:INIT]", "runc");
	is_called("/memfd:sealed-91173221a7ea", "/opt/tools/backend --uid 0", "memfd:sealed-91", "backend");
	is_called("/memfd:sealed-91173221a7ea", NULL, "memfd:sealed-91", "memfd:sealed-91173221a7ea");
	/* a child that has another title, and a program that has named itself */
	is_called("/usr/bin/redis-check-rdb", "redis-rdb-bgsave *:6379", "redis-server", "redis-server");
	is_called("/opt/bin/launcher", "/opt/bin/launcher -x", "indexer", "indexer");
	is_called("/usr/lib/firefox/firefox", "/usr/lib/firefox/firefox -contentproc", "Isolated Web Co", "firefox");
	is_called("/usr/bin/python3.11", "python3 /home/a/train.py", "python3", "python3 train.py");
	/* of which the arguments are not known */
	is_called("/usr/bin/redis-check-rdb", NULL, "redis-server", "redis-server");
	is_called("/usr/bin/python3.11", NULL, "python3", "python3");
	is_called("/usr/bin/python3.11", NULL, "nightly.py", "nightly.py");
	is_called("/usr/bin/dash", NULL, "sh", "sh");
	is_called("/usr/bin/node", NULL, "MainThread", "node");
}

static void names_do_not_speak_to_a_terminal(void **state)
{
	struct entity_info given = {.id = 1, .kind = ENTITY_PROCESS, .name = "a\nb", .exe = "/bin/\033[31mred", .unit = "u\r"}, got;
	_cleanup_str_ struct str bytes = {};
	struct reader in;

	entity_info_write(&given, &bytes);
	in = (struct reader){(uint8_t *)bytes.data, (uint8_t *)bytes.data + bytes.len, false};
	assert_int_equal(entity_info_read(&in, &got), 0);
	assert_string_equal(got.name, "a b");
	assert_string_equal(got.exe, "/bin/?[31mred");
	assert_string_equal(got.unit, "u ");
	entity_info_free(&got);
}

static bool is_own(uint32_t pid, uint32_t parent_pid, const char *name, const struct entity *parent)
{
	struct entity *e = entity_new_process(&(struct process_birth){.name = name, .pid = pid, .parent = parent_pid, .parent_entity = parent, .recorder = 100});
	bool own;

	assert_non_null(e);
	own = e->info.flags & ENTITY_IS_SELF;
	assert_int_equal(own, entity_is_of_recorder(e, parent, 100));
	entity_free(e);
	return own;
}

static void the_recorder_knows_its_own(void **state)
{
	struct entity *service = entity_new(ENTITY_PROCESS, "whyslow");

	assert_non_null(service);
	assert_true(is_own(100, 1, "renamed", NULL));
	assert_true(is_own(101, 100, "whyslow", NULL));
	assert_true(is_own(101, 100, "whyslow-capture", NULL)); /* as the thread that forked it */
	assert_false(is_own(101, 100, "notify-send", NULL)); /* what a rule starts */
	assert_false(is_own(300, 1, "whyslow", NULL)); /* of another user */
	assert_false(is_own(300, 101, "whyslow", service));
	service->info.flags |= ENTITY_IS_SELF;
	assert_true(is_own(300, 101, "whyslow", service));
	entity_free(service);
}

/* Commands with which a user asks, and what parses for them. */
static void who_asks_is_known_by_name(void **state)
{
	struct entity_info parser = {.kind = ENTITY_PROCESS, .name = (char *)"whyslow-parse"}, commands = {.kind = ENTITY_SHORT_LIVED, .name = (char *)"whyslow"},
			   other = {.kind = ENTITY_PROCESS, .name = (char *)"whyslowly"}, group = {.kind = ENTITY_CGROUP, .name = (char *)"whyslow"},
			   recorder = {.kind = ENTITY_PROCESS, .flags = ENTITY_IS_SELF, .name = (char *)"renamed"};

	assert_true(entity_asks(&parser) && entity_asks(&commands) && entity_asks(&recorder));
	assert_false(entity_asks(&other) || entity_asks(&group));
}

/* A person's words for a program, and parts of them that are not. */
static void a_program_is_meant_by_its_words(void **state)
{
	static const char *const words[] = {"4711", "python3.11", "python3 orders.py", "orders.py", "/srv/shop/orders.py", "/usr/bin/python3.11", "shop.service", "shop",
					   "checkout-7d9f", "prod"};
	static const char *const others[] = {"orders", "471", "/srv/shop", "py", "op", "", "11"};
	struct entity_info info = {.kind = ENTITY_PROCESS, .pid = 4711, .name = (char *)"python3", .exe = (char *)"/usr/bin/python3.11",
				   .cmdline = (char *)"python3 /srv/shop/orders.py --fast", .unit = (char *)"/system.slice/shop.service",
				   .container = (char *)"prod/checkout-7d9f"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!entity_matches(&info, words[i]))
			fail_msg("not meant by '%s'", words[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (entity_matches(&info, others[i]))
			fail_msg("meant by '%s'", others[i]);
}

static void a_process_that_was_there_before_says_so(void **state)
{
	struct entity *before = entity_new_process(&(struct process_birth){.name = "init", .pid = 1, .start = 7});
	struct entity *born = entity_new_process(&(struct process_birth){.name = "kworker", .pid = 9, .parent = 2, .is_kernel_thread = true, .was_seen_to_start = true});

	assert_non_null(before);
	assert_non_null(born);
	assert_true(before->info.flags == ENTITY_WAS_RUNNING && !before->born && before->info.start == 7 && before->info.pid == 1);
	assert_true(born->info.flags == ENTITY_IS_KERNEL_THREAD && born->born && born->info.parent == 2);
	entity_free(before);
	entity_free(born);
}

/* Sets that older recordings hold, of up to 64 features, are the same bytes. */
static void a_set_of_features_is_stored_whole(void **state)
{
	const feature_set sets[] = {0, 1, 0x7f, 0x80, UINT64_MAX, FEATURE_BIT(64), FEATURE_BIT(63) | FEATURE_BIT(100), FEATURE_BIT(FEATURES_MAX - 1), FEATURES_ALL};

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		_cleanup_str_ struct str bytes = {}, narrow = {};
		struct reader in;

		feature_set_write(sets[i], &bytes);
		in = (struct reader){(const uint8_t *)bytes.data, (const uint8_t *)bytes.data + bytes.len, false};
		assert_true(feature_set_read(&in) == sets[i]);
		assert_true(!in.bad && in.at == in.end);
		if (sets[i] <= UINT64_MAX) {
			str_put_varint(&narrow, (uint64_t)sets[i]);
			assert_int_equal(bytes.len, narrow.len);
			assert_memory_equal(bytes.data, narrow.data, narrow.len);
		}
		in = (struct reader){(const uint8_t *)bytes.data, (const uint8_t *)bytes.data + bytes.len - 1, false};
		assert_true(feature_set_read(&in) == 0 && in.bad);
	}
	assert_int_equal(feature_set_first(FEATURE_BIT(3) | FEATURE_BIT(90)), 3);
	assert_int_equal(feature_set_first(FEATURE_BIT(90)), 90);
	assert_int_equal(feature_set_count(FEATURE_BIT(3) | FEATURE_BIT(90)), 2);
	assert_int_equal(feature_set_count(FEATURES_ALL), FEATURES_MAX);
	assert_int_equal(feature_set_count(FEATURES_BELOW(65)), 65);
}

static void runs_in(const char *unit, const char *container, const char *place)
{
	struct entity_info info = {.kind = ENTITY_PROCESS, .unit = (char *)unit, .container = (char *)container};
	_cleanup_free_ char *told = entity_place(&info);

	if (place)
		assert_string_equal(told, place);
	else
		assert_null(told);
}

static void where_it_runs_is_short(void **state)
{
	runs_in("nginx.service", NULL, "nginx.service");
	runs_in("/kubepods/burstable/pod1/2", "shop/cart-1/web", "pod shop/cart-1 (web)");
	runs_in("docker-1.scope", "web", "container web");
	runs_in("/kubepods/pod1/2", "pod0a1b-22/0123456789ab", "container 0123456789ab");
	runs_in("/jobs/nightly", NULL, "nightly");
	runs_in("/tool/856bded00a92fdd76055e69ee59a0275", NULL, NULL);
	runs_in(NULL, NULL, NULL);
	runs_in("/", NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_it_runs_is_short),
		cmocka_unit_test(a_set_of_features_is_stored_whole),
		cmocka_unit_test(a_program_is_called_as_it_was_started),
		cmocka_unit_test(the_recorder_knows_its_own), cmocka_unit_test(who_asks_is_known_by_name),
		cmocka_unit_test(a_process_that_was_there_before_says_so), cmocka_unit_test(a_program_is_meant_by_its_words),
		cmocka_unit_test(names_do_not_speak_to_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
