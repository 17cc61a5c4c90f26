//! The checksum of a page, and where it stands.

/// The number of bytes that are kept free at the end of each page.
pub const RESERVED: u8 = 8;
/// The same as a length.
const TRAILER: usize = RESERVED as usize;
/// The first bytes of every SQLite file.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// The length of the header at the beginning of the first page.
pub(crate) const HEADER_BYTES: usize = 100;
/// Where the header says how many bytes of each page are kept free.
const RESERVED_AT: usize = 20;
/// The smallest and the largest page of SQLite.
const PAGE_BYTES: std::ops::RangeInclusive<usize> = 512..=65_536;
/// Where the header says how the file is written and read: twice 1 with a rollback journal, twice 2 with a write-ahead log.
const VERSIONS: std::ops::Range<usize> = 18..20;
/// Parts of the header that SQLite's backup changes after copying the pages: two counters of changes, the number of the schema's version,
/// and the version of the library. A changed bit in them makes SQLite read the schema again, or take the size of the file for the number
/// of its pages, which is the same number.
const COUNTERS: [std::ops::Range<usize>; 3] = [24..28, 40..44, 92..100];

/// The facts in a file's header that concern checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The size of a page.
    pub(crate) page_bytes: usize,
    /// Whether the end of each page is kept free for a checksum.
    pub(crate) is_reserved: bool,
}

impl Layout {
    /// Reads a file's first bytes; `None` if they are no header.
    pub(crate) fn of(header: &[u8]) -> Option<Self> {
        let page_bytes = match header.get(16..18)? {
            [0, 1] => 65_536,
            [high, low] => usize::from(u16::from_be_bytes([*high, *low])),
            _ => return None,
        };
        let is_header = header.starts_with(MAGIC) && page_bytes.is_power_of_two() && PAGE_BYTES.contains(&page_bytes);
        is_header.then_some(Self { page_bytes, is_reserved: *header.get(RESERVED_AT)? == RESERVED })
    }

    /// The number of the page, from 1, if a read or write of `length` bytes at `offset` is about one page.
    pub(crate) fn page_at(self, offset: u64, length: usize) -> Option<u32> {
        let page_bytes = self.page_bytes as u64;
        let is_page = length == self.page_bytes && offset.is_multiple_of(page_bytes);
        is_page.then(|| u32::try_from(offset / page_bytes + 1).unwrap_or(u32::MAX))
    }
}

/// The result of comparing a page with its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The page is as it was written.
    Whole,
    /// Another program wrote the page, and it has no checksum.
    Bare,
    /// The page has changed.
    Damaged,
}

/// The checksum of a page without its last bytes. The algorithm is that of SQLite's write-ahead log, begun with the number of the page.
/// Each step can be undone, so any change within one word changes the sum.
fn sum(page: &[u8], number: u32) -> u64 {
    let (mut first, mut second) = (number, !number);
    let words = page.as_chunks::<8>().0;
    for [a, b, c, d, e, f, g, h] in &words[..words.len() - 1] {
        first = first.wrapping_add(u32::from_le_bytes([*a, *b, *c, *d])).wrapping_add(second);
        second = second.wrapping_add(u32::from_le_bytes([*e, *f, *g, *h])).wrapping_add(first);
    }
    match u64::from(first) << 32 | u64::from(second) {
        // Zeros mean that there is no checksum.
        0 => u64::MAX,
        sum => sum,
    }
}

/// The checksum of any page; in the first one, parts of the header do not count.
fn sum_of(page: &[u8], number: u32) -> u64 {
    if number != 1 {
        return sum(page, number);
    }
    let mut counted = page.to_vec();
    if counted[VERSIONS] == [1, 1] {
        counted[VERSIONS].fill(2);
    }
    for range in COUNTERS {
        counted[range].fill(0);
    }
    counted[RESERVED_AT] = RESERVED;
    sum(&counted, number)
}

/// Writes the checksum into a page.
pub(crate) fn seal(page: &mut [u8], number: u32) {
    let sum = sum_of(page, number);
    let end = page.len() - TRAILER;
    page[end..].copy_from_slice(&sum.to_be_bytes());
}

/// Compares a page with its checksum.
pub(crate) fn judge(page: &[u8], number: u32, is_reserved: bool) -> Verdict {
    let trailer = &page[page.len() - TRAILER..];
    // A file that keeps no room for checksums has other bytes there. If its first page has its own checksum there nevertheless, the byte
    // that says how much is kept free has changed.
    if !is_reserved {
        let is_own = number == 1 && trailer == sum_of(page, number).to_be_bytes();
        return if is_own { Verdict::Damaged } else { Verdict::Bare };
    }
    if trailer == [0; TRAILER] {
        return Verdict::Bare;
    }
    if trailer == sum_of(page, number).to_be_bytes() { Verdict::Whole } else { Verdict::Damaged }
}

/// Removes the checksum from a page that was read, so that a page which is then written elsewhere, for example to the write-ahead log,
/// never has a wrong one.
pub(crate) fn bare(page: &mut [u8]) {
    let end = page.len() - TRAILER;
    page[end..].fill(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Vec<u8> {
        let mut page: Vec<u8> = (0..512_u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
        page[..MAGIC.len()].copy_from_slice(MAGIC);
        page[16..21].copy_from_slice(&[2, 0, 2, 2, RESERVED]);
        page
    }

    #[test]
    fn every_changed_bit_is_found_but_those_of_the_counters() {
        for number in [1, 2, 77] {
            let mut whole = page();
            seal(&mut whole, number);
            assert_eq!(judge(&whole, number, true), Verdict::Whole);
            for bit in 0..whole.len() * 8 {
                let mut flipped = whole.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let counts = number != 1 || !COUNTERS.iter().any(|range| range.contains(&(bit / 8)));
                let is_reserved = number != 1 || flipped[RESERVED_AT] == RESERVED;
                let expected = if counts { Verdict::Damaged } else { Verdict::Whole };
                assert_eq!(judge(&flipped, number, is_reserved), expected, "page {number}, bit {bit}");
            }
        }
    }

    #[test]
    fn a_page_in_the_place_of_another_is_found() {
        let mut whole = page();
        seal(&mut whole, 5);
        assert_eq!(judge(&whole, 6, true), Verdict::Damaged);
    }

    #[test]
    fn a_page_without_a_checksum_is_told_apart() {
        let mut other = page();
        bare(&mut other);
        assert_eq!(judge(&other, 3, true), Verdict::Bare);
        assert_eq!(judge(&page(), 1, false), Verdict::Bare);
    }
}
