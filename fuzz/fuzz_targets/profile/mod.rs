//! Properties of every profile that can be read.

use weir_profile::Profile;
use weir_profile::diff::{DiffOptions, diff};
use weir_profile::format::{FORMATS, Format, read_as, write};
use weir_profile::graph::{GraphOptions, svg};

/// Every format can be written, Weir's own is read back unchanged, a graph can be drawn, and the profile equals itself.
pub fn usable(profile: &Profile) {
    for entry in FORMATS.iter().filter(|entry| entry.format.is_written()) {
        write(profile, entry.format, &mut Vec::new()).expect("a vector takes all");
    }
    let mut stored = Vec::new();
    write(profile, Format::Weir, &mut stored).expect("a vector takes all");
    assert_eq!(&read_as(&stored, Format::Weir).expect("what was written is read"), profile);
    let same = diff(profile, profile, &DiffOptions::default());
    assert!(same.nodes.iter().all(|node| node.self_weight.old == node.self_weight.new));
    assert_eq!(same.nodes[0].total.old, profile.total());
    assert!(!svg(profile, &GraphOptions::default()).is_empty());
}
