//! The policy of Weir's rows: a consumer with all keys, and selectors with three rules each.

use super::client::{APP, Client, ED25519_ID, ED25519_PUBLIC, JWT_ID, SECRET};

/// The policy `site` that verifies what this client signs.
pub fn of(client: &Client) -> String {
    let mut text = format!(
        "consumers:\n  shop:\n    credentials:\n      \
         - signature: {{id: {APP}, secret: {SECRET:?}}}\n      \
         - signature: {{id: {ED25519_ID}, algorithm: ed25519, public_key: {ED25519_PUBLIC:?}}}\n      \
         - jwt: {{id: {JWT_ID}, algorithm: HS256, secret: {SECRET:?}}}\n\
         policies:\n  - id: site\n    selectors:\n"
    );
    for number in 1..=client.selectors {
        text += &format!(
            "      - id: s{number}\n        when: 'starts_with(http.request.uri.path, \"/s{number}/\")'\n        rules:\n"
        );
        let rules = [
            (
                "signature",
                r#"http.request.method eq "POST" and http.request.body.mime eq "application/json""#,
                client.action,
            ),
            (
                "application",
                r#"http.request.method eq "POST" and not (http.request.headers["x-app-id"][0] ne "")"#,
                "block: {status: 401}",
            ),
            ("method", r#"not (http.request.method in {"GET" "POST"})"#, "block: {status: 405}"),
        ];
        for (id, when, action) in rules {
            text += &format!("          - {{id: s{number}-{id}, when: '{when}', action: {{{action}}}}}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use weir_policy::Snapshot;

    use super::super::variants::VARIANTS;
    use super::*;

    #[test]
    fn weir_accepts_the_policy_of_every_client() {
        for client in VARIANTS.iter().map(|variant| variant.client) {
            let snapshot = Snapshot::parse(&of(client), Path::new("policy.yaml"));
            let snapshot = snapshot.unwrap_or_else(|errors| panic!("{}: {errors}", client.name));
            assert_eq!(snapshot.rules().len(), 3 * client.selectors, "{}", client.name);
        }
    }
}
