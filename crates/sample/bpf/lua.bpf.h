/* Reading of Lua stacks in the moment of a sample.
 *
 * A Lua stack lives for microseconds: read a millisecond later by process_vm_readv it is another
 * one. So the walk happens here; what lives longer (prototypes, names, lines, traces) is read by
 * crates/luajit. All offsets come from there too, computed from the running build and checked
 * against its live objects; this file knows only what all GC64 builds of LuaJIT 2.1 share: two
 * slots for each frame, tags in the upper 17 bits, the head of a function object.
 *
 * Use: `weir_lua_walk(tgid, &registers)` gives a filled `struct lua_stack` in per-CPU memory, or
 * NULL where no Lua is running; copy `offsetof(struct lua_stack, frames) + count * sizeof(struct
 * lua_frame)` bytes of it. User space puts one `struct lua_offsets` for each process into
 * `lua_processes`. Needs bpf_loop (Linux 5.17). Includers bring the kernel's types and
 * bpf_helpers.h.
 */
#ifndef WEIR_LUA_BPF_H
#define WEIR_LUA_BPF_H

#include "lua_types.bpf.h"

struct lua_cursor {
	struct lua_offsets *offsets;
	struct lua_stack *out;
	__u64 state, stack, limit; /* the coroutine; its first slot and its last free one */
	__u64 base;                /* of the frame that comes next */
	__u64 pc;                  /* where that frame goes on */
	__u64 cframe, crossed;     /* the native frame that the Lua frame runs in; the one above it */
	__u64 link;                /* to use for the first frame instead of what lies on the stack */
	__u32 skip;                /* the next frame is already shown, or is being torn down */
	__u32 coroutines;
	__u32 seen; /* a frame was passed */
};

static __always_inline __u64 lua_u64(__u64 address)
{
	__u64 value = 0;
	bpf_probe_read_user(&value, sizeof(value), (const void *)address);
	return value;
}

static __always_inline bool lua_is_function(__u64 slot)
{
	return ((__s64)slot >> LUA_TAG_SHIFT) == LUA_TAG_FUNCTION;
}

/* Whether a word may be an address at all. */
static __always_inline bool lua_is_pointer(__u64 word)
{
	return word > 4096 && word >> LUA_TAG_SHIFT == 0;
}

static __always_inline __u64 lua_pointer(__u64 slot)
{
	return slot & ((1ULL << LUA_TAG_SHIFT) - 1);
}

static __always_inline bool lua_in_vm(const struct lua_offsets *offsets, __u64 address)
{
	return address >= offsets->vm_start && address < offsets->vm_end;
}

/* Leaves C frames out that have no Lua frame: protected calls of the parser, recorder, assembler. */
static __always_inline void lua_skip_frameless(struct lua_cursor *c)
{
	for (int i = 0; i < LUA_MAX_FRAMELESS; i++) {
		__s32 results = 0;
		if (!c->cframe)
			return;
		bpf_probe_read_user(&results, sizeof(results), (const void *)(c->cframe + c->offsets->c_results));
		if (results >= 0 || c->base - 8 >= c->stack + (__u32)-results)
			return;
		c->crossed = c->cframe;
		c->cframe = lua_u64(c->cframe + c->offsets->c_previous) & ~3ULL;
	}
}

/* From the Lua frames that C has called to those that had called that C. */
static __always_inline void lua_cross(struct lua_cursor *c)
{
	c->pc = 0;
	if (!c->cframe)
		return;
	c->crossed = c->cframe;
	c->cframe = lua_u64(c->cframe + c->offsets->c_previous) & ~3ULL;
	lua_skip_frameless(c);
	if (c->cframe)
		c->pc = lua_u64(c->cframe + c->offsets->c_pc);
}

/* Takes a coroutine; false: it is none of this virtual machine. */
static __always_inline bool lua_enter(struct lua_cursor *c, __u64 state, __u64 cframe)
{
	struct lua_offsets *o = c->offsets;
	if (!state || lua_u64(state + o->l_global) != c->out->global)
		return false;
	c->state = state;
	c->stack = lua_u64(state + o->l_stack);
	c->limit = lua_u64(state + o->l_maxstack);
	c->base = lua_u64(state + o->l_base);
	c->cframe = cframe;
	c->pc = cframe ? lua_u64(cframe + o->c_pc) : 0;
	c->link = 0;
	c->skip = 0;
	return c->stack && c->base >= c->stack + 16;
}

/* At a coroutine's bottom: who has resumed it? coroutine.resume calls the entry of the virtual
 * machine straight from its own frame, which therefore lies directly above. */
static __always_inline bool lua_parent(struct lua_cursor *c)
{
	struct lua_offsets *o = c->offsets;
	__u64 resumed = c->cframe ? c->cframe : c->crossed;
	if (!resumed || c->coroutines >= LUA_MAX_COROUTINES)
		return false;
	if (!lua_in_vm(o, lua_u64(resumed + o->c_size - 8)))
		return false;
	c->coroutines++;
	c->crossed = 0;
	__u64 parent = resumed + o->c_size;
	return lua_enter(c, lua_u64(parent + o->c_state), parent);
}

static long lua_step(__u32 index, struct lua_cursor *c)
{
	struct {
		__u64 next;
		__u8 marked, gct, ffid, upvalues;
		__u8 gap[4];
		__u64 environment, list, pc, entry;
	} function;
	struct lua_stack *out = c->out;

	if (c->base == c->stack + 16) {
		if (lua_parent(c))
			return 0;
		out->flags |= LUA_FLAG_COMPLETE;
		return 1;
	}
	__u64 slots[2];
	if (bpf_probe_read_user(slots, sizeof(slots), (const void *)(c->base - 16)))
		return 1;
	__u64 link = c->link ? c->link : slots[1];
	c->link = 0;
	if (!c->skip) {
		__u32 at = out->count;
		if (at >= LUA_MAX_FRAMES) {
			out->flags |= LUA_FLAG_CUT;
			return 1;
		}
		__u64 address = lua_pointer(slots[0]);
		if (lua_is_function(slots[0]) && !bpf_probe_read_user(&function, sizeof(function), (const void *)address) &&
		    function.gct == LUA_GCT_FUNCTION) {
			struct lua_frame *frame = &out->frames[at];
			frame->state = c->state;
			frame->function = address;
			frame->code = function.ffid == 0 ? function.pc - c->offsets->proto_size : function.entry;
			frame->pc = c->pc;
			frame->cframe = c->cframe;
			frame->ffid = function.ffid;
			frame->link = link & 3 ? link & 7 : 0; /* bytecode lies at multiples of 4 */
			out->count = at + 1;
		} else if (c->seen) {
			return 1;
		}
		/* Else a function that has just put its result where it was itself. */
	}
	c->seen = 1;
	c->skip = 0;

	__u64 before;
	if ((link & 3) == 0) {
		__u32 call = 0;
		if (bpf_probe_read_user(&call, sizeof(call), (const void *)(link - 4)))
			return 1;
		before = c->base - 8 * (2 + ((call >> 8) & 0xff));
		c->pc = link;
	} else {
		__u64 continuation[2] = {};
		before = c->base - (link & ~7ULL);
		__u32 kind = link & 7;
		if (kind == 2)
			bpf_probe_read_user(continuation, sizeof(continuation), (const void *)(c->base - 32));
		if (kind == 3)
			c->skip = 1;
		else
			c->pc = continuation[1];
		if (before < c->base && ((kind & 3) == 1 || (kind == 2 && continuation[0] == 1))) {
			__u64 base = c->base;
			c->base = before;
			lua_cross(c);
			c->base = base;
		}
	}
	if (before < c->stack + 16 || before >= c->base)
		return 1;
	c->base = before;
	return 0;
}

static __always_inline bool lua_base_in_stack(const struct lua_cursor *c, __u64 base)
{
	return (base & 7) == 0 && base >= c->stack + 16 && base <= c->limit + 512;
}

/* What the function in a slot runs: its bytecode; of a fast function, just the address behind its head,
 * which is where PC then points to. */
struct lua_range {
	__u64 start, end;
};

static __always_inline bool lua_code(const struct lua_cursor *c, __u64 slot, struct lua_range *range)
{
	__u64 function = lua_pointer(slot);
	__u8 ffid = 1;
	__u32 count = 0;
	if (!lua_is_function(slot) || bpf_probe_read_user(&ffid, sizeof(ffid), (const void *)(function + LUA_FUNCTION_FFID)))
		return false;
	range->start = lua_u64(function + LUA_FUNCTION_PC);
	range->end = range->start + 4;
	if (ffid == 0) {
		bpf_probe_read_user(&count, sizeof(count), (const void *)(range->start - c->offsets->proto_size + LUA_PROTO_COUNT));
		range->end = range->start + 4ULL * count;
	}
	return true;
}

static __always_inline bool lua_inside(const struct lua_range *range, __u64 pc)
{
	return pc >= range->start && pc <= range->end;
}

/* In the interpreter L->base is old: BASE is rdx and PC is rbx. While a frame is being built or torn
 * down, its slots do not hold yet, or no longer, its function and link; then the link is in rbx, and
 * the sample goes to the caller. */
static __always_inline void lua_from_interpreter(struct lua_cursor *c, const struct lua_registers *r)
{
	__u64 slots[2];
	struct lua_range code = {};
	__u32 instruction = 0;

	if (!lua_base_in_stack(c, r->dx))
		return;
	if (bpf_probe_read_user(slots, sizeof(slots), (const void *)(r->dx - 16)))
		return;
	bool function = lua_code(c, slots[0], &code);
	bpf_probe_read_user(&instruction, sizeof(instruction), (const void *)r->ip);
	if (instruction != LUA_STORE_LINK) {
		bool lua = code.end != code.start + 4;
		if (function && (!lua || lua_inside(&code, r->bx))) {
			c->base = r->dx;
			c->pc = r->bx;
			return;
		}
		/* rdx may be an argument of what is called next; L->base is right then. */
		if (r->bx != slots[1] && lua_code(c, lua_u64(c->base - 16), &code) && lua_inside(&code, r->bx)) {
			c->pc = r->bx;
			return;
		}
		/* A metamethod's continuation is being made, for the function that is in its slot. */
		if (function && r->bx != slots[1] && ((r->bx & 3) || !lua_is_pointer(r->bx))) {
			c->base = r->dx;
			return;
		}
	}
	c->base = r->dx;
	if (c->base == c->stack + 16)
		return;
	c->skip = 1;
	c->link = r->bx;
}

/* Just before a trace runs, PC is still in rbx. Just after it, anything is: then crates/luajit takes the
 * place where the trace starts. */
static __always_inline void lua_from_entry(struct lua_cursor *c, const struct lua_registers *r)
{
	struct lua_range code = {};

	if (lua_code(c, lua_u64(c->base - 16), &code) && lua_inside(&code, r->bx))
		c->pc = r->bx;
}

/* On the way back to C the results are moved down over the frame, and rbx has the base before it. */
static __always_inline void lua_from_return(struct lua_cursor *c, const struct lua_registers *r)
{
	if (c->cframe != r->sp || !lua_base_in_stack(c, r->bx))
		return;
	c->base = r->bx;
	lua_cross(c);
}

#define LUA_WORDS 6

/* In a C function of the interpreter that keeps no frame in L (sin, lj_tab_getinth, ...) BASE is in rbp
 * and PC in rbx, or they are saved in the words below the return address into the interpreter. */
static __always_inline void lua_from_helper(struct lua_cursor *c, const struct lua_registers *r)
{
	__u64 words[LUA_WORDS + 2] = {};
	__u64 start = c->cframe - 8 - 8 * LUA_WORDS;
	struct lua_range code = {};

	if (c->cframe < r->sp + 8 || bpf_probe_read_user(words, 8 * LUA_WORDS, (const void *)start))
		return;
	for (int i = 0; i < LUA_WORDS; i++)
		if (start + 8 * i < r->sp)
			words[i] = 0;
	words[LUA_WORDS] = r->bx;
	words[LUA_WORDS + 1] = r->bp;
	for (int i = LUA_WORDS + 1; i >= 0; i--) {
		__u64 base = words[i];
		if (!lua_base_in_stack(c, base) || !lua_code(c, lua_u64(base - 16), &code))
			continue;
		for (int j = 0; j <= LUA_WORDS; j++) {
			if (words[j] > code.start && lua_inside(&code, words[j])) {
				c->base = base;
				c->pc = words[j];
				return;
			}
		}
	}
}

/* The virtual machine that runs on this thread: the one whose innermost C frame lies nearest above
 * the stack pointer. In the interpreter and in traces r14 says it, and often still in the C that they
 * call, even where user space does not know it yet. */
static __always_inline __u64 lua_find(struct lua_offsets *o, const struct lua_registers *r, __u64 *state, __u64 *cframe)
{
	__u64 found = 0, nearest = r->sp + LUA_NATIVE_REACH;
	for (int i = -1; i < LUA_MAX_GLOBALS; i++) {
		if (i >= (int)o->global_count)
			break;
		__u64 global = i < 0 ? r->r14 - o->dispatch : o->globals[i & (LUA_MAX_GLOBALS - 1)];
		__u64 current = lua_u64(global + o->g_current);
		if (!current || lua_u64(current + o->l_global) != global)
			continue;
		__u64 frame = lua_u64(current + o->l_cframe) & ~3ULL;
		if (frame < r->sp - 4096 || frame >= nearest)
			continue;
		found = global;
		nearest = frame;
		*state = current;
		*cframe = frame;
	}
	return found;
}

static __always_inline struct lua_stack *weir_lua_walk(__u32 tgid, const struct lua_registers *registers)
{
	struct lua_cursor c = {};
	__u32 zero = 0;
	__u64 state = 0, cframe = 0;

	c.offsets = bpf_map_lookup_elem(&lua_processes, &tgid);
	c.out = bpf_map_lookup_elem(&lua_scratch, &zero);
	if (!c.offsets || !c.out)
		return NULL;
	__u64 global = lua_find(c.offsets, registers, &state, &cframe);
	if (!global)
		return NULL;
	c.out->global = global;
	c.out->cframe = cframe;
	c.out->flags = 0;
	c.out->count = 0;
	c.out->padding = 0;
	c.out->jit_base = lua_u64(global + c.offsets->g_jit_base);
	c.out->vmstate = 0;
	bpf_probe_read_user(&c.out->vmstate, sizeof(c.out->vmstate), (const void *)(global + c.offsets->g_vmstate));
	if (!lua_enter(&c, state, cframe))
		return c.out;
	if (c.out->jit_base) {
		c.out->flags |= LUA_FLAG_TRACE;
		if (lua_base_in_stack(&c, c.out->jit_base))
			c.base = c.out->jit_base;
		c.pc = 0;
		if (lua_in_vm(c.offsets, registers->ip))
			lua_from_entry(&c, registers);
	} else if (lua_in_vm(c.offsets, registers->ip)) {
		if (c.out->vmstate == LUA_VMSTATE_C)
			lua_from_return(&c, registers);
		else
			lua_from_interpreter(&c, registers);
	} else if (c.out->vmstate == LUA_VMSTATE_INTERPRETER) {
		lua_from_helper(&c, registers);
	}
	lua_skip_frameless(&c);
	bpf_loop(2 * LUA_MAX_FRAMES + LUA_MAX_COROUTINES, lua_step, &c, 0);
	return c.out;
}

#endif
