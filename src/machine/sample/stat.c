/* CPUs, interrupts and the run queue, from /proc/stat (fs/proc/stat.c, Documentation/filesystems/proc.rst):
 *
 *   cpu  28708 0 2106 557637 389 0 35 15 0 0
 *   cpu0 13964 0 956 279381 28 0 4 4 0 0
 *   intr 254798 0 0 ...
 *   ctxt 398720
 *   btime 1795170746
 *   processes 8760
 *   procs_running 3
 *   procs_blocked 0
 *
 * Times are in 1/100 s: user, nice, system, idle, iowait, irq, softirq, steal; two more repeat parts of user and nice.
 * idle and iowait of a CPU may step back a little.
 *
 * Time in interrupts belongs to no process: two entities of the kernel's, "hardirq" and "softirq", carry it, so that
 * rankings see them next to processes.
 *
 * From /sys/devices/system/cpu/cpuN: cpufreq/scaling_cur_freq in kHz, thermal_throttle/core_throttle_count.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/input/text.h"
#include "machine/process/entity-set.h"
#include "machine/sample/system.h"

#define TICK_NS	    10000000ull /* USER_HZ is 100 on every architecture this runs on */
#define CPUS_MAX    4096
#define CLOCK_EVERY 4 /* the kernel may have to interrupt a CPU to ask how fast it runs */

enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, COLUMNS };

static const int features[COLUMNS] = {
	[USER] = FEATURE_CORE_USER,   [NICE] = FEATURE_CORE_NICE,	[SYSTEM] = FEATURE_CORE_SYSTEM,
	[IDLE] = FEATURE_CORE_IDLE,   [IOWAIT] = FEATURE_CORE_IOWAIT,	[IRQ] = FEATURE_CORE_IRQ,
	[STEAL] = FEATURE_CORE_STEAL, [SOFTIRQ] = FEATURE_CORE_SOFTIRQ,
};

static const struct {
	const char *label;
	int feature;
} lines[] = {
	{"intr ", FEATURE_INTERRUPTS},
	{"ctxt ", FEATURE_CONTEXT_SWITCHES},
	{"processes ", FEATURE_FORKS},
	{"procs_running ", FEATURE_RUN_QUEUE},
	{"procs_blocked ", FEATURE_TASKS_BLOCKED},
};

struct kernel_work {
	struct entity *entity;
	int64_t values[PROCESS_FEATURE_COUNT];
};

struct cpu_counters {
	struct text_file file;
	const char *sys_root;
	struct entity_set cpus;
	struct kernel_work hardirq, softirq;
	uint64_t samples;
};

struct cpu {
	int frequency, throttles; /* descriptors; < 0 = not there */
};

static void cpu_release(void *own)
{
	struct cpu *cpu = own;

	if (cpu->frequency >= 0)
		close(cpu->frequency);
	if (cpu->throttles >= 0)
		close(cpu->throttles);
	free(cpu);
}

static void stat_close(void *state)
{
	struct cpu_counters *s = state;

	entity_set_free(&s->cpus);
	entity_free(s->hardirq.entity);
	entity_free(s->softirq.entity);
	text_file_close(&s->file);
	free(s);
}

static int stat_open(const struct source_options *options, void **ret_state)
{
	struct cpu_counters *s = calloc(1, sizeof(*s));
	int r = s ? text_file_open(&s->file, options->proc_root, "stat") : -ENOMEM;

	if (r < 0) {
		free(s);
		return r;
	}
	s->sys_root = options->sys_root;
	s->cpus = (struct entity_set){.kind = ENTITY_CPU, .max = CPUS_MAX, .release = cpu_release};
	s->hardirq.entity = entity_new(ENTITY_KERNEL, "hardirq");
	s->softirq.entity = entity_new(ENTITY_KERNEL, "softirq");
	if (!s->hardirq.entity || !s->softirq.entity) {
		stat_close(s);
		return -ENOMEM;
	}
	*ret_state = s;
	return 0;
}

static struct cpu *cpu_open(const char *sys_root, const char *name)
{
	struct cpu *cpu = malloc(sizeof(*cpu));
	char path[128];

	if (!cpu)
		return NULL;
	snprintf(path, sizeof(path), "devices/system/cpu/%s/cpufreq/scaling_cur_freq", name);
	cpu->frequency = text_attribute_open(sys_root, path);
	snprintf(path, sizeof(path), "devices/system/cpu/%s/thermal_throttle/core_throttle_count", name);
	cpu->throttles = text_attribute_open(sys_root, path);
	return cpu;
}

static void take_attribute(struct entity_slot *m, int fd, int feature, uint64_t scale)
{
	char text[32];
	const char *at = text;
	uint64_t value;

	if (fd >= 0 && text_attribute_read(fd, text, sizeof(text)) > 0 && text_scan_number(&at, &value))
		entity_slot_set(m, feature, value * scale);
}

/* CPUs take turns after the first sample, and keep what they had in between. */
static bool has_turn(const struct cpu_counters *s)
{
	return s->samples == 1 || (s->samples + s->cpus.next) % CLOCK_EVERY == 0;
}

static void read_cpu(struct cpu_counters *s, const char *line)
{
	const char *end = text_skip_word(line), *at = end;
	uint64_t ticks[COLUMNS];
	size_t n = text_scan_numbers(&at, ticks, COLUMNS);
	bool is_new;
	struct entity_slot *m = n ? entity_set_see(&s->cpus, line, (size_t)(end - line), &is_new) : NULL;
	const struct cpu *cpu;

	if (!m)
		return;
	if (is_new)
		m->own = cpu_open(s->sys_root, m->entity->info.name);
	for (size_t i = 0; i < n; i++)
		entity_slot_set(m, features[i], ticks[i] * TICK_NS);
	cpu = m->own;
	if (!cpu || !has_turn(s))
		return;
	take_attribute(m, cpu->frequency, FEATURE_CORE_FREQUENCY, 1000);
	take_attribute(m, cpu->throttles, FEATURE_CORE_THROTTLES, 1);
}

static void put_work(struct tick *tick, struct kernel_work *work, uint64_t ticks)
{
	work->values[FEATURE_CPU_TIME] = (int64_t)(ticks * TICK_NS);
	tick_put(tick, work->entity, work->values, FEATURE_BIT(FEATURE_CPU_TIME));
}

static void read_all_cpus(struct cpu_counters *s, struct tick *tick, const char *line)
{
	const char *at = text_skip_word(line);
	uint64_t ticks[COLUMNS];

	if (text_scan_numbers(&at, ticks, COLUMNS) <= SOFTIRQ)
		return;
	put_work(tick, &s->hardirq, ticks[IRQ]);
	put_work(tick, &s->softirq, ticks[SOFTIRQ]);
}

static void read_line(const char *line, int64_t *values, feature_set *present)
{
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		const char *at = line + strlen(lines[i].label);
		uint64_t value;

		if (!str_starts(line, lines[i].label) || !text_scan_number(&at, &value))
			continue;
		values[lines[i].feature] = (int64_t)value;
		*present |= FEATURE_BIT(lines[i].feature);
		return;
	}
}

static void stat_read(void *state, struct tick *tick, int64_t *values, feature_set *present)
{
	struct cpu_counters *s = state;

	if (text_file_read(&s->file) < 0)
		return;
	s->samples++;
	entity_set_begin(&s->cpus);
	for (const char *line = s->file.data; *line; line = text_next_line(line)) {
		if (!str_starts(line, "cpu"))
			read_line(line, values, present);
		else if (line[3] == ' ')
			read_all_cpus(s, tick, line);
		else
			read_cpu(s, line);
	}
	entity_set_put(&s->cpus, tick);
}

const struct system_reader stat_reader = {
	.open = stat_open,
	.read = stat_read,
	.close = stat_close,
	.missing = "no /proc/stat: the CPUs cannot be seen",
};
