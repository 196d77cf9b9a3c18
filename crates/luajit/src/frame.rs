//! Display names of Lua frames: `access.lua`, `read_vars`, line 42.

use weir_profile::{Frame, Origin};

use crate::name;
use crate::object::{self, Fields};
use crate::proto::PROTO_SIZE;
use crate::raw::RawLuaFrame;
use crate::vm::Vm;

/// Number of characters shown for a chunk that is inline text.
const TEXT: usize = 32;

impl Vm {
    /// The display form of a frame; its name comes from `caller`, the frame that called it.
    pub(crate) fn frame(&mut self, frame: &RawLuaFrame, caller: Option<&RawLuaFrame>) -> Option<Frame> {
        if frame.ffid != 0 {
            return Some(self.builtin(frame));
        }
        let name = self.function_name(frame, caller)?;
        let written = self.library.lua_function(frame.code + PROTO_SIZE as u64).map(str::to_owned);
        let proto = self.proto(frame.code)?;
        if proto.is_builtin() {
            let name = written.unwrap_or(name);
            return Some(Frame { name, origin: Origin::LuaBuiltin, ..Frame::default() });
        }
        let line = proto.before(frame.pc).and_then(|number| proto.line(number)).unwrap_or(0);
        let chunk = Chunk::of(&proto.chunk);
        Some(Frame { name, origin: Origin::Lua, module: chunk.module, build_id: String::new(), file: chunk.file, line })
    }

    fn builtin(&self, frame: &RawLuaFrame) -> Frame {
        let name = match self.library.name(frame.ffid, frame.code) {
            Some(name) => name.to_owned(),
            None if frame.ffid > 1 => format!("builtin#{}", frame.ffid),
            None => "C function".to_owned(),
        };
        Frame::named(name, Origin::LuaBuiltin)
    }

    fn function_name(&mut self, frame: &RawLuaFrame, caller: Option<&RawLuaFrame>) -> Option<String> {
        let proto = self.proto(frame.code)?;
        if proto.is_main() {
            return Some("main chunk".to_owned());
        }
        let unnamed = format!("function@{}", proto.first_line);
        if let Some(name) = self.names.get(&frame.code) {
            return Some(name.clone());
        }
        let named = caller.filter(|caller| caller.ffid == 0 && matches!(frame.link, 0 | 2 | 3)).and_then(|caller| {
            let memory = self.memory;
            let proto = self.proto(caller.code)?;
            name::at_call(memory, proto, proto.before(caller.pc)?)
        });
        if let Some(name) = &named {
            self.names.insert(frame.code, name.clone());
        }
        Some(named.unwrap_or(unnamed))
    }

    /// The first line and prototype of a function object in a trace's constants.
    pub(crate) fn function(&self, address: u64) -> Option<(u32, u64)> {
        let bytes = object::read(self.memory, address, 48)?;
        if bytes.u8(9)? != object::FUNCTION {
            return None;
        }
        let ffid = u32::from(bytes.u8(10)?);
        let code = if ffid == 0 { bytes.u64(32)?.wrapping_sub(PROTO_SIZE as u64) } else { bytes.u64(40)? };
        Some((ffid, code))
    }
}

/// A chunk's name in parts.
pub(crate) struct Chunk {
    /// `access.lua`
    pub module: String,
    /// `/path/access.lua`; empty if the code does not come from a file.
    pub file: String,
}

impl Chunk {
    /// `@path`, `=name` or source text, whose first line is shown.
    pub fn of(name: &str) -> Self {
        if let Some(path) = name.strip_prefix('@') {
            let module = path.rsplit('/').next().unwrap_or(path);
            return Self { module: module.to_owned(), file: path.to_owned() };
        }
        if let Some(name) = name.strip_prefix('=') {
            return Self { module: name.to_owned(), file: String::new() };
        }
        let line: String = name.lines().next().unwrap_or("").chars().take(TEXT).collect();
        Self { module: format!("[string \"{line}\"]"), file: String::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_named_by_file_name_or_text() {
        let cases = [
            ("@/etc/app/access.lua", "access.lua", "/etc/app/access.lua"),
            ("@access.lua", "access.lua", "access.lua"),
            ("=access_by_lua(nginx.conf:12)", "access_by_lua(nginx.conf:12)", ""),
            ("return 1\nreturn 2", "[string \"return 1\"]", ""),
            ("", "[string \"\"]", ""),
        ];
        for (name, module, file) in cases {
            let chunk = Chunk::of(name);
            assert_eq!((chunk.module.as_str(), chunk.file.as_str()), (module, file), "{name}");
        }
    }
}
