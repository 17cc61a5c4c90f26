//! The operator's floors: how sure the server must at least be of the person who answers, by agent, by group and by declared risk; and
//! the agents whose owners may not answer them.

use std::collections::BTreeMap;

use crate::base::name::is_same_in_any_case;
use crate::suspension::assignees::Assignees;
use crate::suspension::demand::{AgentRule, RequiredAssurance, Risk, Separation};
use crate::suspension::quorum::Quorum;

/// The operator's floors. An agent can raise them and never lower them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Floors {
    /// By agent.
    pub agents: Vec<AgentRule>,
    /// By group, for questions that are assigned to the group, or that need an answer from a member of it.
    pub groups: BTreeMap<String, RequiredAssurance>,
    /// By the least risk for which they hold: a question with a higher one has the floor as well.
    pub risks: BTreeMap<Risk, RequiredAssurance>,
}

impl Floors {
    fn rules<'a>(&'a self, agent: &'a str) -> impl Iterator<Item = &'a AgentRule> {
        self.agents.iter().filter(move |rule| is_same_in_any_case(&rule.name, agent))
    }

    /// The floor of a question.
    pub fn assurance(
        &self,
        agent: &str,
        assignees: Option<&Assignees>,
        quorum: Option<&Quorum>,
        risk: Option<Risk>,
    ) -> Option<RequiredAssurance> {
        let of_agent = self.rules(agent).filter_map(|rule| rule.assurance);
        let assigned = assignees.into_iter().flat_map(|assignees| &assignees.groups);
        let needed = quorum.into_iter().flat_map(|quorum| quorum.required_by_group.keys());
        let of_groups = assigned.chain(needed).filter_map(|group| self.groups.get(group).copied());
        let of_risk = risk.into_iter().flat_map(|risk| self.risks.range(..=risk)).map(|(_, floor)| *floor);
        of_agent.chain(of_groups).chain(of_risk).max()
    }

    /// The people who are kept from answering this agent.
    pub fn separation(&self, agent: &str) -> Option<Separation> {
        self.rules(agent).find_map(|rule| rule.separation)
    }

    /// Whether one of the floors demands this assurance.
    pub fn demand(&self, assurance: RequiredAssurance) -> bool {
        let of_agents = self.agents.iter().filter_map(|rule| rule.assurance);
        of_agents.chain(self.groups.values().copied()).chain(self.risks.values().copied()).any(|floor| floor == assurance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_floor_holds_and_a_higher_risk_has_the_floor_of_a_lower_one() {
        let rule = |name: &str, assurance, separation| AgentRule { name: name.into(), assurance, separation };
        let floors = Floors {
            agents: vec![
                rule("payments", Some(RequiredAssurance::Session), None),
                rule("deployer", None, Some(Separation::Owner)),
            ],
            groups: BTreeMap::from([("finance".into(), RequiredAssurance::Passkey)]),
            risks: BTreeMap::from([(Risk::Medium, RequiredAssurance::Session), (Risk::Critical, RequiredAssurance::Passkey)]),
        };
        let finance = Assignees { groups: vec!["legal".into(), "finance".into()], ..Assignees::default() };
        let legal = Assignees { groups: vec!["legal".into()], ..Assignees::default() };
        let of = |agent: &str, assignees: Option<&Assignees>, risk| floors.assurance(agent, assignees, None, risk);
        let [session, passkey] = [Some(RequiredAssurance::Session), Some(RequiredAssurance::Passkey)];
        assert_eq!(of("other", None, None), None);
        assert_eq!(
            [of("payments", None, None), of("Payments", None, None)],
            [session, session],
            "the case of a name is no way out"
        );
        assert_eq!([of("other", Some(&finance), None), of("other", Some(&legal), None)], [passkey, None]);
        assert_eq!([Risk::Low, Risk::Medium].map(|risk| of("other", None, Some(risk))), [None, session]);
        assert_eq!([Risk::High, Risk::Critical].map(|risk| of("other", None, Some(risk))), [session, passkey]);
        assert_eq!(of("payments", Some(&finance), Some(Risk::Low)), passkey, "no declaration lowers a floor");
        let quorum = Quorum {
            required_approvals: 2,
            required_refusals: 1,
            required_by_group: BTreeMap::from([("finance".into(), 1)]),
            refusing: Vec::new(),
        };
        assert_eq!(floors.assurance("other", None, Some(&quorum), None), passkey);
        assert_eq!([floors.separation("deployer"), floors.separation("payments")], [Some(Separation::Owner), None]);
        assert!(floors.demand(RequiredAssurance::Passkey) && !Floors::default().demand(RequiredAssurance::Session));
    }
}
