/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
/*
 * Registers and stack bytes of the running thread, for unwinding in user space.
 *
 * Where the stack ends decides what a sample costs. A main thread's ends at mm->start_stack. Of other threads, glibc
 * and musl put the thread's control block, which %fs points to, on top of the stack. Anything else (coroutines,
 * alternative stacks) is copied up to the limit or to the first page that is not there.
 */
#ifndef WEIR_STACK_BPF_H
#define WEIR_STACK_BPF_H

#include "record.bpf.h"

#define PAGE 4096
#define PAGES (STACK_MOST / PAGE + 1)

/* Takes the registers in perf_regs' order, which is not that of pt_regs. */
static __always_inline void take_registers(struct record *record, const struct pt_regs *regs)
{
	record->registers[0] = regs->rax;
	record->registers[1] = regs->rbx;
	record->registers[2] = regs->rcx;
	record->registers[3] = regs->rdx;
	record->registers[4] = regs->rsi;
	record->registers[5] = regs->rdi;
	record->registers[6] = regs->rbp;
	record->registers[7] = regs->rsp;
	record->registers[8] = regs->rip;
	record->registers[9] = regs->r8;
	record->registers[10] = regs->r9;
	record->registers[11] = regs->r10;
	record->registers[12] = regs->r11;
	record->registers[13] = regs->r12;
	record->registers[14] = regs->r13;
	record->registers[15] = regs->r14;
	record->registers[16] = regs->r15;
	record->flags |= HAS_REGISTERS;
}

/* Takes what the running thread's registers were when it entered the kernel. */
static __always_inline bool saved_registers(struct record *record)
{
	struct pt_regs *saved = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	struct pt_regs regs = {};

	if (!saved || bpf_probe_read_kernel(&regs, sizeof(regs), saved))
		return false;
	take_registers(record, &regs);
	return true;
}

/* How much of the stack from `sp` upwards is worth copying. */
static __always_inline __u64 stack_length(struct task_struct *task, __u64 sp, __u32 *flags)
{
	__u64 top = BPF_CORE_READ(task, pid) == BPF_CORE_READ(task, tgid) ? BPF_CORE_READ(task, mm, start_stack) :
									     BPF_CORE_READ(task, thread.fsbase);
	__u64 most = config.stack_bytes;

	if (top > sp && top - sp <= most)
		return (top - sp) & ~7ULL;
	*flags |= STACK_CUT;
	return most;
}

/*
 * Copies page by page until one is missing; for stacks that end where nobody said so. It copies whole pages, also the
 * last: the length of a copy is plain to the verifier then, and there is room behind the stack.
 */
static __always_inline __u64 copy_pages(struct scratch *scratch, __u64 sp, __u64 length)
{
	__u64 at = 0;

	for (__u32 i = 0; i < PAGES; i++) {
		if (at >= length || at >= STACK_MOST)
			break;
		__u64 chunk = PAGE - ((sp + at) & (PAGE - 1));

		if (bpf_probe_read_user(scratch->data + at, chunk, (void *)(sp + at)))
			break;
		at += chunk;
	}
	return (at < length ? at : length) & ~7ULL;
}

/* Copies the user stack of the running thread to the scratch's data; returns its length, a multiple of 8. */
static __always_inline __u64 take_stack(struct scratch *scratch, struct task_struct *task)
{
	__u64 sp = scratch->record.registers[7];
	__u32 flags = scratch->record.flags;
	__u64 length = stack_length(task, sp, &flags);

	if (length > STACK_MOST)
		length = STACK_MOST;
	if (bpf_probe_read_user(scratch->data, length, (void *)sp)) {
		flags |= STACK_CUT;
		length = copy_pages(scratch, sp, length);
	}
	scratch->record.flags = flags;
	scratch->record.stack_bytes = length;
	return length;
}

#endif
