/* Stories with a known end, told to the model that joins what victims waited for: who must be named, who must not. */
#include "lib/data/cleanup.h"
#include "machine/answer-why/test-recording.h"

static void nobody_waits_for_who_gives_way(void **state)
{
	struct subject *editor, *folding, *encoder;
	struct story st;

	begin(&st);
	editor = add(&st, "/bin/editor", 0, TICKS - 1, 0);
	encoder = add(&st, "/bin/encoder", 0, TICKS - 1, 0);
	folding = add(&st, "/bin/folding", FROM, TICKS - 1, 0);
	use(editor, FEATURE_CPU_TIME, 0, TICKS - 1, 5 * PERCENT);
	use(editor, FEATURE_CPU_RUN_DELAY, 0, TICKS - 1, PERCENT);
	use(encoder, FEATURE_CPU_TIME, 0, FROM - 1, 100 * PERCENT);
	use(encoder, FEATURE_CPU_TIME, FROM, TICKS - 1, 50 * PERCENT);
	use(encoder, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 50 * PERCENT);
	use(folding, FEATURE_CPU_TIME, FROM, TICKS - 1, 50 * PERCENT);
	use(folding, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 50 * PERCENT);
	level(encoder, FEATURE_SCHED_NICE, 0, 19);
	level(folding, FEATURE_SCHED_NICE, FROM, 19);
	level(editor, FEATURE_SCHED_NICE, 0, 0);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 95);
	ask_by(&st, true, &method_blame);
	assert_false(st.answer.slow);
	end(&st);
	/* the same at normal priority is somebody's fault */
	begin(&st);
	editor = add(&st, "/bin/editor", 0, TICKS - 1, 0);
	folding = add(&st, "/bin/folding", FROM, TICKS - 1, 0);
	use(editor, FEATURE_CPU_RUN_DELAY, 0, FROM - 1, PERCENT);
	use(editor, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 60 * PERCENT);
	use(folding, FEATURE_CPU_TIME, FROM, TICKS - 1, 100 * PERCENT);
	encoder = add(&st, "/bin/encoder", 0, TICKS - 1, 0);
	use(encoder, FEATURE_CPU_RUN_DELAY, 0, FROM - 1, 50 * PERCENT);
	use(encoder, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 150 * PERCENT);
	level(encoder, FEATURE_SCHED_NICE, 0, 19);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 95);
	ask_by(&st, true, &method_blame);
	assert_true(st.answer.slow);
	assert_ptr_equal(first(&st)->subject, folding);
	assert_int_equal(st.answer.ranking.victims.n, 1); /* the encoder waits by choice */
	assert_ptr_equal(st.answer.ranking.victims.v[0].subject, editor);
	end(&st);
}

/* An earlier run that ended says how long this one may take, unless this one is older than that already. */
static void after_what_it_ended_before_is_said(void **state)
{
	for (uint32_t lasted = 10; lasted <= 200; lasted += 190) {
		struct subject *earlier, *now;
		struct story st;

		begin(&st);
		use(add(&st, "/bin/editor", 0, TICKS - 1, 0), FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 60 * PERCENT);
		earlier = add(&st, "/bin/xz", 100, 100 + lasted, 0);
		now = add(&st, "/bin/xz", FROM, TICKS - 1, 0);
		earlier->info.start = 1100 * NS_PER_SEC;
		now->info.start = (1000 + FROM) * NS_PER_SEC;
		use(earlier, FEATURE_CPU_TIME, 100, 100 + lasted, 1 * PERCENT);
		use(now, FEATURE_CPU_TIME, FROM, TICKS - 1, 100 * PERCENT);
		press(&st, FEATURE_PSI_CPU_SOME, 2, 95);
		ask_by(&st, true, &method_blame);
		assert_string_equal(st.answer.cause, "compressing");
		assert_int_equal(strncmp(st.answer.next, "It ended within 200 s when it ran before. ", 42) == 0, lasted == 200);
		end(&st);
	}
}

/* Whoever has ended is not looked for in vain. */
static void that_it_has_ended_is_said(void **state)
{
	for (uint32_t ago = 0; ago <= 4; ago += 4) {
		struct subject *report;
		struct story st;

		begin(&st);
		use(add(&st, "/bin/editor", 0, TICKS - 1, 0), FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 60 * PERCENT);
		report = add(&st, "/bin/report", FROM, TICKS - 1 - ago, 0);
		use(report, FEATURE_CPU_TIME, FROM, TICKS - 1 - ago, 100 * PERCENT);
		press(&st, FEATURE_PSI_CPU_SOME, 2, 95);
		ask_by(&st, true, &method_blame);
		assert_ptr_equal(first(&st)->subject, report);
		assert_int_equal(strstr(st.answer.summary, "; it ended 4 s ago") != NULL, ago > 0);
		assert_int_equal(strncmp(st.answer.next, "It no longer runs.", 18) == 0, ago > 0);
		end(&st);
	}
}

static void a_limit_is_named_as_a_limit(void **state)
{
	struct subject *shop, *other;
	struct story st;

	begin(&st);
	shop = add(&st, "/bin/shop", 0, TICKS - 1, 0);
	other = add(&st, "/bin/other", 0, TICKS - 1, 0);
	use(other, FEATURE_CPU_TIME, 0, TICKS - 1, 120 * PERCENT);
	use(shop, FEATURE_CPU_TIME, 0, FROM - 1, 20 * PERCENT);
	use(shop, FEATURE_CPU_TIME, FROM, TICKS - 1, 5 * PERCENT);
	use(shop, FEATURE_WAIT_QUOTA, FROM, TICKS - 1, 90 * PERCENT);
	use(shop, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 90 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 90);
	ask_by(&st, true, &method_blame);
	assert_true(st.answer.slow);
	assert_int_equal(st.answer.bottleneck, BOTTLENECK_QUOTA);
	assert_int_equal(first(&st)->kind, CULPRIT_LIMIT);
	assert_ptr_equal(first(&st)->subject, shop);
	assert_string_equal(first(&st)->features.v[0].feature->name, "wait.quota");
	assert_string_equal(st.answer.cause, "quota");
	end(&st);
}

/* Where no pressure says when it began, the last ten seconds are looked at. */
#define LATELY (TICKS - 12)

static void who_uses_a_limit_up_is_named_and_not_the_limit(void **state)
{
	struct subject *shop, *report;
	struct story st;

	begin(&st);
	shop = add(&st, "/bin/shop", 0, TICKS - 1, 0);
	report = add(&st, "/bin/report", LATELY, TICKS - 1, 0);
	use(shop, FEATURE_CPU_TIME, 0, LATELY - 1, 15 * PERCENT);
	use(shop, FEATURE_CPU_TIME, LATELY, TICKS - 1, 9 * PERCENT);
	use(shop, FEATURE_WAIT_QUOTA, LATELY, TICKS - 1, 40 * PERCENT);
	use(report, FEATURE_CPU_TIME, LATELY, TICKS - 1, 24 * PERCENT);
	use(report, FEATURE_WAIT_QUOTA, LATELY, TICKS - 1, 70 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 3);
	ask_by(&st, true, &method_blame);
	assert_true(st.answer.slow);
	assert_int_equal(st.answer.bottleneck, BOTTLENECK_QUOTA);
	assert_int_equal(first(&st)->kind, CULPRIT_PROCESS);
	assert_ptr_equal(first(&st)->subject, report);
	assert_string_equal(st.answer.cause, "quota-own");
	end(&st);
}

static void begin_mail(struct story *st, int64_t waits_percent)
{
	struct subject *mail, *server;

	begin(st);
	mail = add(st, "/bin/mail", 0, TICKS - 1, 0);
	server = add(st, "/bin/server", 0, TICKS - 1, 0);
	use(mail, FEATURE_CPU_TIME, 0, TICKS - 1, PERCENT);
	use(mail, FEATURE_WAIT_NETWORK, 0, FROM - 1, 2 * PERCENT);
	use(mail, FEATURE_WAIT_NETWORK, FROM, TICKS - 1, waits_percent * PERCENT);
	/* always waits for work, and now that nobody asks all the time */
	use(server, FEATURE_CPU_TIME, 0, FROM - 1, 60 * PERCENT);
	use(server, FEATURE_WAIT_NETWORK, 0, FROM - 1, 40 * PERCENT);
	use(server, FEATURE_WAIT_NETWORK, FROM, TICKS - 1, 99 * PERCENT);
	use(server, FEATURE_CPU_TIME, FROM, TICKS - 1, PERCENT);
}

static void consumers_of_an_empty_queue_that_were_not_there_before_wait_for_work(void **state)
{
	struct subject *consumer;
	struct story st;

	begin(&st);
	use(add(&st, "/bin/editor", 0, TICKS - 1, 0), FEATURE_CPU_TIME, 0, TICKS - 1, PERCENT);
	consumer = add(&st, "/bin/consumer", FROM - 2, TICKS - 1, 0);
	use(consumer, FEATURE_WAIT_NETWORK, FROM - 2, TICKS - 1, 99 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 2);
	ask_by(&st, true, &method_blame);
	assert_int_equal(st.answer.ranking.suspects.n, 0);
	end(&st);
}

static void an_answer_that_comes_late_is_not_this_machines_fault(void **state)
{
	struct subject *hog;
	struct story st;

	begin_mail(&st, 95);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 2);
	ask_by(&st, true, &method_blame);
	assert_int_equal(st.answer.bottleneck, BOTTLENECK_REMOTE);
	assert_int_equal(first(&st)->kind, CULPRIT_HOST);
	assert_string_equal(first(&st)->subject->info.name, "mail");
	assert_string_equal(st.answer.cause, "remote");
	assert_int_equal(strncmp(st.answer.summary, "the machine is not short of CPU, disk or memory, but mail waits", 63), 0);
	end(&st);
	/* nobody asked: a program may wait for another machine as long as it likes */
	begin_mail(&st, 95);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 2);
	ask_by(&st, false, &method_blame);
	assert_false(st.answer.slow);
	end(&st);
	/* as always: nothing is said */
	begin_mail(&st, 2);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 2);
	ask_by(&st, true, &method_blame);
	assert_false(st.answer.slow);
	end(&st);
	/* this machine is short of something: what waits for an answer waits for that */
	begin_mail(&st, 95);
	hog = add(&st, "/bin/hog", FROM, TICKS - 1, 0);
	use(hog, FEATURE_CPU_TIME, FROM, TICKS - 1, 100 * PERCENT);
	use(dataset_subject(&st.d, 1), FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 60 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 95);
	ask_by(&st, true, &method_blame);
	assert_int_equal(st.answer.bottleneck, BOTTLENECK_CPU);
	assert_ptr_equal(first(&st)->subject, hog);
	end(&st);
}

static void who_fills_the_line_is_why_answers_come_late(void **state)
{
	struct subject *files, *fetch;
	struct story st;

	begin_mail(&st, 80);
	files = add(&st, "/bin/files", 0, TICKS - 1, 0);
	fetch = add(&st, "/bin/fetch", LATELY, TICKS - 1, 0);
	use(files, FEATURE_NET_TX_BYTES, LATELY, TICKS - 1, 2 * MB);
	use(files, FEATURE_WAIT_NETWORK, LATELY, TICKS - 1, 95 * PERCENT); /* for the line to take what it sends */
	use(fetch, FEATURE_NET_RX_BYTES, LATELY, TICKS - 1, 2 * MB);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 2);
	ask_by(&st, true, &method_blame);
	assert_true(st.answer.slow);
	assert_int_equal(st.answer.bottleneck, BOTTLENECK_NETWORK);
	assert_ptr_equal(first(&st)->subject, fetch);
	assert_string_equal(st.answer.cause, "network-busy");
	end(&st);
	/* a little fills no line */
	begin_mail(&st, 80);
	fetch = add(&st, "/bin/fetch", LATELY, TICKS - 1, 0);
	use(fetch, FEATURE_NET_RX_BYTES, LATELY, TICKS - 1, MB / 20);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 2);
	ask_by(&st, true, &method_blame);
	assert_string_equal(st.answer.cause, "remote");
	end(&st);
}

/* Guilt of a reader or server that sleeps 60 % of the time, of which its writer or client waits `usually` anyway. */
static double score_of_sleeper(enum charge_how how, int64_t usually, double before)
{
	struct story st;
	struct subject *writer, *reader;
	struct charges charges = {};
	struct method_question q = {.at = TICKS - 1, .focus = FROM, .train_to = FROM - 1, .cpus = 2, .charges = &charges};
	struct ranking ranking = {};
	double score;

	begin(&st);
	writer = add(&st, "/bin/writer", 0, TICKS - 1, 0);
	reader = add(&st, "/bin/reader", 0, TICKS - 1, 0);
	use(writer, FEATURE_WAIT_PEER, 0, FROM - 1, usually * PERCENT);
	use(writer, FEATURE_WAIT_PEER, FROM, TICKS - 1, 60 * PERCENT);
	assert_int_equal(VEC_PUSH(charges.list, (struct charge){writer->program, reader->program, BOTTLENECK_PEER, how, 0.6, 0.6, before}), 0);
	assert_int_equal(method_blame.rank(&st.d, &q, &ranking), 0);
	score = ranking.suspects.n ? ranking.suspects.v[0].score : 0;
	if (ranking.suspects.n) {
		assert_ptr_equal(ranking.suspects.v[0].subject, reader);
		assert_true(fabs(ranking.suspects.v[0].imposed - 0.6) < 1e-9);
	}
	ranking_free(&ranking);
	charges_free(&charges);
	end(&st);
	return score;
}

static void who_writes_to_a_slower_one_as_ever_has_nothing_to_complain_of(void **state)
{
	assert_true(score_of_sleeper(CHARGE_UNREAD, 1, NAN) > 0.5);
	assert_true(score_of_sleeper(CHARGE_UNREAD, 60, NAN) < 0.01);
	/* what the sums of the recorder cannot tell events do */
	assert_true(score_of_sleeper(CHARGE_OWED, 60, 0) > 0.5);
	assert_true(score_of_sleeper(CHARGE_OWED, 0, 0.6) < 0.01);
	assert_true(score_of_sleeper(CHARGE_UNANSWERED, 0, 0) > 0.5);
}

/* Guilt of who holds a lock for which its victim waits 60 % of the time, usually so much of it, and waits for a CPU itself so much. */
static double guilt_of_holder(int64_t usually, int64_t queues)
{
	struct story st;
	struct subject *victim, *holder;
	struct charges charges = {.total[BOTTLENECK_LOCK] = 0.6};
	struct method_question q = {.at = TICKS - 1, .focus = FROM, .train_to = FROM - 1, .cpus = 2, .charges = &charges};
	struct ranking ranking = {};
	double score;

	begin(&st);
	victim = add(&st, "/bin/victim", 0, TICKS - 1, 0);
	holder = add(&st, "/bin/holder", 0, TICKS - 1, 0);
	use(victim, FEATURE_WAIT_LOCK, 0, FROM - 1, usually * PERCENT);
	use(victim, FEATURE_WAIT_LOCK, FROM, TICKS - 1, 60 * PERCENT);
	use(holder, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, queues * PERCENT);
	assert_int_equal(VEC_PUSH(charges.list, (struct charge){victim->program, holder->program, BOTTLENECK_LOCK, CHARGE_HELD, 0.6, 0, NAN}), 0);
	assert_int_equal(method_blame.rank(&st.d, &q, &ranking), 0);
	score = ranking.suspects.n ? ranking.suspects.v[0].score : 0;
	ranking_free(&ranking);
	charges_free(&charges);
	end(&st);
	return score;
}

/* A victim of next to nothing is not listed. */
static void who_waited_for_it_is_listed_by_share(void **state)
{
	struct story st;
	struct subject *victim, *other, *holder;
	struct charges charges = {.total[BOTTLENECK_LOCK] = 0.6};
	struct method_question q = {.at = TICKS - 1, .focus = FROM, .train_to = FROM - 1, .cpus = 2, .charges = &charges};
	struct ranking ranking = {};
	bool listed = false;

	begin(&st);
	victim = add(&st, "/bin/victim", 0, TICKS - 1, 0);
	other = add(&st, "/bin/other", 0, TICKS - 1, 0);
	holder = add(&st, "/bin/holder", 0, TICKS - 1, 0);
	use(victim, FEATURE_WAIT_LOCK, FROM, TICKS - 1, 60 * PERCENT);
	assert_int_equal(VEC_PUSH(charges.list, (struct charge){victim->program, holder->program, BOTTLENECK_LOCK, CHARGE_HELD, 0.599, 0, NAN}), 0);
	assert_int_equal(VEC_PUSH(charges.list, (struct charge){other->program, holder->program, BOTTLENECK_LOCK, CHARGE_HELD, 0.001, 0, NAN}), 0);
	assert_int_equal(method_blame.rank(&st.d, &q, &ranking), 0);
	assert_true(ranking.suspects.n > 0);
	for (size_t i = 0; i < ranking.suspects.v[0].evidence.n; i++) {
		listed = listed || strstr(ranking.suspects.v[0].evidence.v[i], "victim 100 %");
		assert_null(strstr(ranking.suspects.v[0].evidence.v[i], ", other"));
	}
	assert_true(listed);
	ranking_free(&ranking);
	charges_free(&charges);
	end(&st);
}

static void who_shares_a_lock_as_ever_is_not_guilty(void **state)
{
	assert_true(guilt_of_holder(1, 0) > 0.1);
	assert_true(guilt_of_holder(60, 0) < 0.01);
}

static void who_waits_for_a_cpu_while_it_holds_a_lock_is_not_guilty(void **state)
{
	assert_true(guilt_of_holder(1, 55) < 0.1 * guilt_of_holder(1, 0));
}

static void who_always_is_big_may_do_more(void **state)
{
	struct subject *editor, *renderer;
	struct story st;

	begin(&st);
	editor = add(&st, "/bin/editor", 0, TICKS - 1, 0);
	renderer = add(&st, "/bin/renderer", 0, TICKS - 1, 0);
	for (uint32_t t = 0; t < FROM; t++)
		use(renderer, FEATURE_CPU_TIME, t, t, (t / 10 % 2 ? 75 : 65) * PERCENT);
	use(renderer, FEATURE_CPU_TIME, FROM, TICKS - 1, 100 * PERCENT);
	use(editor, FEATURE_CPU_RUN_DELAY, 0, FROM - 1, PERCENT);
	use(editor, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 60 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 20, 80);
	ask_by(&st, true, &method_blame);
	assert_true(st.answer.slow);
	assert_ptr_equal(first(&st)->subject, renderer);
	assert_true(first(&st)->score > 0.3);
	end(&st);
}

static void who_computes_and_is_in_nobodys_way_is_slow_by_itself(void **state)
{
	struct subject *office, *other;
	struct story st;

	begin(&st);
	office = add(&st, "/bin/office", 0, TICKS - 1, 0);
	other = add(&st, "/bin/other", 0, TICKS - 1, 0);
	use(office, FEATURE_CPU_TIME, 0, LATELY - 1, 5 * PERCENT);
	use(office, FEATURE_CPU_TIME, LATELY, TICKS - 1, 100 * PERCENT);
	use(other, FEATURE_CPU_TIME, 0, TICKS - 1, 20 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 2);
	ask_by(&st, true, &method_blame);
	assert_int_equal(st.answer.bottleneck, BOTTLENECK_SELF);
	assert_ptr_equal(first(&st)->subject, office);
	assert_string_equal(st.answer.cause, "itself");
	end(&st);
}

static void a_limit_as_old_as_its_program_does_not_slow_the_others(void **state)
{
	struct subject *editor, *sandbox, *hog;
	struct story st;

	begin(&st);
	editor = add(&st, "/bin/editor", 0, TICKS - 1, 0);
	sandbox = add(&st, "/bin/sandbox", FROM, TICKS - 1, 0);
	hog = add(&st, "/bin/hog", FROM, TICKS - 1, 0);
	use(editor, FEATURE_CPU_RUN_DELAY, 0, FROM - 1, PERCENT);
	use(editor, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 60 * PERCENT);
	use(hog, FEATURE_CPU_TIME, FROM, TICKS - 1, 100 * PERCENT);
	use(sandbox, FEATURE_CPU_TIME, FROM, TICKS - 1, 20 * PERCENT);
	use(sandbox, FEATURE_WAIT_QUOTA, FROM, TICKS - 1, 80 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 95);
	ask_by(&st, true, &method_blame);
	assert_int_equal(st.answer.bottleneck, BOTTLENECK_CPU);
	assert_ptr_equal(first(&st)->subject, hog);
	end(&st);
}

static void a_limit_that_was_always_reached_is_no_news(void **state)
{
	struct subject *shop, *hog;
	struct story st;

	begin(&st);
	shop = add(&st, "/bin/shop", 0, TICKS - 1, 0);
	hog = add(&st, "/bin/hog", FROM, TICKS - 1, 0);
	use(shop, FEATURE_WAIT_QUOTA, 0, TICKS - 1, 90 * PERCENT);
	use(shop, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 50 * PERCENT);
	use(hog, FEATURE_CPU_TIME, FROM, TICKS - 1, 100 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 60);
	ask_by(&st, true, &method_blame);
	assert_ptr_equal(first(&st)->subject, hog);
	assert_int_equal(st.answer.bottleneck, BOTTLENECK_CPU);
	end(&st);
}

/* A second client of the same program as an innocent one begins to ask a server without a pause. */
static void who_asks_is_guilty_of_the_answers(void **state)
{
	struct subject *server, *visitor, *crawler, *worker, *editor;
	struct story st;

	begin(&st);
	server = add(&st, "/bin/server", 0, TICKS - 1, 0);
	visitor = add(&st, "/bin/client", 0, TICKS - 1, 0);
	crawler = add(&st, "/bin/client", FROM, TICKS - 1, 0);
	editor = add(&st, "/bin/editor", 0, TICKS - 1, 0);
	use(server, FEATURE_CPU_TIME, 0, FROM - 1, 2 * PERCENT);
	use(server, FEATURE_CPU_TIME, FROM, TICKS - 1, 60 * PERCENT);
	use(server, FEATURE_NET_RX_CALLS, 0, FROM - 1, 80);
	use(server, FEATURE_NET_RX_CALLS, FROM, TICKS - 1, 8000);
	use(visitor, FEATURE_CPU_TIME, 0, TICKS - 1, 2 * PERCENT);
	use(visitor, FEATURE_NET_TX_CALLS, 0, TICKS - 1, 80);
	use(crawler, FEATURE_CPU_TIME, FROM, TICKS - 1, 40 * PERCENT);
	use(crawler, FEATURE_NET_TX_CALLS, FROM, TICKS - 1, 7900);
	use(editor, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 60 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 60);
	ask_by(&st, true, &method_blame);
	assert_ptr_equal(first(&st)->subject, crawler);
	assert_true(score_of(&st, server) < first(&st)->score / 3);
	end(&st);
	/* a server that begins a process for each who asks */
	begin(&st);
	server = add(&st, "/bin/server", 0, TICKS - 1, 0);
	visitor = add(&st, "/bin/client", 1, TICKS - 1, 0);
	crawler = add(&st, "/bin/client", FROM, TICKS - 1, 0);
	worker = add(&st, "/bin/server", FROM + 1, TICKS - 1, 0);
	editor = add(&st, "/bin/editor", 0, TICKS - 1, 0);
	use(server, FEATURE_CPU_TIME, 0, TICKS - 1, 2 * PERCENT);
	use(visitor, FEATURE_CPU_TIME, 0, TICKS - 1, 2 * PERCENT);
	for (struct subject *const *s = (struct subject *[]){crawler, worker, NULL}; *s; s++) {
		use(*s, FEATURE_CPU_TIME, FROM + 1, TICKS - 1, (*s == worker ? 60 : 10) * PERCENT);
		use(*s, FEATURE_NET_TX_CALLS, FROM + 1, TICKS - 1, 1400);
		use(*s, FEATURE_NET_RX_CALLS, FROM + 1, TICKS - 1, 1400);
	}
	use(editor, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 60 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 60);
	ask_by(&st, true, &method_blame);
	assert_ptr_equal(first(&st)->subject, crawler);
	end(&st);
}

/* A fact about the culprit; NaN = not known. */
static double ask_for_fact(struct story *st, const char *name)
{
	_cleanup_(facts_free) struct facts facts = {};
	struct why_request request = {.at = (1000000 + TICKS - 1) * NS_PER_SEC, .window = 4 * 3600 * NS_PER_SEC, .marked = true, .ret_facts = &facts};
	const struct fact *found;

	assert_int_equal(why_answer(&st->d, &request, &st->answer), 0);
	found = facts_find(&facts, FACT_CULPRIT, name);
	return found ? found->now : NAN;
}

/* A script that hardly works has a database write without a pause. */
static void who_asks_is_named_for_what_the_server_does(void **state)
{
	struct subject *server, *importer, *editor;
	struct story st;

	begin(&st);
	server = add(&st, "/bin/server", 0, TICKS - 1, 0);
	importer = add(&st, "/bin/importer", FROM, TICKS - 1, 0);
	editor = add(&st, "/bin/editor", 0, TICKS - 1, 0);
	use(server, FEATURE_IO_WRITE_BYTES, 0, FROM - 1, MB / 10);
	use(server, FEATURE_IO_WRITE_BYTES, FROM, TICKS - 1, 20 * MB);
	use(server, FEATURE_NET_RX_CALLS, FROM, TICKS - 1, 5000);
	use(importer, FEATURE_CPU_TIME, FROM, TICKS - 1, 30 * PERCENT);
	use(importer, FEATURE_NET_TX_CALLS, FROM, TICKS - 1, 4900);
	use(editor, FEATURE_DELAY_BLOCK, FROM, TICKS - 1, 60 * PERCENT);
	use(server, FEATURE_DELAY_BLOCK, FROM, TICKS - 1, 70 * PERCENT);
	level(server, FEATURE_THREADS, 0, 280);
	level(importer, FEATURE_THREADS, FROM, 2);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 10);
	press(&st, FEATURE_PSI_IO_SOME, 2, 60);
	assert_float_equal(ask_for_fact(&st, "threads.count"), 2, 1e-9); /* and not the server's, too */
	assert_ptr_equal(first(&st)->subject, importer);
	assert_ptr_equal(first(&st)->server, server);
	assert_int_equal(first(&st)->of, BOTTLENECK_DISK);
	assert_string_equal(first(&st)->features.v[0].feature->name, "io.write_bytes");
	assert_true(first(&st)->features.v[0].flags & FINDING_OF_SERVER);
	assert_string_equal(st.answer.cause, "disk-write");
	assert_non_null(strstr(st.answer.summary, "importer (through server) writes 20 MB/s"));
	for (size_t i = 0; i < st.answer.ranking.victims.n; i++)
		assert_ptr_not_equal(st.answer.ranking.victims.v[i].subject, server);
	end(&st);
}

static void who_writes_is_guilty_of_the_writing_back(void **state)
{
	struct subject *worker, *writer;
	struct story st;

	begin(&st);
	writer = add(&st, "/bin/writer", FROM, TICKS - 1, 0);
	worker = add(&st, "/x/kworker", 0, TICKS - 1, 0);
	worker->info.flags |= ENTITY_IS_KERNEL_THREAD;
	use(writer, FEATURE_IO_WRITE_BYTES, FROM, TICKS - 1, 5 * MB);
	use(worker, FEATURE_IO_WRITE_BYTES, FROM, TICKS - 1, 60 * MB);
	press(&st, FEATURE_PSI_IO_SOME, 2, 60);
	ask_by(&st, true, &method_blame);
	assert_ptr_equal(first(&st)->subject, writer);
	assert_true(score_of(&st, worker) <= 0);
	end(&st);
}

/* A job that everybody waits for, for ten seconds every two minutes and now again. */
static void begin_periodic(struct story *st, uint32_t every)
{
	struct entity_info info = {.id = 77, .kind = ENTITY_SYSTEM, .name = (char *)"machine"};
	struct subject *machine, *job, *editor;

	begin(st);
	machine = dataset_define(&st->d, &info);
	machine->first = 0;
	machine->last = TICKS - 1;
	job = add(st, "/bin/job", 0, TICKS - 1, 0);
	editor = add(st, "/bin/editor", 0, TICKS - 1, 0);
	for (uint32_t t = 0; t < TICKS; t++) {
		bool runs = (TICKS - 1 - t) % every < 10;

		use(machine, FEATURE_PSI_CPU_SOME, t, t, (runs ? 80 : 2) * PERCENT);
		use(job, FEATURE_CPU_TIME, t, t, (runs ? 190 : 1) * PERCENT);
		use(editor, FEATURE_CPU_RUN_DELAY, t, t, (runs ? 80 : 1) * PERCENT);
	}
}

static void what_comes_all_the_time_is_no_news(void **state)
{
	struct story st;

	begin_periodic(&st, 120);
	ask_by(&st, false, &method_blame);
	assert_false(st.answer.slow);
	end(&st);
	/* for the first time it is */
	begin_periodic(&st, 2 * TICKS);
	ask_by(&st, false, &method_blame);
	assert_true(st.answer.slow);
	assert_string_equal(first(&st)->subject->info.name, "job");
	end(&st);
}

static void nobody_is_listed_where_nobody_stands_out(void **state)
{
	static char names[40][16];
	struct story st;

	begin(&st);
	for (int i = 0; i < 40; i++) {
		struct subject *s;

		snprintf(names[i], sizeof(names[i]), "/bin/many%d", i);
		s = add(&st, names[i], 0, TICKS - 1, 0);
		use(s, FEATURE_CPU_TIME, 0, FROM - 1, PERCENT);
		use(s, FEATURE_CPU_TIME, FROM, TICKS - 1, 5 * PERCENT);
		use(s, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 5 * PERCENT);
	}
	press(&st, FEATURE_PSI_CPU_SOME, 2, 80);
	ask_by(&st, true, &method_blame);
	assert_true(st.answer.slow);
	assert_int_equal(st.answer.ranking.suspects.n, 0);
	assert_string_equal(st.answer.cause, "cpu-shared");
	end(&st);
}

static void the_recorder_looks_because_it_is_slow(void **state)
{
	struct subject *recorder, *hog, *editor;
	struct story st;

	begin(&st);
	recorder = add(&st, "/bin/whyslow", 0, TICKS - 1, 0);
	recorder->info.flags |= ENTITY_IS_SELF;
	hog = add(&st, "/bin/hog", FROM, TICKS - 1, 0);
	editor = add(&st, "/bin/editor", 0, TICKS - 1, 0);
	use(recorder, FEATURE_CPU_TIME, FROM, TICKS - 1, 60 * PERCENT);
	use(hog, FEATURE_CPU_TIME, FROM, TICKS - 1, 50 * PERCENT);
	use(editor, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 60 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 80);
	ask_by(&st, true, &method_blame);
	assert_ptr_equal(first(&st)->subject, hog);
	end(&st);
}

/* What it reads for its answer is nearly all that is read, and next to nothing. */
static void who_asks_on_an_idle_machine_is_no_suspect(void **state)
{
	struct subject *recorder;
	struct story st;

	begin(&st);
	recorder = add(&st, "/bin/whyslow", TICKS - 1, TICKS - 1, 0);
	recorder->info.flags |= ENTITY_IS_SELF;
	use(recorder, FEATURE_IO_READ_BYTES, TICKS - 1, TICKS - 1, 2000000);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 2);
	ask_by(&st, true, &method_blame);
	assert_int_equal(st.answer.ranking.suspects.n, 0);
	end(&st);
}

static void who_asks_is_neither_suspect_nor_victim(void **state)
{
	struct subject *recorder, *hog, *editor;
	struct story st;

	begin(&st);
	recorder = add(&st, "/bin/whyslow", FROM, TICKS - 1, 0);
	recorder->info.flags |= ENTITY_IS_SELF;
	hog = add(&st, "/bin/hog", FROM, TICKS - 1, 0);
	editor = add(&st, "/bin/editor", 0, TICKS - 1, 0);
	use(recorder, FEATURE_CPU_TIME, FROM, TICKS - 1, 20 * PERCENT);
	use(recorder, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 60 * PERCENT);
	use(hog, FEATURE_CPU_TIME, FROM, TICKS - 1, 80 * PERCENT);
	use(editor, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 60 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 80);
	ask_by(&st, true, &method_blame);
	assert_int_equal(st.answer.ranking.suspects.n, 1);
	assert_ptr_equal(first(&st)->subject, hog);
	assert_int_equal(st.answer.ranking.victims.n, 1);
	assert_ptr_equal(st.answer.ranking.victims.v[0].subject, editor);
	end(&st);
}

static struct subject *add_in(struct story *st, const char *exe, const char *unit)
{
	struct entity_info info = {.id = ++st->next_id, .kind = ENTITY_PROCESS, .pid = 1000 + st->next_id, .name = (char *)strrchr(exe, '/') + 1,
				   .exe = (char *)exe, .unit = (char *)unit};
	struct subject *s = dataset_define(&st->d, &info);

	s->first = 0;
	s->last = TICKS - 1;
	return s;
}

static void a_groups_memory_is_taken_by_who_is_in_it(void **state)
{
	struct entity_info group = {.id = 500, .kind = ENTITY_CGROUP, .name = (char *)"/small"};
	struct subject *machine = NULL, *limited, *inside, *outside;
	struct story st;

	begin(&st);
	outside = add_in(&st, "/bin/outside", "/large");
	inside = add_in(&st, "/bin/inside", "/small/one");
	limited = dataset_define(&st.d, &group);
	limited->first = 0;
	limited->last = TICKS - 1;
	level(outside, FEATURE_MEM_ANON, 0, 100 * MB);
	level(outside, FEATURE_MEM_ANON, FROM, 900 * MB);
	level(inside, FEATURE_MEM_ANON, 0, 100 * MB);
	level(inside, FEATURE_MEM_ANON, FROM, 400 * MB);
	use(limited, FEATURE_CG_MEMORY_MAX, FROM, TICKS - 1, 1000);
	press(&st, FEATURE_PSI_MEMORY_SOME, 0, 50);
	for (size_t i = 0; i < st.d.subjects.n; i++)
		if (st.d.subjects.v[i]->info.kind == ENTITY_SYSTEM)
			machine = st.d.subjects.v[i];
	level(machine, FEATURE_SYS_MEM_TOTAL, 0, 16000 * MB);
	level(machine, FEATURE_SYS_MEM_AVAILABLE, 0, 9000 * MB);
	ask_by(&st, true, &method_blame);
	assert_int_equal(st.answer.bottleneck, BOTTLENECK_MEMORY);
	assert_ptr_equal(first(&st)->subject, inside);
	assert_true(score_of(&st, outside) < first(&st)->score / 3);
	end(&st);
}

static void what_processes_share_is_there_once(void **state)
{
	struct subject *one, *two, *three, *grower;
	struct story st;

	begin(&st);
	one = add(&st, "/bin/server", 0, TICKS - 1, 0);
	two = add(&st, "/bin/server", FROM, TICKS - 1, 0);
	three = add(&st, "/bin/server", FROM, TICKS - 1, 0);
	grower = add(&st, "/bin/grower", 0, TICKS - 1, 0);
	level(one, FEATURE_MEM_SHMEM, 0, 800 * MB);
	level(two, FEATURE_MEM_SHMEM, FROM, 800 * MB);
	level(three, FEATURE_MEM_SHMEM, FROM, 800 * MB);
	level(grower, FEATURE_MEM_ANON, 0, 100 * MB);
	level(grower, FEATURE_MEM_ANON, FROM, 400 * MB);
	press(&st, FEATURE_PSI_MEMORY_SOME, 0, 50);
	ask_by(&st, true, &method_blame);
	assert_ptr_equal(first(&st)->subject, grower);
	assert_true(score_of(&st, one) < first(&st)->score / 3);
	end(&st);
}

/* Two of the same program at -15 are not at -30. */
static void nice_values_are_not_added(void **state)
{
	struct story st;

	begin(&st);
	for (int i = 0; i < 2; i++) {
		struct subject *hog = add(&st, "/bin/hog", 0, TICKS - 1, 0);

		use(hog, FEATURE_CPU_TIME, FROM, TICKS - 1, 90 * PERCENT);
		level(hog, FEATURE_SCHED_NICE, 0, 0);
		level(hog, FEATURE_SCHED_NICE, FROM, -15);
	}
	press(&st, FEATURE_PSI_CPU_SOME, 0, 80);
	assert_float_equal(ask_for_fact(&st, "sched.nice"), -15, 1e-9);
	end(&st);
}

/* 50 processes that were forked share nearly all of their memory, which the machine has once. */
static void what_forked_processes_share_is_there_once(void **state)
{
	struct subject *grower, *machine = NULL;
	struct story st;

	begin(&st);
	for (int i = 0; i < 50; i++)
		level(add(&st, "/bin/server", FROM, TICKS - 1, 0), FEATURE_MEM_ANON, FROM, 800 * MB);
	grower = add(&st, "/bin/grower", 0, TICKS - 1, 0);
	level(grower, FEATURE_MEM_ANON, 0, 100 * MB);
	level(grower, FEATURE_MEM_ANON, FROM, 4000 * MB);
	press(&st, FEATURE_PSI_MEMORY_SOME, 0, 50);
	for (size_t i = 0; i < st.d.subjects.n; i++)
		if (st.d.subjects.v[i]->info.kind == ENTITY_SYSTEM)
			machine = st.d.subjects.v[i];
	level(machine, FEATURE_SYS_MEM_TOTAL, 0, 16000 * MB);
	level(machine, FEATURE_SYS_MEM_AVAILABLE, 0, 100 * MB);
	level(machine, FEATURE_SYS_MEM_ANON, 0, 1000 * MB);
	level(machine, FEATURE_SYS_MEM_ANON, FROM, 5500 * MB);
	ask_by(&st, true, &method_blame);
	for (size_t i = 0; i < st.answer.ranking.suspects.n; i++) {
		const struct suspect *s = &st.answer.ranking.suspects.v[i];

		for (size_t f = 0; s->members == 50 && f < s->features.n; f++)
			if (strcmp(s->features.v[f].feature->name, "mem.anon") == 0)
				assert_true(s->features.v[f].observed <= 5500. * MB);
	}
	assert_ptr_equal(first(&st)->subject, grower);
	end(&st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_forked_processes_share_is_there_once),
		cmocka_unit_test(nobody_waits_for_who_gives_way),
		cmocka_unit_test(after_what_it_ended_before_is_said),
		cmocka_unit_test(that_it_has_ended_is_said),
		cmocka_unit_test(a_limit_is_named_as_a_limit),
		cmocka_unit_test(a_limit_as_old_as_its_program_does_not_slow_the_others),
		cmocka_unit_test(a_limit_that_was_always_reached_is_no_news),
		cmocka_unit_test(who_uses_a_limit_up_is_named_and_not_the_limit),
		cmocka_unit_test(an_answer_that_comes_late_is_not_this_machines_fault),
		cmocka_unit_test(who_fills_the_line_is_why_answers_come_late),
		cmocka_unit_test(who_writes_to_a_slower_one_as_ever_has_nothing_to_complain_of),
		cmocka_unit_test(who_waited_for_it_is_listed_by_share),
		cmocka_unit_test(who_shares_a_lock_as_ever_is_not_guilty),
		cmocka_unit_test(who_waits_for_a_cpu_while_it_holds_a_lock_is_not_guilty),
		cmocka_unit_test(who_always_is_big_may_do_more),
		cmocka_unit_test(who_computes_and_is_in_nobodys_way_is_slow_by_itself),
		cmocka_unit_test(who_asks_is_guilty_of_the_answers),
		cmocka_unit_test(who_asks_is_named_for_what_the_server_does),
		cmocka_unit_test(who_writes_is_guilty_of_the_writing_back),
		cmocka_unit_test(what_comes_all_the_time_is_no_news),
		cmocka_unit_test(nobody_is_listed_where_nobody_stands_out),
		cmocka_unit_test(the_recorder_looks_because_it_is_slow), cmocka_unit_test(who_asks_on_an_idle_machine_is_no_suspect),
		cmocka_unit_test(who_asks_is_neither_suspect_nor_victim),
		cmocka_unit_test(a_groups_memory_is_taken_by_who_is_in_it),
		cmocka_unit_test(consumers_of_an_empty_queue_that_were_not_there_before_wait_for_work),
		cmocka_unit_test(what_processes_share_is_there_once), cmocka_unit_test(nice_values_are_not_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
