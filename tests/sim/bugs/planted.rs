//! Which bug is in the code now. This file is part of the copy of the tree in which bugs are planted, as `domain/src/planted.rs`; each patch
//! beside it adds one condition that asks [`planted`] next to the line that the bug spoils.

thread_local! {
    static PLANTED: std::cell::Cell<&'static str> = const { std::cell::Cell::new("") };
}

/// Whether this bug is in the code now; `bug` is the name of its patch.
pub fn planted(bug: &str) -> bool {
    PLANTED.get() == bug
}

/// Plants a bug in the code that this thread runs from now on, in place of the one before.
pub fn plant(bug: &'static str) {
    PLANTED.set(bug);
}
