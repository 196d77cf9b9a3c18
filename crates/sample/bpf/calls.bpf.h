/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
/*
 * System calls by process and number: how many, how many failed, how long. Exact, and nothing leaves the kernel before
 * the end. Calls that begin before the gate opens, return after it has closed, or not at all (exit_group), are not counted.
 */
#ifndef WEIR_CALLS_BPF_H
#define WEIR_CALLS_BPF_H

#include "who.bpf.h"

struct call {
	__u64 since_ns; /* 0: none is under way */
	__u64 number;
};

/* The call of each thread, by the kernel's own thread id. It stays when the call is over: to put it in and take it out
 * each time costs more than all the rest. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* MOST_THREADS of src/ebpf/load.rs where calls are counted */
	__type(key, __u32);
	__type(value, struct call);
} calls_under_way SEC(".maps");

struct call_key {
	__u32 pid;
	__u32 number;
};

struct call_sum {
	__u64 calls;
	__u64 errors;
	__u64 total_ns;
	__u64 max_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1); /* MOST_CALLS of src/ebpf/load.rs where calls are counted */
	__type(key, struct call_key);
	__type(value, struct call_sum);
} calls SEC(".maps");

SEC("tp_btf/sys_enter")
int BPF_PROG(call_entered, struct pt_regs *regs, long number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 id = task->pid;

	if (!gate || !wanted(visible_process(task)))
		return 0;
	struct call *call = bpf_map_lookup_elem(&calls_under_way, &id);

	if (call) {
		call->number = number;
		call->since_ns = bpf_ktime_get_ns();
		return 0;
	}
	struct call first = { .number = number, .since_ns = bpf_ktime_get_ns() };

	if (bpf_map_update_elem(&calls_under_way, &id, &first, BPF_ANY))
		count(NO_SLOT);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(call_returned, struct pt_regs *regs, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 id = task->pid;
	struct call *call = bpf_map_lookup_elem(&calls_under_way, &id);

	if (!call || !call->since_ns)
		return 0;
	__u64 ns = bpf_ktime_get_ns() - call->since_ns;
	struct call_key key = { .pid = visible_process(task), .number = call->number };
	/* -MAX_ERRNO of include/linux/err.h */
	bool failed = result < 0 && result >= -4095;

	call->since_ns = 0;
	if (!gate)
		return 0;
	struct call_sum *sum = bpf_map_lookup_elem(&calls, &key);

	if (!sum) {
		struct call_sum first = { .calls = 1, .errors = failed, .total_ns = ns, .max_ns = ns };

		if (bpf_map_update_elem(&calls, &key, &first, BPF_ANY))
			count(NO_SLOT);
		return 0;
	}
	sum->calls++;
	sum->errors += failed;
	sum->total_ns += ns;
	if (ns > sum->max_ns)
		sum->max_ns = ns;
	return 0;
}

#endif
