#include "machine/recorder/profiler.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/file.h"
#include "lib/data/folder.h"
#include "lib/data/log.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "lib/rights/outside.h"
#include "lib/system/helper-thread.h"
#include "machine/events/interval.h"
#include "machine/events/probe-frames.h"
#include "machine/flight/ring.h"
#include "machine/model/entity.h"
#include "machine/process/describe.h"
#include "machine/process/proc.h"
#include "machine/recorder/capture-symbols.h"
#include "machine/recorder/generated-names.h"
#include "machine/symbol/identify.h"
#include "machine/symbol/kernel.h"
#include "machine/trace/profile-file.h"

#define SAMPLE_NS     (1000000000ull / 49)
#define LOOK	      (1500 * NS_PER_MS) /* at least between two looks: at every other tick. What recurs is added up by the kernel, so half as often is half the cost */
#define REST	      (30 * NS_PER_SEC) /* between two looks while the machine idles */
#define READS_MAX     8	      /* processes whose memory map is read at a look, if there were none for so many looks: one more at each; 0.2 ms each */
#define READ_SAMPLES  2	      /* one that ran for less is not worth it */
#define READ_AGAIN    (10 * NS_PER_SEC) /* where an address is in no mapping that is known */
#define MAPPINGS_MAX  16384 /* of all processes that are known: 1 MB */
#define PROCESSES_MAX 4096
#define ROWS_MAX      1000
#define TRIM_EVERY    30 /* saves */
#define SHARE	      10
#define FRAMES_MAX    (3 * RING_FRAMES + 3)

/* A process that was seen running or waiting. */
struct process {
	uint32_t pid;
	int64_t read_at; /* boot ns; 0 = not read */
	uint64_t samples; /* of this look */
	bool lacks;	  /* an address was in no mapping that is known */
	struct modules modules;
	char program[64]; /* until it is read: the process's name, most often the same */
};

/* A sum of the kernel's, and whose it is. */
struct taken {
	struct ring_profile_key key;
	struct ring_profile_sum sum;
	struct process *process;
};

/* Who woke others: a thread, found by its number. */
struct waker {
	struct process *process; /* NULL = it had ended */
	uint32_t uid;
};

struct profiler {
	struct profiler_options options;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows, up to `stop` */
	pthread_cond_t wake;
	bool wanted, busy, stop;
	int64_t ticked; /* boot ns of the last look; of the sampler's thread alone, as what follows */
	bool ticked_busy; /* since then */
	/* the thread's */
	char *folder;
	struct profile_file *file;
	struct hmap processes; /* (pid, start) -> struct process */
	struct hmap newest;    /* pid -> the same */
	struct hmap stacks;    /* (key, start) -> a stack's number + 1, and above it whose the waker is */
	struct hmap kernel_frames; /* address -> a frame's number + 1 */
	struct hmap wakers;    /* thread -> struct waker; of this minute */
	size_t mappings;       /* of all processes */
	unsigned reads, saves; /* reads: that may still be done; a look that needs none leaves it for later ones */
	VEC(struct taken) taken;	      /* of this look */
	struct module_reader reader;
	struct generated_names generated;
	int64_t minute; /* that is collected */
	bool was_busy;	/* since the last save */
	bool failing;	/* and said */
};

uint64_t profiler_share(uint64_t store_max_size)
{
	return store_max_size / SHARE;
}

/* --- processes --- */

static void forget_processes(struct profiler *p)
{
	HMAP_FOREACH(slot, &p->processes) {
		struct process *process = slot->value;

		modules_free(&process->modules);
		free(process);
	}
	hmap_free_values(&p->wakers);
	hmap_free(&p->processes);
	hmap_free(&p->newest);
	hmap_free(&p->stacks);
	hmap_free(&p->kernel_frames);
	p->processes = p->newest = p->stacks = p->kernel_frames = (struct hmap){};
	p->mappings = 0;
}

/* As answers call it, without its arguments: other users see these names, too. */
static void name_program(struct process *process)
{
	struct process_text text = {};
	_cleanup_free_ char *label = NULL;
	char comm[32] = "";

	if (describe_program("/proc", process->pid, 0, &text) < 0)
		return;
	(void)file_first_line(STR_TEXT(64, "/proc/%u/comm", process->pid), comm, sizeof(comm));
	label = text.exe ? entity_label(&(struct entity_info){.kind = ENTITY_PROCESS, .name = comm, .exe = text.exe}) : NULL;
	process_text_free(&text);
	if (label && *label) {
		snprintf(process->program, sizeof(process->program), "%.*s", (int)sizeof(process->program) - 1, label);
		str_make_printable(process->program);
	}
}

static void read_modules(struct profiler *p, struct process *process)
{
	struct modules fresh = {};

	p->reads--;
	process->lacks = false;
	process->read_at = clock_boot();
	name_program(process);
	if (module_reader_read(&p->reader, process->pid, &fresh) < 0)
		return;
	p->mappings += fresh.code.n - process->modules.code.n;
	modules_free(&process->modules);
	process->modules = fresh;
}

/* NULL without memory. */
static struct process *find_process(struct profiler *p, uint32_t pid, const struct ring_profile_sum *sum)
{
	struct process *process = hmap_get(&p->processes, pid, sum->start);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	snprintf(process->program, sizeof(process->program), "%.*s", (int)sizeof(sum->comm), sum->comm);
	str_make_printable(process->program);
	if (!hmap_keep(&p->processes, pid, sum->start, process))
		return NULL;
	(void)hmap_put(&p->newest, pid, 0, process);
	return process;
}

/* The number in a line of /proc/PID/status ("Tgid:\t"); 0 where there is none. */
static uint32_t status_number(const char *text, const char *field)
{
	const char *at = strstr(text, field);

	return at ? (uint32_t)strtoul(at + strlen(field), NULL, 10) : 0;
}

/* The process of a thread that lives; its start in place of a better one is the thread's number, as a number is used again only after all
 * others. 0 or -ESRCH. */
static int identify_thread(uint32_t thread, uint32_t *ret_pid, struct ring_profile_sum *ret)
{
	char text[2048];
	ssize_t n;
	int fd;

	fd = open(STR_TEXT(64, "/proc/%u/status", thread), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ESRCH;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	*ret_pid = status_number(text, "\nTgid:\t");
	*ret = (struct ring_profile_sum){.start = thread, .uid = outside_owner_parse(text)};
	if (!*ret_pid || sscanf(text, "Name:\t%15[^\n]", ret->comm) != 1)
		return -ESRCH;
	return 0;
}

/* NULL without memory. */
static const struct waker *find_waker(struct profiler *p, uint32_t thread)
{
	struct waker *waker = hmap_get(&p->wakers, thread, 0);
	struct ring_profile_sum who;
	uint32_t pid;

	if (waker)
		return waker;
	waker = hmap_keep(&p->wakers, thread, 0, calloc(1, sizeof(*waker)));
	if (!waker)
		return NULL;
	if (identify_thread(thread, &pid, &who) < 0)
		return waker;
	waker->uid = who.uid;
	waker->process = hmap_get(&p->newest, pid, 0);
	if (!waker->process)
		waker->process = find_process(p, pid, &who);
	if (waker->process && !waker->process->read_at && p->reads)
		read_modules(p, waker->process);
	return waker;
}

/* --- stacks --- */

struct stack {
	struct profiler *p;
	struct profile *profile;
	uint32_t frames[FRAMES_MAX];
	size_t n;
	bool whole; /* nothing of it might be known better later */
};

static void add_name(struct stack *s, const char *name)
{
	if (s->n < FRAMES_MAX && profile_named_frame(s->profile, name, &s->frames[s->n]) == 0)
		s->n++;
}

static void add_known(struct stack *s, uint32_t frame)
{
	if (s->n < FRAMES_MAX)
		s->frames[s->n++] = frame;
}

static void add_kernel(struct stack *s, uint64_t address)
{
	const struct kernel_symbols *kernel = kernel_names_get(s->p->options.kernel);
	uintptr_t known = (uintptr_t)hmap_get(&s->p->kernel_frames, address, 0);
	const char *module, *name;
	char text[256];
	uint64_t offset;

	if (known) {
		add_known(s, (uint32_t)(known - 1));
		return;
	}

	name = kernel ? kernel_symbols_find(kernel, address, &offset, &module) : NULL;
	snprintf(text, sizeof(text), "%.*s_[k]", (int)sizeof(text) - 5, name ? name : "[kernel]");
	add_name(s, text);
	if (s->n)
		(void)hmap_put(&s->p->kernel_frames, address, 0, (void *)((uintptr_t)s->frames[s->n - 1] + 1)); /* NOLINT(performance-no-int-to-ptr) */
}

static void add_user(struct stack *s, struct process *process, uint64_t address)
{
	const struct mapping *m = modules_find(&process->modules, address);
	struct profile_frame frame = {};
	char generated[GENERATED_NAME_SIZE];
	const struct module *module;

	if (!m) {
		s->whole = false; /* what is known of it may grow */
		process->lacks = true;
		add_name(s, process->modules.code.n ? "[no code is mapped there]" : "[its memory map was not read in time]");
		return;
	}
	module = &process->modules.modules.v[m->module];
	if (module->kind == MODULE_MEMORY) {
		bool named = generated_name(&s->p->generated, &process->modules, m, address, generated);

		s->whole &= named; /* the file of its names may come later than the code, and names are added to it */
		add_name(s, named ? generated : "[generated code]");
		return;
	}
	frame.offset = address - m->start + m->offset;
	if (profile_module(s->profile, module->path, module->build_id.bytes, module->build_id.size, &frame.module) < 0)
		return;
	frame.module++;
	if (s->n < FRAMES_MAX && profile_frame(s->profile, &frame, &s->frames[s->n]) == 0)
		s->n++;
}

static const char *kernel_name(const void *data, uint64_t address)
{
	const struct kernel_symbols *kernel = data;
	const char *module;
	uint64_t offset;

	return kernel ? kernel_symbols_find(kernel, address, &offset, &module) : NULL;
}

/* Innermost first. A caller's address is the one that it returns to. `probed`: it was taken within a tracepoint's call. */
static void add_frames(struct stack *s, struct process *process, stack_ref ref, bool probed)
{
	uint64_t frames[RING_FRAMES];
	uint32_t n = ring_copy_stack(s->p->options.ring, ref, frames);
	uint32_t first = probed ? probe_frames(frames, n, kernel_name, kernel_names_get(s->p->options.kernel)) : 0;

	for (uint32_t i = first; i < n; i++) {
		uint64_t address = frames[i] - (i > 0);

		if (address >> 63)
			add_kernel(s, address);
		else
			add_user(s, process, address);
	}
	if (ref && !n)
		add_name(s, "[stack not kept]");
}

static void turn_round(uint32_t *frames, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		uint32_t other = frames[n - 1 - i];

		frames[n - 1 - i] = frames[i];
		frames[i] = other;
	}
}

/* Who woke it, outermost frame first, then the frame that says so. *ret_uid: whose it is. */
static void add_waker(struct stack *s, const struct ring_profile_key *key, uint32_t *ret_uid)
{
	const struct waker *waker = key->waker_stack && key->waker ? find_waker(s->p, key->waker) : NULL;

	if (!waker || !waker->process)
		return;
	*ret_uid = waker->uid;
	add_frames(s, waker->process, key->waker_stack, true);
	turn_round(s->frames, s->n);
	add_name(s, STR_TEXT(128, PROFILE_WOKEN_BY "%s]", waker->process->program));
}

static int build_stack(struct profiler *p, struct process *process, const struct ring_profile_key *key, struct profile_row *row, bool *ret_whole)
{
	struct stack s = {.p = p, .profile = profile_file_profile(p->file), .whole = true};

	if (key->state != STATE_RUNNING) {
		add_waker(&s, key, &row->waker_uid);
		add_name(&s, STR_TEXT(64, "[%s]", state_table[key->state < STATE_COUNT ? key->state : STATE_OTHER].text));
	}
	add_frames(&s, process, key->kernel, false);
	add_frames(&s, process, key->user, false);
	*ret_whole = s.whole;
	return profile_stack(s.profile, s.frames, s.n, &row->stack);
}

/* --- collecting --- */

/* A stack that was put together, and whose the waker is. */
struct known_stack {
	uint32_t stack, waker_uid;
};

static int find_stack(struct profiler *p, struct process *process, const struct ring_profile_key *key, const struct ring_profile_sum *sum,
		      struct profile_row *row)
{
	uint64_t hash = hmap_hash_bytes(key, sizeof(*key));
	uint64_t known = (uintptr_t)hmap_get(&p->stacks, hash, sum->start);
	bool whole;
	int r;

	_Static_assert(sizeof(uintptr_t) == 8, "a stack's number and a user's fit into a value of the map");
	if (known) {
		row->stack = (uint32_t)known - 1;
		row->waker_uid = (uint32_t)(known >> 32);
		return 0;
	}
	r = build_stack(p, process, key, row, &whole);
	if (r < 0 || !whole)
		return r;
	known = (uint64_t)row->waker_uid << 32 | (row->stack + 1);
	return hmap_put(&p->stacks, hash, sum->start, (void *)(uintptr_t)known); /* NOLINT(performance-no-int-to-ptr) */
}

static void take_one(const struct ring_profile_key *key, const struct ring_profile_sum *sum, void *data)
{
	struct profiler *p = data;
	struct process *process = find_process(p, key->process, sum);

	if (!process || VEC_PUSH(p->taken, (struct taken){*key, *sum, process}) < 0)
		return;
	process->samples += sum->samples;
}

ORDER(by_samples, struct taken, CMP(b->process->samples, a->process->samples))

/* Those that ran most, of those that were not read yet; and those that have mapped more since. */
static void read_processes(struct profiler *p)
{
	int64_t now = clock_boot();

	VEC_SORT(p->taken, by_samples);
	for (size_t i = 0; i < p->taken.n && p->reads; i++) {
		struct process *process = p->taken.v[i].process;

		if (process->samples < READ_SAMPLES || p->taken.v[i].sum.is_kernel)
			continue;
		if (!process->read_at || (process->lacks && now - process->read_at >= READ_AGAIN))
			read_modules(p, process);
	}
}

static void collect_one(struct profiler *p, const struct taken *t)
{
	struct profile *profile = profile_file_profile(p->file);
	struct profile_row row = {.minute = p->minute, .uid = t->sum.uid, .waker_uid = t->sum.uid, .cpu = t->sum.samples * SAMPLE_NS,
				  .waited = t->sum.waited};

	if (!row.cpu && !row.waited)
		return;
	if (find_stack(p, t->process, &t->key, &t->sum, &row) == 0 && profile_text(profile, t->process->program, &row.program) == 0)
		(void)profile_add(profile, &row);
}

static void collect_all(struct profiler *p)
{
	if (p->reads < READS_MAX)
		p->reads++;
	p->taken.n = 0;
	(void)ring_take_profile(p->options.ring, take_one, p);
	if (p->taken.n)
		read_processes(p);
	for (size_t i = 0; i < p->taken.n; i++)
		collect_one(p, &p->taken.v[i]);
	for (size_t i = 0; i < p->taken.n; i++)
		p->taken.v[i].process->samples = 0;
}

/* --- saving --- */

static void report(struct profiler *p, int r)
{
	if (r < 0 && !p->failing)
		log_warning("profiles cannot be kept in %s: %s", p->folder, strerror(-r));
	else if (r == 0 && p->failing)
		log_info("profiles are kept again in %s", p->folder);
	p->failing = r < 0;
}

static void save(struct profiler *p)
{
	struct profile_size left;
	struct profile *profile = profile_file_profile(p->file);
	size_t texts = profile->texts.n;
	int64_t now = clock_wall();
	int r = profile_file_save(p->file, now, ROWS_MAX);

	identifier_rest(p->reader.identifier);
	generated_names_rest(&p->generated);
	hmap_free_values(&p->wakers);
	if (profile->texts.n < texts || p->mappings > MAPPINGS_MAX)
		forget_processes(p); /* its stacks' numbers were the last file's */
	if (r == 0 && p->saves++ % TRIM_EVERY == 0)
		r = profile_trim(p->folder, p->options.max_age, p->options.max_bytes, &left);
	report(p, r);
	p->was_busy = false;
}

static void collect(struct profiler *p, bool busy)
{
	int64_t minute = clock_wall() / NS_PER_SEC / 60;

	if (p->minute && minute != p->minute && p->was_busy)
		save(p);
	p->minute = minute;
	p->was_busy |= busy;
	if (ring_is_attached(p->options.ring))
		collect_all(p);
	if (p->mappings > MAPPINGS_MAX || p->processes.n > PROCESSES_MAX)
		forget_processes(p);
}

static void *profile_all(void *argument)
{
	struct profiler *p = argument;

	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		bool busy = p->busy;

		if (!p->wanted) {
			pthread_cond_wait(&p->wake, &p->lock);
			continue;
		}
		p->wanted = p->busy = false;
		pthread_mutex_unlock(&p->lock);
		collect(p, busy);
		pthread_mutex_lock(&p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	collect(p, false);
	save(p);
	return NULL;
}

/* --- begin and end --- */

static void release(struct profiler *p)
{
	forget_processes(p);
	VEC_FREE(p->taken);
	generated_names_rest(&p->generated);
	helper_free(p->reader.helper);
	identify_free(p->reader.identifier);
	profile_file_free(p->file);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->wake);
	FREE_ALL(p->folder, p);
}

static int open_all(struct profiler *p)
{
	int r;

	p->folder = profile_folder(p->options.store_file);
	if (!p->folder)
		return -ENOMEM;
	r = folder_make(p->folder, 0700);
	r = r ?: profile_file_new(p->folder, &p->file);
	r = r ?: helper_new(&p->reader.helper);
	p->generated.helper = p->reader.helper;
	return r < 0 ? r : identify_new(&p->reader.identifier);
}

int profiler_start(const struct profiler_options *options, struct profiler **ret)
{
	struct profiler *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->options = *options;
	p->reader.proc_root = "/proc";
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	r = open_all(p);
	r = r ?: -pthread_create(&p->thread, NULL, profile_all, p);
	if (r < 0) {
		release(p);
		return r;
	}
	pthread_setname_np(p->thread, "profiler");
	*ret = p;
	return 0;
}

void profiler_tick(struct profiler *p, bool busy)
{
	int64_t now = p ? clock_boot() : 0;

	if (!p)
		return;
	p->ticked_busy |= busy;
	if (now - p->ticked < (p->ticked_busy ? LOOK : REST))
		return;
	p->ticked = now;
	pthread_mutex_lock(&p->lock);
	p->wanted = true;
	p->busy |= p->ticked_busy;
	p->ticked_busy = false;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
}

void profiler_stop(struct profiler *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	release(p);
}
