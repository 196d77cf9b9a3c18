//! Meaningful colours: the hue shows the origin of the code, and a small stable shift by name
//! distinguishes neighbours, so that a function has the same colour in every graph.

use crate::Origin;

/// The appearance of boxes of one origin.
pub(super) struct Ink {
    pub origin: Origin,
    /// The title in the legend.
    pub title: &'static str,
    /// In degrees.
    pub hue: f64,
    /// In per cent.
    pub saturation: f64,
    /// In per cent, on a light page.
    pub lightness: f64,
}

/// One for each origin, in the order of the legend and of the numbers in a page's data.
pub(super) const INKS: [Ink; 7] = [
    ink(Origin::Kernel, "kernel", 36.0, 90.0, 69.0),
    ink(Origin::Native, "native", 8.0, 78.0, 74.0),
    ink(Origin::Inlined, "inlined", 336.0, 52.0, 84.0),
    ink(Origin::Lua, "Lua", 214.0, 80.0, 76.0),
    ink(Origin::LuaTrace, "Lua trace", 148.0, 48.0, 68.0),
    ink(Origin::LuaBuiltin, "Lua built-in", 186.0, 52.0, 71.0),
    ink(Origin::Marker, "unknown", 220.0, 6.0, 82.0),
];

const fn ink(origin: Origin, title: &'static str, hue: f64, saturation: f64, lightness: f64) -> Ink {
    Ink { origin, title, hue, saturation, lightness }
}

/// Index into [`INKS`].
pub(super) fn index_of(origin: Origin) -> usize {
    INKS.iter().position(|ink| ink.origin == origin).expect("each origin has an ink")
}

/// A number from -1 to 1 derived from a name (FNV-1a of its bytes).
pub(super) fn shift(name: &str) -> f64 {
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    f64::from((hash ^ (hash >> 15)) % 255) / 127.0 - 1.0
}

/// The colour of a function, as `#rrggbb`.
pub(super) fn of(origin: Origin, name: &str) -> String {
    let ink = &INKS[index_of(origin)];
    let shift = shift(name);
    rgb(ink.hue + shift * 9.0, ink.saturation, ink.lightness + shift * 4.0)
}

/// The colour of an origin, for legends.
pub(super) fn plain(ink: &Ink) -> String {
    rgb(ink.hue, ink.saturation, ink.lightness)
}

/// The colour of a change: blue for less, red for more, grey for none. A `change` of ±1 has the
/// full colour; the scale is a square root, because most changes are small.
pub(super) fn of_change(change: f64) -> String {
    let strength = change.abs().min(1.0).sqrt();
    if strength < 0.02 {
        return "#dcdde1".into();
    }
    let hue = if change > 0.0 { 6.0 } else { 216.0 };
    rgb(hue, 20.0 + 60.0 * strength, 86.0 - 18.0 * strength)
}

/// Converts hue in degrees, saturation and lightness in per cent (CSS Color 4, section 7.1).
fn rgb(hue: f64, saturation: f64, lightness: f64) -> String {
    let (saturation, lightness) = (saturation / 100.0, lightness / 100.0);
    let reach = saturation * lightness.min(1.0 - lightness);
    let channel = |n: f64| {
        let k = (n + hue.rem_euclid(360.0) / 30.0) % 12.0;
        let value = lightness - reach * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0);
        // In 0..=255 by construction.
        (value * 255.0).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", channel(0.0), channel(8.0), channel(4.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_conversion_is_that_of_css() {
        let cases =
            [((0.0, 100.0, 50.0), "#ff0000"), ((120.0, 100.0, 25.0), "#008000"), ((220.0, 0.0, 50.0), "#808080")];
        for ((hue, saturation, lightness), want) in cases {
            assert_eq!(rgb(hue, saturation, lightness), want);
        }
    }

    #[test]
    fn a_name_keeps_its_colour_and_an_origin_its_hue() {
        assert_eq!(of(Origin::Lua, "access.lua:run"), of(Origin::Lua, "access.lua:run"));
        assert_ne!(of(Origin::Lua, "access.lua:run"), of(Origin::Native, "access.lua:run"));
        for name in ["", "a", "ngx_http_process_request", "日本"] {
            assert!((-1.0..=1.01).contains(&shift(name)), "{name}");
        }
    }

    #[test]
    fn changes_have_their_colours() {
        assert_eq!(of_change(0.0), "#dcdde1");
        assert_ne!(of_change(0.5), of_change(-0.5));
        assert_eq!(of_change(1.0), of_change(7.0));
    }
}
