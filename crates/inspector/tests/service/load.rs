//! Dear questions beside cheap ones.

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
fn cheap_questions_are_answered_beside_dear_ones() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("policy.yaml"), POLICY).unwrap();
    let text = "detectors:\n  cheap: {kind: rules, policy: policy.yaml, apply: [cheap]}\n  dear: {kind: rules, policy: policy.yaml, apply: [dear], bounds: open}\n";
    let service = start(text, folder.path());
    let form = "x=".to_owned() + &"abcdefghijkz!".repeat(70_000);
    let mut beside = 0;
    std::thread::scope(|scope| {
        let ask = || (0..4).for_each(|_| drop(service.client().ask(&post("dear", "/", &form))));
        // More at once than the service has threads.
        let dear: Vec<_> = (0..6).map(|_| scope.spawn(ask)).collect();
        let mut client = service.client();
        while !dear.iter().all(|asking| asking.is_finished()) {
            assert_eq!(client.ask(&get("cheap", "/private")).advice, Advice::Refuse);
            beside += 1;
        }
    });
    // How many fit in depends on the machine; that one waits for the dear ones is the client's limit on hanging.
    assert!(beside > 0, "no question was answered beside the dear ones");
}
