//! How sure the server must be of the person who answers.

use domain::suspension::RequiredAssurance;

use crate::question::Question;

impl<T> Question<T> {
    /// Takes only an answer that a passkey of the person has signed. [`verify_signature`](crate::verify_signature) checks the signature in
    /// the receipt of the answer.
    ///
    /// The server refuses the question if its public address has no domain name, because people have no passkeys there.
    pub fn require_passkey(mut self) -> Self {
        self.request.required_assurance = Some(RequiredAssurance::Passkey);
        self
    }

    /// Takes only the answer of a person who has logged in, or whose passkey has signed it. The server may demand the same or more by itself.
    pub fn require_login(mut self) -> Self {
        self.request.required_assurance = self.request.required_assurance.max(Some(RequiredAssurance::Session));
        self
    }

    /// Takes only the answer of a person who has logged in by the server's issuer of identities a few minutes before, or whose passkey has
    /// signed it.
    ///
    /// The server refuses the question if people log in by no issuer there.
    pub fn require_recent_login(mut self) -> Self {
        self.request.required_assurance = self.request.required_assurance.max(Some(RequiredAssurance::RecentLogin));
        self
    }
}
