/* Stories with a known end: what makes one who takes much guilty, and another not. */
#include "lib/data/cleanup.h"
#include "machine/answer-why/test-recording.h"

static struct subject *editor_waits(struct story *st)
{
	struct subject *editor = add(st, "/bin/editor", 0, TICKS - 1, 0);

	use(editor, FEATURE_CPU_TIME, 0, TICKS - 1, 5 * PERCENT);
	use(editor, FEATURE_CPU_RUN_DELAY, 0, FROM - 1, PERCENT);
	use(editor, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 60 * PERCENT);
	return editor;
}

static struct subject *add_core(struct story *st)
{
	struct entity_info info = {.id = ++st->next_id, .kind = ENTITY_CPU, .name = (char *)"cpu0"};
	struct subject *core = dataset_define(&st->d, &info);

	core->first = 0;
	core->last = TICKS - 1;
	return core;
}

/* Beside a program that always computes, one begins to: `percent` of a CPU. `stolen`: and the host takes so much of one. `hot`: and the
 * CPU is too hot: its clock falls to so many percent, 100 = not at all. */
static struct subject *compute_beside(struct story *st, int percent, int stolen, int hot)
{
	struct subject *hog, *usual, *core;

	begin(st);
	editor_waits(st);
	usual = add(st, "/bin/usual", 0, TICKS - 1, 0);
	use(usual, FEATURE_CPU_TIME, 0, TICKS - 1, 150 * PERCENT);
	hog = add(st, "/bin/hog", FROM, TICKS - 1, 0);
	use(hog, FEATURE_CPU_TIME, FROM, TICKS - 1, percent * PERCENT);
	press(st, FEATURE_PSI_CPU_SOME, 2, 60);
	core = add_core(st);
	use(core, FEATURE_CORE_STEAL, 0, FROM - 1, 0);
	use(core, FEATURE_CORE_STEAL, FROM, TICKS - 1, stolen * PERCENT);
	use(core, FEATURE_CORE_THROTTLES, 0, FROM - 1, 0);
	use(core, FEATURE_CORE_THROTTLES, FROM, TICKS - 1, hot < 100 ? 300 : 0);
	level(core, FEATURE_CORE_FREQUENCY, 0, 3000 * MB);
	level(core, FEATURE_CORE_FREQUENCY, FROM, 30 * MB * hot);
	ask_by(st, true, &method_blame);
	assert_true(!st->answer.culprit_is_named || first(st)->subject == hog);
	return hog;
}

static void who_takes_what_is_new_explains_the_waiting(void **state)
{
	const struct suspect *s;
	struct story st;

	compute_beside(&st, 90, 0, 100);
	s = first(&st);
	assert_true(fabs(st.answer.ranking.added - 0.59) < 0.02); /* the editor waits 60 % of the time instead of 1 % */
	assert_true(s->explains.share > 0.8 && s->explains.low < s->explains.share && s->explains.share <= s->explains.high);
	assert_true(s->explains.low > 0.3); /* a baseline is not known so well that all of it were certain */
	assert_true(fabs(st.answer.ranking.unexplained - (1 - s->explains.share)) < 1e-9);
	assert_string_equal(st.answer.cause, "cpu");
	end(&st);
}

/* A queue that is nearly always full shrinks by more than the half of what filled it. */
static void without_one_of_two_most_of_the_waiting_goes_away(void **state)
{
	struct story st;

	begin(&st);
	editor_waits(&st);
	use(add(&st, "/bin/one", FROM, TICKS - 1, 0), FEATURE_CPU_TIME, FROM, TICKS - 1, 90 * PERCENT);
	use(add(&st, "/bin/two", FROM, TICKS - 1, 0), FEATURE_CPU_TIME, FROM, TICKS - 1, 90 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 60);
	ask_by(&st, true, &method_blame);
	assert_true(first(&st)->explains.share > 0.7 && first(&st)->explains.share < 0.99);
	assert_true(st.answer.ranking.unexplained < 1e-9);
	end(&st);
}

/* Four processes on two CPUs wait for each other: there is nothing else that their program could explain. */
static void where_a_program_alone_waits_nothing_is_unexplained(void **state)
{
	struct story st;

	begin(&st);
	use(add(&st, "/bin/editor", 0, TICKS - 1, 0), FEATURE_CPU_TIME, 0, TICKS - 1, 5 * PERCENT);
	for (int i = 0; i < 4; i++) {
		struct subject *hog = add(&st, "/bin/hog", FROM, TICKS - 1, 0);

		use(hog, FEATURE_CPU_TIME, FROM, TICKS - 1, 50 * PERCENT);
		use(hog, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 50 * PERCENT);
	}
	press(&st, FEATURE_PSI_CPU_SOME, 2, 60);
	ask_by(&st, true, &method_blame);
	assert_string_equal(first(&st)->subject->info.exe, "/bin/hog");
	assert_true(st.answer.ranking.added > 1.5 && st.answer.ranking.own && isnan(st.answer.ranking.unexplained));
	assert_null(strstr(st.answer.summary, "other programs"));
	end(&st);
}

/* A build that begins: its compilers and linkers wait for each other, and the editor waits `percent` of the time. */
static struct subject *build_beside_an_editor(struct story *st, int percent, bool marked)
{
	static const char *const programs[] = {"/usr/bin/cc1", "/usr/bin/cc1", "/usr/bin/cc1", "/usr/bin/cc1", "/usr/bin/ld", "/usr/bin/ld"};
	struct subject *editor, *make;

	begin(st);
	editor = add(st, "/bin/editor", 0, TICKS - 1, 0);
	use(editor, FEATURE_CPU_TIME, 0, TICKS - 1, 5 * PERCENT);
	use(editor, FEATURE_CPU_RUN_DELAY, 0, FROM - 1, 3 * PERCENT);
	use(editor, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, percent * PERCENT);
	make = add(st, "/usr/bin/make", FROM, TICKS - 1, 0);
	make->info.start = (uint64_t)((1000 + FROM) * NS_PER_SEC);
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		struct subject *s = add(st, programs[i], FROM, TICKS - 1, 0);

		s->info.parent = make->info.pid;
		s->info.start = make->info.start;
		use(s, FEATURE_CPU_TIME, FROM, TICKS - 1, 30 * PERCENT);
		use(s, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 60 * PERCENT);
	}
	press(st, FEATURE_PSI_CPU_SOME, 2, 80);
	ask_by(st, marked, &method_blame);
	return make;
}

/* A user who presses the button next to it waits for something else, or for nothing. */
static void who_waits_for_itself_slows_nobody(void **state)
{
	struct subject *make;
	struct story st;

	for (int marked = 0; marked <= 1; marked++) {
		make = build_beside_an_editor(&st, 60, marked);
		assert_true(st.answer.culprit_is_named);
		assert_ptr_equal(first(&st)->subject, make);
		assert_true(fabs(first(&st)->others - 0.57) < 0.02);
		end(&st);
		build_beside_an_editor(&st, 3, marked);
		assert_false(st.answer.culprit_is_named);
		end(&st);
	}
}

/* Others queue behind it no longer than it runs: of the rest nothing is known. How much goes away without it is hard to say. */
static void who_uses_little_explains_little(void **state)
{
	struct story st;

	compute_beside(&st, 9, 0, 100);
	assert_true(first(&st)->explains.part < 0.1 && first(&st)->explains.share < 0.4);
	assert_true(first(&st)->explains.low < 0.04 && first(&st)->explains.high - first(&st)->explains.low > EXPLAINED_VAGUE);
	assert_true(st.answer.ranking.unexplained > 0.6);
	assert_string_equal(st.answer.cause, "cpu-partly");
	assert_null(strstr(st.answer.summary, "other programs wait"));
	end(&st);
	compute_beside(&st, 4, 0, 100);
	assert_true(st.answer.slow && !st.answer.culprit_is_named && st.answer.unnamed.n);
	assert_true(st.answer.unnamed.v[0].factors[EVIDENCE_BOUND] < 0.7);
	end(&st);
}

/* Its own threads wait for each other: that is no part of what others wait. */
static void own_waiting_is_not_on_ones_account(void **state)
{
	struct subject *hog;
	struct story st;

	begin(&st);
	editor_waits(&st);
	hog = add(&st, "/bin/hog", FROM, TICKS - 1, 0);
	use(hog, FEATURE_CPU_TIME, FROM, TICKS - 1, 90 * PERCENT);
	use(hog, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 500 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 60);
	ask_by(&st, true, &method_blame);
	assert_ptr_equal(first(&st)->subject, hog);
	assert_true(first(&st)->explains.share > 0.9);
	end(&st);
}

static void steal_is_the_headline_only_where_it_explains_most(void **state)
{
	struct story st;

	compute_beside(&st, 90, 30, 100);
	assert_string_equal(st.answer.cause, "cpu");
	assert_true(fabs(st.answer.ranking.stolen - 0.25) < 0.05);
	end(&st);
	compute_beside(&st, 20, 80, 100);
	assert_string_equal(st.answer.cause, "steal");
	assert_true(st.answer.ranking.stolen > first(&st)->explains.share);
	end(&st);
}

static void heat_is_the_headline_only_where_it_explains_most(void **state)
{
	struct story st;

	compute_beside(&st, 95, 0, 90);
	assert_string_equal(st.answer.cause, "cpu");
	assert_true(st.answer.ranking.slowed > 0 && st.answer.ranking.slowed < first(&st)->explains.share);
	end(&st);
	compute_beside(&st, 20, 0, 30);
	assert_string_equal(st.answer.cause, "heat");
	assert_true(st.answer.ranking.slowed > first(&st)->explains.share);
	end(&st);
}

/* Reads all it can as the trouble begins, and has read it after half of it. */
static struct subject *read_ahead(struct story *st)
{
	struct subject *prefetch = add(st, "/bin/prefetch", FROM, TICKS - 1, 0);

	use(prefetch, FEATURE_IO_READ_BYTES, FROM, FROM + TROUBLE / 2, 900 * MB);
	press(st, FEATURE_PSI_IO_SOME, 2, 70);
	return prefetch;
}

static void who_stopped_is_not_why_it_goes_on(void **state)
{
	struct subject *prefetch, *hog;
	struct story st;

	begin(&st);
	editor_waits(&st);
	hog = add(&st, "/bin/hog", FROM, TICKS - 1, 0);
	use(hog, FEATURE_CPU_TIME, FROM, TICKS - 1, 100 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 60);
	prefetch = read_ahead(&st);
	ask_by(&st, true, &method_blame);
	assert_ptr_equal(first(&st)->subject, hog);
	assert_true(score_of(&st, prefetch) < first(&st)->score / 3);
	end(&st);
	/* nobody goes on: what is left of the trouble may be its consequence */
	begin(&st);
	prefetch = read_ahead(&st);
	ask_by(&st, true, &method_blame);
	assert_ptr_equal(first(&st)->subject, prefetch);
	end(&st);
}

/* What was written is on its way to the disk after its writer has ended. */
static void who_wrote_has_not_stopped(void **state)
{
	struct subject *copy, *hog;
	struct story st;

	begin(&st);
	editor_waits(&st);
	copy = add(&st, "/bin/copy", FROM, TICKS - 1, 0);
	hog = add(&st, "/bin/hog", FROM, TICKS - 1, 0);
	use(copy, FEATURE_IO_WRITE_BYTES, FROM, FROM + TROUBLE / 2, 900 * MB);
	use(hog, FEATURE_CPU_TIME, FROM, TICKS - 1, 100 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 30);
	press(&st, FEATURE_PSI_IO_SOME, 2, 70);
	ask_by(&st, true, &method_blame);
	assert_ptr_equal(first(&st)->subject, copy);
	end(&st);
}

static void set_machine(struct story *st)
{
	for (size_t i = 0; i < st->d.subjects.n; i++) {
		struct subject *s = st->d.subjects.v[i];

		if (s->info.kind != ENTITY_SYSTEM)
			continue;
		level(s, FEATURE_SYS_MEM_TOTAL, 0, 16000 * MB);
		level(s, FEATURE_SYS_MEM_AVAILABLE, 0, 9000 * MB);
	}
}

static void who_must_free_memory_fills_it_with_files(void **state)
{
	struct subject *filler, *grower;
	struct story st;

	begin(&st);
	filler = add(&st, "/bin/filler", FROM, TICKS - 1, 0);
	use(filler, FEATURE_DELAY_RECLAIM, FROM, TICKS - 1, 50 * PERCENT);
	level(add(&st, "/bin/database", 0, TICKS - 1, 0), FEATURE_MEM_ANON, 0, 900 * MB);
	press(&st, FEATURE_PSI_MEMORY_SOME, 0, 50);
	set_machine(&st);
	ask_by(&st, true, &method_blame);
	assert_int_equal(st.answer.bottleneck, BOTTLENECK_MEMORY);
	assert_ptr_equal(first(&st)->subject, filler);
	assert_string_equal(first(&st)->features.v[0].feature->name, "delay.reclaim");
	end(&st);
	/* a program has grown: whoever must make room for it suffers */
	begin(&st);
	filler = add(&st, "/bin/filler", FROM, TICKS - 1, 0);
	use(filler, FEATURE_DELAY_RECLAIM, FROM, TICKS - 1, 50 * PERCENT);
	grower = add(&st, "/bin/grower", 0, TICKS - 1, 0);
	level(grower, FEATURE_MEM_ANON, 0, 100 * MB);
	level(grower, FEATURE_MEM_ANON, FROM, 900 * MB);
	press(&st, FEATURE_PSI_MEMORY_SOME, 0, 50);
	set_machine(&st);
	ask_by(&st, true, &method_blame);
	assert_ptr_equal(first(&st)->subject, grower);
	assert_true(score_of(&st, filler) < first(&st)->score / 3);
	end(&st);
}

/* A program of a small group grows to the group's limit, which makes it wait for so much of the time. */
static struct subject *grow_to_a_limit(struct story *st, int64_t waits_percent)
{
	struct entity_info group = {.id = 500, .kind = ENTITY_CGROUP, .name = (char *)"/small"};
	struct entity_info process = {.id = 501, .kind = ENTITY_PROCESS, .pid = 1501, .name = (char *)"leaky",
				      .exe = (char *)"/bin/leaky", .unit = (char *)"/small"};
	struct subject *limited, *leaky;

	begin(st);
	limited = dataset_define(&st->d, &group);
	leaky = dataset_define(&st->d, &process);
	limited->first = leaky->first = 0;
	limited->last = leaky->last = TICKS - 1;
	level(limited, FEATURE_CG_MEMORY, 0, 400 * MB);
	use(limited, FEATURE_CG_MEMORY_MAX, FROM, TICKS - 1, 1000);
	level(leaky, FEATURE_MEM_ANON, 0, 100 * MB);
	level(leaky, FEATURE_MEM_ANON, FROM, 180 * MB);
	press(st, FEATURE_PSI_MEMORY_SOME, 0, waits_percent);
	set_machine(st);
	return leaky;
}

static void a_group_at_its_limit_is_short_before_the_machine_is(void **state)
{
	struct subject *leaky, *group;
	struct story st;

	leaky = grow_to_a_limit(&st, 7);
	ask_by(&st, true, &method_blame);
	assert_true(st.answer.slow);
	assert_int_equal(st.answer.bottleneck, BOTTLENECK_MEMORY);
	assert_ptr_equal(first(&st)->subject, leaky);
	end(&st);
	/* one that has reached it and waits for nothing is no trouble */
	grow_to_a_limit(&st, 0);
	ask_by(&st, false, &method_blame);
	assert_false(st.answer.slow);
	end(&st);
	/* one that reads its own pages again waits for the disk, of which the machine has enough */
	for (int rereads = 0; rereads <= 1; rereads++) {
		leaky = grow_to_a_limit(&st, 2);
		group = dataset_subject(&st.d, 500);
		use(group, FEATURE_CG_REFAULTS, FROM, TICKS - 1, 1000 * rereads);
		use(leaky, FEATURE_DELAY_BLOCK, FROM, TICKS - 1, 40 * PERCENT);
		use(leaky, FEATURE_DELAY_RECLAIM, FROM, TICKS - 1, 2 * PERCENT);
		ask_by(&st, true, &method_blame);
		assert_int_equal(st.answer.culprit_is_named, rereads);
		if (rereads)
			assert_string_equal(st.answer.cause, "group-memory-limit");
		end(&st);
	}
}

/* A build took the memory and has ended; the editor, which was moved to swap for it, reads its own back. */
static void who_pushed_it_out_of_memory_is_said(void **state)
{
	struct subject *editor, *build, *system;
	struct story st;

	begin(&st);
	editor = add(&st, "/bin/editor", 0, TICKS - 1, 0);
	build = add(&st, "/bin/build", TICKS - 40, TICKS - 6, 0);
	level(build, FEATURE_MEM_ANON, TICKS - 40, 10 * MB);
	level(build, FEATURE_MEM_ANON, TICKS - 20, 900 * MB);
	level(editor, FEATURE_MEM_ANON, 0, 300 * MB);
	level(editor, FEATURE_MEM_ANON, TICKS - 20, 50 * MB);
	level(editor, FEATURE_MEM_ANON, TICKS - 1, 200 * MB);
	use(editor, FEATURE_CPU_TIME, TICKS - 5, TICKS - 1, 40 * PERCENT);
	use(editor, FEATURE_DELAY_RECLAIM, TICKS - 5, TICKS - 1, 10 * PERCENT);
	use(editor, FEATURE_FAULTS_MAJOR, TICKS - 5, TICKS - 1, 2000);
	press(&st, FEATURE_PSI_MEMORY_SOME, 1, 30);
	set_machine(&st);
	system = dataset_subject(&st.d, editor->info.id + 2);
	assert_int_equal(system->info.kind, ENTITY_SYSTEM);
	use(system, FEATURE_SYS_SWAP_OUT, TICKS - 20, TICKS - 7, 5000);
	use(system, FEATURE_SYS_SWAP_IN, TICKS - 5, TICKS - 1, 2000);
	ask_by(&st, true, &method_blame);
	assert_ptr_equal(first(&st)->subject, editor);
	assert_string_equal(st.answer.cause, "swapped-out");
	assert_non_null(strstr(st.answer.summary, "It was pushed out of memory by build (pid"));
	assert_non_null(strstr(st.answer.summary, "until 6 s ago"));
	end(&st);
}

/* Everybody waits for what the camera always writes, and it begins to read a little beside that. */
static void who_always_is_in_the_way_is_not_guilty_of_something_else(void **state)
{
	struct subject *camera, *reader;
	struct charges charges = {.covered = TROUBLE, .total[BOTTLENECK_DISK] = 0.5};
	struct method_question q = {.at = TICKS - 1, .focus = FROM, .train_to = FROM - 20, .cpus = 2, .charges = &charges};
	struct ranking ranking = {};
	struct story st;

	begin(&st);
	camera = add(&st, "/bin/camera", 0, TICKS - 1, 0);
	reader = add(&st, "/bin/reader", FROM, TICKS - 1, 0);
	use(camera, FEATURE_IO_WRITE_BYTES, 0, TICKS - 1, 40 * MB);
	use(camera, FEATURE_IO_READ_BYTES, FROM, TICKS - 1, MB / 4);
	use(reader, FEATURE_IO_READ_BYTES, FROM, TICKS - 1, 5 * MB);
	assert_true(VEC_PUSH(charges.list, (struct charge){.victim = "editor", .culprit = camera->program, .of = BOTTLENECK_DISK, .seconds = 0.4}) >= 0);
	assert_true(VEC_PUSH(charges.list, (struct charge){.victim = "editor", .culprit = reader->program, .of = BOTTLENECK_DISK, .seconds = 0.1}) >= 0);
	q.pressure.now[BOTTLENECK_DISK] = 0.6;
	assert_int_equal(method_blame.rank(&st.d, &q, &ranking), 0);
	assert_true(ranking.suspects.n > 0);
	assert_ptr_equal(ranking.suspects.v[0].subject, reader);
	assert_true(ranking.suspects.n == 1 || ranking.suspects.v[1].score < ranking.suspects.v[0].score / 3);
	ranking_free(&ranking);
	charges_free(&charges);
	end(&st);
}

/* A ledger writes little and waits for each write, a log ten times as much through the page cache, beside a camera that always writes. */
static void who_keeps_the_disk_waiting_is_not_who_has_most_bytes(void **state)
{
	struct method_question q = {.at = TICKS - 1, .focus = FROM, .train_to = FROM - 20, .cpus = 2};
	struct subject *camera, *log, *ledger;
	struct ranking ranking = {};
	struct story st;

	begin(&st);
	camera = add(&st, "/bin/camera", 0, TICKS - 1, 0);
	log = add(&st, "/bin/log", FROM, TICKS - 1, 0);
	ledger = add(&st, "/bin/ledger", FROM, TICKS - 1, 0);
	use(camera, FEATURE_IO_WRITE_BYTES, 0, TICKS - 1, 40 * MB);
	use(log, FEATURE_IO_WRITE_BYTES, FROM, TICKS - 1, 2 * MB);
	use(ledger, FEATURE_IO_WRITE_BYTES, FROM, TICKS - 1, MB / 5);
	use(ledger, FEATURE_DELAY_BLOCK, FROM, TICKS - 1, 90 * PERCENT);
	/* who waits for the disk although it does what it always does waits for others' requests */
	use(camera, FEATURE_DELAY_BLOCK, FROM, TICKS - 1, 20 * PERCENT);
	q.pressure.now[BOTTLENECK_DISK] = 0.6;
	assert_int_equal(method_blame.rank(&st.d, &q, &ranking), 0);
	assert_true(ranking.suspects.n > 0);
	assert_ptr_equal(ranking.suspects.v[0].subject, ledger);
	assert_true(ranking.suspects.n == 1 || ranking.suspects.v[1].subject != camera);
	ranking_free(&ranking);
	end(&st);
}

/* It has the most files and threads of the machine, all new, and rests, while a small reader has the others wait for the disk. */
static void who_has_much_and_rests_is_not_what_a_short_machine_is_slow_by(void **state)
{
	struct method_question q = {.at = TICKS - 1, .focus = FROM, .train_to = FROM - 20, .cpus = 2};
	struct subject *camera, *store, *reader;
	struct ranking ranking = {};
	struct story st;

	begin(&st);
	camera = add(&st, "/bin/camera", 0, TICKS - 1, 0);
	store = add(&st, "/bin/store", 0, TICKS - 1, 0);
	reader = add(&st, "/bin/reader", FROM, TICKS - 1, 0);
	use(camera, FEATURE_IO_READ_BYTES, 0, TICKS - 1, 40 * MB);
	use(reader, FEATURE_IO_READ_BYTES, FROM, TICKS - 1, MB);
	level(store, FEATURE_HANDLES_FILES, 0, 8);
	level(store, FEATURE_THREADS, 0, 4);
	level(store, FEATURE_HANDLES_FILES, FROM - 10, 15000);
	level(store, FEATURE_THREADS, FROM - 10, 900);
	q.pressure.now[BOTTLENECK_DISK] = 0.7;
	assert_int_equal(method_blame.rank(&st.d, &q, &ranking), 0);
	assert_true(ranking.suspects.n > 0);
	assert_ptr_equal(ranking.suspects.v[0].subject, reader);
	ranking_free(&ranking);
	end(&st);
}

/* Few of many linkers are recorded one by one: the others are one sum, in which as many files are open as those have that live. A young one opens
 * what it needs at once. Neither leaks, as one does that opens more all the time. */
static void only_what_stays_and_grows_leaks(void **state)
{
	const int64_t files[3][10] = {
		{900, 1100, 950, 1000, 1150, 900, 1000, 950, 1050, 1100},
		{8, 8, 8, 8, 8, 8, 8, 8, 1100, 1100},
		{110, 220, 330, 440, 550, 660, 770, 880, 990, 1100},
	};

	for (int kind = 0; kind < 3; kind++) {
		struct method_question q = {.at = TICKS - 1, .focus = TICKS - 10, .train_to = FROM - 20, .cpus = 2};
		struct entity_info sum = {.id = 501, .kind = ENTITY_SHORT_LIVED, .name = (char *)"ld"};
		struct ranking ranking = {};
		struct subject *program;
		struct story st;

		begin(&st);
		program = kind ? add(&st, "/bin/ld", TICKS - 10, TICKS - 1, 0) : dataset_define(&st.d, &sum);
		program->first = TICKS - 10;
		program->last = TICKS - 1;
		for (uint32_t t = 0; t < 10; t++)
			level(program, FEATURE_HANDLES_FILES, TICKS - 10 + t, files[kind][t]);
		assert_int_equal(method_blame.rank(&st.d, &q, &ranking), 0);
		assert_int_equal(ranking.suspects.n && ranking.suspects.v[0].score > 0.05, kind == 2);
		ranking_free(&ranking);
		end(&st);
	}
}

/* A player was started anew shortly before others of its program begin, none of which does as much as it does. */
static void the_eldest_does_what_its_program_always_did(void **state)
{
	struct subject *before, *player, *converters[3];
	struct story st;

	begin(&st);
	editor_waits(&st);
	before = add(&st, "/bin/ffmpeg", 0, FROM - 12, 0);
	player = add(&st, "/bin/ffmpeg", FROM - 10, TICKS - 1, 0);
	use(before, FEATURE_CPU_TIME, 0, FROM - 12, 11 * PERCENT);
	use(player, FEATURE_CPU_TIME, FROM - 10, TICKS - 1, 11 * PERCENT);
	player->info.start = (uint64_t)((1000 + FROM - 11) * NS_PER_SEC);
	for (uint32_t i = 0; i < 3; i++) {
		converters[i] = add(&st, "/bin/ffmpeg", FROM + 10 * i, FROM + 10 * i + 9, 0);
		converters[i]->info.start = (uint64_t)((1000 + FROM + 10 * i) * NS_PER_SEC);
		use(converters[i], FEATURE_CPU_TIME, FROM + 10 * i, FROM + 10 * i + 9, 30 * PERCENT);
	}
	press(&st, FEATURE_PSI_CPU_SOME, 2, 60);
	ask_by(&st, true, &method_blame);
	assert_int_equal(first(&st)->kind, CULPRIT_GROUP);
	assert_ptr_not_equal(first(&st)->subject, player);
	end(&st);
}

/* Four seconds were recorded before it became slow. */
static void of_a_short_past_what_was_done_then_is_not_new(void **state)
{
	struct method_question q = {.at = TICKS - 1, .focus = FROM, .train_from = FROM - 8, .train_to = FROM - 5, .cpus = 2};
	struct subject *backup, *reader;
	struct ranking ranking = {};
	struct story st;

	begin(&st);
	backup = add(&st, "/bin/backup", FROM - 8, TICKS - 1, 0);
	reader = add(&st, "/bin/reader", FROM, TICKS - 1, 0);
	use(backup, FEATURE_IO_READ_BYTES, FROM - 8, TICKS - 1, 250 * MB);
	use(reader, FEATURE_IO_READ_BYTES, FROM, TICKS - 1, 100 * MB);
	q.pressure.now[BOTTLENECK_DISK] = 0.6;
	assert_int_equal(method_blame.rank(&st.d, &q, &ranking), 0);
	assert_true(ranking.suspects.n > 0);
	assert_ptr_equal(ranking.suspects.v[0].subject, reader);
	ranking_free(&ranking);
	end(&st);
}

/* Three processes of one program make the disk short, for each other and for an editor. */
static void who_is_accused_is_no_victim_of_itself(void **state)
{
	struct subject *editor;
	struct story st;

	begin(&st);
	editor = add(&st, "/bin/editor", 0, TICKS - 1, 0);
	use(editor, FEATURE_DELAY_BLOCK, FROM, TICKS - 1, 30 * PERCENT);
	for (int i = 0; i < 3; i++) {
		struct subject *sum = add(&st, "/bin/sum", FROM, TICKS - 1, 0);

		use(sum, FEATURE_IO_READ_BYTES, FROM, TICKS - 1, 50 * MB);
		use(sum, FEATURE_DELAY_BLOCK, FROM, TICKS - 1, 60 * PERCENT);
	}
	press(&st, FEATURE_PSI_IO_SOME, 2, 80);
	ask(&st, true);
	assert_string_equal(first(&st)->subject->info.name, "sum");
	assert_int_equal(first(&st)->kind, CULPRIT_GROUP);
	assert_int_equal(st.answer.ranking.victims.n, 1);
	assert_ptr_equal(st.answer.ranking.victims.v[0].subject, editor);
	end(&st);
}

/* It computes and writes, and others wait for the CPU or for the disk, at the same pressures. */
static const char *what_it_is_named_for(int waited_for)
{
	struct subject *editor, *both;
	struct story st;
	const char *name;

	begin(&st);
	editor = add(&st, "/bin/editor", 0, TICKS - 1, 0);
	use(editor, (size_t)waited_for, 0, FROM - 1, PERCENT);
	use(editor, (size_t)waited_for, FROM, TICKS - 1, 60 * PERCENT);
	both = add(&st, "/bin/both", FROM, TICKS - 1, 0);
	use(both, FEATURE_CPU_TIME, FROM, TICKS - 1, 90 * PERCENT);
	use(both, FEATURE_IO_WRITE_BYTES, FROM, TICKS - 1, 200 * MB);
	use(both, FEATURE_WAIT_DISK, FROM, TICKS - 1, 2 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 40);
	press(&st, FEATURE_PSI_IO_SOME, 2, 40);
	ask_by(&st, true, &method_blame);
	assert_ptr_equal(first(&st)->subject, both);
	name = first(&st)->features.v[0].feature->name;
	end(&st);
	return name;
}

static void of_two_things_that_are_short_it_counts_what_more_wait_for(void **state)
{
	assert_string_equal(what_it_is_named_for(FEATURE_CPU_RUN_DELAY), "cpu.time");
	assert_string_equal(what_it_is_named_for(FEATURE_DELAY_BLOCK), "io.write_bytes");
	assert_string_equal(what_it_is_named_for(FEATURE_WAIT_DISK), "io.write_bytes"); /* delay accounting is off */
}

/* Three programs that compute a tenth of the time, and wait so much to do so; their processes run up to `ends` and from `begins` on;
 * another one always uses so many percent of a CPU that others leave to it.
 * ret: how many times as long as normally the middle one takes. */
static double slowdown_of_those(const int64_t waited[3], const char *asking, int ends, int begins, int always)
{
	static const char *const names[] = {"/bin/one", "/bin/two", "/bin/three"};
	struct subject *s;
	struct story st;
	double times;

	begin(&st);
	for (int i = 0; i < 3; i++) {
		s = add(&st, names[i], 0, ends, 0);
		use(s, FEATURE_CPU_TIME, 0, ends, 10 * PERCENT);
		use(s, FEATURE_CPU_RUN_DELAY, 0, ends, 10 * PERCENT);
		s = add(&st, names[i], begins, TICKS - 1, 0);
		use(s, FEATURE_CPU_TIME, begins, TICKS - 1, 10 * PERCENT);
		use(s, FEATURE_CPU_RUN_DELAY, begins, FROM - 1, 10 * PERCENT);
		use(s, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, waited[i] * PERCENT);
	}
	use(add(&st, asking, FROM, TICKS - 1, 0), FEATURE_CPU_TIME, FROM, TICKS - 1, 150 * PERCENT);
	s = add(&st, "/bin/always", 0, TICKS - 1, 0);
	use(s, FEATURE_CPU_TIME, 0, FROM - 1, always * PERCENT);
	use(s, FEATURE_CPU_RUN_DELAY, 0, FROM - 1, always * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, always > 5 ? always / 2 : 5, 95);
	ask_by(&st, true, &method_blame);
	times = st.answer.ranking.slowdown;
	end(&st);
	return times;
}

static double slowdown_with(const int64_t waited[3], const char *asking)
{
	return slowdown_of_those(waited, asking, 3, 4, 0);
}

static void a_machine_is_as_slow_as_the_program_in_the_middle(void **state)
{
	assert_true(fabs(slowdown_with((int64_t[]){50, 50, 50}, "/bin/hog") - 3) < 0.1); /* 1 + 5 by 1 + 1 */
	assert_true(fabs(slowdown_with((int64_t[]){10, 10, 90}, "/bin/hog") - 1) < 0.1);
	assert_true(fabs(slowdown_with((int64_t[]){10, 30, 90}, "/bin/hog") - 2) < 0.1);
	assert_true(slowdown_with((int64_t[]){50, 50, 50}, "/bin/whyslow") < 2); /* the question itself */
	assert_true(fabs(slowdown_of_those((int64_t[]){50, 50, 50}, "/bin/hog", FROM - 4, FROM - 3, 0) - 3) < 0.2); /* restarted lately */
	assert_true(slowdown_of_those((int64_t[]){50, 50, 50}, "/bin/whyslow", 3, 4, 180) > 2); /* the CPUs were always in use */
}

/* A program that sends, while the only interface moves so much a second. */
static bool sender_is_named(int64_t moved)
{
	struct subject *eth0, *sender;
	struct story st;
	bool named;

	begin(&st);
	use(add(&st, "/bin/editor", 0, TICKS - 1, 0), FEATURE_CPU_TIME, 0, TICKS - 1, PERCENT);
	sender = add(&st, "/bin/sender", 0, TICKS - 1, 0);
	use(sender, FEATURE_NET_TX_BYTES, FROM, TICKS - 1, 20 * MB);
	eth0 = dataset_define(&st.d, &(struct entity_info){.id = ++st.next_id, .kind = ENTITY_INTERFACE, .name = (char *)"eth0",
							    .present = FEATURE_BIT(FEATURE_IF_RX_BYTES)});
	eth0->first = 0;
	eth0->last = TICKS - 1;
	use(eth0, FEATURE_IF_RX_BYTES, 0, TICKS - 1, 0);
	use(eth0, FEATURE_IF_TX_BYTES, 0, TICKS - 1, moved);
	ask(&st, true);
	named = st.answer.culprit_is_named;
	end(&st);
	return named;
}

/* Sockets of this machine have no line. */
static void what_no_interface_moves_makes_no_network_busy(void **state)
{
	assert_true(sender_is_named(20 * MB));
	assert_false(sender_is_named(1000));
}

/* Two that wait for the CPU: the one that gives way waits longer, by choice. */
static void who_gives_way_does_not_head_the_victims(void **state)
{
	struct subject *editor, *indexer;
	struct story st;

	begin(&st);
	editor = add(&st, "/bin/editor", 0, TICKS - 1, 0);
	indexer = add(&st, "/bin/indexer", 0, TICKS - 1, 0);
	level(editor, FEATURE_SCHED_NICE, 0, 0);
	level(indexer, FEATURE_SCHED_NICE, 0, 19);
	use(add(&st, "/bin/hog", FROM, TICKS - 1, 0), FEATURE_CPU_TIME, FROM, TICKS - 1, 100 * PERCENT);
	use(editor, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 30 * PERCENT);
	use(indexer, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 95 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 80);
	ask(&st, true);
	assert_true(st.answer.ranking.victims.n > 0);
	assert_ptr_equal(st.answer.ranking.victims.v[0].subject, editor);
	end(&st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_gives_way_does_not_head_the_victims),
		cmocka_unit_test(what_no_interface_moves_makes_no_network_busy),
		cmocka_unit_test(who_takes_what_is_new_explains_the_waiting), cmocka_unit_test(who_waits_for_itself_slows_nobody),
		cmocka_unit_test(without_one_of_two_most_of_the_waiting_goes_away),
	  cmocka_unit_test(who_uses_little_explains_little), cmocka_unit_test(where_a_program_alone_waits_nothing_is_unexplained),
	  cmocka_unit_test(own_waiting_is_not_on_ones_account),
	  cmocka_unit_test(steal_is_the_headline_only_where_it_explains_most),
	  cmocka_unit_test(heat_is_the_headline_only_where_it_explains_most),
	  cmocka_unit_test(who_stopped_is_not_why_it_goes_on),
		cmocka_unit_test(who_wrote_has_not_stopped),
		cmocka_unit_test(who_must_free_memory_fills_it_with_files),
		cmocka_unit_test(a_group_at_its_limit_is_short_before_the_machine_is), cmocka_unit_test(who_pushed_it_out_of_memory_is_said),
		cmocka_unit_test(only_what_stays_and_grows_leaks),
		cmocka_unit_test(the_eldest_does_what_its_program_always_did),
		cmocka_unit_test(of_a_short_past_what_was_done_then_is_not_new),
		cmocka_unit_test(who_always_is_in_the_way_is_not_guilty_of_something_else),
		cmocka_unit_test(who_keeps_the_disk_waiting_is_not_who_has_most_bytes),
		cmocka_unit_test(who_has_much_and_rests_is_not_what_a_short_machine_is_slow_by),
		cmocka_unit_test(who_is_accused_is_no_victim_of_itself),
		cmocka_unit_test(a_machine_is_as_slow_as_the_program_in_the_middle),
		cmocka_unit_test(of_two_things_that_are_short_it_counts_what_more_wait_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
