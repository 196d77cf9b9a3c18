//! The examples in `examples/inspector` do what they say.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use weir_inspect::{Advice, Answer, Question};

use crate::client::{Client, Running, get, post, start};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/inspector")
}

/// The detectors of the example of business risk.
fn risk() -> Running {
    let text = std::fs::read_to_string(folder().join("risk.yaml")).unwrap();
    let detectors = text.find("detectors:").unwrap();
    start(&text[detectors..], &folder())
}

fn from(mut question: Question<'_>, last: u8) -> Question<'_> {
    question.client = [192, 0, 2, last].into();
    question
}

fn log_in(client: &mut Client, user: &str, source: u8) -> Answer {
    client.ask(&from(post("login", "/login", &format!("user={user}&password=x")), source))
}

#[test]
fn credential_stuffing_by_one_source_is_challenged_and_then_refused() {
    let service = risk();
    let mut client = service.client();
    let answers: Vec<_> = (0..30).map(|user| log_in(&mut client, &format!("user{user}"), 1)).collect();
    let advice = |answer: &Answer| (answer.advice, answer.status);
    assert!(answers[..5].iter().all(|answer| *answer == Answer::default()));
    assert_eq!((answers[5].advice, &answers[5].tags[..]), (Advice::Pass, &["suspicious-login".to_owned()][..]));
    assert!(answers[20..].iter().all(|answer| advice(answer) == (Advice::Refuse, 429)), "{:?}", answers[20]);
    assert_eq!(answers[20].reason, "score 20 of 20: several-accounts, many-accounts");
    assert_eq!(log_in(&mut client, "alice", 2), Answer::default(), "another source");
    let office: Vec<_> = (0..30)
        .map(|user| {
            let form = format!("user=office{user}");
            client.ask(&Question { client: [198, 51, 100, 9].into(), ..post("login", "/login", &form) })
        })
        .collect();
    assert!(office.iter().all(|answer| answer.advice == Advice::Pass && answer.tags.is_empty()));
}

#[test]
fn credential_stuffing_by_many_sources_is_challenged_by_account() {
    let service = risk();
    let mut client = service.client();
    let answers: Vec<_> =
        (0..8).map(|source| log_in(&mut client, if source % 2 == 0 { "bob" } else { "BOB" }, source)).collect();
    assert!(answers[..5].iter().all(|answer| answer.advice == Advice::Pass));
    assert_eq!(
        (answers[5].advice, answers[5].status, &answers[5].tags[..]),
        (Advice::Refuse, 401, &["challenge".to_owned()][..])
    );
    // One source that goes on and on with one account.
    let repeated: Vec<_> = (0..12).map(|_| log_in(&mut client, "carol", 99)).collect();
    assert_eq!(repeated[9].advice, Advice::Pass);
    assert_eq!((repeated[11].advice, repeated[11].status), (Advice::Refuse, 401));
}

#[test]
fn a_catalogue_that_is_enumerated_is_noticed_and_a_reader_is_not() {
    let service = risk();
    let mut client = service.client();
    let mut walk = |ids: std::ops::Range<u32>, source: u8| -> Vec<Answer> {
        ids.map(|id| client.ask(&from(get("catalogue", &format!("/products/{id}")), source))).collect()
    };
    let walked = walk(0..130, 1);
    assert!(walked[..60].iter().all(|answer| answer.advice == Advice::Pass));
    assert!(walked[60..120].iter().all(|answer| answer.advice == Advice::Detect));
    assert_eq!((walked[120].advice, walked[120].status), (Advice::Refuse, 429));
    let read: Vec<_> = (0..20).flat_map(|_| walk(0..10, 2)).collect();
    assert!(read.iter().all(|answer| answer.advice == Advice::Pass), "ten products, again and again");
}

#[test]
fn coupons_are_for_one_account() {
    let service = risk();
    let mut client = service.client();
    let mut redeem = |user: &str, code: &str, device: &str| {
        let (form, cookie) = (format!("code={code}"), format!("device={device}"));
        let mut question = post("coupons", "/coupons", &form);
        question.headers.extend([(&b"X-User"[..], user.as_bytes()), (b"Cookie", cookie.as_bytes())]);
        client.ask(&question)
    };
    assert_eq!(redeem("alice", "NEW-1", "a").advice, Advice::Pass);
    assert_eq!(redeem("alice", "new-1", "a").advice, Advice::Pass, "once more, the same account");
    let second = redeem("bob", "new-1", "b");
    assert_eq!((second.advice, second.status), (Advice::Refuse, 403));
    assert!(second.reason.contains("personal-coupon"), "{}", second.reason);
    assert_eq!(redeem("carol", "SUMMER", "c").advice, Advice::Pass);
    assert_eq!(redeem("dave", "SUMMER", "d").advice, Advice::Pass, "a coupon for everybody");
    assert_eq!(redeem("erin", "SUMMER", "c").advice, Advice::Pass);
    assert_eq!(redeem("frank", "SUMMER", "c").advice, Advice::Refuse, "the third account of one device");
    let guesses: Vec<_> = (0..7).map(|guess| redeem("grace", &format!("GUESS{guess}"), "g").advice).collect();
    assert_eq!(guesses[4..], [Advice::Pass, Advice::Refuse, Advice::Refuse]);
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Speaks with a server that a command has started and that says where it listens.
fn speak_with(command: &mut Command) {
    let child = command.stdout(Stdio::piped()).spawn();
    let child =
        child.unwrap_or_else(|error| panic!("{}: {error}: `make setup` installs it", command.get_program().display()));
    let mut server = Server(child);
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line}"));
    let mut bad = Client::connect(address.parse().unwrap());
    bad.hello(weir_inspect::frame::VERSION, b"wrong");
    assert_eq!(bad.frame(), None);
    let mut client = Client::connect(address.parse().unwrap());
    client.hello(weir_inspect::frame::VERSION, b"s3cret");
    assert_eq!(client.frame().map(|(kind, _)| kind), Some(weir_inspect::frame::kind::HELLO));
    // The path decides, however the client spells it.
    let asked = |target, path| Question { path, ..get("paths", target) };
    let refused = client.ask(&asked("//%70rivate/./x", b"/private/x"));
    assert_eq!((refused.advice, refused.status, &*refused.reason), (Advice::Refuse, 403, "a private path"));
    assert_eq!(client.ask(&asked("/", b"/")).tags, ["public"]);
    // Many at once, and half a frame at the end.
    let mut bytes = Vec::new();
    for id in 0..1000 {
        weir_inspect::own::write_question(&mut bytes, id, &asked("/private", b"/private")).unwrap();
    }
    client.stream.write_all(&bytes).unwrap();
    (0..1000).for_each(|id| assert_eq!(client.answer().0, id));
    client.stream.write_all(&bytes[..7]).unwrap();
}

#[test]
fn the_server_in_python_speaks_the_protocol() {
    speak_with(Command::new("python3").arg(folder().join("server.py")).args(["127.0.0.1:0", "s3cret"]));
}

#[test]
#[ignore = "needs Go: `make test-more`"]
fn the_server_in_go_speaks_the_protocol() {
    let built = tempfile::tempdir().unwrap();
    let program = built.path().join("server");
    let compiled = Command::new("go")
        .current_dir(folder())
        .env("GOFLAGS", "-mod=mod")
        .args(["build", "-o"])
        .arg(&program)
        .arg(".")
        .status();
    assert!(compiled.unwrap().success());
    speak_with(Command::new(program).args(["127.0.0.1:0", "s3cret"]));
}
