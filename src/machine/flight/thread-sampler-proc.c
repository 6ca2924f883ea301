#include "machine/flight/thread-sampler-proc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/folder.h"
#include "lib/data/hmap.h"
#include "lib/data/str.h"
#include "lib/input/text.h"
#include "machine/flight/samples.h"

#if defined(__x86_64__)
#define STACK_POINTER	7 /* in DWARF's numbering */
#define PROGRAM_COUNTER 16
#else
#define STACK_POINTER	31
#define PROGRAM_COUNTER 32
#endif

#define STAT_MAX      1024
#define FREQUENCY_MAX 199  /* each thread has a clock and a small buffer of its own */
#define BUFFER_PAGES  16   /* at 200 samples a second and 2 KiB each, a tenth of a second and more */
#define STACK_BYTES   2048
#define SAMPLED_MAX   64   /* threads: each takes locked memory, of which users have little */

struct thread_sampler_proc {
	char *task; /* "/proc/4711/task" */
	uint32_t pid;
	bool living; /* it is this machine's /proc */
	int64_t tick; /* ns */
	struct samples *samples;
	struct hmap sampled; /* tid -> any */
	bool no_samples, no_calls, no_stacks, no_times;
	bool user_only;
};

/* --- samples --- */

static int begin_samples(struct thread_sampler_proc *l, unsigned frequency, bool user_only)
{
	const struct samples_options options = {.frequency = frequency < FREQUENCY_MAX ? frequency : FREQUENCY_MAX,
						.buffer_pages = BUFFER_PAGES,
						.stack = STACK_BYTES,
						.user_only = user_only};

	samples_free(l->samples);
	l->samples = NULL;
	l->user_only = user_only;
	return samples_new(&options, &l->samples);
}

/* A thread that came since has a clock of its own from now on. */
static void sample(struct thread_sampler_proc *l, uint32_t tid)
{
	if (l->no_samples || l->sampled.n >= SAMPLED_MAX || hmap_get(&l->sampled, tid, 0))
		return;
	if (hmap_put(&l->sampled, tid, 0, l) == 0 && samples_add(l->samples, (int)tid, -1, -1) == 0)
		(void)samples_enable(l->samples);
}

/* Root may see the kernel's part, others what their own programs run; some machines allow neither. */
static void open_samples(struct thread_sampler_proc *l, unsigned frequency)
{
	int r = l->living ? begin_samples(l, frequency, false) : -EOPNOTSUPP;

	if (r == 0 && samples_add(l->samples, (int)l->pid, -1, -1) < 0) {
		r = begin_samples(l, frequency, true);
		r = r ?: samples_add(l->samples, (int)l->pid, -1, -1);
	}
	r = r ?: hmap_put(&l->sampled, l->pid, 0, l);
	l->no_samples = r < 0;
	if (r == 0)
		(void)samples_enable(l->samples);
}

/* --- /proc --- */

static int take_text(const struct thread_sampler_proc *l, const char *tid, const char *name, char *buf, size_t size)
{
	return text_attribute_take(l->task, STR_TEXT(300, "%s/%s", tid, name), buf, size);
}

static unsigned int state_of(char letter)
{
	switch (letter) {
	case 'R':
		return CAPTURE_RUNNING; /* or ready to: cpu and ready times tell */
	case 'D':
		return CAPTURE_BLOCKED;
	case 'T':
	case 't':
		return CAPTURE_STOPPED;
	default:
		return CAPTURE_SLEEPING;
	}
}

/* "4711 (tokio (x) 1) S 1 4711 4711 0 -1 4194304 95 0 0 0 7 3 0 0 20 0 9 0 123456 ...": the name may hold anything; of the
 * fields behind it the 1st is the state, the 12th and 13th are CPU ticks, the 20th is the start. False if it has ended. */
static bool take_stat(const struct thread_sampler_proc *l, const char *tid, struct capture_thread *t)
{
	char text[STAT_MAX], state;
	unsigned long long user, system, start;
	const char *name, *rest;

	if (take_text(l, tid, "stat", text, sizeof(text)) < 0)
		return false;
	name = strchr(text, '(');
	rest = strrchr(text, ')');
	if (!name || !rest || rest < name ||
	    sscanf(rest + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu %*s %*s %*s %*s %*s %*s %llu", &state, &user, &system,
		   &start) != 4 ||
	    state == 'Z' || state == 'X')
		return false;
	snprintf(t->comm, sizeof(t->comm), "%.*s", (int)(rest - name - 1), name + 1);
	t->state = state_of(state);
	t->cpu_ns = (user + system) * (unsigned long long)l->tick;
	t->start_ns = start * (unsigned long long)l->tick;
	return true;
}

/* "1234567 890 12": ns on a CPU, ns ready without one, times */
static void take_times(struct thread_sampler_proc *l, const char *tid, struct capture_thread *t)
{
	char text[128];
	unsigned long long ran, ready;

	t->ready_ns = 0;
	if (take_text(l, tid, "schedstat", text, sizeof(text)) == 0 && sscanf(text, "%llu %llu", &ran, &ready) == 2) {
		t->cpu_ns = ran;
		t->ready_ns = ready;
	} else {
		l->no_times = true;
	}
}

static void copy_stack(struct thread_sampler_proc *l, struct capture_thread *t)
{
	size_t wanted[] = {CAPTURE_STACK_MAX, 4096, 2048, 1024, 512};

	t->stack_size = 0;
	for (size_t i = 0; l->living && i < ARRAY_SIZE(wanted) && !t->stack_size; i++) {
		struct iovec to = {t->stack, wanted[i]};
		/* another process's address, never followed here */
		struct iovec from = {(void *)(uintptr_t)t->registers[STACK_POINTER], wanted[i]}; /* NOLINT(performance-no-int-to-ptr) */
		ssize_t n = process_vm_readv((pid_t)l->pid, &to, 1, &from, 1, 0);

		t->stack_size = n > 0 ? (unsigned int)n : 0;
		l->no_stacks |= n < 0 && errno == EPERM;
	}
}

/* "7 0x7ffd... 0x1 0x2710 0x8 0x0 0x3 0x7ffd32f0 0x7f1c9a": number, six arguments, stack pointer, program counter;
 * "-1 SP PC" in a page fault; "running" */
static void take_call(struct thread_sampler_proc *l, const char *tid, struct capture_thread *t)
{
	char text[256];
	unsigned long long arguments[6];
	int r = take_text(l, tid, "syscall", text, sizeof(text));

	t->syscall = -1;
	t->has_registers = 0;
	t->stack_size = 0;
	l->no_calls |= r == -EPERM || r == -EACCES;
	if (r < 0 || t->state == CAPTURE_RUNNING)
		return;
	memset(t->registers, 0, sizeof(t->registers));
	if (sscanf(text, "-1 %llx %llx", &t->registers[STACK_POINTER], &t->registers[PROGRAM_COUNTER]) == 2)
		t->has_registers = 1;
	else if (sscanf(text, "%d %llx %llx %llx %llx %llx %llx %llx %llx", &t->syscall, &arguments[0], &arguments[1], &arguments[2],
			&arguments[3], &arguments[4], &arguments[5], &t->registers[STACK_POINTER],
			&t->registers[PROGRAM_COUNTER]) == 9)
		t->has_registers = 1;
	t->argument = t->syscall >= 0 ? arguments[0] : 0;
	if (t->has_registers)
		copy_stack(l, t);
}

/* "futex_do_wait", or "0" */
static void take_wchan(struct thread_sampler_proc *l, const char *tid, struct capture_thread *t)
{
	char text[sizeof(t->waits_in)];

	t->waits_in[0] = '\0';
	if (t->state > CAPTURE_RUNNABLE && take_text(l, tid, "wchan", text, sizeof(text)) == 0 && strcmp(text, "0") != 0)
		memcpy(t->waits_in, text, sizeof(text));
}

static bool take_thread(struct thread_sampler_proc *l, const char *tid, struct capture_thread *t)
{
	uint64_t number;

	if (str_parse_u64(tid, &number) < 0 || !take_stat(l, tid, t))
		return false;
	t->kind = CAPTURE_LOOK;
	t->tid = (unsigned int)number;
	t->n_kernel = t->n_user = 0;
	take_times(l, tid, t);
	take_call(l, tid, t);
	take_wchan(l, tid, t);
	return true;
}

int thread_sampler_proc_read(struct thread_sampler_proc *l, struct capture_thread *scratch, const struct thread_sampler_callbacks *c)
{
	DIR *folder = opendir(l->task);
	int threads = 0;

	if (!folder)
		return errno == ENOENT ? 0 : -errno;
	FOLDER_EACH(e, folder) {
		if (!take_thread(l, e.name, scratch))
			continue;
		sample(l, scratch->tid);
		c->thread(scratch, NULL, c->data);
		threads++;
	}
	return threads;
}

void thread_sampler_proc_take_samples(struct thread_sampler_proc *l, struct capture_thread *scratch, const struct thread_sampler_callbacks *c)
{
	scratch->waits_in[0] = '\0';
	if (!l->no_samples)
		samples_take(l->samples, scratch, c);
}

uint64_t thread_sampler_proc_lost(const struct thread_sampler_proc *l)
{
	return l->samples ? samples_lost(l->samples) : 0;
}

unsigned thread_sampler_proc_missing(const struct thread_sampler_proc *l, const char *ret[THREAD_SAMPLER_MISSING_MAX])
{
	unsigned n = 0;

	ret[n++] = "kernel stacks, bytes by file, and threads that live for less than a look: only BPF sees them (root, on a kernel "
		   "with BTF): use sudo";
	if (l->no_samples)
		ret[n++] = "what runs, by samples: this machine does not let its own programs be sampled (kernel.perf_event_paranoid "
			   "above 2): use sudo, or sysctl kernel.perf_event_paranoid=2";
	else if (l->user_only)
		ret[n++] = "what the kernel does for it while it runs: only root may sample that (kernel.perf_event_paranoid)";
	if (l->no_calls)
		ret[n++] = "system calls, and from where they are made: kernel.yama.ptrace_scope hides them; what is shown for "
			   "waits is the kernel's function";
	else if (l->no_stacks)
		ret[n++] = "who called what waits: kernel.yama.ptrace_scope hides the stacks";
	if (l->no_times)
		ret[n++] = "exact CPU times: this kernel has no /proc/PID/schedstat; those of the clock tick stand in for them";
	return n;
}

int thread_sampler_proc_open(const char *proc_root, uint32_t pid, unsigned frequency, struct thread_sampler_proc **ret)
{
	struct thread_sampler_proc *l = calloc(1, sizeof(*l));
	long ticks = sysconf(_SC_CLK_TCK);

	if (!l)
		return -ENOMEM;
	l->pid = pid;
	l->tick = NS_PER_SEC / (ticks > 0 ? ticks : 100);
	l->living = strcmp(proc_root, "/proc") == 0;
	if (asprintf(&l->task, "%s/%u/task", proc_root, pid) < 0) {
		l->task = NULL;
		thread_sampler_proc_close(l);
		return -ENOMEM;
	}
	if (access(l->task, R_OK | X_OK) < 0) {
		int r = errno == ENOENT ? -ESRCH : -errno;

		thread_sampler_proc_close(l);
		return r;
	}
	open_samples(l, frequency);
	*ret = l;
	return 0;
}

void thread_sampler_proc_close(struct thread_sampler_proc *l)
{
	if (!l)
		return;
	samples_free(l->samples);
	hmap_free(&l->sampled);
	FREE_ALL(l->task, l);
}
