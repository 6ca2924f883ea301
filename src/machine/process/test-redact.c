/* No secret of a command line is kept, however it was spelled; and what is none stays. */
#include "lib/data/test.h"

#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "machine/process/redact.h"

/* | stands for the NUL behind an argument. */
static void check(const char *given, const char *kept)
{
	_cleanup_str_ struct str out = {};
	char args[400];
	size_t n = strlen(given);

	assert_true(n < sizeof(args));
	strcpy(args, given);
	for (size_t i = 0; i < n; i++)
		args[i] = args[i] == '|' ? '\0' : args[i];
	redact_secrets(args, n, &out);
	assert_string_equal(out.data, kept);
}

static void options_and_variables(void **state)
{
	check("mysql|--password=hunter2|-u|root", "mysql --password=*** -u root");
	check("app|--token|abcdef|--port|80", "app --token *** --port 80");
	check("env|DB_PASSWORD=x1|run", "env DB_PASSWORD=*** run");
	check("env|PGPASSWORD=x1|MYSQL_PWD=x2|psql", "env PGPASSWORD=*** MYSQL_PWD=*** psql");
	check("tool|--api-key=12345", "tool --api-key=***");
	check("tool|--API_KEY|12345|--verbose", "tool --API_KEY *** --verbose");
	check("java|-Dspring.datasource.password=x|-DdbPass=y|Main", "java -Dspring.datasource.password=*** -DdbPass=*** Main");
	check("helm|--set|db.auth.secret=abc|up", "helm --set db.auth.secret=*** up");
	check("openssl|rsa|-passin|pass:hunter2", "openssl rsa -passin pass:***");
}

static void words_of_several_words(void **state)
{
	check("tool|--password|hunter two|-v", "tool --password *** -v");
	check("tool|--password=hunter two|-v", "tool --password=*** -v");
	check("psql|host=h user=u password=p q dbname=d", "psql host=h user=u password=*** q dbname=d");
	/* command lines within one, and titles that programs give themselves */
	check("sh|-c|mysql --password='a b' -e 'select 1'", "sh -c mysql --password='***' -e 'select 1'");
	check("sh|-c|app --token \"a b\" --port 80", "sh -c app --token \"***\" --port 80");
	check("app --token abcdef --port 80", "app --token *** --port 80");
	check("mysql --password=hunter2 -u root", "mysql --password=*** -u root");
}

static void headers_bodies_and_addresses(void **state)
{
	check("curl|-H|Authorization: Bearer abc.def|http://h/", "curl -H Authorization: *** http://h/");
	check("curl|-H|Authorization: Basic YWJjOmRlZg==|http://h/", "curl -H Authorization: *** http://h/");
	check("curl|-HX-Api-Key: 123|http://h/", "curl -HX-Api-Key: *** http://h/");
	check("sh|-c|curl -H 'Authorization: Bearer abc' http://h/", "sh -c curl -H 'Authorization: ***' http://h/");
	check("wscat|-H|Bearer abc", "wscat -H Bearer ***");
	check("curl|-d|{\"user\":\"u\",\"password\": \"a b\",\"n\":1}|h", "curl -d {\"user\":\"u\",\"password\": \"***\",\"n\":1} h");
	check("curl|https://h/p?a=1&access_token=abc&b=2", "curl https://h/p?a=1&access_token=***&b=2");
	check("curl|https://h/p?X-Amz-Signature=abc#top", "curl https://h/p?X-Amz-Signature=***#top");
	check("curl|https://bob:s3cret@host/path", "curl https://bob:***@host/path");
	check("curl|--proxy=http://bob:s3c@ret@host:80/", "curl --proxy=http://bob:***@host:80/");
	check("app|redis://:s3cret@host/0", "app redis://:***@host/0");
	check("git|clone|https://0123456789abcdef0123456789abcdef@host/r", "git clone https://***@host/r");
	check("app|jdbc:sqlserver://h;user=u;password=p;encrypt=true", "app jdbc:sqlserver://h;user=u;password=***;encrypt=true");
	check("tool|ghp_0123456789abcdefghij", "tool ***");
}

static void short_options_of_known_programs(void **state)
{
	check("mysql|-uroot|-phunter2|db", "mysql -uroot -p*** db");
	check("sudo|/usr/bin/mysqldump|-phunter two|db", "sudo /usr/bin/mysqldump -p*** db");
	check("sh|-c|mysql -phunter2 db", "sh -c mysql -p*** db");
	check("sshpass|-p|hunter2|ssh|-p|22|host", "sshpass -p *** ssh -p *** host");
	check("curl|-u|bob:hunter2|http://h/", "curl -u bob:*** http://h/");
	check("curl|--user=bob:hunter2|http://h/", "curl --user=bob:*** http://h/");
	check("redis-cli|-a|hunter2|ping", "redis-cli -a *** ping");
	check("smbclient|-U|bob%hunter2|//h/s", "smbclient -U bob%*** //h/s");
}

static void what_is_no_secret_stays(void **state)
{
	static const char *const lines[] = {
		"passwd bob", "compass --heading 12", "tool --compass=12", "author --author=me", "ssh -p 22 git@host",
		"mysql -p db", "mkdir -p a/b", "docker run -v /etc/passwd:/etc/passwd:ro -p 80:80 i", "git clone ssh://git@host/r",
		"vault --token-ttl=1h --password-file=/run/p", "curl http://h:8080/p?a=b -o x", "python3 -c x = 'a: b'", "a  b",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		check(lines[i], lines[i]);
	check("tab\there|line\nend|esc\033[31m", "tab here line end esc?[31m");
}

/* A space ends an argument, ~ is one within it; what stands in {{ }} is the secret. */
static bool is_redacted(const char *line)
{
	_cleanup_str_ struct str out = {};
	char given[400] = "", kept[400] = "";
	bool secret = false;
	size_t g = 0, k = 0;

	for (const char *at = line; *at; at++) {
		if ((at[0] == '{' && at[1] == '{') || (at[0] == '}' && at[1] == '}')) {
			secret = !secret;
			k += secret ? (size_t)sprintf(kept + k, "***") : 0;
			at++;
			continue;
		}
		assert_true(g + 4 < sizeof(given) && k + 4 < sizeof(kept));
		given[g++] = *at == ' ' ? '\0' : *at == '~' ? ' ' : *at;
		if (!secret)
			kept[k++] = *at == '~' ? ' ' : *at;
	}
	assert_true(g > 0 && !secret);
	redact_secrets(given, g, &out);
	if (strcmp(out.data, kept) == 0)
		return true;
	print_error("%s\n  became %s\n", line, out.data);
	return false;
}

static void check_file(const char *name, size_t least)
{
	_cleanup_fclose_ FILE *f = fopen(name, "re");
	char line[400];
	size_t n = 0, bad = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (*line == '#')
			continue;
		bad += !is_redacted(line);
		n++;
	}
	assert_int_equal(bad, 0);
	assert_true(n >= least);
}

static void usual_spellings_are_known(void **state)
{
	check_file(FIXTURES "/redact/secrets", 150);
}

static void innocent_lines_stay(void **state)
{
	check_file(FIXTURES "/redact/innocent", 100);
}

RUN_TESTS(cmocka_unit_test(usual_spellings_are_known), cmocka_unit_test(innocent_lines_stay), cmocka_unit_test(options_and_variables), cmocka_unit_test(words_of_several_words),
	  cmocka_unit_test(headers_bodies_and_addresses), cmocka_unit_test(short_options_of_known_programs),
	  cmocka_unit_test(what_is_no_secret_stays))
