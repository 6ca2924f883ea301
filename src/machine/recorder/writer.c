#include "machine/recorder/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/data/vec.h"
#include "lib/system/locked-memory.h"
#include "machine/recorder/profiler.h"
#include "machine/recording/store.h"

#define IDLE_MEMORY (4 << 20) /* bytes that are kept for the next use: to give them back costs a millisecond */

/* What is written to the disk; whatever fails stays in memory. */
enum duty { DUTY_FILE, DUTY_EARLIER, DUTY_SEGMENTS, DUTY_RETAIN, DUTY_SAVE, DUTY_MARKS, DUTIES };

struct writer {
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows, up to `keep` */
	pthread_cond_t wake;
	bool save, compact, retain, look, stop;
	int64_t current; /* segment being written by the sampler */
	struct retention keep;
	struct store *store; /* the thread's, while it runs */
	bool failing[DUTIES]; /* and said */
	VEC(int64_t) taken;   /* ids of segments; only the sampler gives new ones */
	char *clock_remark;   /* NULL = none */
};

/* Said when it begins and when it is over: every few seconds it is tried again, and the log may be on the same disk. */
static int report(struct writer *w, enum duty duty, int r)
{
	static const char *const words[DUTIES] = {
		[DUTY_FILE] = "what is recorded stays in memory",
		[DUTY_EARLIER] = "what an earlier recorder left stays in memory",
		[DUTY_SEGMENTS] = "the last ten minutes stay in memory and are tried again in ten minutes",
		[DUTY_RETAIN] = "old recordings stay",
		[DUTY_SAVE] = "the last seconds stay in memory",
		[DUTY_MARKS] = "the newest marks stay in memory",
	};

	if (r < 0 && !w->failing[duty])
		log_warning("%s: %s", words[duty], store_reason(w->store, r));
	else if (r == 0 && w->failing[duty])
		log_info("no longer: %s", words[duty]);
	w->failing[duty] = r < 0;
	return r;
}

/* Finished segments, and those that could not be compacted before; and what is too old or too much goes. */
static void compact(struct writer *w, enum duty duty, int64_t current, const struct retention *keep)
{
	int r = store_recover(w->store, current);

	/* what goes may be what there is no room for */
	if (report(w, DUTY_RETAIN, store_retain(w->store, keep)) == 0 && r == -ENOSPC)
		r = store_recover(w->store, current);
	report(w, duty, r);
}

/* The journal has what was recorded since the last segment, and all marks are next to it: both go to the file that is there now. False: there is
 * none to write to. */
static bool has_file(struct writer *w, bool *ret_new)
{
	int r;

	const bool moved = store_has_moved(w->store);

	*ret_new = false;
	if (!moved && !store_log_is_gone(w->store))
		return true;
	if (!w->failing[DUTY_FILE])
		log_warning(moved ? "%s was deleted or replaced while it was recorded into: what it held is no longer known here" :
				    "%s-wal was deleted or replaced while it was recorded into: what it held goes into the recording", store_file(w->store));
	r = store_open_anew(w->store);
	if (report(w, DUTY_FILE, r) < 0)
		return false;
	log_info("recording continues in %s as it is now: the last minutes and all marks go there", store_file(w->store));
	*ret_new = true;
	return true;
}

static void *write_all(void *argument)
{
	struct writer *w = argument;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		struct writer now = *w;
		bool anew;

		if (!now.compact && !now.save && !now.retain && !now.look) {
			if (now.stop)
				break;
			pthread_cond_wait(&w->wake, &w->lock);
			continue;
		}
		w->save = w->compact = w->retain = w->look = false;
		pthread_mutex_unlock(&w->lock);
		if (!has_file(w, &anew))
			now.compact = now.retain = now.save = false;
		now.save |= anew;
		if (now.compact)
			compact(w, DUTY_SEGMENTS, now.current, &now.keep);
		else if (now.retain)
			report(w, DUTY_RETAIN, store_retain(w->store, &now.keep));
		if (now.save && now.current)
			report(w, DUTY_SAVE, store_save_journal(w->store, now.current));
		if (!w->failing[DUTY_FILE] && (now.save || now.compact || now.retain))
			report(w, DUTY_MARKS, store_save_marks(w->store));
		locked_memory_release_idle(IDLE_MEMORY); /* of any thread: this one works now and then, and no question waits for it */
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static int find_taken(struct writer *w)
{
	_cleanup_free_ int64_t *ids = NULL;
	size_t n;
	int r = store_segment_ids(w->store, &ids, &n);

	for (size_t i = 0; r == 0 && i < n; i++)
		r = VEC_PUSH(w->taken, ids[i]);
	return r;
}

static bool is_taken(const struct writer *w, int64_t id)
{
	return ANY_WHERE(i, w->taken.n, w->taken.v[i] == id);
}

int64_t writer_give_id(struct writer *w, int64_t wall)
{
	int64_t id = wall / NS_PER_MS;

	while (is_taken(w, id))
		id++;
	(void)VEC_PUSH(w->taken, id); /* without memory only a clock that is set back to this very millisecond could give it again */
	return id;
}

/* Nothing is deleted because of it; but what is recorded now may be looked for at another time. */
static int compare_clock(struct writer *w)
{
	_cleanup_free_ struct clock_step *steps = NULL;
	const int64_t now = clock_wall();
	char words[120], at[40];
	size_t n = 0;
	int r = store_clock_steps(w->store, now, clock_boot(), &steps, &n);

	if (r < 0 || !n || steps[n - 1].to != now)
		return r;
	log_warning("%s (%s): if the clock is wrong, set it; no recording is deleted because of it",
		    clock_step_words(&steps[n - 1], words, sizeof(words)), clock_format_local(steps[n - 1].from, at, sizeof(at)));
	w->clock_remark = strdup(words);
	return 0;
}

const char *writer_clock_remark(const struct writer *w)
{
	return w->clock_remark;
}

/* A recorder that was killed could not say when it was over. */
static int end_what_was_caught(struct store *store)
{
	int64_t first, last;
	int r = store_extent(store, &first, &last);

	return r < 0 ? r : store_rule_incidents_end(store, last, ", and lasted until the recorder was killed");
}

static int take_over(struct writer *w, uint32_t *ret_first_id)
{
	bool set_aside = false;
	uint32_t highest;
	int r;

	r = store_lock(w->store);
	r = r ?: store_upgrade(w->store);
	r = r ?: store_claim_run_dir(w->store, &set_aside);
	if (set_aside)
		log_warning("the run directory held the journal of another recording: it is left in other-* there, for a recorder that continues that one");
	if (r == 0) {
		compact(w, DUTY_EARLIER, 0, &w->keep);
		r = store_open_marks(w->store);
	}
	r = r ?: end_what_was_caught(w->store);
	r = r ?: store_highest_entity(w->store, &highest);
	r = r ?: find_taken(w);
	r = r ?: compare_clock(w);
	if (r < 0)
		return log_failure(r, "%s", store_reason(w->store, r));
	report(w, DUTY_MARKS, store_save_marks(w->store));
	*ret_first_id = highest + 1;
	return 0;
}

int writer_open(const struct config *config, struct writer **ret, uint32_t *ret_first_id)
{
	struct store_paths paths = {config->store_file, config->store_run_dir};
	struct writer *w = calloc(1, sizeof(*w));
	_cleanup_free_ char *error = NULL;
	int r;

	if (!w)
		return -ENOMEM;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	writer_keep(w, config);
	r = store_open(&paths, STORE_WRITE, &w->store, &error);
	if (r < 0)
		log_error("%s", error ? error : strerror(-r));
	else
		r = take_over(w, ret_first_id);
	if (r < 0) {
		writer_close(w);
		return r;
	}
	*ret = w;
	return 0;
}

int writer_start(struct writer *w)
{
	int r = -pthread_create(&w->thread, NULL, write_all, w);

	if (r == 0)
		pthread_setname_np(w->thread, "writer");
	return r;
}

static void wake(struct writer *w, bool save, bool finished, int64_t current)
{
	pthread_mutex_lock(&w->lock);
	w->look = true;
	w->save |= save;
	w->current = current;
	w->compact |= finished;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
}

void writer_save(struct writer *w, int64_t segment)
{
	wake(w, true, false, segment);
}

void writer_look(struct writer *w, int64_t segment)
{
	wake(w, false, false, segment);
}

void writer_finish(struct writer *w, int64_t segment)
{
	wake(w, false, true, segment);
}

void writer_keep(struct writer *w, const struct config *config)
{
	pthread_mutex_lock(&w->lock);
	w->keep = (struct retention){config->store_max_age, config->store_max_size};
	if (config->ring && config->ring_profile && config->ring_keep_profile)
		w->keep.bytes -= profiler_share(w->keep.bytes);
	w->retain = true; /* who lowers a limit does so because there is too much now */
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
}

void writer_stop(struct writer *w, bool finish)
{
	if (finish)
		wake(w, false, true, 0);
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	if (!w->failing[DUTY_FILE])
		report(w, DUTY_MARKS, store_close_marks(w->store));
}

void writer_close(struct writer *w)
{
	if (!w)
		return;
	store_close(w->store);
	VEC_FREE(w->taken);
	free(w->clock_remark);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->wake);
	free(w);
}
