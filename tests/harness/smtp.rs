//! A mail server that keeps all mails and fails when a test tells it to.
//!
//! It is strict where a real server may be lenient (a bare line feed is refused), so a sender that passes here has nothing to
//! fear from smuggling filters elsewhere.

#![expect(clippy::missing_panics_doc, reason = "a harness reports by panicking: the test that called it fails")]

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mail_parser::{Message, MessageParser, MessagePart, MimeHeaders, PartType};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Longest line a client may send, with its CRLF (RFC 5321 §4.5.3.1.6).
pub const LINE_BYTES_MAX: usize = 1_000;
/// Largest message the sink takes; announced as `SIZE`.
pub const MESSAGE_BYTES_MAX: usize = 1024 * 1024;
/// Most recipients of one message.
pub const RECIPIENTS_MAX: usize = 100;
/// How long [`SmtpSink::next_mail`] waits before the test fails.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// The fault for one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No fault: lets a script begin with a message that passes.
    Pass,
    /// 451 at RCPT: try again later.
    Defer,
    /// 550 at RCPT: the mailbox does not exist.
    RejectRecipient,
    /// 554 after the message: refused for its content.
    RejectMessage,
    /// 554 after the message, which is kept; the reply quotes the lines with the link, as a content filter does.
    QuoteMessage,
    /// The connection drops after the message, without a reply; the message is gone.
    DropBeforeReply,
    /// The message is kept, but the connection drops before the reply: the sender cannot know that it was kept.
    KeepThenDrop,
    /// The message is kept and accepted, then the connection drops without a QUIT.
    DropAfterReply,
    /// The message is accepted and then lost: the sender believes it arrived.
    ReplyThenLose,
    /// No reply to the message for as long as the client waits.
    Hang,
    /// The message is kept, and no reply to it comes for as long as the client waits.
    KeepThenHang,
    /// The connection drops at RCPT, in the middle of the dialogue.
    DropAtRecipient,
}

/// The first line of a message with a link to answer, and the line behind it.
fn quoted(raw: &[u8]) -> (String, String) {
    let text = String::from_utf8_lossy(raw);
    let mut lines = text.lines().skip_while(|line| !line.contains("/a/")).map(str::to_owned);
    (lines.next().unwrap_or_default(), lines.next().unwrap_or_default())
}

/// One message the sink kept.
#[derive(Clone, Debug)]
pub struct Received {
    /// The envelope's sender; empty for a bounce.
    pub from: String,
    /// The envelope's recipients, in the order they were named.
    pub to: Vec<String>,
    /// The message before dot-stuffing, with lines ended by CRLF.
    pub raw: Vec<u8>,
}

impl Received {
    fn message(&self) -> Message<'_> {
        MessageParser::default().parse(&self.raw).expect("the mail is not a MIME message")
    }

    /// The subject, decoded.
    pub fn subject(&self) -> String {
        self.message().subject().expect("the mail has no subject").to_owned()
    }

    /// A header as it was sent, unfolded.
    pub fn header(&self, name: &str) -> Option<String> {
        let message = self.message();
        message.header_raw(name).map(|value| value.replace("\r\n", "").trim().to_owned())
    }

    /// The plain text part, decoded.
    pub fn text(&self) -> String {
        match self.message().text_part(0).map(|part| &part.body) {
            Some(PartType::Text(text)) => text.to_string(),
            // mail-parser would make a text part out of the HTML one; a reader of plain text gets no help of that kind.
            _ => panic!("the mail has no plain text part"),
        }
    }

    /// The HTML part, decoded.
    pub fn html(&self) -> String {
        match self.message().html_part(0).map(|part| &part.body) {
            Some(PartType::Html(html)) => html.to_string(),
            _ => panic!("the mail has no HTML part"),
        }
    }

    /// The names and the texts of the attached files.
    pub fn attached_texts(&self) -> Vec<(String, String)> {
        let message = self.message();
        let text = |part: &MessagePart<'_>| {
            let PartType::Binary(bytes) = &part.body else { panic!("the attached file may be changed on its way") };
            String::from_utf8(bytes.to_vec()).expect("the attached file is text")
        };
        message.attachments().map(|part| (part.attachment_name().unwrap_or_default().to_owned(), text(part))).collect()
    }

    /// Every URL under `public_url`: those of the text part, then those of the HTML part.
    pub fn links_under(&self, public_url: &str) -> Vec<String> {
        let mut links = urls_under(&self.text(), public_url);
        links.extend(urls_under(&self.html().replace("&amp;", "&"), public_url));
        links
    }

    /// The answer link: the first URL under `public_url` in each part, which must be the same one.
    pub fn link(&self, public_url: &str) -> String {
        let in_text = urls_under(&self.text(), public_url).into_iter().next();
        let in_html = urls_under(&self.html().replace("&amp;", "&"), public_url).into_iter().next();
        assert_eq!(in_text, in_html, "the first link of the text part is not the first link of the HTML part");
        in_text.expect("the mail has no link under the public URL")
    }
}

fn urls_under(text: &str, public_url: &str) -> Vec<String> {
    let base = public_url.trim_end_matches('/');
    let ends = |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '\'' | ')' | ']');
    text.match_indices(base)
        .filter_map(|(start, _)| text[start..].split(ends).next())
        .map(|url| url.trim_end_matches(['.', ',', ';', '!']))
        // `http://host:80` is no prefix of the URL `http://host:8080/`.
        .filter(|url| url[base.len()..].is_empty() || url[base.len()..].starts_with(['/', '?', '#']))
        .map(str::to_owned)
        .collect()
}

/// A mail server on an ephemeral port of the loopback interface; dropping it stops it.
pub struct SmtpSink {
    address: SocketAddr,
    mailbox: Arc<Mailbox>,
    read: AtomicUsize,
    // Never read: a JoinSet aborts its tasks when it is dropped, and the connections belong to the listener's task.
    _listener: JoinSet<()>,
}

struct Mailbox {
    received: watch::Sender<Vec<Received>>,
    script: Mutex<VecDeque<Fault>>,
    refused: Mutex<BTreeSet<String>>,
    down: AtomicBool,
}

impl SmtpSink {
    /// Starts to listen.
    pub async fn start() -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").await.expect("failed to listen on 127.0.0.1");
        let address = socket.local_addr().expect("failed to read the port");
        let mailbox = Arc::new(Mailbox {
            received: watch::Sender::new(Vec::new()),
            script: Mutex::default(),
            refused: Mutex::default(),
            down: AtomicBool::new(false),
        });
        let mut listener = JoinSet::new();
        listener.spawn(listen(socket, Arc::clone(&mailbox)));
        Self { address, mailbox, read: AtomicUsize::new(0), _listener: listener }
    }

    /// The address at which the sink listens, in the form of `PLACET_SMTP_URL`.
    pub fn url(&self) -> String {
        format!("smtp://{}", self.address)
    }

    /// All mails kept so far.
    pub fn received(&self) -> Vec<Received> {
        self.mailbox.received.borrow().clone()
    }

    /// The recipients of the mails that no call has returned yet, in order of address.
    pub async fn mailed(&self) -> Vec<String> {
        let mut people = Vec::new();
        while self.has_unread() {
            people.extend(self.next_mail().await.to);
        }
        people.sort();
        people
    }

    /// Whether [`SmtpSink::next_mail`] would return at once.
    pub fn has_unread(&self) -> bool {
        self.mailbox.received.borrow().len() > self.read.load(Ordering::SeqCst)
    }

    /// The mail after the one this method returned last; waits for it if it has not come yet.
    pub async fn next_mail(&self) -> Received {
        let index = self.read.fetch_add(1, Ordering::SeqCst);
        let mut arrivals = self.mailbox.received.subscribe();
        let arrival = tokio::time::timeout(WAIT_MAX, arrivals.wait_for(|mails| mails.len() > index)).await;
        let mails = arrival
            .unwrap_or_else(|_| panic!("mail {} did not come within {WAIT_MAX:?}", index + 1))
            .expect("the sink holds the sender");
        mails[index].clone()
    }

    /// Adds a fault for the next message that has none yet.
    pub fn script(&self, fault: Fault) {
        self.mailbox.script.lock().expect("no holder of the lock panics").push_back(fault);
    }

    /// Answers 550 to every RCPT of this address from now on, whatever the order of messages: that mailbox does not exist.
    pub fn refuse(&self, address: &str) {
        self.mailbox.refused.lock().expect("no holder of the lock panics").insert(address.to_owned());
    }

    /// How many mails have come.
    pub fn count(&self) -> usize {
        self.mailbox.received.borrow().len()
    }

    /// Whether every connection is closed at once.
    pub fn set_down(&self, down: bool) {
        self.mailbox.down.store(down, Ordering::SeqCst);
    }
}

impl Mailbox {
    fn next_fault(&self) -> Fault {
        self.script.lock().expect("no holder of the lock panics").pop_front().unwrap_or(Fault::Pass)
    }

    fn refuses(&self, address: &str) -> bool {
        self.refused.lock().expect("no holder of the lock panics").contains(address)
    }

    fn keep(&self, mail: Received) {
        self.received.send_modify(|mails| mails.push(mail));
    }
}

async fn listen(socket: TcpListener, mailbox: Arc<Mailbox>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = socket.accept().await {
        if mailbox.down.load(Ordering::SeqCst) {
            continue;
        }
        let mailbox = Arc::clone(&mailbox);
        connections.spawn(async move { Connection { stream: BufStream::new(stream), mailbox }.serve().await });
        // A connection's error means that its client hung up; the test decides what that means.
        while connections.try_join_next().is_some() {}
    }
}

struct Connection {
    stream: BufStream<TcpStream>,
    mailbox: Arc<Mailbox>,
}

/// One mail transaction: what MAIL opened and DATA or RSET ends.
struct Envelope {
    from: String,
    to: Vec<String>,
    fault: Fault,
}

impl Connection {
    async fn serve(mut self) -> io::Result<()> {
        let mut greeted = false;
        let mut envelope: Option<Envelope> = None;
        self.reply("220 localhost sink").await?;
        loop {
            let line = self.read_line().await?;
            let line = String::from_utf8_lossy(&line).into_owned();
            let (verb, argument) = line.split_once(' ').unwrap_or((&line, ""));
            match (verb.to_ascii_uppercase().as_str(), &mut envelope) {
                ("EHLO", open) => {
                    (greeted, *open) = (true, None);
                    self.reply(&format!("250-localhost\r\n250-8BITMIME\r\n250 SIZE {MESSAGE_BYTES_MAX}")).await?;
                }
                ("HELO", open) => {
                    (greeted, *open) = (true, None);
                    self.reply("250 localhost").await?;
                }
                ("MAIL", open @ None) if greeted => match path(argument, "FROM:") {
                    Some(from) => {
                        *open = Some(Envelope { from, to: Vec::new(), fault: self.mailbox.next_fault() });
                        self.reply("250 sender ok").await?;
                    }
                    None => self.reply("501 MAIL FROM:<address>").await?,
                },
                ("RCPT", Some(open)) => self.recipient(open, argument).await?,
                ("DATA", open) => match open.take_if(|open| !open.to.is_empty()) {
                    Some(envelope) => {
                        self.reply("354 end with <CRLF>.<CRLF>").await?;
                        let content = self.read_content().await?;
                        self.conclude(envelope, content).await?;
                    }
                    None => self.reply("503 bad sequence of commands").await?,
                },
                ("RSET", open) => {
                    *open = None;
                    self.reply("250 forgotten").await?;
                }
                ("NOOP", _) => self.reply("250 ok").await?,
                ("QUIT", _) => return self.reply("221 bye").await,
                ("MAIL" | "RCPT", _) => self.reply("503 bad sequence of commands").await?,
                _ => self.reply("502 command not implemented").await?,
            }
        }
    }

    async fn recipient(&mut self, envelope: &mut Envelope, argument: &str) -> io::Result<()> {
        match (path(argument, "TO:"), envelope.fault) {
            (_, Fault::Defer) => self.reply("451 4.7.1 try again later").await,
            (_, Fault::RejectRecipient) => self.reply("550 5.1.1 no such mailbox").await,
            (_, Fault::DropAtRecipient) => Err(io::ErrorKind::ConnectionAborted.into()),
            (Some(to), _) if self.mailbox.refuses(&to) => self.reply("550 5.1.1 no such mailbox").await,
            (None, _) => self.reply("501 RCPT TO:<address>").await,
            (Some(_), _) if envelope.to.len() == RECIPIENTS_MAX => self.reply("452 4.5.3 too many recipients").await,
            (Some(to), _) => {
                envelope.to.push(to);
                self.reply("250 recipient ok").await
            }
        }
    }

    /// Answers a whole message; an error closes the connection.
    async fn conclude(&mut self, envelope: Envelope, content: Option<Vec<u8>>) -> io::Result<()> {
        let Envelope { from, to, fault } = envelope;
        let Some(raw) = content else {
            return self.reply("552 5.3.4 message too big").await;
        };
        let quoted = quoted(&raw);
        let kept = matches!(
            fault,
            Fault::Pass | Fault::QuoteMessage | Fault::KeepThenDrop | Fault::KeepThenHang | Fault::DropAfterReply
        );
        if kept {
            self.mailbox.keep(Received { from, to, raw });
        }
        match fault {
            Fault::RejectMessage => self.reply("554 5.7.1 refused").await,
            Fault::QuoteMessage => self.reply(&format!("554-5.7.1 refused for {}\r\n554 5.7.1 {}", quoted.0, quoted.1)).await,
            Fault::Hang | Fault::KeepThenHang => std::future::pending().await,
            Fault::DropBeforeReply | Fault::KeepThenDrop => Err(io::ErrorKind::ConnectionAborted.into()),
            Fault::DropAfterReply => {
                self.reply("250 2.0.0 kept").await?;
                Err(io::ErrorKind::ConnectionAborted.into())
            }
            // A message with `Defer`, `RejectRecipient` or `DropAtRecipient` never comes here, because the dialogue about it ends
            // at RCPT.
            Fault::Pass | Fault::ReplyThenLose | Fault::Defer | Fault::RejectRecipient | Fault::DropAtRecipient => {
                self.reply("250 2.0.0 kept").await
            }
        }
    }

    /// Reads up to the lonely dot and undoes the dot-stuffing; `None` when it was too big.
    async fn read_content(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut content = Vec::new();
        let mut too_big = false;
        loop {
            let line = self.read_line().await?;
            if line == b"." {
                return Ok((!too_big).then_some(content));
            }
            // Bytes beyond the limit are read and thrown away; otherwise the client would never read its 552.
            too_big |= content.len() + line.len() + 2 > MESSAGE_BYTES_MAX;
            if !too_big {
                content.extend_from_slice(line.strip_prefix(b".").unwrap_or(&line));
                content.extend_from_slice(b"\r\n");
            }
        }
    }

    /// Reads one line, without its CRLF; a longer one, or one that is not ended by CRLF, ends the connection.
    async fn read_line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        // One byte more than a line may have, because a client doubles a dot at the start of a line (dot-stuffing).
        let mut limited = (&mut self.stream).take(LINE_BYTES_MAX as u64 + 1);
        if limited.read_until(b'\n', &mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let fault = match line.strip_suffix(b"\r\n") {
            Some(text) if !text.contains(&b'\r') => return Ok(text.to_vec()),
            None if line.len() > LINE_BYTES_MAX => "500 line too long",
            _ => "500 only CRLF ends a line",
        };
        self.reply(fault).await?;
        Err(io::ErrorKind::InvalidData.into())
    }

    async fn reply(&mut self, text: &str) -> io::Result<()> {
        self.stream.write_all(format!("{text}\r\n").as_bytes()).await?;
        self.stream.flush().await
    }
}

/// The address in `FROM:<address> PARAMETERS`.
fn path(argument: &str, keyword: &str) -> Option<String> {
    let (word, rest) = argument.split_at_checked(keyword.len())?;
    let (address, _parameters) = rest.trim_start().strip_prefix('<')?.split_once('>')?;
    word.eq_ignore_ascii_case(keyword).then(|| address.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: &[&str] = &["EHLO test", "MAIL FROM:<placet@example.com> SIZE=99", "RCPT TO:<alice@example.com>", "DATA"];
    const MAIL: &str = "Subject: =?utf-8?Q?Caf=C3=A9=3F?=\r\nX-Auto-Response-Suppress: All\r\n\
        Content-Type: multipart/alternative; boundary=b\r\n\r\n\
        --b\r\nContent-Type: text/plain\r\n\r\nOpen http://127.0.0.1:80/a/tok.\r\n..hidden dot\r\n\
        Not ours: http://127.0.0.1:8080/x\r\n\
        --b\r\nContent-Type: text/html\r\n\r\n<a href=\"http://127.0.0.1:80/a/tok\">Open</a>\r\n--b--\r\n.";

    struct Client(BufStream<TcpStream>);

    impl Client {
        async fn connect(sink: &SmtpSink) -> Self {
            let mut client = Self(BufStream::new(TcpStream::connect(sink.address).await.unwrap()));
            assert_eq!(client.reply().await.unwrap(), "220");
            client
        }

        /// Sends a line and returns the code of the answer; `None` when the connection dropped.
        async fn send(&mut self, line: &str) -> Option<String> {
            self.0.write_all(format!("{line}\r\n").as_bytes()).await.ok()?;
            self.0.flush().await.ok()?;
            self.reply().await
        }

        async fn reply(&mut self) -> Option<String> {
            let mut line = String::new();
            while line.is_empty() || line[3..].starts_with('-') {
                line.clear();
                if self.0.read_line(&mut line).await.ok()? == 0 {
                    return None;
                }
            }
            Some(line[..3].to_owned())
        }

        async fn send_all(&mut self, lines: &[&str]) -> Vec<String> {
            let mut codes = Vec::new();
            for line in lines {
                codes.push(self.send(line).await.unwrap_or_else(|| "dropped".to_owned()));
            }
            codes
        }
    }

    #[tokio::test]
    async fn a_connection_carries_several_mails_and_each_is_kept_as_sent() {
        let sink = SmtpSink::start().await;
        let mut client = Client::connect(&sink).await;
        assert_eq!(client.send_all(HELLO).await, ["250", "250", "250", "354"]);
        assert_eq!(client.send(MAIL).await.unwrap(), "250");
        let again = ["MAIL FROM:<>", "RCPT TO:<bob@example.com>", "RSET", "DATA", "NOOP", "WHAT", "RCPT TO:<x@y>"];
        assert_eq!(client.send_all(&again).await, ["250", "250", "250", "503", "250", "502", "503"]);
        assert_eq!(client.send_all(&["mail from:<>", "rcpt to: <bob@example.com>", "data"]).await, ["250", "250", "354"]);
        assert_eq!(client.send_all(&["Subject: two\r\n\r\n.", "QUIT"]).await, ["250", "221"]);

        let mail = sink.next_mail().await;
        assert_eq!((mail.from.as_str(), mail.to.as_slice()), ("placet@example.com", ["alice@example.com".to_owned()].as_slice()));
        assert_eq!(mail.subject(), "Café?");
        assert_eq!(mail.header("x-auto-response-suppress").as_deref(), Some("All"));
        assert_eq!(mail.header("X-Absent"), None);
        assert!(mail.text().contains("\n.hidden dot"), "{}", mail.text());
        assert_eq!(mail.links_under("http://127.0.0.1:80/"), ["http://127.0.0.1:80/a/tok"; 2]);
        assert_eq!(mail.link("http://127.0.0.1:80"), "http://127.0.0.1:80/a/tok");
        assert_eq!(sink.next_mail().await.subject(), "two");
        assert_eq!(sink.received().len(), 2);
    }

    #[tokio::test]
    async fn each_fault_hits_one_message_and_the_next_passes() {
        let sink = SmtpSink::start().await;
        let dropped = "dropped";
        for (fault, codes, kept) in [
            (Fault::Defer, ["451", "503"].as_slice(), false),
            (Fault::RejectRecipient, &["550", "503"], false),
            (Fault::RejectMessage, &["250", "354", "554"], false),
            (Fault::DropBeforeReply, &["250", "354", dropped], false),
            (Fault::KeepThenDrop, &["250", "354", dropped], true),
            (Fault::DropAfterReply, &["250", "354", "250", dropped], true),
            (Fault::ReplyThenLose, &["250", "354", "250", "250"], false),
            (Fault::Pass, &["250", "354", "250", "250"], true),
        ] {
            sink.script(fault);
            let before = sink.received().len();
            let mut client = Client::connect(&sink).await;
            client.send_all(&HELLO[..2]).await;
            let rest = [HELLO[2], "DATA", "Subject: x\r\n\r\n.", "NOOP"];
            assert_eq!(client.send_all(&rest[..codes.len()]).await, codes, "{fault:?}");
            assert_eq!(sink.received().len() - before, usize::from(kept), "{fault:?}");
        }
        let mut client = Client::connect(&sink).await;
        assert_eq!(client.send_all(HELLO).await.last().unwrap(), "354");
        assert_eq!(client.send(MAIL).await.unwrap(), "250");
    }

    #[tokio::test]
    async fn a_hanging_sink_answers_nothing_until_it_is_dropped() {
        let sink = SmtpSink::start().await;
        sink.script(Fault::Hang);
        let mut client = Client::connect(&sink).await;
        client.send_all(HELLO).await;
        client.0.write_all(b"Subject: x\r\n\r\n.\r\n").await.unwrap();
        client.0.flush().await.unwrap();
        let mut answer = std::pin::pin!(client.reply());
        tokio::time::timeout(Duration::from_millis(100), &mut answer).await.expect_err("the sink answered");
        drop(sink);
        assert_eq!(answer.await, None);
    }

    #[tokio::test]
    async fn limits_and_line_ends_are_enforced() {
        let sink = SmtpSink::start().await;
        let mut client = Client::connect(&sink).await;
        assert_eq!(client.send_all(&["MAIL FROM:<a@b>", "EHLO x", "MAIL TO:<a@b>"]).await, ["503", "250", "501"]);
        client.send_all(&HELLO[1..]).await;
        let line = "x".repeat(998) + "\r\n";
        assert_eq!(client.send(&(line.repeat(MESSAGE_BYTES_MAX / 1000 + 1) + ".")).await.unwrap(), "552");
        assert_eq!(client.send("NOOP").await.unwrap(), "250");
        client.send_all(&HELLO[1..]).await;
        assert_eq!(client.send("bare\nline feed").await.unwrap(), "500");
        assert_eq!(client.send("NOOP").await, None);
        assert_eq!(Client::connect(&sink).await.send(&"y".repeat(2_000)).await.unwrap(), "500");
        assert!(sink.received().is_empty());
    }
}
