/* The profile: what runs on each CPU, 49 times a second; and what the kernel added up of it. */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "machine/flight/ring-inside.h"

#define PROFILE_HZ 49
#define TAKEN	   512 /* at a time; a bucket of the table has few */

static int open_sampler(uint32_t cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = PROFILE_HZ,
		.disabled = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

int ring_open_samplers(struct ring *r)
{
	r->samplers = calloc(r->n_cpus, sizeof(*r->samplers));
	r->sampling = calloc(r->n_cpus, sizeof(*r->sampling));
	if (!r->samplers || !r->sampling)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_cpus; i++) {
		r->samplers[i] = open_sampler(i);
		if (r->samplers[i] < 0)
			continue;
		r->sampling[i] = bpf_program__attach_perf_event(r->skel->progs.on_sample, r->samplers[i]);
		ioctl(r->samplers[i], PERF_EVENT_IOC_DISABLE, 0);
	}
	return 0;
}

void ring_profile(struct ring *r, bool on)
{
	if (!ring_is_attached(r) || !r->samplers || on == r->profiling)
		return;
	r->profiling = on;
	for (uint32_t i = 0; i < r->n_cpus; i++)
		if (r->samplers[i] >= 0)
			ioctl(r->samplers[i], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

void ring_close_samplers(struct ring *r)
{
	for (uint32_t i = 0; r->samplers && r->sampling && i < r->n_cpus; i++) {
		bpf_link__destroy(r->sampling[i]); /* closes the event too */
		if (!r->sampling[i] && r->samplers[i] >= 0)
			close(r->samplers[i]);
	}
	FREE_ALL(r->samplers, r->sampling);
}

struct taken {
	struct ring_profile_key keys[TAKEN];
	struct ring_profile_sum sums[TAKEN];
};

int ring_take_profile(struct ring *r, void (*each)(const struct ring_profile_key *key, const struct ring_profile_sum *sum, void *data), void *data)
{
	_cleanup_free_ struct taken *t = malloc(sizeof(*t));
	const int fd = bpf_map__fd(r->skel->maps.profile);
	uint32_t place = 0, n;
	int code = 0;

	if (!t)
		return -ENOMEM;
	for (bool first = true; code == 0; first = false) {
		n = TAKEN;
		code = bpf_map_lookup_and_delete_batch(fd, first ? NULL : &place, &place, t->keys, t->sums, &n, NULL);
		if (code < 0 && code != -ENOENT)
			return code;
		for (uint32_t i = 0; i < n; i++)
			each(&t->keys[i], &t->sums[i], data);
	}
	return 0;
}
