// SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only
/*
 * Samples of running threads at a fixed rate, of targets and the processes that they fork.
 *
 * Programs of waits (wait.bpf.h) and system calls (calls.bpf.h) are in the same object, since they share the ring and
 * the targets; user space loads only what was asked for.
 */
#include "kernel.bpf.h"
#include "record.bpf.h"
#include "who.bpf.h"
#include "stack.bpf.h"
#include "user.bpf.h"
#include "wait.bpf.h"
#include "still.bpf.h"
#include "calls.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The user's registers of the running thread: where the sample hit, or what was saved when it entered the kernel. */
static __always_inline bool user_registers(struct record *record, struct bpf_perf_event_data *ctx)
{
	if (ctx->regs.cs & 3) {
		take_registers(record, &ctx->regs);
		return true;
	}
	return saved_registers(record);
}

SEC("perf_event")
int on_cpu(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 pid = visible_process(task);

	if (!gate || !wanted(pid))
		return 0;
	struct scratch *scratch = scratch_of(0);

	if (!scratch)
		return 0;
	struct record *record = &scratch->record;

	begin(record, ON_CPU, task, pid, visible_id(task));
	record->weight_ns = config.period_ns;
	__u64 at = 0;

	if (!(BPF_CORE_READ(task, flags) & KERNEL_THREAD) && user_registers(record, ctx))
		at = take_user(scratch, task, pid);
	if (!(ctx->regs.cs & 3) && at <= USER_MOST) {
		long bytes = bpf_get_stack(ctx, scratch->data + at, KERNEL_BYTES, 0);

		if (bytes > 0 && bytes <= KERNEL_BYTES) {
			record->kernel_bytes = bytes;
			at += bytes;
		}
	}
	send_scratch(scratch, at, LOST);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	__u32 pid = visible_process(parent);
	__u32 new = visible_process(child);
	__u32 one = 1;

	if (new == pid || !new || !bpf_map_lookup_elem(&targets, &pid))
		return 0;
	if (bpf_map_update_elem(&targets, &new, &one, BPF_ANY))
		count(NO_SLOT);
	return 0;
}

/* Tells user space that what it knows of a process is over. */
static __always_inline void tell(__u32 kind, struct task_struct *task, __u32 pid)
{
	struct record record = {};

	begin(&record, kind, task, pid, visible_id(task));
	send(&record, sizeof(record), LOST);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(executed, struct task_struct *task)
{
	__u32 pid = visible_process(task);

	if (wanted(pid))
		tell(EXECUTED, task, pid);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(exited, struct task_struct *task)
{
	__u32 pid = visible_process(task);
	__u32 id = BPF_CORE_READ(task, pid);

	bpf_map_delete_elem(&waits, &id);
	bpf_map_delete_elem(&calls_under_way, &id);
	if (BPF_CORE_READ(task, signal, live.counter) != 0 || !wanted(pid))
		return 0;
	bpf_map_delete_elem(&targets, &pid);
	tell(EXITED, task, pid);
	return 0;
}
