#include "machine/cmd-act/confirm-watch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/file.h"
#include "lib/data/order.h"
#include "lib/data/str.h"

#define LEAST 0.005 /* of the time: who waited less before is not a victim */

static int take_culprit(struct confirm_watch *w, uint32_t pid)
{
	return hmap_put(&w->culprits, pid, 0, w);
}

int confirm_watch_open(struct ring *ring, const struct target *t, struct confirm_watch *ret)
{
	struct confirm_watch w = {.ring = ring, .target = t};
	int r = wait_sums_open(ring, &w.sums);

	for (size_t i = 0; r == 0 && i < t->members.list.n; i++)
		r = take_culprit(&w, t->members.list.v[i].pid);
	r = r ?: pulse_start(&w.pulse);
	if (r < 0) {
		confirm_watch_close(&w);
		return r;
	}
	*ret = w;
	return 0;
}

void confirm_watch_close(struct confirm_watch *w)
{
	wait_sums_close(w->sums);
	pulse_stop(w->pulse);
	VEC_FREE(w->look.list);
	hmap_free_values(&w->waited);
	hmap_free(&w->culprits);
	*w = (struct confirm_watch){};
}

/* "read_bytes: 4096", "write_bytes: 0" */
static void add_bytes(uint32_t pid, uint64_t *read_bytes, uint64_t *written)
{
	uint64_t value;

	LINES_EACH(line, fopen(STR_TEXT(32, "/proc/%u/io", pid), "re")) {
		if (sscanf(line.text, "read_bytes: %" SCNu64, &value) == 1)
			*read_bytes += value;
		else if (sscanf(line.text, "write_bytes: %" SCNu64, &value) == 1)
			*written += value;
	}
}

static bool is_culprit(struct confirm_watch *w, const struct process_waits *p)
{
	if (hmap_get(&w->culprits, p->pid, 0))
		return true;
	return (hmap_get(&w->culprits, p->parent, 0) || target_takes(w->target, p->parent, p->name)) && take_culprit(w, p->pid) == 0;
}

static bool is_wanted(const struct confirm_watch *w, uint32_t pid)
{
	for (size_t i = 0; i < VICTIMS_MAX && w->wanted[i]; i++)
		if (w->wanted[i] == pid)
			return true;
	return !w->wanted[0];
}

/* Once the victims are chosen, what has begun since and has a victim's name counts as that victim: compilers,
 * requests. */
static struct victim *find_victim(struct confirm_watch *w, const struct process_waits *p)
{
	struct victim *v = hmap_get(&w->waited, p->pid, 0);

	if (v || p->kernel || p->pid == (uint32_t)getpid() || str_starts(p->name, "whyslow"))
		return v;
	if (w->chosen) {
		if (!p->young || w->wanted[0])
			return NULL;
		HMAP_FOREACH(slot, &w->waited)
		if (strcmp(((struct victim *)slot->value)->name, p->name) == 0)
			return slot->value;
		return NULL;
	}
	if (!is_wanted(w, p->pid))
		return NULL;
	v = calloc(1, sizeof(*v));
	if (!v || hmap_put(&w->waited, p->pid, 0, v) < 0) {
		free(v);
		return NULL;
	}
	v->pid = p->pid;
	snprintf(v->name, sizeof(v->name), "%s", p->name);
	return v;
}

static void take_waits(struct confirm_watch *w, const struct process_waits *p, struct trial_sample *s)
{
	struct victim *v = find_victim(w, p);

	if (!v)
		return;
	s->waits += (double)p->waited;
	if (!w->chosen)
		v->before += (double)p->waited;
	else if (s->phase >= 0 && s->phase < TRIAL_PHASES && !s->settling)
		v->phases[s->held] += (double)p->waited;
}

int confirm_watch_sample(struct confirm_watch *w, struct trial_sample *ret)
{
	uint64_t read_bytes = 0, written = 0, ran = 0, got, wrote;
	int64_t span;
	int r = wait_sums_look(w->sums, &w->look, &span);

	if (r < 0)
		return r;
	ret->waits = 0;
	VEC_EACH(p, w->look.list) {
		if (!is_culprit(w, p)) {
			take_waits(w, p, ret);
			continue;
		}
		ran += p->ran;
		add_bytes(p->pid, &read_bytes, &written);
	}
	ret->late = pulse_take(w->pulse);
	/* the bytes of children that ended are gone with them */
	got = span && read_bytes > w->read_bytes ? read_bytes - w->read_bytes : 0;
	wrote = span && written > w->written_bytes ? written - w->written_bytes : 0;
	w->read_bytes = read_bytes;
	w->written_bytes = written;
	if (!span)
		return 0;
	if (!w->chosen) {
		w->cpu += (double)ran;
		w->read += (double)got;
		w->written += (double)wrote;
		w->span += span;
	} else if (ret->phase >= 0 && ret->phase < TRIAL_PHASES && !ret->settling) {
		w->spans[ret->held] += span;
	}
	ret->use = w->by_disk ? (double)(got + wrote) * 1e9 / (double)span : (double)ran / (double)span;
	ret->waits /= (double)span;
	return 0;
}

ORDER_OF_POINTERS(compare_victims, struct victim, DESCENDING(before))

/* All of them, the longest wait first. The caller frees. */
static struct victim **sorted(const struct confirm_watch *w)
{
	struct victim **all = calloc(w->waited.n + 1, sizeof(*all));
	size_t n = 0;

	HMAP_FOREACH(slot, &w->waited)
	if (all)
		all[n++] = slot->value;
	if (n)
		qsort(all, n, sizeof(*all), compare_victims);
	return all;
}

static bool is_hidden(const char *proc_root, const struct refusal_options *o, uint32_t pid)
{
	struct process p;

	return o->others_are_hidden && (process_read(proc_root, pid, &p) < 0 || p.uid != o->viewer);
}

int confirm_watch_choose(struct confirm_watch *w, const char *proc_root, const struct refusal_options *o)
{
	_cleanup_free_ struct victim **all = sorted(w);
	size_t n = w->waited.n, kept = 0;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (is_hidden(proc_root, o, all[i]->pid))
			free(hmap_remove(&w->waited, all[i]->pid, 0));
		else if (!w->wanted[0] && (kept++ >= VICTIMS_MAX || all[i]->before < LEAST * (double)w->span))
			free(hmap_remove(&w->waited, all[i]->pid, 0));
	w->chosen = true;
	return 0;
}

static double share(double ns, int64_t span)
{
	return span ? ns / (double)span : 0;
}

int confirm_watch_victims(const struct confirm_watch *w, struct trial *t)
{
	_cleanup_free_ struct victim **all = sorted(w);

	for (size_t i = 0; all && i < w->waited.n; i++) {
		struct trial_victim v = {.pid = all[i]->pid,
					 .before = share(all[i]->before, w->span),
					 .free = share(all[i]->phases[0], w->spans[0]),
					 .held = share(all[i]->phases[1], w->spans[1])};

		memcpy(v.name, all[i]->name, sizeof(v.name));
		if (VEC_PUSH(t->victims, v) < 0)
			return -ENOMEM;
	}
	return all ? 0 : -ENOMEM;
}
