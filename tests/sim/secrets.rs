//! What must not be in the database: the secrets of links. And the chain of each intent, by the production verifier.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use domain::log::verify_chain;
use store::sqlite::simulated::SimulatedDatabase;

use crate::model::{Checked, must};
use crate::watch::{Watch, hex};

/// How many letters follow `plc_` in an answer link's token, at least.
const TOKEN_LETTERS: usize = 40;

impl Watch {
    /// Checks the whole log with the production verifier, and the whole database for secrets that must not be in it.
    pub(crate) fn check_whole(&self, database: &SimulatedDatabase, secrets: &[[u8; 32]]) -> Checked {
        for chain in self.chains.values() {
            must!(verify_chain(chain) == Ok(chain.len() as u64), "I25: the chain does not verify: {:?}", verify_chain(chain));
        }
        let everything = database
            .lines(
                "SELECT CAST(bytes AS TEXT) FROM events UNION ALL SELECT title || description || state FROM intent_bodies \
                 UNION ALL SELECT lower(hex(hash)) || recipient FROM tokens UNION ALL SELECT recipient || channel FROM outbox \
                 UNION ALL SELECT outcome FROM idempotency \
                 UNION ALL SELECT coalesce(response, '') || coalesce(metadata, '') || coalesce(resolved_by, '') || choices FROM suspensions",
                None,
            )
            .map_err(|error| format!("{error:#}"))?
            .join("\n");
        // An id is as random as a token, so it may contain `plc_` by chance. But it is shorter than a token, so fewer letters
        // follow.
        let is_of_a_token = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
        let is_token = |rest: &str| rest.chars().take_while(|letter| is_of_a_token(*letter)).count() >= TOKEN_LETTERS;
        must!(!everything.split("plc_").skip(1).any(is_token), "I34: an answer link's token is in the database");
        for secret in secrets {
            let spellings = [hex(secret), URL_SAFE_NO_PAD.encode(secret), STANDARD.encode(secret)];
            must!(!spellings.iter().any(|spelling| everything.contains(spelling)), "I34: a token's secret is in the database");
        }
        Ok(())
    }
}
