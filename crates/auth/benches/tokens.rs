//! The check of sorted tokens against the obvious version, which makes tokens, Base64 and a sort.
//!
//! `cargo bench -p weir-auth --bench tokens`. For numbers of instructions, `ONCE=obvious/1k_json valgrind
//! --tool=callgrind` with the benchmark's program runs the named check alone, 100 times.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use weir_auth::digest::{Digest, Hash};
use weir_auth::tokens::{naive, sorted::SortedTokens};

const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

fn obvious(body: &[u8]) -> Digest {
    let text = naive::sorted_text(body).expect("the bodies are UTF-8");
    Hash::Md5.of(&[text.as_bytes(), SECRET].concat())
}

fn counted(body: &[u8]) -> Digest {
    let mut tokens = SortedTokens::default();
    tokens.absorb(body);
    let mut hasher = Hash::Md5.begin();
    tokens.finish().expect("the bodies are UTF-8").give(|part| hasher.update(part));
    hasher.update(SECRET);
    hasher.finish()
}

/// The counting alone, without the hash.
fn text(body: &[u8]) -> u64 {
    let mut tokens = SortedTokens::default();
    tokens.absorb(body);
    tokens.finish().expect("the bodies are UTF-8").length()
}

/// Orders as JSON, of about this many bytes, with names in this script.
fn orders(bytes: usize, name: &str) -> Vec<u8> {
    let mut body = String::from("[");
    let mut number: u32 = 1;
    while body.len() < bytes {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        body += &format!(r#"{{"order":"A-{number}","name":"{name}","amount":{}.50}},"#, number >> 20);
    }
    body.truncate(body.floor_char_boundary(bytes));
    body.into_bytes()
}

fn bodies() -> Vec<(&'static str, Vec<u8>)> {
    let (ascii, mixed) = ("Blue widget, large", "蓝色小部件(大号),北京市海淀区");
    let bodies =
        [("1k_json", 1000, ascii), ("1k_mixed", 1000, mixed), ("64k_json", 65536, ascii), ("64k_mixed", 65536, mixed)];
    bodies.map(|(name, bytes, script)| (name, orders(bytes, script))).into()
}

fn tokens(criterion: &mut Criterion) {
    let once = std::env::var("ONCE").ok();
    for (name, body) in bodies() {
        assert_eq!(obvious(&body).as_ref(), counted(&body).as_ref());
        if let Some(once) = &once {
            for _ in 0..100 {
                match once.split_once('/') {
                    Some(("obvious", body_name)) if body_name == name => drop(black_box(obvious(black_box(&body)))),
                    Some(("counted", body_name)) if body_name == name => drop(black_box(counted(black_box(&body)))),
                    _ => {}
                }
            }
            continue;
        }
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function("obvious", |bencher| bencher.iter(|| obvious(black_box(&body))));
        group.bench_function("counted", |bencher| bencher.iter(|| counted(black_box(&body))));
        group.bench_function("counted_without_hash", |bencher| bencher.iter(|| text(black_box(&body))));
        group.finish();
    }
}

criterion_group!(benches, tokens);
criterion_main!(benches);
