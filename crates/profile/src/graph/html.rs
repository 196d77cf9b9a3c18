//! A self-contained page: data, style and script, without external references.

use serde_json::{Value, json};

use super::GraphOptions;
use super::colour::INKS;
use super::data;
use super::svg::title_of;
use super::text::{clean, escape};
use crate::Profile;
use crate::diff::Difference;

const PAGE: &str = include_str!("assets/page.html");
const STYLE: &str = concat!(include_str!("assets/page.css"), "\n", include_str!("assets/tables.css"));
/// In dependency order.
const SCRIPTS: [&str; 6] = [
    include_str!("assets/amounts.js"),
    include_str!("assets/trees.js"),
    include_str!("assets/flame.js"),
    include_str!("assets/tables.js"),
    include_str!("assets/paint.js"),
    include_str!("assets/page.js"),
];

/// A page with one or more profiles of the same target, such as its on-CPU and off-CPU time. The
/// first one provides the title.
#[must_use]
pub fn html(profiles: &[&Profile], options: &GraphOptions) -> String {
    let title = options.title.clone().or_else(|| profiles.first().map(|first| title_of(first)));
    let views = profiles.iter().map(|profile| data::profile(profile, options)).collect();
    page(&title.unwrap_or_else(|| "Profile".into()), views, options)
}

/// A page of a comparison.
#[must_use]
pub fn html_diff(difference: &Difference, options: &GraphOptions) -> String {
    let title = options.title.clone().unwrap_or_else(|| super::svg::title_of_difference(difference));
    page(&title, vec![data::difference(difference, options)], options)
}

fn page(title: &str, views: Vec<Value>, options: &GraphOptions) -> String {
    let origins: Vec<Value> = INKS
        .iter()
        .map(|ink| json!({ "title": ink.title, "hue": ink.hue, "saturation": ink.saturation, "lightness": ink.lightness }))
        .collect();
    let data = json!({ "origins": origins, "icicle": options.icicle, "reverse": options.reverse, "views": views });
    let title = escape(&clean(title));
    let script = format!("\"use strict\";\n{}", SCRIPTS.join("\n"));
    fill(PAGE, &[("title", &title), ("style", STYLE), ("data", &in_script(&data)), ("script", &script)])
}

/// JSON that cannot end the element it is in: `<` occurs only within strings, where it is escaped.
fn in_script(data: &Value) -> String {
    data.to_string().replace('<', "\\u003c")
}

/// Fills a template's `{{names}}` in one pass, so that a value that looks like a name is not replaced.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len() + values.iter().map(|(_, value)| value.len()).sum::<usize>());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").expect("the template closes what it opens");
        out.push_str(before);
        out.push_str(values.iter().find(|(known, _)| *known == name).expect("the template names known values").1);
        rest = after;
    }
    out.push_str(rest);
    out
}
