/* The flight recorder adds stacks up by process here, for profiles that are kept. User space takes the sums away every two seconds or so. */
#pragma once

#include "machine/bpf/ring-records.h"

#define BPF_NOEXIST 1

static __always_inline void describe_process(struct task_struct *task, struct ring_profile_sum *s)
{
	s->start = BPF_CORE_READ(task, group_leader, start_boottime);
	s->uid = owner_of(BPF_CORE_READ(task, cred, uid.val), BPF_CORE_READ(task, cred, euid.val), BPF_CORE_READ(task, cred, suid.val));
	s->is_kernel = (BPF_CORE_READ(task, flags) & PF_KTHREAD) != 0;
	BPF_CORE_READ_INTO(&s->comm, task, group_leader, comm);
}

static __noinline int add_to_profile(struct task_struct *task, struct ring_profile_key *key, u64 waited)
{
	struct ring_profile_sum *s = bpf_map_lookup_elem(&profile, key), fresh = {};
	struct ring_counts *all;
	u32 zero = 0;

	if (!s) {
		describe_process(task, &fresh);
		bpf_map_update_elem(&profile, key, &fresh, BPF_NOEXIST);
		s = bpf_map_lookup_elem(&profile, key);
	}
	if (!s) {
		all = bpf_map_lookup_elem(&counts, &zero);
		if (all)
			__sync_fetch_and_add(&all->profile_lost, 1);
		return 0;
	}
	if (waited)
		__sync_fetch_and_add(&s->waited, waited);
	else
		__sync_fetch_and_add(&s->samples, 1);
	return 0;
}
