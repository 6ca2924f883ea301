/* Within the translation of the kernel's trace records: what is known at the record that is read. */
#pragma once

#include "lib/data/hmap.h"
#include "machine/tracefs/tracefs-events.h"
#include "machine/tracefs/tracefs-files.h"

#define NO_CALL	      (-1) /* in user mode */
#define CALL_NOT_SEEN (-2)

enum place { PLACE_UNKNOWN, PLACE_RUNNING, PLACE_QUEUED, PLACE_ASLEEP };

/* What is known of a thread at the record that is read. */
struct known {
	uint32_t tid, tgid;
	bool kernel;
	uint8_t place;
	int32_t prio;
	int64_t call; /* NO_CALL, CALL_NOT_SEEN */
	uint64_t arguments[4];
	uint64_t lock; /* of the kernel, that it contends for */
	bool reclaims;
	size_t left;   /* index + 1 of the event with which it last left a CPU to wait; 0 = none */
	struct {
		bool seen;
		uint64_t time;
		uint32_t waker;
		uint16_t cpu, vector;
		uint8_t context; /* WAKEUP_ */
	} waking;
	char comm[TRACE_COMM + 1];
};

struct tracefs_cpu {
	uint32_t arrival;
	uint64_t irq_from, irq_total;
	uint64_t softirq_from, softirq_nested;
	uint64_t irq_end; /* of the last interrupt */
	uint32_t irq, softirq; /* number + 1 */
	bool completed;	       /* a request has ended in the interrupt that is served */
	struct tracefs_record next;
	bool has_next;
};

struct translation {
	struct trace *t;
	const struct tracefs_layout *layout;
	struct tracefs_files *files;
	struct hmap threads; /* (tid, 0) -> struct known */
	struct tracefs_cpu *cpus;
	uint32_t n_cpus;
	int error;
};

/* The thread with this number, known from now on; NULL without memory (x->error). */
struct known *translation_find(struct translation *x, int64_t tid);
/* The name that the record tells. */
void translation_take_comm(struct known *k, const struct tracefs_record *r);
/* A new event at the record's time and CPU; NULL without memory (x->error). */
struct event *translation_put(struct translation *x, const struct tracefs_record *r, int64_t thread, uint8_t kind, uint8_t flags);

/* tracefs-sched.c: switches and wake-ups */
void tracefs_on_switch(struct translation *x, const struct tracefs_record *r);
void tracefs_on_waking(struct translation *x, const struct tracefs_record *r);
void tracefs_on_wakeup(struct translation *x, const struct tracefs_record *r);
void tracefs_on_wakeup_new(struct translation *x, const struct tracefs_record *r);
void tracefs_on_migrate(struct translation *x, const struct tracefs_record *r);
