// Verifies a posted message with the JavaScript library of Standard Webhooks.
const assert = require("node:assert");
const { randomBytes } = require("node:crypto");
const { readFileSync } = require("node:fs");
const { Webhook } = require("standardwebhooks");

const { headers, body, secrets } = JSON.parse(readFileSync(process.argv[2], "utf8"));
for (const secret of secrets) {
    assert.equal(new Webhook(secret).verify(body, headers).type, "intent.suspended");
}
const refuses = (secret, body, headers) => assert.throws(() => new Webhook(secret).verify(body, headers));
refuses("whsec_" + randomBytes(32).toString("base64"), body, headers);
refuses(secrets[0], body + " ", headers);
refuses(secrets[0], body, { ...headers, "webhook-timestamp": String(Number(headers["webhook-timestamp"]) - 3600) });
refuses(secrets[0], body, { ...headers, "webhook-id": "another" });
console.log("JavaScript: both secrets verify; another secret, body, id and time do not");
