#include "lib/data/test.h"

#include <errno.h>
#include <iconv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fleet/formats/pad-xml.h"
#include "lib/data/cleanup.h"

/* As printed, blanks within tags included. */
static const char listing_1[] =
	"<ThresholdConfig>\n"
	"  <PerformanceCounter Name=\"Runtime.GC.PercentOfTimeInGC\">\n"
	"    <Rule AppliesTo=\"DetailView\">\n"
	"      <Statistic >Any</Statistic >\n"
	"      <ExpectedValue >15</ExpectedValue >\n"
	"      <ComparisonOperator>GreaterThan </ComparisonOperator >\n"
	"    </Rule >\n"
	"  </PerformanceCounter >\n"
	"  <PerformanceCounter Name=\"MessageQueue.NumQueuedMsgs\">\n"
	"    <Rule AppliesTo=\"TimeView\">\n"
	"      <Statistic >Average</Statistic >\n"
	"      <ExpectedValue >5</ExpectedValue >\n"
	"      <ComparisonOperator>GreaterThan </ComparisonOperator >\n"
	"    </Rule >\n"
	"  </PerformanceCounter >\n"
	"</ThresholdConfig >\n";

static int parse(const char *text, struct fleet_thresholds *ret, char **error)
{
	*error = NULL;
	*ret = (struct fleet_thresholds){};
	return pad_xml_parse(text, strlen(text), "rules.xml", ret, error);
}

static void listing_1_is_read(void **state)
{
	struct fleet_thresholds t;
	char *error;

	assert_int_equal(parse(listing_1, &t, &error), 0);
	assert_int_equal(t.list.n, 2);
	assert_string_equal(t.list.v[0].counter, "Runtime.GC.PercentOfTimeInGC");
	assert_int_equal(t.list.v[0].view, FLEET_DETAIL_VIEW);
	assert_int_equal(t.list.v[0].statistic, OF_ANY);
	assert_int_equal(t.list.v[0].operator, IS_GREATER);
	assert_true(t.list.v[0].expected == 15);
	assert_int_equal(t.list.v[1].view, FLEET_TIME_VIEW);
	assert_int_equal(t.list.v[1].statistic, OF_AVERAGE);
	assert_string_equal(t.list.v[1].words, "average MessageQueue.NumQueuedMsgs in time view > 5");
	fleet_thresholds_free(&t);
}

static void what_is_wrong_is_located(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{"<ThresholdConfig>\n<Rule/></ThresholdConfig>", "rules.xml:2: a Rule stands outside"},
		{"<ThresholdConfig><PerformanceCounter Name='x'>\n<Rule AppliesTo='Sideways'/>", "rules.xml:2: AppliesTo=\"Sideways\""},
		{"<ThresholdConfig><PerformanceCounter Name='x'><Rule>\n<Statistic>Mood</Statistic>", "rules.xml:2: Statistic 'Mood'"},
		{"<ThresholdConfig><PerformanceCounter Name='x'><Rule><ExpectedValue>much</ExpectedValue>", "rules.xml:1: 'much' is not a number"},
		{"<ThresholdConfig><PerformanceCounter Name='x'><Rule></Rule>", "rules.xml:1: a Rule needs an ExpectedValue"},
		{"<!DOCTYPE a [<!ENTITY b 'c'>]><a/>", "rules.xml:1: entity 'b': entities are not read"},
		{"<ThresholdConfig>\n</Threshold>", "rules.xml:2: mismatched tag"},
		{"", "rules.xml:1: no element found"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fleet_thresholds t;
		char *error;

		assert_int_equal(parse(cases[i].text, &t, &error), -EINVAL);
		assert_non_null(error);
		assert_non_null(strstr(error, cases[i].error));
		free(error);
		fleet_thresholds_free(&t);
	}
}

static void damage_is_survived(void **state)
{
	srand(5);
	for (int i = 0; i < 5000; i++) {
		char text[sizeof(listing_1)], *error;
		struct fleet_thresholds t;

		memcpy(text, listing_1, sizeof(text));
		for (int k = rand() % 5; k >= 0; k--)
			text[(size_t)rand() % (sizeof(text) - 1)] = (char)(1 + rand() % 126);
		(void)parse(text, &t, &error);
		free(error);
		fleet_thresholds_free(&t);
	}
}

static void what_editors_leave_before_the_xml_is_skipped(void **state)
{
	static const char before[] = "\xef\xbb\xbf\r\n\n<?xml version=\"1.0\"?>\n";
	_cleanup_free_ char *text = NULL;
	struct fleet_thresholds t;
	char *error;

	assert_true(asprintf(&text, "%s%s", before, listing_1) > 0);
	assert_true(pad_xml_is(text));
	assert_int_equal(parse(text, &t, &error), 0);
	assert_int_equal(t.list.n, 2);
	fleet_thresholds_free(&t);
	assert_int_equal(parse("\n\n<?xml version=\"1.0\"?>\n<ThresholdConfig><Rule/></ThresholdConfig>", &t, &error), -EINVAL);
	assert_non_null(strstr(error, "rules.xml:4: "));
	free(error);
	fleet_thresholds_free(&t);
}

static int read_as_utf16(const char *text, const char *encoding, struct fleet_thresholds *ret, char **ret_error)
{
	char wide[8192], *from = (char *)text, *to = wide, path[] = "/tmp/rules-XXXXXX";
	size_t n_from = strlen(text), n_to = sizeof(wide);
	iconv_t as = iconv_open(encoding, "UTF-8");
	int fd = mkstemp(path), r;

	assert_true(fd >= 0 && as != (iconv_t)-1);
	assert_int_equal(iconv(as, &from, &n_from, &to, &n_to), 0);
	iconv_close(as);
	assert_int_equal(write(fd, wide, sizeof(wide) - n_to), sizeof(wide) - n_to);
	close(fd);
	r = pad_xml_read(path, ret, ret_error);
	unlink(path);
	return r;
}

/* Windows' editors call it "Unicode", and .NET's XML writers begin with its declaration. */
static void a_file_in_utf_16_is_read(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct fleet_thresholds t = {};
	char *error = NULL;

	assert_true(asprintf(&text, "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-16\"?>\r\n<!-- a year \xe2\x82\xac \xf0\x9f\x90\x8c -->%s", listing_1) > 0);
	assert_int_equal(read_as_utf16(text, "UTF-16LE", &t, &error), 0);
	assert_int_equal(t.list.n, 2);
	assert_string_equal(t.list.v[0].counter, "Runtime.GC.PercentOfTimeInGC");
	fleet_thresholds_free(&t);
	assert_int_equal(read_as_utf16(text, "UTF-16BE", &t, &error), 0);
	assert_int_equal(t.list.n, 2);
	fleet_thresholds_free(&t);
}

RUN_TESTS(cmocka_unit_test(a_file_in_utf_16_is_read), cmocka_unit_test(what_editors_leave_before_the_xml_is_skipped), cmocka_unit_test(listing_1_is_read), cmocka_unit_test(what_is_wrong_is_located), cmocka_unit_test(damage_is_survived))
