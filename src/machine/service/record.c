/* Three threads:
 *   sampler   the tick; touches no disk: frames go to the journal in memory-backed /run
 *   writer    (in writer.c) copies the journal to the store, compacts finished segments, deletes old ones
 *   describe  (in recorder.c) names processes
 * and the threads of the flight recorder (capture.c) and of what is held back (hold-release.c). Questions are answered by processes of
 * their own (service.c).
 */
#include "machine/service/record.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <fcntl.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/folder.h"
#include "lib/data/log.h"
#include "lib/rights/fewer-rights.h"
#include "lib/system/local-socket.h"
#include "lib/system/locked-memory.h"
#include "machine/model/totals.h"
#include "machine/recorder/capture.h"
#include "machine/recorder/ending.h"
#include "machine/recorder/hold-release.h"
#include "machine/recorder/recorder.h"
#include "machine/recorder/tick-guard.h"
#include "machine/recorder/trigger.h"
#include "machine/recorder/writer.h"
#include "machine/recording/journal.h"
#include "machine/service/access.h"
#include "machine/service/end-limit.h"
#include "machine/service/service.h"
#include "machine/trace/own-folders.h"

#define SEGMENT_SPAN	(600 * NS_PER_SEC)
#define SAVE_EVERY	8    /* ticks under load: with the tick in hand and the write itself less than 10 s */
#define BUSY_THRESHOLD	0.05 /* of one CPU, on average since the last look: below it the machine idles and the disk is left alone */
#define STACK_SIZE	(256 << 10) /* of a thread: all memory is locked, and the default would be 8 MB of it */
#define END_WITHIN	60 /* s; longer than a copy of the flight recorder may take, and less than service managers wait */
#define LOCK_PATIENCE	2000 /* ms */
#define LOCK_EVERY	50
#define JOURNAL_MAX	(256ull << 20) /* a disk that is stuck for hours must not fill the memory */

struct daemon {
	const struct record_options *options;
	int64_t interval; /* ns; may be changed by SIGHUP */
	struct recorder *recorder;
	struct journal journal;
	struct writer *writer;
	struct service *service;
	struct tick_guard *guard; /* NULL = none */
	struct hold_release *keeper;
	struct triggers *triggers;
	struct totals *totals; /* NULL = none are kept */
	struct capture *capture; /* the flight recorder; NULL = there is none */
	struct str frame;
	int64_t segment_started; /* boot ns */
	uint64_t ticks;
	double busy; /* added up since the writer was last thought of */
	int64_t alive_every, alive_said; /* ns; 0 = nobody watches */
	bool dropping; /* the journal is full */
	int lock_fd;
};

static int begin_segment(struct daemon *d, int64_t boot)
{
	bool finished = d->journal.segment;
	int64_t dropped;
	int r = journal_trim(d->options->config->store_run_dir, JOURNAL_MAX, &dropped);

	if (r == 0 && dropped)
		log_warning("the store could not be written for so long that %lld journals of ten minutes were dropped",
			    (long long)dropped);
	r = journal_begin(&d->journal, writer_give_id(d->writer, clock_wall()));
	if (r < 0)
		return r;
	d->segment_started = boot;
	if (finished)
		writer_finish(d->writer, d->journal.segment);
	return 0;
}

static void append(struct daemon *d)
{
	int r = d->journal.size + d->frame.len > JOURNAL_MAX ?
			-ENOSPC :
			journal_append(&d->journal, d->frame.data, d->frame.len);

	if (r < 0 && !d->dropping)
		log_warning("%s/journal is full: ticks are lost until there is room", d->options->config->store_run_dir);
	d->dropping = r < 0;
}

/* Ticks that the writer had not copied yet are lost with it; the segment's rows in the store stay. True: the next tick must begin a segment. */
static bool renew_journal(struct daemon *d)
{
	const char *run_dir = d->options->config->store_run_dir;
	struct journal renewed;

	if (!journal_is_gone(&d->journal))
		return false;
	log_warning("%s was deleted while recording: what was not copied to %s yet is lost; start the recorder again, so that it can be asked",
		    run_dir, d->options->config->store_file);
	if (journal_open(run_dir, &renewed) < 0)
		return false; /* said when the segment is begun */
	renewed.segment = d->journal.segment;
	journal_close(&d->journal);
	d->journal = renewed;
	return true;
}

static void tick(struct daemon *d)
{
	bool stepped = recorder_read_clocks(d->recorder, d->interval), renewed = renew_journal(d);
	int64_t boot = clock_boot();
	/* within a segment the wall clock only goes forward */
	bool key = !d->journal.segment || boot - d->segment_started >= SEGMENT_SPAN || d->dropping || stepped ||
		   renewed || recorder_segment_is_full(d->recorder);
	int r = key ? begin_segment(d, boot) : 0;

	if (r < 0) {
		log_error("cannot write %s/journal: %s", d->options->config->store_run_dir, strerror(-r));
		return;
	}
	str_clear(&d->frame);
	if (recorder_tick(d->recorder, key, &d->frame) == 0)
		append(d);
	d->ticks++;
	capture_tick(d->capture, recorder_busy(d->recorder));
	service_tend(d->service);
	d->busy += recorder_busy(d->recorder);
	if (d->ticks % SAVE_EVERY)
		return;
	/* one timer's job among seconds of sleep is no load: for that alone no disk is woken */
	if (d->busy > BUSY_THRESHOLD * SAVE_EVERY)
		writer_save(d->writer, d->journal.segment);
	else
		writer_look(d->writer, d->journal.segment);
	d->busy = 0;
}

static void raise_priority(const struct config *config)
{
	struct sched_param param = {.sched_priority = SAMPLER_PRIORITY};

	if (!config->record_realtime)
		return;
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) == 0)
		return;
	if (setpriority(PRIO_PROCESS, 0, -20) == 0)
		log_info("real-time priority is not granted here: sampling at nice -20");
	else
		log_info("no higher priority is granted: on a crowded machine samples may come late (run as root)");
}

/* Two hundred control groups are kept open: the soft limit of 1024 is for programs that use select(). */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* A process that copied the flight recorder for one that was killed has its lock for a moment longer. */
static int lock_soon(int fd)
{
	int r = -EWOULDBLOCK;

	for (int waited = 0; r == -EWOULDBLOCK && waited <= LOCK_PATIENCE; waited += LOCK_EVERY) {
		if (waited)
			poll(NULL, 0, LOCK_EVERY);
		r = flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
	}
	return r;
}

static int take_lock(struct daemon *d)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s/lock", d->options->config->store_run_dir) < 0)
		return -ENOMEM;
	d->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (d->lock_fd < 0) {
		int r = -errno;

		return log_failure(r, "cannot write %s: %s; choose another store.run_dir", path, strerror(-r));
	}
	if (lock_soon(d->lock_fd) < 0)
		return log_failure(-EBUSY, "another recorder is running here (%s is locked): stop it first, or give this one another store.run_dir",
			  path);
	return 0;
}

static int start_triggers(struct daemon *d, struct recorder_options *ret)
{
	const struct config *config = d->options->config;
	struct trigger_options options = {config->record_rules, config->store_file, config->store_run_dir, d->totals};
	_cleanup_free_ char *error = NULL;
	int r = triggers_start(&options, &d->triggers, &error);

	if (r < 0)
		log_error("%s", error ? error : strerror(-r));
	ret->observe = triggers_observe;
	ret->observe_data = d->triggers;
	return r;
}

/* Without it everything else is recorded all the same. */
static void open_capture(struct daemon *d)
{
	const struct store_paths recording = {d->options->config->store_file, d->options->config->store_run_dir};
	const char *why = NULL;
	int r;

	if (!d->options->config->ring || d->options->processes_only)
		return;
	r = own_folders_make(&recording);
	if (r < 0)
		log_warning("the folders next to %s cannot be prepared: %s", recording.file, strerror(-r));
	if (capture_open(d->options->config, d->options->force_proc, &d->capture, &why) < 0)
		log_warning("no flight recorder: %s", why ? why : "out of memory");
}

static void start_capture(struct daemon *d)
{
	int r = d->capture ? capture_start(d->capture) : 0;

	if (r == 0)
		return;
	log_warning("no flight recorder: %s", strerror(-r));
	capture_stop(d->capture);
	d->capture = NULL;
}

/* From here on it has no more rights than its unit would grant, wherever it was started. */
static int give_up_rights(void)
{
	int r = fewer_rights_take_daemon(DAEMON_RECORDS);

	if (r < 0)
		log_error("cannot give up the rights that recording does not need: %s", strerror(-r));
	return r;
}

/* It is forked while this process has one thread, and inherits the flight recorder. */
static void start_service(struct daemon *d)
{
	const struct config *config = d->options->config;
	const struct service_options options = {
		.run_dir = config->store_run_dir,
		.capture = d->capture,
		.guard = d->guard,
		.close_fd = d->lock_fd,
		.realtime = config->record_realtime,
		.lock_memory = config->record_lock_memory,
		.answer = d->options->answer,
		.data = d->options,
	};
	int r = service_start(&options, &d->service);

	if (r < 0)
		log_warning("no socket in %s (%s): only root gets answers", config->store_run_dir, strerror(-r));
}

static int check_run_dir(const char *run_dir)
{
	int r = folder_check_owner(run_dir);

	if (r < 0)
		log_error("cannot use %s: %s; remove it, or choose another store.run_dir", run_dir,
			  r == -EPERM ? "it is a link, belongs to another user, or others may write there" : strerror(-r));
	return r;
}

static int open_all(struct daemon *d)
{
	const struct config *config = d->options->config;
	struct recorder_options options = {
		.source = {.proc_root = "/proc", .sys_root = "/sys", .sockets = config->record_sockets,
			   /* our own program lies where others' do */
			   .probe = true, .probe_file = "/proc/self/exe"},
		.describe_aside = true,
		.force_proc = d->options->force_proc,
		.processes_only = d->options->processes_only,
	};
	_cleanup_free_ char *error = NULL;
	int r;

	raise_file_limit();
	r = check_run_dir(config->store_run_dir);
	if (r < 0)
		return r;
	r = journal_open(config->store_run_dir, &d->journal);
	if (r < 0)
		return log_failure(r, "cannot write %s: %s; choose another store.run_dir", config->store_run_dir, strerror(-r));
	r = take_lock(d);
	if (r < 0)
		return r;
	open_capture(d); /* it may have to mount what the kernel shows its events in */
	r = give_up_rights();
	if (r < 0)
		return r;
	r = tick_guard_new(&d->guard);
	if (r < 0)
		return r;
	start_service(d);
	r = totals_new(config->store_run_dir, &d->totals);
	if (r < 0)
		log_warning("no running sums for Prometheus: cannot write %s/totals: %s", config->store_run_dir, strerror(-r));
	options.totals = d->totals;
	r = writer_open(config, &d->writer, &options.first_id);
	r = r ?: start_triggers(d, &options);
	if (r < 0)
		return r;
	start_capture(d);
	options.source.ring = capture_ring(d->capture);
	r = recorder_open(&options, &d->recorder, &error);
	if (r < 0)
		log_error("%s", error ? error : strerror(-r));
	else if (recorder_is_partial(d->recorder))
		log_warning("reading /proc, which shows less and costs more:\n%s", recorder_missing(d->recorder));
	else if (*recorder_missing(d->recorder))
		log_info("not available here, or only at a higher cost:\n%s", recorder_missing(d->recorder));
	return r;
}

static void close_all(struct daemon *d)
{
	service_stop(d->service);
	tick_guard_free(d->guard);
	hold_release_stop(d->keeper);
	triggers_stop(d->triggers); /* before the entities it knows */
	recorder_close(d->recorder);
	totals_free(d->totals);
	capture_stop(d->capture);
	writer_close(d->writer);
	journal_close(&d->journal);
	str_free(&d->frame);
	if (d->recorder) /* else the file is another recorder's */
		local_socket_unlink_in(d->options->config->store_run_dir, PROCESS_SOURCE_FILE);
	if (d->lock_fd >= 0)
		close(d->lock_fd);
}

/* To systemd, and to `doctor`, which need not try then what already runs. */
static void tell_ready(const struct daemon *d)
{
	const char *source = recorder_process_source(d->recorder), *cost = recorder_process_cost(d->recorder);
	_cleanup_free_ char *path = NULL;
	_cleanup_fclose_ FILE *f = NULL;

	sd_notifyf(0, "READY=1\nSTATUS=Recording every process (%s%s%s)", source, cost ? ": " : "", cost ?: "");
	if (asprintf(&path, "%s/" PROCESS_SOURCE_FILE, d->options->config->store_run_dir) < 0)
		return;
	f = fopen(path, "we");
	if (f)
		fprintf(f, "%s\n%s", source, cost ?: "");
}

/* The next tick's moment: on the grid of the interval, moved by up to a tenth of it, because timers clump at whole
 * seconds and samples of instantaneous counts would see the clump. */
static int64_t next_moment(int64_t *grid, int64_t interval)
{
	int64_t now = clock_monotonic();

	*grid += interval;
	if (*grid < now)
		*grid = now + interval; /* the machine stood still: no burst of ticks to catch up */
	return *grid + random() % (interval / 10);
}

static int signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static int64_t watchdog_interval(void)
{
	uint64_t usec;

	return sd_watchdog_enabled(0, &usec) > 0 ? (int64_t)usec * 1000 / 2 : 0;
}

/* A message wakes the service manager: no more of them than it asked for. */
static void say_alive(struct daemon *d)
{
	int64_t now = clock_boot();

	if (!d->alive_every || now - d->alive_said < d->alive_every)
		return;
	d->alive_said = now;
	sd_notify(0, "WATCHDOG=1");
}

/* How long to wait for a moment (monotonic), or where ticks are far apart until the service manager wants to hear of us. */
static struct timespec patience(const struct daemon *d, int64_t moment)
{
	int64_t left = moment - clock_monotonic(), silence = d->alive_said + d->alive_every - clock_boot();

	if (d->alive_every && d->interval + d->interval / 10 >= d->alive_every && silence < left)
		left = silence;
	if (left < 0)
		left = 0;
	return (struct timespec){left / NS_PER_SEC, left % NS_PER_SEC};
}

static void keep_stacks_small(void)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	pthread_setattr_default_np(&attributes);
	pthread_attr_destroy(&attributes);
}

static void say_who_may_ask(const struct daemon *d, const struct config *c)
{
	const char *run_dir = d->options->config->store_run_dir;
	int r = d->service ? access_apply(c, run_dir) : 0;

	if (r < 0)
		log_warning("cannot give %s/socket to group '%s' (%s): only root can ask for answers", run_dir, c->socket_group, strerror(-r));
}

/* Takes what can change while recording: the interval, what is kept, who may ask. Where the store is needs a restart. */
static void reload(struct daemon *d)
{
	_cleanup_free_ char *error = NULL;
	struct config fresh;
	int r = config_load(&fresh, d->options->config_file, &error);

	if (r < 0) {
		log_error("the configuration is unchanged: %s", error ? error : strerror(-r));
		config_free(&fresh);
		return;
	}
	d->interval = fresh.record_interval;
	if (triggers_reload(d->triggers, &error) < 0)
		log_error("the rules are unchanged: %s", error ? error : "no memory");
	writer_keep(d->writer, &fresh);
	say_who_may_ask(d, &fresh);
	log_info("configuration read again: a sample every %g s, %zu rules", (double)d->interval / 1e9, triggers_count(d->triggers));
	config_free(&fresh);
}

static void note_beginning(const struct daemon *d)
{
	const char *run_dir = d->options->config->store_run_dir;
	struct ending ending;

	if (ending_read(run_dir, &ending) == 0)
		recorder_note(d->recorder, NOTE_ENDED, "nothing was recorded since %s, when the recorder ended: %s",
			      CLOCK_LOCAL(ending.wall), ending.reason);
	ending_forget(run_dir);
	if (writer_clock_remark(d->writer))
		recorder_note(d->recorder, NOTE_CLOCK, "%s", writer_clock_remark(d->writer));
	recorder_note(d->recorder, NOTE_RECORDER, "recording began");
}

/* Another recorder's run dir is not touched. */
static void note_failure(const struct daemon *d, int r)
{
	if (r == -EBUSY || d->lock_fd < 0)
		return;
	ending_note_reason(d->options->config->store_run_dir, STR_TEXT(ENDING_TEXT, "it could not begin: %s", strerror(-r)));
}

static void open_socket(struct daemon *d)
{
	int r = service_open(d->service);

	if (r < 0)
		log_warning("no socket in %s (%s): only root gets answers", d->options->config->store_run_dir, strerror(-r));
	else
		say_who_may_ask(d, d->options->config);
}

static void loop(struct daemon *d, int signal_fd)
{
	struct pollfd fds[] = {{signal_fd, POLLIN, 0}, {recorder_wake_fd(d->recorder), POLLIN, 0}};
	int64_t grid = 0, moment;

	tick(d);
	moment = next_moment(&grid, d->interval);
	for (;;) {
		struct timespec wait = patience(d, moment);
		struct signalfd_siginfo info;
		int ready = ppoll(fds, ARRAY_SIZE(fds), &wait, NULL);

		if (ready < 0 && errno != EINTR)
			return;
		if (ready > 0 && fds[0].revents && read(signal_fd, &info, sizeof(info)) == sizeof(info)) {
			if (info.ssi_signo != SIGHUP)
				return;
			reload(d);
			moment = next_moment(&grid, d->interval);
		}
		say_alive(d);
		if (ready > 0 && fds[1].revents && !recorder_drain(d->recorder))
			moment = 0;
		if (clock_monotonic() < moment)
			continue;
		tick(d);
		tick_guard_renew(d->guard, d->interval);
		moment = next_moment(&grid, d->interval);
	}
}

int record_run(const struct record_options *options)
{
	struct daemon d = {
		.options = options,
		.interval = options->config->record_interval,
		.journal = {.fd = -1},
		.lock_fd = -1,
		.alive_every = watchdog_interval(),
	};
	_cleanup_close_ int signal_fd = signals();
	int r;

	/* who stops reading an answer must not end the recorder */
	signal(SIGPIPE, SIG_IGN);
	keep_stacks_small();
	locked_memory_use_one_heap();
	r = open_all(&d);
	if (r < 0) {
		note_failure(&d, r);
		close_all(&d);
		return r;
	}
	r = writer_start(d.writer);
	if (r < 0) {
		close_all(&d);
		return r;
	}
	if (options->config->record_lock_memory && locked_memory_lock() < 0)
		log_info("memory cannot be locked (raise 'ulimit -l' or run as root): under memory pressure samples may come late");
	raise_priority(options->config);
	open_socket(&d);
	r = hold_release_start(options->config->store_run_dir, &d.keeper);
	if (r < 0)
		log_warning("processes held by a killed 'whyslow confirm' stay held (%s); 'whyslow calm' releases them", strerror(-r));
	note_beginning(&d);
	tell_ready(&d);
	log_info("recording every process every %g s into %s", (double)options->config->record_interval / 1e9,
		 options->config->store_file);
	loop(&d, signal_fd);
	end_limit_begin(END_WITHIN);
	sd_notify(0, "STOPPING=1");
	triggers_stop(d.triggers); /* what goes on ends, and that is written down before the marks are closed */
	d.triggers = NULL;
	writer_stop(d.writer, d.journal.segment);
	close_all(&d);
	return 0;
}
