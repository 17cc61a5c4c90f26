//! The widths and colours in which the pages are looked at.
//!
//! `./test` looks at each width in one scheme, asks axe about a desk and a phone, and takes no pictures. This command looks at each width
//! in both schemes, asks axe about all of them, and takes a picture of each page:
//! `PLACET_LOOKS=all cargo test -p placet-tests --test it -- pages::`.

use harness::browser::Browser;
use harness::wish::wish;

use super::browser::shots;

/// The widths in pixels of a desk, a phone, and a small phone or 400 % zoom.
pub(crate) const WIDTHS: [u32; 3] = [1280, 390, 320];

/// Each width to look at, and whether the colours are dark.
pub(crate) fn looks() -> Vec<(u32, bool)> {
    if at_all() {
        WIDTHS.into_iter().flat_map(|width| [(width, false), (width, true)]).collect()
    } else {
        vec![(1280, false), (390, true), (320, false)]
    }
}

/// Whether every look is wished for, with its picture.
fn at_all() -> bool {
    match wish("PLACET_LOOKS").as_deref() {
        None => false,
        Some("all") => true,
        Some(other) => panic!("PLACET_LOOKS is \"all\" or absent, not {other:?}"),
    }
}

/// Takes a picture of the present page if pictures are wished for.
pub(crate) async fn picture(browser: &Browser, name: &str) {
    if at_all() {
        browser.screenshot(&shots().join(format!("{name}.png"))).await;
    }
}

/// Checks that the present page fits the width and breaks no rule of accessibility.
pub(crate) async fn fits(browser: &Browser, name: &str, look: (u32, bool)) {
    // The rules depend on the scheme and hardly on the width: in the short run 320 px has its scheme in common with the desk.
    fits_and(browser, name, look, look.0 != 320).await;
}

/// The same for a page of hundreds of entries, which axe takes half a minute for: the short run asks axe about a desk alone.
pub(crate) async fn long_page_fits(browser: &Browser, name: &str, look: (u32, bool)) {
    fits_and(browser, name, look, look.0 == 1280).await;
}

async fn fits_and(browser: &Browser, name: &str, (width, dark): (u32, bool), asks_axe: bool) {
    let scheme = if dark { "dark" } else { "light" };
    picture(browser, &format!("{name}-{width}-{scheme}")).await;
    let (content, room) = browser.scroll_width().await;
    assert!(content <= room, "{name} is {content} px wide at {width} px");
    if !asks_axe && !at_all() {
        return;
    }
    let found = browser.accessibility_violations().await;
    assert!(found.is_empty(), "{name} at {width} px, {scheme}: {}", found.join("\n"));
}
