//! Colours, where somebody sees them: on a terminal, unless `NO_COLOR` says otherwise
//! (<https://no-color.org>).

use std::io::IsTerminal;

/// The stream that text is written to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stream {
    Out,
    Err,
}

/// Colours for one stream.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    colours: bool,
}

impl Style {
    pub fn of(stream: Stream) -> Self {
        let terminal = match stream {
            Stream::Out => std::io::stdout().is_terminal(),
            Stream::Err => std::io::stderr().is_terminal(),
        };
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { colours: terminal && !unwanted && std::env::var_os("TERM").is_none_or(|term| term != "dumb") }
    }

    /// Whether there are colours, for what is drawn elsewhere.
    pub fn coloured(self) -> bool {
        self.colours
    }

    #[cfg(test)]
    pub fn plain() -> Self {
        Self { colours: false }
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    pub fn red(self, text: &str) -> String {
        self.wrap("31", text)
    }

    pub fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub fn yellow(self, text: &str) -> String {
        self.wrap("33", text)
    }
}
