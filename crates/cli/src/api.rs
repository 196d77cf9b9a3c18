//! The API of `weir control`, as commands use it: one request at a time, errors told as people read them.

mod files;
mod repeat;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use weir_control::client::{self, Client, Target};
use weir_policy::PolicyError;
use weir_resource::Fault;

use self::repeat::NoAnswer;
use crate::Failure;
use crate::arguments::{Arguments, ChangeOptions};
use crate::style::{Stream, Style};
use crate::table::counted;
use crate::terminal::shown;

pub(crate) use weir_control::client::Method;

/// Name of the socket in the runtime directory.
pub(crate) const SOCKET: &str = "control.sock";
/// The token for a URL: an environment variable, because arguments can be read by everybody on the machine.
const TOKEN: &str = "WEIR_TOKEN";
/// Errors shown of one refused change.
const MAX_SHOWN: usize = 50;

/// Control, somewhere.
pub(crate) struct Api {
    client: Client,
    runtime: tokio::runtime::Runtime,
}

/// The answer to a change.
pub(crate) struct Changed {
    answer: Value,
    /// The files that control holds now, if some changed.
    held: Option<Value>,
}

/// Leads a fault or warning of the API to its place in a file, if a file has its document.
pub(crate) type Locate<'l> = &'l dyn Fn(&Fault) -> Option<PolicyError>;

impl Api {
    /// The one that the command line names.
    pub fn of(arguments: &Arguments) -> Result<Self, Failure> {
        Self::named(arguments.control.as_deref(), &arguments.runtime)
    }

    /// The one that `--control` and `--runtime` of another command line have named.
    pub fn named(control: Option<&str>, runtime: &Path) -> Result<Self, Failure> {
        match control {
            Some(url) if url.contains("://") => {
                let target = Target::url(url, std::env::var(TOKEN).ok());
                target.map(Self::to).map_err(|error| Failure::new(format!("--control {url}: {error}")))
            }
            Some(path) => Ok(Self::at(Path::new(path))),
            None => Ok(Self::at(&runtime.join(SOCKET))),
        }
    }

    /// The address of control.
    pub fn target(&self) -> &Target {
        self.client.target()
    }

    /// The one behind a socket.
    pub fn at(socket: &Path) -> Self {
        Self::to(Target::Socket(PathBuf::from(socket)))
    }

    fn to(target: Target) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Self { client: Client::new(target), runtime: runtime.expect("a runtime of one thread can be made") }
    }

    /// The address of a resource: `upstreams/app`, also with a slash before it.
    pub fn resource(&self, path: &str) -> Result<String, Failure> {
        let path = path.trim_matches('/');
        if path.is_empty() || path.contains(['?', '#', ' ']) || path.contains(char::is_control) {
            return Err(Failure::new(format!("{path:?} is not a resource")).hint("such as upstreams/app/members/a"));
        }
        Ok(format!("/api/v1/{path}"))
    }

    /// The resource at a path; an error if there is none.
    pub fn get(&self, path: &str) -> Result<Value, Failure> {
        self.call(Method::Get, path, None)
    }

    /// The resource at a path, if that is answered in time.
    pub fn get_within(&self, path: &str, time: Duration) -> Option<Value> {
        let call = async { tokio::time::timeout(time, self.client.call(Method::Get, path, None)).await };
        let answer = self.runtime.block_on(call).ok()?.ok()?;
        (answer.status < 300).then_some(answer.body)
    }

    /// What is there with its entity tag; `None` if nothing is.
    pub fn fetch(&self, path: &str) -> Result<Option<(Value, String)>, Failure> {
        let answer = self.runtime.block_on(self.client.call(Method::Get, path, None));
        let answer = answer.map_err(|error| unreachable_(&self.client, &error))?;
        match answer.status {
            404 => Ok(None),
            status if status < 300 => Ok(Some((answer.body, answer.etag.unwrap_or_default()))),
            status => Err(refusal(status, &answer.body, &|_| None)),
        }
    }

    /// Sends a request with headers, and gives the answer.
    pub fn call_with(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
    ) -> Result<Value, Failure> {
        let answer = self.runtime.block_on(self.client.call_with(method, path, body, headers));
        let answer = answer.map_err(|error| unreachable_(&self.client, &error))?;
        if answer.status < 300 { Ok(answer.body) } else { Err(refusal(answer.status, &answer.body, &|_| None)) }
    }

    /// Posts, and gives the answer.
    pub fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        self.call(Method::Post, path, Some(body))
    }

    /// Deletes, and gives the answer.
    pub fn delete(&self, path: &str) -> Result<Value, Failure> {
        self.call(Method::Delete, path, None)
    }

    /// Makes a change.
    pub fn change(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        options: &ChangeOptions,
    ) -> Result<Changed, Failure> {
        self.change_located(method, path, body, options, &|_| None)
    }

    /// As [`Api::change`], of documents in files.
    pub fn change_located(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        options: &ChangeOptions,
        locate: Locate<'_>,
    ) -> Result<Changed, Failure> {
        let path = format!("{path}{}", query(options));
        let key = options.idempotency_key.clone().map_or_else(repeat::new_key, Ok)?;
        match self.runtime.block_on(repeat::send(&self.client, (method, &path), body, &key)) {
            Ok(answer) if answer.status < 300 => Ok(self.changed(answer.body, options)),
            Ok(answer) => Err(refusal(answer.status, &answer.body, locate)),
            Err(NoAnswer::NotSent(error)) => Err(unreachable_(&self.client, &error)),
            Err(NoAnswer::Unknown(reason)) => Err(self.unknown(&reason, options, key)),
        }
    }

    fn changed(&self, answer: Value, options: &ChangeOptions) -> Changed {
        let is_asked = !options.json && !options.dry_run && matches!(self.target(), Target::Socket(_));
        let held = (is_asked && files::any(&answer["changed"])).then(|| self.get(files::HELD).ok()).flatten();
        Changed { answer, held }
    }

    /// A change that was sent and not answered.
    fn unknown(&self, reason: &str, options: &ChangeOptions, key: String) -> Failure {
        let mut added = options.again.clone();
        if options.idempotency_key.is_none() {
            added.extend(["--idempotency-key".to_owned(), key]);
        }
        let command = repeat::command(std::env::args(), &added);
        let target = self.client.target();
        let message = "it is unknown whether the change was made";
        Failure::unknown(format!("control at {target} does not answer ({reason}): {message}"))
            .hint(format!("this makes it once, and says whether it was made before: {command}"))
    }

    /// Writes what is at a path to `out`.
    pub fn download(&self, path: &str, out: &mut dyn std::io::Write) -> Result<(), Failure> {
        self.runtime.block_on(self.client.download(path, out)).map_err(|error| match error {
            client::ClientError::Refused { status, body } => refusal(status, &body, &|_| None),
            error => unreachable_(&self.client, &error),
        })
    }

    /// Makes a change that a file describes.
    pub fn upload(
        &self,
        path: &str,
        file: std::fs::File,
        media_type: &str,
        options: &ChangeOptions,
    ) -> Result<Changed, Failure> {
        let path = format!("{path}{}", query(options));
        let key = options.idempotency_key.clone().map_or_else(repeat::new_key, Ok)?;
        let headers = [("content-type", media_type), ("idempotency-key", key.as_str())];
        match self.runtime.block_on(self.client.upload(&path, file, &headers)) {
            Ok(answer) if answer.status < 300 => Ok(self.changed(answer.body, options)),
            Ok(answer) => Err(refusal(answer.status, &answer.body, &|_| None)),
            Err(error @ client::ClientError::Http(_)) => Err(self.unknown(&error.to_string(), options, key)),
            Err(error) => Err(unreachable_(&self.client, &error)),
        }
    }

    /// Calls `see` for each event of a stream, until it ends.
    pub fn events(&self, path: &str, see: &mut dyn FnMut(&Value)) -> Result<(), Failure> {
        self.runtime.block_on(self.client.events(path, see)).map_err(|error| unreachable_(&self.client, &error))
    }

    fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, Failure> {
        self.call_located(method, path, body, &|_| None)
    }

    fn call_located(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        locate: Locate<'_>,
    ) -> Result<Value, Failure> {
        let answer = self.runtime.block_on(self.client.call(method, path, body));
        let answer = answer.map_err(|error| unreachable_(&self.client, &error))?;
        if answer.status < 300 { Ok(answer.body) } else { Err(refusal(answer.status, &answer.body, locate)) }
    }
}

/// The query that options of a change make, with its question mark.
fn query(options: &ChangeOptions) -> String {
    let mut query = Vec::new();
    if options.dry_run {
        query.push("dry_run=true".to_owned());
    }
    if options.no_wait {
        query.push("wait=accepted".to_owned());
    }
    if options.durable {
        query.push("durable=true".to_owned());
    }
    if let Some(message) = &options.message {
        query.push(format!("message={}", client::encode(message)));
    }
    if let Some(expect) = options.expect {
        query.push(format!("expect={expect}"));
    }
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{mark}{}", query.join("&"))
}

fn unreachable_(client: &Client, error: &client::ClientError) -> Failure {
    Failure::new(format!("control at {} does not answer: {error}", client.target())).hint(
        "is `weir control` running? --control or WEIR_CONTROL sets its address; weir status shows the workers without it",
    )
}

/// A problem (RFC 9457) for the terminal: every error with its place and what to do.
pub(crate) fn refusal(status: u16, problem: &Value, locate: Locate<'_>) -> Failure {
    let style = Style::of(Stream::Err);
    let errors = problem["errors"].as_array().map_or(&[][..], Vec::as_slice);
    for error in errors.iter().take(MAX_SHOWN) {
        say_fault("", error, locate, style);
    }
    if errors.len() > MAX_SHOWN {
        eprintln!("and {} more", errors.len() - MAX_SHOWN);
    }
    let text = |key: &str| problem[key].as_str().map(|text| shown(text, 400));
    let title = text("title").unwrap_or_else(|| format!("status {status}"));
    if status == 422 && !errors.is_empty() {
        return Failure::new(format!("{title}: {}; nothing was changed", counted(errors.len() as u64, "error")));
    }
    let detail =
        text("detail").filter(|detail| *detail != title).map_or_else(String::new, |detail| format!(": {detail}"));
    let failure = Failure::new(format!("{title}{detail}"));
    match text("hint") {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// A fault or warning with its place: that in a file, or else the JSON pointer in the API.
fn say_fault(before: &str, fault: &Value, locate: Locate<'_>, style: Style) {
    let text = |key: &str| fault[key].as_str().map(|text| shown(text, 400)).unwrap_or_default();
    let hint = Some(text("hint")).filter(|hint| !hint.is_empty());
    let fault = Fault { pointer: text("pointer"), message: text("message"), hint, ..Fault::default() };
    if let Some(located) = locate(&fault) {
        eprintln!("{before}{located}");
        return;
    }
    eprintln!("{before}{}: {}", style.bold(&fault.pointer), fault.message);
    if let Some(hint) = fault.hint {
        eprintln!("  {} {hint}", style.dim("hint:"));
    }
}

impl Changed {
    /// Prints the outcome.
    pub fn say(&self, options: &ChangeOptions) -> Result<(), Failure> {
        self.say_located(options, &|_| None)
    }

    /// As [`Changed::say`], of documents in files.
    pub fn say_located(&self, options: &ChangeOptions, locate: Locate<'_>) -> Result<(), Failure> {
        if options.json {
            println!("{:#}", self.answer);
            return Ok(());
        }
        let style = Style::of(Stream::Err);
        for warning in self.answer["warnings"].as_array().into_iter().flatten() {
            say_fault(&format!("{} ", style.yellow("warning:")), warning, locate, style);
        }
        print!("{}", files::render(&self.answer["changed"], self.held.as_ref(), options.verbose));
        println!("{}", self.sentence(options));
        Ok(())
    }

    fn sentence(&self, options: &ChangeOptions) -> String {
        let revision = &self.answer["revision"];
        if options.dry_run {
            return format!("valid at revision {revision}; nothing was changed");
        }
        let sentence = self.made(options);
        if self.answer["replayed"] == true { format!("{sentence} (made by an earlier attempt)") } else { sentence }
    }

    fn made(&self, options: &ChangeOptions) -> String {
        let workers = self.answer["workers"].as_array().map_or(&[][..], Vec::as_slice);
        let applied: Vec<&Value> = workers.iter().filter(|worker| worker["result"] == "applied").collect();
        let slowest = applied.iter().filter_map(|worker| worker["us"].as_u64()).max();
        let revision = &self.answer["revision"];
        if self.answer["changed"].as_array().is_some_and(Vec::is_empty) {
            return format!("revision {revision}: nothing to change");
        }
        if options.no_wait {
            return format!("revision {revision}, accepted");
        }
        match (workers.len(), slowest) {
            (0, _) => format!("revision {revision}; no worker is running"),
            (all, Some(us)) if applied.len() == all => {
                format!("revision {revision}, live in {} after {us} µs", counted(all as u64, "worker"))
            }
            (all, _) => {
                format!("revision {revision}, live in {} of {} so far", applied.len(), counted(all as u64, "worker"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn how(dry_run: bool, no_wait: bool) -> ChangeOptions {
        ChangeOptions { dry_run, no_wait, ..ChangeOptions::default() }
    }

    #[test]
    fn what_came_of_a_change_is_said_in_a_sentence() {
        let worker = |result: &str, us: u64| json!({"worker": 0, "result": result, "us": us});
        for (answer, how, want) in [
            (
                json!({"revision": 7, "workers": [worker("applied", 80), worker("applied", 90)]}),
                how(false, false),
                "revision 7, live in 2 workers after 90 µs",
            ),
            (
                json!({"revision": 7, "workers": [worker("applied", 80), worker("pending", 0)]}),
                how(false, false),
                "revision 7, live in 1 of 2 workers so far",
            ),
            (json!({"revision": 7, "workers": []}), how(false, false), "revision 7; no worker is running"),
            (json!({"revision": 7}), how(false, true), "revision 7, accepted"),
            (json!({"revision": 6}), how(true, false), "valid at revision 6; nothing was changed"),
            (
                json!({"revision": 7, "workers": [], "replayed": true}),
                how(false, false),
                "revision 7; no worker is running (made by an earlier attempt)",
            ),
            (json!({"revision": 6, "changed": []}), how(false, false), "revision 6: nothing to change"),
        ] {
            assert_eq!(Changed { answer, held: None }.sentence(&how), want);
        }
    }

    #[test]
    fn resources_are_named_with_or_without_a_slash() {
        let api = Api::at(Path::new("/none"));
        assert_eq!(api.resource("/upstreams/app/").ok().as_deref(), Some("/api/v1/upstreams/app"));
        assert!(api.resource("").is_err() && api.resource("a?b").is_err());
    }
}
