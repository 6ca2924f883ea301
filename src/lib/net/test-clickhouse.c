#include "lib/net/test-clickhouse.h"

#include "lib/data/cleanup.h"
#include "lib/net/http-server.h"

static struct shards shards;
static int missing; /* no clickhouse-server: 77 */

static struct clickhouse *connected(const char *rest)
{
	if (missing)
		skip();
	return shard_client(&shards, 0, rest);
}

static void run(struct clickhouse *c, const char *sql)
{
	if (clickhouse_query(c, sql, NULL, NULL, NULL) < 0)
		fail_msg("%s: %s", sql, clickhouse_error(c));
}

/* --- what needs no server --- */

static void parameters_are_quoted(void **state)
{
	const struct clickhouse_parameter p[] = {{"t", {.text = "it's \\ {here}"}}, {"i", {.integer = INT64_MIN}}, {"n", {.text = "a`b"}},
						 {"w", {.text = "db.t x"}},	   {}};
	_cleanup_str_ struct str sql = {};

	assert_int_equal(clickhouse_sql(&sql, "{t:String} {i:Int64} {n:Identifier} {w:Table}", p), 0);
	assert_string_equal(sql.data, "'it\\'s \\\\ {here}' toInt64('-9223372036854775808') `a\\`b` `db`.`t x`");
	str_clear(&sql);
	assert_int_equal(clickhouse_sql(&sql, "{missing:String}", p), -EINVAL);
	assert_int_equal(clickhouse_sql(&sql, "{t:Unknown}", p), -EINVAL);
	assert_int_equal(clickhouse_sql(&sql, "{t", p), -EINVAL);
}

static void a_url_says_where_and_never_a_password(void **state)
{
	static const struct {
		const char *url, *said;
	} cases[] = {
		{"http://host/", "expected clickhouse://"},	      {"clickhouse:///db", "names no host"},
		{"clickhouse://anna:secret@host/", "a password in the URL"}, {"clickhouse://host/db?colour=red", "the options are"},
	};
	struct clickhouse *c;
	char *error;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		error = NULL;
		assert_int_equal(clickhouse_open(cases[i].url, NULL, NULL, &c, &error), -EINVAL);
		assert_non_null(strstr(error, cases[i].said));
		free(error);
	}
	assert_int_equal(clickhouse_open("clickhouse://anna@[::1]:1/metrics/samples?cluster=fleet", NULL, NULL, &c, &error), 0);
	assert_string_equal(clickhouse_table(c), "samples");
	assert_string_equal(clickhouse_cluster(c), "fleet");
	clickhouse_close(c);
}

/* --- a server that says anything --- */

static struct str body;

static void say(struct http_exchange *e)
{
	e->type = "text/plain";
	str_append(&e->reply, body.data, body.len);
}

static const struct http_route routes[] = {{"POST", "/", say, 1 << 16, SCOPE_ALL}, {}};

struct fake {
	struct http_server *server;
	struct clickhouse *c;
	char token_file[32];
};

static struct fake fake_start(void)
{
	struct fake f = {.token_file = "/tmp/whyslow-token-XXXXXX"};
	struct http_server_options o = {.token_file = f.token_file, .routes = routes};
	int fd = mkstemp(f.token_file);
	char url[64], *error = NULL;

	assert_int_equal(write(fd, "0123456789abcdef0123456789abcdef\n", 33), 33);
	close(fd);
	if (http_server_start(&o, &f.server, &error) < 0)
		fail_msg("%s", error);
	snprintf(url, sizeof(url), "clickhouse://127.0.0.1:%u/", http_server_port(f.server));
	if (clickhouse_open(url, f.token_file, NULL, &f.c, &error) < 0)
		fail_msg("%s", error);
	return f;
}

static void fake_stop(struct fake *f)
{
	clickhouse_close(f->c);
	http_server_stop(f->server);
	unlink(f->token_file);
	str_free(&body);
}

static int keep_text(void *data, size_t n, char *const *fields)
{
	for (size_t i = 0; i < n; i++)
		str_printf(data, "[%s]", fields[i] ? fields[i] : "NULL");
	return 0;
}

static void fields_are_unescaped(void **state)
{
	struct fake f = fake_start();
	_cleanup_str_ struct str text = {};

	str_puts(&body, "a\\tb\t\\N\t\nc\\\\\t\\'\tx\\n\n");
	assert_int_equal(clickhouse_query(f.c, "", NULL, keep_text, &text), 0);
	assert_string_equal(text.data, "[a\tb][NULL][][c\\]['][x\n]");
	fake_stop(&f);
}

static void an_error_behind_rows_is_seen(void **state)
{
	struct fake f = fake_start();
	_cleanup_str_ struct str text = {};

	str_puts(&body, "1\n2\nCode: 241, e.displayText() = DB::Exception: Memory limit exceeded, e.what() = DB::Exception\n");
	assert_int_equal(clickhouse_query(f.c, "", NULL, keep_text, &text), -ENOMEM);
	assert_non_null(strstr(clickhouse_error(f.c), "Memory limit exceeded"));
	str_clear(&body);
	str_puts(&body, "1\n2");
	assert_int_equal(clickhouse_query(f.c, "", NULL, keep_text, &text), -EBADMSG);
	assert_non_null(strstr(clickhouse_error(f.c), "in the middle of row 2"));
	fake_stop(&f);
}

static int read_pair(void *data, struct reader *in)
{
	size_t n;

	str_read_blob(in, &n);
	clickhouse_read_float64(in);
	*(int *)data += !in->bad;
	return 0;
}

static void mutated_answers_do_no_harm(void **state)
{
	struct fake f = fake_start();

	srandom(2);
	for (int i = 0; i < 200; i++) {
		_cleanup_str_ struct str text = {};
		int rows = 0;

		str_clear(&body);
		for (int k = 0; k < 20; k++) {
			str_put_blob(&body, "server\\t\tNULL\n", 13);
			str_append(&body, &(double){1.5}, 8);
		}
		for (int k = 0; k < i % 7; k++)
			body.data[random() % (long)body.len] = (char)random();
		body.len -= (size_t)(i % 3);
		(void)clickhouse_query(f.c, "", NULL, keep_text, &text);
		(void)clickhouse_query_binary(f.c, "", NULL, read_pair, &rows);
		assert_in_range(rows, i % 7 || i % 3 ? 0 : 20, 240);
	}
	fake_stop(&f);
}

/* --- Debian's server --- */

struct sums {
	uint64_t rows;
	double sum;
};

static int add_row(void *data, struct reader *in)
{
	struct sums *s = data;
	double value;
	size_t n;

	str_read_blob(in, &n);
	clickhouse_read_int64(in);
	value = clickhouse_read_float64(in);
	if (in->bad)
		return 0;
	s->rows++;
	s->sum += value;
	return 0;
}

static void rows_go_in_and_out(void **state)
{
	struct clickhouse *c = connected("");
	struct clickhouse_insert *in;
	struct sums s = {};

	run(c, "CREATE TABLE many (name String, time Int64, value Float64) ENGINE = MergeTree ORDER BY time "
	       "PARTITION BY tuple()");
	assert_int_equal(clickhouse_insert_open(c, "default.many", "name, time, value", &in), 0);
	for (int i = 0; i < 300000; i++) {
		clickhouse_insert_text(in, "a name\twith a tab");
		clickhouse_insert_int64(in, i);
		clickhouse_insert_float64(in, i);
		assert_int_equal(clickhouse_insert_row(in), 0);
	}
	if (clickhouse_insert_close(in) < 0)
		fail_msg("%s", clickhouse_error(c));
	if (clickhouse_query_binary(c, "SELECT name, time, value FROM many", NULL, add_row, &s) < 0)
		fail_msg("%s", clickhouse_error(c));
	assert_int_equal(s.rows, 300000);
	assert_true(s.sum == 300000.0 * 299999 / 2);
	clickhouse_close(c);
}

static void odd_text_survives(void **state)
{
	static const char odd[] = "'\"`\\ \t\n{x:String} \xc3\xa4 \\N";
	const struct clickhouse_parameter p[] = {{"t", {.text = odd}}, {"i", {.integer = INT64_MIN}}, {}};
	struct clickhouse *c = connected("");
	_cleanup_str_ struct str text = {}, expected = {};

	if (clickhouse_query(c, "SELECT {t:String}, {i:Int64}, NULL", p, keep_text, &text) < 0)
		fail_msg("%s", clickhouse_error(c));
	str_printf(&expected, "[%s][-9223372036854775808][NULL]", odd);
	assert_string_equal(text.data, expected.data);
	clickhouse_close(c);
}

static void errors_are_said_in_words(void **state)
{
	static const struct {
		const char *sql, *said;
		int error;
	} cases[] = {
		{"SELECT * FROM nowhere", "there is no such table", -ENOENT},
		{"SELECT * FROM nowhere.x", "no such", -ENOENT},
		{"SELECT nothing FROM system.one", "lacks a column", -EINVAL},
		{"SELEC", "was not understood", -EINVAL},
		{"SELECT intDiv(1, 3000000 - number) FROM (SELECT number FROM system.numbers LIMIT 5000000)", "ivision by zero", -EREMOTEIO},
	};
	struct clickhouse *c = connected("");
	_cleanup_str_ struct str text = {};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(clickhouse_query(c, cases[i].sql, NULL, keep_text, &text), cases[i].error);
		assert_non_null(strstr(clickhouse_error(c), cases[i].said));
	}
	clickhouse_close(c);
}

static void rows_that_do_not_fit_are_located(void **state)
{
	struct clickhouse *c = connected("");
	struct clickhouse_insert *in;

	run(c, "CREATE TABLE narrow (value Float64) ENGINE = Memory");
	assert_int_equal(clickhouse_insert_open(c, "narrow", "value, more", &in), 0);
	clickhouse_insert_float64(in, 1);
	assert_int_equal(clickhouse_insert_row(in), 0);
	assert_true(clickhouse_insert_close(in) < 0);
	assert_non_null(strstr(clickhouse_error(c), "rows 1 to 1 were not taken"));
	clickhouse_close(c);
}

static void the_password_comes_from_the_environment(void **state)
{
	_cleanup_str_ struct str text = {};
	struct clickhouse *c;

	if (missing)
		skip();
	setenv("WHYSLOW_CLICKHOUSE_USER", "reader", 1);
	setenv("WHYSLOW_CLICKHOUSE_PASSWORD", "wrong", 1);
	c = connected("");
	assert_int_equal(clickhouse_query(c, "SELECT 1", NULL, NULL, NULL), -EACCES);
	assert_non_null(strstr(clickhouse_error(c), "wrong password"));
	clickhouse_close(c);
	setenv("WHYSLOW_CLICKHOUSE_PASSWORD", "let-me-read", 1);
	c = connected("");
	assert_int_equal(clickhouse_query(c, "SELECT 7", NULL, keep_text, &text), 0);
	assert_string_equal(text.data, "[7]");
	assert_int_equal(clickhouse_query(c, "CREATE TABLE mine (x Int64) ENGINE = Memory", NULL, NULL, NULL), -EACCES);
	assert_non_null(strstr(clickhouse_error(c), "may only read"));
	clickhouse_close(c);
	unsetenv("WHYSLOW_CLICKHOUSE_USER");
	unsetenv("WHYSLOW_CLICKHOUSE_PASSWORD");
}

static int set_up(void **state)
{
	missing = shards_start(&shards, 1);
	return missing < 0 ? missing : 0;
}

static int tear_down(void **state)
{
	shards_stop(&shards);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parameters_are_quoted),
		cmocka_unit_test(a_url_says_where_and_never_a_password),
		cmocka_unit_test(fields_are_unescaped),
		cmocka_unit_test(an_error_behind_rows_is_seen),
		cmocka_unit_test(mutated_answers_do_no_harm),
		cmocka_unit_test(rows_go_in_and_out),
		cmocka_unit_test(odd_text_survives),
		cmocka_unit_test(errors_are_said_in_words),
		cmocka_unit_test(rows_that_do_not_fit_are_located),
		cmocka_unit_test(the_password_comes_from_the_environment),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
