/* Who had the CPUs: exactly, from the flight recorder's sums, next to what the timer's sampling says. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/vec.h"
#include "machine/events/ring-layout.h"

/* Shares of one CPU are ns over the report's span. */
struct cpu_row {
	uint32_t process, thread; /* thread: 0 in a process's row */
	uint32_t uid, threads;
	char name[RING_COMM + 1];
	uint64_t ran;	   /* ns on a CPU, without the interrupts served in the meantime */
	uint64_t stolen;   /* ns of interrupts served on its time */
	uint64_t ticks;	   /* ns by the timer's sampling (utime + stime) */
	uint64_t waited;   /* ns runnable: woken, preempted, held back by a quota */
	uint64_t imposed;  /* ns others were runnable on its CPU while it ran */
};

struct cpu_interrupts {
	const char *name; /* static */
	uint64_t took;
};

struct cpu_report {
	int64_t span;	 /* ns */
	uint32_t n_cpus; /* that took part */
	VEC(struct cpu_row) processes, threads; /* the busiest first */
	VEC(struct cpu_interrupts) interrupts;	/* all kinds, the longest first */
	uint64_t ran, stolen, idle, interrupted; /* ns, sums: ran + idle + interrupted = n_cpus * span, but for `unknown` */
	int64_t unknown; /* ns that is in none of them: what ended or began amid the reading */
	uint64_t ticks, ticks_wrong; /* ns; wrong = sum of each thread's difference */
	/* run queue, the running thread included: weighted by time, and as the timer's interrupts met it */
	double queue, queue_seen;
	uint64_t at_length[RING_LENGTHS]; /* ns with so many */
	uint64_t bursts[RING_BURSTS];	  /* timer interrupts that woke 1, 2, 3-4, 5-8 ... threads */
	uint64_t largest_burst;		  /* ever since the recorder began */
	uint64_t switches, wakeups;
	int64_t steal; /* ns that the hypervisor gave to other guests; CPU_STEAL_UNKNOWN. It is within the other sums */
	bool live; /* the recorder's sums; else a recorder of its own for the span */
	bool of_events; /* of a trace (machine/threads/cpu-sums.h): nothing is known by tick; queue_seen is NaN */
};

#define CPU_STEAL_UNKNOWN (-1)

/* One reading of everything. */
struct cpu_reading {
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	int64_t steal; /* ns since the boot; CPU_STEAL_UNKNOWN */
	VEC(struct ring_task) tasks;
	VEC(struct ring_cpu) cpus;
};

void cpu_reading_free(struct cpu_reading *r);
void cpu_report_free(struct cpu_report *r);
/* Reports what happened between two readings. 0 or -ENOMEM. */
int cpu_report_make(const struct cpu_reading *before, const struct cpu_reading *after, struct cpu_report *ret);

/* The parts of it, for who has the sums from elsewhere. */
extern const char cpu_irq_device[], cpu_irq_timer[];
const char *cpu_softirq_name(uint32_t number);
/* `name`: one of the above. 0 or -ENOMEM. */
int cpu_report_add_interrupts(struct cpu_report *r, const char *name, uint64_t took);
/* Takes the threads' rows, and makes processes, sums and order of them; span, CPUs, idle and interrupts are there. 0 or -ENOMEM. */
int cpu_report_finish(struct cpu_report *r, const struct cpu_row *threads, size_t n);
