//! The token file. Each line is `NAME ROLE SHA256`, or `NAME ROLE certificate` for a client certificate's CN. What is
//! limited has more fields: `until=SECONDS` since 1970, `kinds=KIND,...` and `sites=ID,...`.
//!
//! It is a file and not a table of the store because access rights are not part of the configuration: a rollback does
//! not touch them, and `weir token` works while control is down. The file holds hashes only. A token has 256 random
//! bits, so a plain SHA-256 is enough; slow hashes are for passwords, which people choose.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest as _, Sha256};
use thiserror::Error;
use weir_resource::ResourceKind;

use super::{Peer, Role, Scope};
use crate::log::warning;

/// Most lines of the token file.
pub const MAX_TOKENS: usize = 1_000;

/// Largest token file, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

const FILE: &str = "tokens";

/// The third field of a line that grants a role to a client certificate.
const CERTIFICATE: &str = "certificate";

/// The token file or a change of it is invalid.
#[derive(Debug, Error)]
pub enum TokenError {
    /// The file cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// Other users can read or write the file.
    #[error("{path} has mode {mode:o}; it must be readable by its owner only: chmod 600 {path}")]
    Mode {
        /// The file.
        path: PathBuf,
        /// The permission bits.
        mode: u32,
    },
    /// A line has the wrong format.
    #[error(
        "{path}:{line}: expected `NAME ROLE SHA256` or `NAME ROLE certificate`, then `until=SECONDS`, `kinds=...`, `sites=...`"
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// The line number, from 1.
        line: usize,
    },
    /// The name is invalid.
    #[error("`{0}` cannot be a name; it takes 1 to 64 letters, digits, `.`, `-`, `_` and `@`")]
    Name(String),
    /// The name is taken.
    #[error("there is a token `{0}` already; revoke it first, or take another name")]
    Taken(String),
    /// A limit names something that cannot be limited to.
    #[error("a token cannot be limited to {0}")]
    Limit(String),
    /// The limit of tokens is reached.
    #[error("there are {MAX_TOKENS} tokens, which is the limit; revoke some")]
    Full,
}

/// An entry of the token file, without the hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenEntry {
    /// The name of the token, or the CN of the certificate.
    pub name: String,
    /// What is granted.
    pub grant: Grant,
    /// The kind of credential.
    pub granted: Granted,
}

/// What a token or certificate allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The role.
    pub role: Role,
    /// The time at which it expires, in seconds since 1970.
    pub until: Option<u64>,
    /// Kinds and sites that it is limited to.
    pub scope: Option<Arc<Scope>>,
}

impl Grant {
    /// A role without an end or limits.
    #[must_use]
    pub fn unlimited(role: Role) -> Self {
        Self { role, until: None, scope: None }
    }

    /// Whether it has expired.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.until.is_some_and(|until| until <= now.as_secs())
    }

    fn check(&self) -> Result<(), TokenError> {
        let Some(scope) = &self.scope else { return Ok(()) };
        if let Some(kind) = scope.kinds.iter().find(|kind| kind.is_singleton() || **kind == ResourceKind::Files) {
            return Err(TokenError::Limit(format!("{kind}: those are of the whole gateway")));
        }
        match scope.sites.iter().find(|site| !ResourceKind::Sites.takes_id(site)) {
            Some(site) => Err(TokenError::Limit(format!("`{site}`, which cannot be the id of a site"))),
            None => Ok(()),
        }
    }
}

/// The further fields of a line.
impl std::fmt::Display for Grant {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(until) = self.until {
            write!(out, " until={until}")?;
        }
        let Some(scope) = &self.scope else { return Ok(()) };
        let kinds: Vec<&str> = scope.kinds.iter().map(|kind| kind.plural()).collect();
        let lists = [("kinds", kinds.join(",")), ("sites", scope.sites.join(","))];
        lists.iter().filter(|(_, list)| !list.is_empty()).try_for_each(|(name, list)| write!(out, " {name}={list}"))
    }
}

/// Whether a token or certificate is admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is.
    Admitted(Peer),
    /// It expired at this time, in seconds since 1970.
    Expired(u64),
    /// It is not in the file.
    Unknown,
}

/// The credential that a role is granted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granted {
    /// A bearer token.
    Token,
    /// A client certificate whose subject has the name as its CN.
    Certificate,
}

#[derive(Clone, Debug)]
struct Line {
    name: String,
    grant: Grant,
    /// The hash of the token; `None` for certificates.
    hash: Option<[u8; 32]>,
}

impl Line {
    fn admission(&self, credential: &str) -> Admission {
        let Self { name, grant, .. } = self;
        match grant.until.filter(|_| grant.is_over()) {
            Some(until) => Admission::Expired(until),
            None => Admission::Admitted(Peer {
                actor: format!("{credential}:{name}").into(),
                role: grant.role,
                scope: grant.scope.clone(),
            }),
        }
    }
}

/// Creates a token and returns it; it cannot be read again.
///
/// # Errors
/// If the name is taken or invalid, a limit is not possible, or the file cannot be written.
pub fn create_token(dir: &Path, name: &str, grant: Grant) -> Result<String, TokenError> {
    let mut random = [0; 32];
    let source = Path::new("/dev/urandom");
    File::open(source).and_then(|mut file| file.read_exact(&mut random)).map_err(at(source))?;
    let token = format!("weir_{}", hex(&random));
    add(dir, name, grant, Some(hash(&token)))?;
    Ok(token)
}

/// Grants a role, perhaps with limits, to client certificates with this CN.
///
/// # Errors
/// As [`create_token`].
pub fn grant_certificate(dir: &Path, common_name: &str, grant: Grant) -> Result<(), TokenError> {
    add(dir, common_name, grant, None)
}

/// All entries of the token file.
///
/// # Errors
/// If the file cannot be read or understood.
pub fn list_tokens(dir: &Path) -> Result<Vec<TokenEntry>, TokenError> {
    let listed = |line: Line| {
        let granted = if line.hash.is_some() { Granted::Token } else { Granted::Certificate };
        TokenEntry { name: line.name, grant: line.grant, granted }
    };
    Ok(read(&dir.join(FILE))?.into_iter().map(listed).collect())
}

/// Revokes a token or a certificate's role; `false` if the name is unknown. Control applies it from the next request
/// on.
///
/// # Errors
/// If the file cannot be read or written.
pub fn revoke_token(dir: &Path, name: &str) -> Result<bool, TokenError> {
    change(dir, |lines| {
        let before = lines.len();
        lines.retain(|line| line.name != name);
        Ok(lines.len() < before)
    })
}

fn add(dir: &Path, name: &str, grant: Grant, hash: Option<[u8; 32]>) -> Result<(), TokenError> {
    grant.check()?;
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || b".-_@".contains(&byte);
    if name.is_empty() || name.len() > 64 || !name.bytes().all(fine) {
        return Err(TokenError::Name(name.to_owned()));
    }
    change(dir, |lines| {
        if lines.iter().any(|line| line.name == name) {
            return Err(TokenError::Taken(name.to_owned()));
        }
        if lines.len() >= MAX_TOKENS {
            return Err(TokenError::Full);
        }
        lines.push(Line { name: name.to_owned(), grant, hash });
        Ok(())
    })
}

/// Reads, changes and replaces the file under a lock.
fn change<T>(dir: &Path, change: impl FnOnce(&mut Vec<Line>) -> Result<T, TokenError>) -> Result<T, TokenError> {
    let path = dir.join(FILE);
    // There may be none yet: a token may come before control's first start.
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(at(dir))?;
    let lock = File::open(dir).map_err(at(dir))?;
    // SAFETY: a plain system call on a descriptor that `lock` keeps open.
    if unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX) } != 0 {
        return Err(at(dir)(io::Error::last_os_error()));
    }
    let mut lines = read(&path)?;
    let value = change(&mut lines)?;
    let fresh = dir.join("tokens.new");
    let write = || {
        // What a killed process left there.
        let _ = fs::remove_file(&fresh);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        for line in &lines {
            let hash = line.hash.map_or(CERTIFICATE.to_owned(), |hash| hex(&hash));
            writeln!(file, "{} {} {hash}{}", line.name, line.grant.role, line.grant)?;
        }
        file.sync_all()?;
        fs::rename(&fresh, &path)
    };
    write().map_err(at(&path))?;
    Ok(value)
}

/// The lines of the file; none if it is not there.
fn read(path: &Path) -> Result<Vec<Line>, TokenError> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(at(path))?,
    };
    let mode = file.metadata().map_err(at(path))?.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(TokenError::Mode { path: path.to_owned(), mode });
    }
    let mut text = String::new();
    file.take(MAX_FILE_BYTES).read_to_string(&mut text).map_err(at(path))?;
    let numbered = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let parsed = numbered
        .map(|(index, line)| parse(line).ok_or_else(|| TokenError::Line { path: path.to_owned(), line: index + 1 }));
    parsed.take(MAX_TOKENS).collect()
}

fn parse(line: &str) -> Option<Line> {
    let mut fields = line.split_ascii_whitespace();
    let (name, role, hash) = (fields.next()?, fields.next()?.parse().ok()?, fields.next()?);
    let hash = if hash == CERTIFICATE { None } else { Some(unhex(hash)?) };
    let mut grant = Grant::unlimited(role);
    let mut scope = Scope::default();
    for field in fields {
        let (limit, value) = field.split_once('=')?;
        match limit {
            "until" => grant.until = Some(value.parse().ok()?),
            "kinds" => scope.kinds = value.split(',').map(ResourceKind::from_plural).collect::<Option<_>>()?,
            "sites" => scope.sites = value.split(',').map(str::to_owned).collect(),
            _ => return None,
        }
    }
    grant.scope = (scope != Scope::default()).then(|| Arc::new(scope));
    Some(Line { name: name.to_owned(), grant, hash })
}

/// The token file in memory, read again when it has changed.
#[derive(Debug)]
pub struct Tokens {
    path: PathBuf,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    seen: Option<Seen>,
    lines: Arc<[Line]>,
}

/// Inode, length and modification time: they differ after any change.
type Seen = (u64, u64, i64, i64);

impl Tokens {
    /// The token file of a directory; it need not exist yet.
    #[must_use]
    pub fn new(dir: &Path) -> Self {
        Self { path: dir.join(FILE), held: Mutex::default() }
    }

    /// The client with this token.
    #[must_use]
    pub fn of_token(&self, token: &str) -> Admission {
        let hash = hash(token);
        let lines = self.lines();
        // All are compared, each in constant time, whichever fits.
        let fits = |line: &&Line| line.hash.is_some_and(|other| same(&hash, &other));
        let line = lines.iter().filter(fits).fold(None, |_, line| Some(line));
        line.map_or(Admission::Unknown, |line| line.admission("token"))
    }

    /// The client with a certificate of this CN.
    #[must_use]
    pub fn of_certificate(&self, common_name: &str) -> Admission {
        let lines = self.lines();
        let line = lines.iter().find(|line| line.hash.is_none() && line.name == common_name);
        line.map_or(Admission::Unknown, |line| line.admission("certificate"))
    }

    /// The current lines. If the file cannot be read, no client is admitted, which is logged once.
    fn lines(&self) -> Arc<[Line]> {
        let about = fs::metadata(&self.path).ok();
        let seen = about.map(|about| (about.ino(), about.len(), about.mtime(), about.mtime_nsec()));
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.seen != seen {
            held.seen = seen;
            held.lines = read(&self.path)
                .unwrap_or_else(|error| {
                    warning!("no token is accepted: {error}");
                    Vec::new()
                })
                .into();
        }
        Arc::clone(&held.lines)
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> TokenError {
    let path = path.to_owned();
    move |error| TokenError::File { path, error }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Compares in constant time.
fn same(one: &[u8; 32], other: &[u8; 32]) -> bool {
    one.iter().zip(other).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
