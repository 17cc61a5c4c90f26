//! The widths and colours in which the pages are looked at.
//!
//! `./test` looks at each width in one scheme. This command looks at each in both:
//! `PLACET_LOOKS=all cargo test -p placet-tests --test it -- pages::`.

use harness::browser::Browser;
use harness::wish::wish;

use super::browser::shots;

/// The widths in pixels of a desk, a phone, and a small phone or 400 % zoom.
pub(crate) const WIDTHS: [u32; 3] = [1280, 390, 320];

/// Each width to look at, and whether the colours are dark.
pub(crate) fn looks() -> Vec<(u32, bool)> {
    match wish("PLACET_LOOKS").as_deref() {
        None => vec![(1280, false), (390, true), (320, false)],
        Some("all") => WIDTHS.into_iter().flat_map(|width| [(width, false), (width, true)]).collect(),
        Some(other) => panic!("PLACET_LOOKS is \"all\" or absent, not {other:?}"),
    }
}

/// Takes a picture of the present page, which must fit the width and break no rule of accessibility.
pub(crate) async fn fits(browser: &Browser, name: &str, (width, dark): (u32, bool)) {
    let scheme = if dark { "dark" } else { "light" };
    browser.screenshot(&shots().join(format!("{name}-{width}-{scheme}.png"))).await;
    let (content, room) = browser.scroll_width().await;
    assert!(content <= room, "{name} is {content} px wide at {width} px");
    let found = browser.accessibility_violations().await;
    assert!(found.is_empty(), "{name} at {width} px, {scheme}: {}", found.join("\n"));
}
