"""Verifies a posted message with the Python library of Standard Webhooks."""

import base64, json, os, sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

with open(sys.argv[1]) as file:
    posted = json.load(file)
headers, body = posted["headers"], posted["body"]
for secret in posted["secrets"]:
    payload = Webhook(secret).verify(body, headers)
    assert payload["type"] == "intent.suspended", payload
    assert "url" not in payload["data"], "only deliverers get the link"

wakes = posted["wakes"]
told = {}
for wake in wakes:
    payload = Webhook(posted["secrets"][0]).verify(wake["body"], wake["headers"])
    told.setdefault(wake["headers"]["webhook-id"], []).append(payload)
assert sorted(tries[0]["type"] for tries in told.values()) == ["suspension.ended", "suspension.resumed"], told
assert all(len(tries) == 2 and tries[0] == tries[1] for tries in told.values()), "each came again, under the same id"


def refuses(secret, body, headers):
    try:
        Webhook(secret).verify(body, headers)
    except WebhookVerificationError:
        return
    sys.exit("accepted what is not ours")


old = dict(headers, **{"webhook-timestamp": str(int(headers["webhook-timestamp"]) - 3600)})
refuses("whsec_" + base64.b64encode(os.urandom(32)).decode(), body, headers)
refuses(posted["secrets"][0], body + " ", headers)
refuses(posted["secrets"][0], body, old)
refuses(posted["secrets"][0], body, dict(headers, **{"webhook-id": "another"}))
for wake in wakes:
    refuses(posted["secrets"][1], wake["body"], wake["headers"])
print(f"Python: {len(wakes)} tries of wakes verify, and a signed event was taken")
print("Python: both secrets verify; another secret, body, id and time do not")
