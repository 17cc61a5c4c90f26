// Lets @simplewebauthn/server judge each case: it must accept the honest ones, and refuse the others.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const { pathToFileURL } = require("node:url");

// The package may be made of modules alone, which are not found by NODE_PATH.
const entry = () => {
  const folder = path.join(process.env.NODE_PATH, "@simplewebauthn", "server");
  const { exports, module, main } = JSON.parse(fs.readFileSync(path.join(folder, "package.json")));
  const told = exports?.["."]?.import ?? exports?.["."]?.default ?? exports?.["."] ?? module ?? main;
  return pathToFileURL(path.join(folder, told.default ?? told)).href;
};

(async () => {
  const { verifyAuthenticationResponse } = await import(entry());
  const cases = fs.readFileSync(process.argv[2], "utf8").trim().split("\n").map((line) => JSON.parse(line));
  const wrong = {};
  for (const one of cases) {
    const { credential_id: id, authenticator_data, client_data_json, signature } = one.assertion;
    const accepted = await verifyAuthenticationResponse({
      response: {
        id, rawId: id, type: "public-key", clientExtensionResults: {},
        response: { authenticatorData: authenticator_data, clientDataJSON: client_data_json, signature },
      },
      expectedChallenge: one.challenge,
      expectedOrigin: one.origin,
      expectedRPID: one.rp_id,
      credential: { id, publicKey: new Uint8Array(Buffer.from(one.public_key, "base64url")), counter: 0 },
      requireUserVerification: true,
    }).then(({ verified }) => verified, () => false);
    if (accepted !== one.honest) wrong[one.kind] = (wrong[one.kind] ?? 0) + 1;
  }
  if (Object.keys(wrong).length) {
    console.error(`@simplewebauthn/server judges these in another way: ${JSON.stringify(wrong)}`);
    process.exit(1);
  }
  const honest = cases.filter((one) => one.honest).length;
  console.log(`@simplewebauthn/server: ${honest} answers accepted, ${cases.length - honest} forgeries refused`);
})();
