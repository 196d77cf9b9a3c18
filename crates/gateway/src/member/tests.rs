use super::*;

const PASSIVE: PassiveHealth = PassiveHealth { failures: 3, window_ms: 1000, eject_ms: 5000 };

fn fail(state: &MemberState, now_ms: u64) -> Option<u64> {
    state.begin();
    state.finish(now_ms, 10, Outcome::Failure, Some(&PASSIVE))
}

#[test]
fn failures_within_the_window_eject() {
    let cases: [(&[u64], Option<u64>); 4] =
        [(&[0, 500, 1000], Some(6000)), (&[0, 500, 1001], None), (&[0, 2000, 2100, 2200], Some(7200)), (&[0, 1], None)];
    for (times, expected) in cases {
        let state = MemberState::default();
        let last = times.iter().map(|now| fail(&state, *now)).last().flatten();
        assert_eq!(last, expected, "{times:?}");
        assert_eq!(state.active(), 0);
    }
}

#[test]
fn without_passive_health_nothing_is_ejected() {
    let state = MemberState::default();
    for now in 0..100 {
        state.begin();
        assert_eq!(state.finish(now, 10, Outcome::Failure, None), None);
    }
}

#[test]
fn latency_jumps_up_and_decays() {
    let state = MemberState::default();
    let answer = |now, latency| {
        state.begin();
        state.finish(now, latency, Outcome::Success, None);
        state.ewma_us()
    };
    assert_eq!(answer(0, 100), 100.0);
    assert_eq!(answer(1, 900), 900.0);
    let soon = answer(2, 100);
    assert!((890.0..900.0).contains(&soon), "{soon}");
    let later = answer(20_000, 100);
    assert!((190.0..230.0).contains(&later), "{later}");
}

#[test]
fn more_ends_than_begins_do_no_harm() {
    let state = MemberState::default();
    state.finish(0, 0, Outcome::Unknown, None);
    state.begin();
    assert_eq!(state.active(), 1);
}

#[test]
fn a_slow_start_takes_its_time() {
    let state = MemberState::default();
    let shares: Vec<f64> = [100, 150, 600, 1100, 9000].iter().map(|now| state.share(*now, 1000)).collect();
    assert_eq!(shares, [0.1, 0.1, 0.5, 1.0, 1.0]);
    assert_eq!(MemberState::default().share(5, 0), 1.0);
}

#[test]
fn what_has_no_address_or_is_out_has_no_weight() {
    let spec = |address: &str, weight, drain| resource::Member {
        id: "a".into(),
        address: address.into(),
        socket: address.parse().ok(),
        weight,
        backup: false,
        drain,
    };
    let cases = [
        (spec("192.0.2.1:80", 3, false), 3),
        (spec("192.0.2.1:80", 3, true), 0),
        (spec("192.0.2.1:80", 0, false), 0),
        (spec("app.internal:80", 3, false), 0),
        (spec("unix:/run/app.sock", 3, false), 3),
    ];
    for (spec, expected) in cases {
        let member = Member::new(spec, None);
        assert_eq!(member.weight(), expected, "{member:?}");
        let unwell = Member { healthy: false, ..member.clone() };
        assert_eq!(unwell.weight(), 0);
        member.state().ejected_until.set(Some(1));
        assert_eq!(member.weight(), 0);
    }
}
