use super::*;

#[test]
fn the_kernel_has_names_or_says_why_not() {
    let text = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    let known = text.lines().find_map(|line| {
        let (address, rest) = line.split_once(' ')?;
        let address = u64::from_str_radix(address, 16).ok().filter(|&address| address != 0)?;
        (rest.trim_start_matches(['T', 't', ' ']) == "schedule").then_some(address)
    });
    let mut symbols = Symbols::new();
    if let Some(address) = known {
        let frame = symbols.kernel(address + 4);
        let found = (frame.name.as_str(), frame.origin, frame.module.as_str());
        assert_eq!(found, ("schedule", Origin::Kernel, "[kernel]"));
        assert_eq!(symbols.kernel(0x10).name, "[kernel]");
    } else {
        assert_eq!(symbols.kernel(0xffff_ffff_8100_0000).name, "[kernel]");
    }
    assert_eq!(symbols.remarks().is_empty(), known.is_some());
}

#[test]
fn addresses_of_nothing_are_unknown() {
    let process = Process::open(std::process::id()).unwrap();
    let mut frames = Vec::new();
    assert!(!Symbols::new().resolve(&process, 0x10, &mut frames));
    assert_eq!(frames, [Frame::named("[unknown]", Origin::Marker)]);
}
