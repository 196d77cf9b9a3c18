//! Colours, where somebody sees them: on a terminal, unless `NO_COLOR` says otherwise
//! (<https://no-color.org>).

use std::io::IsTerminal;

/// The stream that text is written to.
#[derive(Clone, Copy, Debug)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// Colours for one stream.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    colours: bool,
}

impl Style {
    /// The colours that a stream gets.
    #[must_use]
    pub fn of(stream: Stream) -> Self {
        let terminal = match stream {
            Stream::Out => std::io::stdout().is_terminal(),
            Stream::Err => std::io::stderr().is_terminal(),
        };
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { colours: terminal && !unwanted && std::env::var_os("TERM").is_none_or(|term| term != "dumb") }
    }

    /// Whether there are colours, for what is drawn elsewhere.
    #[must_use]
    pub fn coloured(self) -> bool {
        self.colours
    }

    #[cfg(test)]
    pub(crate) fn plain() -> Self {
        Self { colours: false }
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Bold.
    #[must_use]
    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// Dimmed.
    #[must_use]
    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// For faults.
    #[must_use]
    pub fn red(self, text: &str) -> String {
        self.wrap("31", text)
    }

    /// For what is good.
    #[must_use]
    pub fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// For warnings.
    #[must_use]
    pub fn yellow(self, text: &str) -> String {
        self.wrap("33", text)
    }
}
