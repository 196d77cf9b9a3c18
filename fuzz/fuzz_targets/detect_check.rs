//! The checks of encodings, byte ranges and numbers agree with simple implementations.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_detect::{
    ByteRange, UrlEncodingError, check_url_encoding, check_utf8, is_card_number, is_cpf, is_ssn, is_svnr,
};

/// Offset of the first percent sign without two hexadecimal digits.
fn broken_escape(bytes: &[u8]) -> Option<usize> {
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
    (0..bytes.len()).find(|at| bytes[*at] == b'%' && !(digit(at + 1) && digit(at + 2)))
}

fuzz_target!(|bytes: &[u8]| {
    let broken = check_url_encoding(bytes).err().map(|error| match error {
        UrlEncodingError::NotHexadecimal { at } | UrlEncodingError::Truncated { at } => at,
    });
    assert_eq!(broken, broken_escape(bytes));

    match (check_utf8(bytes), std::str::from_utf8(bytes)) {
        (Ok(()), Ok(_)) => {}
        // In contrast to RFC 3629, the check also allows code points beyond U+10FFFF.
        (Ok(()), Err(_)) => assert!(bytes.windows(2).any(|two| two[0] == 0xf4 && two[1] >= 0x90)),
        (Err((at, _)), Err(error)) => assert!(at >= error.valid_up_to()),
        (Err(_), Ok(_)) => panic!("refused what is UTF-8"),
    }

    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    assert!(!is_card_number(bytes) || digits > 0);
    assert!(!is_ssn(bytes) || digits == 9);
    assert!(!is_cpf(bytes) || digits >= 11);
    assert!(!is_svnr(bytes) || digits >= 10);

    let (argument, value) = bytes.split_at(bytes.len() / 2);
    if let Ok(Ok(range)) = std::str::from_utf8(argument).map(ByteRange::parse) {
        assert_eq!(range.allows(value), value.iter().all(|byte| range.allows(&[*byte])));
    }
});
