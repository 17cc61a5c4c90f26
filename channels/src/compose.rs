use std::time::SystemTime;

use chrono::{DateTime, Datelike as _, Utc};
use domain::base::address::LOCAL_PART_MAX;
use domain::suspension::delivery::BOUNCE_TOKEN_CHARS_MAX;
use lettre::{
    Address,
    address::Envelope,
    message::{
        Attachment, Body, Mailbox, Message as Mail, MessageBuilder, MultiPart, SinglePart,
        header::{ContentTransferEncoding, ContentType, HeaderName, HeaderValue},
    },
};

use crate::{
    AlertMail, CheckpointMail, DeliveryError, LoginMail, Message, Occasion, RenderError, Rendered, SettingsError, login, render,
};

/// The boundary cannot occur in a part: quoted-printable writes every `=` as `=3D` (RFC 2045 §6.7), and base64 has no underscore.
const BOUNDARY: &str = "=_placet_parts";
/// The longest message id that fits a header line, with room to spare.
const MESSAGE_ID_BYTES_MAX: usize = 250;
/// The reason that every channel gives for not sending a message to a recipient that is not a plain address.
pub(crate) const NO_PLAIN_ADDRESS: &str =
    "the recipient is not a plain e-mail address: a mail server might carry the message elsewhere, so it was not sent";

const NOT_ENCODED: &str = "a part of the mail cannot be encoded";

/// A mail as it is sent, with the texts that it was made from.
pub(crate) struct Composed {
    pub(crate) rendered: Rendered,
    pub(crate) mail: Mail,
}

/// Makes the mail for `message`; the same message gives the same bytes.
///
/// Every string that goes into a header is free of control characters before lettre sees it: lettre panics on a line break in a
/// display name. A mail that cannot be made is [`DeliveryError::Permanent`], because a later try would give the same bytes.
pub(crate) fn compose(message: &Message, from: &Mailbox) -> Result<Composed, DeliveryError> {
    let rendered = render(message).map_err(|error| DeliveryError::permanent(&error.to_string()))?;
    let begun = begin(from, &message.recipient, &message.message_id, message.sent_at, &rendered.subject)?
        // The token stands in a header too, because some providers replace our return address by one of their own. Their
        // report of a returned mail still holds the mail's headers.
        .raw_header(bounce_header(&message.bounce_token)?);
    let mut builder = generated(begun);
    if let (Occasion::Reminder { .. } | Occasion::RemindedOnRequest, Some(first)) = (&message.occasion, &message.in_reply_to) {
        builder = builder.raw_header(id_header("In-Reply-To", first)?).raw_header(id_header("References", first)?);
    }
    finish(builder, rendered)
}

/// Makes the mail with a login link.
pub(crate) fn compose_login(mail: &LoginMail, from: &Mailbox) -> Result<Composed, DeliveryError> {
    let rendered = login::render(mail).map_err(|error| DeliveryError::permanent(&error.to_string()))?;
    let begun = begin(from, &mail.recipient, &mail.message_id, mail.sent_at, &rendered.subject)?;
    finish(generated(begun), rendered)
}

/// Makes the mail that alerts an admin.
pub(crate) fn compose_alert(mail: &AlertMail, from: &Mailbox) -> Result<Composed, DeliveryError> {
    let text = mail.text().ok_or_else(|| DeliveryError::permanent(&RenderError::Link.to_string()))?;
    let begun = begin(from, &mail.recipient, &mail.message_id, mail.sent_at, mail.language.alert_subject())?;
    let subject = mail.language.alert_subject();
    let plain = generated(begun).singlepart(part(ContentType::TEXT_PLAIN, &text)?);
    let mail = plain.map_err(|error| DeliveryError::permanent(&error.to_string()))?;
    let rendered = Rendered { subject: subject.to_owned(), text, html: String::new() };
    Ok(Composed { rendered, mail })
}

/// Makes the mail with a checkpoint of the log.
pub(crate) fn compose_checkpoint(mail: &CheckpointMail, from: &Mailbox) -> Result<Mail, DeliveryError> {
    let begun = begin(from, &mail.recipient, &mail.message_id, mail.sent_at, &mail.subject())?;
    // Bytes of no kind of text: a mail program may give the lines of a text other ends, and then the signature is wrong.
    let note = Body::new_with_encoding(mail.note.clone().into_bytes(), ContentTransferEncoding::Base64);
    let bytes = ContentType::parse("application/octet-stream").map_err(|_| DeliveryError::permanent(NOT_ENCODED))?;
    let note = note.map_err(|_| DeliveryError::permanent(NOT_ENCODED))?;
    let parts = MultiPart::mixed()
        .boundary(BOUNDARY)
        .singlepart(part(ContentType::TEXT_PLAIN, &mail.text())?)
        .singlepart(Attachment::new(mail.file_name()).body(note, bytes));
    generated(begun).multipart(parts).map_err(|error| DeliveryError::permanent(&error.to_string()))
}

/// The headers with which every mail begins, and its envelope.
fn begin(
    from: &Mailbox,
    recipient: &str,
    message_id: &str,
    sent_at: DateTime<Utc>,
    subject: &str,
) -> Result<MessageBuilder, DeliveryError> {
    let to = address(recipient).ok_or_else(|| DeliveryError::permanent(NO_PLAIN_ADDRESS))?;
    let envelope = Envelope::new(Some(from.email.clone()), vec![to.clone()])
        .map_err(|error| DeliveryError::permanent(&error.to_string()))?;
    Ok(Mail::builder()
        .raw_header(id_header("Message-ID", message_id)?)
        .date(date(sent_at)?)
        .from(from.clone())
        .to(Mailbox::new(None, to))
        .subject(subject)
        .envelope(envelope))
}

/// Adds the headers by which a program knows that a program wrote the mail.
fn generated(builder: MessageBuilder) -> MessageBuilder {
    builder.raw_header(text_header("Auto-Submitted", "auto-generated")).raw_header(text_header("X-Auto-Response-Suppress", "All"))
}

fn finish(builder: MessageBuilder, rendered: Rendered) -> Result<Composed, DeliveryError> {
    let parts = MultiPart::alternative()
        .boundary(BOUNDARY)
        .singlepart(part(ContentType::TEXT_PLAIN, &rendered.text)?)
        .singlepart(part(ContentType::TEXT_HTML, &rendered.html)?);
    let mail = builder.multipart(parts).map_err(|error| DeliveryError::permanent(&error.to_string()))?;
    Ok(Composed { rendered, mail })
}

/// The header by which a returned mail is recognised.
fn bounce_header(token: &str) -> Result<HeaderValue, DeliveryError> {
    if !is_token(token) {
        return Err(DeliveryError::permanent("the token for the return address is not usable"));
    }
    Ok(HeaderValue::new(HeaderName::new_from_ascii_str("X-Placet-Delivery"), token.to_owned()))
}

fn is_token(token: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '.';
    (1..=BOUNCE_TOKEN_CHARS_MAX).contains(&token.len()) && token.chars().all(is_plain)
}

/// The address to which mails are returned. Each mail uses a variant of it that holds the mail's own token, by which a
/// returned mail is recognised (RFC 5321 §4.4).
#[derive(Clone, Debug)]
pub(crate) struct BounceAddress(Address);

impl BounceAddress {
    /// Reads `bounces@example.com`.
    pub(crate) fn parse(text: &str) -> Result<Self, SettingsError> {
        let address = address(text).ok_or(SettingsError::BounceTo("it is not one plain address"))?;
        if address.user().len() + 1 + BOUNCE_TOKEN_CHARS_MAX > LOCAL_PART_MAX {
            return Err(SettingsError::BounceTo(
                "its part before the @ must be 22 characters or less, to leave room for a token",
            ));
        }
        Ok(Self(address))
    }

    /// `bounces+<token>@example.com`.
    pub(crate) fn of(&self, token: &str) -> Result<Address, DeliveryError> {
        let unusable = || DeliveryError::permanent("the return address is not usable");
        if !is_token(token) {
            return Err(unusable());
        }
        Address::new(format!("{}+{token}", self.0.user()), self.0.domain()).map_err(|_| unusable())
    }
}

/// Reads the sender, `Placet <placet@example.com>` or a bare address.
pub(crate) fn sender(from: &str) -> Result<Mailbox, SettingsError> {
    if from.chars().any(char::is_control) {
        return Err(SettingsError::From("it has control characters"));
    }
    let mailbox: Mailbox = from.parse().map_err(|_| SettingsError::From("it is not one address"))?;
    let email = address(mailbox.email.as_ref()).ok_or(SettingsError::From("the address is not a plain one"))?;
    Ok(Mailbox::new(mailbox.name, email))
}

/// One bare address that every mail server accepts. It is checked again, because an older version of this program may have
/// stored it under a weaker rule. A mail server could read other characters before the @ (`%`, `!`) as a route to another
/// server, and characters beyond ASCII need an extension that the next server may not have.
fn address(text: &str) -> Option<Address> {
    domain::base::address::exact(text)?.parse().ok()
}

/// A header with one message id. The id is written unfolded: lettre would fold a long one, which some programs mistake for an
/// empty id, so that they do not thread the mail.
fn id_header(name: &'static str, id: &str) -> Result<HeaderValue, DeliveryError> {
    let is_plain = |c: char| c.is_ascii_graphic() && !"\"\\<>()[],;:".contains(c);
    let has_two_sides =
        id.split_once('@').is_some_and(|(left, right)| !left.is_empty() && !right.is_empty() && !right.contains('@'));
    if !has_two_sides || id.len() > MESSAGE_ID_BYTES_MAX || !id.chars().all(is_plain) {
        return Err(DeliveryError::permanent("the message id is not usable"));
    }
    let value = format!("<{id}>");
    Ok(HeaderValue::dangerous_new_pre_encoded(HeaderName::new_from_ascii_str(name), value.clone(), value))
}

fn text_header(name: &'static str, value: &'static str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
}

/// The date of a mail, if its year fits the format; lettre panics on other years.
fn date(at: DateTime<Utc>) -> Result<SystemTime, DeliveryError> {
    if (1970..=9999).contains(&at.year()) { Ok(at.into()) } else { Err(DeliveryError::permanent("the date does not fit a mail")) }
}

fn part(content_type: ContentType, content: &str) -> Result<SinglePart, DeliveryError> {
    let body = Body::new_with_encoding(content.to_owned(), ContentTransferEncoding::QuotedPrintable)
        .map_err(|_| DeliveryError::permanent(NOT_ENCODED))?;
    Ok(SinglePart::builder().header(content_type).body(body))
}

#[cfg(test)]
mod tests {
    use mail_parser::{HeaderValue as Parsed, MessageParser};

    use super::*;
    use crate::message::sample;

    fn from() -> Mailbox {
        sender("Placet <placet@northpine.example>").unwrap()
    }

    fn sent(message: &Message) -> String {
        String::from_utf8(compose(message, &from()).unwrap().mail.formatted()).unwrap()
    }

    #[test]
    fn a_reminder_has_the_headers_of_a_generated_mail_in_a_thread() {
        let composed = compose(&sample::reminder(), &from()).unwrap();
        insta::assert_snapshot!(composed.mail.headers().to_string().replace("\r\n", "\n"), @r"
        Message-ID: <0193600b-2f1c-7000-8000-000000000002@placet.northpine.example>
        Date: Tue, 24 Nov 2026 08:00:00 +0000
        From: Placet <placet@northpine.example>
        To: priya.raman@northpine.example
        Subject: Re: [Placet] Refund =?utf-8?b?4oKsNDEyLjAw?= to Marta Kowalska for
         order 10-88421?
        X-Placet-Delivery: 1f.00112233445566778899aabb
        Auto-Submitted: auto-generated
        X-Auto-Response-Suppress: All
        In-Reply-To: <0193600b-2f1c-7000-8000-000000000001@placet.northpine.example>
        References: <0193600b-2f1c-7000-8000-000000000001@placet.northpine.example>
        MIME-Version: 1.0
        ");
    }

    #[test]
    fn only_a_reminder_continues_a_thread() {
        let mut escalation = sample::escalation();
        escalation.in_reply_to = Some(sample::question().message_id);
        assert!(!sent(&escalation).contains("In-Reply-To"));
        assert!(!sent(&sample::question()).contains("References"));
    }

    #[test]
    fn the_same_message_gives_the_same_bytes() {
        assert_eq!(sent(&sample::question()), sent(&sample::question()));
    }

    /// The mail arrives as it was rendered, after every encoding on the way.
    #[test]
    fn a_mail_reader_gets_both_parts_back() {
        for message in [sample::question(), sample::reminder(), sample::escalation()] {
            let rendered = render(&message).unwrap();
            let raw = sent(&message);
            assert!(raw.is_ascii());
            assert!(raw.split("\r\n").all(|line| line.len() <= 78 && !line.contains(['\r', '\n'])));
            let mail = MessageParser::default().parse(raw.as_bytes()).unwrap();
            assert_eq!(mail.subject(), Some(rendered.subject.as_str()));
            assert_eq!(mail.message_id(), Some(message.message_id.as_str()));
            assert_eq!(mail.date().unwrap().to_timestamp(), message.sent_at.timestamp());
            assert_eq!(mail.body_text(0).unwrap().replace("\r\n", "\n"), rendered.text);
            assert_eq!(mail.body_html(0).unwrap().replace("\r\n", "\n"), rendered.html);
        }
    }

    /// An agent chooses the question and sometimes the recipient. Neither text can add a header, a recipient or an SMTP command
    /// to the mail.
    #[test]
    fn hostile_strings_neither_inject_nor_panic() {
        let injections = [
            "a\r\nBcc: evil@x.example",
            "a\nBcc: evil@x.example",
            "a\rBcc: evil@x.example",
            "a\0b",
            "a\u{2028}Bcc: x",
            "\r\n\r\n<script>",
            "\r\n.\r\nMAIL FROM:<evil@x.example>",
            "=?utf-8?q?=0D=0ABcc:_evil@x.example?=",
            "\u{7F}\u{1}\u{8}",
            "",
        ];
        for injection in injections {
            let mut message = sample::reminder();
            message.question = injection.to_owned();
            message.agent = injection.to_owned();
            let raw = sent(&message);
            let mail = MessageParser::default().parse(raw.as_bytes()).unwrap();
            assert!(mail.bcc().is_none() && mail.cc().is_none(), "{injection:?}");
            assert_eq!(mail.parts.len(), 3, "{injection:?}");
            assert!(!matches!(mail.header("Subject"), Some(Parsed::Empty) | None));

            for hostile in [
                Message { recipient: format!("priya@northpine.example{injection}"), ..sample::question() },
                Message { recipient: format!("{injection}@northpine.example"), ..sample::question() },
                Message { message_id: format!("{injection} x@y"), ..sample::question() },
                Message { in_reply_to: Some(format!("x@y>{injection}")), ..sample::reminder() },
            ] {
                let refused = compose(&hostile, &from());
                let is_harmless = injection.is_empty() && hostile.recipient == "priya@northpine.example";
                assert!(is_harmless || matches!(refused, Err(DeliveryError::Permanent { .. })), "{injection:?}");
            }
            match sender(&format!("Pla{injection}cet <placet@northpine.example>")) {
                Ok(mailbox) => {
                    assert!(!injection.contains(char::is_control), "{injection:?}");
                    compose(&sample::question(), &mailbox).unwrap();
                }
                Err(error) => assert!(matches!(error, SettingsError::From(_)), "{error}"),
            }
        }
    }

    /// A return address has at most 64 characters before the @, the limit of RFC 5321: settings that leave no room for the
    /// longest token are refused. A longer address could be cut or refused on the way, and then every report about a returned
    /// mail would be lost.
    #[test]
    fn a_return_address_keeps_within_what_mail_carries() {
        let token = "f".repeat(BOUNCE_TOKEN_CHARS_MAX);
        let at_bound = BounceAddress::parse(&format!("{}@example.com", "b".repeat(22))).unwrap();
        assert_eq!(at_bound.of(&token).unwrap().user().len(), 64);
        for wrong in [format!("{}@example.com", "b".repeat(23)), "Bounces <b@example.com>".into(), "b".into(), String::new()] {
            assert!(matches!(BounceAddress::parse(&wrong), Err(SettingsError::BounceTo(_))), "{wrong}");
        }
        let bounces = BounceAddress::parse("bounces@example.com").unwrap();
        assert_eq!(bounces.of("1f.0a").unwrap().to_string(), "bounces+1f.0a@example.com");
        for hostile in ["", "a@b", "a b", "a\r\nX: y", &format!("{token}f")] {
            assert!(bounces.of(hostile).is_err(), "{hostile:?}");
            let message = Message { bounce_token: hostile.to_owned(), ..sample::question() };
            assert!(matches!(compose(&message, &from()), Err(DeliveryError::Permanent { .. })), "{hostile:?}");
        }
    }

    #[test]
    fn only_one_plain_address_is_a_recipient() {
        for recipient in [
            "priya",
            "Priya <priya@northpine.example>",
            "priya@northpine.example, jonas@northpine.example",
            "finance: priya@northpine.example;",
            "\"p r\"@northpine.example",
            "priya@[northpine",
            "pr\u{ed}ya@northpine.example",
            "priya%evil.example@northpine.example",
            "evil.example!priya@northpine.example",
            "@evil.example:priya@northpine.example",
            "priya@[192.0.2.1]",
            "@northpine.example",
            "priya@",
            " priya@northpine.example",
        ] {
            let message = Message { recipient: recipient.to_owned(), ..sample::question() };
            assert!(matches!(compose(&message, &from()), Err(DeliveryError::Permanent { .. })), "{recipient}");
        }
        assert!(address(&format!("{}@northpine.example", "a".repeat(300))).is_none());
    }

    #[test]
    fn a_sender_may_have_any_printable_name() {
        for from in ["placet@northpine.example", "Pl\u{e5}cet \u{1F7E2} <p@x.example>", "\"Placet, Inc.\" <p@x.example>"] {
            let mailbox = sender(from).unwrap();
            compose(&sample::question(), &mailbox).unwrap();
        }
        for from in ["", "Placet", "a@x.example, b@x.example", "Placet\r\n <p@x.example>", "Placet <p\u{e5}@x.example>"] {
            assert!(matches!(sender(from), Err(SettingsError::From(_))), "{from}");
        }
    }

    #[test]
    fn a_date_outside_the_format_is_refused() {
        let message = Message { sent_at: DateTime::<Utc>::MIN_UTC, expires_at: None, ..sample::question() };
        assert!(matches!(compose(&message, &from()), Err(DeliveryError::Permanent { .. })));
    }
}
