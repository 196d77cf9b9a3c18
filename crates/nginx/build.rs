//! Tells the code which nginx it is built for: features of its configuration, and the few
//! versions in which structures that Weir touches have changed.

/// First versions (major * 1,000,000 + minor * 1,000 + patch) of what differs.
const VERSIONS: &[(u64, &str)] = &[
    // Repeated header fields are linked through `ngx_table_elt_t.next`; arrays before.
    (1_023_000, "nginx_linked_headers"),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(ngx_feature, values(any()))");
    // Set by scripts/asan.sh: a build for AddressSanitizer, which reuses no arenas and can plant faults.
    println!("cargo::rustc-check-cfg=cfg(weir_asan)");
    for (_, name) in VERSIONS {
        println!("cargo::rustc-check-cfg=cfg({name})");
    }
    // nginx's symbols are there once nginx has loaded the module. The unit tests are a program of
    // their own, which never calls them but has to be linked all the same.
    println!("cargo::rustc-link-arg=-Wl,--unresolved-symbols=ignore-all");
    println!("cargo::rerun-if-env-changed=DEP_NGINX_FEATURES");
    for feature in std::env::var("DEP_NGINX_FEATURES").unwrap_or_default().split(',').map(str::trim) {
        println!("cargo::rustc-cfg=ngx_feature=\"{feature}\"");
    }
    println!("cargo::rerun-if-env-changed=DEP_NGINX_VERSION_NUMBER");
    let number = std::env::var("DEP_NGINX_VERSION_NUMBER").unwrap_or_default();
    let number: u64 = number.parse().expect("nginx-sys says which nginx it is for");
    for (first, name) in VERSIONS {
        if number >= *first {
            println!("cargo::rustc-cfg={name}");
        }
    }
}
