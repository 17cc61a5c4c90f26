"""The standards that verify.py and receipt.py use: canonical JSON (RFC 8785), Ed25519 (RFC 8032), signed notes (C2SP),
proofs (RFC 9162), and the arguments of their command lines.

Needs Python 3.9 and nothing else. A fault raises its code.
"""
import argparse, base64, functools, hashlib, json, math, re
from decimal import Decimal

INTEGER_MAX, DEPTH_MAX = 2**53 - 1, 127
LINE_MAX, NOTE_MAX, SIGNATURES_MAX, CONTROL = 4 * 1024 * 1024, 16 * 1024, 64, "\x00-\x1f\x7f-\x9f"
BASE64 = "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"
KEY = f"([^+{CONTROL}\\s]{{1,200}})[+]([0-9a-f]{{8}})[+]({BASE64})"
NOTE = f"(([^{CONTROL}]+)\n(0|[1-9][0-9]*)\n({BASE64})\n(?:[^{CONTROL}]*\n)*)\n((?:\u2014 [^+{CONTROL}\\s]+ {BASE64}\n)+)"
FIELD, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D, ROOT_OF_MINUS_1 = -121665 * pow(121666, -1, FIELD) % FIELD, pow(2, (FIELD - 1) // 4, FIELD)


class Fault(Exception):
    """A fault; its text is the code."""


def require(condition, code):
    if not condition:
        raise Fault(code)


def shown(text):
    """The text on one line of a terminal: a character that is not printed stands as its escape."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def hash_text(data):
    """The SHA-256 of bytes, as events write it."""
    return "sha256:" + base64.urlsafe_b64encode(sha256(data)).decode().rstrip("=")


class Lines:
    """The lines of a file of JSON, each with one end and in one form. `number` is that of the line read last."""

    def __init__(self, file):
        self.file, self.number, self.raw, self.before = file, 0, b"", hashlib.sha256()  # `before`: over all lines but the last.

    def next(self):
        """The next line without its end; empty at the end of the file."""
        self.before.update(self.raw)
        self.raw, self.number = self.file.readline(), self.number + 1
        line = self.raw[:-1] if self.raw.endswith(b"\n") else self.raw
        require(len(line) <= LINE_MAX, "line_too_long")
        require(line != self.raw or not line, "truncated_line")
        require(self.number > 1 or not line.startswith(b"\xef\xbb\xbf"), "byte_order_mark")
        require(not line.endswith(b"\r"), "crlf")
        require(line or not self.raw, "blank_line")
        return line


def canonical(value, depth=0):
    """RFC 8785; refuses integers beyond their limits."""
    if isinstance(value, (dict, list)):
        require(depth < DEPTH_MAX, "not_json")
        if isinstance(value, list):
            return b"[" + b",".join(canonical(item, depth + 1) for item in value) + b"]"
        members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))
        return b"{" + b",".join(canonical(name) + b":" + canonical(item, depth + 1) for name, item in members) + b"}"
    if isinstance(value, float) and value != 0:
        require(math.isfinite(value), "not_json")
        return format(Decimal(repr(value)).normalize(), "f" if 1e-6 <= abs(value) < 1e21 else "e").encode()
    require(not isinstance(value, int) or abs(value) <= INTEGER_MAX, "number_out_of_range")
    return json.dumps(0 if isinstance(value, float) else value, ensure_ascii=False).encode()


def parse(line):
    def members(pairs):
        require(len(dict(pairs)) == len(pairs), "duplicate_member")
        return dict(pairs)
    try:
        value = json.loads(line.decode(), object_pairs_hook=members, parse_int=lambda text: -0.0 if text == "-0" else int(text))
        canonical(value)  # Refuses halves of characters, too.
        return value
    except (ValueError, RecursionError) as error:
        raise Fault("invalid_utf8" if isinstance(error, UnicodeDecodeError) else "not_json")


def is_number(value, least=0):
    """Whether a value of JSON is a whole number, and not too small."""
    return type(value) is int and value >= least


def point(y, sign):
    """The point with this y, whose x is odd if `sign` is 1; None if there is none."""
    square = (y * y - 1) * pow(D * y * y + 1, -1, FIELD) % FIELD
    x = pow(square, (FIELD + 3) // 8, FIELD)
    x = x if x * x % FIELD == square else x * ROOT_OF_MINUS_1 % FIELD
    return (x if x & 1 == sign else -x % FIELD, y) if x * x % FIELD == square and y < FIELD else None


def add(p, q):
    (x, y), (v, w) = p, q
    t = D * x * y * v * w % FIELD
    return (x * w + v * y) * pow(1 + t, -1, FIELD) % FIELD, (y * w + x * v) * pow(1 - t, -1, FIELD) % FIELD


def times(number, p):
    return add(times(number >> 1, add(p, p)), p if number & 1 else (0, 1)) if number else (0, 1)


def is_signed(public, text, signature):
    y, number = int.from_bytes(public, "little"), int.from_bytes(signature[32:], "little")
    key = point(y & 2**255 - 1, y >> 255)
    if len(signature) != 64 or number >= ORDER or key is None:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + public + text).digest(), "little") % ORDER
    base = point(4 * pow(5, -1, FIELD) % FIELD, 0)
    x, y = add(times(number, base), times(k, (-key[0] % FIELD, key[1])))
    return (y | (x & 1) << 255).to_bytes(32, "little") == signature[:32]


def decoded(text):
    """The bytes of base64, which has one form; no bytes for anything else."""
    data = base64.b64decode(text if isinstance(text, str) and re.fullmatch(BASE64, text) else "")
    return data if base64.b64encode(data).decode() == text else b""


def read_key(text):
    """A list with the name, the hash and the bytes of a public key; empty if the text is none."""
    found = re.fullmatch(KEY, text.strip())
    data = decoded(found[3]) if found else b""
    digest = sha256(found[1].encode(), b"\n", data)[:4] if len(data) == 33 and data[0] == 1 else b""
    return [(found[1], digest, data[1:])] if digest and digest.hex() == found[2] else []


def check_note(note, keys, origin):
    """The size and the root of a checkpoint that one of the keys has signed for the log `origin`."""
    found = re.fullmatch(NOTE, note)
    lines = [line.split(" ")[1:] for line in found[5].split("\n")[:-1]] if found else []
    right = 0 < len(lines) <= SIGNATURES_MAX and len(note.encode()) <= NOTE_MAX
    right = right and int(found[3]) < 2**64 and len(decoded(found[4])) == 32
    require(right and all(len(decoded(signature)) > 4 for _, signature in lines), "checkpoint_form")
    require(found[2] == origin and origin in [name for name, _, _ in keys], "wrong_origin")
    signed = []
    for name, signature in [(name, decoded(signature)) for name, signature in lines if name == origin]:
        matching = [public for key, digest, public in keys if key == name and digest == signature[:4]]
        signed += [is_signed(public, found[1].encode(), signature[4:]) for public in matching]
    require(all(signed), "wrong_signature")
    require(signed, "unknown_key")
    return int(found[3]), decoded(found[4])


def is_succession(statements):
    right = isinstance(statements, list) and all(isinstance(statement, dict) for statement in statements)
    names, texts = {"replaces", "key", "signature"}, [text for statement in statements for text in statement.values()] if right else []
    return right and all(set(statement) == names for statement in statements) and all(isinstance(text, str) for text in texts)


def successors(keys, statements):
    """The keys, and those to which they lead: each statement counts if a key that is trusted by then has signed it."""
    for replaces, after, signature in ((step["replaces"].strip(), step["key"].strip(), step["signature"]) for step in statements):
        old, new, text = read_key(replaces), read_key(after), f"placet-log-key/1\n{replaces}\n{after}\n".encode()
        right = old and new and old[0] in keys and old[0][0] == new[0][0] and is_signed(old[0][2], text, decoded(signature))
        keys = keys + new if right and new[0] not in keys else keys
    return keys


def root_of(leaf, size, node, proof):
    """The root to which a proof leads (RFC 9162, section 2.1.3); None if it has another length."""
    if size <= 1 or not proof:
        return node if size == 1 and not proof else None
    half = 1 << (size - 1).bit_length() - 1
    below = root_of(*((leaf, half) if leaf < half else (leaf - half, size - half)), node, proof[:-1])
    return below and (sha256(b"\1", below, proof[-1]) if leaf < half else sha256(b"\1", proof[-1], below))


def is_proven(leaf, size, node, proof, root):
    """Whether a proof, a list of hashes in base64, leads from a leaf to the root."""
    steps = [decoded(step) for step in proof] if isinstance(proof, list) else [b""]
    return all(len(step) == 32 for step in steps) and root_of(leaf, size, node, steps) == root


def append(full, leaf, node):
    """Adds a leaf to the full subtrees of a tree, the largest first."""
    while leaf & 1:
        node, leaf = sha256(b"\1", full.pop(), node), leaf >> 1
    full.append(node)


def root_over(full):
    """The root over full subtrees, the largest first."""
    return functools.reduce(lambda right, left: sha256(b"\1", left, right), reversed(full)) if full else sha256()


def key_argument(text):
    """A public key from the command line."""
    for key in read_key(text):
        return key
    raise argparse.ArgumentTypeError("it must be NAME+HASH+KEY of an Ed25519 key")


def file_argument(path, read):
    """What `read` makes of the bytes of a file that the command line names."""
    try:
        with open(path, "rb") as file:
            return read(file.read())
    except (OSError, Fault, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or (f"it is no JSON ({error})" if isinstance(error, Fault) else "it is no text in UTF-8")
        raise argparse.ArgumentTypeError(f"the file {shown(path)} cannot be read: {reason}")


def notes_argument(path):
    """The checkpoints of a file that may hold several, each with an empty line behind its signatures."""
    notes, is_behind_signature = [""], False
    for line in re.findall("[^\n]*\n|[^\n]+", file_argument(path, bytes.decode)):
        if line == "\n" and is_behind_signature:
            notes.append("")
        else:
            notes[-1] += line
        is_behind_signature = line.startswith("\u2014 ")
    return list(filter(None, notes)) or [""]
