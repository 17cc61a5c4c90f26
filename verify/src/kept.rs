//! Checkpoints with which an export is compared: those that the user kept, and those of other exports of the same log.

use proof::checkpoint::{TreeHead, pieces};
use proof::key::VerifyingKey;
use proof::tree::{NodeHash, Rooting, empty_root};

use crate::finding::{Code, Findings, Place};
use crate::report::{Compared, Comparison, Kind};

/// A checkpoint that the user kept.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The file it comes from.
    pub file: String,
    /// The text of the signed note.
    pub note: String,
}

impl Kept {
    /// The checkpoints of a file. A file without any counts as one that cannot be read.
    pub fn all(file: &str, text: &str) -> Vec<Self> {
        let notes = if text.is_empty() { vec![""] } else { pieces(text) };
        notes.into_iter().map(|note| Self { file: file.to_owned(), note: note.to_owned() }).collect()
    }
}

/// The checkpoint of another export, with a trusted signature.
#[derive(Clone, Debug)]
pub(crate) struct OtherExport {
    pub(crate) file: String,
    pub(crate) head: TreeHead,
}

/// The other exports of the same log that are verified in one call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Others {
    /// Those that are not larger. A smaller export has nothing to be compared with in a larger one; the larger one is compared with it.
    pub(crate) smaller: Vec<OtherExport>,
    /// The number of leaves of the largest whole export that was found to be right. It was compared with this export and with the kept
    /// checkpoints up to its size, and all of them belong to one history.
    pub(crate) verified_size: u64,
}

/// A checkpoint that waits for the root at its size.
struct Target {
    file: String,
    head: TreeHead,
    /// The code if the roots differ.
    code: Code,
    root: Option<NodeHash>,
}

/// All checkpoints with which one export is compared.
pub(crate) struct Targets {
    /// Those that can be compared, by ascending size.
    waiting: Vec<Target>,
    /// The first of them whose size was not reached.
    next: usize,
    refused: Vec<(Compared, Code, String)>,
    /// The size up to which a larger export shows that a kept checkpoint belongs to the history of this one.
    verified_size: u64,
}

impl Targets {
    /// Reads the kept checkpoints for an export of the log `origin`.
    pub(crate) fn new(origin: &str, kept: &[Kept], others: &Others, keys: &[VerifyingKey]) -> Self {
        let mut all = Self { waiting: Vec::new(), next: 0, refused: Vec::new(), verified_size: others.verified_size };
        for Kept { file, note } in kept {
            let mut refuse = |size: Option<u64>, code: Code, text: String| {
                all.refused.push((Compared { file: file.clone(), size, result: Comparison::Refused }, code, text));
            };
            let head = match TreeHead::read(note) {
                Ok(head) => head,
                Err(error) => {
                    let text = format!("The file {file}, given as one with checkpoints, holds something else: {error}.");
                    refuse(None, Code::KeptForm, text);
                    continue;
                }
            };
            if head.origin != origin {
                let text =
                    format!("The kept checkpoint {file} belongs to the log \"{}\", and the export to \"{origin}\".", head.origin);
                refuse(Some(head.size), Code::KeptOrigin, text);
            } else if let Err(error) = TreeHead::verify(note, keys) {
                refuse(Some(head.size), Code::KeptSignature, format!("The kept checkpoint {file} cannot be used: {error}."));
            } else {
                all.waiting.push(Target { file: file.clone(), head, code: Code::KeptDiffers, root: None });
            }
        }
        let others = others.smaller.iter().cloned();
        all.waiting.extend(others.map(|OtherExport { file, head }| Target {
            file,
            head,
            code: Code::ExportsDisagree,
            root: None,
        }));
        all.waiting.sort_by_key(|target| target.head.size);
        all
    }

    /// Notes the root wherever the tree has the size of a checkpoint.
    pub(crate) fn grown(&mut self, tree: &Rooting) {
        while let Some(target) = self.waiting.get_mut(self.next).filter(|target| target.head.size <= tree.size()) {
            if target.head.size == tree.size() {
                target.root = Some(if tree.size() == 0 { empty_root() } else { tree.root() });
            }
            self.next += 1;
        }
    }

    /// Compares all checkpoints with the export of `head`.
    pub(crate) fn end(self, kind: Kind, head: &TreeHead, findings: &mut Findings) -> Vec<Compared> {
        let mut all = Vec::new();
        for (compared, code, text) in self.refused {
            findings.add(Place::default(), code, text);
            all.push(compared);
        }
        for Target { file, head: kept, code, root } in self.waiting {
            let size = kept.size;
            let root = if size == head.size { Some(head.root) } else { root };
            let result = match root {
                _ if size > head.size => Comparison::Newer,
                Some(root) if root == kept.root => Comparison::Consistent,
                Some(_) => Comparison::Differs,
                None => Comparison::NotCheckable,
            };
            let is_kept = code == Code::KeptDiffers;
            match result {
                Comparison::Differs => findings.add(Place::default(), code, differs(is_kept, &file, size)),
                Comparison::Newer if is_kept && size > self.verified_size => findings.add(
                    Place::default(),
                    Code::KeptNewer,
                    format!(
                        "The kept checkpoint {file} covers {size} events, and this export only {}. If the export was made after \
                         the checkpoint, events were removed; else verify it together with a whole export that is newer than the \
                         checkpoint.",
                        head.size
                    ),
                ),
                Comparison::Newer | Comparison::Consistent | Comparison::Refused | Comparison::NotCheckable => {}
            }
            // The larger one of two exports is compared with the smaller one, and a selection with none.
            if is_kept || result == Comparison::Differs || (kind == Kind::Whole && result == Comparison::Consistent) {
                all.push(Compared { file, size: Some(size), result });
            }
        }
        all
    }
}

fn differs(is_kept: bool, file: &str, size: u64) -> String {
    if is_kept {
        format!(
            "The first {size} events of this export are not those that the kept checkpoint {file} was signed for: the log was \
             rewritten, or its holder shows different logs to different people."
        )
    } else {
        format!(
            "This export and {file} differ in their first {size} events, although both are signed: the log was rewritten, or its \
             holder shows different logs to different people."
        )
    }
}
