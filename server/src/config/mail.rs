//! The mail server by which people are asked.

use anyhow::bail;
use secrecy::SecretString;

/// The mail server and the sender.
#[derive(Clone, Debug)]
pub struct MailConfig {
    /// May hold a password.
    pub smtp_url: SecretString,
    pub from: String,
    /// The address to which mails come back; without it, the sender's own address.
    pub bounce_to: Option<String>,
    pub allow_insecure: bool,
}

pub(super) fn mail(
    smtp_url: Option<SecretString>,
    from: Option<String>,
    bounce_to: Option<String>,
    insecure: Option<bool>,
) -> anyhow::Result<Option<MailConfig>> {
    match (smtp_url, from) {
        (Some(smtp_url), Some(from)) => {
            Ok(Some(MailConfig { smtp_url, from, bounce_to, allow_insecure: insecure.unwrap_or(false) }))
        }
        (Some(_), None) => bail!("mails need a sender; set PLACET_MAIL_FROM=\"Placet <placet@example.com>\""),
        (None, Some(_)) => bail!("PLACET_MAIL_FROM is set, but no mail server; set PLACET_SMTP_URL as well"),
        (None, None) if bounce_to.is_some() => {
            bail!("PLACET_MAIL_BOUNCE_TO is set, but no mail server; set PLACET_SMTP_URL as well")
        }
        (None, None) => Ok(None),
    }
}
