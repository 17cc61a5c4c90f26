//! The mail server: the doctor opens a session as for a mail, without sending one.

use std::time::Duration;

use channels::{EmailChannel, EmailSettings, SessionError};

use super::finding::Finding;
use crate::config::Config;
use crate::edge::settings::Settings;

const CHECK: &str = "mail";
/// How long the whole session may take.
const TIMEOUT: Duration = Duration::from_secs(15);

pub(super) async fn check(config: &Config, running: Option<&Settings>) -> Option<Finding> {
    let Some(mail) = &config.mail else {
        let is_unknown = running.is_some_and(|settings| settings.has_mail_server);
        let what = "The running server has a mail server, which is not examined: its address is unknown here. PLACET_SMTP_URL or PLACET_SMTP_URL_FILE names it.";
        return is_unknown.then(|| Finding::ok(CHECK, what));
    };
    let settings = EmailSettings {
        smtp_url: mail.smtp_url.clone(),
        from: mail.from.clone(),
        bounce_to: mail.bounce_to.clone(),
        allow_insecure: mail.allow_insecure,
        timeout: TIMEOUT,
    };
    let channel = match EmailChannel::new(&settings) {
        Ok(channel) => channel,
        Err(error) => {
            let what_to_do =
                "Correct PLACET_SMTP_URL, PLACET_MAIL_FROM or PLACET_MAIL_BOUNCE_TO; a server does not start like this.";
            return Some(Finding::fail(CHECK, format!("The mail settings cannot be used: {error}."), what_to_do));
        }
    };
    let (host, port) = channel.server_address();
    Some(match channel.check(TIMEOUT).await {
        Ok(()) => Finding::ok(CHECK, format!("The mail server {host}, port {port}, would take mails.")),
        Err(error) => Finding::fail(CHECK, sentence(&error.to_string()), what_to_do(&error)),
    })
}

fn what_to_do(error: &SessionError) -> &'static str {
    match error {
        SessionError::Name { .. } => "Correct the host in PLACET_SMTP_URL, or this machine's name resolution.",
        SessionError::Refused { .. } => {
            "Start the mail server, or correct host and port in PLACET_SMTP_URL (465 for smtps://, 587 for ?tls=required)."
        }
        SessionError::Timeout(_) => "Let this machine through the firewall to that port; many providers block port 25.",
        SessionError::Encryption(_) => {
            "Use smtps:// for port 465 and smtp://…?tls=required for port 587, with the name that stands in the server's certificate."
        }
        SessionError::Login(_) => "Correct user and password in PLACET_SMTP_URL; special characters are written as %40.",
        SessionError::Unfit(_) => {
            "Look for this reply in the mail server's log or documentation: the mail server may not accept mails from \
             this machine."
        }
        SessionError::Broken(_) => {
            "Check that host and port are a mail server's, and its kind of encryption (smtps:// for 465, ?tls=required for 587)."
        }
    }
}

/// A fragment as a sentence.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str().trim_end_matches('.'))
}
