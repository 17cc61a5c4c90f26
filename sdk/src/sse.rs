//! Reads server-sent events from the bytes of a stream.

use crate::error::TransportError;

/// The longest event, in bytes: one with the largest change of a state fits, an endless line does not.
const EVENT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    /// The place in the stream behind the event.
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) data: String,
}

/// Collects bytes until an event is whole. Only a whole line is decoded, so a character that arrives in two parts is read as one.
#[derive(Default)]
pub(crate) struct Parser {
    line: Vec<u8>,
    block: Block,
    has_data: bool,
}

impl Parser {
    /// The events that `bytes` complete. Comments, and fields that are not in use here, are left out.
    ///
    /// # Errors
    ///
    /// `Unreadable` for text that is not valid UTF-8, and for an event that does not end.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Block>, TransportError> {
        let mut blocks = Vec::new();
        for &byte in bytes {
            if byte != b'\n' {
                self.line.push(byte);
                if self.line.len() + self.block.data.len() > EVENT_BYTES_MAX {
                    return Err(unreadable(format!("an event is longer than {EVENT_BYTES_MAX} bytes")));
                }
                continue;
            }
            let line = String::from_utf8(std::mem::take(&mut self.line))
                .map_err(|_| unreadable("an event is not valid UTF-8".into()))?;
            let line = line.strip_suffix('\r').unwrap_or(&line);
            if !line.is_empty() {
                self.field(line);
            } else if std::mem::take(&mut self.has_data) {
                blocks.push(std::mem::take(&mut self.block));
            } else {
                self.block = Block::default();
            }
        }
        Ok(blocks)
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "id" if !value.is_empty() => self.block.id = Some(value.to_owned()),
            "event" => value.clone_into(&mut self.block.name),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.block.data.push('\n');
                }
                self.block.data.push_str(value);
            }
            // A comment has no name; it only shows that the server lives. `retry` is ignored, because this client sets its own
            // pauses.
            _ => {}
        }
    }
}

pub(crate) fn unreadable(reason: String) -> TransportError {
    TransportError::Unreadable { reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(id: Option<&str>, name: &str, data: &str) -> Block {
        Block { id: id.map(str::to_owned), name: name.to_owned(), data: data.to_owned() }
    }

    /// A network may cut a stream anywhere, even within a character. The events are the same wherever it is cut.
    #[test]
    fn events_are_the_same_wherever_the_bytes_are_cut() {
        let stream = "retry: 5000\n\nid: 1-2\nevent: A\ndata: {\"x\": \"grün\"}\n\n: alive\n\nid: 3-4\r\nevent: B\r\ndata: 1\r\ndata:  2\r\n\r\nevent: C\n\ndata\n\ndata: left";
        let expected = [block(Some("1-2"), "A", "{\"x\": \"grün\"}"), block(Some("3-4"), "B", "1\n 2"), block(None, "", "")];
        for size in 1..stream.len() {
            let mut parser = Parser::default();
            let events: Vec<_> = stream.as_bytes().chunks(size).flat_map(|bytes| parser.push(bytes).unwrap()).collect();
            assert_eq!(events, expected, "{size}");
        }
    }

    #[test]
    fn an_event_without_an_end_is_refused() {
        let longest = vec![b'x'; EVENT_BYTES_MAX];
        assert!(Parser::default().push(&longest).is_ok_and(|events| events.is_empty()));
        let mut parser = Parser::default();
        assert!(parser.push(&longest).is_ok() && parser.push(b"x").is_err());
        let mut parser = Parser::default();
        assert!(
            parser.push(&[b"data:".as_slice(), &longest[6..], b"\n"].concat()).is_ok() && parser.push(b"data: 12345678").is_err()
        );
        assert!(Parser::default().push(b"data: \xff\n").is_err());
    }
}
