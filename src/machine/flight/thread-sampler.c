#include "machine/flight/thread-sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inspect.skel.h"
#include "lib/data/cleanup.h"
#include "lib/data/file.h"
#include "lib/data/order.h"
#include "lib/data/vec.h"
#include "machine/flight/samples.h"
#include "machine/flight/thread-sampler-proc.h"

/* At 500 samples a second and 8 KiB each, 4 MiB hold a second: who looks at a machine that crawls waits for
 * a CPU itself. With many CPUs, where few of them run the process, a quarter of that. */
#define BUFFER_PAGES	 1024
#define BUFFER_PAGES_MIN 256
#define BUFFER_PAGES_ALL 16384

struct thread_sampler {
	struct thread_sampler_proc *proc; /* not NULL: there is no BPF available, and nothing of what follows */
	struct inspect_bpf *skel;
	struct bpf_link *iter, *files;
	struct samples *samples;
	struct capture_thread thread;
};

static int open_cpus(struct thread_sampler *l, unsigned frequency)
{
	int n = libbpf_num_possible_cpus(), r;
	const struct samples_options options = {.frequency = frequency,
						.buffer_pages = n * BUFFER_PAGES <= BUFFER_PAGES_ALL ? BUFFER_PAGES : BUFFER_PAGES_MIN,
						.stack = CAPTURE_STACK_MAX};

	r = n < 0 ? n : samples_new(&options, &l->samples);

	for (int i = 0; r == 0 && i < n; i++) {
		r = samples_add(l->samples, -1, i, bpf_program__fd(l->skel->progs.ours));
		if (r == -ENODEV)
			r = 0; /* a CPU that is switched off */
	}
	return r == 0 ? samples_enable(l->samples) : r;
}

static int load(struct thread_sampler *l, uint32_t pid, bool files)
{
	int r;

	l->skel = inspect_bpf__open();
	if (!l->skel)
		return -errno;
	l->skel->rodata->target = pid;
	bpf_program__set_autoload(l->skel->progs.on_return, files);
	r = inspect_bpf__load(l->skel);
	if (r < 0) {
		inspect_bpf__destroy(l->skel);
		l->skel = NULL;
	}
	return r;
}

static int no_print(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	return 0;
}

static int attach_iterator(struct thread_sampler *l, uint32_t pid)
{
	union bpf_iter_link_info info = {.task.pid = pid};
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &info, .link_info_len = sizeof(info));

	l->iter = bpf_program__attach_iter(l->skel->progs.look, &options);
	if (!l->iter) /* before 6.1 the program itself looks for its own */
		l->iter = bpf_program__attach_iter(l->skel->progs.look, NULL);
	return l->iter ? 0 : -errno;
}

static int open_bpf(struct thread_sampler *l, const struct thread_sampler_options *options)
{
	libbpf_print_fn_t print = libbpf_set_print(no_print);
	int r = load(l, options->pid, true);

	if (r < 0)
		r = load(l, options->pid, false);
	r = r ?: attach_iterator(l, options->pid);
	if (r == 0 && bpf_program__autoload(l->skel->progs.on_return))
		l->files = bpf_program__attach(l->skel->progs.on_return);
	r = r ?: open_cpus(l, options->frequency);
	libbpf_set_print(print);
	return r;
}

static void close_bpf(struct thread_sampler *l)
{
	samples_free(l->samples);
	bpf_link__destroy(l->iter);
	bpf_link__destroy(l->files);
	inspect_bpf__destroy(l->skel);
	l->samples = NULL;
	l->iter = l->files = NULL;
	l->skel = NULL;
}

int thread_sampler_open(const struct thread_sampler_options *options, struct thread_sampler **ret)
{
	struct thread_sampler *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	r = open_bpf(l, options);
	if (r < 0) {
		close_bpf(l);
		r = thread_sampler_proc_open(options->proc_root, options->pid, options->frequency, &l->proc);
	}
	if (r < 0) {
		thread_sampler_close(l);
		return r;
	}
	*ret = l;
	return 0;
}

void thread_sampler_close(struct thread_sampler *l)
{
	if (!l)
		return;
	close_bpf(l);
	thread_sampler_proc_close(l->proc);
	free(l);
}

int thread_sampler_read(struct thread_sampler *l, const struct thread_sampler_callbacks *c)
{
	_cleanup_close_ int fd = -1;
	int threads = 0;
	ssize_t n;

	if (l->proc)
		return thread_sampler_proc_read(l->proc, &l->thread, c);
	fd = bpf_iter_create(bpf_link__fd(l->iter));
	if (fd < 0)
		return -errno;
	while ((n = file_read(fd, &l->thread, sizeof(l->thread))) == (ssize_t)sizeof(l->thread)) {
		c->thread(&l->thread, NULL, c->data);
		threads++;
	}
	return n ? n < 0 ? (int)n : -EIO : threads;
}

void thread_sampler_take_samples(struct thread_sampler *l, const struct thread_sampler_callbacks *c)
{
	if (l->proc)
		thread_sampler_proc_take_samples(l->proc, &l->thread, c);
	else
		samples_take(l->samples, &l->thread, c);
}

uint64_t thread_sampler_lost(const struct thread_sampler *l)
{
	return l->proc ? thread_sampler_proc_lost(l->proc) : samples_lost(l->samples);
}

ORDER(by_bytes, struct capture_file, CMP(b->read_bytes + b->written_bytes, a->read_bytes + a->written_bytes))

unsigned thread_sampler_files(const struct thread_sampler *l, struct capture_file *ret, unsigned max)
{
	int fd = l->proc ? -1 : bpf_map__fd(l->skel->maps.files);
	_cleanup_vec_ VEC(struct capture_file) all = {};
	uint64_t key[2], *previous = NULL;
	unsigned n;

	if (l->proc)
		return 0;
	while (bpf_map_get_next_key(fd, previous, key) == 0) {
		struct capture_file f;

		if (bpf_map_lookup_elem(fd, key, &f) == 0)
			(void)VEC_PUSH(all, f);
		previous = key;
	}
	VEC_SORT(all, by_bytes);
	n = all.n < max ? (unsigned)all.n : max;
	if (n)
		memcpy(ret, all.v, n * sizeof(*ret));
	return n;
}

unsigned thread_sampler_missing(const struct thread_sampler *l, const char *ret[THREAD_SAMPLER_MISSING_MAX])
{
	unsigned n = 0;

	if (l->proc)
		return thread_sampler_proc_missing(l->proc, ret);
	if (!l->files)
		ret[n++] = "bytes by file: this kernel does not let system calls be counted as they return";
	return n;
}
