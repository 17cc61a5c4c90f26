"""Lets scitt-cose verify the decision receipts on standard input, and tampers with each of them.

Three things are checked of each receipt: scitt-cose accepts it; it refuses each kind of tampering in TAMPERINGS; and the three comparisons
of `belongs`, which docs/log-format.md tells a third party to make, find what scitt-cose does not look at (UNSEEN).
"""

import base64, collections, hashlib, json, sys

import cbor2
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from scitt_cose import CoseError, attach_receipts, extract_receipts, parse_signed_statement, verify_receipt
from scitt_cose.merkle import root_from_inclusion_proof

ALGORITHM, CRITICAL, TYPE, KEY, CLAIMS, RECEIPTS, TREE_KIND, PROOFS = 1, 2, 3, 4, 15, 394, 395, 396
ISSUER, SUBJECT, INCLUSION = 1, 2, -1
SIGNED_SIZE = -1 - int.from_bytes(b"PLCT", "big")
# The order of the group of Ed25519: a signature's second half plus this number satisfies the same equation.
GROUP_ORDER = 2**252 + 27742317777372353535851937790883648493


def encode(item):
    return cbor2.dumps(item, canonical=True)


def plain(item):
    """Maps and arrays that can be changed."""
    if hasattr(item, "items"):
        return {name: plain(value) for name, value in item.items()}
    return [plain(value) for value in item] if isinstance(item, (list, tuple)) else item


def sha256_name(data):
    return "sha256:" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


def pem(key):
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


ANOTHER_KEY = pem(Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key())


def flip(data, place=0):
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1:]


def message(protected, unprotected, payload, signature):
    """A message with one signature from four encoded items."""
    return b"\xd2\x84" + protected + unprotected + payload + signature


class Case:
    """One receipt, and the same with parts replaced."""

    def __init__(self, line):
        read = json.loads(line)
        for name in ("public_key", "kid", "content", "statement", "receipt", "transparent", "event", "leaf", "root"):
            setattr(self, name, bytes.fromhex(read[name]))
        self.origin, self.subject, self.size, self.index = read["origin"], read["subject"], read["size"], read["index"]
        self.pem = pem(Ed25519PublicKey.from_public_bytes(self.public_key))
        self.protected, _, _, self.signature = cbor2.loads(self.statement).value
        self.r_protected, unprotected, _, self.r_signature = cbor2.loads(self.receipt).value
        self.header, self.r_header = plain(cbor2.loads(self.protected)), plain(cbor2.loads(self.r_protected))
        [self.proof] = unprotected[PROOFS][INCLUSION]
        self.path = plain(cbor2.loads(self.proof))[2]

    def tampered_receipt(self, protected=None, header=None, unprotected=None, proofs=None, proof=None, path=None, payload=b"\xf6", signature=None):
        if path is not None:
            proof = [self.size, self.index, path]
        if proofs is None:
            proofs = [self.proof if proof is None else proof if isinstance(proof, bytes) else encode(proof)]
        if protected is None:
            protected = encode(self.r_protected if header is None else encode({**self.r_header, **header}))
        unprotected = encode({PROOFS: {INCLUSION: proofs}} if unprotected is None else unprotected)
        return message(protected, unprotected, payload, encode(self.r_signature if signature is None else signature))

    def tampered(self, protected=None, header=None, unprotected=None, content=None, payload=None, signature=None, receipt=None):
        if protected is None:
            protected = encode(self.protected if header is None else encode({**self.header, **header}))
        if unprotected is None:
            unprotected = encode({RECEIPTS: [self.receipt if receipt is None else receipt]})
        if payload is None:
            payload = encode(self.content if content is None else content)
        return message(protected, unprotected, payload, encode(self.signature if signature is None else signature))

    def with_receipt(self, **parts):
        return self.tampered(receipt=self.tampered_receipt(**parts))


def without(header, *labels):
    return encode(encode({label: value for label, value in header.items() if label not in labels}))


def more(signature):
    """The same signature with another number in its second half."""
    return signature[:32] + (int.from_bytes(signature[32:], "little") + GROUP_ORDER).to_bytes(32, "little")


def long_head(data):
    """A string of bytes whose length is written with four bytes, which is more than it needs."""
    return b"\x5a" + len(data).to_bytes(4, "big") + data


def open_string(data):
    """A string of bytes of open length, in one piece."""
    return b"\x5f" + encode(data) + b"\xff"


def twice(header, label):
    """A header in which one label comes twice."""
    inner = encode(header)
    return encode(bytes([inner[0] + 1]) + inner[1:] + encode(label) + encode(header[label]))


def claims(case, **changed):
    header = dict(case.header[CLAIMS])
    header.update({{"issuer": ISSUER, "subject": SUBJECT, "issued": 6}[name]: value for name, value in changed.items()})
    return {CLAIMS: header}


# Each kind makes of a receipt, and of another one of the same log, what scitt-cose must refuse: bytes alone, or bytes with another leaf or
# key. None says that this receipt gives no such tampering.
TAMPERINGS = {
    # The statement's content.
    "content: first byte": lambda c, o: c.tampered(content=flip(c.content)),
    "content: last byte": lambda c, o: c.tampered(content=flip(c.content, len(c.content) - 1)),
    "content: shortened": lambda c, o: c.tampered(content=c.content[:-1]),
    "content: lengthened": lambda c, o: c.tampered(content=c.content + b" "),
    "content: empty": lambda c, o: c.tampered(content=b""),
    "content: the answer turned": lambda c, o: c.tampered(content=json.dumps({**json.loads(c.content), "value": "?"}).encode()),
    "content: another decision's": lambda c, o: c.tampered(content=o.content),
    "content: left out": lambda c, o: c.tampered(payload=b"\xf6"),
    "content: as text": lambda c, o: c.tampered(payload=encode(c.content.decode())),
    # The statement's signature.
    "statement's signature: first byte": lambda c, o: c.tampered(signature=flip(c.signature)),
    "statement's signature: last byte": lambda c, o: c.tampered(signature=flip(c.signature, 63)),
    "statement's signature: shortened": lambda c, o: c.tampered(signature=c.signature[:-1]),
    "statement's signature: lengthened": lambda c, o: c.tampered(signature=c.signature + b"\0"),
    "statement's signature: zeros": lambda c, o: c.tampered(signature=bytes(64)),
    "statement's signature: empty": lambda c, o: c.tampered(signature=b""),
    "statement's signature: another form of it": lambda c, o: c.tampered(signature=more(c.signature)),
    "statement's signature: another decision's": lambda c, o: c.tampered(signature=o.signature),
    "statement's signature: the receipt's": lambda c, o: c.tampered(signature=c.r_signature),
    # The statement's header.
    "statement's header: algorithm": lambda c, o: c.tampered(header={ALGORITHM: -7}),
    "statement's header: no algorithm": lambda c, o: c.tampered(protected=without(c.header, ALGORITHM)),
    "statement's header: content type": lambda c, o: c.tampered(header={TYPE: "application/json"}),
    "statement's header: key": lambda c, o: c.tampered(header={KEY: flip(c.kid)}),
    "statement's header: no key": lambda c, o: c.tampered(protected=without(c.header, KEY)),
    "statement's header: issuer": lambda c, o: c.tampered(header=claims(c, issuer="other")),
    "statement's header: subject": lambda c, o: c.tampered(header=claims(c, subject=o.subject)),
    "statement's header: a further claim": lambda c, o: c.tampered(header=claims(c, issued=1)),
    "statement's header: no claims": lambda c, o: c.tampered(protected=without(c.header, CLAIMS)),
    "statement's header: a critical label": lambda c, o: c.tampered(header={CRITICAL: [SIGNED_SIZE], SIGNED_SIZE: 1}),
    "statement's header: empty": lambda c, o: c.tampered(protected=b"\x40"),
    "statement's header: no map": lambda c, o: c.tampered(protected=encode(encode([c.header]))),
    "statement's header: a label twice": lambda c, o: c.tampered(protected=twice(c.header, TYPE)),
    "statement's header: another order": lambda c, o: c.tampered(protected=encode(cbor2.dumps(dict(reversed(c.header.items()))))),
    "statement's header: not protected": lambda c, o: c.tampered(protected=b"\x40", unprotected=encode({RECEIPTS: [c.receipt], **c.header})),
    "statement's header: the receipt's": lambda c, o: c.tampered(protected=encode(c.r_protected)),
    # The encoding of the whole.
    "whole: no tag": lambda c, o: c.transparent[1:],
    "whole: tag of another message": lambda c, o: b"\xd1" + c.transparent[1:],
    "whole: two tags": lambda c, o: b"\xd2" + c.transparent,
    "whole: three items": lambda c, o: b"\xd2\x83" + c.tampered()[2:-66],
    "whole: five items": lambda c, o: b"\xd2\x85" + c.transparent[2:] + b"\xf6",
    "whole: a further byte": lambda c, o: c.transparent + b"\0",
    "whole: a further message": lambda c, o: c.transparent + c.transparent,
    "whole: shortened": lambda c, o: c.transparent[:-1],
    "whole: halved": lambda c, o: c.transparent[:len(c.transparent) // 2],
    "whole: an open array": lambda c, o: b"\xd2\x9f" + c.transparent[2:] + b"\xff",
    "whole: a long head": lambda c, o: c.tampered(payload=long_head(c.content)),
    "whole: an open string": lambda c, o: c.tampered(payload=open_string(c.content)),
    "whole: no receipts": lambda c, o: c.statement,
    "whole: an empty list of receipts": lambda c, o: c.tampered(unprotected=encode({RECEIPTS: []})),
    "whole: a receipt that is a number": lambda c, o: c.tampered(unprotected=encode({RECEIPTS: [1 << 40]})),
    "whole: a receipt outside the list": lambda c, o: c.tampered(unprotected=encode({RECEIPTS: c.receipt})),
    "whole: the statement as its receipt": lambda c, o: c.tampered(receipt=c.statement),
    "whole: another log's key": lambda c, o: (c.transparent, c.leaf, ANOTHER_KEY),
    # The leaf.
    "leaf: first byte": lambda c, o: (c.transparent, flip(c.leaf), c.pem),
    "leaf: another event's": lambda c, o: (c.transparent, o.leaf, c.pem),
    "leaf: its hash": lambda c, o: (c.transparent, hashlib.sha256(b"\0" + c.leaf).digest(), c.pem),
    "leaf: the event": lambda c, o: (c.transparent, c.event, c.pem),
    "leaf: the statement": lambda c, o: (c.transparent, c.statement, c.pem),
    "leaf: the node above it": lambda c, o: (c.transparent, hashlib.sha256(b"\0" + c.leaf).digest() + c.path[0], c.pem),
    "leaf: empty": lambda c, o: (c.transparent, b"", c.pem),
    # The proof.
    "proof: the next leaf": lambda c, o: c.with_receipt(proof=[c.size, c.index + 1, c.path]),
    "proof: the leaf beside it": lambda c, o: c.with_receipt(proof=[c.size, c.index ^ 1, c.path]),
    "proof: a negative leaf": lambda c, o: c.with_receipt(proof=[c.size, -1 - c.index, c.path]),
    "proof: a leaf behind the tree": lambda c, o: c.with_receipt(proof=[c.size, c.size, c.path]),
    "proof: a tree of twice the height": lambda c, o: c.with_receipt(proof=[c.size << len(c.path), c.index, c.path]),
    "proof: a tree that ends before the leaf": lambda c, o: c.with_receipt(proof=[c.index, c.index, c.path]),
    "proof: an empty tree": lambda c, o: c.with_receipt(proof=[0, 0, c.path]),
    "proof: a huge tree": lambda c, o: c.with_receipt(proof=[1 << 63, c.index, c.path]),
    "proof: a size that is no number": lambda c, o: c.with_receipt(proof=[True, c.index, c.path]),
    "proof: a size with fractions": lambda c, o: c.with_receipt(proof=[c.size + 0.5, c.index, c.path]),
    "proof: a hash's first byte": lambda c, o: c.with_receipt(path=[flip(c.path[0]), *c.path[1:]]),
    "proof: the last hash's last byte": lambda c, o: c.with_receipt(path=[*c.path[:-1], flip(c.path[-1], 31)]),
    "proof: without the first hash": lambda c, o: c.with_receipt(path=c.path[1:]),
    "proof: without the last hash": lambda c, o: c.with_receipt(path=c.path[:-1]),
    "proof: a further hash": lambda c, o: c.with_receipt(path=[*c.path, bytes(32)]),
    "proof: a hash twice": lambda c, o: c.with_receipt(path=[c.path[0], *c.path]),
    "proof: reversed": lambda c, o: c.with_receipt(path=c.path[::-1]) if len(c.path) > 1 else None,
    "proof: a short hash": lambda c, o: c.with_receipt(path=[c.path[0][:31], *c.path[1:]]),
    "proof: a long hash": lambda c, o: c.with_receipt(path=[c.path[0] + b"\0", *c.path[1:]]),
    "proof: a hash as text": lambda c, o: c.with_receipt(path=[c.path[0].hex(), *c.path[1:]]),
    "proof: a hash as number": lambda c, o: c.with_receipt(path=[1 << 40, *c.path[1:]]),
    "proof: far too many hashes": lambda c, o: c.with_receipt(path=c.path[:1] * 100),
    "proof: no path": lambda c, o: c.with_receipt(proof=[c.size, c.index]),
    "proof: four items": lambda c, o: c.with_receipt(proof=[c.size, c.index, c.path, 0]),
    "proof: a further byte": lambda c, o: c.with_receipt(proof=c.proof + b"\0"),
    "proof: shortened": lambda c, o: c.with_receipt(proof=c.proof[:-1]),
    "proof: another receipt's": lambda c, o: c.with_receipt(proof=o.proof) if (o.size, o.index) != (c.size, c.index) else None,
    "proof: not as bytes": lambda c, o: c.with_receipt(proofs=[[c.size, c.index, c.path]]),
    "proof: none": lambda c, o: c.with_receipt(proofs=[]),
    "proof: a broken one beside it": lambda c, o: c.with_receipt(proofs=[c.proof, c.proof[:-1]]),
    "proof: seventeen": lambda c, o: c.with_receipt(proofs=[c.proof] * 17),
    "proof: as one of consistency": lambda c, o: c.with_receipt(unprotected={PROOFS: {-2: [c.proof]}}),
    "proof: no header for it": lambda c, o: c.with_receipt(unprotected={}),
    # The receipt's header and signature.
    "receipt's header: algorithm": lambda c, o: c.with_receipt(header={ALGORITHM: -7}),
    "receipt's header: no algorithm": lambda c, o: c.with_receipt(protected=without(c.r_header, ALGORITHM)),
    "receipt's header: key": lambda c, o: c.with_receipt(header={KEY: flip(c.kid)}),
    "receipt's header: issuer": lambda c, o: c.with_receipt(header=claims(c, issuer="other")),
    "receipt's header: subject": lambda c, o: c.with_receipt(header=claims(c, subject=o.subject)),
    "receipt's header: a time": lambda c, o: c.with_receipt(header=claims(c, issued=1)),
    "receipt's header: another kind of tree": lambda c, o: c.with_receipt(header={TREE_KIND: 2}),
    "receipt's header: an unknown kind of tree": lambda c, o: c.with_receipt(header={TREE_KIND: 9}),
    "receipt's header: no kind of tree": lambda c, o: c.with_receipt(protected=without(c.r_header, TREE_KIND)),
    "receipt's header: kind of tree not protected": lambda c, o: c.with_receipt(
        protected=without(c.r_header, TREE_KIND), unprotected={TREE_KIND: 1, PROOFS: {INCLUSION: [c.proof]}}),
    "receipt's header: signed size": lambda c, o: c.with_receipt(header={SIGNED_SIZE: c.size + 1}),
    "receipt's header: no signed size": lambda c, o: c.with_receipt(protected=without(c.r_header, SIGNED_SIZE)),
    "receipt's header: a critical label": lambda c, o: c.with_receipt(header={CRITICAL: [SIGNED_SIZE]}),
    "receipt's header: empty": lambda c, o: c.with_receipt(protected=b"\x40"),
    "receipt's header: a label twice": lambda c, o: c.with_receipt(protected=twice(c.r_header, SIGNED_SIZE)),
    "receipt's header: the statement's": lambda c, o: c.with_receipt(protected=encode(c.protected)),
    "receipt's signature: first byte": lambda c, o: c.with_receipt(signature=flip(c.r_signature)),
    "receipt's signature: last byte": lambda c, o: c.with_receipt(signature=flip(c.r_signature, 63)),
    "receipt's signature: shortened": lambda c, o: c.with_receipt(signature=c.r_signature[:-1]),
    "receipt's signature: another form of it": lambda c, o: c.with_receipt(signature=more(c.r_signature)),
    "receipt's signature: another receipt's": lambda c, o: c.with_receipt(signature=o.r_signature) if o.receipt != c.receipt else None,
    "receipt's signature: the statement's": lambda c, o: c.with_receipt(signature=c.signature),
    # The receipt as a whole.
    "receipt: the root attached": lambda c, o: c.with_receipt(payload=encode(c.root)),
    "receipt: another root attached": lambda c, o: c.with_receipt(payload=encode(bytes(32))),
    "receipt: another decision's": lambda c, o: c.tampered(receipt=o.receipt),
    "receipt: no tag": lambda c, o: c.tampered(receipt=c.receipt[1:]),
    "receipt: a further byte": lambda c, o: c.tampered(receipt=c.receipt + b"\0"),
    "receipt: shortened": lambda c, o: c.tampered(receipt=c.receipt[:-1]),
    "receipt: an open array": lambda c, o: c.tampered(receipt=b"\xd2\x9f" + c.receipt[2:] + b"\xff"),
    "receipt: a long head": lambda c, o: c.with_receipt(protected=long_head(c.r_protected)),
}


def size_with_the_same_root(case):
    """The receipt with another number of leaves beside its path, which leads to the same root all the same."""
    for size in (case.size + 1, case.size - 1):
        path = [step.hex() for step in case.path]
        if case.index < size and root_from_inclusion_proof(case.leaf.hex(), case.index, size, path) == case.root.hex():
            return case.with_receipt(proof=[size, case.index, case.path])
    return None


# What scitt-cose accepts, because it does not compare these things. `belongs` must find them.
UNSEEN = {
    "another size with the same root": lambda c, o: size_with_the_same_root(c),
    "another decision's receipt, with its leaf": lambda c, o: (c.tampered(receipt=o.receipt), o),
}


def accepts(whole, leaf, key):
    """Whether scitt-cose accepts the statement and exactly one receipt, which is for this leaf."""
    try:
        receipts = extract_receipts(whole)
    except CoseError:
        return False
    is_signed = parse_signed_statement(whole, public_key_pem=key)["signature_verified"] is True
    return is_signed and len(receipts) == 1 and verify_receipt(receipts[0], leaf_entry_hex=leaf.hex(), log_public_key_pem=key).ok


def belongs(whole, leaf, event, key):
    """The comparisons of a third party that has the event. Both signatures were verified before."""
    statement = parse_signed_statement(whole, public_key_pem=key)
    [receipt] = extract_receipts(whole)
    result = verify_receipt(receipt, leaf_entry_hex=leaf.hex(), log_public_key_pem=key)
    protected, _, payload, signature = cbor2.loads(whole).value
    registered = message(encode(protected), b"\xa0", encode(payload), encode(signature))
    parsed = json.loads(event)
    public = {name: value for name, value in parsed.items() if name not in ("payload", "salt")}
    expected = json.dumps({**public, "event_hash": sha256_name(event)}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return (
        (result.issuer, result.subject) == (statement["issuer"], statement["subject"])
        and result.protected_header_ext[SIGNED_SIZE] == result.tree_size
        and expected.encode() == leaf
        and parsed["payload"]["statement_hash"] == sha256_name(registered)
    )


def check_right(case):
    """That all members of a receipt are read as they were written."""
    parsed = parse_signed_statement(case.statement, public_key_pem=case.pem)
    read = [parsed[name] for name in ("signature_verified", "issuer", "subject", "content_type", "alg", "payload")]
    assert read == [True, case.origin, case.subject, "application/placet-decision+json", "EdDSA", case.content], parsed
    result = verify_receipt(case.receipt, leaf_entry_hex=case.leaf.hex(), log_public_key_pem=case.pem)
    assert result.ok, result.errors
    assert (result.tree_size, result.leaf_index, result.root) == (case.size, case.index, case.root.hex()), result
    assert (result.issuer, result.subject) == (case.origin, case.subject), result
    assert result.protected_header_ext == {KEY: case.kid, SIGNED_SIZE: case.size}, result
    assert attach_receipts(case.statement, [case.receipt]) == case.transparent, "scitt-cose attaches a receipt with other bytes"
    assert extract_receipts(case.transparent) == [case.receipt]
    for encoded in (case.statement, case.receipt, case.transparent, case.protected, case.r_protected, case.proof):
        assert cbor2.dumps(cbor2.loads(encoded), canonical=True) == encoded, "not the deterministic encoding"
    # Nothing in the table below is refused for another reason than the tampering.
    assert case.tampered() == case.transparent and case.tampered_receipt() == case.receipt
    assert accepts(case.transparent, case.leaf, case.pem) and belongs(case.transparent, case.leaf, case.event, case.pem)


def main():
    count, accepted, refused, found = int(sys.argv[1]), 0, collections.Counter(), collections.Counter()
    largest, before = 0, None
    for line in sys.stdin:
        case = Case(line)
        check_right(case)
        accepted, largest = accepted + 1, max(largest, case.size)
        # Another decision of the same log, if one came before.
        other = before if before and before.origin == case.origin and before.leaf != case.leaf else None
        before = case
        if not other:
            continue
        for name, tamper in TAMPERINGS.items():
            made = tamper(case, other)
            if made is not None:
                made = made if isinstance(made, tuple) else (made, case.leaf, case.pem)
                assert made != (case.transparent, case.leaf, case.pem), f"{name}: nothing was changed"
                assert not accepts(*made), f"scitt-cose accepts tampering ({name}): {line}"
                refused[name] += 1
        for name, tamper in UNSEEN.items():
            made = tamper(case, other)
            if made is not None:
                whole, of = made if isinstance(made, tuple) else (made, case)
                assert accepts(whole, of.leaf, of.pem), f"scitt-cose now refuses this, so it belongs to the table above: {name}"
                assert not belongs(whole, of.leaf, of.event, of.pem), f"nobody finds this tampering ({name}): {line}"
                found[name] += 1
    assert accepted == count, f"{accepted} receipts came, and not {count}"
    missing = [name for name in TAMPERINGS if not refused[name]] + [name for name in UNSEEN if not found[name]]
    assert not missing, f"these kinds of tampering were never tried: {missing}"
    assert len(TAMPERINGS) >= 40
    print(f"scitt-cose accepts {accepted} of {count} receipts, in trees of up to {largest} leaves")
    print(f"scitt-cose refuses {sum(refused.values())} of as many tampered ones, of {len(TAMPERINGS)} kinds")
    print(f"the further comparisons find {sum(found.values())} of as many, of {len(UNSEEN)} kinds: {', '.join(UNSEEN)}")


if __name__ == "__main__":
    main()
