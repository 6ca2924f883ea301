#include "machine/answer-waits/chain-search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"

/* The rest of the first line of a file of the process that begins with a word, or has it behind a number; false: there is none. */
static bool read_line_of(const struct chain_search *s, const char *file, const char *word, char *buf, size_t size)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[300], line[512];

	snprintf(path, sizeof(path), "%s/%u/%s", s->proc_root, s->t.pid, file);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		const char *begin = line + (*word == ':' ? strspn(line, "0123456789") : 0);

		if (strncmp(begin, word, strlen(word)) != 0)
			continue;
		snprintf(buf, size, "%s", begin + strlen(word));
		buf[strcspn(buf, "\n")] = '\0';
		return true;
	}
	return false;
}

/* proc_pid_status(5): 0 where no program traces it. */
static unsigned tracer_of(const struct chain_search *s)
{
	char pid[32];

	return read_line_of(s, "status", "TracerPid:", pid, sizeof(pid)) ? (unsigned)strtoul(pid, NULL, 10) : 0;
}

void chain_find_stopped(struct chain_search *s)
{
	unsigned tracer = s->t.state == 't' ? tracer_of(s) : 0;
	struct live_thread t;

	s->kind = CHAIN_STOPPED;
	str_puts(&s->words, "is stopped");
	if (tracer && chain_shows(s, tracer, DATUM_PROCESS) && chain_read_thread(s, tracer, tracer, &t) == 0)
		str_printf(&s->words, " by %s (pid %u), which is attached to it as a debugger", t.comm, tracer);
}

/* Version 2: the trap is part of get_signal(). */
static bool is_in_trap(const struct chain_search *s)
{
	return s->t.state == 'S' && (strstr(s->t.waits_in, "freezer_trap") || strcmp(s->t.waits_in, "get_signal") == 0);
}

/* Version 1: wherever it slept it does so in state D from then on. */
static bool is_frozen_group(const char *group)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[400], state[16] = "";

	snprintf(path, sizeof(path), "/sys/fs/cgroup/freezer%s/freezer.state", group);
	f = fopen(path, "re");
	return f && fgets(state, sizeof(state), f) && strncmp(state, "FROZEN", 6) == 0;
}

/* cgroups(7): a line of a hierarchy is "number:controllers:path"; version 2 has number 0 and no controllers. */
bool chain_find_frozen(struct chain_search *s)
{
	bool trapped = is_in_trap(s);
	char group[256];

	if (!trapped && s->t.state != 'D')
		return false;
	if (!read_line_of(s, "cgroup", trapped ? "0::" : ":freezer:", group, sizeof(group)) || (!trapped && !is_frozen_group(group)))
		return false;
	s->kind = CHAIN_STOPPED;
	str_printf(&s->words, "is frozen with its control group %s", group);
	return true;
}
