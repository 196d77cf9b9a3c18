use proptest::prelude::*;

use super::*;

/// Passwords with their hashes.
const BCRYPT: [(&str, &str); 7] = [
    // jBCrypt's TestBCrypt.java, whose vectors came with OpenBSD's bcrypt.
    ("", "$2a$06$DCq7YPn5Rq63x1Lad4cll.TV4S6ytwfsfvkgY8jIucDrjc8deX1s."),
    ("a", "$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe"),
    ("abc", "$2a$06$If6bvum7DFjUnE9p2uDeDu0YHzrHM6tf.iqN8.yx.jNN1ILEf7h0i"),
    ("abcdefghijklmnopqrstuvwxyz", "$2a$06$.rCVZVOThsIa97pEDOxvGuRRgzG64bvtJ0938xuqzv18d3ZpQhstC"),
    // crypt_blowfish's wrapper.c (Openwall).
    ("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
    ("U*U*U", "$2a$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a"),
    ("", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy"),
];

/// The vectors of the `argon2` command's test.c for version 19, Argon2id.
const ARGON2: [(&str, &str); 3] = [
    ("password", "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"),
    ("password", "$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc"),
    ("differentpassword", "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$C4TWUs9rDEvq7w3+J4umqA32aWKB1+DSiRuBfYxFj94"),
];

#[test]
fn published_hashes_verify() {
    for (password, text) in BCRYPT.iter().chain(&ARGON2) {
        let hash = PasswordHash::parse(text).unwrap();
        assert!(hash.verifies(password.as_bytes()), "{text}");
        assert!(!hash.verifies(format!("{password}x").as_bytes()), "{text}");
        assert!(!hash.stand_in().verifies(password.as_bytes()), "{text}");
    }
}

#[test]
fn all_prefixes_of_sound_bcrypt_are_the_same() {
    for prefix in ["$2a$", "$2b$", "$2y$"] {
        let text = BCRYPT[4].1.replace("$2a$", prefix);
        assert!(PasswordHash::parse(&text).unwrap().verifies(b"U*U"), "{text}");
    }
}

#[test]
fn bcrypt_takes_72_bytes_and_no_zero() {
    // crypt_blowfish's wrapper.c, whose password goes on with `chars after 72 are ignored`.
    let password = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    let hash = PasswordHash::parse("$2a$05$abcdefghijklmnopqrstuu5s2v8.iXieOjg/.AySBTTZIIVFJeBui").unwrap();
    assert_eq!(password.len(), 72);
    assert!(hash.verifies(password.as_bytes()));
    assert!(!hash.verifies(format!("{password}chars after 72 are ignored").as_bytes()));
    assert!(!hash.verifies(&password.as_bytes()[..71]));
    // bcrypt repeats the password with its zero byte, so it cannot tell `a` from the first of these.
    let hash = PasswordHash::parse(BCRYPT[1].1).unwrap();
    assert!(!hash.verifies(b"a\0a"));
    assert!(!hash.verifies(b"a\0"));
}

#[test]
fn refuses() {
    let bcrypt = BCRYPT[0].1;
    let argon2 = ARGON2[0].1;
    let changed = |from: &str, to: &str| argon2.replacen(from, to, 1);
    for (text, error) in [
        (String::new(), "not a hash of bcrypt"),
        ("secret".to_owned(), "not a hash of bcrypt"),
        ("$".to_owned(), "not a hash of bcrypt"),
        ("$apr1$x$y".to_owned(), "htpasswd -B"),
        ("$6$x$y".to_owned(), "htpasswd -B"),
        ("{SHA}x".to_owned(), "not a hash of bcrypt"),
        (bcrypt.replace("$2a$", "$2x$"), "faulty"),
        (bcrypt.replace("$2a$", "$2$"), "not a hash of bcrypt"),
        (bcrypt[..59].to_owned(), "59 characters; expected 60"),
        (format!("{bcrypt}."), "61 characters"),
        (bcrypt.replace("$06$", "$03$"), "cost 3; expected 4 to 14"),
        (bcrypt.replace("$06$", "$15$"), "cost 15"),
        (bcrypt.replace("$06$", "$31$"), "cost 31"),
        (bcrypt.replace("$06$", "$+6$"), "not a number"),
        (bcrypt.replace("X1s.", "X1s$"), "Base64"),
        (bcrypt.replace("X1s.", "\u{e9}s."), "59 characters"),
        (changed("argon2id", "argon2i"), "only Argon2id is accepted"),
        (changed("argon2id", "argon2d"), "only Argon2id is accepted"),
        (changed("v=19", "v=16"), "version 19"),
        (changed("$v=19", ""), "not an Argon2id hash"),
        (format!("{argon2}$"), "not an Argon2id hash"),
        (changed("m=256", "m=4194304"), "4194304 KiB (`m`); expected 8 to 131072"),
        (changed("m=256", "m=7"), "7 KiB"),
        (changed("m=256", "m=99999999999"), "have the form m="),
        (changed("m=256", "m=+256"), "have the form m="),
        (changed("m=256,t=2", "t=2,m=256"), "have the form m="),
        (changed(",p=1", ""), "have the form m="),
        (changed(",p=1", ",p=1,keyid=x"), "no others"),
        (changed("t=2", "t=17"), "17 passes"),
        (changed("t=2", "t=0"), "0 passes"),
        (changed("m=256,t=2", "m=131072,t=9"), "in all passes"),
        (changed("p=1", "p=17"), "17 lanes"),
        (changed("p=1", "p=0"), "0 lanes"),
        (changed("p=1", "p=4294967295"), "lanes"),
        (changed("c29tZXNhbHQ", "c29tZQ"), "4 bytes of salt; expected 8 to 64"),
        (changed("c29tZXNhbHQ", "c29tZXNhbHQ="), "the salt of the Argon2id hash is not Base64"),
        (changed("nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4", "nf65EOgLrQMR"), "9 bytes of hash"),
    ] {
        let found = PasswordHash::parse(&text).unwrap_err();
        assert!(found.contains(error), "{text}: {found}");
    }
    assert_eq!(
        format!("{:?}", PasswordHash::parse(argon2).unwrap()),
        "PasswordHash(argon2id, 256 KiB, 2 passes, 1 lanes)"
    );
}

proptest! {
    #[test]
    fn takes_any_text(text in "\\PC*", tail in "[a-z0-9=,$./\u{e9}]{0,70}") {
        let _ = PasswordHash::parse(&text);
        for head in ["$2b$", "$2a$04$", "$argon2id$", "$argon2id$v=19$m=8,t=1,p=1$"] {
            let _ = PasswordHash::parse(&format!("{head}{tail}"));
        }
    }

    #[test]
    fn other_passwords_are_wrong(password: Vec<u8>) {
        let hash = PasswordHash::parse("$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA").unwrap();
        prop_assert!(!hash.verifies(&password));
    }
}
