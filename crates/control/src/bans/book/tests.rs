use super::*;
use weir_bans::Reader;

const FAR_S: u64 = 4_000_000_000;

fn note() -> Note {
    Note { actor: "unix:root".to_owned(), reason: None, made_ms: 1 }
}

fn network(text: &str) -> Network {
    text.parse().expect("a network")
}

#[test]
fn operators_come_before_crowdsec_and_what_is_left_holds_on() {
    let dir = tempfile::tempdir().expect("a directory");
    let reader = Reader::open(dir.path()).expect("a table");
    let seen = || reader.lookup("192.0.2.7".parse().expect("an address"), 0);
    let mut book = Book::new(dir.path());
    let one = network("192.0.2.7");
    let all = vec![(one, Remedy::Captcha, FAR_S), (network("192.0.2.0/24"), Remedy::Throttle, FAR_S)];
    assert_eq!(book.replace_decisions(all).expect("room"), 0);
    assert_eq!(seen(), Some(Remedy::Captcha));
    // A decision of another type about the same address: the first remedy counts, and either can go alone.
    book.change_decisions(&[], &[(one, Remedy::Ban, FAR_S), (one, Remedy::Ban, 5)]).expect("room");
    assert_eq!((seen(), book.count(Origin::CrowdSec)), (Some(Remedy::Ban), 3));
    let before = book.set_operator(one, Some((Remedy::Other, FAR_S, note()))).expect("room");
    assert_eq!((before, seen()), (None, Some(Remedy::Other)));
    let before = book.set_operator(one, Some((Remedy::Throttle, FAR_S, note()))).expect("room");
    assert_eq!((before.map(|ban| ban.0), seen()), (Some(Remedy::Other), Some(Remedy::Throttle)));
    assert_eq!(book.count(Origin::Operator), 1);
    book.change_decisions(&[(one, Remedy::Ban)], &[]).expect("room");
    book.set_operator(one, None).expect("room");
    assert_eq!(seen(), Some(Remedy::Captcha));
    book.change_decisions(&[(one, Remedy::Captcha)], &[]).expect("room");
    assert_eq!(seen(), Some(Remedy::Throttle), "the network around it");
    book.replace_decisions(Vec::new()).expect("room");
    assert_eq!((seen(), book.count(Origin::CrowdSec)), (None, 0));
}

#[test]
fn what_has_ended_goes_and_what_was_decided_outlives_control() {
    let dir = tempfile::tempdir().expect("a directory");
    let reader = Reader::open(dir.path()).expect("a table");
    let seen = |text: &str| reader.lookup(text.parse().expect("an address"), 0);
    let mut book = Book::new(dir.path());
    let decisions = vec![(network("192.0.2.7"), Remedy::Ban, FAR_S), (network("192.0.2.8"), Remedy::Ban, FAR_S - 1)];
    book.replace_decisions(decisions).expect("room");
    book.set_operator(network("192.0.2.9"), Some((Remedy::Ban, FAR_S, note()))).expect("room");
    drop(book);
    let mut book = Book::new(dir.path());
    assert_eq!((book.count(Origin::CrowdSec), book.count(Origin::Operator)), (2, 0), "operators' are in the store");
    assert_eq!(seen("192.0.2.7"), Some(Remedy::Ban));
    book.look_after_table();
    assert_eq!(seen("192.0.2.9"), None);
    assert!(!book.sweep(FAR_S - 1));
    assert_eq!(book.count(Origin::CrowdSec), 1);
    // Someone replaces the directory: the new table has everything.
    std::fs::remove_file(dir.path().join("bans.table")).expect("is removed");
    let reader = Reader::open(dir.path()).expect("a table");
    book.look_after_table();
    assert_eq!(reader.lookup("192.0.2.7".parse().expect("an address"), 0), Some(Remedy::Ban));
}

#[test]
fn decisions_beyond_the_bound_are_counted_and_operators_keep_their_room() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut book = Book::new(dir.path());
    let nth = |n: usize| Network::from(std::net::IpAddr::from(u128::to_be_bytes(0x2001 << 112 | n as u128)));
    let all = (0..MAX_DECISIONS + 7).map(|n| (nth(n), Remedy::Ban, FAR_S)).collect();
    assert_eq!(book.replace_decisions(all).expect("room"), 7);
    for n in 0..100 {
        let operator = nth(MAX_DECISIONS + n);
        book.set_operator(operator, Some((Remedy::Ban, FAR_S, note()))).expect("room");
    }
    let all = book.after(Some(nth(MAX_DECISIONS - 1))).count();
    assert_eq!(all, 100);
}
