/* Minutes that are appended read as a whole; profiles of other programs are read. */
#include "machine/trace/profile-file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/test.h"
#include "lib/input/gzip.h"
#include "lib/input/protobuf.h"
#include "machine/trace/pprof.h"

#define BEGAN  (1790000000 * NS_PER_SEC)
#define MINUTE (BEGAN / NS_PER_SEC / 60)

static char folder[64];

static int make_folder(void **state)
{
	strcpy(folder, "/tmp/whyslow-profile-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command); /* NOLINT(cert-env33-c): a folder of this test's own */
}

/* One row: a place in libc, called by a function with a name. */
static void add(struct profile *p, const char *program, const char *caller, int64_t minute, uint64_t cpu)
{
	static const uint8_t build_id[] = {0x01, 0xab, 0xff};
	struct profile_row row = {.minute = minute, .uid = 7, .waker_uid = 8, .cpu = cpu, .waited = 1};
	struct profile_frame place = {.offset = 0x1234};
	uint32_t frames[2];

	assert_int_equal(profile_module(p, "/lib/libc.so.6", build_id, sizeof(build_id), &place.module), 0);
	place.module++;
	assert_int_equal(profile_frame(p, &place, &frames[0]), 0);
	assert_int_equal(profile_named_frame(p, caller, &frames[1]), 0);
	assert_int_equal(profile_stack(p, frames, 2, &row.stack), 0);
	assert_int_equal(profile_text(p, program, &row.program), 0);
	assert_int_equal(profile_add(p, &row), 0);
}

static void check_row(const struct profile *p, size_t at, const char *program, const char *caller, uint64_t cpu)
{
	const struct profile_row *row = &p->rows.v[at];
	const struct profile_stack *s = &p->stacks.v[row->stack];
	const struct profile_frame *place = &p->frames.v[p->chain.v[s->first]], *named = &p->frames.v[p->chain.v[s->first + 1]];

	assert_string_equal(profile_text_of(p, row->program), program);
	assert_int_equal(s->n, 2);
	assert_int_equal(place->offset, 0x1234);
	assert_string_equal(p->modules.v[place->module - 1].path, "/lib/libc.so.6");
	assert_int_equal(p->modules.v[place->module - 1].build_id_size, 3);
	assert_int_equal(p->modules.v[place->module - 1].build_id[1], 0xab);
	assert_string_equal(profile_text_of(p, named->name), caller);
	assert_int_equal(row->cpu, cpu);
	assert_int_equal(row->waited, 1);
	assert_int_equal(row->uid, 7);
	assert_int_equal(row->waker_uid, 8);
}

static void minutes_that_are_appended_are_one_profile(void **state)
{
	_cleanup_(profile_free) struct profile all = {}, second = {};
	struct profile_file *f;
	unsigned damaged;

	assert_int_equal(profile_file_new(folder, &f), 0);
	add(profile_file_profile(f), "cc1", "main", MINUTE, 100);
	assert_int_equal(profile_file_save(f, BEGAN, 10), 0);
	add(profile_file_profile(f), "cc1", "main", MINUTE + 1, 200);
	add(profile_file_profile(f), "ld", "link", MINUTE + 1, 300);
	assert_int_equal(profile_file_save(f, BEGAN + 60 * NS_PER_SEC, 10), 0);
	assert_int_equal(profile_file_save(f, BEGAN + 120 * NS_PER_SEC, 10), 0);
	profile_file_free(f);
	assert_int_equal(profile_begin(&all), 0);
	assert_int_equal(profile_load(folder, &(struct profile_wish){.from = MINUTE, .to = MINUTE + 9}, &all, &damaged), 0);
	assert_int_equal(damaged, 0);
	assert_int_equal(all.rows.n, 3);
	check_row(&all, 0, "cc1", "main", 100);
	check_row(&all, 1, "cc1", "main", 200);
	check_row(&all, 2, "ld", "link", 300);
	assert_int_equal(profile_begin(&second), 0);
	assert_int_equal(profile_load(folder, &(struct profile_wish){.from = MINUTE + 1, .to = MINUTE + 2, .program = "ld"}, &second, &damaged), 0);
	assert_int_equal(second.rows.n, 1);
	check_row(&second, 0, "ld", "link", 300);
	assert_int_equal(profile_load(folder, &(struct profile_wish){.from = MINUTE - 99, .to = MINUTE - 90}, &second, &damaged), 0);
}

static void a_minute_that_is_cut_off_costs_itself_alone(void **state)
{
	_cleanup_(profile_free) struct profile p = {};
	struct profile_file *f;
	char path[128];
	unsigned damaged;
	struct stat st;

	assert_int_equal(profile_file_new(folder, &f), 0);
	add(profile_file_profile(f), "cc1", "main", MINUTE, 100);
	assert_int_equal(profile_file_save(f, BEGAN, 10), 0);
	add(profile_file_profile(f), "ld", "main", MINUTE + 1, 200);
	assert_int_equal(profile_file_save(f, BEGAN + 60 * NS_PER_SEC, 10), 0);
	profile_file_free(f);
	snprintf(path, sizeof(path), "%s/1790000000.pb.gz", folder);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(truncate(path, st.st_size - 5), 0);
	assert_int_equal(profile_begin(&p), 0);
	assert_int_equal(profile_load(folder, &(struct profile_wish){.from = MINUTE, .to = MINUTE + 9}, &p, &damaged), 0);
	assert_int_equal(p.rows.n, 1);
	check_row(&p, 0, "cc1", "main", 100);
}

static void of_too_many_stacks_the_heaviest_stay(void **state)
{
	_cleanup_(profile_free) struct profile p = {};
	struct profile_file *f;
	unsigned damaged;
	char name[16];

	assert_int_equal(profile_file_new(folder, &f), 0);
	for (uint64_t i = 1; i <= 20; i++) {
		snprintf(name, sizeof(name), "f%u", (unsigned)i);
		add(profile_file_profile(f), "cc1", name, MINUTE, i * 100);
	}
	assert_int_equal(profile_file_save(f, BEGAN, 5), 0);
	profile_file_free(f);
	assert_int_equal(profile_begin(&p), 0);
	assert_int_equal(profile_load(folder, &(struct profile_wish){.from = MINUTE, .to = MINUTE + 1}, &p, &damaged), 0);
	assert_int_equal(p.rows.n, 6);
	check_row(&p, 0, "cc1", "f20", 2000);
	check_row(&p, 4, "cc1", "f16", 1600);
	assert_int_equal(p.stacks.v[p.rows.v[5].stack].n, 0);
	assert_int_equal(p.rows.v[5].cpu, 100 * 15 * 16 / 2);
	assert_int_equal(p.rows.v[5].waited, 15);
}

static void a_file_has_an_hour_and_the_oldest_go(void **state)
{
	struct profile_size left;
	struct profile_file *f;
	int64_t hour = 3600 * NS_PER_SEC;

	assert_int_equal(profile_file_new(folder, &f), 0);
	for (int64_t i = 0; i < 4; i++) {
		add(profile_file_profile(f), "cc1", "main", MINUTE + 60 * i, 100);
		assert_int_equal(profile_file_save(f, BEGAN + i * hour, 5), 0);
		assert_int_equal(profile_file_save(f, BEGAN + (i + 1) * hour - 1, 5), 0);
		assert_int_equal(profile_file_save(f, BEGAN + (i + 1) * hour, 5), 0);
	}
	profile_file_free(f);
	assert_int_equal(profile_trim(folder, 0, 0, &left), 0);
	assert_int_equal(left.files, 4);
	assert_int_equal(profile_trim(folder, 2 * hour, 0, &left), 0);
	assert_int_equal(left.files, 3);
	assert_int_equal(profile_trim(folder, 0, left.bytes / 3 * 2, &left), 0);
	assert_int_equal(left.files, 2);
	assert_int_equal(profile_trim(folder, 0, 1, &left), 0);
	assert_int_equal(left.files, 1);
}

static void put_line(struct str *location, uint64_t function)
{
	_cleanup_str_ struct str line = {};

	protobuf_put_number(&line, 1, function);
	protobuf_put_message(location, 4, &line);
}

/* As Go writes it: samples and CPU time, ids in no order, the texts last, numbers that are not packed, an inlined call. */
static void make_foreign(struct str *out)
{
	static const char *const texts[] = {"", "samples", "count", "cpu", "milliseconds", "main.inner", "main.outer", "main.main"};
	_cleanup_str_ struct str type = {}, sample = {}, location = {}, function = {};

	protobuf_put_number(&type, 1, 1);
	protobuf_put_number(&type, 2, 2);
	protobuf_put_message(out, 1, &type);
	str_clear(&type);
	protobuf_put_number(&type, 1, 3);
	protobuf_put_number(&type, 2, 4);
	protobuf_put_message(out, 1, &type);
	protobuf_put_number(&sample, 1, 900);
	protobuf_put_number(&sample, 1, 3);
	protobuf_put_number(&sample, 2, 1);
	protobuf_put_number(&sample, 2, 12);
	protobuf_put_message(out, 2, &sample);
	protobuf_put_number(&location, 1, 900);
	put_line(&location, 41);
	put_line(&location, 40);
	protobuf_put_message(out, 4, &location);
	str_clear(&location);
	protobuf_put_number(&location, 1, 3);
	put_line(&location, 42);
	protobuf_put_message(out, 4, &location);
	for (uint64_t i = 0; i < 3; i++) {
		str_clear(&function);
		protobuf_put_number(&function, 1, 40 + i);
		protobuf_put_number(&function, 2, i == 0 ? 6 : i == 1 ? 5 : 7);
		protobuf_put_message(out, 5, &function);
	}
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		protobuf_put_text(out, 6, texts[i]);
}

static void profiles_of_other_programs_are_read(void **state)
{
	static const char *const expected[] = {"main.inner", "main.outer", "main.main"};
	_cleanup_(profile_free) struct profile p = {};
	_cleanup_free_ char *unit = NULL;
	_cleanup_str_ struct str bytes = {};
	const struct profile_stack *s;

	make_foreign(&bytes);
	assert_int_equal(profile_begin(&p), 0);
	assert_int_equal(pprof_read(bytes.data, bytes.len, &p, &unit), 0);
	assert_string_equal(unit, "ns");
	assert_int_equal(p.rows.n, 1);
	assert_int_equal(p.rows.v[0].cpu, 12000000);
	assert_int_equal(p.rows.v[0].minute, 0);
	s = &p.stacks.v[p.rows.v[0].stack];
	assert_int_equal(s->n, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_string_equal(profile_text_of(&p, p.frames.v[p.chain.v[s->first + i]].name), expected[i]);
}

static void what_is_no_profile_is_refused(void **state)
{
	_cleanup_(profile_free) struct profile p = {};
	_cleanup_free_ char *unit = NULL;

	assert_int_equal(profile_begin(&p), 0);
	assert_int_equal(pprof_read("", 0, &p, &unit), -EBADMSG);
	assert_int_equal(pprof_read("SQLite format 3", 15, &p, &unit), -EBADMSG);
	assert_int_equal(pprof_read("\x1f\x8b nothing", 10, &p, &unit), -EBADMSG);
	assert_null(unit);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

/* Some KB that unpack to millions of names. */
static void a_profile_that_claims_much_is_refused(void **state)
{
	enum { NAMES = 4 << 20 };
	_cleanup_str_ struct str body = {}, packed = {};
	struct profile p;
	char *unit;

	assert_int_equal(str_reserve(&body, 2 * NAMES), 0);
	for (size_t i = 0; i < NAMES; i++)
		memcpy(body.data + 2 * i, "\x32", 2); /* field 6, of no byte */
	body.len = 2 * NAMES;
	assert_int_equal(gzip_pack(body.data, body.len, &packed), 0);
	assert_true(packed.len < 100000);
	assert_int_equal(profile_begin(&p), 0);
	assert_int_equal(pprof_read(packed.data, packed.len, &p, &unit), -EDQUOT);
	assert_null(unit);
	profile_free(&p);
}

RUN_TESTS(IN_FOLDER(minutes_that_are_appended_are_one_profile), IN_FOLDER(a_minute_that_is_cut_off_costs_itself_alone),
	  IN_FOLDER(of_too_many_stacks_the_heaviest_stay), IN_FOLDER(a_file_has_an_hour_and_the_oldest_go),
	  cmocka_unit_test(profiles_of_other_programs_are_read), cmocka_unit_test(what_is_no_profile_is_refused),
	  cmocka_unit_test(a_profile_that_claims_much_is_refused))
