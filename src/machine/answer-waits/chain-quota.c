#include "machine/answer-waits/chain-search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/file.h"
#include "lib/data/str.h"

#define WINDOW	 (3 * NS_PER_SEC)
#define HELD	 (NS_PER_SEC / 2) /* of the window: less is felt by no one */
#define GROUP_PATH 256

/* --- the control group --- */

/* cgroups(7): "4:cpu,cpuacct:/path" of version 1, "0::/path" of version 2. */
static bool has_cpu_limits(const char *line)
{
	const char *controllers = strchr(line, ':');
	size_t n = controllers ? strcspn(controllers + 1, ":") : 0;

	if (strncmp(line, "0::", 3) == 0)
		return true;
	for (const char *c = controllers ? controllers + 1 : NULL; c && c < controllers + 1 + n; c += strcspn(c, ",:") + 1)
		if (strcspn(c, ",:") == 3 && strncmp(c, "cpu", 3) == 0)
			return true;
	return false;
}

/* The group by which its CPU time is limited. Version 1 comes first in the list where both are mounted. */
static bool read_group(const char *proc_root, unsigned pid, char *buf, size_t size)
{
	LINES_EACH(line, fopen(STR_TEXT(300, "%s/%u/cgroup", proc_root, pid), "re")) {
		const char *group = strchr(line.text, '/');

		if (!group || !has_cpu_limits(line.text))
			continue;
		snprintf(buf, size, "%s", group);
		return true;
	}
	return false;
}

/* --- the events of the last three seconds --- */

static uint64_t begin_of(const struct trace *t)
{
	return t->frozen > t->from + WINDOW ? t->frozen - WINDOW : t->from;
}

static uint64_t held_back(const struct trace *t, unsigned tid)
{
	uint64_t sum = 0;

	for (size_t i = trace_find(t, begin_of(t)); i < t->n_events && t->events[i].time <= t->frozen; i++)
		if (t->events[i].kind == EVENT_QUOTA && t->events[i].thread == tid)
			sum += t->events[i].quota.took;
	return sum;
}

static void add_stint(const struct trace *t, uint64_t *ran, const struct event *e, uint64_t came)
{
	const struct trace_thread *th = e->thread ? trace_thread(t, e->thread, e->time) : NULL;
	const struct trace_thread *leader = th ? trace_thread(t, th->tgid, e->time) : NULL;

	if (leader && leader->tid == th->tgid)
		ran[leader - t->threads.v] += e->time - came;
}

/* By thread of the trace: what its process had of the CPUs (ns), at the process's main thread. The caller frees; NULL without memory. */
static uint64_t *sum_processes(const struct trace *t)
{
	uint64_t *ran = calloc(t->threads.n + 1, sizeof(*ran)), *came = calloc(t->n_cpus + 1, sizeof(*came));

	for (size_t i = trace_find(t, begin_of(t)); ran && came && i < t->n_events && t->events[i].time <= t->frozen; i++) {
		const struct event *e = &t->events[i];

		if (e->kind != EVENT_SWITCH || e->cpu >= t->n_cpus)
			continue;
		add_stint(t, ran, e, came[e->cpu] ?: begin_of(t));
		came[e->cpu] = e->time;
	}
	if (!came) {
		free(ran);
		ran = NULL;
	}
	free(came);
	return ran;
}

/* The process of the group that had most of the CPUs; 0 = none had any. */
static unsigned who_uses_it(const struct chain_search *s, const char *group)
{
	_cleanup_free_ uint64_t *ran = sum_processes(s->trace);
	uint64_t most = 0;
	unsigned who = 0;

	for (size_t i = 0; ran && i < s->trace->threads.n; i++) {
		const struct trace_thread *th = &s->trace->threads.v[i];
		char own[GROUP_PATH];

		if (ran[i] <= most || th->end || !read_group(s->proc_root, th->tgid, own, sizeof(own)) || strcmp(own, group) != 0)
			continue;
		most = ran[i];
		who = th->tgid;
	}
	return who;
}

bool chain_find_quota(struct chain_search *s)
{
	size_t n = s->chain->links.n;
	char group[GROUP_PATH];
	unsigned who;

	if (s->t.state != 'R' || !s->trace || (n && s->chain->links.v[n - 1].kind == CHAIN_QUOTA) || held_back(s->trace, s->t.tid) < HELD ||
	    !read_group(s->proc_root, s->t.pid, group, sizeof(group)))
		return false;
	s->kind = CHAIN_QUOTA;
	str_printf(&s->words, "is kept from the CPUs: the CPU quota of its control group %s is used up", group);
	who = who_uses_it(s, group);
	s->next_pid = who == s->t.pid ? 0 : who;
	s->role = "which uses most of it";
	return true;
}
