//! Dear questions beside cheap ones.

use std::time::{Duration, Instant};

use weir_inspect::Advice;

use crate::client::{get, post, start};

const POLICY: &str = r#"policies:
  - id: cheap
    rules: [{id: private, when: 'starts_with(http.request.uri.path, "/private")', action: block}]
  - id: dear
    mode: detect
    rules:
      - id: dear
        when: 'any(http.request.body.form.values[*] matches "(a|b|c|d|e|f)*(g|h|i|j|k)+z$")'
        action: block
"#;

#[test]
fn dear_questions_hold_up_no_other_connection() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("policy.yaml"), POLICY).unwrap();
    let text = "detectors:\n  cheap: {kind: rules, policy: policy.yaml, apply: [cheap]}\n  dear: {kind: rules, policy: policy.yaml, apply: [dear], bounds: open}\n";
    let service = start(text, folder.path());
    let form = "x=".to_owned() + &"abcdefghijkz!".repeat(70_000);
    let mut worst = Duration::ZERO;
    std::thread::scope(|scope| {
        // More at once than the service has threads.
        let dear: Vec<_> = (0..6)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..4 {
                        service.client().ask(&post("dear", "/", &form));
                    }
                })
            })
            .collect();
        let mut client = service.client();
        while !dear.iter().all(|asking| asking.is_finished()) {
            let begun = Instant::now();
            assert_eq!(client.ask(&get("cheap", "/private")).advice, Advice::Refuse);
            worst = worst.max(begun.elapsed());
        }
    });
    println!("beside dear questions, a cheap one took at most {worst:?}");
}
