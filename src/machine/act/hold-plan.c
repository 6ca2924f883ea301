/* Which way to hold a process back. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"
#include "machine/act/cgroup-place.h"
#include "machine/act/hold-file.h"
#include "machine/act/unit.h"

#define PERIOD	  100000      /* us, of a quota */
#define FIRM	  1000	      /* us of each period: a hundredth of a CPU, the least a quota may be */
#define GENTLE	  10000	      /* a tenth */
#define FIRM_IO	  (256 << 10) /* bytes/s to each disk */
#define GENTLE_IO (2 << 20)

/* Takes the strings' ownership. */
static int add_step(struct hold *h, enum step_kind kind, char *path, char *value, char *before)
{
	if (path && VEC_PUSH(h->steps, (struct hold_step){kind, path, value, before}) == 0)
		return 0;
	FREE_ALL(path, value, before);
	return -ENOMEM;
}

static char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *text(const char *format, ...)
{
	va_list args;
	char *s;
	int n;

	va_start(args, format);
	n = vasprintf(&s, format, args);
	va_end(args);
	return n < 0 ? NULL : s;
}

/* --- disks --- */

struct disk_name {
	char name[32], number[16]; /* "vda", "254:0" */
};

struct disks {
	VEC(struct disk_name) list;
};

static void disks_free(struct disks *d)
{
	VEC_FREE(d->list);
}

/* Whole disks with something behind them: limits are not available for partitions. "254:0" is in
 * /sys/block/vda/dev. */
static int find_disks(struct disks *ret)
{
	FOLDER_EACH(e, opendir("/sys/block")) {
		_cleanup_free_ char *size_path = text("/sys/block/%s/size", e.name), *dev_path = text("/sys/block/%s/dev", e.name);
		_cleanup_fclose_ FILE *size_file = size_path ? fopen(size_path, "re") : NULL;
		_cleanup_fclose_ FILE *dev_file = dev_path ? fopen(dev_path, "re") : NULL;
		struct disk_name d = {};
		uint64_t size = 0;

		if (!size_file || !dev_file || str_starts(e.name, "loop") || str_starts(e.name, "ram") || str_starts(e.name, "zram"))
			continue;
		if (fscanf(size_file, "%" SCNu64, &size) != 1 || !size ||
		    fscanf(dev_file, "%15s", d.number) != 1)
			continue;
		snprintf(d.name, sizeof(d.name), "%.31s", e.name);
		if (VEC_PUSH(ret->list, d) < 0)
			return -ENOMEM;
	}
	return ret->list.n ? 0 : -EOPNOTSUPP;
}

/* --- the whole unit --- */

/* Nothing in it may be something who must be left alone. A unit's members are those of its control group. */
static int may_hold_unit(const struct hold_request *q, const char *unit)
{
	_cleanup_(processes_free) struct processes all = {};
	int r = processes_read(q->proc_root, &all);

	for (size_t i = 0; r == 0 && i < all.list.n; i++) {
		_cleanup_free_ char *why = NULL;
		char other[UNIT_NAME];

		if (!all.list.v[i].kernel && unit_of(all.list.v[i].pid, other) == 0 &&
		    strcmp(unit, other) == 0)
			r = process_refuse(q->proc_root, &all, &all.list.v[i], &q->rights, &why);
	}
	return r;
}

/* The unit that all of them belong to. */
static int unit_of_all(const struct processes *p, char ret[UNIT_NAME])
{
	int r = unit_of(p->list.v[0].pid, ret);

	for (size_t i = 1; r == 0 && i < p->list.n; i++) {
		char other[UNIT_NAME];

		r = unit_of(p->list.v[i].pid, other);
		if (r == 0 && strcmp(ret, other) != 0)
			r = -ENXIO;
	}
	return r;
}

static int add_property(struct hold *h, const char *property, const char *value)
{
	char *before = NULL, *wanted = value ? text("%s %s", property, value) : NULL;
	int r = wanted ? unit_get(h->unit, property, &before) : -ENOMEM;

	if (r < 0) {
		free(wanted);
		return r;
	}
	return add_step(h, STEP_PROPERTY, strdup(h->unit), wanted, before);
}

static int add_disk_properties(struct hold *h, uint64_t rate)
{
	_cleanup_(disks_free) struct disks disks = {};
	_cleanup_str_ struct str value = {};
	int r = find_disks(&disks);

	for (size_t i = 0; i < disks.list.n; i++)
		str_printf(&value, "%s/dev/%s %" PRIu64, i ? " " : "", disks.list.v[i].name, rate);
	r = r ?: add_property(h, "IOReadBandwidthMax", value.data);
	return r < 0 ? r : add_property(h, "IOWriteBandwidthMax", value.data);
}

static int plan_unit(const struct hold_request *q, const struct target *t, struct hold *h, struct str *words)
{
	int r = unit_of_all(&t->heads, h->unit);
	_cleanup_free_ char *quota = NULL;

	r = r ?: may_hold_unit(q, h->unit);
	if (r < 0)
		return r;
	if (q->of == SHORT_MEMORY || (q->of == SHORT_DISK && q->writes)) {
		str_printf(words, "its unit %s is stopped altogether (systemd's freezer)", h->unit);
		return add_step(h, STEP_FREEZE_UNIT, strdup(h->unit), NULL, NULL);
	}
	if (q->of == SHORT_DISK) {
		str_printf(words,
			   "its unit %s may read and write %d KiB/s of each disk (IOReadBandwidthMax, "
			   "IOWriteBandwidthMax)",
			   h->unit, (q->gentle ? GENTLE_IO : FIRM_IO) >> 10);
		return add_disk_properties(h, q->gentle ? GENTLE_IO : FIRM_IO);
	}
	str_printf(words, "its unit %s may use %d %% of one CPU (CPUQuota)", h->unit, q->gentle ? 10 : 1);
	quota = text("%d", (q->gentle ? GENTLE : FIRM) * 10); /* us of a second */
	return quota ? add_property(h, "CPUQuotaPerSecUSec", quota) : -ENOMEM;
}

/* --- groups below their own --- */

struct places {
	VEC(struct cgroup_place) list;
};

static void places_free(struct places *p)
{
	VEC_FREE_EACH(p->list, cgroup_place_free(each));
}

static bool has_place(const struct places *p, const struct cgroup_place *one)
{
	return ANY_WHERE(i, p->list.n, strcmp(p->list.v[i].path, one->path) == 0);
}

static int find_place(const char *proc_root, uint32_t pid, const char *controller, struct cgroup_place *ret)
{
	int r = cgroup_place_find(proc_root, pid, controller, ret);

	return r == -ENOENT ? cgroup_place_find(proc_root, pid, "", ret) : r;
}

/* Where the heads are, each place once: in the hierarchy of this controller, or else in version 2's. A head that has just ended
 * is nowhere. */
static int find_places(const char *proc_root, const struct hold *h, const char *controller, struct places *ret)
{
	for (size_t i = 0; i < h->heads.list.n; i++) {
		struct cgroup_place p;
		int r = find_place(proc_root, h->heads.list.v[i].pid, controller, &p);

		if (r == -ESRCH)
			continue;
		if (r == 0 && !has_place(ret, &p))
			r = VEC_PUSH(ret->list, p);
		else if (r == 0)
			cgroup_place_free(&p);
		if (r < 0)
			return r;
	}
	return ret->list.n ? 0 : -ESRCH;
}

/* "it may", "its 4 processes may" */
static void put_heads(struct str *words, const struct hold *h, const char *of_one, const char *of_many)
{
	if (h->heads.list.n == 1)
		str_printf(words, "it %s", of_one);
	else
		str_printf(words, "its %zu processes %s", h->heads.list.n, of_many);
}

/* "(cpu.max in a control group below its own)" */
static void put_places(struct str *words, const struct hold *h, const struct places *p, const char *file)
{
	const char *own = h->heads.list.n == 1 ? "its" : "their";

	if (p->list.n == 1)
		str_printf(words, " (%s in a control group below %s own)", file, own);
	else
		str_printf(words, " in each of %zu control groups (%s, below %s own)", p->list.n, file, own);
}

static char *group_of(const struct cgroup_place *p, const struct hold *h)
{
	return text("%s/" PLACE_OF_HOLDS "%s", p->path, h->id);
}

static int add_group(struct hold *h, const struct cgroup_place *p)
{
	return add_step(h, STEP_MOVE, group_of(p, h), NULL, strdup(p->path));
}

static int add_write(struct hold *h, const struct cgroup_place *p, const char *file, char *value, char *before)
{
	_cleanup_free_ char *group = group_of(p, h);

	return add_step(h, STEP_WRITE, group ? text("%s/%s", group, file) : NULL, value, before);
}

static int limit_cpu_of(struct hold *h, const struct cgroup_place *p, int quota)
{
	int r = p->unified && !cgroup_place_delegates(p, "cpu") ? -EOPNOTSUPP : add_group(h, p);

	if (r < 0)
		return r;
	return p->unified ? add_write(h, p, "cpu.max", text("%d %d", quota, PERIOD), strdup("max"))
			  : add_write(h, p, "cpu.cfs_quota_us", text("%d", quota), strdup("-1"));
}

static int limit_cpu(const struct hold_request *q, struct hold *h, struct str *words)
{
	_cleanup_(places_free) struct places places = {};
	int r = find_places(q->proc_root, h, "cpu", &places);

	for (size_t i = 0; r == 0 && i < places.list.n; i++)
		r = limit_cpu_of(h, &places.list.v[i], q->gentle ? GENTLE : FIRM);
	if (r < 0)
		return r;
	put_heads(words, h, "may", "may together");
	str_printf(words, " use %d %% of one CPU", q->gentle ? 10 : 1);
	put_places(words, h, &places, places.list.v[0].unified ? "cpu.max" : "cpu.cfs_quota_us");
	return 0;
}

static int limit_one_disk(struct hold *h, const struct cgroup_place *p, const char *disk, int rate)
{
	int r;

	if (p->unified)
		return add_write(h, p, "io.max", text("%s rbps=%d wbps=%d", disk, rate, rate),
				 text("%s rbps=max wbps=max", disk));
	r = add_write(h, p, "blkio.throttle.read_bps_device", text("%s %d", disk, rate), text("%s 0", disk));
	return r < 0 ? r
		     : add_write(h, p, "blkio.throttle.write_bps_device", text("%s %d", disk, rate),
				 text("%s 0", disk));
}

static int limit_disks_of(struct hold *h, const struct cgroup_place *p, const struct disks *disks, int rate)
{
	int r = p->unified && !cgroup_place_delegates(p, "io") ? -EOPNOTSUPP : add_group(h, p);

	for (size_t i = 0; r == 0 && i < disks->list.n; i++)
		r = limit_one_disk(h, p, disks->list.v[i].number, rate);
	return r;
}

static int limit_disk(const struct hold_request *q, struct hold *h, struct str *words)
{
	_cleanup_(places_free) struct places places = {};
	_cleanup_(disks_free) struct disks disks = {};
	int rate = q->gentle ? GENTLE_IO : FIRM_IO, r = find_places(q->proc_root, h, "blkio", &places);

	r = r ?: find_disks(&disks);
	for (size_t i = 0; r == 0 && i < places.list.n; i++)
		r = limit_disks_of(h, &places.list.v[i], &disks, rate);
	if (r < 0)
		return r;
	put_heads(words, h, "may", "may together");
	str_printf(words, " read and write %d KiB/s of each disk", rate >> 10);
	put_places(words, h, &places, places.list.v[0].unified ? "io.max" : "blkio.throttle");
	if (!places.list.v[0].unified)
		str_puts(words, "; what it writes through the page cache such a limit does not bind");
	return 0;
}

static int plan_limit(const struct hold_request *q, struct hold *h, struct str *words)
{
	if (q->of == SHORT_CPU)
		return limit_cpu(q, h, words);
	/* written pages reach the disk by the kernel's hand, later */
	return q->of == SHORT_DISK && !q->writes ? limit_disk(q, h, words) : -EOPNOTSUPP;
}

/* Version 2's freezer needs no controller, and leaves what it stopped killable. */
static int find_freezers(const char *proc_root, const struct hold *h, struct places *ret)
{
	int r = find_places(proc_root, h, "", ret);

	return r == -ENOENT ? find_places(proc_root, h, "freezer", ret) : r;
}

static int plan_freeze(const struct hold_request *q, struct hold *h, struct str *words)
{
	_cleanup_(places_free) struct places places = {};
	int r = find_freezers(q->proc_root, h, &places);

	for (size_t i = 0; r == 0 && i < places.list.n; i++) {
		const struct cgroup_place *p = &places.list.v[i];

		r = add_group(h, p);
		r = r ?: (p->unified ? add_write(h, p, "cgroup.freeze", strdup("1"), strdup("0"))
			       : add_write(h, p, "freezer.state", strdup("FROZEN"), strdup("THAWED")));
	}
	if (r < 0)
		return r;
	put_heads(words, h, "is", "are");
	str_puts(words, " stopped altogether");
	put_places(words, h, &places, places.list.v[0].unified ? "cgroup.freeze" : "freezer.state");
	if (q->of == SHORT_DISK && q->writes)
		str_puts(words, "; a limit would not bind what it writes through the page cache");
	return 0;
}

/* --- classes --- */

static int plan_class(const struct hold_request *q, const struct target *t, struct hold *h, struct str *words)
{
	int r = hold_class_save(q->proc_root, t, h);

	r = r ?: add_step(h, STEP_CLASS, strdup(target_head(t)->name), NULL, NULL);
	str_puts(words, "its threads are in the idle scheduling and I/O classes, which ");
	str_puts(words, q->of == SHORT_CPU    ? "binds against programs of the same control group only"
			: q->of == SHORT_DISK ? "binds where the disk's scheduler is bfq, and not what it "
						"writes through the page cache"
					      : "does not keep it from taking memory");
	return r;
}

/* --- */

static int plan_way(const struct hold_request *q, const struct target *t, enum hold_way way, struct hold *h,
		    struct str *words)
{
	h->way = way;
	switch (way) {
	case WAY_UNIT:
		return plan_unit(q, t, h, words);
	case WAY_LIMIT:
		return plan_limit(q, h, words);
	case WAY_FREEZE:
		return plan_freeze(q, h, words);
	case WAY_CLASS:
		return plan_class(q, t, h, words);
	case WAY_COUNT:
		break;
	}
	return -EINVAL;
}

static int begin(const struct hold_request *q, const struct target *t, struct hold *h)
{
	const struct process *head = target_head(t);

	*h = (struct hold){.of = q->of,
			   .kept = q->gentle,
			   .by = q->rights.viewer,
			   .since = clock_wall()};
	hold_name(h, head, q->rights.viewer);
	if (processes_copy(&t->heads, &h->heads) < 0)
		return -ENOMEM;
	return clock_boot_id(q->proc_root, h->boot);
}

static int try_way(const struct hold_request *q, const struct target *t, enum hold_way way, struct hold *ret,
		   struct str *words)
{
	_cleanup_(hold_free) struct hold h = {};
	int r = begin(q, t, &h);

	str_clear(words);
	r = r ?: plan_way(q, t, way, &h, words);
	if (r < 0)
		return r;
	*ret = h;
	h = (struct hold){};
	return 0;
}

int hold_plan(const struct hold_request *q, const struct target *t, struct hold *ret, char **ret_words)
{
	static const enum hold_way firm[] = {WAY_UNIT, WAY_LIMIT, WAY_FREEZE, WAY_CLASS},
				   gentle[] = {WAY_UNIT, WAY_LIMIT, WAY_CLASS, WAY_FREEZE};
	const enum hold_way *ways = q->gentle && q->of != SHORT_MEMORY ? gentle : firm;
	_cleanup_str_ struct str words = {};
	int r = target_refuse(q->proc_root, t, &q->rights, ret_words);

	if (r < 0)
		return r;
	r = -EOPNOTSUPP;
	for (size_t i = 0; r < 0 && i < WAY_COUNT; i++)
		if (!(q->without >> ways[i] & 1) && (q->way < 0 || (int)ways[i] == q->way))
			r = try_way(q, t, ways[i], ret, &words);
	if (r < 0)
		return str_fail(ret_words, r, "%s (pid %u) cannot be held back %s%s: %s",
				 target_head(t)->name, target_head(t)->pid, q->way < 0 ? "" : "by ",
				 q->way < 0 ? "here" : hold_way_names[q->way], strerror(-r));
	*ret_words = TAKE(words.data);
	return 0;
}
