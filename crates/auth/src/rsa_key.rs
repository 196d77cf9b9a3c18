//! RSA public keys from modulus and exponent, in the DER form that `ring` reads: `RSAPublicKey` (RFC 8017, A.1.1).

/// The shortest modulus in bits, by `ring` and RFC 8725, section 3.2.
pub const MIN_BITS: usize = 2048;
/// The longest modulus in bits, by `ring`.
pub const MAX_BITS: usize = 8192;
/// The longest exponent in bits, by `ring`.
const MAX_EXPONENT_BITS: usize = 33;

/// The DER form of a public key. Both numbers are big-endian, and may have leading zeros.
///
/// # Errors
/// Which number `ring` would not accept, and why.
pub fn checked(modulus: &[u8], exponent: &[u8]) -> Result<Vec<u8>, String> {
    let (modulus, exponent) = (minimal(modulus), minimal(exponent));
    let odd = |number: &[u8]| number.last().is_some_and(|byte| byte & 1 == 1);
    if !(MIN_BITS..=MAX_BITS).contains(&bits(modulus)) {
        let found = bits(modulus);
        return Err(format!("an RSA key of {found} bits; expected {MIN_BITS} to {MAX_BITS}"));
    }
    if !odd(modulus) {
        return Err("`n` is even, so it is not the modulus of an RSA key".to_owned());
    }
    if !odd(exponent) || exponent == [1] || bits(exponent) > MAX_EXPONENT_BITS {
        return Err(format!("`e` is not an odd number of 2 to {MAX_EXPONENT_BITS} bits"));
    }
    Ok(der(modulus, exponent))
}

/// As [`checked`], without the checks.
#[must_use]
pub(crate) fn der(modulus: &[u8], exponent: &[u8]) -> Vec<u8> {
    let mut numbers = Vec::with_capacity(modulus.len() + exponent.len() + 16);
    for number in [minimal(modulus), minimal(exponent)] {
        // Without a zero byte before it, a number whose highest bit is set would be negative.
        let sign: &[u8] = if number.first().is_none_or(|byte| *byte >= 0x80) { &[0] } else { &[] };
        element(&mut numbers, INTEGER, &[sign, number]);
    }
    let mut sequence = Vec::with_capacity(numbers.len() + 8);
    element(&mut sequence, SEQUENCE, &[&numbers]);
    sequence
}

const INTEGER: u8 = 0x02;
const SEQUENCE: u8 = 0x30;

/// Appends tag, length (X.690, section 8.1.3) and contents.
fn element(out: &mut Vec<u8>, tag: u8, contents: &[&[u8]]) {
    let length: usize = contents.iter().map(|part| part.len()).sum();
    out.push(tag);
    let bytes = length.to_be_bytes();
    let bytes = minimal(&bytes);
    if length >= 0x80 {
        out.push(0x80 | bytes.len() as u8);
    }
    out.extend_from_slice(if length == 0 { &[0] } else { bytes });
    contents.iter().for_each(|part| out.extend_from_slice(part));
}

/// A number without leading zeros.
fn minimal(number: &[u8]) -> &[u8] {
    &number[number.iter().take_while(|byte| **byte == 0).count()..]
}

/// The number of bits of a number without leading zeros.
fn bits(number: &[u8]) -> usize {
    number.len() * 8 - number.first().map_or(0, |byte| byte.leading_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::hex;

    #[test]
    fn writes_der() {
        // X.690, section 8.3: the shortest two's complement; section 10.1: the shortest length.
        assert_eq!(hex(&der(&[0, 0x7f], &[3])), "300602017f020103");
        assert_eq!(hex(&der(&[0x80], &[1, 0, 1])), "3009020200800203010001");
        let long = der(&[0xff; 256], &[1, 0, 1]);
        assert_eq!(hex(&long[..10]), "3082010a0282010100ff");
        assert_eq!((long.len(), hex(&long[265..])), (270, "0203010001".to_owned()));
        assert_eq!(hex(&der(&[0x7f; 128], &[3])[..6]), "308186028180");
    }

    #[test]
    fn refuses_what_ring_would() {
        let modulus = [0xff; 256];
        assert!(checked(&modulus, &[1, 0, 1]).is_ok());
        assert!(checked(&[&[0][..], &modulus].concat(), &[0, 1, 0, 1]).is_ok());
        assert!(checked(&modulus, &[3]).is_ok());
        let mut even = modulus;
        even[255] = 0xfe;
        for (modulus, exponent, error) in [
            (&[0xff; 255][..], &[3][..], "2040 bits"),
            (&[0xff; 1025], &[3], "8200 bits"),
            (&[], &[3], "0 bits"),
            (&even, &[3], "even"),
            (&modulus, &[1], "`e`"),
            (&modulus, &[], "`e`"),
            (&modulus, &[2], "`e`"),
            (&modulus, &[3, 0, 0, 0, 1], "`e`"),
        ] {
            let found = checked(modulus, exponent).unwrap_err();
            assert!(found.contains(error), "{found}");
        }
    }
}
