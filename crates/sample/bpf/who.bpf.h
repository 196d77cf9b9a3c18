/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
/*
 * Whom to sample. Process ids are those that the sampler sees: in a container they differ from the kernel's own.
 */
#ifndef WEIR_WHO_BPF_H
#define WEIR_WHO_BPF_H

#include "record.bpf.h"

/* Nested pid namespaces at most: MAX_PID_NS_LEVEL of the kernel. */
#define NAMESPACES 32

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384); /* MOST_PROCESSES of src/ebpf.rs */
	__type(key, __u32);
	__type(value, __u32);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} cgroups SEC(".maps");

/* The id of a thread in the sampler's pid namespace; 0: it is not visible there. */
static __always_inline __u32 visible_id(struct task_struct *task)
{
	if (!config.namespace)
		return BPF_CORE_READ(task, pid);

	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);

	for (__u32 i = 0; i < NAMESPACES; i++) {
		if (i > level)
			break;
		struct upid number = {};
		void *at = (void *)pid + bpf_core_field_offset(struct pid, numbers) +
			   i * bpf_core_type_size(struct upid);

		bpf_probe_read_kernel(&number.nr, sizeof(number.nr), at + bpf_core_field_offset(struct upid, nr));
		bpf_probe_read_kernel(&number.ns, sizeof(number.ns), at + bpf_core_field_offset(struct upid, ns));
		if (BPF_CORE_READ(number.ns, ns.inum) == config.namespace)
			return number.nr;
	}
	return 0;
}

static __always_inline __u32 visible_process(struct task_struct *task)
{
	if (!config.namespace)
		return BPF_CORE_READ(task, tgid);
	return visible_id(BPF_CORE_READ(task, group_leader));
}

/* Whether the running thread is to be sampled; `pid`: its visible process. */
static __always_inline bool wanted(__u32 pid)
{
	if (!pid)
		return false;
	if (config.scope == ALL)
		return true;
	if (config.scope == CGROUP)
		return bpf_current_task_under_cgroup(&cgroups, 0) == 1;
	return bpf_map_lookup_elem(&targets, &pid) != NULL;
}

#endif
