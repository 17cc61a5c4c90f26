#!/usr/bin/env python3
"""Verifies the file of a decision receipt, as docs/log-format.md defines it. Needs Python 3.9, and standards.py beside it.

    receipt.py --key NAME+HASH+KEY [--earlier-key NAME+HASH+KEY] [--action ACTION] FILE...

An earlier key of the log counts for the statement alone: a key given with --key must have signed the checkpoint. Does not say whether
a receipt was used or revoked: only the server knows that. ACTION is a file with the JSON of the action that you are about to take: its
digest must be that of the action that was approved. FILE is a receipt in JSON; receipts in COSE are not read. Does not check passkeys.
Prints a line for each file.
Exit codes: 0 all receipts are genuine, 1 one is not accepted, 2 one or ACTION cannot be read, or the arguments are wrong.
"""
import argparse, sys
try:
    from standards import (Fault, canonical, check_note, decoded, file_argument, hash_text, is_number, is_proven, is_signed, key_argument, parse,
                           require, sha256, shown)
except ImportError:
    sys.exit(print("receipt.py needs the file standards.py of its version in its folder: fetch docs/verifier/standards.py of Placet as well", file=sys.stderr) or 2)

MEMBERS = {"placet_receipt", "decision", "signature", "event", "leaf", "proof", "checkpoint"}
CONTENT_TYPE, FILE_MAX, CONTENT_MAX, PATH_MAX = b"application/placet-decision+json", 1024 * 1024, 512 * 1024, 48
HINTS = {
    "earlier_key": " (an earlier key of the log signed the checkpoint; fetch the receipt again from the server)",
    "statement_signature": " (it was changed, or an earlier key of the log signed it, which was not given)",
}


def cbor(major, data):
    """A byte string (2) or a text (3) of CBOR, or the beginning of an array (4) or a map (5) of `data` items."""
    number, behind = (data, b"") if isinstance(data, int) else (len(data), data)
    if number < 24:
        return bytes([major << 5 | number]) + behind
    code, size = next((code, size) for code, size in ((24, 1), (25, 2), (26, 4)) if number < 256**size)
    return bytes([major << 5 | code]) + number.to_bytes(size, "big") + behind


def statement_of(decision, signature, origin, keys):
    """The signed statement (RFC 9943), if one of the keys has signed it."""
    content, subject = canonical(decision), str(decision.get("suspension_id")).encode()
    require(len(content) <= CONTENT_MAX, "too_long")
    for name, digest, public in keys:
        claims = b"\x0f" + cbor(5, 2) + b"\1" + cbor(3, name.encode()) + b"\2" + cbor(3, subject)
        header = cbor(5, 4) + b"\1\x27\3" + cbor(3, CONTENT_TYPE) + b"\4" + cbor(2, digest) + claims
        signed = cbor(4, 4) + cbor(3, b"Signature1") + cbor(2, header) + cbor(2, b"") + cbor(2, content)
        if name == origin and is_signed(public, signed, signature):
            return b"\xd2" + cbor(4, 4) + cbor(2, header) + cbor(5, 0) + cbor(2, content) + cbor(2, signature)
    raise Fault("statement_signature")


def head_of(note, keys, earlier, origin):
    """The size and the root of a checkpoint that one of the keys has signed."""
    try:
        return check_note(note, keys, origin)
    except Fault as fault:
        if str(fault) != "unknown_key":
            raise
    check_note(note, keys + earlier, origin)
    raise Fault("earlier_key")


def verify(data, keys, earlier):
    """The decision, if the file proves it."""
    require(len(data) <= FILE_MAX, "too_long")
    file = parse(data)
    require(isinstance(file, dict) and set(file) == MEMBERS, "form")
    require(is_number(file["placet_receipt"]) and file["placet_receipt"] == 1, "unknown_version")
    decision, event, proof = file["decision"], file["event"], file["proof"]
    require(isinstance(decision, dict) and isinstance(event, dict) and isinstance(proof, list) and is_number(file["leaf"]), "form")
    require(isinstance(file["checkpoint"], str) and isinstance(file["signature"], str), "form")
    origin = file["checkpoint"].split("\n")[0]
    size, root = head_of(file["checkpoint"], keys, earlier, origin)
    statement = statement_of(decision, decoded(file["signature"]), origin, keys + earlier)
    require(event.get("event_hash") == hash_text(canonical({k: v for k, v in event.items() if k != "event_hash"})), "event_changed")
    payload = event.get("payload")
    require(event.get("event_type") == "receipt.issued" and isinstance(payload, dict), "other_event")
    require(payload.get("statement_hash") == hash_text(statement), "other_event")
    require(all(payload.get(name) == decision.get(name) for name in ("receipt_id", "suspension_id")), "other_event")
    leaf = canonical({k: v for k, v in event.items() if k not in ("payload", "salt")})
    require(len(proof) <= PATH_MAX and file["leaf"] < size, "path")
    require(is_proven(file["leaf"], size, sha256(b"\0", leaf), proof, root), "path")
    return decision


def hint(fault, data):
    """What to do about a fault; empty if that is not known."""
    if data[:1] == b"\xd2":
        return " (it looks like a receipt in COSE, and this program reads receipts in JSON: fetch it without format=cose)"
    if fault == "form" and isinstance(parse(data), dict) and isinstance(parse(data).get("receipt"), dict):
        return " (this looks like the whole reply of the server: put the value of its member receipt alone into a file)"
    return HINTS.get(fault, "")


def action_argument(path):
    """The digest of the action in a file."""
    return file_argument(path, lambda data: hash_text(canonical(parse(data))))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--key", action="append", required=True, type=key_argument)
    arguments.add_argument("--earlier-key", action="append", default=[], type=key_argument)
    arguments.add_argument("--action", metavar="ACTION", type=action_argument)
    arguments.add_argument("files", nargs="+", metavar="FILE")
    given, code = arguments.parse_args(), 0
    for name in given.files:
        data = b""
        try:
            with open(name, "rb") as file:
                data = file.read(FILE_MAX + 1)
            decision = verify(data, given.key, given.earlier_key)
            require(given.action is None or decision.get("action_digest") == given.action, "other_action")
            said = f"genuine: {decision.get('value')!a} by {decision.get('responded_by')!a} at {decision.get('responded_at')!a}"
        except OSError as error:
            said, code = f"cannot be read: {error.strerror}", 2
        except Fault as fault:
            said, code = f"not accepted: {fault}{hint(str(fault), data)}", max(code, 1)
        print(f"{shown(name)}: {said}")
    return code


if __name__ == "__main__":
    sys.exit(main())
