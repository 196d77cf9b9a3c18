//! The boolean `MULTIPART_*` variables.

bitflags::bitflags! {
    /// Properties of a multipart body and its `Content-Type`. Each except the last two is a
    /// ModSecurity variable with the value `1` if it is set, otherwise `0`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct MultipartFlags: u16 {
        /// `MULTIPART_BOUNDARY_QUOTED`
        const BOUNDARY_QUOTED = 1;
        /// `MULTIPART_BOUNDARY_WHITESPACE`
        const BOUNDARY_WHITESPACE = 1 << 1;
        /// `MULTIPART_DATA_BEFORE`
        const DATA_BEFORE = 1 << 2;
        /// `MULTIPART_DATA_AFTER`
        const DATA_AFTER = 1 << 3;
        /// `MULTIPART_HEADER_FOLDING`
        const HEADER_FOLDING = 1 << 4;
        /// `MULTIPART_INVALID_HEADER_FOLDING`
        const INVALID_HEADER_FOLDING = 1 << 5;
        /// `MULTIPART_INVALID_PART`
        const INVALID_PART = 1 << 6;
        /// `MULTIPART_INVALID_QUOTING`
        const INVALID_QUOTING = 1 << 7;
        /// `MULTIPART_LF_LINE`
        const LF_LINE = 1 << 8;
        /// `MULTIPART_CRLF_LF_LINES`
        const CRLF_LF_LINES = 1 << 9;
        /// `MULTIPART_MISSING_SEMICOLON`
        const MISSING_SEMICOLON = 1 << 10;
        /// `MULTIPART_STRICT_ERROR`
        const STRICT_ERROR = 1 << 11;
        /// A line that ends in CR LF.
        const CRLF_LINE = 1 << 12;
        /// The body or boundary could not be parsed.
        const ERROR = 1 << 13;
    }
}

impl MultipartFlags {
    /// The flags that imply [`Self::STRICT_ERROR`].
    const STRICT: Self = Self::ERROR
        .union(Self::BOUNDARY_QUOTED)
        .union(Self::BOUNDARY_WHITESPACE)
        .union(Self::DATA_BEFORE)
        .union(Self::DATA_AFTER)
        .union(Self::HEADER_FOLDING)
        .union(Self::LF_LINE)
        .union(Self::MISSING_SEMICOLON)
        .union(Self::INVALID_QUOTING)
        .union(Self::INVALID_PART)
        .union(Self::INVALID_HEADER_FOLDING);

    /// The flags that are no errors.
    pub(crate) const LINES: Self = Self::CRLF_LINE;

    /// Adds the flags that follow from others.
    pub(crate) fn concluded(self) -> Self {
        let mut all = self;
        all.set(Self::CRLF_LF_LINES, self.contains(Self::CRLF_LINE.union(Self::LF_LINE)));
        all.set(Self::STRICT_ERROR, self.intersects(Self::STRICT));
        all
    }
}
