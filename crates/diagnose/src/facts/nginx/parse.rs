//! Parses the directives of one file.
//!
//! Everything before an error is kept, because half a configuration is better than none.

use std::sync::Arc;

use super::token::{SyntaxError, Token, Tokens};
use super::{Block, Directive, DirectivePosition};

/// Maximum nesting of blocks. Real configurations nest four or five deep; saved JSON must be
/// readable again (128 levels, three for each block).
pub const MAX_BLOCK_DEPTH: usize = 32;

/// Expansion of `include`.
pub(super) trait Include {
    /// Directives of the files that a pattern matches, at this nesting depth.
    fn include(&mut self, pattern: &str, place: &DirectivePosition, depth: usize) -> Vec<Directive>;
    /// Counts a directive; `false` if there are too many.
    fn count(&mut self) -> bool;
    /// Reports an error.
    fn wrong(&mut self, place: &DirectivePosition, what: &str);
}

/// Parses a file that is included at this nesting depth.
pub(super) fn parse(text: &[u8], file: &Arc<str>, depth: usize, include: &mut dyn Include) -> Vec<Directive> {
    let mut parser = Parser { tokens: Tokens::of(text), file, around: depth, include };
    let (directives, ended) = parser.block(0);
    if let Err(SyntaxError { line, what }) = ended {
        let place = parser.place(line);
        parser.include.wrong(&place, what);
    }
    directives
}

struct Parser<'t, 'i> {
    tokens: Tokens<'t>,
    file: &'i Arc<str>,
    /// Nesting depth at which the file is included.
    around: usize,
    include: &'i mut dyn Include,
}

impl Parser<'_, '_> {
    fn place(&self, line: u32) -> DirectivePosition {
        DirectivePosition { file: self.file.clone(), line }
    }

    /// Directives up to the end of the block, or of the file at depth 0.
    fn block(&mut self, depth: usize) -> (Vec<Directive>, Result<(), SyntaxError>) {
        let mut directives = Vec::new();
        let ended = self.directives(depth, &mut directives);
        (directives, ended)
    }

    fn directives(&mut self, depth: usize, into: &mut Vec<Directive>) -> Result<(), SyntaxError> {
        let mut last_line = 1;
        while let Some((token, line)) = self.tokens.next()? {
            last_line = line;
            match token {
                Token::Word(name) => self.directive(name, line, depth, into)?,
                Token::Close if depth > 0 => return Ok(()),
                Token::Close => return Err(SyntaxError { line, what: "unexpected }" }),
                Token::Open => return Err(SyntaxError { line, what: "a { without a directive" }),
                Token::End => return Err(SyntaxError { line, what: "a ; without a directive" }),
            }
        }
        if depth > 0 { Err(SyntaxError { line: last_line, what: "missing } at the end of the file" }) } else { Ok(()) }
    }

    /// The rest of a directive after its name.
    fn directive(
        &mut self,
        name: String,
        line: u32,
        depth: usize,
        into: &mut Vec<Directive>,
    ) -> Result<(), SyntaxError> {
        let mut arguments = Vec::new();
        let opens = loop {
            match self.tokens.next()? {
                Some((Token::Word(word), _)) => arguments.push(word),
                Some((Token::End, _)) => break false,
                Some((Token::Open, _)) => break true,
                Some((Token::Close, line)) => return Err(SyntaxError { line, what: "missing ; before }" }),
                None => return Err(SyntaxError { line, what: "missing ; at the end of the file" }),
            }
        };
        if !self.include.count() {
            return Err(SyntaxError { line, what: "too many directives" });
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
            return Err(SyntaxError { line, what: "blocks are nested too deeply" });
        } else {
            let (children, end) = self.block(depth + 1);
            ended = end;
            Block::Directives(children)
        };
        into.push(Directive { name, arguments, place, block });
        ended
    }
}
