// An issuer of identities on this machine: oidc-provider, with its own pages for development. It prints its address, and begins to answer when
// the file that is named has the address to which it sends browsers back.
import { createServer } from "node:http";
import { existsSync, readFileSync } from "node:fs";
import { generateKeyPairSync } from "node:crypto";
import path from "node:path";
import { pathToFileURL } from "node:url";

const folder = process.env.PROVIDER;
const { exports, main } = JSON.parse(readFileSync(path.join(folder, "package.json")));
const entry = exports?.["."]?.import ?? exports?.["."]?.default ?? exports?.["."] ?? exports ?? main;
const { default: Provider } = await import(pathToFileURL(path.join(folder, entry.default ?? entry)).href);

const key = (alg, type, options) => ({ ...generateKeyPairSync(type, options).privateKey.export({ format: "jwk" }), kid: alg, alg, use: "sig" });
const keys = [
  key("RS256", "rsa", { modulusLength: 2048 }),
  key("PS256", "rsa", { modulusLength: 2048 }),
  key("ES256", "ec", { namedCurve: "P-256" }),
  key("EdDSA", "ed25519"),
];

const server = createServer();
await new Promise((yes) => server.listen(0, "127.0.0.1", yes));
const issuer = `http://127.0.0.1:${server.address().port}`;
process.stdout.write(issuer);

const file = process.argv[2];
while (!existsSync(file)) await new Promise((yes) => setTimeout(yes, 50));
const redirect = readFileSync(file, "utf8").trim();

// The people at the issuer. Each name is an account; the first part says with which algorithm its token is signed.
const claims = (id) => {
  const name = id.split("-").at(-1);
  return { sub: id, email: `${name}@example.com`, email_verified: name !== "mallory", teams: name === "ada" ? ["Finance Team"] : [] };
};
let algorithm = "RS256";
const provider = () =>
  new Provider(issuer, {
    clients: [
      {
        client_id: "placet",
        client_secret: "a secret: of+the & client",
        redirect_uris: [redirect],
        response_types: ["code"],
        grant_types: ["authorization_code"],
        id_token_signed_response_alg: algorithm,
      },
    ],
    jwks: { keys },
    scopes: ["openid", "email", "teams"],
    claims: { openid: ["sub"], email: ["email", "email_verified"], teams: ["teams"] },
    conformIdTokenClaims: false,
    findAccount: (_, id) => ({ accountId: id, claims: async () => claims(id) }),
    pkce: { required: () => true },
    features: { devInteractions: { enabled: true } },
    cookies: { keys: ["of this check alone"] },
    ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 60, IdToken: 600 },
  });
let answer = provider().callback();
server.on("request", (request, response) => {
  const chosen = /^\/algorithm\/([A-Za-z0-9]+)$/.exec(request.url);
  if (!chosen) return answer(request, response);
  algorithm = chosen[1];
  answer = provider().callback();
  response.end();
});
