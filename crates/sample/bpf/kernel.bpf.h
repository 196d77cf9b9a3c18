/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
/*
 * The few kernel structures that the programs look into. Offsets are those of the running kernel: libbpf relocates
 * each access by its BTF (CO-RE), so a list of what is read serves better here than a dump of one kernel's types.
 */
#ifndef WEIR_KERNEL_BPF_H
#define WEIR_KERNEL_BPF_H

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/errno.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct mm_struct {
	unsigned long start_stack;
};

struct thread_struct {
	unsigned long fsbase;
};

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

typedef struct {
	int counter;
} weir_atomic;

struct signal_struct {
	weir_atomic live;
};

struct task_struct {
	int pid;
	int tgid;
	unsigned int flags;
	unsigned int __state;
	struct mm_struct *mm;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	struct pid *thread_pid;
	struct thread_struct thread;
	char comm[16];
};

#pragma clang attribute pop

/* PF_KTHREAD of include/linux/sched.h. */
#define KERNEL_THREAD 0x00200000
/* PF_EXITING of the same file. */
#define EXITING 0x00000004

#endif
