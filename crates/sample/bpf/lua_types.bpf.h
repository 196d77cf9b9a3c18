/* What user space tells the walker of Lua stacks, and what it gets back.
 *
 * `struct lua_offsets` is weir_luajit::Offsets, `struct lua_frame` weir_luajit::RawLuaFrame: changes go
 * hand in hand.
 */
#ifndef WEIR_LUA_TYPES_BPF_H
#define WEIR_LUA_TYPES_BPF_H

#define LUA_MAX_FRAMES 256    /* frames of one sample */
#define LUA_MAX_GLOBALS 8     /* virtual machines of one process */
#define LUA_MAX_COROUTINES 8  /* coroutines that have resumed each other */
#define LUA_MAX_PROCESSES 1024
#define LUA_MAX_FRAMELESS 4   /* C frames without Lua frames, one upon the other (parser, recorder) */
#define LUA_NATIVE_REACH (64ULL << 20) /* a thread's native stack is shorter than this */

#define LUA_TAG_SHIFT 47
#define LUA_TAG_FUNCTION (-9)
#define LUA_GCT_FUNCTION 8
#define LUA_STORE_LINK 0xf85a8948 /* mov [rdx-8], rbx: the last step in building a frame */
#define LUA_FUNCTION_FFID 10 /* in a function object */
#define LUA_FUNCTION_PC 32   /* in a function object: its bytecode, which follows its prototype */
#define LUA_PROTO_COUNT 12   /* in a prototype: number of instructions */

#define LUA_VMSTATE_INTERPRETER (-1)
#define LUA_VMSTATE_C (-2)

#define LUA_FLAG_CUT 1       /* more frames were there */
#define LUA_FLAG_COMPLETE 2  /* read down to the bottom, every frame checked */
#define LUA_FLAG_TRACE 4     /* in machine code of a trace, or in C called from it */

/* The same as weir_luajit::Offsets. */
struct lua_offsets {
	__u64 vm_start, vm_end;   /* the interpreter's assembler code */
	__u64 globals[LUA_MAX_GLOBALS];
	__u32 global_count;
	__u32 dispatch;           /* global_State to the dispatch table (r14) */
	__u32 g_current, g_vmstate, g_jit_base;
	__u32 l_global, l_base, l_maxstack, l_stack, l_cframe;
	__u32 c_size, c_state, c_pc, c_previous, c_results;
	__u32 proto_size;
};

/* The same as weir_luajit::RawLuaFrame. */
struct lua_frame {
	__u64 state, function, code, pc, cframe;
	__u32 ffid, link;
};

struct lua_stack {
	__u64 global, jit_base, cframe;
	__s32 vmstate;
	__u32 flags, count, padding;
	struct lua_frame frames[LUA_MAX_FRAMES];
};

/* The registers that the walk looks at. */
struct lua_registers {
	__u64 ip, sp, bp, bx, dx, r14;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LUA_MAX_PROCESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct lua_offsets);
} lua_processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lua_stack);
} lua_scratch SEC(".maps");

#endif
