//! The check digit of Austrian social insurance numbers: the second half of ModSecurity's
//! `verifySVNR`, whose regular expression finds the candidates.

use crate::cpf::first_digits;

/// Whether the first ten digits of `text`, up to a NUL byte, have the check digit of a
/// Sozialversicherungsnummer (the fourth digit). Other bytes and later digits are ignored.
///
/// Ten equal digits are invalid, except ten eights or nines: ModSecurity 3.0.9 compares only the
/// first ten of its twelve exceptions.
#[must_use]
pub fn is_svnr(text: &[u8]) -> bool {
    const WEIGHTS: [u32; 10] = [3, 7, 9, 0, 5, 8, 4, 2, 1, 6];
    let Some(digits) = first_digits::<10>(text) else { return false };
    let repeated = digits.iter().all(|digit| *digit == digits[0]) && digits[0] < 8;
    if repeated || digits == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] || digits == [1, 2, 3, 4, 5, 6, 7, 8, 9, 0] {
        return false;
    }
    let sum: u32 = digits.iter().zip(WEIGHTS).map(|(digit, weight)| digit * weight).sum();
    sum % 11 % 10 == digits[3]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_check_digit() {
        for (text, valid) in [
            ("1237010180", true),
            ("1237 010180", true),
            ("1238010180", false),
            ("123701018", false),
            ("7777777777", false),
            ("8888888888", true),
            ("1234567890", false),
            ("", false),
        ] {
            assert_eq!(is_svnr(text.as_bytes()), valid, "{text}");
        }
    }
}
