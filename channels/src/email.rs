use std::{fmt, time::Duration};

use async_trait::async_trait;
use lettre::{
    Address, Message as Mail,
    message::Mailbox,
    transport::smtp::{
        Error as SmtpError,
        client::AsyncSmtpConnection,
        commands,
        response::{Response, Severity},
    },
};
use secrecy::{ExposeSecret as _, SecretString};

use crate::{
    AlertMail, Channel, CheckpointMail, CheckpointPost, DeliveryError, LoginMail, Message, Postbox, Receipt, SettingsError,
    compose::{BounceAddress, compose, compose_alert, compose_checkpoint, compose_login, sender},
    smtp_server::SmtpServer,
};

/// How long a whole delivery may take, from connecting to the reply after the last line.
pub const DELIVERY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the QUIT at the end of a session may take. By then the mail has been accepted or refused, so nothing depends on it.
const QUIT_TIMEOUT: Duration = Duration::from_secs(1);

/// The settings of the mail channel.
#[derive(Clone, Debug)]
pub struct EmailSettings {
    /// `smtps://user:password@host`, or `smtp://host?tls=required` for STARTTLS.
    pub smtp_url: SecretString,
    /// `Placet <placet@example.com>`.
    pub from: String,
    /// The address that mails are returned to, `bounces@example.com`; if absent, the sender's own address.
    pub bounce_to: Option<String>,
    /// Whether a mail may cross a network unencrypted; the loopback interface needs no permission.
    pub allow_insecure: bool,
    /// The limit of one delivery, usually [`DELIVERY_TIMEOUT`].
    pub timeout: Duration,
}

/// Sends questions as mail.
///
/// Each mail has a session of its own. So nothing of a delivery remains when it is cancelled or times out, and no reply can be
/// taken for the reply to another mail.
#[derive(Debug)]
pub struct EmailChannel {
    pub(crate) server: SmtpServer,
    from: Mailbox,
    bounce_to: Option<BounceAddress>,
    timeout: Duration,
}

impl EmailChannel {
    /// Checks the settings; nothing is connected yet.
    pub fn new(settings: &EmailSettings) -> Result<Self, SettingsError> {
        Ok(Self {
            server: SmtpServer::parse(settings.smtp_url.expose_secret(), settings.allow_insecure)?,
            from: sender(&settings.from)?,
            bounce_to: settings.bounce_to.as_deref().map(BounceAddress::parse).transpose()?,
            timeout: settings.timeout,
        })
    }

    async fn hand_over(&self, mail: &Mail, return_to: Address) -> Result<Offered, DeliveryError> {
        let mut connection = self.server.connect(self.timeout).await.map_err(|failed| session_failed(&failed.error))?;
        let reply = offer(&mut connection, mail, return_to).await;
        Ok(Offered { connection, reply })
    }
}

/// The reply to an offered mail, with the session of the offer.
struct Offered {
    connection: AsyncSmtpConnection,
    reply: Result<Response, DeliveryError>,
}

#[async_trait]
impl Channel for EmailChannel {
    fn name(&self) -> &'static str {
        domain::suspension::channel::EMAIL
    }

    async fn deliver(&self, message: &Message) -> Result<Receipt, DeliveryError> {
        told(self.try_deliver(message).await, &message.link)
    }
}

#[async_trait]
impl Postbox for EmailChannel {
    async fn send_login(&self, mail: &LoginMail) -> Result<Receipt, DeliveryError> {
        let sent = match compose_login(mail, &self.from) {
            Ok(composed) => self.send(&composed.mail, self.from.email.clone()).await,
            Err(error) => Err(error),
        };
        told(sent, &mail.link)
    }

    async fn send_alert(&self, mail: &AlertMail) -> Result<Receipt, DeliveryError> {
        let composed = compose_alert(mail, &self.from)?;
        Ok(Receipt::new(&self.send(&composed.mail, self.from.email.clone()).await?))
    }
}

#[async_trait]
impl CheckpointPost for EmailChannel {
    async fn send_checkpoint(&self, mail: &CheckpointMail) -> Result<Receipt, DeliveryError> {
        let composed = compose_checkpoint(mail, &self.from)?;
        Ok(Receipt::new(&self.send(&composed, self.from.email.clone()).await?))
    }
}

/// The result of sending a mail, without its link: a spam filter may quote the mail that it refused, and the link must not get into the
/// log.
fn told(sent: Result<String, DeliveryError>, link: &str) -> Result<Receipt, DeliveryError> {
    let hide = |reply: &str| without_link(reply, link);
    match sent {
        Ok(reply) => Ok(Receipt::new(&hide(&reply))),
        Err(DeliveryError::Retry { reason, after }) => Err(DeliveryError::Retry { reason: hide(&reason), after }),
        Err(DeliveryError::Permanent { reason }) => Err(DeliveryError::Permanent { reason: hide(&reason) }),
        Err(DeliveryError::Gone { reason }) => Err(DeliveryError::Gone { reason: hide(&reason) }),
    }
}

/// How many characters of a token in a reply show that the reply quotes the link.
const TOKEN_CHARS_TELLING: usize = 16;

/// Removes the link, and the token in it, from the reply of a mail server, even if the token was cut off.
fn without_link(reply: &str, link: &str) -> String {
    let token = link.rsplit('/').next().unwrap_or(link);
    let Some(head) = token.get(..TOKEN_CHARS_TELLING) else { return reply.replace(link, "…") };
    let mut text = reply.replace(link, "…");
    while let Some(start) = text.find(head) {
        let rest = &text[start + head.len()..];
        let more = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').unwrap_or(rest.len());
        text.replace_range(start..start + head.len() + more, "…");
    }
    text
}

impl EmailChannel {
    async fn try_deliver(&self, message: &Message) -> Result<String, DeliveryError> {
        let mail = compose(message, &self.from)?.mail;
        let return_to = match &self.bounce_to {
            Some(bounce_to) => bounce_to.of(&message.bounce_token)?,
            None => self.from.email.clone(),
        };
        self.send(&mail, return_to).await
    }

    async fn send(&self, mail: &Mail, return_to: Address) -> Result<String, DeliveryError> {
        let handed_over = tokio::time::timeout(self.timeout, self.hand_over(mail, return_to)).await;
        let offered = handed_over.unwrap_or_else(|_| {
            // The server may have accepted the mail although its reply is late. The error lets the mail be sent again: a mail
            // that comes twice is better than none.
            let seconds = self.timeout.as_secs_f32();
            Err(DeliveryError::retry(&format!("the mail server did not finish within {seconds} s")))
        })?;
        say_goodbye(offered.connection).await;
        let reply = offered.reply?;
        let words = reply.message().collect::<Vec<_>>().join(" ");
        Ok(format!("{} {words}", reply.code()))
    }
}

/// Offers `mail` command by command and returns the reply to its last line.
///
/// This does not use lettre's `send`, which says good-bye before it reports that a mail was refused: a server that leaves the
/// good-bye unanswered would turn a refusal into a timeout. Our mails need no extension, because they are ASCII throughout.
async fn offer(connection: &mut AsyncSmtpConnection, mail: &Mail, return_to: Address) -> Result<Response, DeliveryError> {
    let envelope = mail.envelope();
    let sender = commands::Mail::new(Some(return_to), Vec::new());
    connection.command(sender).await.map_err(|error| refused(&error))?;
    for to in envelope.to() {
        let recipient = commands::Rcpt::new(to.clone(), Vec::new());
        connection.command(recipient).await.map_err(|error| refused(&error))?;
    }
    let go_on = connection.command(commands::Data).await.map_err(|error| refused(&error))?;
    expect_severity(&go_on, Severity::PositiveIntermediate)?;
    let taken = connection.command(Content::of(mail)?).await.map_err(|error| refused(&error))?;
    expect_severity(&taken, Severity::PositiveCompletion)?;
    Ok(taken)
}

/// A mail as it is sent after DATA, with the dot on a line of its own that ends it: every line that begins with a dot gets a
/// second one (RFC 5321 §4.5.2).
///
/// This does not use lettre's `message`, which writes the mail and the dot separately: TCP holds a small second write
/// back until the other side has acknowledged the first, and the other side delays that for 40 ms because it has no
/// reply to send before the dot.
struct Content(String);

impl Content {
    fn of(mail: &Mail) -> Result<Self, DeliveryError> {
        let text = String::from_utf8(mail.formatted()).map_err(|error| DeliveryError::permanent(&error.to_string()))?;
        Ok(Self::ended(&text))
    }

    fn ended(text: &str) -> Self {
        let mut content = String::with_capacity(text.len() + 64);
        for line in text.split_inclusive("\r\n") {
            if line.starts_with('.') {
                content.push('.');
            }
            content.push_str(line);
        }
        if !content.ends_with("\r\n") {
            content.push_str("\r\n");
        }
        content.push_str(".\r\n");
        Self(content)
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Fails if the reply is not of the expected kind; lettre accepts any 2xx or 3xx. A reply of another kind belongs to another
/// command: an attacker may have inserted an extra reply, perhaps before the encryption began. Each later reply would then be
/// read as the reply to the next command, and the last reply read would not be about this mail.
fn expect_severity(reply: &Response, severity: Severity) -> Result<(), DeliveryError> {
    if reply.code().severity == severity {
        Ok(())
    } else {
        Err(DeliveryError::retry(&format!("the mail server sent an unexpected reply: {}", reply.code())))
    }
}

/// A failure before a mail was offered says nothing about the mail, so another try is always worth it. A final error would make
/// every question look undeliverable until the operator has mended a wrong password or an expired certificate.
fn session_failed(error: &SmtpError) -> DeliveryError {
    DeliveryError::retry(&error.to_string())
}

/// A 5xx to the mail itself is final, except the four codes that ask for another login (RFC 4954 §6). All other failures may be
/// temporary: a 4xx, a lost connection, a reply that makes no sense.
fn refused(error: &SmtpError) -> DeliveryError {
    let wants_login = error.status().is_some_and(|code| matches!(u16::from(code), 530 | 534 | 535 | 538));
    if error.is_permanent() && !wants_login {
        DeliveryError::permanent(&error.to_string())
    } else {
        DeliveryError::retry(&error.to_string())
    }
}

pub(crate) async fn say_goodbye(mut connection: AsyncSmtpConnection) {
    match tokio::time::timeout(QUIT_TIMEOUT, connection.quit()).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => {
            tracing::debug!(%error, "the mail server did not take the good-bye");
        }
        Err(_) => tracing::debug!("the mail server did not answer the good-bye"),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead as _, BufReader, Write as _},
        net::{TcpListener, TcpStream},
        thread::{self, JoinHandle},
    };

    use super::*;
    use crate::message::sample;

    /// A mail server that gives special replies to some commands (or as its greeting, or at the end of the mail).
    struct FakeServer {
        url: String,
        heard: JoinHandle<Vec<String>>,
    }

    const SILENCE: &str = "";
    const HANG_UP: &str = "hang up";
    const PATIENT: Duration = Duration::from_secs(10);
    const IMPATIENT: Duration = Duration::from_millis(300);

    impl FakeServer {
        fn answering(special: &'static [(&'static str, &'static str)]) -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let url = format!("smtp://{}", listener.local_addr().unwrap());
            let heard = thread::spawn(move || serve(&listener.accept().unwrap().0, special));
            Self { url, heard }
        }

        fn kind() -> Self {
            Self::answering(&[])
        }

        fn channel(&self) -> EmailChannel {
            channel(&self.url, PATIENT)
        }
    }

    fn channel(url: &str, timeout: Duration) -> EmailChannel {
        EmailChannel::new(&EmailSettings {
            smtp_url: SecretString::from(url),
            from: "Placet <placet@northpine.example>".to_owned(),
            bounce_to: None,
            allow_insecure: false,
            timeout,
        })
        .unwrap()
    }

    fn serve(stream: &TcpStream, special: &[(&str, &str)]) -> Vec<String> {
        let mut heard = Vec::new();
        let mut lines = BufReader::new(stream).lines();
        let special = |step: &str| special.iter().find(|(to, _)| *to == step).map(|(_, reply)| *reply);
        let say = |step: &str, usual: &str| match special(step).unwrap_or(usual) {
            HANG_UP => false,
            SILENCE => true,
            reply => (&*stream).write_all(format!("{reply}\r\n").as_bytes()).is_ok(),
        };
        let mut goes_on = say("greeting", "220 fake");
        let mut in_mail = false;
        while goes_on {
            let Some(Ok(line)) = lines.next() else { break };
            let step = if in_mail && line != "." { "line" } else { line.split([' ', ':']).next().unwrap_or("") }.to_owned();
            goes_on = match step.as_str() {
                "line" => true,
                "EHLO" => say("EHLO", "250 fake"),
                "DATA" => {
                    in_mail = special("DATA").is_none();
                    say("DATA", "354 go on")
                }
                "." => {
                    in_mail = false;
                    say(".", "250-2.0.0 taken\r\n250 2.0.0 queued as 4711\u{7}")
                }
                "QUIT" => say("QUIT", "221 bye"),
                other => say(other, "250 fine"),
            };
            heard.push(line);
        }
        heard
    }

    async fn outcome(to: &'static str, reply: &'static str) -> Result<Receipt, DeliveryError> {
        let special: &'static [_] = Box::leak(Box::new([(to, reply)]));
        // If the server never replies, the channel waits for the whole `timeout`, so it is short in that case. Only the wait for
        // the reply to QUIT has a limit of its own.
        let timeout = if reply == SILENCE && to != "QUIT" { IMPATIENT } else { PATIENT };
        channel(&FakeServer::answering(special).url, timeout).deliver(&sample::question()).await
    }

    #[test]
    fn a_reply_that_quotes_the_link_loses_it() {
        let link = "https://placet.example/a/plc_AAAAAAAAAAEHkI62e40AuvgBWqT1M4LaBJJYsNYTl_eqJvIezy25Xg";
        for reply in [format!("554 blocked URL {link}"), format!("554 blocked {}", &link[..70]), format!("554 <{}>", &link[25..])]
        {
            let told = without_link(&reply, link);
            assert!(told.starts_with("554") && !told.contains("AAAAAAEHk"), "{told}");
        }
        assert_eq!(without_link("250 2.0.0 Ok: queued as 4F2", link), "250 2.0.0 Ok: queued as 4F2");
    }

    #[tokio::test]
    async fn a_taken_mail_is_reported_with_the_servers_last_reply() {
        let server = FakeServer::kind();
        let receipt = server.channel().deliver(&sample::question()).await.unwrap();
        assert_eq!(receipt.reply, "250 2.0.0 taken 2.0.0 queued as 4711⟨U+0007⟩");
        let heard = server.heard.join().unwrap();
        assert!(heard.contains(&"MAIL FROM:<placet@northpine.example>".to_owned()));
        assert!(heard.contains(&"RCPT TO:<priya.raman@northpine.example>".to_owned()));
        assert_eq!(heard.last().unwrap(), "QUIT");
    }

    /// A line with only a dot would end the mail early, and the lines behind it would be commands.
    #[test]
    fn dots_at_the_start_of_a_line_are_doubled_and_one_alone_ends_the_mail() {
        for (text, sent) in [
            ("", "\r\n.\r\n"),
            ("a", "a\r\n.\r\n"),
            ("a\r\n", "a\r\n.\r\n"),
            (".\r\n", "..\r\n.\r\n"),
            ("a\r\n.\r\nMAIL\r\n", "a\r\n..\r\nMAIL\r\n.\r\n"),
            ("a.\r\n\r\n..b.\r\n", "a.\r\n\r\n...b.\r\n.\r\n"),
        ] {
            assert_eq!(Content::ended(text).to_string(), sent, "{text:?}");
        }
    }

    /// A 5xx reply to the mail itself is a permanent error, unless it asks for another login. So the next people are asked at
    /// once; trying again would only cost minutes.
    #[tokio::test]
    async fn a_final_refusal_of_the_mail_is_permanent() {
        for (to, reply) in
            [("MAIL", "550 5.7.1 not you"), ("RCPT", "550 5.1.1 nobody here"), ("DATA", "554 no"), (".", "552 too large")]
        {
            let error = outcome(to, reply).await.unwrap_err();
            assert!(matches!(error, DeliveryError::Permanent { .. }), "{to} {reply}: {error:?}");
            assert!(error.to_string().contains(&reply[..3]), "{error}");
        }
    }

    #[tokio::test]
    async fn whatever_may_pass_is_retried() {
        for (to, reply) in [
            ("greeting", "421 busy"),
            ("greeting", "554 not today"),
            ("greeting", HANG_UP),
            ("greeting", SILENCE),
            ("greeting", "hello"),
            ("EHLO", "500 what"),
            ("MAIL", "451 later"),
            ("MAIL", "530 log in first"),
            ("RCPT", "450 greylisted"),
            ("RCPT", SILENCE),
            ("DATA", HANG_UP),
            ("RCPT", "250 fine\r\n250 slipped in"),
            (".", "354 go on"),
            (".", "451 later"),
            (".", SILENCE),
            (".", HANG_UP),
        ] {
            let error = outcome(to, reply).await.unwrap_err();
            assert!(matches!(error, DeliveryError::Retry { .. }), "{to} {reply}: {error:?}");
        }
    }

    #[tokio::test]
    async fn a_refusal_counts_also_when_the_server_then_falls_silent() {
        let server = FakeServer::answering(&[("RCPT", "550 5.1.1 nobody here"), ("QUIT", SILENCE)]);
        let error = server.channel().deliver(&sample::question()).await.unwrap_err();
        assert_eq!(error, DeliveryError::permanent("permanent error (550): 5.1.1 nobody here"));
    }

    /// Once the server has accepted the mail, a missing or wrong reply to QUIT does not make the delivery fail. A failure would
    /// send a second copy of the mail.
    #[tokio::test]
    async fn a_lost_goodbye_does_not_matter() {
        for reply in [HANG_UP, SILENCE, "500 what"] {
            outcome("QUIT", reply).await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_retried() {
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let error = channel(&format!("smtp://{closed}"), PATIENT).deliver(&sample::question()).await.unwrap_err();
        assert!(matches!(error, DeliveryError::Retry { .. }), "{error:?}");
    }

    /// With `?tls=required`, a server that does not offer STARTTLS gets no mail: an attacker on the way may have removed the
    /// offer.
    #[tokio::test]
    async fn required_encryption_is_never_given_up() {
        let server = FakeServer::kind();
        let error = channel(&format!("{}?tls=required", server.url), PATIENT).deliver(&sample::question()).await.unwrap_err();
        assert!(matches!(error, DeliveryError::Retry { .. }), "{error:?}");
        assert!(!server.heard.join().unwrap().iter().any(|line| line.starts_with("MAIL")));
    }

    #[tokio::test]
    async fn long_and_hostile_replies_are_bounded() {
        let reply: &'static str = Box::leak(format!("550 \u{1b}[2J{}", "x".repeat(900)).into_boxed_str());
        let reason = outcome("RCPT", reply).await.unwrap_err().to_string();
        assert_eq!(reason.chars().count(), crate::REPORT_CHARS_MAX);
        assert!(!reason.contains('\u{1b}'));
    }

    #[tokio::test]
    async fn an_unusable_recipient_never_reaches_the_server() {
        let message = Message { recipient: "not an address".to_owned(), ..sample::question() };
        let error = channel("smtp://127.0.0.1:1", PATIENT).deliver(&message).await.unwrap_err();
        assert!(matches!(error, DeliveryError::Permanent { .. }), "{error:?}");
    }
}
