use std::os::unix::fs::PermissionsExt as _;

use proptest::prelude::*;

use super::*;

#[test]
fn a_token_opens_until_it_is_revoked() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = Tokens::new(dir.path());
    assert_eq!(tokens.of_token("weir_x"), Admission::Unknown);
    let token = create_token(dir.path(), "ci", Grant::unlimited(Role::Edit)).unwrap();
    let admin = create_token(dir.path(), "ops", Grant::unlimited(Role::Admin)).unwrap();
    let peer =
        |name: &str, role| Admission::Admitted(Peer { actor: format!("token:{name}").into(), role, scope: None });
    assert_eq!(tokens.of_token(&token), peer("ci", Role::Edit));
    assert_eq!(tokens.of_token(&admin), peer("ops", Role::Admin));
    assert_eq!(tokens.of_token(&token[..token.len() - 1]), Admission::Unknown);
    assert!(revoke_token(dir.path(), "ci").unwrap());
    assert!(!revoke_token(dir.path(), "ci").unwrap());
    assert_eq!(tokens.of_token(&token), Admission::Unknown);
    assert_eq!(tokens.of_token(&admin), peer("ops", Role::Admin));
}

#[test]
fn an_end_and_limits_are_kept_in_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let scope = Scope { kinds: vec![ResourceKind::Lists, ResourceKind::RuleSets], sites: vec!["shop".to_owned()] };
    let limited = Grant { scope: Some(Arc::new(scope)), until: Some(u64::MAX), role: Role::Edit };
    let over = Grant { until: Some(1_700_000_000), ..Grant::unlimited(Role::Admin) };
    let [first, second] =
        [("a", &limited), ("b", &over)].map(|(name, grant)| create_token(dir.path(), name, grant.clone()).unwrap());
    grant_certificate(dir.path(), "c", over.clone()).unwrap();
    let listed: Vec<Grant> = list_tokens(dir.path()).unwrap().into_iter().map(|entry| entry.grant).collect();
    assert_eq!(listed, [limited.clone(), over.clone(), over]);
    let tokens = Tokens::new(dir.path());
    assert!(matches!(tokens.of_token(&first), Admission::Admitted(peer) if peer.scope == limited.scope));
    assert_eq!(tokens.of_token(&second), Admission::Expired(1_700_000_000));
    assert_eq!(tokens.of_certificate("c"), Admission::Expired(1_700_000_000));
    // A line of an earlier version has three fields.
    let old = format!("old edit {}", hex(&hash("weir_old")));
    fs::write(dir.path().join(FILE), format!("{old}\nbad edit certificate until=soon\n")).unwrap();
    assert!(matches!(list_tokens(dir.path()), Err(TokenError::Line { line: 2, .. })));
    fs::write(dir.path().join(FILE), format!("{old}\n")).unwrap();
    assert!(matches!(tokens.of_token("weir_old"), Admission::Admitted(peer) if peer.scope.is_none()));
    for (kinds, sites) in [(vec![ResourceKind::Settings], vec![]), (vec![], vec!["a b".to_owned()])] {
        let grant = Grant { scope: Some(Arc::new(Scope { kinds, sites })), ..Grant::unlimited(Role::Edit) };
        assert!(matches!(create_token(dir.path(), "d", grant), Err(TokenError::Limit(_))));
    }
}

#[test]
fn the_file_is_private_and_has_no_token() {
    let dir = tempfile::tempdir().unwrap();
    let token = create_token(dir.path(), "ci", Grant::unlimited(Role::Read)).unwrap();
    let path = dir.path().join(FILE);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    assert!(!fs::read_to_string(&path).unwrap().contains(&token[5..]));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(list_tokens(dir.path()), Err(TokenError::Mode { mode: 0o640, .. })));
    assert_eq!(Tokens::new(dir.path()).of_token(&token), Admission::Unknown);
}

#[test]
fn certificates_have_roles_and_are_no_tokens() {
    let dir = tempfile::tempdir().unwrap();
    let grant = Grant::unlimited(Role::Admin);
    grant_certificate(dir.path(), "ops.example", grant.clone()).unwrap();
    let tokens = Tokens::new(dir.path());
    assert!(matches!(tokens.of_certificate("ops.example"), Admission::Admitted(peer) if peer.role == Role::Admin));
    assert_eq!(tokens.of_certificate("other.example"), Admission::Unknown);
    assert_eq!(tokens.of_token("certificate"), Admission::Unknown);
    let listed = list_tokens(dir.path()).unwrap();
    assert_eq!(listed, [TokenEntry { name: "ops.example".into(), grant, granted: Granted::Certificate }]);
}

#[test]
fn names_are_checked_and_unique() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["", "a b", "a\nb", "#", &"x".repeat(65)] {
        assert!(
            matches!(create_token(dir.path(), name, Grant::unlimited(Role::Read)), Err(TokenError::Name(_))),
            "{name}"
        );
    }
    create_token(dir.path(), "a", Grant::unlimited(Role::Read)).unwrap();
    assert!(matches!(create_token(dir.path(), "a", Grant::unlimited(Role::Edit)), Err(TokenError::Taken(_))));
}

#[test]
fn a_broken_line_is_named() {
    let dir = tempfile::tempdir().unwrap();
    create_token(dir.path(), "a", Grant::unlimited(Role::Read)).unwrap();
    let path = dir.path().join(FILE);
    let text = fs::read_to_string(&path).unwrap() + "\n# fine\nb edit 123\n";
    fs::write(&path, text).unwrap();
    let error = list_tokens(dir.path()).unwrap_err().to_string();
    assert!(error.contains("tokens:4: expected `NAME ROLE SHA256` or `NAME ROLE certificate`"), "{error}");
}

proptest! {
    #[test]
    fn any_line_is_parsed_or_refused(line in ".{0,120}") {
        let _ = parse(&line);
    }
}
