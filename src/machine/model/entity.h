/* Who is measured: a process, a disk, the machine ...
 *
 * entity_info is what is known of it and is stored; entity adds what the recorder keeps between two samples. A
 * process is (pid, start time): a reused pid is another process. Its *program* is exe + unit, so that history
 * outlives restarts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/str.h"
#include "machine/model/feature.h"
#include "machine/model/visibility.h"

enum entity_flags {
	ENTITY_IS_KERNEL_THREAD = 1,
	ENTITY_IS_SELF = 2, /* the recorder */
	ENTITY_WAS_RUNNING = 4, /* older than the recording: its first sample is not a birth */
};

struct entity_info {
	uint32_t id; /* unique within a store */
	enum entity_kind kind;
	uint32_t pid;	 /* 0 where the kind has none */
	uint32_t parent; /* pid of the parent process */
	uint32_t uid;
	uint32_t flags;
	uint64_t start; /* CLOCK_BOOTTIME, ns */
	char *name;	/* comm, device, mount point, interface, cgroup path */
	char *exe;	/* absolute path; NULL while unknown or for kernel threads */
	char *cmdline;	/* arguments joined by spaces, secrets blanked */
	char *unit;	/* control group: a systemd unit's name where there is one, else the path */
	char *container;
	feature_set present; /* which of the kind's features are measured */
};

void entity_info_free(struct entity_info *info);
/* Deep copy; 0 or -ENOMEM, *ret untouched on error. */
int entity_info_copy(const struct entity_info *info, struct entity_info *ret);
void entity_info_write(const struct entity_info *info, struct str *out);
/* 0, -EBADMSG on damage, -ENOMEM. The caller frees *ret with entity_info_free(). */
int entity_info_read(struct reader *in, struct entity_info *ret);

/* The program an entity is an instance of: "exe|unit" ("exe script|unit" for interpreters), numbers of sessions and
 * workers taken out. The caller frees. NULL without memory. */
char *entity_program(const struct entity_info *info);
/* A short name for people: "firefox", "python3 train.py", "kworker", "redis-server" (which is a link to another file's name).
 * Caller frees. */
char *entity_label(const struct entity_info *info);
/* The same as those see it who may not see the command line. */
char *entity_plain_label(const struct entity_info *info);
/* Where a program runs, in short: "pod shop/cart-1 (web)", "container web", "nginx.service", or the last part of its control group's path; NULL: nowhere in
 * particular, or in a group that a tool has numbered. The caller frees. */
char *entity_place(const struct entity_info *info);
/* Does WHO mean it: a pid, else its name, a word of its label (a script's name), the path of its program or of one of its arguments, its unit
 * (also without ".service"), the last part of its control group, or its container or a part of that ("pod", "namespace"). */
bool entity_matches(const struct entity_info *info, const char *who);
/* Whether the viewer may know that it is there (machine/model/visibility.h). */
bool entity_is_visible(const struct entity_info *info, const struct viewer *v);
/* Takes away what the viewer must not see of it; its name stays, and its label where that does not come from its arguments. */
void entity_hide(struct entity_info *info, const struct viewer *v);

/* The recorder's memory of one entity. Values hang behind it: one per feature of its kind. */
struct stand_in;
struct entity {
	struct entity_info info;
	uint32_t segment; /* the encoder's last one that defined it; 0 = none */
	bool changed; /* its description or `present` changed since */
	bool fresh;   /* no sample yet: the first one sets `previous` */
	bool born;    /* began after the recording did: counters count from 0 */
	uint64_t exec_id;
	struct stand_in *folded; /* it has no name of its own in the recording (machine/model/name-limit.h); NULL = it has, or was not put yet */
	feature_set measured; /* features that have a `previous` */
	int64_t previous[]; /* the values last encoded */
};

struct entity *entity_new(enum entity_kind kind, const char *name);

/* A process as a source meets it for the first time. */
struct process_birth {
	const char *name;
	uint32_t pid, parent;
	uint64_t start; /* as of entity_info */
	bool is_kernel_thread;
	bool was_seen_to_start; /* the recorder ran when it started */
	const struct entity *parent_entity; /* NULL = not known */
	uint32_t recorder; /* the recorder's pid: entity_is_of_recorder() */
};

/* NULL without memory; entity_free(). */
struct entity *entity_new_process(const struct process_birth *b);
void entity_free(struct entity *e);
/* Is this process the recorder with that pid, or one of its processes that answer questions or look into a process? Not the commands that
 * rules start: they have another name. parent: NULL = not known. */
bool entity_is_of_recorder(const struct entity *e, const struct entity *parent, uint32_t recorder);
/* Does a process or thread of this program bear that name? A process may call itself so. */
bool entity_name_is_ours(const char *name);
/* The recorder, its answers, or a command with which a user asks: it has something to do because a user looks. A process may call itself so. */
bool entity_asks(const struct entity_info *info);
/* Does a program of that file name run other programs' text? What it runs is part of who it is. */
bool entity_is_interpreter(const char *file);
/* Is it a shell or another interpreter without a text of its own, which does what a person types, or a tool writes, to it? */
bool entity_is_prompt(const struct entity_info *info);
/* Does it interpret a text that has a name: a script, a module, a class? */
bool entity_is_script(const struct entity_info *info);
/* Is it one of a user's programs: a process, or those of one name that lived for less than a sample? */
static inline bool entity_is_program(const struct entity_info *info)
{
	return info->kind == ENTITY_PROCESS || info->kind == ENTITY_SHORT_LIVED;
}
/* The value from which the growth or change to `now` counts. What ran before a counter was first measured does not count as growth, unless it began with
 * the recording. */
static inline int64_t entity_before(const struct entity *e, const struct feature *feature, size_t i, int64_t now)
{
	if (e->measured >> i & 1)
		return e->previous[i];
	return feature->kind == COUNTER && !(e->fresh && e->born) ? now : 0;
}
/* Nothing is to be said of it but what changes from now on: it was encoded as it is described, with all it has. */
static inline bool entity_is_settled(const struct entity *e)
{
	return !e->changed && !e->fresh && e->measured == e->info.present;
}
/* Replaces a description; the entity takes the strings' ownership. NULL arguments leave a field as it is. */
void entity_describe(struct entity *e, char *exe, char *cmdline, char *unit, char *container);
