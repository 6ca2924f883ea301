/* Waits for disks: by the thread's own requests, the last completed first.
 *
 *   insert ........ issue ....... complete .. wakeup
 *   those in flight  those ahead   the wakeup's own time
 *
 * While a request waits to be issued, those in flight stand in contention with it; once it is in flight, those that were issued
 * before it, then those it shares the device with, and the device itself. Several share in proportion to the time they spent
 * there and to what such a request costs: the order in which a device works is not to be seen, so this is a model. A thread that blocks without a request of its own (no free tag, a
 * page another one is writing) waits for those in flight.
 */
#include "machine/blame/blame-charge.h"

#include "lib/data/vec.h"

#define SCAN_MAX  4096	  /* requests looked back upon: beyond any queue depth */
#define NOTICE_NS 1000000 /* from a request's completion to the wakeup; what is longer waited for something else */

/* What serving a request costs: so much for each, then by its bytes; a linear model, as the kernel's io.cost has. In pages;
 * its built-in coefficients for SSDs make a request worth 3 to 12 pages. */
#define REQUEST_PAGES 8
#define PAGE	      4096
#define BYTES_MAX     (32u << 20) /* beyond what a request has; damaged traces say anything */
#define FLIGHT_MAX    (1ll << 36)

static int64_t weight(const struct disk_request *r, int64_t ns)
{
	uint32_t bytes = r->bytes < BYTES_MAX ? r->bytes : BYTES_MAX;

	return (ns < FLIGHT_MAX ? ns : FLIGHT_MAX) * (REQUEST_PAGES + bytes / PAGE);
}

static int64_t overlap(const struct disk_request *r, int64_t from, int64_t to)
{
	int64_t start = r->issue > from ? r->issue : from;
	int64_t end = r->complete && r->complete < to ? r->complete : to;

	return end > start ? end - start : 0;
}

/* A cache flush that the kernel sends has no data and no one's name: it is the device's own time. */
static bool is_bare_flush(const struct charger *c, const struct disk_request *r)
{
	return r->bytes == 0 && (r->owner == NOBODY || c->timeline->threads.v[r->owner].kernel);
}

static void add_owner(struct charger *c, struct owners *o, const struct disk_request *r, int64_t from, int64_t to)
{
	if (is_bare_flush(c, r))
		return;
	owners_add_cause(c, o, r->owner, r->write, r->insert, weight(r, overlap(r, from, to)));
}

/* Those of the disk in flight within [from, to), issued before place `before`. */
static void add_in_flight(struct charger *c, struct owners *o, const struct disk_line *disk, size_t before, int64_t from,
			  int64_t to)
{
	for (size_t n = 0; before > 0 && n < SCAN_MAX; n++) {
		const struct disk_request *r = &c->timeline->requests.v[disk->issued.v[--before]];

		if (r->issue < to)
			add_owner(c, o, r, from, to);
		if (r->issue < from && r->ahead == 0)
			break;
	}
}

/* How many of the disk's requests were issued before `at`. */
static size_t issued_before(const struct timeline *t, const struct disk_line *disk, int64_t at)
{
	return FIRST_WHERE(i, disk->issued.n, t->requests.v[disk->issued.v[i]].issue >= at);
}

/* No request of its own: everything in flight on any disk. */
static void charge_others(struct charger *c, int64_t from, int64_t to)
{
	const struct timeline *t = c->timeline;
	struct owners o = {};

	for (size_t i = 0; i < t->disks.n; i++)
		add_in_flight(c, &o, &t->disks.v[i], issued_before(t, &t->disks.v[i], to), from, to);
	if (!owners_charge(c, &o, to - from))
		charger_add(c, BY_UNKNOWN, 0, to - from, 0);
}

static void charge_queued(struct charger *c, const struct disk_request *r, int64_t from, int64_t to)
{
	const struct disk_line *disk = &c->timeline->disks.v[r->disk];
	size_t before = r->place != NOBODY ? r->place : issued_before(c->timeline, disk, to);
	struct owners o = {};

	if (from >= to)
		return;
	add_in_flight(c, &o, disk, before, from, to);
	if (!owners_charge(c, &o, to - from))
		charger_add(c, BY_DEVICE, r->disk, to - from, 0);
}

/* Of those that were issued before and not complete yet; *ret_until is when the last of them was. */
static void add_ahead(struct charger *c, struct owners *o, const struct disk_request *r, int64_t from, int64_t to,
		      int64_t *ret_until)
{
	const struct disk_line *disk = &c->timeline->disks.v[r->disk];
	uint32_t left = r->ahead;
	size_t at = r->place;

	*ret_until = from;
	for (size_t n = 0; at > 0 && left > 0 && n < SCAN_MAX; n++) {
		const struct disk_request *q = &c->timeline->requests.v[disk->issued.v[--at]];

		if (q->complete && q->complete <= r->issue)
			continue;
		left--;
		add_owner(c, o, q, from, to);
		if (overlap(q, from, to) && (!q->complete || q->complete > *ret_until))
			*ret_until = q->complete && q->complete < to ? q->complete : to;
	}
}

/* Nothing is ahead of it any more: the device works on it, and on what came later next to it. */
static void charge_beside(struct charger *c, const struct disk_request *r, int64_t from, int64_t to)
{
	const struct disk_line *disk = &c->timeline->disks.v[r->disk];
	struct owners o = {};
	int64_t others, own = weight(r, to - from);

	for (size_t at = r->place + 1, n = 0; at < disk->issued.n && n < SCAN_MAX; at++, n++) {
		const struct disk_request *q = &c->timeline->requests.v[disk->issued.v[at]];

		if (q->issue >= to)
			break;
		add_owner(c, &o, q, from, to);
	}
	others = (int64_t)((__int128)(to - from) * o.total / (o.total + own + (own == 0)));
	if (!owners_charge(c, &o, others))
		others = 0;
	charger_add(c, BY_DEVICE, r->disk, to - from - others, 0);
}

static void charge_in_flight(struct charger *c, const struct disk_request *r, int64_t from, int64_t to)
{
	struct owners o = {};
	int64_t until;

	if (from >= to)
		return;
	add_ahead(c, &o, r, from, to, &until);
	if (!owners_charge(c, &o, until - from))
		until = from;
	charge_beside(c, r, until, to);
}

/* The thread's own request that was the last to come before `to`. */
static const struct disk_request *own_request(const struct timeline *t, const struct thread_line *line, int64_t from, int64_t to)
{
	size_t earlier = FIRST_WHERE(i, line->requests.n, t->requests.v[line->requests.v[i]].insert >= to);

	for (size_t n = 0; earlier > 0 && n < 64; n++) {
		const struct disk_request *r = &t->requests.v[line->requests.v[--earlier]];

		if (!r->complete || r->complete > from)
			return r;
	}
	return NULL;
}

/* [from, to) as far back as the request reaches; returns where it began. */
static int64_t charge_request(struct charger *c, const struct disk_request *r, int64_t from, int64_t to, bool last)
{
	int64_t done = r->complete && r->complete < to ? r->complete : to;
	int64_t issued = r->issue && r->issue < done ? r->issue : r->issue ? done : to;
	int64_t began = r->insert < done ? r->insert : done;

	if (issued < from)
		issued = from;
	if (began < from)
		began = from;
	if (done < from)
		done = from;
	if (last && to - done < NOTICE_NS)
		charger_add(c, BY_WAKEUP, 0, to - done, 0);
	else if (done < to)
		charge_others(c, done, to);
	charge_in_flight(c, r, issued, done);
	charge_queued(c, r, began, issued < done ? issued : done);
	return began;
}

void charger_disk(struct charger *c, const struct step *step)
{
	const struct timeline *t = c->timeline;
	const struct thread_line *line = &t->threads.v[step->thread];
	uint32_t ended_by = step->interval->request;
	const struct disk_request *r = ended_by != NOBODY ? &t->requests.v[ended_by] : NULL;
	int64_t to = step->to;
	bool last = ended_by != NOBODY && step->to == step->interval->end;

	if (!r || r->insert >= to || (r->complete && r->complete <= step->from))
		r = own_request(t, line, step->from, to);
	for (; r && to > step->from; r = own_request(t, line, step->from, to)) {
		int64_t began = charge_request(c, r, step->from, to, last);

		if (began == to)
			break;
		to = began;
		last = false;
	}
	if (to > step->from)
		charge_others(c, step->from, to);
}
