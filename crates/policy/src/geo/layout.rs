//! Where publishers put the country, the continent and the autonomous system.

use crate::files::Content;
use std::fmt;

use maxminddb::{MaxMindDbError, PathElement, PathElement::Key, Reader, WithinOptions};
use serde::de::{Deserialize, Deserializer, IgnoredAny, Visitor};

/// A path inside a record; empty if the database has no such field.
pub(super) type Path = &'static [PathElement<'static>];

/// MaxMind and DB-IP; then IPinfo and IPLocate.
pub(super) const COUNTRY: &[Path] = &[&[Key("country"), Key("iso_code")], &[Key("country_code")]];
/// As for the country.
pub(super) const CONTINENT: &[Path] = &[&[Key("continent"), Key("code")], &[Key("continent_code")]];
/// MaxMind and DB-IP; then IPinfo and IPLocate, the former as `AS64496`.
pub(super) const ASN: &[Path] = &[&[Key("autonomous_system_number")], &[Key("asn")]];

/// How many records are looked at to find a database's layout: some of the first ones are
/// anycast or military networks without a country.
const PROBED: usize = 10_000;

/// For each wanted field, the path at which the database has it, or an empty one.
pub(super) fn find(reader: &Reader<Content>, wanted: &[&'static [Path]]) -> Result<Vec<Path>, MaxMindDbError> {
    let mut found: Vec<Path> = vec![&[]; wanted.len()];
    for record in reader.networks(WithinOptions::default())?.take(PROBED) {
        let record = record?;
        for (place, paths) in found.iter_mut().zip(wanted) {
            if place.is_empty() {
                let mut there =
                    paths.iter().filter(|path| matches!(record.decode_path::<IgnoredAny>(path), Ok(Some(_))));
                *place = there.next().copied().unwrap_or_default();
            }
        }
        if found.iter().all(|path| !path.is_empty()) {
            break;
        }
    }
    Ok(found)
}

/// `country.iso_code`
pub(super) fn show(path: Path) -> String {
    let keys: Vec<&str> =
        path.iter().filter_map(|element| if let Key(key) = element { Some(*key) } else { None }).collect();
    format!("`{}`", keys.join("."))
}

/// An autonomous system number, written as a number or as `AS64496`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asn(pub u32);

impl<'de> Deserialize<'de> for Asn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = Asn;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an autonomous system number")
            }

            fn visit_u64<E>(self, number: u64) -> Result<Asn, E> {
                Ok(Asn(u32::try_from(number).unwrap_or_default()))
            }

            fn visit_str<E>(self, text: &str) -> Result<Asn, E> {
                Ok(Asn(text.trim_start_matches("AS").parse().unwrap_or_default()))
            }
        }
        deserializer.deserialize_any(Number)
    }
}
