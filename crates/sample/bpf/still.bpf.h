/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
/*
 * Waits that are not over when sampling ends: a thread that hangs, or an idle server, shows nothing else.
 *
 * Run once, when all other programs are detached, so that the scratch buffers are its own. Sleepers cannot run away
 * while they are looked at; one that wakes up in that moment gives a stack that does not unwind, which is counted.
 * Needs bpf_copy_from_user_task (Linux 5.18).
 */
#ifndef WEIR_STILL_BPF_H
#define WEIR_STILL_BPF_H

#include "wait.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bpf_iter_meta {
	__u64 session_id;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/* Since when a thread waits: 0: longer than it is sampled. False: it does not, or is nobody's business. */
static __always_inline bool waits_since(struct task_struct *task, __u32 pid, __u64 *since_ns)
{
	__u32 id = task->pid;
	struct wait *wait = bpf_map_lookup_elem(&waits, &id);

	if (wait) {
		*since_ns = wait->since_ns;
		return wait->since_ns != 0;
	}
	*since_ns = 0;
	return task->__state != 0 && config.scope == PROCESSES && bpf_map_lookup_elem(&targets, &pid);
}

static __always_inline __u64 take_sleepers_stack(struct scratch *scratch, struct task_struct *task)
{
	struct record *record = &scratch->record;
	struct pt_regs *saved = (struct pt_regs *)bpf_task_pt_regs(task);
	struct pt_regs regs = {};
	__u64 length;
	__u32 flags;

	if (task->flags & KERNEL_THREAD || bpf_probe_read_kernel(&regs, sizeof(regs), saved))
		return 0;
	take_registers(record, &regs);
	flags = record->flags;
	length = stack_length(task, regs.rsp, &flags);
	if (length > STACK_MOST || bpf_copy_from_user_task(scratch->data, length, (void *)regs.rsp, task, 0))
		length = 0;
	record->flags = flags;
	record->stack_bytes = length;
	return length;
}

SEC("iter.s/task")
int still(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct scratch *scratch;
	__u64 since_ns, at = 0;
	__u32 pid;

	if (!task)
		return 0;
	pid = visible_process(task);
	if (!pid || !waits_since(task, pid, &since_ns))
		return 0;
	__u64 now = bpf_ktime_get_ns();

	if (since_ns && now - since_ns < config.shortest_ns) {
		sum_up(pid, now - since_ns);
		return 0;
	}
	scratch = scratch_of(1);
	if (!scratch)
		return 0;
	struct record *record = &scratch->record;

	begin(record, STILL_WAITING, task, pid, visible_id(task));
	record->weight_ns = since_ns ? now - since_ns : 0;
	if (task->__state == 0)
		record->flags |= PREEMPTED;
	/* Ten thousand threads: what is left of the ring is for their kernel stacks. */
	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE) / 2)
		at = take_sleepers_stack(scratch, task);
	if (at > STACK_MOST)
		return 0;
	long bytes = bpf_get_task_stack(task, scratch->data + at, KERNEL_BYTES, 0);

	if (bytes > 0 && bytes <= KERNEL_BYTES) {
		record->kernel_bytes = bytes;
		at += bytes;
	}
	send_scratch(scratch, at, LOST_WAITS);
	return 0;
}

#endif
