/* A part of the flight recorder: stacks, each kept once. */
#pragma once

#include "machine/bpf/ring-records.h"

#define MIX		  0x9e3779b97f4a7c15ull
#define HALF_FRAMES	  (RING_FRAMES / 2)

static __noinline stack_ref keep_stack(struct frames *f, u32 n)
{
	struct ring_stack *s;
	struct ring_counts *all;
	u64 hash = n;
	u32 ref, slot, zero = 0;

	if (!n || n > RING_FRAMES)
		return 0;
	for (u32 i = 0; i < RING_FRAMES; i++) {
		if (i >= n)
			break;
		hash = (hash ^ f->v[i]) * MIX;
		hash ^= hash >> 32;
	}
	ref = (u32)hash ? (u32)hash : 1;
	slot = ref & (RING_STACKS - 1);
	s = bpf_map_lookup_elem(&stacks, &slot);
	if (!s || s->ref == ref)
		return s ? ref : 0;
	if (s->ref) {
		all = bpf_map_lookup_elem(&counts, &zero);
		if (all)
			__sync_fetch_and_add(&all->stacks_replaced, 1);
	}
	*(volatile u32 *)&s->ref = 0;
	s->n = n;
	bpf_probe_read_kernel(s->frames, sizeof(s->frames), f->v);
	barrier();
	*(volatile u32 *)&s->ref = ref;
	return ref;
}

/* Whether the table still has it. */
static __always_inline bool is_kept(stack_ref ref)
{
	u32 slot = ref & (RING_STACKS - 1);
	struct ring_stack *s = bpf_map_lookup_elem(&stacks, &slot);

	return ref && s && s->ref == ref;
}

/* In whole frames; 0 = none. */
static __always_inline u32 frames_of(long bytes)
{
	return bytes > 0 && bytes <= RING_FRAMES * 8 ? (u32)bytes / 8 : 0;
}

static __noinline stack_ref stack_here(void *ctx, u64 flags)
{
	u32 zero = 0;
	struct frames *f = bpf_map_lookup_elem(&scratch, &zero);

	return f ? keep_stack(f, frames_of(bpf_get_stack(ctx, f->v, sizeof(f->v), flags))) : 0;
}

/* Kernel frames, then user frames. */
static __noinline stack_ref whole_stack_here(void *ctx)
{
	u32 zero = 0, kernel, user;
	struct frames *f = bpf_map_lookup_elem(&scratch, &zero);

	if (!f)
		return 0;
	kernel = frames_of(bpf_get_stack(ctx, f->v, HALF_FRAMES * 8, 0));
	if (kernel > HALF_FRAMES)
		return 0;
	user = frames_of(bpf_get_stack(ctx, f->v + kernel, HALF_FRAMES * 8, BPF_F_USER_STACK));
	return keep_stack(f, kernel + user);
}

static __noinline stack_ref stack_of_sleeper(struct task_struct *task)
{
	u32 zero = 0;
	struct frames *f = bpf_map_lookup_elem(&scratch, &zero);

	return f ? keep_stack(f, frames_of(bpf_get_task_stack(task, f->v, sizeof(f->v), 0))) : 0;
}
