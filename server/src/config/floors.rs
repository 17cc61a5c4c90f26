//! How sure the server must at least be of the person who answers: one `[[agents]]` per agent with rules of its own, and `[floors]` with
//! the floors of groups and of declared risks.

use std::collections::BTreeMap;

use anyhow::bail;
use domain::asking::floors::Floors;
use domain::base::name::{is_same_in_any_case, normal};
use domain::people::group::{GROUPS_MAX, read_name};
use domain::suspension::demand::{AgentRule, RequiredAssurance, Risk, Separation};
use serde::Deserialize;

/// The most agents with rules of their own.
const AGENTS_MAX: usize = 1_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentSection {
    name: String,
    assurance: Option<RequiredAssurance>,
    separation: Option<Separation>,
}

/// `[floors]` in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FloorsSection {
    groups: BTreeMap<String, RequiredAssurance>,
    risks: BTreeMap<Risk, RequiredAssurance>,
}

/// Checks the floors. `passkeys` says whether people can have passkeys on this server, and `recent_logins` whether an issuer says when they
/// logged in.
pub(super) fn resolve(
    agents: Vec<AgentSection>,
    floors: FloorsSection,
    passkeys: bool,
    recent_logins: bool,
) -> anyhow::Result<Floors> {
    if agents.len() > AGENTS_MAX {
        bail!("agents: must be at most {AGENTS_MAX}");
    }
    let mut rules: Vec<AgentRule> = Vec::with_capacity(agents.len());
    for (index, AgentSection { name, assurance, separation }) in agents.into_iter().enumerate() {
        let name = match normal(&name) {
            Ok(name) => name,
            Err((_, message)) => bail!("agents[{index}].name: {message}"),
        };
        if rules.iter().any(|rule| is_same_in_any_case(&rule.name, &name)) {
            bail!("agents[{index}].name: {name:?} is named twice");
        }
        if assurance.is_none() && separation.is_none() {
            bail!("agents[{index}]: set assurance, separation, or both");
        }
        rules.push(AgentRule { name, assurance, separation });
    }
    if floors.groups.len() > GROUPS_MAX as usize {
        bail!("floors.groups: must be at most {GROUPS_MAX} groups");
    }
    if let Some(name) = floors.groups.keys().find(|name| read_name(name).is_err()) {
        bail!("floors.groups: {name:?} is no name of a group: 1 to 64 small letters, digits and hyphens");
    }
    let floors = Floors { agents: rules, groups: floors.groups, risks: floors.risks };
    if floors.demand(RequiredAssurance::Passkey) && !passkeys {
        bail!(
            "agents, floors: a passkey can be demanded only on a server whose public URL has a domain name; set PLACET_PUBLIC_URL"
        );
    }
    if floors.demand(RequiredAssurance::RecentLogin) && !recent_logins {
        bail!(
            "agents, floors: a recent login can be demanded only where people log in by an issuer of identities; set [login.openid]"
        );
    }
    Ok(floors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Sections {
        #[serde(default)]
        agents: Vec<AgentSection>,
        #[serde(default)]
        floors: FloorsSection,
    }

    fn read(text: &str, passkeys: bool) -> anyhow::Result<Floors> {
        let Sections { agents, floors } = toml::from_str(text)?;
        resolve(agents, floors, passkeys, true)
    }

    #[test]
    fn every_key_changes_something() {
        assert_eq!(read("", false).unwrap(), Floors::default());
        let text = "[[agents]]\nname = 'payments'\nassurance = 'passkey'\n[[agents]]\nname = 'deployer'\nseparation = 'owner'\n\
                    [floors.groups]\nfinance = 'session'\n[floors.risks]\nhigh = 'session'\ncritical = 'passkey'";
        let floors = read(text, true).unwrap();
        let rule = |name: &str, assurance, separation| AgentRule { name: name.into(), assurance, separation };
        assert_eq!(
            floors.agents,
            [rule("payments", Some(RequiredAssurance::Passkey), None), rule("deployer", None, Some(Separation::Owner))]
        );
        assert_eq!(floors.groups, BTreeMap::from([("finance".to_owned(), RequiredAssurance::Session)]));
        let risks = [(Risk::High, RequiredAssurance::Session), (Risk::Critical, RequiredAssurance::Passkey)];
        assert_eq!(floors.risks, BTreeMap::from(risks));
    }

    #[test]
    fn what_is_wrong_is_refused_by_the_name_of_its_setting() {
        let agent = "[[agents]]\nname = 'payments'\n";
        for (text, words) in [
            (agent.to_owned(), "agents[0]: set assurance"),
            (agent.replace("payments", " ") + "separation = 'owner'", "agents[0].name"),
            (
                format!("{agent}separation = 'owner'\n{}assurance = 'session'", agent.replace('p', "P")),
                "agents[1].name: \"Payments\" is named twice",
            ),
            (format!("{agent}assurance = 'passkey'"), "a passkey can be demanded only"),
            ("[floors.risks]\nlow = 'passkey'".to_owned(), "a passkey can be demanded only"),
            ("[floors.groups]\nFinance = 'session'".to_owned(), "floors.groups: \"Finance\" is no name"),
            ("[floors.risks]\nsome = 'session'".to_owned(), "unknown variant"),
            (format!("{agent}assurance = 'link'"), "unknown variant"),
        ] {
            let refused = format!("{:#}", read(&text, false).unwrap_err());
            assert!(refused.contains(words), "{words}: {refused}");
        }
    }
}
