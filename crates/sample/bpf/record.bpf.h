/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
/*
 * What goes to user space, and the limits on it. `src/record.rs` reads the same layout.
 *
 * A record is put together in a scratch buffer of its CPU and copied to the ring in its exact length. Reserving room
 * in the ring first would save the copy, but only takes lengths that are known to the verifier: either every shallow
 * stack costs the room of a deep one, or the whole program is there once for each of some sizes. The reader is never
 * woken: it comes by ten times a second (src/ring.rs).
 */
#ifndef WEIR_RECORD_BPF_H
#define WEIR_RECORD_BPF_H

#include "kernel.bpf.h"

/* Bytes of user stack at most; a power of two. */
#define STACK_MOST 65536
/* Frames of kernel stack at most: what the kernel gives by default (kernel.perf_event_max_stack). */
#define KERNEL_MOST 127
#define KERNEL_BYTES (KERNEL_MOST * 8)
/* Bytes of a Lua stack at most: a head and 256 frames of 48 bytes. */
#define LUA_MOST 16384
/* Bytes of what is taken of user space at most. */
#define USER_MOST (STACK_MOST + LUA_MOST)

enum kind {
	ON_CPU = 1, /* a sample: user and kernel stack */
	WAITED = 2, /* a thread is back after a wait: kernel stack, length of the wait */
	WAITED_FROM = 3, /* the user stack of the wait before */
	EXECUTED = 4, /* the process runs another program now */
	EXITED = 5, /* the process is gone */
	STILL_WAITING = 6, /* a wait that is not over: both stacks; weight_ns 0: it is older than the sampling */
};

enum flags {
	HAS_REGISTERS = 1,
	STACK_CUT = 2,
	PREEMPTED = 4, /* it did not wait for anything but a CPU */
	STACK_FOLLOWS = 8, /* a record WAITED_FROM of the same thread and time_ns will come */
};

struct record {
	__u32 kind;
	__u32 pid;
	__u32 tid;
	__u32 flags;
	__u64 time_ns;
	__u64 weight_ns;
	char comm[16];
	__u32 stack_bytes;
	__u32 kernel_bytes;
	__u32 lua_bytes;
	__u32 reserved;
	__u64 registers[17]; /* struct Registers of crates/unwind */
};

struct scratch {
	struct record record;
	/* Stack, Lua, kernel stack, one behind the other, each of a multiple of 8 bytes; then room for the last page. */
	__u8 data[USER_MOST + 4096];
};

/* What user space decides before the programs are loaded: struct Config of src/ebpf/config.rs. */
struct config {
	__u32 scope;
	__u32 stack_bytes; /* most of a user stack; a multiple of 8, not above STACK_MOST */
	__u32 namespace; /* inode of the sampler's pid namespace; 0: the initial one */
	__u32 lua; /* whether any process may run Lua */
	__u64 period_ns; /* of the on-CPU samples */
	__u64 shortest_ns; /* waits below are only summed up */
	__u32 stacks_per_second; /* user stacks of waits for each CPU */
	__u32 padding;
};

const volatile struct config config SEC(".rodata.config");

/* Whether samples are taken and calls counted. User space opens and closes it for all programs in one moment, with
 * which it can count other things; attaching and detaching take tens of milliseconds for each program. */
volatile __u32 gate SEC(".data.gate") = 0;

enum scope { PROCESSES = 0, CGROUP = 1, ALL = 2 };

enum counter {
	LOST = 0, /* records on CPU without room in the ring */
	LOST_WAITS = 1, /* the same of waits */
	NO_SLOT = 2, /* threads that found no room in a map of threads */
	CAPPED = 3, /* waits whose user stack was not taken because of stacks_per_second */
	COUNTERS = 4,
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20); /* grows with the CPUs: src/ebpf.rs */
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

/* Two for each CPU: the timer of on-CPU samples may interrupt a program that captures a wait. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2); /* src/ebpf.rs: 2 for each possible CPU */
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline void count(__u32 which)
{
	__u64 *value = bpf_map_lookup_elem(&counters, &which);

	if (value)
		*value += 1;
}

static __always_inline struct scratch *scratch_of(__u32 which)
{
	__u32 key = bpf_get_smp_processor_id() * 2 + which;

	return bpf_map_lookup_elem(&scratches, &key);
}

/* Starts a record of a thread; `pid`: its visible process. */
static __always_inline void begin(struct record *record, __u32 kind, struct task_struct *task, __u32 pid, __u32 tid)
{
	record->kind = kind;
	record->pid = pid;
	record->tid = tid;
	record->flags = 0;
	record->time_ns = bpf_ktime_get_ns();
	record->weight_ns = 0;
	record->stack_bytes = 0;
	record->kernel_bytes = 0;
	record->lua_bytes = 0;
	bpf_probe_read_kernel(record->comm, sizeof(record->comm), &task->comm);
}

static __always_inline void send(void *record, __u64 bytes, __u32 lost)
{
	if (bpf_ringbuf_output(&ring, record, bytes, BPF_RB_NO_WAKEUP))
		count(lost);
}

/* Sends a record with `data_bytes` behind it. */
static __always_inline void send_scratch(struct scratch *scratch, __u64 data_bytes, __u32 lost)
{
	if (data_bytes > sizeof(scratch->data))
		return;
	send(scratch, sizeof(struct record) + data_bytes, lost);
}

#endif
