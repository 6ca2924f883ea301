#include "machine/model/visibility.h"

#include <stdlib.h>
#include <string.h>

static const struct policy {
	const char *what;
	enum shown others, hidepid; /* of other users' processes; where /proc hides them */
	const char *why;
} policies[DATUM_COUNT] = {
	[DATUM_MACHINE] = {"counters and pressure of the machine, CPUs, disks, interfaces, control groups; the kernel's messages of memory and disks",
			   SHOWN_WHOLE, SHOWN_WHOLE, "/proc/stat, /proc/pressure"},
	[DATUM_PROCESS] = {"name, number, user, parent and start of a process", SHOWN_WHOLE, SHOWN_NOT, "ps"},
	[DATUM_COUNTERS] = {"what a process uses and waits for, once a second", SHOWN_WHOLE, SHOWN_NOT, "top"},
	[DATUM_EXECUTABLE] = {"path of its program", SHOWN_BASE_NAME, SHOWN_NOT, "/proc/PID/exe is its owner's to read"},
	[DATUM_COMMAND_LINE] = {"command line", SHOWN_NOT, SHOWN_NOT, "may hold what is not meant for others, secrets that were not recognized included"},
	[DATUM_UNIT] = {"systemd unit, control group and container", SHOWN_BASE_NAME, SHOWN_NOT, "/proc/PID/cgroup; its folders name users"},
	[DATUM_RUNS] = {"when its threads run", SHOWN_SUMS, SHOWN_SUMS, "perf_event_paranoid: single moments tell what another user types"},
	[DATUM_EDGES] = {"who wakes its threads, and whose locks they wait for", SHOWN_NOT, SHOWN_NOT, "perf_event_paranoid"},
	[DATUM_REQUESTS] = {"its single disk requests", SHOWN_NOT, SHOWN_NOT, "perf_event_paranoid"},
	[DATUM_INTERRUPTS] = {"single interrupts (but the timer's in one's own threads)", SHOWN_NOT, SHOWN_NOT, "keyboards and network cards tell moments, too"},
	[DATUM_STACKS] = {"stacks, code addresses, symbols, mapped files", SHOWN_NOT, SHOWN_NOT, "/proc/PID/stack, /proc/PID/maps"},
	[DATUM_MARKERS] = {"texts that it wrote to the time axis", SHOWN_NOT, SHOWN_NOT, "they are its owner's"},
	[DATUM_MARKS] = {"marks: moment, note, and what was answered", SHOWN_WHOLE, SHOWN_WHOLE, "a mark is for all users; its answer is computed for the user who asks"},
	[DATUM_CAPTURES] = {"inspections that rules started (root's alone, also of one's own processes)", SHOWN_NOT, SHOWN_NOT, "they hold stacks and command lines"},
};

bool viewer_sees_all(const struct viewer *v)
{
	return v->uid == 0 || v->in_group;
}

enum shown visibility(const struct viewer *v, enum datum datum, uint32_t owner)
{
	if (viewer_sees_all(v))
		return SHOWN_WHOLE;
	if (datum == DATUM_CAPTURES)
		return SHOWN_NOT;
	if (owner == v->uid)
		return SHOWN_WHOLE;
	return v->hides_others ? policies[datum].hidepid : policies[datum].others;
}

void visibility_shorten(const struct viewer *v, enum datum datum, uint32_t owner, char *text)
{
	enum shown shown = visibility(v, datum, owner);
	char *slash = strrchr(text, '/');

	if (shown == SHOWN_BASE_NAME && slash)
		memmove(text, slash + 1, strlen(slash + 1) + 1);
	else if (shown != SHOWN_WHOLE && shown != SHOWN_BASE_NAME)
		*text = '\0';
}

void visibility_cut(const struct viewer *v, enum datum datum, uint32_t owner, char **text)
{
	if (!*text || visibility(v, datum, owner) == SHOWN_WHOLE)
		return;
	visibility_shorten(v, datum, owner, *text);
	if (!**text) {
		free(*text);
		*text = NULL;
	}
}

void visibility_print(FILE *out)
{
	static const char *const words[] = {
		[SHOWN_WHOLE] = "yes", [SHOWN_BASE_NAME] = "base name", [SHOWN_SUMS] = "sums of a second", [SHOWN_NOT] = "no"};

	fputs("| Data | Own, root, `socket.group` | Other users' | Other users' with hidepid | As the kernel has it |\n|---|---|---|---|---|\n", out);
	for (size_t i = 0; i < DATUM_COUNT; i++) {
		const struct policy *p = &policies[i];

		fprintf(out, "| %s | %s | %s | %s | %s |\n", p->what, i == DATUM_CAPTURES ? "root and `socket.group`" : "yes", words[p->others],
			words[p->hidepid], p->why);
	}
}
