//! What the bus promises to a participant, in one process with several endpoints.
#![allow(clippy::unwrap_used, reason = "in a test it is the assertion, in its helpers too")]

use std::sync::Arc;

use weir_bus::{
    Address, BATCH, BusError, ControlBell, DELIVERIES_MAX, Endpoint, MESSAGE_MAX, MessageKind, OwnerError, Recipient,
    Region, SendError, State, Ticket, Topic,
};

const TOPIC: Topic = Topic(16);
const W0: Address = Address::Worker(0);
const W1: Address = Address::Worker(1);
const W2: Address = Address::Worker(2);

struct Bus {
    dir: tempfile::TempDir,
    region: Arc<Region>,
}

fn bus(workers: usize) -> Bus {
    let dir = tempfile::tempdir().unwrap();
    let region = Arc::new(Region::create(dir.path(), 1, workers).unwrap());
    Bus { dir, region }
}

impl Bus {
    /// All workers, their bells silent.
    fn workers(&self) -> Vec<Endpoint> {
        let workers: Vec<_> =
            (0..self.region.workers()).map(|n| self.region.attach(Address::Worker(n as u16)).unwrap()).collect();
        for worker in &workers {
            received(worker);
        }
        workers
    }
}

fn received(endpoint: &Endpoint) -> Vec<(Address, Vec<u8>)> {
    let mut all = Vec::new();
    endpoint.receive(&mut |message| all.push((message.from, message.payload.to_vec())));
    all
}

fn is_rung(bell: i32) -> bool {
    let mut poll = libc::pollfd { fd: bell, events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid pollfd.
    unsafe { libc::poll(&raw mut poll, 1, 0) == 1 }
}

#[test]
fn a_message_rings_once_and_arrives_in_order() {
    let bus = bus(2);
    let workers = bus.workers();
    assert!(!is_rung(workers[1].bell()));
    for n in 0..10u8 {
        workers[0].send(W1, TOPIC, &[n]).unwrap();
    }
    assert!(is_rung(workers[1].bell()));
    assert_eq!(received(&workers[1]), (0..10).map(|n| (W0, vec![n])).collect::<Vec<_>>());
    assert!(!is_rung(workers[1].bell()));
    workers[1].send(W1, TOPIC, b"to itself").unwrap();
    assert!(is_rung(workers[1].bell()));
    assert_eq!(received(&workers[1]), [(W1, b"to itself".to_vec())]);
}

#[test]
fn senders_are_told_what_was_not_sent() {
    let bus = bus(3);
    let w0 = bus.region.attach(W0).unwrap();
    assert_eq!(w0.send(W1, TOPIC, b""), Err(SendError::Gone), "never there");
    assert_eq!(w0.send(Address::Worker(9), TOPIC, b""), Err(SendError::Gone), "no such worker");
    assert_eq!(w0.send(Address::Control, TOPIC, b""), Err(SendError::Gone));
    assert_eq!(w0.request(Recipient::Owner(b"key"), TOPIC, b""), Err(SendError::NoOwner));
    let w1 = bus.region.attach(W1).unwrap();
    assert_eq!(w0.send(W1, TOPIC, &[0; MESSAGE_MAX + 1]), Err(SendError::TooLong { max: MESSAGE_MAX }));
    let sent = (0..).take_while(|_| w0.send(W1, TOPIC, &[0; MESSAGE_MAX]).is_ok()).count();
    assert_eq!((sent, w0.send(W1, TOPIC, &[0; MESSAGE_MAX])), (3, Err(SendError::Full)));
    assert_eq!((bus.region.slot(0).counts().sent, bus.region.slot(0).counts().full), (3, 2));
    assert_eq!(received(&w1).len(), 3);
    drop(w1);
    assert_eq!(bus.region.slot(1).state(), State::Gone);
    assert_eq!(w0.send(W1, TOPIC, b""), Err(SendError::Gone), "left");
    assert!(matches!(bus.region.attach(Address::Worker(3)), Err(BusError::NoSlot { .. })));
}

#[test]
fn a_call_is_bounded_and_the_rest_rings_again() {
    let bus = bus(1);
    let workers = bus.workers();
    let sent = (0..).take_while(|_| workers[0].send(W0, TOPIC, &[1; 8]).is_ok()).count();
    assert!(sent > BATCH);
    let mut read = 0;
    while is_rung(workers[0].bell()) {
        let batch = workers[0].receive(&mut |_| {});
        assert!(batch <= BATCH);
        read += batch;
    }
    assert_eq!(read, sent);
}

#[test]
fn requests_are_answered_at_once_or_later() {
    let bus = bus(2);
    let workers = bus.workers();
    let first = workers[0].request(Recipient::One(W1), TOPIC, b"now").unwrap();
    let second = workers[0].request(Recipient::One(W1), TOPIC, b"later").unwrap();
    assert_ne!(first, second);
    let mut later: Option<Ticket> = None;
    workers[1].receive(&mut |message| match message.payload {
        b"now" => workers[1].reply(&message, b"at once").unwrap(),
        _ => later = message.ticket(),
    });
    workers[1].reply_to(later.unwrap(), b"at last").unwrap();
    let mut replies = Vec::new();
    workers[0].receive(&mut |message| {
        assert_eq!(workers[0].reply(&message, b""), Err(SendError::NotARequest));
        replies.push((message.kind, message.topic, message.payload.to_vec()));
    });
    let expected = [(first, b"at once".to_vec()), (second, b"at last".to_vec())];
    assert_eq!(replies, expected.map(|(id, payload)| (MessageKind::Reply(id), TOPIC, payload)));
}

#[test]
fn a_successor_gets_the_messages_but_not_the_replies_of_its_predecessor() {
    let bus = bus(2);
    let workers = bus.workers();
    workers[1].send(W0, TOPIC, b"unread").unwrap();
    workers[0].request(Recipient::One(W1), TOPIC, b"asked").unwrap();
    workers[1].receive(&mut |message| workers[1].reply(&message, b"too late").unwrap());
    // Killed: nothing is cleaned up.
    std::mem::forget(workers);
    let successor = bus.region.attach(W0).unwrap();
    assert_eq!(successor.incarnation(), 2);
    assert!(is_rung(successor.bell()));
    assert_eq!(received(&successor), [(W1, b"unread".to_vec())]);
    assert_eq!(bus.region.slot(0).counts().stale_replies, 1);
}

#[test]
fn a_message_whose_handler_panics_comes_again_but_not_for_ever() {
    let bus = bus(1);
    let workers = bus.workers();
    workers[0].send(W0, TOPIC, b"poison").unwrap();
    workers[0].send(W0, TOPIC, b"good").unwrap();
    for _ in 0..DELIVERIES_MAX {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            workers[0].receive(&mut |_| std::panic::resume_unwind(Box::new(())));
        }));
        assert!(caught.is_err());
        assert!(is_rung(workers[0].bell()), "for what the panic has left");
    }
    assert_eq!(received(&workers[0]), [(W0, b"good".to_vec())]);
    assert_eq!(bus.region.slot(0).counts().abandoned, 1);
}

#[test]
fn a_broadcast_tells_of_each_receiver() {
    let bus = bus(4);
    let workers = bus.workers();
    while workers[0].send(W1, TOPIC, &[0; 1024]).is_ok() {}
    workers[3].set_state(State::Gone);
    let outcome = workers[0].broadcast(TOPIC, &[7; 1024]);
    let results: Vec<_> = outcome.results().collect();
    assert_eq!(results, [(W1, Err(SendError::Full)), (W2, Ok(()))]);
    assert!(!outcome.complete());
    assert_eq!((outcome.sent(), received(&workers[2]).len(), received(&workers[0]).len()), (1, 1, 0));
    let control = bus.region.attach(Address::Control).unwrap();
    received(&workers[1]);
    assert_eq!(control.broadcast(TOPIC, b"all").sent(), 3);
}

#[test]
fn keys_lead_to_their_owner_and_travel_with_the_message() {
    let bus = bus(2);
    let workers = bus.workers();
    let generation = workers[1].claim(b"session").unwrap();
    assert_eq!(workers[0].claim(b"session"), Err(OwnerError::Taken { by: W1 }));
    assert_eq!(workers[0].owner(b"session"), Some(W1));
    workers[0].request(Recipient::Owner(b"session"), TOPIC, b"hello").unwrap();
    let mut got = 0;
    workers[1].receive(&mut |message| {
        assert_eq!((message.key, message.payload), (&b"session"[..], &b"hello"[..]));
        got += 1;
    });
    assert_eq!(got, 1);
    let control = bus.region.attach(Address::Control).unwrap();
    assert_eq!(control.claim(b"session"), Err(OwnerError::NotAWorker));
    // Killed without releasing: the successor does not own it, and it can be had.
    let mut workers = workers;
    std::mem::forget(workers.pop());
    let _successor = bus.region.attach(W1).unwrap();
    assert_eq!(workers[0].owner(b"session"), None);
    assert!(workers[0].claim(b"session").unwrap() > generation);
    assert!(workers[0].release(b"session") && !workers[0].release(b"session"));
}

#[test]
fn control_hears_of_acknowledgements_refusals_and_departures() {
    let bus = bus(2);
    let bell = ControlBell::open(bus.dir.path()).unwrap();
    let workers = bus.workers();
    // Control opens the region by name, as another process would.
    let region = Arc::new(Region::open(bus.dir.path(), 1).unwrap());
    let control = region.attach(Address::Control).unwrap();
    let quiet = |control: &Endpoint| {
        bell.clear();
        received(control)
    };
    quiet(&control);
    assert!(!is_rung(bell.fd()));
    workers[0].acknowledge(41, 0xabc);
    workers[0].acknowledge(42, 0xdef);
    assert!(is_rung(bell.fd()));
    assert_eq!(quiet(&control), []);
    assert_eq!(region.slot(0).acknowledged(), (42, 0xdef));
    workers[1].refuse(43, "too big").unwrap();
    assert!(is_rung(bell.fd()));
    let refusals = quiet(&control);
    assert_eq!(region.slot(1).refused(), 43);
    assert_eq!(refusals, [(W1, [&43u64.to_le_bytes()[..], b"too big"].concat())]);
    workers[1].held(5);
    workers[1].held(3);
    assert_eq!((region.slot(1).take_held_ns(), region.slot(1).held_ns()), (5, 0));
    drop(workers);
    assert!(is_rung(bell.fd()));
    // What a worker starts with.
    let _successor = bus.region.attach(W0).unwrap();
    assert_eq!((region.slot(0).applied(), region.slot(0).pid()), (0, std::process::id()));
}

#[test]
fn waking_rings_until_the_receiver_has_looked() {
    let bus = bus(2);
    let workers = bus.workers();
    let control = bus.region.attach(Address::Control).unwrap();
    received(&workers[0]);
    received(&workers[1]);
    control.wake_workers();
    assert!(is_rung(workers[0].bell()) && is_rung(workers[1].bell()));
    assert_eq!(received(&workers[0]), []);
    assert!(!is_rung(workers[0].bell()));
    control.wake(W0);
    assert!(is_rung(workers[0].bell()));
    let ringer = workers[1].ringer();
    received(&workers[1]);
    std::thread::spawn(move || ringer.ring()).join().unwrap();
    assert!(is_rung(workers[1].bell()));
}

/// A sender with pauses of all lengths against a receiver that sleeps without a time limit worth the name: a single lost
/// wake-up holds both up.
#[test]
fn no_wake_up_is_lost() {
    const MESSAGES: u32 = 100_000;
    let bus = bus(2);
    let mut workers = bus.workers();
    let (receiver, sender) = (workers.pop().unwrap(), workers.pop().unwrap());
    let sending = std::thread::spawn(move || {
        for n in 0..MESSAGES {
            while sender.send(W1, TOPIC, &n.to_le_bytes()).is_err() {
                std::thread::yield_now();
            }
            (0..n.wrapping_mul(2_654_435_761) >> 22).for_each(|_| std::hint::spin_loop());
        }
    });
    let mut expected = 0;
    while expected < MESSAGES {
        let mut poll = libc::pollfd { fd: receiver.bell(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid pollfd.
        assert_eq!(unsafe { libc::poll(&raw mut poll, 1, 20_000) }, 1, "asleep before message {expected}");
        receiver.receive(&mut |message| {
            assert_eq!(message.payload, expected.to_le_bytes());
            expected += 1;
        });
    }
    sending.join().unwrap();
}
