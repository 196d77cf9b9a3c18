//! Merges machine frames and Lua frames in one order.
//!
//! Each Lua frame refers to the native frame of the interpreter in which it runs, so the
//! interpreter's frames in the native stack mark the places of Lua frames: directly above the
//! interpreter (towards the leaf), below their callees. A graph thus reads `lua_resume ; [lj_vm] ;
//! access.lua:main chunk ; access.lua:read_vars:42 ; ngx.req.get_headers ; ngx_http_lua_... `.

use weir_profile::{Frame, Origin};
use weir_unwind::NativeFrame;

use crate::frame::Chunk;
use crate::raw::{RawLua, RawLuaFrame};
use crate::trace::Inlined;
use crate::vm::Vm;

/// A frame of the joined stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinedFrame {
    /// The native frame with this index.
    Native(usize),
    /// A frame of Lua: a function, a trace, or the interpreter itself.
    Lua(Frame),
}

/// The name of the interpreter's own frames.
const INTERPRETER: &str = "[lj_vm]";
/// A Lua frame whose function has been collected.
const GONE: &str = "[collected Lua function]";

impl Vm {
    /// Joins a native stack and the Lua stack of the same sample, innermost first. Returns whether
    /// the Lua stack is complete: read down to its bottom, with every function known.
    pub fn join(&mut self, native: &[NativeFrame], lua: &RawLua<'_>, out: &mut Vec<JoinedFrame>) -> bool {
        let mut whole = lua.flags & RawLua::COMPLETE != 0;
        let mut frames = lua.frames;
        let mut first = true;
        for (index, frame) in native.iter().enumerate() {
            let in_trace = first && lua.flags & RawLua::TRACE != 0 && self.is_trace(lua, frame.lookup);
            if !in_trace && !self.layout.in_vm(frame.ip) {
                out.push(JoinedFrame::Native(index));
                continue;
            }
            let cframe = if first { lua.cframe } else { frame.sp };
            let count = frames.iter().take_while(|lua| lua.cframe == cframe).count();
            let (mine, rest) = frames.split_at(count);
            if in_trace {
                whole &= self.traced(lua, frame.lookup, mine, rest.first(), out);
            } else if first && lua.flags & RawLua::TRACE != 0 {
                whole &= self.left(lua, mine, rest.first(), out);
            } else {
                whole &= self.frames(mine, rest.first(), out);
            }
            frames = rest;
            first = false;
            out.push(self.interpreter());
        }
        if !frames.is_empty() {
            // The native stack ended before its last Lua frames, which are its callers all the same.
            whole &= self.frames(frames, None, out);
            out.push(self.interpreter());
        }
        whole
    }

    fn interpreter(&self) -> JoinedFrame {
        let module = self.layout.path.clone();
        JoinedFrame::Lua(Frame { name: INTERPRETER.to_owned(), module, ..Frame::default() })
    }

    fn is_trace(&mut self, lua: &RawLua<'_>, lookup: u64) -> bool {
        !self.layout.in_vm(lookup) && self.trace(lua.global, number(lua), lookup).is_some()
    }

    /// Frames of one section of the Lua stack; `below` is the frame after them.
    fn frames(&mut self, mine: &[RawLuaFrame], below: Option<&RawLuaFrame>, out: &mut Vec<JoinedFrame>) -> bool {
        let mut known = true;
        for (index, frame) in mine.iter().enumerate() {
            let shown = self.frame(frame, mine.get(index + 1).or(below));
            known &= shown.is_some();
            out.push(JoinedFrame::Lua(shown.unwrap_or_else(|| Frame::named(GONE, Origin::Marker))));
        }
        known
    }

    /// Frames of a section that ends in a trace: the trace, the functions that it runs through, and
    /// then the frames on the Lua stack.
    fn traced(
        &mut self,
        lua: &RawLua<'_>,
        lookup: u64,
        mine: &[RawLuaFrame],
        below: Option<&RawLuaFrame>,
        out: &mut Vec<JoinedFrame>,
    ) -> bool {
        let memory = self.memory;
        let Some(trace) = self.trace(lua.global, number(lua), lookup) else { return self.frames(mine, below, out) };
        let mut inlined = trace.frames(memory, lookup).to_vec();
        if inlined.is_empty() {
            // In a build whose snapshots do not record their code, the position is the start of the trace.
            inlined.push(Inlined { function: None, proto: None, pc: trace.start_pc + 4 });
        }
        let (number, root) = (trace.number, trace.root);
        out.push(JoinedFrame::Lua(self.trace_frame(lua.global, number, root)));
        let Some((base, inner)) = inlined.split_last() else { return self.frames(mine, below, out) };
        let Some((outer, rest)) = mine.split_first() else { return self.frames(mine, below, out) };
        // A function that is neither Lua nor constant is the one that the trace exits with, so that
        // the interpreter calls it.
        let mut stack: Vec<RawLuaFrame> = inner
            .iter()
            .filter_map(|inlined| {
                let known = inlined.proto.map(|proto| (0, proto));
                let (ffid, code) = known.or_else(|| self.function(inlined.function?))?;
                Some(RawLuaFrame { code, pc: inlined.pc, ffid, link: 0, ..*outer })
            })
            .collect();
        stack.push(RawLuaFrame { pc: base.pc, ..*outer });
        stack.extend_from_slice(rest);
        self.frames(&stack, below, out)
    }

    /// Frames of a section that has just left a trace, or is about to enter one: until the
    /// interpreter knows where it continues, the position is the start of the trace.
    fn left(
        &mut self,
        lua: &RawLua<'_>,
        mine: &[RawLuaFrame],
        below: Option<&RawLuaFrame>,
        out: &mut Vec<JoinedFrame>,
    ) -> bool {
        let mut stack = mine.to_vec();
        if let Some(innermost) = stack.first_mut().filter(|frame| frame.pc == 0)
            && let Some(trace) = self.trace_of(lua.global, number(lua))
            && trace.start_proto == innermost.code
        {
            innermost.pc = trace.start_pc + 4;
        }
        self.frames(&stack, below, out)
    }

    /// `trace 12 access.lua:42`: the number of a trace, and the start of the loop or function that
    /// it was compiled from.
    fn trace_frame(&mut self, global: u64, number: u32, root: u32) -> Frame {
        let start = if root == 0 { number } else { root };
        let place = self.trace_of(global, start).map(|trace| (trace.start_proto, trace.start_pc));
        let mut frame = Frame::named(format!("trace {number}"), Origin::LuaTrace);
        if let Some((proto, pc)) = place
            && let Some(proto) = self.proto(proto)
        {
            let chunk = Chunk::of(&proto.chunk);
            let line = proto.before(pc + 4).and_then(|number| proto.line(number)).unwrap_or(0);
            frame.name = format!("trace {number} {}:{line}", chunk.module);
            frame.module = chunk.module;
            frame.file = chunk.file;
            frame.line = line;
        }
        frame
    }
}

fn number(lua: &RawLua<'_>) -> u32 {
    u32::try_from(lua.vmstate).unwrap_or(0)
}
