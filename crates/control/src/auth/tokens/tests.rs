use std::os::unix::fs::PermissionsExt as _;

use proptest::prelude::*;

use super::*;

#[test]
fn a_token_opens_until_it_is_revoked() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = Tokens::new(dir.path());
    assert_eq!(tokens.of_token("weir_x"), None);
    let token = create_token(dir.path(), "ci", Role::Edit).unwrap();
    let admin = create_token(dir.path(), "ops", Role::Admin).unwrap();
    assert_eq!(tokens.of_token(&token), Some(Peer { actor: "token:ci".into(), role: Role::Edit }));
    assert_eq!(tokens.of_token(&admin).unwrap().role, Role::Admin);
    assert_eq!(tokens.of_token(&token[..token.len() - 1]), None);
    assert!(revoke_token(dir.path(), "ci").unwrap());
    assert!(!revoke_token(dir.path(), "ci").unwrap());
    assert_eq!(tokens.of_token(&token), None);
    assert!(tokens.of_token(&admin).is_some());
}

#[test]
fn the_file_is_private_and_has_no_token() {
    let dir = tempfile::tempdir().unwrap();
    let token = create_token(dir.path(), "ci", Role::Read).unwrap();
    let path = dir.path().join(FILE);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    assert!(!fs::read_to_string(&path).unwrap().contains(&token[5..]));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(list_tokens(dir.path()), Err(TokenError::Mode { mode: 0o640, .. })));
    assert_eq!(Tokens::new(dir.path()).of_token(&token), None);
}

#[test]
fn certificates_have_roles_and_are_no_tokens() {
    let dir = tempfile::tempdir().unwrap();
    grant_certificate(dir.path(), "ops.example", Role::Admin).unwrap();
    let tokens = Tokens::new(dir.path());
    assert_eq!(tokens.of_certificate("ops.example").unwrap().role, Role::Admin);
    assert_eq!(tokens.of_certificate("other.example"), None);
    assert_eq!(tokens.of_token("certificate"), None);
    let listed = list_tokens(dir.path()).unwrap();
    assert_eq!(listed, [TokenEntry { name: "ops.example".into(), role: Role::Admin, granted: Granted::Certificate }]);
}

#[test]
fn names_are_checked_and_unique() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["", "a b", "a\nb", "#", &"x".repeat(65)] {
        assert!(matches!(create_token(dir.path(), name, Role::Read), Err(TokenError::Name(_))), "{name}");
    }
    create_token(dir.path(), "a", Role::Read).unwrap();
    assert!(matches!(create_token(dir.path(), "a", Role::Edit), Err(TokenError::Taken(_))));
}

#[test]
fn a_broken_line_is_named() {
    let dir = tempfile::tempdir().unwrap();
    create_token(dir.path(), "a", Role::Read).unwrap();
    let path = dir.path().join(FILE);
    let text = fs::read_to_string(&path).unwrap() + "\n# fine\nb edit 123\n";
    fs::write(&path, text).unwrap();
    let error = list_tokens(dir.path()).unwrap_err().to_string();
    assert!(error.ends_with("tokens:4: expected `NAME ROLE SHA256` or `NAME ROLE certificate`"), "{error}");
}

proptest! {
    #[test]
    fn any_line_is_parsed_or_refused(line in ".{0,120}") {
        let _ = parse(&line);
    }
}
