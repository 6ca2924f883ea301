/* Who starts many is judged with what he starts; and of those accused, who can be held back. */
#include "lib/data/cleanup.h"
#include "machine/answer-why/culprit-list.h"
#include "machine/answer-why/test-recording.h"
#include "machine/model/name-limit.h"

#define EVERY 60 /* ticks from one compilation to the next */
#define LONG  20 /* ticks that it takes */

static struct subject *start(struct story *st, const struct subject *parent, const char *exe, uint32_t first, uint32_t last)
{
	struct subject *s = add(st, exe, first, last, 0);

	s->info.parent = parent ? parent->info.pid : 1;
	return s;
}

static void compile(struct story *st, const struct subject *parent, uint32_t first, uint32_t last)
{
	struct subject *driver = start(st, parent, "/usr/bin/gcc", first, last);
	struct subject *compiler = start(st, driver, "/usr/lib/cc1", first, last);

	use(compiler, FEATURE_CPU_TIME, first, last, 80 * PERCENT);
}

/* Somebody works, somebody else has a file compiled every now and then. */
static void begin_workshop(struct story *st)
{
	struct subject *editor, *renderer, *loop;

	begin(st);
	editor = start(st, NULL, "/bin/editor", 0, TICKS - 1);
	renderer = start(st, NULL, "/bin/renderer", 0, TICKS - 1);
	loop = start(st, NULL, "/bin/loop", 0, TICKS - 1);
	use(renderer, FEATURE_CPU_TIME, 0, TICKS - 1, 90 * PERCENT);
	use(editor, FEATURE_CPU_TIME, 0, TICKS - 1, 5 * PERCENT);
	use(editor, FEATURE_CPU_RUN_DELAY, 0, FROM - 1, 5 * PERCENT);
	use(editor, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 60 * PERCENT);
	for (uint32_t t = 5; t + LONG < FROM; t += EVERY)
		compile(st, loop, t, t + LONG - 1);
	press(st, FEATURE_PSI_CPU_SOME, 5, 70);
}

/* One compiler after the other, until somebody stops it. */
static struct subject *build(struct story *st, uint32_t first, uint32_t last)
{
	struct subject *make = start(st, NULL, "/usr/bin/make", first, last);

	use(make, FEATURE_CPU_TIME, first, last, PERCENT);
	for (uint32_t t = first; t + 3 <= last; t += 3)
		compile(st, make, t, t + 2);
	return make;
}

/* Four jobs begin in one second, or one after the other; one of them takes most, or all as much. */
static const struct subject *who_is_named_of_four(struct story *st, int64_t apart, bool alike, struct subject *ret[5])
{
	begin_workshop(st);
	ret[4] = start(st, NULL, "/usr/sbin/cron", 0, TICKS - 1);
	use(ret[4], FEATURE_CPU_TIME, 0, TICKS - 1, PERCENT);
	for (int i = 0; i < 4; i++) {
		ret[i] = start(st, ret[4], (const char *const[]){"/bin/tar", "/bin/find", "/bin/index", "/bin/mail"}[i], FROM, TICKS - 1);
		ret[i]->info.start = (uint64_t)(st->d.ticks.v[FROM].boot + i * apart);
		use(ret[i], FEATURE_CPU_TIME, FROM, TICKS - 1, (alike ? 46 - 4 * i : i ? 2 : 40) * PERCENT);
	}
	ask_by(st, true, &method_blame);
	return st->answer.culprit_is_named ? first(st)->subject : NULL;
}

static void a_common_start_is_one_suspect(void **state)
{
	struct subject *jobs[5];
	struct story st;

	assert_string_equal(who_is_named_of_four(&st, NS_PER_SEC / 10, true, jobs)->info.name, "cron");
	assert_int_equal(first(&st)->processes.n, 4);
	for (size_t i = 0; i < 4; i++)
		assert_ptr_equal(first(&st)->processes.v[i], jobs[i]); /* the starter, which has more to do, is not to be ended */
	assert_string_equal(first(&st)->evidence.v[0], "most of it by tar 29 %, find 26 %, index 24 %");
	end(&st);
	assert_string_equal(who_is_named_of_four(&st, NS_PER_SEC / 10, false, jobs)->info.name, "tar");
	end(&st);
	assert_null(who_is_named_of_four(&st, 2 * NS_PER_SEC, true, jobs));
	end(&st);
}

static void who_has_usual_work_done_all_the_time_is_named(void **state)
{
	struct subject *make;
	struct story st;

	begin_workshop(&st);
	make = build(&st, FROM, TICKS - 1);
	ask_by(&st, true, &method_blame);
	assert_true(st.answer.slow);
	assert_ptr_equal(first(&st)->subject, make);
	assert_int_equal(first(&st)->kind, CULPRIT_GROUP);
	assert_true(first(&st)->members > 10);
	assert_true(first(&st)->together.n > 10);
	assert_ptr_equal(first(&st)->processes.v[0], make);
	for (size_t i = 0; i < first(&st)->processes.n; i++)
		assert_true(first(&st)->processes.v[i]->last == TICKS - 1); /* those that are there */
	assert_string_equal(first(&st)->busiest->info.exe, "/usr/lib/cc1");
	assert_string_equal(first(&st)->mostly->info.exe, "/usr/lib/cc1");
	assert_non_null(strstr(st.answer.summary, "make with cc1"));
	assert_string_equal(first(&st)->features.v[0].feature->name, "cpu.time");
	assert_string_equal(st.answer.cause, "compile");
	/* its compilers are not accused beside it */
	for (size_t i = 1; i < st.answer.ranking.suspects.n; i++)
		assert_true(st.answer.ranking.suspects.v[i].score < first(&st)->score / 3);
	end(&st);
}

/* The build has the compilers' whole score by then, and what the kernel writes for them counts as the build's, too. */
static void what_the_kernel_does_for_a_job_is_the_jobs(void **state)
{
	struct subject *make, *worker;
	struct story st;

	begin_workshop(&st);
	make = build(&st, FROM, TICKS - 1);
	for (size_t i = 0; i < st.d.subjects.n; i++) {
		struct subject *s = st.d.subjects.v[i];

		if (s->info.exe && strcmp(s->info.exe, "/usr/lib/cc1") == 0 && s->first >= FROM)
			use(s, FEATURE_IO_WRITE_BYTES, s->first, s->last, 40 * MB);
	}
	worker = add(&st, "/kernel/kworker", 0, TICKS - 1, 0);
	worker->info.flags |= ENTITY_IS_KERNEL_THREAD;
	use(worker, FEATURE_IO_WRITE_BYTES, FROM, TICKS - 1, 80 * MB);
	press(&st, FEATURE_PSI_IO_SOME, 2, 60);
	ask_by(&st, true, &method_blame);
	assert_ptr_equal(first(&st)->subject, make);
	assert_true(st.answer.culprit_is_named && st.answer.confidence > 0);
	for (size_t i = 0; i < st.answer.ranking.suspects.n; i++)
		assert_true(st.answer.ranking.suspects.v[i].score >= 0);
	end(&st);
}

/* CPU time of its children is in its row and in theirs: it counts once. */
static void who_starts_short_programs_is_named_with_them(void **state)
{
	struct entity_info info = {.kind = ENTITY_SHORT_LIVED, .name = (char *)"ps"};
	struct subject *shell, *brief;
	struct story st;

	begin_workshop(&st);
	shell = start(&st, NULL, "/bin/dash", FROM, TICKS - 1);
	info.id = ++st.next_id;
	info.parent = shell->info.pid;
	brief = dataset_define(&st.d, &info);
	brief->first = FROM;
	brief->last = TICKS - 1;
	use(shell, FEATURE_CPU_TIME, FROM, TICKS - 1, 2 * PERCENT);
	use(shell, FEATURE_CHILDREN_CPU, FROM, TICKS - 1, 80 * PERCENT);
	use(brief, FEATURE_CPU_TIME, FROM, TICKS - 1, 80 * PERCENT);
	use(brief, FEATURE_CHILDREN_SHORT, FROM, TICKS - 1, 30);
	ask_by(&st, true, &method_blame);
	assert_ptr_equal(first(&st)->subject, shell);
	assert_ptr_equal(first(&st)->mostly, brief);
	assert_non_null(strstr(st.answer.summary, "dash with ps"));
	assert_true(score_of(&st, brief) < first(&st)->score / 3);
	end(&st);
}

enum starter { A_NEW_SCRIPT, A_PROMPT, A_TOOL_THAT_WAS_THERE, AN_OLD_SCRIPT };

/* Some programs at once take two CPUs: their starter, or one of them, is named. */
static const struct subject *who_is_named_of(int n, enum starter kind, struct story *st, struct subject **ret_starter, struct subject *ret[])
{
	struct subject *starter;

	begin_workshop(st);
	starter = start(st, NULL, kind == A_TOOL_THAT_WAS_THERE ? "/usr/bin/tmux" : "/usr/bin/bash", kind >= A_TOOL_THAT_WAS_THERE ? 0 : FROM, TICKS - 1);
	if (kind != A_TOOL_THAT_WAS_THERE)
		starter->info.cmdline = kind == A_PROMPT ? (char *)"bash" : (char *)"bash /etc/nightly.sh";
	for (int i = 0; i < n; i++) {
		ret[i] = start(st, starter, "/usr/bin/xz", FROM, TICKS - 1);
		use(ret[i], FEATURE_CPU_TIME, FROM, TICKS - 1, 189 * PERCENT / n);
	}
	ask_by(st, true, &method_blame);
	if (kind != A_TOOL_THAT_WAS_THERE)
		starter->info.cmdline = NULL; /* not to be freed */
	*ret_starter = starter;
	return first(st)->subject;
}

/* Who ends the three would see the script start the next ones; a shell at a prompt, and what starts everything, has no more of them. One that was there before has its
 * other work, and is said with them. */
static void a_script_is_named_with_several_that_it_starts(void **state)
{
	struct subject *starter, *three[3];
	const struct subject *named;
	struct story st;
	char pids[64];

	(void)state;
	named = who_is_named_of(3, A_NEW_SCRIPT, &st, &starter, three);
	assert_ptr_equal(named, starter);
	snprintf(pids, sizeof(pids), "%u %u %u %u", starter->info.pid, three[0]->info.pid, three[1]->info.pid, three[2]->info.pid);
	assert_string_equal(first(&st)->mostly->info.name, "xz");
	assert_non_null(strstr(st.answer.summary, "nightly.sh with xz"));
	assert_non_null(strstr(st.answer.summary, "189 %"));
	assert_non_null(strstr(st.answer.next, pids));
	assert_string_equal(first(&st)->evidence.v[0], "most of it by 3 xz 100 %");
	for (size_t i = 1; i < st.answer.ranking.suspects.n; i++)
		assert_true(st.answer.ranking.suspects.v[i].score < first(&st)->score / 3);
	end(&st);
	named = who_is_named_of(3, A_PROMPT, &st, &starter, three);
	assert_ptr_equal(named, three[0]);
	assert_null(strstr(st.answer.summary, "bash"));
	end(&st);
	named = who_is_named_of(3, A_TOOL_THAT_WAS_THERE, &st, &starter, three);
	assert_ptr_equal(named, three[0]);
	assert_int_equal(first(&st)->together.n, 0);
	assert_null(first(&st)->starter);
	end(&st);
	named = who_is_named_of(3, AN_OLD_SCRIPT, &st, &starter, three);
	assert_ptr_equal(named, three[0]);
	assert_ptr_equal(first(&st)->starter, starter);
	assert_non_null(strstr(st.answer.summary, "(xz, started by bash nightly.sh)"));
	end(&st);
}

/* A user who ends it would see the script start the next one. */
static void a_script_is_said_with_the_one_program_that_it_starts(void **state)
{
	static const enum starter kinds[] = {A_NEW_SCRIPT, AN_OLD_SCRIPT, A_PROMPT, A_TOOL_THAT_WAS_THERE};
	struct subject *starter, *one;
	const struct subject *named;
	struct str words = {};
	struct story st;
	char expected[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		named = who_is_named_of(1, kinds[i], &st, &starter, &one);
		assert_ptr_equal(named, one);
		assert_ptr_equal(first(&st)->starter, i < 2 ? starter : NULL);
		assert_int_equal(strstr(st.answer.summary, "(xz, started by bash nightly.sh)") != NULL, i < 2);
		starter->info.cmdline = (char *)"bash /etc/nightly.sh";
		suspect_put(first(&st), &words);
		starter->info.cmdline = NULL; /* not to be freed */
		snprintf(expected, sizeof(expected), "xz (pid %u%s)", one->info.pid, i < 2 ? ", started by bash nightly.sh" : "");
		assert_string_equal(words.data, expected);
		str_free(&words);
		end(&st);
	}
}

static void a_shell_is_said_with_the_service_that_it_is_of(void **state)
{
	static const struct {
		const char *name, *unit, *words;
	} cases[] = {
		{"bash", "nightly.service", "bash (pid 812, of nightly.service)"}, {"nginx", "nginx.service", "nginx (pid 812)"},
		{"bash", "session-4.scope", "bash (pid 812)"}, {"bash", NULL, "bash (pid 812)"},
	};
	struct subject shell = {.info = {.kind = ENTITY_PROCESS, .pid = 812}};
	struct suspect suspect = {.subject = &shell, .kind = CULPRIT_PROCESS, .members = 1};
	struct str words = {};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		shell.info.name = (char *)cases[i].name;
		shell.info.unit = (char *)cases[i].unit;
		suspect_put(&suspect, &words);
		assert_string_equal(words.data, cases[i].words);
		str_free(&words);
	}
}

static void start_short(struct story *st, const char *name, uint32_t parent, int64_t each_second, int64_t cpu)
{
	struct subject *s = dataset_define(&st->d, &(struct entity_info){.id = ++st->next_id, .kind = ENTITY_SHORT_LIVED, .name = (char *)name, .parent = parent});

	s->first = FROM;
	s->last = TICKS - 1;
	use(s, FEATURE_CHILDREN_SHORT, FROM, TICKS - 1, each_second);
	use(s, FEATURE_CPU_TIME, FROM, TICKS - 1, cpu);
}

/* A build runs small scripts of the same interpreter; what a script forks is its own. */
static void of_an_interpreter_only_copies_are_counted_as_the_script_s(void **state)
{
	for (uint32_t copies = 0; copies < 2; copies++) {
		struct subject *build, *reports[3];
		struct story st;

		begin_workshop(&st);
		build = start(&st, NULL, "/bin/ninja", 0, TICKS - 1);
		for (size_t i = 0; i < ARRAY_SIZE(reports); i++) {
			struct entity_info info = {.id = ++st.next_id, .kind = ENTITY_PROCESS, .name = (char *)"python3", .pid = 3000 + (uint32_t)i,
						   .exe = (char *)"/bin/python3", .cmdline = (char *)"python3 report.py"};

			reports[i] = dataset_define(&st.d, &info);
			reports[i]->first = FROM;
			reports[i]->last = TICKS - 1;
			use(reports[i], FEATURE_CPU_TIME, FROM, TICKS - 1, 60 * PERCENT);
		}
		start_short(&st, "python3", copies ? reports[0]->info.pid : build->info.pid, 1, PERCENT);
		ask_by(&st, true, &method_blame);
		assert_string_equal(first(&st)->subject->program, reports[0]->program);
		assert_int_equal(first(&st)->members, copies ? 3 + TROUBLE : 3);
		end(&st);
	}
}

/* However long it has been there. Its other children are none of it. */
static void who_begins_to_start_short_programs_is_named_with_all_their_names(void **state)
{
	struct subject *update, *other;
	struct story st;

	begin_workshop(&st);
	update = start(&st, NULL, "/srv/update", 0, TICKS - 1);
	other = start(&st, update, "/bin/other", FROM, TICKS - 1);
	use(other, FEATURE_CPU_TIME, FROM, TICKS - 1, PERCENT);
	use(update, FEATURE_CPU_TIME, 0, TICKS - 1, PERCENT);
	use(update, FEATURE_CHILDREN_CPU, FROM, TICKS - 1, 80 * PERCENT);
	start_short(&st, "git", update->info.pid, 30, 45 * PERCENT);
	start_short(&st, "cut", update->info.pid, 8, 35 * PERCENT);
	ask_by(&st, true, &method_blame);
	assert_ptr_equal(first(&st)->subject, update);
	assert_string_equal(first(&st)->evidence.v[0], "most of it by 900 git 56 %, 240 cut 43 %, update 1 %");
	for (size_t i = 0; i < first(&st)->together.n; i++)
		assert_ptr_not_equal(first(&st)->together.v[i], other);
	for (size_t i = 1; i < st.answer.ranking.suspects.n; i++)
		assert_true(st.answer.ranking.suspects.v[i].score < first(&st)->score / 3);
	end(&st);
}

/* Each of them has but a part of what all of them have. */
static void of_several_it_is_told_since_when_they_do_it(void **state)
{
	struct story st;

	begin_workshop(&st);
	for (int i = 0; i < 4; i++)
		use(start(&st, NULL, "/usr/bin/sha256sum", FROM, TICKS - 1), FEATURE_CPU_TIME, FROM, TICKS - 1, 45 * PERCENT);
	ask_by(&st, false, &method_blame);
	assert_string_equal(first(&st)->subject->info.name, "sha256sum");
	assert_true(first(&st)->features.v[0].since == (1000000 + FROM) * NS_PER_SEC);
	end(&st);
}

static void of_one_program_alone_it_is_told_who_is_in_its_way(void **state)
{
	struct why_request request = {.at = (1000000 + TICKS - 1) * NS_PER_SEC, .window = 4 * 3600 * NS_PER_SEC, .method = &method_blame, .only = "editor"};
	struct story st;

	begin_workshop(&st);
	use(start(&st, NULL, "/usr/bin/hog", FROM, TICKS - 1), FEATURE_CPU_TIME, FROM, TICKS - 1, 150 * PERCENT);
	assert_int_equal(why_answer(&st.d, &request, &st.answer), 0);
	assert_non_null(strstr(st.answer.summary, "hog"));
	assert_int_equal(st.answer.ranking.suspects.n, 0);
	assert_int_equal(st.answer.ranking.victims.n, 1);
	assert_string_equal(st.answer.ranking.victims.v[0].subject->info.name, "editor");
	assert_int_equal(st.answer.remarks.n, 0);
	answer_free(&st.answer);
	request.only = "loop"; /* has no part in it */
	assert_int_equal(why_answer(&st.d, &request, &st.answer), 0);
	assert_int_equal(st.answer.ranking.victims.n, 0);
	assert_int_equal(st.answer.remarks.n, 1);
	assert_non_null(strstr(st.answer.remarks.v[0], "loop is not the cause"));
	answer_free(&st.answer);
	request.only = "lop";
	assert_int_equal(why_answer(&st.d, &request, &st.answer), 0);
	assert_non_null(strstr(st.answer.remarks.v[0], "no process, unit or name 'lop'"));
	end(&st);
}

static void what_two_jobs_share_is_told_once(void **state)
{
	struct subject *make, *other;
	struct story st;

	begin_workshop(&st);
	other = start(&st, NULL, "/bin/other", 0, TICKS - 1);
	compile(&st, other, FROM, FROM + 2); /* gcc is a job of its own: whoever calls it */
	make = build(&st, FROM, TICKS - 1);
	ask_by(&st, true, &method_blame);
	assert_ptr_equal(first(&st)->subject, make);
	for (size_t i = 1; i < st.answer.ranking.suspects.n; i++)
		assert_true(st.answer.ranking.suspects.v[i].score < first(&st)->score / 3);
	end(&st);
}

static void a_job_that_comes_every_now_and_then_is_no_news(void **state)
{
	struct story st;

	begin_workshop(&st);
	for (uint32_t t = 40; t + 60 < FROM; t += 120)
		build(&st, t, t + 29);
	build(&st, FROM, TICKS - 1);
	ask_by(&st, false, &method_blame);
	for (size_t i = 0; i < st.answer.ranking.suspects.n; i++)
		assert_string_not_equal(st.answer.ranking.suspects.v[i].subject->info.name, "make");
	end(&st);
}

static void a_new_program_that_does_it_itself_is_named_and_not_its_starter(void **state)
{
	struct subject *starter, *hog;
	struct story st;

	begin_workshop(&st);
	starter = start(&st, NULL, "/usr/bin/timeout", FROM, TICKS - 1);
	hog = start(&st, starter, "/bin/hog", FROM, TICKS - 1);
	use(hog, FEATURE_CPU_TIME, FROM, TICKS - 1, 100 * PERCENT);
	ask_by(&st, true, &method_blame);
	assert_true(st.answer.slow);
	assert_ptr_equal(first(&st)->subject, hog);
	assert_int_equal(first(&st)->together.n, 0);
	end(&st);
}

static void a_limit_is_passed_over_and_the_next_one_tried(void **state)
{
	struct subject shop = {.info = {.pid = 7, .name = (char *)"shop"}}, hog = {.info = {.pid = 8, .name = (char *)"hog"}};
	struct subject many = {.info = {.kind = ENTITY_SHORT_LIVED, .name = (char *)"true"}};
	const struct subject *pair[] = {&hog, &shop};
	struct suspect suspects[] = {
		{.kind = CULPRIT_LIMIT, .subject = &shop, .score = 0.5, .of = BOTTLENECK_QUOTA},
		{.kind = CULPRIT_PROCESS, .subject = &hog, .score = 0.4, .of = BOTTLENECK_CPU},
		{.kind = CULPRIT_GROUP, .subject = &many, .score = 0.2, .of = BOTTLENECK_DISK},
		{.kind = CULPRIT_PROCESS, .subject = &hog, .score = 0.01, .of = BOTTLENECK_CPU},
	};
	struct answer a = {.slow = true, .bottleneck = BOTTLENECK_QUOTA};
	struct culprit_list l;

	a.ranking.method = "blame";
	a.ranking.suspects.v = suspects;
	a.ranking.suspects.n = ARRAY_SIZE(suspects);
	assert_int_equal(culprit_list_of(&a, &l), 0);
	assert_int_equal(l.list.n, 3); /* whoever has a fiftieth of the guilt is not accused */
	assert_non_null(strstr(l.list.v[0].why_not, "limit"));
	assert_null(l.list.v[1].why_not);
	assert_true(l.list.v[1].processes.n == 1 && l.list.v[1].processes.v[0].pid == 8 && !l.list.v[1].program);
	assert_int_equal(l.list.v[1].of, BOTTLENECK_CPU);
	assert_non_null(l.list.v[2].why_not); /* who starts them is a suspect with them, if it is known */
	culprit_list_free(&l);
	/* all of a group, not only the one that matters most */
	suspects[1].kind = CULPRIT_GROUP;
	suspects[1].processes.v = pair;
	suspects[1].processes.n = ARRAY_SIZE(pair);
	assert_int_equal(culprit_list_of(&a, &l), 0);
	assert_true(l.list.v[1].program && l.list.v[1].processes.n == 2);
	assert_true(l.list.v[1].processes.v[0].pid == 8 && l.list.v[1].processes.v[1].pid == 7);
	culprit_list_free(&l);
	a.slow = false;
	assert_int_equal(culprit_list_of(&a, &l), 0);
	assert_int_equal(l.list.n, 0);
}

/* Those that are recorded as one, without their names, use most; the others are too unlikely to be named. */
static void what_has_no_name_is_not_named(void **state)
{
	struct subject *waits, *update;
	struct story st;

	for (int marked = 0; marked < 2; marked++) {
		begin(&st);
		press(&st, FEATURE_PSI_CPU_SOME, 2, 60);
		update = add(&st, "/srv/update", 0, TICKS - 1, 0);
		use(update, FEATURE_CPU_TIME, 0, TICKS - 1, PERCENT);
		use(update, FEATURE_CHILDREN_CPU, FROM, TICKS - 1, 9 * PERCENT);
		start_short(&st, "git", update->info.pid, 10, 9 * PERCENT);
		start_short(&st, NAME_OF_OTHERS, 0, 90, 80 * PERCENT);
		waits = add(&st, "/bin/waits", 0, TICKS - 1, 0);
		use(waits, FEATURE_CPU_TIME, 0, TICKS - 1, 10 * PERCENT);
		use(waits, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 50 * PERCENT);
		ask(&st, marked);
		assert_true(st.answer.slow);
		assert_false(st.answer.culprit_is_named);
		assert_string_equal(st.answer.cause, "cpu-shared");
		assert_null(strstr(st.answer.summary, "most likely"));
		for (size_t i = 0; i < st.answer.unnamed.n; i++)
			assert_string_not_equal(st.answer.unnamed.v[i].subject->info.name, NAME_OF_OTHERS);
		end(&st);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_no_name_is_not_named),
		cmocka_unit_test(a_common_start_is_one_suspect), cmocka_unit_test(who_has_usual_work_done_all_the_time_is_named),
		cmocka_unit_test(what_the_kernel_does_for_a_job_is_the_jobs),
		cmocka_unit_test(who_starts_short_programs_is_named_with_them),
		cmocka_unit_test(a_script_is_named_with_several_that_it_starts),
		cmocka_unit_test(a_script_is_said_with_the_one_program_that_it_starts), cmocka_unit_test(a_shell_is_said_with_the_service_that_it_is_of),
		cmocka_unit_test(of_an_interpreter_only_copies_are_counted_as_the_script_s),
		cmocka_unit_test(who_begins_to_start_short_programs_is_named_with_all_their_names),
		cmocka_unit_test(of_several_it_is_told_since_when_they_do_it),
		cmocka_unit_test(of_one_program_alone_it_is_told_who_is_in_its_way),
		cmocka_unit_test(what_two_jobs_share_is_told_once),
		cmocka_unit_test(a_job_that_comes_every_now_and_then_is_no_news),
		cmocka_unit_test(a_new_program_that_does_it_itself_is_named_and_not_its_starter),
		cmocka_unit_test(a_limit_is_passed_over_and_the_next_one_tried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
