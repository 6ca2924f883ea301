/* Stories with a known end: what makes one who takes much guilty, and another not. */
#include "answer/test-recording.h"

/* Everybody waits for what the camera always writes, and it begins to read a little beside that. */
static void who_always_is_in_the_way_is_not_guilty_of_something_else(void **state)
{
	struct subject *camera, *reader;
	struct charges charges = {.covered = TROUBLE, .total[BOTTLENECK_DISK] = 0.5};
	struct question q = {.at = TICKS - 1, .focus = FROM, .train_to = FROM - 20, .cpus = 2, .charges = &charges};
	struct ranking ranking = {};
	struct story st;

	(void)state;
	begin(&st);
	camera = add(&st, "/bin/camera", 0, TICKS - 1, 0);
	reader = add(&st, "/bin/reader", FROM, TICKS - 1, 0);
	use(camera, FEATURE_IO_WRITE_BYTES, 0, TICKS - 1, 40 * MB);
	use(camera, FEATURE_IO_READ_BYTES, FROM, TICKS - 1, MB / 4);
	use(reader, FEATURE_IO_READ_BYTES, FROM, TICKS - 1, 5 * MB);
	assert_true(VEC_PUSH(charges.list, (struct charge){"editor", camera->program, BOTTLENECK_DISK, false, false, 0.4}) >= 0);
	assert_true(VEC_PUSH(charges.list, (struct charge){"editor", reader->program, BOTTLENECK_DISK, false, false, 0.1}) >= 0);
	q.pressure.now[BOTTLENECK_DISK] = 0.6;
	assert_int_equal(method_blame.rank(&st.d, &q, &ranking), 0);
	assert_true(ranking.suspects.n > 0);
	assert_ptr_equal(ranking.suspects.v[0].subject, reader);
	assert_true(ranking.suspects.n == 1 || ranking.suspects.v[1].score < ranking.suspects.v[0].score / 3);
	ranking_free(&ranking);
	charges_free(&charges);
	end(&st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_always_is_in_the_way_is_not_guilty_of_something_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
