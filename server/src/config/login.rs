//! The issuer of identities by which people log in: `[login.openid]`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, anyhow, bail};
use chrono::TimeDelta;
use domain::base::address::AllowList;
use domain::base::login::is_plain;
use domain::people::group::{GROUPS_MAX, read_name};
use domain::people::identity::{ISSUER_MAX, RECENT_LOGIN_SECONDS};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use super::channels::secret;
use super::loopback::is_loopback;

/// The variable with the secret that the issuer has given to the server.
pub const OPENID_CLIENT_SECRET: &str = "PLACET_OPENID_CLIENT_SECRET";
/// The most domains.
const DOMAINS_MAX: usize = 100;
/// How long a login counts as recent unless the file says otherwise, in seconds.
const RECENT_LOGIN_DEFAULT: u32 = 300;
/// The most scopes that are asked for besides `openid`.
const SCOPES_MAX: usize = 20;
/// The longest name of a client, a scope, a claim or a value of a claim, in bytes.
const TEXT_MAX: usize = 255;

/// `[login]` in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LoginSection {
    openid: Option<OpenIdSection>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OpenIdSection {
    issuer: String,
    client_id: String,
    client_secret: Option<SecretString>,
    client_secret_file: Option<PathBuf>,
    domains: Vec<String>,
    scopes: Option<Vec<String>>,
    recent_login_seconds: Option<u32>,
    groups_claim: Option<String>,
    #[serde(default)]
    groups: BTreeMap<String, String>,
}

/// The issuer by which people log in.
#[derive(Clone, Debug)]
pub struct OpenIdConfig {
    /// Its address, as it stands in what it signs.
    pub issuer: String,
    /// The name that the issuer has given to the server.
    pub client_id: String,
    /// The secret that belongs to this name.
    pub client_secret: SecretString,
    /// The domains for whose addresses the issuer speaks.
    pub domains: AllowList,
    /// The scopes that the server asks for besides `openid`.
    pub scopes: Vec<String>,
    /// How long a login counts as recent.
    pub recent_login: TimeDelta,
    /// How groups follow the issuer, if some do.
    pub groups: Option<GroupsConfig>,
}

/// The groups that follow the issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupsConfig {
    /// The claim that names the groups of a person at the issuer.
    pub claim: String,
    /// For each value of the claim, the group on this server.
    pub by_value: BTreeMap<String, String>,
}

impl GroupsConfig {
    /// The groups on this server, each once.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.by_value.values().map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl LoginSection {
    /// The file from which the secret is read, if there is one.
    pub(super) fn secret_file(&self) -> Option<PathBuf> {
        self.openid.as_ref().and_then(|openid| openid.client_secret_file.clone())
    }

    /// Whether the section holds the secret itself.
    pub(super) fn holds_secret(&self) -> bool {
        self.openid.as_ref().is_some_and(|openid| openid.client_secret.is_some())
    }

    /// Checks the settings. `environment` knows the secrets that variables hold.
    pub(super) fn resolve(
        self,
        environment: &dyn Fn(&str) -> anyhow::Result<Option<SecretString>>,
    ) -> anyhow::Result<Option<OpenIdConfig>> {
        self.openid.map(|openid| openid.resolve(environment)).transpose()
    }
}

impl OpenIdSection {
    fn resolve(self, environment: &dyn Fn(&str) -> anyhow::Result<Option<SecretString>>) -> anyhow::Result<OpenIdConfig> {
        check_issuer(&self.issuer)?;
        if !is_text(&self.client_id) {
            bail!("login.openid: client_id must be 1 to {TEXT_MAX} printable characters, as the issuer gave it");
        }
        let domains = domains(&self.domains)?;
        let scopes = self.scopes.unwrap_or_else(|| vec!["email".to_owned()]);
        // RFC 6749, Appendix A.4.
        let is_scope = |scope: &String| is_text(scope) && !scope.contains([' ', '"', '\\']);
        if scopes.len() > SCOPES_MAX || !scopes.iter().all(is_scope) {
            bail!("login.openid: scopes must be at most {SCOPES_MAX} words, for example [\"email\", \"groups\"]");
        }
        let recent = self.recent_login_seconds.unwrap_or(RECENT_LOGIN_DEFAULT);
        if !RECENT_LOGIN_SECONDS.contains(&recent) {
            let (least, most) = RECENT_LOGIN_SECONDS.into_inner();
            bail!("login.openid: recent_login_seconds must be {least} to {most}");
        }
        let recent_login = TimeDelta::seconds(recent.into());
        let groups = groups(self.groups_claim, self.groups)?;
        let client_secret = match environment(OPENID_CLIENT_SECRET)? {
            Some(secret) => Some(secret),
            None => secret("client_secret", self.client_secret, self.client_secret_file.as_deref()).context("login.openid")?,
        };
        let Some(client_secret) = client_secret.filter(|secret| !secret.expose_secret().is_empty()) else {
            bail!("login.openid: set client_secret, client_secret_file or {OPENID_CLIENT_SECRET}");
        };
        let (issuer, client_id) = (self.issuer, self.client_id);
        Ok(OpenIdConfig { issuer, client_id, client_secret, domains, scopes, recent_login, groups })
    }
}

/// Whether a text can be sent to the issuer, and compared with what it sends.
fn is_text(text: &str) -> bool {
    (1..=TEXT_MAX).contains(&text.len()) && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
}

fn check_issuer(text: &str) -> anyhow::Result<()> {
    // The address is not repeated: a password that was put into it by mistake must not appear in the log.
    let refused = |why: &str| anyhow!("login.openid: issuer {why}");
    let parsed = Url::parse(text).ok().filter(|url| is_plain(text) && url.host().is_some());
    let url = parsed.ok_or_else(|| refused("is no address; write it exactly as the issuer does: https://login.example.com"))?;
    if url.query().is_some() || url.fragment().is_some() || !url.username().is_empty() || url.password().is_some() {
        return Err(refused("must be a scheme, a host, and perhaps a port and a path, nothing else"));
    }
    if text.len() > ISSUER_MAX {
        return Err(refused(&format!("must be at most {ISSUER_MAX} bytes")));
    }
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_loopback(&url) => Ok(()),
        _ => Err(refused("must begin with https://; http:// is for this machine only")),
    }
}

fn domains(domains: &[String]) -> anyhow::Result<AllowList> {
    if !(1..=DOMAINS_MAX).contains(&domains.len()) {
        bail!("login.openid: domains must name 1 to {DOMAINS_MAX} domains for whose addresses the issuer speaks");
    }
    let patterns: Vec<String> = domains.iter().map(|domain| format!("*@{domain}")).collect();
    let named = domains.iter().find(|domain| domain.contains('@') || domain.trim() != domain.as_str() || domain.is_empty());
    if let Some(wrong) = named {
        bail!("login.openid: domains: {wrong:?} is no domain like example.com");
    }
    AllowList::parse(patterns.iter().map(String::as_str))
        .map_err(|why| anyhow!("login.openid: domains: {}", why.replace("*@", "").replace("domain pattern", "domain")))
}

fn groups(claim: Option<String>, by_value: BTreeMap<String, String>) -> anyhow::Result<Option<GroupsConfig>> {
    let Some(claim) = claim else {
        if !by_value.is_empty() {
            bail!("login.openid: groups is set, but no groups_claim names the claim whose values they are");
        }
        return Ok(None);
    };
    if !is_text(&claim) {
        bail!("login.openid: groups_claim must be 1 to {TEXT_MAX} printable characters, for example \"groups\"");
    }
    if by_value.is_empty() || by_value.len() > GROUPS_MAX as usize {
        bail!("login.openid: groups must map 1 to {GROUPS_MAX} values of groups_claim to groups of this server");
    }
    if let Some((value, _)) = by_value.iter().find(|(_, group)| read_name(group).is_err()) {
        bail!("login.openid: groups: {value:?} must name a group: 1 to 64 small letters, digits and hyphens");
    }
    Ok(Some(GroupsConfig { claim, by_value }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = "[openid]\nissuer = 'https://login.example.com'\nclient_id = 'placet'\ndomains = ['example.com']\n";

    fn resolve(text: &str, environment: Option<&str>) -> anyhow::Result<OpenIdConfig> {
        let section: LoginSection = toml::from_str(text)?;
        let environment = |name: &str| Ok(environment.filter(|_| name == OPENID_CLIENT_SECRET).map(SecretString::from));
        section.resolve(&environment)?.context("there is no issuer")
    }

    #[test]
    fn every_key_changes_something() {
        assert!(toml::from_str::<LoginSection>("").unwrap().resolve(&|_| Ok(None)).unwrap().is_none());
        let least = resolve(&format!("{LEAST}client_secret = 's3cr3t'"), None).unwrap();
        assert_eq!((least.issuer.as_str(), least.client_id.as_str()), ("https://login.example.com", "placet"));
        assert_eq!((least.client_secret.expose_secret(), least.scopes.as_slice()), ("s3cr3t", ["email".to_owned()].as_slice()));
        assert!(
            least.domains.allows("ada@EXAMPLE.com") && !least.domains.allows("ada@sub.example.com") && least.groups.is_none()
        );
        let more = format!(
            "{LEAST}client_secret = 's3cr3t'\nscopes = ['email', 'groups']\ngroups_claim = 'groups'\n[openid.groups]\n\"Finance Team\" = 'finance'\nbosses = 'finance'\nboard = 'board'"
        );
        let more = resolve(&more, Some("from the environment")).unwrap();
        assert_eq!(more.client_secret.expose_secret(), "from the environment", "the environment wins over the file");
        assert_eq!(more.scopes, ["email", "groups"]);
        let groups = more.groups.unwrap();
        assert_eq!((groups.claim.as_str(), groups.names()), ("groups", vec!["board", "finance"]));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        std::fs::write(&file, "in a file\n").unwrap();
        let text = format!("{LEAST}client_secret_file = '{}'", file.display());
        assert_eq!(resolve(&text, None).unwrap().client_secret.expose_secret(), "in a file");
        let section: LoginSection = toml::from_str(&text).unwrap();
        assert!(section.secret_file() == Some(file) && !section.holds_secret());
        for issuer in ["http://127.0.0.1:9/tenant", "http://localhost", "https://login.example.com:8443/tenant/v2.0"] {
            let text = LEAST.replace("https://login.example.com", issuer);
            assert_eq!(resolve(&text, Some("s3cr3t")).unwrap().issuer, issuer);
        }
    }

    /// Refusals end up in logs and tickets. They name the setting, and repeat nothing that must stay secret.
    #[test]
    fn what_is_wrong_is_refused_by_the_name_of_its_setting() {
        let issuer = |issuer: &str| LEAST.replace("https://login.example.com", issuer);
        let with = |more: &str| format!("{LEAST}client_secret = 's3cr3t'\n{more}");
        let domains = |domains: &str| LEAST.replace("['example.com']", domains);
        for (text, words) in [
            (LEAST.to_owned(), "set client_secret, client_secret_file or PLACET_OPENID_CLIENT_SECRET"),
            (format!("{LEAST}client_secret = ''"), "set client_secret"),
            (with("client_secret_file = '/nowhere'"), "both set"),
            (format!("{LEAST}client_secret_file = '/nowhere/s'"), "/nowhere/s"),
            (issuer("http://login.example.com"), "issuer must begin with https://"),
            (issuer("https://u:hunter2@login.example.com"), "issuer must be"),
            (issuer("https://login.example.com?a"), "issuer must be"),
            (issuer("login.example.com"), "issuer is no address"),
            (issuer(&format!("https://{}.example", "i/".repeat(130))), "issuer must be at most 255"),
            (LEAST.replace("'placet'", "''"), "client_id must be"),
            (domains("[]"), "domains must name 1 to 100"),
            (domains("['ada@example.com']"), "domains: \"ada@example.com\" is no domain"),
            (domains("['*.example.com']"), "domains: \"*.example.com\" is no domain"),
            (domains("['']"), "domains: \"\" is no domain"),
            (with("scopes = ['a b']"), "scopes must be"),
            (with("groups_claim = 'groups'"), "groups must map"),
            (with("groups_claim = ''"), "groups_claim must be"),
            (with("[openid.groups]\na = 'finance'"), "no groups_claim"),
            (with("groups_claim = 'groups'\n[openid.groups]\na = 'Finance'"), "groups: \"a\" must name a group"),
        ] {
            let refused = format!("{:#}", resolve(&text, None).unwrap_err());
            assert!(refused.starts_with("login.openid") && refused.contains(words), "{words}: {refused}");
            assert!(!["s3cr3t", "hunter2"].iter().any(|secret| refused.contains(secret)), "{refused}");
        }
    }
}
