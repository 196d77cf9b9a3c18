//! The check digits of Brazilian taxpayer numbers: the second half of ModSecurity's `verifyCPF`,
//! whose regular expression finds the candidates.

/// Whether the first eleven digits of `text`, up to a NUL byte, have the two check digits of a CPF.
/// Other bytes and later digits are ignored; eleven equal digits and 01234567890 are invalid.
#[must_use]
pub fn is_cpf(text: &[u8]) -> bool {
    let Some(digits) = first_digits::<11>(text) else { return false };
    let repeated = digits.iter().all(|digit| *digit == digits[0]);
    if repeated || digits == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0] {
        return false;
    }
    let first = check_digit(&digits[..9]);
    let second = check_digit(&digits[..10]);
    digits[9] == first && digits[10] == second
}

/// The check digit after `digits`: weights descend to two, modulo eleven.
fn check_digit(digits: &[u32]) -> u32 {
    let sum: u32 = digits.iter().rev().zip(2..).map(|(digit, weight)| digit * weight).sum();
    match sum % 11 {
        0 | 1 => 0,
        rest => 11 - rest,
    }
}

/// The first `COUNT` digits of `text`, up to a NUL byte, if there are that many.
pub(crate) fn first_digits<const COUNT: usize>(text: &[u8]) -> Option<[u32; COUNT]> {
    let mut found = text.iter().take_while(|byte| **byte != 0).filter(|byte| byte.is_ascii_digit());
    let mut digits = [0; COUNT];
    for digit in &mut digits {
        *digit = u32::from(found.next()? - b'0');
    }
    Some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_check_digits() {
        for (text, valid) in [
            ("010.817.514-60", true),
            ("01081751460", true),
            ("010817514609", true),
            ("010.817.514-61", false),
            ("010.817.514-50", false),
            ("0108175146", false),
            ("010817\u{0}51460", false),
            ("11111111111", false),
            ("01234567890", false),
            ("", false),
        ] {
            assert_eq!(is_cpf(text.as_bytes()), valid, "{text}");
        }
    }
}
