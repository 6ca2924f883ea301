#include <errno.h>

#include "machine/threads/state-build.h"

#define SECTOR	    512
#define NOTICE_NS 1000000 /* a completion is noticed by whom it wakes within that time */

static uint32_t find_disk(struct build *b, uint32_t device)
{
	for (uint32_t i = 0; i < b->t->disks.n; i++)
		if (b->t->disks.v[i].device == device)
			return i;
	if (VEC_PUSH(b->t->disks, (struct disk_line){.device = device, .name = NOBODY}) < 0 || VEC_PUSH(b->flying, 0) < 0) {
		b->error = -ENOMEM;
		return NOBODY;
	}
	return (uint32_t)b->t->disks.n - 1;
}

static uint32_t new_request(struct build *b, const struct event *e)
{
	struct disk_request r = {
		.insert = (int64_t)e->time,
		.owner = e->thread ? state_thread(b, e->thread, (int64_t)e->time) : NOBODY,
		.disk = find_disk(b, e->block.device),
		.place = NOBODY,
		.bytes = e->block.sectors * SECTOR,
		.write = e->flags & (BLOCK_WRITE | BLOCK_FLUSH),
	};
	uint32_t index = (uint32_t)b->t->requests.n;

	if (b->error || VEC_PUSH(b->t->requests, r) < 0 ||
	    hmap_put(&b->requests, e->block.request, 0, (void *)(uintptr_t)(index + 1)) < 0 ||
	    (r.owner != NOBODY && VEC_PUSH(b->t->threads.v[r.owner].requests, index) < 0)) {
		b->error = -ENOMEM;
		return NOBODY;
	}
	return index;
}

/* Its number is used again, so it has ended. */
static void forget(struct build *b, uint32_t index, int64_t time)
{
	struct disk_request *r = &b->t->requests.v[index];

	b->t->faults.odd_requests++;
	if (r->issue && !r->complete) {
		r->complete = time;
		if (b->flying.v[r->disk])
			b->flying.v[r->disk]--;
	}
}

static void insert(struct build *b, const struct event *e, uint32_t known)
{
	if (known != NOBODY && !b->t->requests.v[known].issue)
		return; /* put back, and inserted again */
	if (known != NOBODY)
		forget(b, known, (int64_t)e->time);
	new_request(b, e);
}

static void issue(struct build *b, const struct event *e, uint32_t known)
{
	uint32_t index = known != NOBODY ? known : new_request(b, e);
	struct disk_request *r;
	struct disk_line *disk;

	if (index == NOBODY)
		return;
	r = &b->t->requests.v[index];
	if (r->issue)
		return; /* the device was busy: it is issued again */
	disk = &b->t->disks.v[r->disk];
	r->issue = (int64_t)e->time;
	r->place = (uint32_t)disk->issued.n;
	r->ahead = b->flying.v[r->disk]++;
	if (VEC_PUSH(disk->issued, index) < 0)
		b->error = -ENOMEM;
}

static void complete(struct build *b, const struct event *e, uint32_t known)
{
	struct disk_request *r;

	if (known == NOBODY) {
		b->t->faults.odd_requests += (int64_t)e->time > b->t->start + 1000000000;
		return;
	}
	r = &b->t->requests.v[known];
	r->complete = (int64_t)e->time;
	if (r->issue && b->flying.v[r->disk])
		b->flying.v[r->disk]--;
	hmap_remove(&b->requests, e->block.request, 0);
	b->cpus[e->cpu].completed = known;
	b->cpus[e->cpu].completed_at = (int64_t)e->time;
}

void state_on_block(struct build *b, const struct event *e)
{
	static void (*const steps[])(struct build *, const struct event *, uint32_t) = {
		[EVENT_BLOCK_INSERT] = insert, [EVENT_BLOCK_ISSUE] = issue, [EVENT_BLOCK_COMPLETE] = complete};
	uintptr_t known = (uintptr_t)hmap_get(&b->requests, e->block.request, 0);

	steps[e->kind](b, e, known ? (uint32_t)known - 1 : NOBODY);
}

void state_on_dirtied(struct build *b, const struct event *e)
{
	uint32_t thread = state_thread(b, e->thread, (int64_t)e->time);

	if (thread != NOBODY && VEC_PUSH(b->t->dirtyings, (struct dirtying){(int64_t)e->time, thread, e->dirtied.bytes}) < 0)
		b->error = -ENOMEM;
}

/* Its own that completed last, else what has just completed on the CPU where it was woken from. */
uint32_t state_ended_request(const struct build *b, uint32_t thread, int64_t since, int64_t time,
			     uint16_t cpu)
{
	const struct thread_line *line = &b->t->threads.v[thread];
	const struct state_cpu *now = &b->cpus[cpu];
	uint32_t best = NOBODY;

	for (size_t n = line->requests.n, looked = 0; n > 0 && looked < 64; looked++) {
		uint32_t index = line->requests.v[--n];
		const struct disk_request *r = &b->t->requests.v[index];

		if (r->complete >= since && r->complete <= time && (best == NOBODY || r->complete > b->t->requests.v[best].complete))
			best = index;
	}
	if (best != NOBODY && time - b->t->requests.v[best].complete < NOTICE_NS)
		return best;
	if (now->completed != NOBODY && now->completed_at >= since && time - now->completed_at < NOTICE_NS)
		return now->completed;
	return best;
}
