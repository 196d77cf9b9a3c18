//! Validity of US social security numbers: the second half of ModSecurity's `verifySSN`, whose
//! regular expression finds the candidates.

/// Whether the digits of `text` are a social security number that may have been issued. There must
/// be nine, neither all equal nor ascending by one; area, group and serial are not zero; areas 666
/// and from 740 on are not issued. Other bytes are ignored.
#[must_use]
pub fn is_ssn(text: &[u8]) -> bool {
    let mut digits = [0_u16; 9];
    let mut count = 0;
    for byte in text.iter().filter(|byte| byte.is_ascii_digit()) {
        let Some(digit) = digits.get_mut(count) else { return false };
        *digit = u16::from(byte - b'0');
        count += 1;
    }
    let sequential = digits.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    let repeated = digits.windows(2).all(|pair| pair[0] == pair[1]);
    let number = |digits: &[u16]| digits.iter().fold(0, |number, digit| number * 10 + digit);
    let (area, group, serial) = (number(&digits[..3]), number(&digits[3..5]), number(&digits[5..]));
    count == digits.len()
        && !sequential
        && !repeated
        && group != 0
        && serial != 0
        && matches!(area, 1..=665 | 667..=739)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_a_number_that_may_be() {
        for (text, valid) in [
            ("574-57-8065", true),
            ("574578065", true),
            ("57457806", false),
            ("5745780651", false),
            ("000-57-8065", false),
            ("574-00-8065", false),
            ("574-57-0000", false),
            ("666-57-8065", false),
            ("740-57-8065", false),
            ("739-57-8065", true),
            ("012345678", false),
            ("111111111", false),
            ("", false),
        ] {
            assert_eq!(is_ssn(text.as_bytes()), valid, "{text}");
        }
    }
}
