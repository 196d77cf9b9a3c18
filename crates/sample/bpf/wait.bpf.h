/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
/*
 * Time off the CPU: how long each thread waited, and where the long waits began.
 *
 * At the switch away nobody knows how long the wait will be, so nothing but the time is kept there. When the thread is
 * back and the wait was long, its kernel stack, still that of the wait, is taken from outside; its user stack can only
 * be read by itself, which it does on its way out of the system call. A wait that was no system call (a page fault, a
 * preemption) has its kernel stack alone. Waits that are short are summed up by process.
 */
#ifndef WEIR_WAIT_BPF_H
#define WEIR_WAIT_BPF_H

#include "user.bpf.h"
#include "who.bpf.h"

struct wait {
	__u64 since_ns; /* when it left the CPU; 0: it is on it */
	__u64 owed_ns; /* time_ns of the wait whose user stack is still to be sent; 0: none */
	__u32 pid;
	__u32 preempted;
};

/* Threads of targets that have been off the CPU, by the kernel's own thread id. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* MOST_THREADS of src/ebpf/load.rs where waits are sampled */
	__type(key, __u32);
	__type(value, struct wait);
} waits SEC(".maps");

struct waited {
	__u64 count;
	__u64 total_ns;
};

/* Waits below shortest_ns by process: exact. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1); /* MOST_PROCESSES of src/ebpf.rs where waits are sampled */
	__type(key, __u32);
	__type(value, struct waited);
} short_waits SEC(".maps");

struct window {
	__u64 second;
	__u64 taken;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct window);
} windows SEC(".maps");

/* Whether this CPU may take one more user stack in this second. */
static __always_inline bool may_take(__u64 now)
{
	__u32 zero = 0;
	struct window *window = bpf_map_lookup_elem(&windows, &zero);

	if (!window)
		return false;
	if (window->second != now / 1000000000) {
		window->second = now / 1000000000;
		window->taken = 0;
	}
	if (window->taken >= config.stacks_per_second)
		return false;
	window->taken++;
	return true;
}

static __always_inline void leave(struct task_struct *task, bool preempted, __u64 now)
{
	__u32 pid = visible_process(task);
	__u32 id = task->pid;
	struct wait *wait;

	if (!gate || !id || task->flags & EXITING || !wanted(pid))
		return;
	wait = bpf_map_lookup_elem(&waits, &id);
	if (wait) {
		wait->since_ns = now;
		wait->owed_ns = 0;
		wait->preempted = preempted;
		return;
	}
	struct wait first = { .since_ns = now, .pid = pid, .preempted = preempted };

	if (bpf_map_update_elem(&waits, &id, &first, BPF_ANY))
		count(NO_SLOT);
}

static __always_inline void sum_up(__u32 pid, __u64 ns)
{
	struct waited *sum = bpf_map_lookup_elem(&short_waits, &pid);

	if (sum) {
		sum->count++;
		sum->total_ns += ns;
		return;
	}
	struct waited first = { .count = 1, .total_ns = ns };

	if (bpf_map_update_elem(&short_waits, &pid, &first, BPF_ANY))
		count(NO_SLOT);
}

/* `task` is about to run again, in its kernel stack of the wait. */
static __always_inline void back(struct task_struct *task, __u64 now)
{
	__u32 id = task->pid;
	struct wait *wait = bpf_map_lookup_elem(&waits, &id);
	struct scratch *scratch;

	if (!wait || !wait->since_ns)
		return;
	__u64 ns = now - wait->since_ns;

	wait->since_ns = 0;
	if (ns < config.shortest_ns) {
		sum_up(wait->pid, ns);
		return;
	}
	scratch = scratch_of(1);
	if (!scratch)
		return;
	struct record *record = &scratch->record;

	begin(record, WAITED, task, wait->pid, visible_id(task));
	record->time_ns = now;
	record->weight_ns = ns;
	if (wait->preempted) {
		record->flags |= PREEMPTED;
	} else if (may_take(now)) {
		record->flags |= STACK_FOLLOWS;
		wait->owed_ns = now;
	} else {
		count(CAPPED);
	}
	long bytes = bpf_get_task_stack(task, scratch->data, KERNEL_BYTES, 0);

	record->kernel_bytes = bytes > 0 && bytes <= KERNEL_BYTES ? bytes : 0;
	send_scratch(scratch, record->kernel_bytes, LOST_WAITS);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u64 now = bpf_ktime_get_ns();

	leave(prev, preempt, now);
	back(next, now);
	return 0;
}

/* The way out of a system call that has waited: the thread can read its own stack again. */
SEC("tp_btf/sys_exit")
int BPF_PROG(returned, struct pt_regs *regs, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 id = task->pid;
	struct wait *wait = bpf_map_lookup_elem(&waits, &id);
	struct scratch *scratch;

	if (!wait || !wait->owed_ns)
		return 0;
	__u64 time_ns = wait->owed_ns;

	wait->owed_ns = 0;
	scratch = scratch_of(1);
	if (!scratch)
		return 0;
	begin(&scratch->record, WAITED_FROM, task, wait->pid, visible_id(task));
	scratch->record.time_ns = time_ns;
	if (!saved_registers(&scratch->record))
		return 0;
	send_scratch(scratch, take_user(scratch, task, wait->pid), LOST_WAITS);
	return 0;
}

#endif
