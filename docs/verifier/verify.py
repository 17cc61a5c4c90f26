#!/usr/bin/env python3
"""Verifies exports of Placet's log, as docs/log-format.md defines them. Needs Python 3.9, and standards.py beside it.

    verify.py --key NAME+HASH+KEY [--checkpoint KEPT]... FILE...

Checks the header, the form and hash of each event, the chain of each log, the tree or the proofs, the signatures, erased events, the
manifest, kept checkpoints, and that several exports of one log agree. It does not replay decisions: whether an answer was allowed, and
whether a passkey signed it, is not checked. It stops at the first fault of a file, and holds the end of each log in memory. Prints a line
for each file. Exit codes: 0 all files are verified, 1 one is not, 2 one cannot be read or the arguments are wrong.
"""
import argparse, base64, collections, re, sys
try:
    from standards import (Fault, Lines, append, canonical, check_note, hash_text, is_number, is_proven, is_succession, key_argument,
                           notes_argument, parse, read_key, require, root_over, sha256, shown, successors)
except ImportError:
    sys.exit(print("verify.py needs the file standards.py of its version in its folder: fetch docs/verifier/standards.py of Placet as well", file=sys.stderr) or 2)

BYTES_32, UUID, ANY = "[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]", "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "(?s:.*)"
HASH = "sha256:" + BYTES_32
TIME = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9][.][0-9]{6}"
TEXTS = {"id": UUID, "event_type": ANY, "actor": ANY, "created_at": TIME}
LOGS = {"intent_id": UUID, "portfolio_id": UUID, "log": "server"}
OPTIONAL = {"trace_id": ANY, "parent_event_id": ANY, "claimed_actor": ANY}
HEADER = {"placet_export", "origin", "key", "succession", "checkpoint", "size", "selection", "exported_at"}
MANIFEST = {"events", "redacted", "first_leaf", "last_leaf", "by_type", "size", "root", "checkpoint", "sha256"}

def check_members(event, is_erased):
    optional = {name: form for name, form in {**LOGS, **OPTIONAL}.items() if name in event}
    forms = {**TEXTS, **optional, **({} if is_erased else {"salt": BYTES_32})}
    known = {*forms, "sequence", "previous_event_hash", *([] if is_erased else ["payload"])}
    require(not set(event) - known, "unknown_member")
    right = all(isinstance(event.get(name), str) and re.fullmatch(form, event[name]) for name, form in forms.items())
    previous = event.get("previous_event_hash", "")
    right = right and (previous is None or re.fullmatch(HASH, str(previous))) and (is_erased or "payload" in event)
    require(right and len(LOGS.keys() & event) == 1 and is_number(event.get("sequence"), 1), "event_form")

class Export:
    """One export while it is read. The first fault ends it."""

    def __init__(self, file, keys, trusts=False):
        """Reads and checks the header."""
        require(not file.peek(2).startswith(b"\x1f\x8b"), "compressed")
        self.lines, self.keys = Lines(file), keys
        self.due, self.leaves, self.full, self.roots, self.logs, self.erased, self.types = 0, [], [], {0: sha256()}, {}, [], collections.Counter()
        self.header = header = parse(self.lines.next() or b"null")
        require(isinstance(header, dict) and "placet_export" in header, "no_header")
        require(is_number(header["placet_export"]) and header["placet_export"] == 1, "unknown_version")
        right = all(isinstance(header.get(name), str) for name in ("origin", "key", "checkpoint", "exported_at"))
        right = right and re.fullmatch(TIME + "Z", header["exported_at"]) and is_number(header.get("size")) and is_succession(header.get("succession", []))
        require(right and isinstance(header.get("selection", 0), (dict, type(None))), "header_form")
        require(not set(header) - HEADER, "unknown_member")
        self.origin, self.is_selection, own = header["origin"], header["selection"] is not None, read_key(header["key"])
        self.keys = successors(keys + (own if trusts else []), header.get("succession", []))
        self.size, self.root = check_note(header["checkpoint"], self.keys, self.origin)
        require(attempt(lambda: check_note(header["checkpoint"], own, self.origin))[0], "key_differs")
        require(header["size"] == self.size, "size_differs")

    def read(self, kept, others, proven):
        """Checks everything behind the header. `others` are the sizes and roots of other exports of this log, `proven` is the size of a right one."""
        targets, refused = [(size, root, "exports_disagree") for size, root in others], []
        for note in kept:
            try:
                targets.insert(0, (*check_note(note, self.keys, self.origin), "kept_differs"))
            except Fault as fault:
                refused.append({"checkpoint_form": "kept_form", "wrong_origin": "kept_origin"}.get(str(fault), "kept_signature"))
        self.roots.update((size, None) for size, _, _ in targets if size > 0)
        manifest = None
        while not manifest:
            line = self.lines.next()
            require(line, "no_manifest")
            value = parse(line)
            require(isinstance(value, dict), "line_form")
            require("placet_export" not in value, "second_header")
            manifest = value if "manifest" in value else self.event(value, line)
        before, line = self.lines.before.hexdigest(), self.lines.next()
        require(not line, "concatenated" if b'"placet_export":' in line else "after_manifest")
        require(self.is_selection or self.due == self.size, "events_missing")
        require(self.is_selection or root_over(self.full) == self.root, "root_differs")
        self.check_erasures()
        require(not refused, next(iter(refused), None))
        for size, root, code in sorted(targets, key=lambda target: target[0]):
            require(size <= max(self.size, proven) or code == "exports_disagree", "kept_newer")
            own = self.root if size == self.size else self.roots[size]
            require(size > self.size or own in (None, root), code)
        self.check_manifest(manifest, before)

    def event(self, value, line):
        require(not set(value) - {"leaf", "event", "redacted", *(["proof"] if self.is_selection else [])}, "unknown_member")
        leaf, is_erased = value.get("leaf"), "redacted" in value
        event = value.get("redacted" if is_erased else "event")
        require(is_number(leaf) and isinstance(event, dict) and not {"event", "redacted"} <= set(value), "line_form")
        require(not self.is_selection or "proof" in value, "proof_missing")
        claimed = event.pop("event_hash", None)
        require(isinstance(claimed, str) and re.fullmatch(HASH, claimed), "event_form")
        stored = canonical(event)
        kept = {name: item for name, item in event.items() if is_erased or name not in ("payload", "salt")}
        leaf_text = canonical({**kept, "event_hash": claimed})
        text = leaf_text if is_erased else stored[:-1] + b',"event_hash":' + canonical(claimed) + b"}"
        proof = b',"proof":' + canonical(value["proof"]) if self.is_selection else b""
        one_form = b'{"leaf":%d,"%s":%s%s}' % (leaf, b"redacted" if is_erased else b"event", text, proof)
        require(line == one_form, "not_canonical")
        require(is_erased or hash_text(stored) == claimed, "wrong_hash")
        check_members(event, is_erased)
        is_redaction = "log" in event and event["event_type"] == "payload.redacted"
        require(not (is_erased and is_redaction), "redaction_erased")
        require(leaf >= self.due, "leaf_order")
        require(leaf == self.due or self.is_selection, "leaf_gap")
        require(leaf < self.size, "leaf_beyond")
        self.check_action(event)
        self.check_chain(event, claimed)
        require(event["created_at"] <= self.header["exported_at"][:-1], "time_after_export")
        self.check_tree(leaf, sha256(b"\0", leaf_text), value.get("proof"))
        self.leaves, self.due = [*self.leaves[:1], leaf], leaf + 1
        self.types[event["event_type"]] += 1
        payload = event["payload"] if is_redaction and isinstance(event["payload"], dict) else {}
        intent, first, last = (payload.get(name) for name in ("intent_id", "first_sequence", "last_sequence"))
        if is_erased or (re.fullmatch(UUID, str(intent)) and is_number(first) and is_number(last)):
            self.erased.append((str(event.get("intent_id")), event["sequence"], 1, 0, leaf) if is_erased else (intent, first, 0, last, leaf))

    def check_action(self, event):
        """The digest of an answer is that of the action that it approves, if its question proposes one."""
        payload = event.get("payload")
        if event["event_type"] in ("intent.resumed", "intent.answer_counted") and isinstance(payload, dict) and "proposal" in payload:
            require(payload.get("action_digest") == hash_text(canonical(payload["proposal"])), "decision_differs")

    def check_erasures(self):
        """A later event of the server's log must name each erased event. An event that names one a second time does not count."""
        log, end, naming = None, 0, 0
        for of, number, is_erased, last, leaf in sorted(self.erased):
            is_named = of == log and number <= end
            require(not is_erased or (is_named and leaf < naming), "erased_without_event")
            log, end, naming = (log, end, naming) if is_erased or is_named else (of, last, leaf)

    def check_chain(self, event, claimed):
        log = event.get("intent_id"), event.get("portfolio_id")
        last, time, head = self.logs.get(log, (0, "", None))
        is_next, may_skip = event["sequence"] == last + 1, self.is_selection and "log" not in event
        require(is_next or (may_skip and event["sequence"] > last), "wrong_sequence")
        previous = event["previous_event_hash"]
        require(previous == head if is_next else previous is not None, "wrong_previous")
        require(event["created_at"] >= time, "time_backwards")
        self.logs[log] = event["sequence"], event["created_at"], claimed

    def check_tree(self, leaf, node, proof):
        if self.is_selection:
            return require(is_proven(leaf, self.size, node, proof, self.root), "wrong_proof")
        append(self.full, leaf, node)
        if self.due + 1 in self.roots:
            self.roots[self.due + 1] = root_over(self.full)

    def check_manifest(self, value, before):
        inner, root = value["manifest"] if isinstance(value["manifest"], dict) else {}, base64.b64encode(self.root).decode()
        require(set(value) == {"manifest"} and not set(inner) - MANIFEST, "unknown_member")
        require(not MANIFEST - set(inner), "manifest_form")
        first, last = (self.leaves[0], self.leaves[-1]) if self.leaves else (None, None)
        counts = {"events": sum(self.types.values()), "redacted": sum(is_erased for _, _, is_erased, _, _ in self.erased), "first_leaf": first, "last_leaf": last, "by_type": self.types}
        of_header = {"size": self.size, "checkpoint": self.header["checkpoint"], "root": root}
        for code, right in [("manifest_differs", of_header), ("manifest_counts", counts), ("manifest_hash", {"sha256": before})]:
            require(all(canonical(inner[name]) == canonical(item) for name, item in right.items()), code)

def attempt(call):
    """The result of a call with the verdict that it means, or the verdict and the code of the fault."""
    try:
        return call(), "verified", None
    except Fault as fault:
        return None, "failed" if str(fault) in ("compressed", "unreadable") else "not_verified", str(fault)
    except OSError:
        return None, "failed", "unreadable"

def verify(paths, keys, kept=(), trusts=False):
    """The verdict of each file, and the code and the line of its first fault. `keys` are results of read_key, `kept` checkpoints."""
    results = [attempt(lambda: Export(open(path, "rb"), keys, trusts)) for path in paths]
    exports, proven = [export for export, _, _ in results if export], {}
    # The larger ones come first. A whole one that is right was compared with the smaller ones and with the checkpoints up to its size.
    for place, (export, verdict, code) in sorted(enumerate(results), key=lambda item: -item[1][0].size if item[1][0] else 1):
        if export:
            others = [(other.size, other.root) for other in exports if other is not export and other.origin == export.origin]
            # A checkpoint of another of these logs is compared with that log alone.
            mine = [note for note in kept if note.split("\n")[0] not in {other.origin for other in exports} - {export.origin}]
            _, verdict, code = attempt(lambda: export.read(mine, others, proven.get(export.origin, 0)))
            proven[export.origin] = max(proven.get(export.origin, 0), export.size if verdict == "verified" and not export.is_selection else 0)
        results[place] = (verdict, code, export.lines.number if export and code else None)
    return results

def main():
    parser = argparse.ArgumentParser(description="Verifies exports of Placet's log.")
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--key", action="append", default=[], type=key_argument, help="a public key that you trust; may be repeated")
    parser.add_argument("--checkpoint", action="append", default=[], type=notes_argument, help="a file with checkpoints that you kept; may be repeated")
    parser.add_argument("--trust-export-key", action="store_true", help="trust the key that the export itself names")
    options = parser.parse_args()
    if not (options.key or options.trust_export_key):
        parser.error("give the log's public key: --key NAME+HASH+KEY")
    results = verify(options.files, options.key, sum(options.checkpoint, []), options.trust_export_key)
    for path, (verdict, code, line) in zip(options.files, results):
        print(f"{verdict}  {shown(path)}" + (f": {code}, line {line}" if line else f": {code}" if code else ""))
    return max(["verified", "not_verified", "failed"].index(verdict) for verdict, _, _ in results)

if __name__ == "__main__":
    sys.exit(main())
