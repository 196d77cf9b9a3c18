/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
/*
 * What is taken of the running thread's user space: its stack bytes, and the Lua stack where there is one.
 */
#ifndef WEIR_USER_BPF_H
#define WEIR_USER_BPF_H

#include "stack.bpf.h"

#include "lua.bpf.h"

/* Walks on this CPU: the walker has one buffer for each CPU, and a timer may interrupt a walk with another one. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} lua_walks SEC(".maps");

/* Puts the Lua stack at `at` of the scratch's data; returns its bytes. */
static __always_inline __u64 take_lua(struct scratch *scratch, __u64 at, __u32 pid)
{
	__u32 zero = 0;
	volatile __u64 *walks = bpf_map_lookup_elem(&lua_walks, &zero);
	struct record *record = &scratch->record;
	struct lua_registers registers = {
		.ip = record->registers[8],
		.sp = record->registers[7],
		.bp = record->registers[6],
		.bx = record->registers[1],
		.dx = record->registers[3],
		.r14 = record->registers[15],
	};
	struct lua_stack *stack;
	__u64 bytes, walk;

	if (!walks || at > STACK_MOST)
		return 0;
	walk = ++*walks;
	stack = weir_lua_walk(pid, &registers);
	if (!stack)
		return 0;
	bytes = offsetof(struct lua_stack, frames) + (__u64)stack->count * sizeof(struct lua_frame);
	if (bytes > sizeof(*stack) || bytes > LUA_MOST)
		return 0;
	if (bpf_probe_read_kernel(scratch->data + at, bytes, stack) || *walks != walk)
		return 0;
	record->lua_bytes = bytes;
	return bytes;
}

/* Takes stack and Lua stack to the scratch's data by the record's registers; returns their bytes. */
static __always_inline __u64 take_user(struct scratch *scratch, struct task_struct *task, __u32 pid)
{
	__u64 at = take_stack(scratch, task);

	if (config.lua)
		at += take_lua(scratch, at, pid);
	return at;
}

#endif
