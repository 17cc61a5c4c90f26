//! The part of CBOR (RFC 8949) of which receipts consist, in the deterministic encoding (§4.2.1).
//!
//! Each item has one encoding: [`Writer`] writes it, and [`Reader`] takes no other. No crate does this for us. ciborium, and
//! coset above it, also read encodings that are not deterministic, and recurse on strangers' bytes; minicbor's licence is not on
//! our list; cbor-core calls its interface unstable. The form of a receipt is known before it is read and has neither floats nor
//! open lengths, so what is left to write is the head of an item.

/// A number from 0 on (RFC 8949 §3.1, like the other major types).
const UNSIGNED: u8 = 0;
/// A number below 0.
const NEGATIVE: u8 = 1;
/// A string of bytes.
const BYTES: u8 = 2;
/// A text in UTF-8.
const TEXT: u8 = 3;
/// A list of items.
const ARRAY: u8 = 4;
/// A list of keys and values.
const MAP: u8 = 5;
/// A mark on the item that follows.
const TAG: u8 = 6;
/// A simple value.
const SIMPLE: u8 = 7;
/// The simple value null.
const NULL: u64 = 22;

/// Writes items one after the other. Of arrays and maps it writes the head; their items follow. The caller orders the keys.
#[derive(Debug, Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    /// A major type and its argument, in as few bytes as hold it.
    fn head(mut self, kind: u8, argument: u64) -> Self {
        let bytes = argument.to_be_bytes();
        let (short, long) = match argument {
            0..=23 => (bytes[7], &bytes[8..]),
            24..=0xff => (24, &bytes[7..]),
            0x100..=0xffff => (25, &bytes[6..]),
            0x1_0000..=0xffff_ffff => (26, &bytes[4..]),
            _ => (27, &bytes[..]),
        };
        self.0.push(kind << 5 | short);
        self.0.extend_from_slice(long);
        self
    }

    pub(crate) fn unsigned(self, number: u64) -> Self {
        self.head(UNSIGNED, number)
    }

    pub(crate) fn integer(self, number: i64) -> Self {
        // A negative number n is written as -1 - n, which is n with all bits turned.
        if number < 0 { self.head(NEGATIVE, (!number).unsigned_abs()) } else { self.head(UNSIGNED, number.unsigned_abs()) }
    }

    pub(crate) fn bytes(self, bytes: &[u8]) -> Self {
        let mut written = self.head(BYTES, bytes.len() as u64);
        written.0.extend_from_slice(bytes);
        written
    }

    pub(crate) fn text(self, text: &str) -> Self {
        let mut written = self.head(TEXT, text.len() as u64);
        written.0.extend_from_slice(text.as_bytes());
        written
    }

    pub(crate) fn array(self, items: u64) -> Self {
        self.head(ARRAY, items)
    }

    pub(crate) fn map(self, entries: u64) -> Self {
        self.head(MAP, entries)
    }

    pub(crate) fn tag(self, tag: u64) -> Self {
        self.head(TAG, tag)
    }

    pub(crate) fn null(self) -> Self {
        self.head(SIMPLE, NULL)
    }

    pub(crate) fn done(self) -> Vec<u8> {
        self.0
    }
}

/// Reads items one after the other. Each function gives `None` if another item, or another encoding of it, comes next. Nothing is
/// reserved by a length that was read, and nothing recurses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The bytes that were not read yet.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.0
    }

    /// The argument of an item of this major type.
    fn head(&mut self, kind: u8) -> Option<u64> {
        let (first, rest) = self.0.split_first()?;
        let width = match first & 0x1f {
            0..=23 => 0,
            24 => 1,
            25 => 2,
            26 => 4,
            27 => 8,
            // Reserved, or a length that is left open.
            _ => return None,
        };
        let long = rest.get(..width)?;
        let argument =
            if width == 0 { u64::from(first & 0x1f) } else { long.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)) };
        // This also refuses another major type and an argument that needs fewer bytes.
        self.exactly(&Writer::default().head(kind, argument))?;
        Some(argument)
    }

    /// Goes past these items, if they come next.
    pub(crate) fn exactly(&mut self, items: &Writer) -> Option<()> {
        self.0 = self.0.strip_prefix(&*items.0)?;
        Some(())
    }

    pub(crate) fn unsigned(&mut self) -> Option<u64> {
        self.head(UNSIGNED)
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        self.string(BYTES)
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.string(TEXT)?).ok()
    }

    fn string(&mut self, kind: u8) -> Option<&'a [u8]> {
        let length = usize::try_from(self.head(kind)?).ok()?;
        let (string, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(string)
    }

    /// The number of items of an array. It is what the bytes say, and may be any number.
    pub(crate) fn array(&mut self) -> Option<u64> {
        self.head(ARRAY)
    }

    /// That no item follows.
    pub(crate) fn end(self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
    }

    /// The examples of RFC 8949, appendix A.
    #[test]
    fn items_are_written_as_in_the_published_examples() {
        for (number, written) in [
            (0, "00"),
            (23, "17"),
            (24, "1818"),
            (100, "1864"),
            (1000, "1903e8"),
            (1_000_000, "1a000f4240"),
            (1_000_000_000_000, "1b000000e8d4a51000"),
            (-1, "20"),
            (-10, "29"),
            (-100, "3863"),
            (-1000, "3903e7"),
            (i64::MIN, "3b7fffffffffffffff"),
        ] {
            assert_eq!(hex(&Writer::default().integer(number).done()), written, "{number}");
        }
        assert_eq!(hex(&Writer::default().unsigned(u64::MAX).done()), "1bffffffffffffffff");
        assert_eq!(hex(&Writer::default().bytes(&[1, 2, 3, 4]).done()), "4401020304");
        assert_eq!(hex(&Writer::default().text("\u{6c34}").done()), "63e6b0b4");
        assert_eq!(hex(&Writer::default().array(2).unsigned(1).array(1).unsigned(2).done()), "82018102");
        assert_eq!(hex(&Writer::default().map(1).unsigned(1).unsigned(2).done()), "a10102");
        assert_eq!(hex(&Writer::default().tag(1).unsigned(0).null().done()), "c100f6");
    }

    #[test]
    fn items_are_read_as_they_were_written() {
        for number in [0, 23, 24, 0xff, 0x100, 0xffff, 0x1_0000, 0xffff_ffff, 0x1_0000_0000, u64::MAX] {
            let bytes = Writer::default().unsigned(number).bytes(b"x").text("\u{e9}").array(number).done();
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.unsigned(), Some(number));
            assert_eq!((reader.bytes(), reader.text(), reader.array()), (Some(&b"x"[..]), Some("\u{e9}"), Some(number)));
            assert_eq!(reader.end(), Some(()));
        }
    }

    #[test]
    fn another_encoding_of_an_item_is_refused() {
        let longer: [&[u8]; 6] = [
            &[0x18, 23],
            &[0x19, 0, 24],
            &[0x1a, 0, 0, 1, 0],
            &[0x1b, 0, 0, 0, 0, 0, 1, 0, 0],
            // Reserved, and a length that is left open.
            &[0x1c],
            &[0x1f],
        ];
        for bytes in longer {
            assert_eq!(Reader::new(bytes).unsigned(), None, "{bytes:?}");
            let string = [&[bytes[0] | BYTES << 5], &bytes[1..], &[0; 300]].concat();
            assert_eq!(Reader::new(&string).bytes(), None, "{bytes:?}");
        }
        assert_eq!(Reader::new(&[0x62, 0xc3, 0x28]).text(), None, "no UTF-8");
        assert_eq!(Reader::new(&[0x43, 1, 2]).bytes(), None, "too few bytes");
        assert_eq!(Reader::new(&[0x5b, 255, 255, 255, 255, 255, 255, 255, 255]).bytes(), None, "far too few bytes");
        assert_eq!(Reader::new(&[0x41, 0]).text(), None, "another type");
        assert_eq!(Reader::new(&[]).unsigned(), None, "nothing");
        assert_eq!(Reader::new(&[0]).end(), None, "an item is left");
    }
}
