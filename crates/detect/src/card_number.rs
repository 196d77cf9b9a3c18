//! The check digit of card numbers: the second half of ModSecurity's `verifyCC`, whose regular
//! expression finds the candidates.

/// Whether the digits of `text` have a valid check digit (Luhn, ISO/IEC 7812-1). Other bytes are
/// ignored; without any digit the result is false.
#[must_use]
pub fn is_card_number(text: &[u8]) -> bool {
    /// The digit sum of each doubled digit.
    const DOUBLED: [u32; 10] = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9];
    let digits = text.iter().rev().filter(|byte| byte.is_ascii_digit()).map(|byte| byte - b'0');
    let (mut sum, mut count) = (0, 0_usize);
    for digit in digits {
        sum += if count % 2 == 1 { DOUBLED[usize::from(digit)] } else { u32::from(digit) };
        // Only the last digit of the sum matters, and so no length overflows it.
        sum %= 10;
        count += 1;
    }
    count > 0 && sum == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_check_digit() {
        for (text, valid) in [
            ("4012888888881881", true),
            ("4012-8888 8888-1881", true),
            ("79927398713", true),
            ("79927398710", false),
            ("0", true),
            ("5", false),
            ("", false),
            ("none", false),
        ] {
            assert_eq!(is_card_number(text.as_bytes()), valid, "{text}");
        }
    }
}
