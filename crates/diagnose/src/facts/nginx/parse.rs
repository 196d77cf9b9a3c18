//! One file's directives.
//!
//! What is right before an error is kept: half a configuration answers more questions than none.

use std::sync::Arc;

use super::token::{Token, Tokens, Wrong};
use super::{Block, Directive, Place};

/// Blocks within blocks. nginx's own nest four or five deep; what is saved as JSON must be readable again (128
/// levels, three for each block).
pub const MAX_BLOCK_DEPTH: usize = 32;

/// What an `include` stands for.
pub(super) trait Include {
    /// Directives of the files that a pattern names, within so many blocks.
    fn include(&mut self, pattern: &str, place: &Place, depth: usize) -> Vec<Directive>;
    /// Counts a directive; `false`: there are too many.
    fn count(&mut self) -> bool;
    /// Something is wrong.
    fn wrong(&mut self, place: &Place, what: &str);
}

/// Parses a file that stands within so many blocks of others.
pub(super) fn parse(text: &[u8], file: &Arc<str>, depth: usize, include: &mut dyn Include) -> Vec<Directive> {
    let mut parser = Parser { tokens: Tokens::of(text), file, around: depth, include };
    let (directives, ended) = parser.block(0);
    if let Err(Wrong { line, what }) = ended {
        let place = parser.place(line);
        parser.include.wrong(&place, what);
    }
    directives
}

struct Parser<'t, 'i> {
    tokens: Tokens<'t>,
    file: &'i Arc<str>,
    /// Blocks around the file.
    around: usize,
    include: &'i mut dyn Include,
}

impl Parser<'_, '_> {
    fn place(&self, line: u32) -> Place {
        Place { file: self.file.clone(), line }
    }

    /// Directives up to the end of the block, or of the file at depth 0.
    fn block(&mut self, depth: usize) -> (Vec<Directive>, Result<(), Wrong>) {
        let mut directives = Vec::new();
        let ended = self.directives(depth, &mut directives);
        (directives, ended)
    }

    fn directives(&mut self, depth: usize, into: &mut Vec<Directive>) -> Result<(), Wrong> {
        let mut last_line = 1;
        while let Some((token, line)) = self.tokens.next()? {
            last_line = line;
            match token {
                Token::Word(name) => self.directive(name, line, depth, into)?,
                Token::Close if depth > 0 => return Ok(()),
                Token::Close => return Err(Wrong { line, what: "a } too many" }),
                Token::Open => return Err(Wrong { line, what: "a { without a directive" }),
                Token::End => return Err(Wrong { line, what: "a ; without a directive" }),
            }
        }
        if depth > 0 { Err(Wrong { line: last_line, what: "a } is missing at the end of the file" }) } else { Ok(()) }
    }

    /// The rest of a directive whose name was read.
    fn directive(&mut self, name: String, line: u32, depth: usize, into: &mut Vec<Directive>) -> Result<(), Wrong> {
        let mut arguments = Vec::new();
        let opens = loop {
            match self.tokens.next()? {
                Some((Token::Word(word), _)) => arguments.push(word),
                Some((Token::End, _)) => break false,
                Some((Token::Open, _)) => break true,
                Some((Token::Close, line)) => return Err(Wrong { line, what: "a ; is missing before }" }),
                None => return Err(Wrong { line, what: "a ; is missing at the end of the file" }),
            }
        };
        if !self.include.count() {
            return Err(Wrong { line, what: "too many directives" });
        }
        let place = self.place(line);
        if !opens {
            if let ("include", [pattern]) = (name.as_str(), arguments.as_slice()) {
                into.extend(self.include.include(pattern, &place, self.around + depth));
            } else {
                into.push(Directive { name, arguments, place, block: Block::None });
            }
            return Ok(());
        }
        let mut ended = Ok(());
        let block = if name.ends_with("_by_lua_block") {
            Block::Lua(self.tokens.lua()?)
        } else if self.around + depth >= MAX_BLOCK_DEPTH {
            return Err(Wrong { line, what: "blocks are nested too deep" });
        } else {
            let (children, end) = self.block(depth + 1);
            ended = end;
            Block::Directives(children)
        };
        into.push(Directive { name, arguments, place, block });
        ended
    }
}
