//! Choices drawn from bytes. Past the end every choice is the first alternative, so that
//! alternatives that end a recursion come first.

/// A reader of choices.
pub struct Source<'b> {
    rest: &'b [u8],
}

impl<'b> Source<'b> {
    /// Draws from `bytes`.
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next byte, or 0 past the end.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        *first
    }

    /// A number below `bound`, at most 255.
    pub fn below(&mut self, bound: u8) -> u8 {
        self.byte() % bound
    }

    /// One of `all`.
    pub fn pick<'t, T: ?Sized>(&mut self, all: &[&'t T]) -> &'t T {
        all[usize::from(self.byte()) % all.len()]
    }

    /// One of `all`, by value.
    pub fn copy<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::from(self.byte()) % all.len()]
    }

    /// Up to `most` things.
    pub fn several<T>(&mut self, most: u8, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| make(self)).collect()
    }

    /// A short string from a small vocabulary, so that rules and traffic meet; sometimes any bytes.
    pub fn text(&mut self) -> Vec<u8> {
        match self.below(8) {
            0..=4 => self.pick(WORDS).to_vec(),
            5 | 6 => [self.pick(WORDS), self.pick(WORDS)].concat(),
            _ => self.several(6, Self::byte),
        }
    }
}

/// Words of rules and traffic.
const WORDS: &[&[u8]] = &[
    b"a",
    b"",
    b"b",
    b"ab",
    b"abc",
    b"A",
    b"union select",
    b"UNION  SELECT",
    b"../",
    b"<script>",
    b"admin",
    b"1",
    b"42",
    b"-7",
    b"*",
    b"\\",
    b"a*b",
    b"%41",
    b"%zz",
    b"a b",
    b"a+b",
    b"YWJj",
    b"example.com",
    b"\xff\xfe",
    b"\0",
    b"\xc3\xa4",
    b"\xe2\x84\xaa",
    b"k",
    b"x=1",
    b"/",
    b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];
