#include "machine/view-waits/waits-words.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "lib/data/clock.h"
#include "machine/events/probe-frames.h"

char *waits_short_span(int64_t ns, char *buf, size_t n)
{
	static const struct {
		double unit;
		const char *name;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
	size_t i = 0;
	double value;

	while (i + 1 < sizeof(units) / sizeof(*units) && (double)ns < 0.9995 * units[i].unit)
		i++;
	value = (double)ns / units[i].unit;
	snprintf(buf, n, "%.*f %s", value >= 99.95 || units[i].unit <= 1 ? 0 : value >= 9.995 ? 1 : 2, value, units[i].name);
	return buf;
}

static const char *name_of(const struct timeline *t, uint32_t name)
{
	return name == NOBODY ? "(no group known)" : t->names.v[name];
}

char *waits_thread_label(const struct timeline *t, uint32_t thread, char *buf, size_t n)
{
	const struct thread_line *line = &t->threads.v[thread];
	const char *program = name_of(t, line->program);

	if (line->kernel || line->tid == line->tgid)
		snprintf(buf, n, "%s (%" PRIu32 ")%s", line->comm, line->tid, line->self ? " [the recorder]" : "");
	else if (strcmp(line->comm, program) == 0)
		snprintf(buf, n, "%s (%" PRIu32 ") thread %" PRIu32, program, line->tgid, line->tid);
	else
		snprintf(buf, n, "%s (%" PRIu32 ") thread %s %" PRIu32, program, line->tgid, line->comm, line->tid);
	return buf;
}

char *waits_member_label(const struct timeline *t, const struct blame_matrix *m, uint32_t id, char *buf, size_t n)
{
	const struct blame_member *member;

	if (m->level == LEVEL_THREAD)
		return waits_thread_label(t, id, buf, n);
	member = &m->members.v[id];
	if (m->level == LEVEL_PROCESS) {
		const struct thread_line *line = &t->threads.v[member->thread];

		snprintf(buf, n, "%s (%" PRIu32 ")%s", line->kernel ? line->comm : name_of(t, member->name), member->pid,
			 line->self ? " [the recorder]" : "");
	} else {
		snprintf(buf, n, "%s", name_of(t, member->name));
	}
	return buf;
}

const char *waits_softirq_name(uint32_t vector)
{
	static const char *const names[] = {"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"};

	return vector < sizeof(names) / sizeof(*names) ? names[vector] : "?";
}

const char *waits_culprit_name(enum blamed by)
{
	static const char *const names[] = {
		[BY_UNKNOWN] = "unknown", [BY_TASK] = "task",	  [BY_SELF] = "self",	  [BY_IRQ] = "irq",
		[BY_SOFTIRQ] = "softirq", [BY_WAKEUP] = "wakeup", [BY_QUOTA] = "quota",	  [BY_DEVICE] = "device",
		[BY_REMOTE] = "remote",	  [BY_CLOCK] = "clock",	  [BY_OTHERS] = "others",
	};

	return names[by];
}

const char *waits_waker_word(uint8_t kind)
{
	static const char *const words[] = {[WAKER_UNKNOWN] = "unknown", [WAKER_TASK] = "task",	  [WAKER_TIMER] = "timer",
					    [WAKER_NETWORK] = "network", [WAKER_BLOCK] = "disk", [WAKER_IRQ] = "interrupt"};

	return words[kind];
}

char *waits_culprit_label(const struct timeline *t, const struct blame_matrix *m, const struct blame_cell *c, char *buf, size_t n)
{
	switch (c->culprit) {
	case BY_TASK:
		return waits_member_label(t, m, c->id, buf, n);
	case BY_SELF:
		snprintf(buf, n, "%s", m->level == LEVEL_THREAD ? "itself" : "its own threads");
		break;
	case BY_IRQ:
		snprintf(buf, n, c->id ? "interrupt %" PRIu32 : "timer interrupts", c->id);
		break;
	case BY_SOFTIRQ:
		snprintf(buf, n, "softirq %s", waits_softirq_name(c->id));
		break;
	case BY_WAKEUP:
		snprintf(buf, n, "no culprit (wakeup in progress)");
		break;
	case BY_QUOTA:
		snprintf(buf, n, "the quota of %s", name_of(t, c->id));
		break;
	case BY_DEVICE:
		snprintf(buf, n, "disk %" PRIu32 ":%" PRIu32 " itself", t->disks.v[c->id].device >> 20,
			 t->disks.v[c->id].device & 0xfffff);
		break;
	case BY_REMOTE:
		snprintf(buf, n, "another machine");
		break;
	case BY_CLOCK:
		snprintf(buf, n, "a timeout");
		break;
	case BY_OTHERS:
		snprintf(buf, n, "many others");
		break;
	default:
		snprintf(buf, n, "unknown");
	}
	return buf;
}

/* What the one waited for was to the victim. */
static const char *relation(uint8_t wait)
{
	static const char *const words[FOR_COUNT] = {
		[FOR_LOCK] = "which held the lock",	[FOR_PEER] = "at the other end",
		[FOR_NETWORK] = "at the other end",	[FOR_CHILD] = "the child",
		[FOR_CONDITION] = "which was to signal", [FOR_READER] = "which was to read",
	};

	return words[wait] ? words[wait] : "which worked for it";
}

/* How the culprit held up the one that the victim waited for: the words around its name. */
static const struct act {
	const char *before, *after;
} acts[FOR_COUNT] = {
	[FOR_NONE] = {"worked while", " waited for it"},
	[FOR_CPU] = {"kept", " from a CPU"},
	[FOR_QUOTA] = {"stopped", ""},
	[FOR_DISK] = {"was ahead of", " at the disk"},
	[FOR_FAULT] = {"was ahead of", " at the disk"},
	[FOR_MEMORY] = {"used the memory that", " wanted"},
	[FOR_INTERRUPT] = {"interrupted", ""},
};

static const struct act *act_of(uint8_t root)
{
	return &acts[acts[root].before ? root : FOR_NONE];
}

const char *waits_act(uint8_t root, char *buf, size_t n)
{
	const struct act *act = act_of(root);

	snprintf(buf, n, "%s it%s", act->before, act->after);
	return buf;
}

char *waits_via(const struct timeline *t, const struct blame_matrix *m, const struct blame_cell *c, char *buf, size_t n)
{
	static const char *const did[FOR_COUNT] = {[FOR_LOCK] = "held it", [FOR_READER] = "did not read"};
	const struct act *act = act_of(c->root);
	char who[LABEL_SIZE];

	buf[0] = 0;
	if (c->via != NOBODY)
		snprintf(buf, n, "%s %s%s, %s", act->before, waits_member_label(t, m, c->via, who, sizeof(who)), act->after,
			 relation(c->wait));
	else if (did[c->wait] && (c->culprit == BY_TASK || c->culprit == BY_SELF))
		snprintf(buf, n, "%s%s", did[c->wait], c->flags & BLAME_RESTED ? " and slept" : "");
	return buf;
}

char *waits_clock_of_day(const struct timeline *t, int64_t at, char *buf, size_t n)
{
	int64_t wall = trace_wall(t->trace, (uint64_t)at);
	time_t second = wall / NS_PER_SEC;
	struct tm tm;
	size_t used;

	localtime_r(&second, &tm);
	used = strftime(buf, n, "%H:%M:%S", &tm);
	snprintf(buf + used, n - used, ".%03d", (int)(wall % NS_PER_SEC / NS_PER_MS));
	return buf;
}

bool waits_thread_is_hidden(const struct timeline *t, uint32_t thread)
{
	return thread < t->trace->threads.n && t->trace->threads.v[thread].flags & THREAD_IS_HIDDEN;
}

bool waits_others_are_hidden(const struct timeline *t)
{
	return ANY_WHERE(i, (uint32_t)t->trace->threads.n, waits_thread_is_hidden(t, i));
}

void waits_frame(const struct timeline *t, uint32_t process, uint64_t address, struct str *out)
{
	const struct trace *trace = t->trace;
	bool kernel = address >> 63;
	const char *name = trace_symbol(trace, kernel ? 0 : process, address);
	const struct trace_mapping *mapping = kernel ? NULL : trace_mapping(trace, process, address);
	const char *path, *slash;

	if (name) {
		str_puts(out, name);
	} else if (!mapping || mapping->module >= trace->modules.n) {
		str_printf(out, "0x%" PRIx64, address);
	} else {
		path = trace->modules.v[mapping->module].path;
		slash = strrchr(path, '/');
		str_printf(out, "%s+0x%" PRIx64, slash ? slash + 1 : path, address - mapping->start + mapping->offset);
	}
}

static const char *kernel_name(const void *data, uint64_t address)
{
	return trace_symbol(data, 0, address);
}

size_t waits_stack(const struct timeline *t, uint32_t process, stack_ref ref, bool probed, const uint64_t **ret_frames, bool *ret_astray)
{
	const struct trace_stack *stack = ref ? trace_stack(t->trace, ref) : NULL;
	uint32_t depth = stack ? trace_stack_depth(t->trace, process, stack) : 0;
	uint32_t first = probed && stack ? probe_frames(stack->frames, stack->n, kernel_name, t->trace) : 0;

	*ret_astray = stack && depth < stack->n;
	*ret_frames = stack ? stack->frames + first : NULL;
	return first < depth ? depth - first : 0;
}

#define FRAMES_SHOWN 24

void waits_stack_text(const struct timeline *t, uint32_t process, const stack_ref *refs, size_t n, bool probed, struct str *out)
{
	uint64_t shown[FRAMES_SHOWN];
	size_t n_shown = 0, found;
	const uint64_t *frames;
	bool astray = false, more = false;

	for (size_t k = 0; k < n; k++) {
		found = waits_stack(t, process, refs[k], probed, &frames, &astray);
		for (size_t i = 0; i < found && n_shown < FRAMES_SHOWN; i++)
			shown[n_shown++] = frames[i];
		more = more || (n_shown == FRAMES_SHOWN && found);
	}
	if (astray || (more && n_shown == FRAMES_SHOWN))
		str_puts(out, astray ? NO_FRAME_POINTERS : "...");
	for (size_t i = n_shown; i > 0; i--) {
		str_puts(out, i < n_shown || astray || more ? " > " : "");
		waits_frame(t, process, shown[i - 1], out);
	}
}

static uint32_t cpus_there(const struct timeline *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->trace->n_cpus; i++)
		n += t->trace->cpus[i].there;
	return n;
}

void waits_put_span(const struct timeline *t, int64_t from, int64_t to, const struct waits_options *o,
		    FILE *out)
{
	const struct timeline_faults *f = &t->faults;
	char span[32], asked[32], a[32], b[32];
	size_t events = trace_find(t->trace, (uint64_t)to) - trace_find(t->trace, (uint64_t)from);
	uint64_t odd = f->broken_switches + f->bad_numbers + f->odd_requests + f->unknown_kinds;

	fprintf(out, "%s to %s: %s, %zu events of %u CPU%s.", waits_clock_of_day(t, from, a, sizeof(a)),
		waits_clock_of_day(t, to, b, sizeof(b)), waits_short_span(to - from, span, sizeof(span)), events, cpus_there(t),
		cpus_there(t) == 1 ? "" : "s");
	if (o->asked - (to - from) > o->asked / 50)
		fprintf(out, " %s were asked for: the recorder's memory holds no more.", waits_short_span(o->asked, asked, sizeof(asked)));
	if (f->lost)
		fprintf(out, " %" PRIu64 " events are missing.", f->lost);
	if (odd)
		fprintf(out, " %" PRIu64 " did not fit the others.", odd);
	if (f->no_waker)
		fprintf(out, " %" PRIu64 " wait%s ended without a wakeup seen.", f->no_waker, f->no_waker == 1 ? "" : "s");
	fputc('\n', out);
	if (strcmp(t->trace->source, "tracefs") == 0)
		fputs("Recorded without BPF, by ftrace: no stacks, no holders of locks; quotas and used slices are not "
		      "distinguished.\n", out);
}
