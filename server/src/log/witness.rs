//! Asks a witness to cosign the newest checkpoint (C2SP `tlog-witness`).

use std::sync::{Arc, Mutex, PoisonError};

use channels::WitnessEndpoint;
use proof::tree::NodeHash;
use proof::witness::{ANSWER_BYTES_MAX, Answer, WitnessKey, request};
use store::{ForWitness, Store};

use super::failure::Failure;

/// How often one turn asks: with the size that is stored, and again with the one that the witness names.
const ASKED_MAX: usize = 2;

/// A witness, and the way to it.
pub(crate) struct Witness {
    key: WitnessKey,
    endpoint: WitnessEndpoint,
    store: Arc<dyn Store>,
    // The size and the root that this process saw cosigned last. A std mutex will do: it is held for a copy, and never across an await.
    has: Mutex<(u64, NodeHash)>,
}

impl Witness {
    pub(crate) fn new(key: WitnessKey, endpoint: WitnessEndpoint, store: Arc<dyn Store>) -> Self {
        Self { key, endpoint, store, has: Mutex::new((0, [0; 32])) }
    }

    pub(super) fn name(&self) -> &str {
        self.key.name()
    }

    /// Has the newest checkpoint cosigned, unless it is; returns its size.
    pub(super) async fn turn(&self) -> Result<u64, Failure> {
        let mut old = None;
        for _ in 0..ASKED_MAX {
            let Some(asked) = self.store.for_witness(self.key.clone(), old).await.map_err(|error| Failure::later(&error))? else {
                return Ok(0);
            };
            let (size, root) = (asked.checkpoint.size, asked.checkpoint.root);
            if *self.has.lock().unwrap_or_else(PoisonError::into_inner) == (size, root) {
                return Ok(size);
            }
            match self.ask(&asked).await? {
                Answer::Cosigned(lines) => {
                    let kept = self
                        .store
                        .add_cosignature(size, lines, self.key.clone())
                        .await
                        .map_err(|error| Failure::later(&error))?;
                    let cosigned = kept.map_err(|error| Failure::later(&error))?;
                    tracing::debug!(witness = cosigned.witness, size, "a witness cosigned a checkpoint of the log");
                    *self.has.lock().unwrap_or_else(PoisonError::into_inner) = (size, root);
                    return Ok(size);
                }
                Answer::Has(other) => old = Some(other),
                Answer::Inconsistent => {
                    return Err(Failure::Contradicts(format!(
                        "the witness cosigned a tree of {} events that is not the beginning of this one of {size}",
                        asked.old
                    )));
                }
                Answer::UnknownLog => return Err(Failure::Later("the witness does not know this log".to_owned())),
                Answer::UnknownKey => return Err(Failure::Later("the witness does not know the key of this log".to_owned())),
                Answer::NotUnderstood => return Err(Failure::Later("the witness does not understand the request".to_owned())),
                Answer::Later => return Err(Failure::Later("the witness cannot answer now".to_owned())),
            }
        }
        Err(Failure::Later("the witness named another size at each request".to_owned()))
    }

    async fn ask(&self, asked: &ForWitness) -> Result<Answer, Failure> {
        let Some(proof) = &asked.proof else {
            return Err(Failure::Contradicts(format!(
                "the witness cosigned a tree of {} events, and this log has a checkpoint of {} only",
                asked.old, asked.checkpoint.size
            )));
        };
        let body = request(asked.old, proof, &asked.checkpoint.note).map_err(|error| Failure::later(&error))?;
        let answer = self.endpoint.post(body, ANSWER_BYTES_MAX).await.map_err(|error| Failure::later(&error))?;
        Answer::read(answer.status, answer.content_type.as_deref(), &answer.body).map_err(|error| Failure::later(&error))
    }
}
