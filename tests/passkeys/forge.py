"""Reads an export and passkeys that were known beforehand, and prints one case a line: first each answer that a passkey signed, then
forgeries. The challenge of a case is computed here, from the answer alone.

The forger holds everything but the passkey: an answer can say whatever the forger likes, and an assertion can be an honest one of another
answer, an honest one that was changed, or one by a key of the forger's own.
"""
import base64
import copy
import hashlib
import json
import random
import sys

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

PARTS = ["credential_id", "authenticator_data", "client_data_json", "signature"]
SIGNED = ["action_digest", "presented_hash"]


def encode(part):
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def challenge(answer):
    # An answer about an action that a question proposes has `proposed_digest` as well.
    signed = [name for name in [*SIGNED, "proposed_digest"] if name in answer]
    consent = {"suspension": answer["suspension_id"], "value": answer["value"], **{name: answer[name] for name in signed}}
    # The values of these answers are texts, truth values and short decimal fractions, for which this is the canonical form (RFC 8785).
    text = json.dumps(consent, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return encode(hashlib.sha256(text.encode()).digest())


def own_signature(key, data, client):
    return key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))


def client_data(answer, **changes):
    client = json.loads(decode(answer["assertion"]["client_data_json"]))
    return json.dumps({**client, **changes}, separators=(",", ":")).encode()


def another_value(chance, answer, others, key):
    answer["value"] = chance.choice(["yes", "no", "approve", f"{chance.random():.6f}", {"cap": chance.randrange(10**6), "cc": True}])


def another_question(chance, answer, others, key):
    answer["suspension_id"] = "%08x-0000-7000-8000-%012x" % (chance.getrandbits(32), chance.getrandbits(48))


def another_hash(chance, answer, others, key):
    answer[chance.choice(SIGNED)] = "sha256:" + encode(chance.randbytes(32))


def an_honest_assertion_of_another_answer(chance, answer, others, key):
    other = chance.choice([other for other in others if other["suspension_id"] != answer["suspension_id"]])
    answer["assertion"] = copy.deepcopy(other["assertion"])


def another_challenge_under_the_old_signature(chance, answer, others, key):
    another_value(chance, answer, others, key)
    answer["assertion"]["client_data_json"] = encode(client_data(answer, challenge=challenge(answer)))


def a_key_of_the_forgers_own(chance, answer, others, key):
    if chance.random() < 0.7:
        another_value(chance, answer, others, key)
    client = client_data(answer, challenge=challenge(answer))
    data = decode(answer["assertion"]["authenticator_data"])[:33] + chance.getrandbits(31).to_bytes(4, "big")
    answer["assertion"].update(
        authenticator_data=encode(data), client_data_json=encode(client), signature=encode(own_signature(key, data, client)))


def flipped_bits(chance, answer, others, key):
    name = chance.choice(PARTS[1:])
    part = bytearray(decode(answer["assertion"][name]))
    places = range(len(part))
    if name == "signature":
        # The frame around the two numbers (DER) is left alone: a reader that is lenient about it still reads the honest numbers, so the
        # person did say what it accepts.
        second = 4 + part[3] + 2
        places = [*range(4, second - 2), *range(second, len(part))]
    part[chance.choice(places)] ^= 1 << chance.randrange(8)
    answer["assertion"][name] = encode(bytes(part))


def a_part_cut_off(chance, answer, others, key):
    name = chance.choice(PARTS[1:])
    part = decode(answer["assertion"][name])
    answer["assertion"][name] = encode(part[: chance.randrange(1, len(part))])


def random_bytes(chance, answer, others, key):
    answer["assertion"]["signature"] = encode(chance.randbytes(chance.choice([8, 64, 70, 71, 72])))


def another_site(chance, answer, others, key):
    client = client_data(answer, origin=chance.choice(["https://evil.example", "http://localhost", "https://localhost"]))
    answer["assertion"]["client_data_json"] = encode(client)


FORGERIES = [
    another_value, another_question, another_hash, an_honest_assertion_of_another_answer, another_challenge_under_the_old_signature,
    a_key_of_the_forgers_own, flipped_bits, a_part_cut_off, random_bytes, another_site,
]


def case(kind, honest, answer, known, origin):
    return json.dumps({
        "kind": kind, "honest": honest, "challenge": challenge(answer), "assertion": answer["assertion"],
        "public_key": known["public_key"], "rp_id": known["rp_id"], "origin": origin})


def main():
    folder, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    chance, key = random.Random(seed), ec.generate_private_key(ec.SECP256R1())
    with open(f"{folder}/passkeys.json") as file:
        passkeys = {known["credential_id"]: known for known in json.load(file)}
    with open(f"{folder}/export.jsonl") as file:
        events = [line["event"] for line in map(json.loads, file) if "event" in line]
    answers = [event["payload"] for event in events if "assertion" in (event.get("payload") or {})]
    assert len(answers) >= 3, "the export has too few answers that a passkey signed"
    known = {answer["suspension_id"]: passkeys[answer["assertion"]["credential_id"]] for answer in answers}
    origins = {json.loads(decode(answer["assertion"]["client_data_json"]))["origin"] for answer in answers}
    (origin,) = origins
    for answer in answers:
        assert known[answer["suspension_id"]]["person"] == answer["responded_by"]
        print(case("honest", True, answer, known[answer["suspension_id"]], origin))
    for number in range(count):
        forge, answer = FORGERIES[number % len(FORGERIES)], copy.deepcopy(chance.choice(answers))
        honest, passkey = json.dumps(answer), known[answer["suspension_id"]]
        while json.dumps(answer) == honest:
            forge(chance, answer, answers, key)
        print(case(forge.__name__, False, answer, passkey, origin))


main()
