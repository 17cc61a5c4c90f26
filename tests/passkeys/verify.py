"""Lets webauthn and fido2 judge each case: both must accept the honest ones, and refuse the others."""
import base64
import collections
import json
import sys

from fido2 import cbor
from fido2.cose import CoseKey
from fido2.server import Fido2Server
from fido2.webauthn import AttestedCredentialData, PublicKeyCredentialRpEntity
from webauthn import verify_authentication_response


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def credential(case):
    parts = case["assertion"]
    return {
        "id": parts["credential_id"], "rawId": parts["credential_id"], "type": "public-key", "clientExtensionResults": {},
        "response": {
            "authenticatorData": parts["authenticator_data"], "clientDataJSON": parts["client_data_json"],
            "signature": parts["signature"]}}


def by_webauthn(case):
    verify_authentication_response(
        credential=credential(case), expected_challenge=decode(case["challenge"]), expected_rp_id=case["rp_id"],
        expected_origin=case["origin"], credential_public_key=decode(case["public_key"]), credential_current_sign_count=0,
        require_user_verification=True)


def by_fido2(case):
    party = PublicKeyCredentialRpEntity(name="Placet", id=case["rp_id"])
    server = Fido2Server(party, verify_origin=lambda origin: origin == case["origin"])
    key = CoseKey.parse(cbor.decode(decode(case["public_key"])))
    known = AttestedCredentialData.create(bytes(16), decode(case["assertion"]["credential_id"]), key)
    state = {"challenge": case["challenge"], "user_verification": "required"}
    server.authenticate_complete(state, [known], credential(case))


def accepts(judge, case):
    try:
        judge(case)
    except Exception:  # A refusal: the libraries raise errors of many kinds.
        return False
    return True


def main():
    with open(sys.argv[1]) as file:
        cases = [json.loads(line) for line in file]
    for name, judge in [("webauthn", by_webauthn), ("fido2", by_fido2)]:
        wrong = collections.Counter(case["kind"] for case in cases if accepts(judge, case) != case["honest"])
        if wrong:
            sys.exit(f"{name} judges these in another way: {dict(wrong)}")
        honest = sum(case["honest"] for case in cases)
        print(f"{name}: {honest} answers accepted, {len(cases) - honest} forgeries refused")


main()
