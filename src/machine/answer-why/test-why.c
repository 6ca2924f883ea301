/* Stories with a known end, told to the default model: who must be named, who must not. */
#include "machine/answer-why/test-recording.h"
#include "machine/answer-why/words.h"

#define LATELY (TICKS - 12) /* where no pressure says when it began, the last ten seconds are looked at */

static void a_new_hog_beside_a_bigger_usual_innocent(void **state)
{
	struct subject *innocent, *hog;
	struct story st;

	begin(&st);
	innocent = add(&st, "/bin/innocent", 0, TICKS - 1, 0);
	hog = add(&st, "/bin/hog", FROM, TICKS - 1, 0);
	use(innocent, FEATURE_CPU_TIME, 0, TICKS - 1, 120 * PERCENT);
	use(hog, FEATURE_CPU_TIME, FROM, TICKS - 1, 60 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 60);
	ask(&st, false);
	assert_true(st.answer.slow);
	assert_int_equal(st.answer.bottleneck, BOTTLENECK_CPU);
	assert_ptr_equal(first(&st)->subject, hog);
	assert_string_equal(first(&st)->features.v[0].feature->name, "cpu.time");
	assert_true(score_of(&st, innocent) < 0.1 * score_of(&st, hog));
	assert_true(llabs(st.answer.slow_since - (1000000 + FROM - 1) * NS_PER_SEC) <= 2 * NS_PER_SEC);
	end(&st);
}

/* Every two minutes a job takes a whole CPU for 20 s, in processes that end; now a small one does what it
 * never did. */
static void a_periodic_job_is_big_but_usual(void **state)
{
	struct subject *job = NULL, *small;
	struct story st;

	begin(&st);
	for (uint32_t t = 60; t + 20 < FROM; t += 120) {
		job = add(&st, "/bin/backup", t, t + 20, 0);
		use(job, FEATURE_CPU_TIME, t, t + 20, 100 * PERCENT);
	}
	job = add(&st, "/bin/backup", FROM, TICKS - 1, 0);
	use(job, FEATURE_CPU_TIME, FROM, TICKS - 1, 100 * PERCENT);
	small = add(&st, "/bin/small", 0, TICKS - 1, 0);
	use(small, FEATURE_CPU_TIME, 0, FROM - 1, 2 * PERCENT);
	use(small, FEATURE_CPU_TIME, FROM, TICKS - 1, 45 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 40);
	ask(&st, false);
	assert_ptr_equal(first(&st)->subject, small);
	assert_true(score_of(&st, job) < 0.5 * score_of(&st, small));
	end(&st);
}

static void history_outlives_a_restart(void **state)
{
	struct subject *old, *restarted, *guilty;
	struct story st;

	begin(&st);
	old = add(&st, "/bin/server", 0, FROM - 6, 0);
	restarted = add(&st, "/bin/server", FROM - 4, TICKS - 1, 0);
	guilty = add(&st, "/bin/guilty", 0, TICKS - 1, 0);
	use(old, FEATURE_CPU_TIME, 0, FROM - 6, 80 * PERCENT);
	use(restarted, FEATURE_CPU_TIME, FROM - 4, TICKS - 1, 80 * PERCENT);
	use(guilty, FEATURE_CPU_TIME, FROM, TICKS - 1, 50 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 40);
	ask(&st, false);
	assert_ptr_equal(first(&st)->subject, guilty);
	assert_true(score_of(&st, restarted) < 0.1 * score_of(&st, guilty));
	end(&st);
}

static void two_slow_only_together(void **state)
{
	struct subject *word, *scanner;
	struct story st;

	begin(&st);
	word = add(&st, "/bin/word", 0, TICKS - 1, 0);
	scanner = add(&st, "/bin/scanner", 0, TICKS - 1, 0);
	use(word, FEATURE_IO_READ_BYTES, FROM, TICKS - 1, 40 * MB);
	use(scanner, FEATURE_IO_READ_BYTES, FROM, TICKS - 1, 60 * MB);
	press(&st, FEATURE_PSI_IO_SOME, 1, 70);
	ask(&st, false);
	assert_int_equal(st.answer.bottleneck, BOTTLENECK_DISK);
	assert_ptr_equal(first(&st)->subject, scanner);
	assert_ptr_equal(st.answer.ranking.suspects.v[1].subject, word);
	assert_int_equal(st.answer.ranking.suspects.v[1].role, ROLE_CONTRIBUTING);
	assert_true(score_of(&st, word) > 0.3 * score_of(&st, scanner));
	end(&st);
}

/* Under reclaim the victims read the disk; who took the memory is guilty, even in a group small beside the
 * machine. */
static void under_reclaim_the_grower_is_named(void **state)
{
	struct subject *grower, *victim;
	struct story st;

	begin(&st);
	grower = add(&st, "/bin/grower", 0, TICKS - 1, 0);
	victim = add(&st, "/bin/victim", 0, TICKS - 1, 0);
	level(grower, FEATURE_MEM_ANON, 0, 20 * MB);
	level(grower, FEATURE_MEM_ANON, FROM, 900 * MB);
	level(victim, FEATURE_MEM_ANON, 0, 300 * MB);
	use(victim, FEATURE_IO_READ_BYTES, FROM, TICKS - 1, 80 * MB);
	press(&st, FEATURE_PSI_MEMORY_SOME, 0, 40);
	press(&st, FEATURE_PSI_IO_SOME, 1, 70);
	ask(&st, false);
	assert_int_equal(st.answer.bottleneck, BOTTLENECK_MEMORY);
	assert_ptr_equal(first(&st)->subject, grower);
	assert_string_equal(first(&st)->features.v[0].feature->name, "mem.anon");
	end(&st);
}

/* On a machine that has this pressure. */
static void a_leak_of_handles_with(int feature, int64_t normal_pressure, int64_t pressure, bool pressed)
{
	struct subject *leak;
	struct story st;

	begin(&st);
	leak = add(&st, "/bin/leak", 0, TICKS - 1, 0);
	level(leak, FEATURE_HANDLES_FILES, 0, 12);
	for (uint32_t t = FROM; t < TICKS; t++)
		level(leak, FEATURE_HANDLES_FILES, t, 12 + 200 * (t - FROM + 1));
	press(&st, feature, normal_pressure, pressure);
	ask(&st, pressed);
	assert_true(st.answer.slow);
	assert_ptr_equal(first(&st)->subject, leak);
	assert_string_equal(first(&st)->features.v[0].feature->name, "handles.files");
	assert_true(first(&st)->features.v[0].flags & FINDING_LEFT_ONLY_VALUE);
	assert_string_equal(st.answer.cause, "file-handles");
	end(&st);
}

static void a_leak_of_handles_leaves_its_only_value(void **state)
{
	a_leak_of_handles_with(FEATURE_PSI_CPU_SOME, 1, 1, false);
	a_leak_of_handles_with(FEATURE_PSI_IO_SOME, 11, 27, true);
}

static void many_small_processes_are_one_group(void **state)
{
	struct story st;

	begin(&st);
	for (int i = 0; i < 20; i++) {
		struct subject *s = add(&st, "/usr/bin/cc1", FROM + (uint32_t)i % 3, TICKS - 1, 0);

		use(s, FEATURE_CPU_TIME, s->first, TICKS - 1, 10 * PERCENT);
	}
	press(&st, FEATURE_PSI_CPU_SOME, 1, 80);
	ask(&st, false);
	assert_int_equal(first(&st)->kind, CULPRIT_GROUP);
	assert_int_equal(first(&st)->members, 20);
	end(&st);
}

static void a_busy_machine_that_nobody_waits_on_is_not_slow(void **state)
{
	struct subject *busy;
	struct story st;

	begin(&st);
	busy = add(&st, "/bin/busy", FROM, TICKS - 1, 0);
	use(busy, FEATURE_CPU_TIME, FROM, TICKS - 1, 90 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 1, 3);
	ask(&st, false);
	assert_false(st.answer.slow);
	assert_int_equal(st.answer.bottleneck, BOTTLENECK_NONE);
	end(&st);
}

/* A niced burner keeps the pressure at the top; a new hog can only be seen by how much more is waited. */
static void a_saturated_pressure_hides_no_hog(void **state)
{
	struct subject *burner, *victim, *hog;
	struct story st;

	begin(&st);
	burner = add(&st, "/bin/burner", 0, TICKS - 1, 0);
	victim = add(&st, "/bin/victim", 0, TICKS - 1, 0);
	hog = add(&st, "/bin/hog", FROM, TICKS - 1, 0);
	use(burner, FEATURE_CPU_TIME, 0, FROM - 1, 150 * PERCENT);
	use(burner, FEATURE_CPU_TIME, FROM, TICKS - 1, 60 * PERCENT);
	use(victim, FEATURE_CPU_TIME, 0, TICKS - 1, 30 * PERCENT);
	use(victim, FEATURE_CPU_RUN_DELAY, 0, FROM - 1, 10 * PERCENT);
	use(victim, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 70 * PERCENT);
	use(hog, FEATURE_CPU_TIME, FROM, TICKS - 1, 90 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 97, 98);
	ask(&st, true);
	assert_ptr_equal(first(&st)->subject, hog);
	assert_true(first(&st)->score > 0.2);
	end(&st);
}

/* Others let go of the CPU: who takes what is free now is not to blame, a leak beside it is. */
static void taking_what_others_left_is_no_guilt(void **state)
{
	struct subject *left, *taker, *leak;
	struct story st;

	begin(&st);
	left = add(&st, "/bin/left", 0, TICKS - 1, 0);
	taker = add(&st, "/bin/taker", 0, TICKS - 1, 0);
	leak = add(&st, "/bin/leak", FROM, TICKS - 1, 0);
	use(left, FEATURE_CPU_TIME, 0, FROM - 1, 120 * PERCENT);
	use(taker, FEATURE_CPU_TIME, 0, FROM - 1, 50 * PERCENT);
	use(taker, FEATURE_CPU_TIME, FROM, TICKS - 1, 110 * PERCENT);
	use(taker, FEATURE_CPU_RUN_DELAY, 0, FROM - 1, 90 * PERCENT);
	use(taker, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 40 * PERCENT);
	level(leak, FEATURE_HANDLES_FILES, FROM, 6000);
	press(&st, FEATURE_PSI_CPU_SOME, 96, 65);
	ask(&st, true);
	assert_ptr_equal(first(&st)->subject, leak);
	end(&st);
}

static void a_trickle_of_writes_is_not_the_stream_of_reads(void **state)
{
	struct entity_info info = {.id = 9000, .kind = ENTITY_DISK, .name = (char *)"vda"};
	struct subject *trickle, *stream, *disk;
	struct story st;

	begin(&st);
	trickle = add(&st, "/bin/trickle", FROM, TICKS - 1, 0);
	stream = add(&st, "/bin/stream", FROM, TICKS - 1, 0);
	use(trickle, FEATURE_IO_WRITE_BYTES, FROM, TICKS - 1, MB);
	use(stream, FEATURE_IO_READ_BYTES, FROM, TICKS - 1, 300 * MB);
	disk = dataset_define(&st.d, &info);
	disk->first = 0;
	disk->last = TICKS - 1;
	use(disk, FEATURE_DISK_READ_TIME, FROM, TICKS - 1, 95 * PERCENT);
	use(disk, FEATURE_DISK_WRITE_TIME, FROM, TICKS - 1, 2 * PERCENT);
	press(&st, FEATURE_PSI_IO_SOME, 1, 70);
	ask(&st, false);
	assert_ptr_equal(first(&st)->subject, stream);
	assert_true(score_of(&st, trickle) < 0.1 * score_of(&st, stream));
	end(&st);
}

/* Asked eight seconds after it was over. */
/* For the CPU: percents normally, and from the beginning of the incident to tick `over`. */
static void add_pressure(struct story *st, int64_t usual, int64_t trouble, uint32_t over)
{
	struct entity_info info = {.id = 9000, .kind = ENTITY_SYSTEM, .name = (char *)"machine"};
	struct subject *system = dataset_define(&st->d, &info);

	system->first = 0;
	system->last = TICKS - 1;
	use(system, FEATURE_PSI_CPU_SOME, 0, FROM - 1, usual * PERCENT);
	use(system, FEATURE_PSI_CPU_SOME, FROM, over, trouble * PERCENT);
	use(system, FEATURE_PSI_CPU_SOME, over + 1, TICKS - 1, usual * PERCENT);
}

static void a_trouble_just_over_is_still_explained(void **state)
{
	struct why_request request = {.at = (1000000 + TICKS - 1) * NS_PER_SEC,
				      .window = 4 * 3600 * NS_PER_SEC};
	struct subject *hog;
	struct story st;

	begin(&st);
	hog = add(&st, "/bin/hog", FROM, TICKS - 9, 0);
	use(hog, FEATURE_CPU_TIME, FROM, TICKS - 9, 90 * PERCENT);
	add_pressure(&st, 1, 60, TICKS - 9);
	assert_int_equal(why_answer(&st.d, &request, &st.answer), 0);
	assert_true(st.answer.slow);
	assert_ptr_equal(first(&st)->subject, hog);
	assert_true(llabs(st.answer.slow_until - (1000000 + TICKS - 9) * NS_PER_SEC) <= 2 * NS_PER_SEC);
	assert_non_null(strstr(st.answer.summary, "was slow for"));
	end(&st);
}

/* It writes every now and then for long: high a third of the time, nothing in the median. */
static void what_is_often_done_is_no_excess(void **state)
{
	struct subject *camera, *fsyncer;
	struct story st;

	begin(&st);
	camera = add(&st, "/bin/camera", 0, TICKS - 1, 0);
	fsyncer = add(&st, "/bin/fsyncer", FROM, TICKS - 1, 0);
	use(camera, FEATURE_IO_WRITE_BYTES, 100, 400, 40 * MB);
	use(camera, FEATURE_IO_WRITE_BYTES, FROM, TICKS - 1, 40 * MB);
	use(fsyncer, FEATURE_IO_WRITE_BYTES, FROM, TICKS - 1, 8 * MB);
	press(&st, FEATURE_PSI_IO_SOME, 5, 60);
	ask(&st, true);
	assert_ptr_equal(first(&st)->subject, fsyncer);
	assert_true(score_of(&st, camera) < 0.34 * score_of(&st, fsyncer));
	end(&st);
}

/* waiting: of its threads, for a CPU, on average. */
static void begin_swarm(struct story *st, int64_t waiting)
{
	struct subject *swarm;

	begin(st);
	swarm = add(st, "/bin/swarm", FROM, TICKS - 1, 0);
	use(swarm, FEATURE_CPU_TIME, FROM, TICKS - 1, 120 * PERCENT);
	use(swarm, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, waiting * NS_PER_SEC);
	level(swarm, FEATURE_THREADS, FROM, 100000);
	use(add(st, "/bin/editor", 0, TICKS - 1, 0), FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, NS_PER_SEC);
	press(st, FEATURE_PSI_CPU_SOME, 2, 60);
	ask(st, false);
	assert_int_equal(st->answer.bottleneck, BOTTLENECK_CPU);
}

static void hundreds_of_threads_on_the_cpu_are_named_as_such(void **state)
{
	struct story st;

	begin_swarm(&st, 50000);
	assert_string_equal(first(&st)->features.v[0].feature->name, "threads.count");
	assert_string_equal(first(&st)->features.v[1].feature->name, "cpu.time");
	end(&st);
}

/* One of them computes. */
static void hundreds_of_threads_that_rest_are_no_crowd(void **state)
{
	struct story st;

	begin_swarm(&st, 0);
	assert_string_equal(first(&st)->features.v[0].feature->name, "cpu.time");
	assert_string_not_equal(st.answer.cause, "threads");
	end(&st);
}

/* The machine was pressed a moment ago, which a little work came with; since then a program computes, and the pressure is as always. */
static void what_stands_out_at_the_press_counts_more(void **state)
{
	const uint32_t over = TICKS - 12, begun = TICKS - 7;
	struct subject *small, *renderer, *hog;
	struct story st;

	begin(&st);
	renderer = add(&st, "/bin/renderer", 0, TICKS - 1, 0);
	use(renderer, FEATURE_CPU_TIME, 0, TICKS - 1, 80 * PERCENT);
	small = add(&st, "/bin/small", 0, TICKS - 1, 0);
	use(small, FEATURE_CPU_TIME, 0, FROM - 1, 2 * PERCENT);
	use(small, FEATURE_CPU_TIME, FROM, over, 7 * PERCENT / 2);
	use(small, FEATURE_CPU_TIME, over + 1, TICKS - 1, 2 * PERCENT);
	hog = add(&st, "/bin/hog", begun, TICKS - 1, 0);
	use(hog, FEATURE_CPU_TIME, begun, TICKS - 1, 180 * PERCENT);
	add_pressure(&st, 80, 95, over);
	ask(&st, true);
	assert_ptr_equal(first(&st)->subject, hog);
	end(&st);
}

/* The suspects with their scores, and the pressures, as text. The caller frees it. */
static char *order_of(struct story *st, bool marked)
{
	struct mark mark = {.wall = (1000000 + TICKS - 1) * NS_PER_SEC, .last = (1000000 + TICKS - 1) * NS_PER_SEC, .presses = 1};
	struct why_request request = {.at = mark.wall, .window = 4 * 3600 * NS_PER_SEC, .marked = marked, .marks = &mark, .n_marks = marked};
	const struct answer *a = &st->answer;
	struct str text = {};

	assert_int_equal(why_answer(&st->d, &request, &st->answer), 0);
	str_printf(&text, "%g ", a->pressure.now[BOTTLENECK_CPU] + a->pressure.now[BOTTLENECK_DISK]);
	for (size_t i = 0; i < a->ranking.suspects.n; i++)
		str_printf(&text, "%s %g ", a->ranking.suspects.v[i].subject->info.name, a->ranking.suspects.v[i].score);
	for (size_t i = 0; i < a->unnamed.n; i++)
		str_printf(&text, "%s %g ", a->unnamed.v[i].subject->info.name, a->unnamed.v[i].score);
	answer_free(&st->answer);
	return text.data;
}

/* One program reads and has stopped, the other computes when the button is pressed. */
static void a_mark_changes_no_order(void **state)
{
	for (int64_t cpu = 0; cpu <= 90; cpu += 10) {
		char *unmarked, *marked;
		struct subject *hog;
		struct story st;

		begin(&st);
		hog = add(&st, "/bin/hog", TICKS - 60, TICKS - 1, 0);
		use(hog, FEATURE_CPU_TIME, TICKS - 60, TICKS - 21, 30 * PERCENT); /* which it did in the minute before a press, too */
		use(hog, FEATURE_CPU_TIME, TICKS - 5, TICKS - 1, cpu * PERCENT);
		use(add(&st, "/bin/reader", 0, TICKS - 1, 0), FEATURE_IO_READ_BYTES, TICKS - 20, TICKS - 8, 80 * MB);
		add_pressure(&st, 3, 60, TICKS - 8);
		unmarked = order_of(&st, false);
		marked = order_of(&st, true);
		assert_string_equal(unmarked, marked);
		free(unmarked);
		free(marked);
		dataset_free(&st.d);
	}
}

static void marked_incidents_are_not_learnt(void **state)
{
	struct mark marks[4];
	struct why_request request = {.at = (1000000 + TICKS - 1) * NS_PER_SEC,
				      .window = 4 * 3600 * NS_PER_SEC};
	struct subject *hog;
	double learnt, excluded;
	struct story st;

	begin(&st);
	hog = add(&st, "/bin/hog", 0, TICKS - 1, 0);
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t t = 100 + 180 * i;

		use(hog, FEATURE_CPU_TIME, t, t + 30, 90 * PERCENT);
		marks[i] = (struct mark){.wall = (1000000 + t + 31) * NS_PER_SEC,
					 .last = (1000000 + t + 31) * NS_PER_SEC,
					 .presses = 1};
	}
	use(hog, FEATURE_CPU_TIME, FROM, TICKS - 1, 90 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 50);
	ask(&st, false);
	learnt = score_of(&st, hog);
	answer_free(&st.answer);
	request.marks = marks;
	request.n_marks = 4;
	assert_int_equal(why_answer(&st.d, &request, &st.answer), 0);
	excluded = first(&st)->score;
	assert_true(excluded > 3 * learnt);
	end(&st);
}

/* Who presses the button every 20 s says that each moment is slow: then what always was is what there is to compare with. */
static void many_marks_leave_a_past(void **state)
{
	struct mark marks[TICKS / 20];
	struct why_request request = {.at = (1000000 + TICKS - 1) * NS_PER_SEC, .window = 4 * 3600 * NS_PER_SEC, .marks = marks,
				      .n_marks = TICKS / 20};
	struct subject *script;
	struct story st;

	for (int64_t i = 0; i < TICKS / 20; i++)
		marks[i] = (struct mark){.wall = (1000000 + 20 * i) * NS_PER_SEC, .last = (1000000 + 20 * i) * NS_PER_SEC, .presses = 1};
	begin(&st);
	script = add(&st, "/bin/script", 0, TICKS - 1, 0);
	script->info.start = NS_PER_SEC; /* it is older than the recording */
	use(script, FEATURE_CPU_TIME, 0, TICKS - 1, 13 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 13, 13);
	assert_int_equal(why_answer(&st.d, &request, &st.answer), 0);
	assert_false(isnan(st.answer.pressure.usual[BOTTLENECK_CPU]));
	assert_false(st.answer.slow);
	end(&st);
}

/* The paper learns from the whole block, the event in it: with n samples nothing is further from their mean than sqrt(n) of
 * their standard deviation. */
static void in_block_mode_the_marked_event_is_learnt(void **state)
{
	const struct mark mark = {.wall = (1000000 + TICKS - 1) * NS_PER_SEC, .last = (1000000 + TICKS - 1) * NS_PER_SEC, .presses = 1};
	struct why_request request = {.at = mark.wall,
				      .window = 4 * 3600 * NS_PER_SEC,
				      .method = &method_gaussian,
				      .block = true,
				      .marks = &mark,
				      .n_marks = 1};
	const struct suspect *s;
	struct subject *hog;
	struct story st;

	begin(&st);
	hog = add(&st, "/bin/hog", 0, TICKS - 1, 0);
	for (size_t f = 0; f < PROCESS_FEATURE_COUNT; f++)
		for (uint32_t t = 0; hog->features[f].kind == COUNTER && t < TICKS; t++)
			use(hog, f, t, t, hog->features[f].quantum * (t < TICKS - 2 ? t % 2 : 100000));
	press(&st, FEATURE_PSI_CPU_SOME, 2, 50);
	assert_int_equal(why_answer(&st.d, &request, &st.answer), 0);
	s = first(&st);
	for (size_t i = 0; i < s->features.n; i++)
		assert_true(fabs(s->features.v[i].deviation) <= sqrt(s->features.v[i].compared));
	end(&st);
}

/* A run of a program from tick `from` to `to` whose beginning was recorded; it reads for the first 30 s of
 * them. */
static struct subject *run_of(struct story *st, const char *exe, uint32_t from, uint32_t to,
			      uint32_t reads_until)
{
	struct subject *s = add(st, exe, from, to, 0);

	s->info.start = (uint64_t)((1000 + from) * NS_PER_SEC - NS_PER_SEC / 2);
	use(s, FEATURE_IO_READ_BYTES, from, reads_until, 80 * MB);
	return s;
}

/* A user opens a shell, which reads a little from a disk that has next to nothing to do. */
static void add_little_work(struct story *st)
{
	struct entity_info disk = {.id = ++st->next_id, .kind = ENTITY_DISK, .name = (char *)"vda"};
	struct subject *editor = add(st, "/bin/editor", 0, TICKS - 1, 0), *shell = add(st, "/bin/shell", LATELY, TICKS - 1, 0);
	struct subject *vda = dataset_define(&st->d, &disk);

	vda->first = 0;
	vda->last = TICKS - 1;
	use(vda, FEATURE_DISK_BUSY, 0, TICKS - 1, PERCENT);
	use(editor, FEATURE_CPU_TIME, 0, TICKS - 1, 2 * PERCENT);
	use(shell, FEATURE_CPU_TIME, LATELY, TICKS - 1, 5 * PERCENT);
	use(shell, FEATURE_IO_READ_BYTES, LATELY, TICKS - 1, MB / 2);
	use(shell, FEATURE_NET_RX_BYTES, LATELY, TICKS - 1, MB / 2);
	level(shell, FEATURE_HANDLES_FILES, LATELY, 20);
	level(editor, FEATURE_HANDLES_FILES, 0, 4000);
	use(editor, FEATURE_WAIT_NETWORK, 0, TICKS - 1, 99 * PERCENT);
	press(st, FEATURE_PSI_CPU_SOME, 1, 1);
	press(st, FEATURE_PSI_IO_SOME, 1, 1);
}

static void a_press_on_a_calm_machine_finds_nothing(void **state)
{
	struct why_request request = {.at = (1000000 + TICKS - 1) * NS_PER_SEC, .marked = true};
	const int64_t windows[] = {3600 * NS_PER_SEC, 14 * NS_PER_SEC, 5 * NS_PER_SEC}; /* the recorder may have begun a moment ago */

	for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		struct story st;

		begin(&st);
		add_little_work(&st);
		request.window = windows[i];
		assert_int_equal(why_answer(&st.d, &request, &st.answer), 0);
		assert_false(st.answer.slow);
		assert_string_equal(st.answer.cause, "nothing");
		assert_non_null(strstr(st.answer.summary, "nothing unusual"));
		end(&st);
	}
}

/* It always pages for its first half minute, and has just begun again: the one beside it is guilty. */
static void a_start_as_always_is_innocent(void **state)
{
	struct subject *office = NULL, *indexer;
	struct story st;

	begin(&st);
	for (uint32_t t = 20; t + 250 < FROM; t += 270)
		office = run_of(&st, "/bin/office", t, t + 200, t + 29);
	office = run_of(&st, "/bin/office", FROM, TICKS - 1, TICKS - 1);
	indexer = add(&st, "/bin/indexer", 0, TICKS - 1, 0);
	use(indexer, FEATURE_IO_READ_BYTES, FROM, TICKS - 1, 20 * MB);
	press(&st, FEATURE_PSI_IO_SOME, 1, 60);
	ask(&st, false);
	assert_ptr_equal(first(&st)->subject, indexer);
	assert_true(score_of(&st, office) < 0.25 * score_of(&st, indexer));
	end(&st);
}

/* The same program at the same pace, but a minute and a half after its start: by then it was always done. */
static void a_start_that_goes_on_for_unusually_long_is_named(void **state)
{
	struct subject *office = NULL, *indexer;
	struct story st;

	begin(&st);
	for (uint32_t t = 20; t + 250 < FROM; t += 270)
		office = run_of(&st, "/bin/office", t, t + 200, t + 29);
	office = run_of(&st, "/bin/office", FROM - 60, TICKS - 1, TICKS - 1);
	indexer = add(&st, "/bin/indexer", 0, TICKS - 1, 0);
	use(indexer, FEATURE_IO_READ_BYTES, FROM, TICKS - 1, 20 * MB);
	press(&st, FEATURE_PSI_IO_SOME, 1, 60);
	ask(&st, false);
	assert_ptr_equal(first(&st)->subject, office);
	assert_true(first(&st)->evidence.n == 1);
	assert_non_null(strstr(first(&st)->evidence.v[0], "3 earlier starts of it at the same age"));
	assert_true(first(&st)->features.v[0].usual < MB); /* at that age */
	end(&st);
}

/* Nobody knows what it did when it was young: it was running when the recording began. */
static void of_a_start_nobody_saw_nothing_is_learnt(void **state)
{
	struct subject *office = NULL;
	struct story st;

	begin(&st);
	for (uint32_t t = 20; t + 250 < FROM; t += 270) {
		office = run_of(&st, "/bin/office", t, t + 200, t + 29);
		office->info.start = NS_PER_SEC;
	}
	office = run_of(&st, "/bin/office", FROM, TICKS - 1, TICKS - 1);
	press(&st, FEATURE_PSI_IO_SOME, 1, 60);
	ask(&st, false);
	assert_true(st.answer.slow);
	assert_ptr_equal(first(&st)->subject, office);
	assert_true(first(&st)->evidence.n == 0);
	end(&st);
}

/* A service of that name in another unit has started three times: it is no news that it reads when it starts.
 */
static void the_same_executable_elsewhere_is_a_peer(void **state)
{
	struct subject *other, *own;
	struct story st;

	begin(&st);
	for (uint32_t t = 20; t + 250 < FROM; t += 270) {
		other = run_of(&st, "/bin/database", t, t + 200, t + 29);
		free(other->program);
		other->program = strdup("/bin/database|a.service");
	}
	own = run_of(&st, "/bin/database", FROM, TICKS - 1, TICKS - 1);
	free(own->program);
	own->program = strdup("/bin/database|b.service");
	press(&st, FEATURE_PSI_IO_SOME, 1, 60);
	ask(&st, false);
	assert_true(score_of(&st, own) < 0.05);
	end(&st);
}

static void without_a_past_it_says_so(void **state)
{
	struct why_request request = {.at = 1005 * NS_PER_SEC, .window = 3600 * NS_PER_SEC, .marked = true};
	struct story st = {};
	struct subject *hog;

	for (int i = 0; i < 6; i++)
		dataset_add_tick(&st.d, (1000 + i) * NS_PER_SEC, (1000 + i) * NS_PER_SEC, i ? NS_PER_SEC : 0);
	hog = add(&st, "/bin/hog", 0, 5, 0);
	use(hog, FEATURE_CPU_TIME, 1, 5, 95 * PERCENT);
	assert_int_equal(why_answer(&st.d, &request, &st.answer), 0);
	assert_false(st.answer.has_history);
	assert_true(st.answer.remarks.n > 0);
	assert_true(isnan(st.answer.confidence) && isnan(st.answer.ranking.unexplained) && isnan(first(&st)->explains.share));
	assert_ptr_equal(first(&st)->subject, hog);
	assert_true(isnan(first(&st)->features.v[0].usual));
	end(&st);
}

/* Three hours lie between the first minute that was recorded and the others. */
static void what_nobody_recorded_is_not_compared_with(void **state)
{
	struct story st;

	begin(&st);
	for (size_t i = 0; i < 60; i++)
		st.d.ticks.v[i].wall -= 3 * 3600 * NS_PER_SEC;
	use(add(&st, "/bin/editor", 0, TICKS - 1, 0), FEATURE_CPU_TIME, 0, TICKS - 1, 10 * PERCENT);
	ask(&st, false);
	assert_true(st.answer.window_end - st.answer.window_start > 3 * 3600 * NS_PER_SEC);
	assert_int_equal(st.answer.recorded, (TICKS - 1) * NS_PER_SEC);
	assert_non_null(strstr(st.answer.summary, "compared with their last 14 min 59 s"));
	end(&st);
}

static void install(struct story *st, int64_t second, const char *text)
{
	struct note note = {NOTE_PACKAGE, (1000000 + second) * NS_PER_SEC, strdup(text)};

	assert_int_equal(VEC_PUSH(st->d.notes, note), 0);
}

static void software_that_changed_shortly_before_is_one_remark(void **state)
{
	struct subject *hog;
	struct story st;

	begin(&st);
	hog = add(&st, "/bin/hog", FROM, TICKS - 1, 0);
	use(hog, FEATURE_CPU_TIME, FROM, TICKS - 1, 95 * PERCENT);
	install(&st, FROM - 3600, "upgraded libc6"); /* an hour before: of no use */
	install(&st, FROM - 20, "installed a");
	install(&st, FROM - 10, "installed b");
	install(&st, FROM + 1, "installed c");
	press(&st, FEATURE_PSI_CPU_SOME, 2, 60);
	ask(&st, false);
	assert_int_equal(st.answer.remarks.n, 1);
	assert_non_null(strstr(st.answer.remarks.v[0], "installed c, the last of 3 packages"));
	end(&st);
}

static void folded_programs_are_one_remark(void **state)
{
	struct subject *hog;
	struct story st;

	begin(&st);
	hog = add(&st, "/bin/hog", FROM, TICKS - 1, 0);
	use(hog, FEATURE_CPU_TIME, FROM, TICKS - 1, 95 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 60);
	for (size_t i = 0; i < st.d.subjects.n; i++)
		for (uint32_t t = FROM; st.d.subjects.v[i]->info.kind == ENTITY_SYSTEM && t < TICKS; t++)
			assert_int_equal(series_push(&st.d.subjects.v[i]->series[FEATURE_SYS_FOLDED_NAMES], t, 2000), 0);
	ask(&st, false);
	assert_int_equal(st.answer.remarks.n, 1);
	assert_non_null(strstr(st.answer.remarks.v[0], "000 are summed by name, and as (other programs)"));
	end(&st);
}

static bool says(const struct story *st, const char *words)
{
	for (size_t i = 0; i < st->answer.remarks.n; i++)
		if (strstr(st->answer.remarks.v[i], words))
			return true;
	return false;
}

/* Whether events are in the answer is no guess of its reader's. */
static void events_that_come_too_late_are_left_out_and_that_is_said(void **state)
{
	static const struct {
		int64_t until;
		bool there, said;
	} cases[] = {{0, true, false}, {INT64_MAX, true, false}, {1, true, true}, {INT64_MAX, false, true}, {0, false, false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct trace trace = {};
		struct why_request request = {.at = (1000000 + TICKS - 1) * NS_PER_SEC, .window = 3600 * NS_PER_SEC,
					      .trace = cases[i].there ? &trace : NULL, .events_until = cases[i].until};
		struct story st;

		begin(&st);
		use(add(&st, "/bin/hog", FROM, TICKS - 1, 0), FEATURE_CPU_TIME, FROM, TICKS - 1, 60 * PERCENT);
		press(&st, FEATURE_PSI_CPU_SOME, 2, 60);
		dataset_finish(&st.d);
		assert_int_equal(why_answer(&st.d, &request, &st.answer), 0);
		assert_int_equal(says(&st, "whyslow why --wait"), cases[i].said);
		end(&st);
	}
}

static void a_moment_nobody_recorded_is_refused(void **state)
{
	struct why_request request = {.at = 5000000 * NS_PER_SEC, .window = 3600 * NS_PER_SEC};
	struct story st;

	begin(&st);
	assert_int_equal(why_answer(&st.d, &request, &st.answer), -ENODATA);
	request.at = 10 * NS_PER_SEC;
	assert_int_equal(why_answer(&st.d, &request, &st.answer), -ENODATA);
	dataset_free(&st.d);
}

/* Improbable by its own measure, but neither since when nor because of whom is known. */
static void what_is_like_all_of_the_past_is_not_called_slow(void **state)
{
	struct subject big = {.info = {.name = (char *)"big", .pid = 7, .kind = ENTITY_PROCESS}};
	struct answer a = {.slow = true, .has_history = true, .window_end = 60 * NS_PER_SEC, .confidence = NAN, .bottleneck = BOTTLENECK_CPU,
			   .busiest = {.subject = &big, .of = BOTTLENECK_CPU, .share = NAN, .members = 1}};
	const struct causes none = {};
	const struct facts facts = {.slow = true};

	a.pressure.now[BOTTLENECK_CPU] = 0.96;
	assert_int_equal(words_of_answer(&a, &facts, &none), 0);
	assert_false(a.slow);
	assert_non_null(strstr(a.summary, "nothing unusual"));
	assert_non_null(strstr(a.summary, "96 % of the time, and the largest user is big"));
	free(a.summary);
}

/* Files that a program opens when it is started, or that one which was there opens in the incident. */
static bool opener_is_named(uint32_t started)
{
	struct subject *opener;
	struct story st;
	bool named;

	begin(&st);
	use(add(&st, "/bin/editor", 0, TICKS - 1, 0), FEATURE_CPU_TIME, 0, TICKS - 1, PERCENT);
	if (started >= FROM)
		use(add(&st, "/bin/opener", 0, 100, 0), FEATURE_CPU_TIME, 0, 100, PERCENT);
	opener = add(&st, "/bin/opener", started, TICKS - 1, 0);
	level(opener, FEATURE_HANDLES_FILES, started, 10);
	level(opener, FEATURE_HANDLES_FILES, FROM + 1, 700);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 2);
	ask(&st, true);
	named = st.answer.culprit_is_named && strcmp(first(&st)->subject->program, opener->program) == 0;
	end(&st);
	return named;
}

static void files_of_a_start_are_no_leak(void **state)
{
	assert_true(opener_is_named(0));
	assert_false(opener_is_named(FROM + 1));
}

/* Programs of which one was there before, and each of which has opened some files more: nothing has leaked where each has but a few. */
static bool many_openers_are_named(unsigned n, int64_t each)
{
	struct subject *opener;
	struct story st;
	bool named;

	begin(&st);
	use(add(&st, "/bin/editor", 0, TICKS - 1, 0), FEATURE_CPU_TIME, 0, TICKS - 1, PERCENT);
	for (unsigned i = 0; i < n; i++) {
		opener = add(&st, "/bin/opener", 0, TICKS - 1, 0);
		level(opener, FEATURE_HANDLES_FILES, 0, 3);
		level(opener, FEATURE_HANDLES_FILES, FROM + 1, 3 + each);
	}
	press(&st, FEATURE_PSI_CPU_SOME, 2, 2);
	ask(&st, true);
	named = st.answer.culprit_is_named && strcmp(first(&st)->subject->info.name, "opener") == 0;
	end(&st);
	return named;
}

static void a_few_files_of_each_of_many_are_no_leak(void **state)
{
	assert_true(many_openers_are_named(1, 2400));
	assert_false(many_openers_are_named(300, 8));
}

/* 120 programs come and go, each of which waits for a CPU while it is there: more of them for a while now. */
static void come_and_go(struct story *st)
{
	char names[120][16];

	for (uint32_t t = 0; t < TICKS; t += t < FROM ? 3 : 2) {
		uint32_t until = t + 2 < TICKS ? t + 2 : TICKS - 1;
		struct subject *s;

		snprintf(names[t / 2 % 120], sizeof(names[0]), "/bin/brief%u", t / 2 % 120);
		s = add(st, names[t / 2 % 120], t, until, 0);
		use(s, FEATURE_CPU_TIME, t, until, 30 * PERCENT);
		use(s, FEATURE_CPU_RUN_DELAY, t, until, 15 * PERCENT);
	}
	press(st, FEATURE_PSI_CPU_SOME, 20, 25);
}

/* Files that are opened as fast as ever since the program began do not belong to its start. */
static void a_new_leak_is_named_beside_programs_that_come_and_go(void **state)
{
	struct subject *leak;
	struct story st;

	begin(&st);
	come_and_go(&st);
	leak = add(&st, "/bin/leak", TICKS - 16, TICKS - 1, 0);
	for (uint32_t t = TICKS - 16; t < TICKS; t++)
		level(leak, FEATURE_HANDLES_FILES, t, 200 * (t - (TICKS - 17)));
	ask(&st, false);
	assert_true(st.answer.culprit_is_named);
	assert_ptr_equal(first(&st)->subject, leak);
	assert_string_equal(st.answer.cause, "file-handles");
	assert_true(st.answer.ranking.added > 0.1 && isnan(first(&st)->explains.share)); /* what it does is not among what they wait for */
	assert_true(st.answer.confidence > 0.5 && !st.answer.ranking.own);
	end(&st);
}

RUN_TESTS(cmocka_unit_test(files_of_a_start_are_no_leak), cmocka_unit_test(a_few_files_of_each_of_many_are_no_leak), cmocka_unit_test(a_new_leak_is_named_beside_programs_that_come_and_go),
		cmocka_unit_test(what_is_like_all_of_the_past_is_not_called_slow), cmocka_unit_test(a_new_hog_beside_a_bigger_usual_innocent),
	  cmocka_unit_test(a_periodic_job_is_big_but_usual), cmocka_unit_test(history_outlives_a_restart),
	  cmocka_unit_test(two_slow_only_together), cmocka_unit_test(under_reclaim_the_grower_is_named),
	  cmocka_unit_test(a_leak_of_handles_leaves_its_only_value),
	  cmocka_unit_test(many_small_processes_are_one_group),
	  cmocka_unit_test(a_busy_machine_that_nobody_waits_on_is_not_slow),
	  cmocka_unit_test(a_press_on_a_calm_machine_finds_nothing),
	  cmocka_unit_test(a_start_as_always_is_innocent),
	  cmocka_unit_test(a_start_that_goes_on_for_unusually_long_is_named),
	  cmocka_unit_test(of_a_start_nobody_saw_nothing_is_learnt),
	  cmocka_unit_test(the_same_executable_elsewhere_is_a_peer),
	  cmocka_unit_test(what_is_often_done_is_no_excess),
	  cmocka_unit_test(hundreds_of_threads_on_the_cpu_are_named_as_such), cmocka_unit_test(hundreds_of_threads_that_rest_are_no_crowd),
	  cmocka_unit_test(what_stands_out_at_the_press_counts_more),
	  cmocka_unit_test(a_trouble_just_over_is_still_explained),
	  cmocka_unit_test(a_saturated_pressure_hides_no_hog),
	  cmocka_unit_test(taking_what_others_left_is_no_guilt),
	  cmocka_unit_test(a_trickle_of_writes_is_not_the_stream_of_reads),
	  cmocka_unit_test(marked_incidents_are_not_learnt), cmocka_unit_test(a_mark_changes_no_order), cmocka_unit_test(many_marks_leave_a_past), cmocka_unit_test(in_block_mode_the_marked_event_is_learnt), cmocka_unit_test(without_a_past_it_says_so), cmocka_unit_test(what_nobody_recorded_is_not_compared_with),
	  cmocka_unit_test(software_that_changed_shortly_before_is_one_remark), cmocka_unit_test(folded_programs_are_one_remark),
	  cmocka_unit_test(events_that_come_too_late_are_left_out_and_that_is_said),
	  cmocka_unit_test(a_moment_nobody_recorded_is_refused))
