/* The Perfetto export, read back: well formed (protoc agrees where it is installed), and each thread's running, runnable
 * and sleeping time as the scheduler events in it say equal the timeline's, to the nanosecond. */
#include <inttypes.h>
#include <string.h>

#include "lib/data/str.h"
#include "machine/blame/wait-report.h"
#include "machine/threads/test-story.h"
#include "machine/view-waits/waits.h"

#define THREADS 12
#define FIRST	200

/* --- a machine of two CPUs that schedules at random --- */

static uint64_t seed = 7;

static uint32_t roll(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % n;
}

struct machine {
	uint32_t current[2];
	uint8_t state[THREADS]; /* 0 sleeps, 1 in a run queue, 2 runs */
	uint8_t cpu[THREADS];
};

static uint32_t pick(struct machine *m, uint16_t cpu)
{
	for (uint32_t i = 0, at = roll(THREADS); i < THREADS; i++, at = (at + 1) % THREADS)
		if (m->state[at] == 1 && m->cpu[at] == cpu)
			return at;
	return NOBODY;
}

static void reschedule(struct story *s, struct machine *m, int64_t us, uint16_t cpu)
{
	uint32_t prev = m->current[cpu], next;
	bool sleeps = prev != NOBODY && roll(2);

	if (prev != NOBODY)
		m->state[prev] = sleeps ? 0 : 1;
	next = pick(m, cpu);
	if (next == prev && prev != NOBODY) {
		m->state[prev] = 2;
		return;
	}
	if (next == prev)
		return;
	if (next != NOBODY)
		m->state[next] = 2;
	m->current[cpu] = next;
	leave(s, us, cpu, prev == NOBODY ? 0 : FIRST + prev, next == NOBODY ? 0 : FIRST + next,
	      sleeps ? (roll(2) ? TASK_STATE_SLEEPS : TASK_STATE_BLOCKED) : 0, sleeps ? (uint8_t)(roll(2) * WAIT_IO) : WAIT_SLICE,
	      sleeps ? CALL_PIPE : 0);
}

static void wake_one(struct story *s, struct machine *m, int64_t us, uint16_t cpu)
{
	uint32_t one = roll(THREADS);

	if (m->state[one] != 0)
		return;
	m->state[one] = 1;
	m->cpu[one] = (uint8_t)roll(2);
	wake_in(s, us, cpu, m->current[cpu] == NOBODY ? 0 : FIRST + m->current[cpu], FIRST + one, m->cpu[one],
		roll(3) ? 0 : WAKEUP_IN_IRQ, EVENT_TIMER_VECTOR);
}

static void play(struct story *s)
{
	struct machine m = {.current = {NOBODY, NOBODY}};

	story_begin(s, 2);
	for (uint32_t i = 0; i < THREADS; i++)
		cast_thread(s, FIRST + i, FIRST + i / 3 * 3, "player", 0);
	for (int64_t us = 10; us < 40000; us += 1 + roll(5)) {
		uint16_t cpu = (uint16_t)roll(2);

		if (roll(8) == 0)
			interrupt(s, roll(2) ? EVENT_IRQ : EVENT_SOFTIRQ, us - 1, us, cpu,
				  m.current[cpu] == NOBODY ? 0 : FIRST + m.current[cpu], roll(4));
		else if (roll(2))
			wake_one(s, &m, us, cpu);
		else
			reschedule(s, &m, us, cpu);
	}
	tell(s, 40000);
}

/* --- the reader --- */

struct field {
	uint32_t number;
	uint64_t value;	   /* varint, fixed64 */
	struct reader in;  /* length-delimited */
	bool delimited;
};

static bool next_field(struct reader *r, struct field *f)
{
	uint64_t tag;
	size_t n;
	const char *bytes;

	if (r->at == r->end)
		return false;
	tag = reader_varint(r);
	*f = (struct field){.number = (uint32_t)(tag >> 3)};
	switch (tag & 7) {
	case 0:
		f->value = reader_varint(r);
		break;
	case 1:
		assert_true(r->end - r->at >= 8);
		memcpy(&f->value, r->at, 8);
		r->at += 8;
		break;
	case 2:
		bytes = str_read_blob(r, &n);
		f->in = (struct reader){(const uint8_t *)bytes, (const uint8_t *)bytes + n, false};
		f->delimited = true;
		break;
	default:
		fail_msg("wire type %d", (int)(tag & 7));
	}
	assert_false(r->bad);
	return true;
}

enum { ON_CPU = 1, READY, ASLEEP };

struct seen {
	int64_t at, total[4];
	int what;
};

struct record {
	int64_t at;
	uint32_t kind; /* 4 switch, 20 waking */
	uint32_t prev, next, target;
	uint64_t state, flags;
	size_t order;
};

struct records {
	VEC(struct record) list;
	size_t packets, tracks, slices, flows, ends;
};

static void read_switch(struct reader in, struct record *r)
{
	for (struct field f; next_field(&in, &f);) {
		r->prev = f.number == 2 ? (uint32_t)f.value : r->prev;
		r->state = f.number == 4 ? f.value : r->state;
		r->next = f.number == 6 ? (uint32_t)f.value : r->next;
	}
}

static void read_event(struct reader in, struct records *all)
{
	struct record r = {.order = all->list.n};

	for (struct field f; next_field(&in, &f);) {
		if (f.number == 1)
			r.at = (int64_t)f.value;
		else if (f.number == 5)
			r.flags = f.value;
		else if (f.number == 4) {
			r.kind = 4;
			read_switch(f.in, &r);
		} else if (f.number == 20) {
			r.kind = 20;
			for (struct field g; next_field(&f.in, &g);)
				r.next = g.number == 2 ? (uint32_t)g.value : r.next;
		}
	}
	if (r.kind)
		assert_int_equal(VEC_PUSH(all->list, r), 0);
}

static void read_track_event(struct reader in, struct records *all)
{
	for (struct field f; next_field(&in, &f);) {
		all->slices += f.number == 9 && f.value == 1;
		all->ends += f.number == 9 && f.value == 2;
		all->flows += f.number == 47;
	}
}

static void read_packet(struct reader in, struct records *all)
{
	all->packets++;
	for (struct field f; next_field(&in, &f);) {
		if (f.number == 1)
			for (struct field e; next_field(&f.in, &e);) {
				if (e.number == 2)
					read_event(e.in, all);
			}
		else if (f.number == 11)
			read_track_event(f.in, all);
		all->tracks += f.number == 60;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

static void to_state(struct seen *s, int64_t at, int what)
{
	if (s->what)
		s->total[s->what] += at - s->at;
	s->at = at;
	s->what = what;
}

static void replay(struct records *all, struct seen *seen)
{
	qsort(all->list.v, all->list.n, sizeof(*all->list.v), by_time);
	for (size_t i = 0; i < all->list.n; i++) {
		const struct record *r = &all->list.v[i];

		if (r->kind == 20) {
			if (seen[r->next - FIRST].what != ON_CPU)
				to_state(&seen[r->next - FIRST], r->at, READY);
			continue;
		}
		if (r->prev)
			to_state(&seen[r->prev - FIRST], r->at, r->state == 0x100 ? READY : ASLEEP);
		if (r->next)
			to_state(&seen[r->next - FIRST], r->at, ON_CPU);
	}
}

static void check_with_protoc(const char *path)
{
	char command[256];

	if (system("command -v protoc >/dev/null") != 0) {
		print_message("protoc is not installed: not asked\n");
		return;
	}
	snprintf(command, sizeof(command), "protoc --decode_raw <%s >/dev/null", path);
	assert_int_equal(system(command), 0);
}

static void totals_are_ours(void **state)
{
	char path[] = "/tmp/perfetto-XXXXXX";
	_cleanup_(story_end) struct story s;
	_cleanup_free_ uint8_t *bytes = NULL;
	struct records all = {};
	struct seen seen[THREADS] = {};
	FILE *f = fdopen(mkstemp(path), "w+");
	long size;

	play(&s);
	assert_int_equal(waits_perfetto(&s.line, s.line.start, s.line.end, f), 0);
	fflush(f);
	size = ftell(f);
	bytes = malloc((size_t)size);
	rewind(f);
	assert_int_equal(fread(bytes, 1, (size_t)size, f), size);
	fclose(f);
	check_with_protoc(path);
	unlink(path);

	struct reader in = {bytes, bytes + size, false};

	for (struct field packet; next_field(&in, &packet);) {
		assert_int_equal(packet.number, 1);
		read_packet(packet.in, &all);
	}
	replay(&all, seen);
	assert_true(all.list.n > 5000);
	assert_true(all.flows > 1000);
	assert_int_equal(all.tracks, THREADS + 2);
	assert_int_equal(all.slices, all.ends);
	for (uint32_t i = 0; i < THREADS; i++) {
		const struct thread_line *line = &s.line.threads.v[who(&s, FIRST + i)];
		struct wait_report r;
		int64_t ready = 0;

		to_state(&seen[i], s.line.end, 0);
		wait_report_init(&r, s.line.start, s.line.end);
		wait_report_add(&r, line);
		for (int k = 0; k < INTERVAL_STATES; k++)
			ready += state_table[k].group == GROUP_RUNNABLE ? r.state[k] : 0;
		assert_true(wait_report_running(&r) > 0);
		assert_int_equal(seen[i].total[ON_CPU], wait_report_running(&r));
		assert_int_equal(seen[i].total[READY], ready);
	}
	VEC_FREE(all.list);
}

RUN_TESTS(cmocka_unit_test(totals_are_ours))
