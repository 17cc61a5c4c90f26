//! The demands on a decision that a question and an approval share: what people decide about, on which grounds, who they are, how many of
//! them must agree, and how sure the server must be of each.

pub(crate) use domain::base::field::FieldError;
pub(crate) use domain::suspension::RequiredAssurance;
pub(crate) use domain::suspension::assignees::AssignedRole;
pub(crate) use domain::suspension::demand::Risk;
pub(crate) use domain::suspension::grounds::{Explanation, Reversibility};
use serde_json::{Map, Value};

/// The members of an object; without them, an error about this field.
pub(crate) fn object(errors: &mut Vec<FieldError>, field: &str, value: Value) -> Option<Map<String, Value>> {
    if let Value::Object(members) = value {
        return Some(members);
    }
    errors.push(FieldError::new(field, "type", "must be an object"));
    None
}

/// Gives a builder with a `request` and `errors` the methods that set these demands. The two requests are two types of the wire, with
/// members of the same names and types, so no function of ours could set a member of either.
macro_rules! demanding {
    ($builder:ident $(<$answer:ident>)?) => {
        impl$(<$answer>)? $builder$(<$answer>)? {
            /// Proposes an action: its arguments, an object of at most 64 KiB of JSON. The person decides about this action, and
            /// [`Answer::proposal`](crate::Answer::proposal) is the action as the person approved it. Only for a decision with choices.
            pub fn proposal(mut self, action: serde_json::Value) -> Self {
                self.request.proposal = $crate::demand::object(&mut self.errors, "proposal", action);
                self
            }

            /// Lets people edit members of the [proposal](Self::proposal): those that this JSON Schema describes, which has the form of the
            /// [schema](crate::Question::schema) of a form. The proposal itself must satisfy it.
            pub fn editable(mut self, schema: serde_json::Value) -> Self {
                self.request.editable = $crate::demand::object(&mut self.errors, "editable", schema);
                self
            }

            /// Explains the action: people read it before the context, and it is covered by the hash of what was shown.
            pub fn explanation(mut self, explanation: $crate::demand::Explanation) -> Self {
                self.request.explanation = Some(explanation);
                self
            }

            /// Says whether the action can be taken back.
            pub fn reversibility(mut self, reversibility: $crate::demand::Reversibility) -> Self {
                self.request.reversibility = Some(reversibility);
                self
            }

            /// Says how much is at stake. People see it, and the server may demand more of a decision with a high risk.
            pub fn risk(mut self, risk: $crate::demand::Risk) -> Self {
                self.request.risk = Some(risk);
                self
            }

            /// Sets how sure the agent is, 0 to 1.
            pub fn confidence(mut self, confidence: f64) -> Self {
                if confidence.is_nan() {
                    // JSON would turn it into null, and people would decide as if the agent had named no confidence.
                    self.errors.push($crate::demand::FieldError::new("confidence", "range", "must be a number from 0 to 1"));
                } else {
                    self.request.confidence = Some(confidence);
                }
                self
            }

            /// Names the kind of decision, in 1 to 200 characters: people see how the newest ones of this agent with the same key were
            /// decided.
            pub fn question_key(mut self, key: impl Into<String>) -> Self {
                self.request.question_key = Some(key.into());
                self
            }

            /// Takes only a decision that a passkey of the person has signed. [`verify_signature`](crate::verify_signature) checks the
            /// signature in the receipt of the answer.
            ///
            /// The server refuses the request if its public address has no domain name, because people have no passkeys there.
            pub fn require_passkey(mut self) -> Self {
                self.request.required_assurance = Some($crate::demand::RequiredAssurance::Passkey);
                self
            }

            /// Takes only the decision of a person who has logged in, or whose passkey has signed it. The server may demand the same or more
            /// by itself.
            pub fn require_login(mut self) -> Self {
                self.request.required_assurance = self.request.required_assurance.max(Some($crate::demand::RequiredAssurance::Session));
                self
            }

            /// Takes only the decision of a person who has logged in by the server's issuer of identities a few minutes before, or whose
            /// passkey has signed it.
            ///
            /// The server refuses the request if people log in by no issuer there.
            pub fn require_recent_login(mut self) -> Self {
                self.request.required_assurance = self.request.required_assurance.max(Some($crate::demand::RequiredAssurance::RecentLogin));
                self
            }

            /// Assigns the decision to a listed person, by address: only people to whom it is assigned may decide. May be called for up to
            /// 20 people.
            ///
            /// All people to whom it is assigned are asked in place of the server's default operators, unless a question
            /// [names](crate::Question::notify_to) some of them.
            pub fn assign_to_person(mut self, address: impl Into<String>) -> Self {
                self.request.assignees.get_or_insert_default().people.push(address.into());
                self
            }

            /// Assigns the decision to the members of a group, as [`assign_to_person`](Self::assign_to_person) does to one person. May be
            /// called for up to 20 groups.
            pub fn assign_to_group(mut self, name: impl Into<String>) -> Self {
                self.request.assignees.get_or_insert_default().groups.push(name.into());
                self
            }

            /// Assigns the decision to all listed people with a role, as [`assign_to_person`](Self::assign_to_person) does to one person.
            pub fn assign_to_role(mut self, role: $crate::demand::AssignedRole) -> Self {
                self.request.assignees.get_or_insert_default().roles.push(role);
                self
            }

            /// Needs the same answer of so many people, 1 to 20, who are among those to whom it is assigned, or else all listed operators
            /// and admins. The person who owns the key that asks is none of them. If fewer people could answer, asking is refused.
            ///
            /// If people have answered at the deadline and not enough of them agree, it ends with
            /// [`CancelReason::QuorumUnmet`](crate::CancelReason::QuorumUnmet), whatever its fallback.
            pub fn require_approvals(mut self, people: u32) -> Self {
                self.request.quorum.get_or_insert_default().required_approvals = people;
                self
            }

            /// Needs the refusals of so many people, 1 to 20, before the answer is a refusal; without this, one refusal is enough. Only
            /// beside [`require_approvals`](Self::require_approvals).
            pub fn require_refusals(mut self, people: u32) -> Self {
                self.request.quorum.get_or_insert_default().required_refusals = Some(people);
                self
            }

            /// Needs so many members of a group among the people who give the same answer. Only beside
            /// [`require_approvals`](Self::require_approvals), and at most as many.
            pub fn require_from_group(mut self, group: impl Into<String>, people: u32) -> Self {
                let quorum = self.request.quorum.get_or_insert_default();
                quorum.required_by_group.get_or_insert_default().insert(group.into(), people);
                self
            }
        }
    };
}

pub(crate) use demanding;
