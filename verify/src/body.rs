//! The events and the manifest of an export: everything that needs its header.

use std::io;

use domain::base::json;
use proof::checkpoint::TreeHead;
use proof::key::VerifyingKey;
use proof::tree::{Rooting, is_included, leaf_hash};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::chains::{Chains, Faults, Link};
use crate::erased::{Erased, Named};
use crate::event::{Facts, Hash32, LogId, LogKind, hash_text, uuid};
use crate::export::Options;
use crate::finding::{Code, Findings, Place};
use crate::form::{Line, Proof};
use crate::header::Header;
use crate::kept::{Others, Targets};
use crate::replay::Replay;
use crate::report::{Comparison, Kind, Report};
use crate::tally::{Seen, Tally};

/// The type of the events that name an erased one, with its quotes.
const REDACTED: &[u8] = b"\"payload.redacted\"";

/// The state between two lines.
pub(crate) struct Body {
    pub(crate) header: Header,
    /// The head of the tree, if the checkpoint has the form of one.
    head: Option<TreeHead>,
    chains: Chains,
    targets: Targets,
    erased: Erased,
    replay: Replay,
    tree: Rooting,
    /// The leaf that comes next in a whole export, and the least one that may come next in a selection.
    due: u64,
    /// Whether all leaves so far came one after the other, so that their root can be computed.
    is_gapless: bool,
    /// Whether a line could not be read.
    pub(crate) has_lost: bool,
    skipped_links: u64,
    tally: Tally,
    pub(crate) manifest: Option<Seen>,
}

impl Body {
    pub(crate) fn new(header: Header, head: Option<TreeHead>, options: &Options, others: &Others, keys: &[VerifyingKey]) -> Self {
        let tree = Rooting::default();
        let mut targets = Targets::new(&header.origin, &options.kept, others, keys);
        targets.grown(&tree);
        Self {
            chains: Chains::new(header.kind == Kind::Selection, options.logs_in_memory),
            targets,
            erased: Erased::new(),
            replay: Replay::new(options.passkeys.clone()),
            tree,
            due: 0,
            is_gapless: true,
            has_lost: false,
            skipped_links: 0,
            tally: Tally::default(),
            manifest: None,
            header,
            head,
        }
    }

    /// Counts a line that could not be read as one leaf, so that the next one does not seem to be out of place.
    pub(crate) fn lose_line(&mut self) {
        if self.manifest.is_some() {
            return;
        }
        self.due += 1;
        self.has_lost = true;
        self.is_gapless = false;
    }

    /// Checks the line of an event. The event's own bytes come first, then its place among others. So a changed event is reported
    /// as that, and not by what follows from it.
    pub(crate) fn event(&mut self, line: &Line<'_>, mut place: Place, findings: &mut Findings) -> io::Result<()> {
        place.leaf = Some(line.number);
        if let Ok(facts) = &line.facts {
            (place.log, place.sequence) = (Some(facts.log), Some(facts.sequence));
        }
        let computed = check_bytes(line, place, findings);
        if let Err(misshapen) = &line.facts {
            findings.add(place, misshapen.code, misshapen.text.clone());
        }
        if line.is_erased && line.facts.as_ref().is_ok_and(is_redaction) {
            let text = "The event says which events were erased, and was erased itself; no server does that.";
            findings.add(place, Code::RedactionErased, text);
        }
        self.check_leaf(line.number, place, findings);
        if let Ok(facts) = &line.facts {
            self.check_chain(line, facts, computed, place, findings)?;
            if facts.created_at > self.header.exported_at {
                findings.add(place, Code::TimeAfterExport, "The event is dated after the time at which the export was made.");
            }
            self.check_erasure(line, facts, place)?;
            self.tally.count(line.number, line.is_erased, facts.event_type);
            // The decisions of an export with a fault are not replayed.
            if findings.count() == 0 {
                if line.is_erased { self.replay.erased(facts, place)? } else { self.replay.event(facts, line.event, place)? }
            }
        } else {
            self.has_lost = true;
        }
        self.check_tree(line, place, findings);
        Ok(())
    }

    fn check_leaf(&mut self, leaf: u64, place: Place, findings: &mut Findings) {
        let (due, is_whole) = (self.due, self.header.kind == Kind::Whole);
        if leaf < due {
            self.is_gapless = false;
            let text = format!("Leaf {leaf} stands where leaf {due} or a later one is due: an event comes twice or was moved.");
            findings.add(place, Code::LeafOrder, text);
            return;
        }
        if leaf > due && is_whole {
            self.is_gapless = false;
            let text = match leaf - due {
                1 => format!("Leaf {due} is missing before leaf {leaf}: an event was left out or moved."),
                _ => format!("Leaves {due} to {} are missing before leaf {leaf}: events were left out or moved.", leaf - 1),
            };
            findings.add(place, Code::LeafGap, text);
        }
        let size = self.head.as_ref().map_or(self.header.size, |head| head.size);
        if leaf >= size {
            let text = format!("Leaf {leaf} lies beyond the checkpoint, which covers {size} events: an event was added.");
            findings.add(place, Code::LeafBeyond, text);
        }
        self.due = leaf + 1;
    }

    fn check_chain(
        &mut self,
        line: &Line<'_>,
        facts: &Facts<'_>,
        computed: Hash32,
        place: Place,
        findings: &mut Findings,
    ) -> io::Result<()> {
        let &Facts { log, sequence, previous, created_at, .. } = facts;
        let number = place.line.unwrap_or_default();
        let event = Link { line: number, sequence, previous, created_at, hash: line.hash, computed };
        let faults = self.chains.follow(log, &event)?;
        self.skipped_links += u64::from(faults.skips);
        report_faults(faults, place, findings);
        Ok(())
    }

    fn check_erasure(&mut self, line: &Line<'_>, facts: &Facts<'_>, place: Place) -> io::Result<()> {
        if line.is_erased {
            return self.erased.erased(facts.log, facts.sequence, place.line.unwrap_or_default(), line.number);
        }
        if is_redaction(facts)
            && let Some(named) = named_by(&json::unambiguous(facts.payload).unwrap_or_default(), line.number)
        {
            return self.erased.named(named);
        }
        Ok(())
    }

    fn check_tree(&mut self, line: &Line<'_>, place: Place, findings: &mut Findings) {
        if self.header.kind == Kind::Whole {
            if self.is_gapless {
                self.tree.push(leaf_hash(line.leaf));
                self.targets.grown(&self.tree);
            }
            return;
        }
        let Some(head) = &self.head else { return };
        let is_proved = match &line.proof {
            Proof::Path(path) => is_included(line.leaf, line.number, path, head.size, head.root),
            Proof::Absent | Proof::Misshapen => false,
        };
        if !is_proved {
            let text =
                "The event's proof does not lead to the root of the checkpoint: the event, its place or the proof was changed.";
            findings.add(place, Code::WrongProof, text);
        }
    }

    /// Checks what only the end of the export shows.
    pub(crate) fn end(self, findings: &mut Findings, report: &mut Report) -> io::Result<()> {
        if self.manifest.is_none() {
            let text = "The export has no last line with a manifest: the file was cut off, or the export was interrupted.";
            findings.add(Place::default(), Code::NoManifest, text);
        }
        let mut skipped_links = self.skipped_links;
        report.logs = self.chains.end(|log, line, sequence, faults| {
            skipped_links += u64::from(faults.skips);
            let place = Place { line: Some(line), leaf: None, log: Some(log), sequence: Some(sequence) };
            report_faults(faults, place, findings);
        })?;
        (report.events, report.redacted) = (self.tally.events, self.tally.redacted);
        let is_computed = check_root(&self.header, self.head.as_ref(), &self.tree, self.due, self.is_gapless, findings);
        let erased = self.erased.events();
        self.erased.end(|line, leaf| {
            let text = "The event's payload was erased, and no later event of the server's log says so.";
            let place = Place { line: Some(line), leaf: Some(leaf), ..Place::default() };
            findings.add(place, Code::ErasedWithoutEvent, text);
        })?;
        if let Some(head) = &self.head {
            report.checkpoints = self.targets.end(self.header.kind, head, findings);
        }
        if let Some(manifest) = &self.manifest {
            self.tally.check(manifest, &self.header, self.head.as_ref(), findings);
        }
        // A fault of the export makes decisions look wrong that are right, so it alone is reported.
        let mut has_decisions = false;
        if findings.count() == 0 {
            let decisions = self.replay.end(findings)?;
            has_decisions = !decisions.is_empty();
            decisions.report(report);
        } else {
            let text = "The decisions were not replayed, because the export has other faults.";
            report.not_checkable("decisions", None, text);
        }
        if self.tally.has_more_types() {
            let text = "The export has too many types of events to compare their counts with the manifest.";
            report.not_checkable("types", None, text);
        }
        remark_replay(report, has_decisions, self.tally.of_receipts());
        remark(report, self.header.kind, erased, skipped_links, is_computed);
        Ok(())
    }
}

/// The events that an event at this leaf names as erased; `None` if its payload has another form.
fn named_by(payload: &Value, leaf: u64) -> Option<Named> {
    let id = uuid(payload.get("intent_id")?.as_str()?.as_bytes())?;
    let (first, last) = (payload.get("first_sequence")?.as_u64()?, payload.get("last_sequence")?.as_u64()?);
    Some(Named { log: LogId { kind: LogKind::Intent, id }, first, last, leaf })
}

/// Whether the event says which events were erased.
fn is_redaction(facts: &Facts<'_>) -> bool {
    facts.log == LogId::SERVER && facts.event_type == REDACTED
}

/// Checks the bytes of an event alone; returns the hash that they have.
fn check_bytes(line: &Line<'_>, place: Place, findings: &mut Findings) -> Hash32 {
    if !line.is_canonical {
        let text = "The line is not written in the one form that the format gives it: a program read and rewrote it.";
        findings.add(place, Code::NotCanonical, text);
    }
    // The payload of an erased event is not known, so its hash cannot be computed.
    if line.is_erased {
        return line.hash;
    }
    let computed: Hash32 = Sha256::new_with_prefix(line.event).chain_update(b"}").finalize().into();
    if computed != line.hash {
        let text = format!(
            "The event was changed: it carries the hash {}, and its contents have {}.",
            hash_text(&line.hash),
            hash_text(&computed)
        );
        findings.add(place, Code::WrongHash, text);
    }
    computed
}

fn report_faults(faults: Faults, place: Place, findings: &mut Findings) {
    if let Some(due) = faults.sequence {
        let text = format!(
            "The event has the number {} in its log, where {due} is due: events were left out, added or moved.",
            place.sequence.unwrap_or_default()
        );
        findings.add(place, Code::WrongSequence, text);
    }
    if faults.previous {
        let text = "The event does not name the hash of the event before it in its log: one of the two was exchanged.";
        findings.add(place, Code::WrongPrevious, text);
    }
    if faults.time {
        findings.add(place, Code::TimeBackwards, "The event is dated before the event before it in its log.");
    }
}

/// Compares the events of a whole export with the signed root. Returns whether a root could be computed.
fn check_root(
    header: &Header,
    head: Option<&TreeHead>,
    tree: &Rooting,
    due: u64,
    is_gapless: bool,
    findings: &mut Findings,
) -> bool {
    let Some(head) = head.filter(|_| header.kind == Kind::Whole) else { return header.kind == Kind::Selection };
    if due < head.size {
        let text = match head.size - due {
            1 => format!("The checkpoint covers {} events, and the last one is missing.", head.size),
            missing => format!("The checkpoint covers {} events, and the last {missing} are missing.", head.size),
        };
        findings.add(Place::default(), Code::EventsMissing, text);
    }
    let is_computed = is_gapless && due == head.size;
    if is_computed && tree.root() != head.root {
        let text = "The events fit together, but the checkpoint was signed for others: an event was changed, and everything that \
                    depends on it was computed anew.";
        findings.add(Place::default(), Code::RootDiffers, text);
    }
    is_computed
}

/// Says what a replay never shows.
fn remark_replay(report: &mut Report, has_decisions: bool, of_receipts: u64) {
    if has_decisions {
        let text = "The server alone says what people were shown: the presented_hash of an answer is not computed anew, nor its \
                    action_digest if the question proposed no action.";
        report.not_checkable("presented", None, text);
    }
    if of_receipts > 0 {
        let text =
            "Receipts are not replayed: by which key one was used or revoked, and whether that was allowed, is not checked.";
        report.not_checkable("receipts", Some(of_receipts), text);
    }
}

/// Says what a verification of this export cannot show.
fn remark(report: &mut Report, kind: Kind, erased: u64, skipped_links: u64, is_computed: bool) {
    if kind == Kind::Selection {
        let text = "This export is a selection: it does not show that nothing was left out.";
        report.not_checkable("omissions", None, text);
    }
    if skipped_links > 0 {
        let text =
            "Events follow others that are not in the selection, so their links to the events before them are not checked.";
        report.not_checkable("skipped_links", Some(skipped_links), text);
    }
    if erased > 0 {
        let text = "Events were erased: their hashes cannot be compared with their contents. Their places and times are proved.";
        report.not_checkable("erased_payloads", Some(erased), text);
    }
    if !is_computed {
        let text = "Events are missing, or lines cannot be read, so the events as a whole are not compared with the checkpoint.";
        report.not_checkable("root", None, text);
    }
    if report.checkpoints.iter().any(|compared| compared.result == Comparison::NotCheckable) {
        let text = "A kept checkpoint is older than this selection, which does not have all events up to it. Compare it with a \
                    whole export.";
        report.not_checkable("kept_checkpoint", None, text);
    }
    let text = "When the export was made and how its events were selected is the exporter's statement, which is not signed.";
    report.not_checkable("header", None, text);
    if report.checkpoints.iter().all(|compared| compared.result != Comparison::Consistent) {
        let text = "No older checkpoint was compared. A log that its holder rewrote before this export would not be noticed.";
        report.not_checkable("history", None, text);
    }
}
