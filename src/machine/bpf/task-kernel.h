/* A part of the programs that read tasks: what they call in the kernel, where it has that (6.7). */
#pragma once

#include "machine/bpf/task-state.h"

#ifndef WITHOUT_KFUNCS
extern int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task, unsigned int flags) __ksym __weak;
extern struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) __ksym __weak;
extern void bpf_iter_task_destroy(struct bpf_iter_task *it) __ksym __weak;
extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym __weak;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym __weak;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym __weak;
extern void bpf_rcu_read_lock(void) __ksym __weak;
extern void bpf_rcu_read_unlock(void) __ksym __weak;
#else
/* For kernels that lack them: looking for them libbpf would go through the modules' types, which takes CAP_SYS_ADMIN.
 * The names differ because libbpf's headers declare more kernel functions extern with each release. */
static int without_iter_task_new(struct bpf_iter_task *it, struct task_struct *task, unsigned int flags)
{
	return 0;
}
static struct task_struct *without_iter_task_next(struct bpf_iter_task *it)
{
	return (void *)0;
}
static void without_iter_task_destroy(struct bpf_iter_task *it)
{
}
static int without_iter_num_new(struct bpf_iter_num *it, int start, int end)
{
	return 0;
}
static int *without_iter_num_next(struct bpf_iter_num *it)
{
	return (void *)0;
}
static void without_iter_num_destroy(struct bpf_iter_num *it)
{
}
static void without_rcu_read_lock(void)
{
}
static void without_rcu_read_unlock(void)
{
}

#define bpf_iter_task_new without_iter_task_new
#define bpf_iter_task_next without_iter_task_next
#define bpf_iter_task_destroy without_iter_task_destroy
#define bpf_iter_num_new without_iter_num_new
#define bpf_iter_num_next without_iter_num_next
#define bpf_iter_num_destroy without_iter_num_destroy
#define bpf_rcu_read_lock without_rcu_read_lock
#define bpf_rcu_read_unlock without_rcu_read_unlock
#endif
