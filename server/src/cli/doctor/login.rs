//! The issuer of identities by which people log in: whether it answers, and what it must know of this server.

use std::sync::Arc;

use store::Inspection;
use store::host::clock::SystemClock;
use url::Url;

use super::finding::Finding;
use crate::config::Config;
use crate::openid::{Provider, Refused};

const CHECK: &str = "login";

pub(super) async fn check(config: &Config, public_url: &str, seen: Option<&Inspection>) -> anyhow::Result<Vec<Finding>> {
    let Some(openid) = &config.openid else { return Ok(Vec::new()) };
    // The secret makes the texts of a login, and the doctor begins none.
    let provider = Provider::new(openid.clone(), &Url::parse(public_url)?, Arc::new(SystemClock), [0; 32])?;
    let (issuer, redirect) = (&openid.issuer, provider.redirect());
    let mut findings = vec![match provider.check().await {
        Ok(()) => Finding::ok(
            CHECK,
            format!("The issuer {issuer} answers, and names itself so. It must allow the redirect address {redirect}"),
        ),
        Err(Refused::Away(why) | Refused::Untrue(why)) => Finding::fail(
            CHECK,
            format!("The issuer {issuer} cannot be used: {why}. People cannot log in by it."),
            format!(
                "Look at {issuer}/.well-known/openid-configuration: \"issuer\" there and issuer under [login.openid] must be the same. The issuer must allow the redirect address {redirect}"
            ),
        ),
    }];
    findings.extend(seen.and_then(|seen| missing(&provider, seen)));
    Ok(findings)
}

/// The groups that should follow the issuer, and do not exist.
fn missing(provider: &Provider, seen: &Inspection) -> Option<Finding> {
    let known = &seen.directory.as_ref()?.groups;
    let missing: Vec<&str> =
        provider.groups().into_iter().filter(|name| !known.iter().any(|group| group.name == *name)).collect();
    (!missing.is_empty()).then(|| {
        Finding::warn(
            CHECK,
            format!("Groups under [login.openid.groups] that do not exist: {}.", missing.join(", ")),
            "Make them (placet groups set NAME ADDRESS), or take them out of the file. Until then they are left out at each login.",
        )
    })
}
