// A person without a browser: presses the button, fills in the forms of the issuer, and comes back.
const { PLACET: placet, ISSUER: issuer, AUDITOR: auditor } = process.env;

const fail = (why) => {
  console.error(why);
  process.exit(1);
};

/// A browser: keeps cookies by origin and path, follows redirects, and knows the page that it shows.
class Person {
  cookies = [];

  async open(url, form) {
    let [address, body] = [new URL(url), form && new URLSearchParams(form)];
    for (let steps = 0; steps < 12; steps += 1) {
      const fitting = this.cookies.filter(({ origin, path }) => origin === address.origin && address.pathname.startsWith(path));
      const headers = { cookie: fitting.map(({ name, value }) => `${name}=${value}`).join("; ") };
      if (body) headers.origin = address.origin;
      const response = await fetch(address, { method: body ? "POST" : "GET", body, headers, redirect: "manual" });
      for (const line of response.headers.getSetCookie()) this.keep(address, line);
      const location = response.headers.get("location");
      if (!location) {
        this.page = { url: address, status: response.status, html: await response.text() };
        return this.page;
      }
      [address, body] = [new URL(location, address), undefined];
    }
    return fail(`too many redirections on the way to ${address.origin}`);
  }

  keep(address, line) {
    const [pair, ...attributes] = line.split(";").map((part) => part.trim());
    const [name, value] = [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)];
    const path = attributes.find((attribute) => /^path=/i.test(attribute))?.slice(5) ?? "/";
    const isOther = (cookie) => cookie.name !== name || cookie.origin !== address.origin || cookie.path !== path;
    this.cookies = this.cookies.filter(isOther);
    if (value) this.cookies.push({ origin: address.origin, path, name, value });
  }

  /// Sends the form whose button or address has this word, with these fields besides its hidden ones.
  async send(word, fields = {}) {
    const form = this.page.html.match(/<form[\s\S]*?<\/form>/g)?.find((form) => form.includes(word));
    if (!form) fail(`there is no form with ${word} on ${this.page.url}:\n${this.page.html}`);
    const hidden = [...form.matchAll(/<input[^>]*type="hidden"[^>]*>/g)].map(([input]) => input);
    const attribute = (input, name) => new RegExp(`${name}="([^"]*)"`).exec(input)?.[1] ?? "";
    const known = Object.fromEntries(hidden.map((input) => [attribute(input, "name"), attribute(input, "value")]));
    return this.open(new URL(attribute(form, "action"), this.page.url), { ...known, ...fields });
  }
}

/// Presses the button, logs in at the issuer as `account`, and agrees to everything.
const enter = async (account) => {
  const person = new Person();
  await person.open(`${placet}/login`);
  await person.send("/login/openid");
  if (person.page.url.origin !== issuer) fail(`the button leads to ${person.page.url}:\n${person.page.html}`);
  await person.send("login", { login: account, password: "any" });
  if (person.page.url.origin === issuer) await person.send("consent");
  return person;
};

const events = async () => {
  const response = await fetch(`${placet}/api/v1/server/events?limit=1000`, { headers: { "x-api-key": auditor } });
  return response.json();
};

for (const algorithm of ["RS256", "PS256", "ES256", "EdDSA"]) {
  await fetch(`${issuer}/algorithm/${algorithm}`);
  const { page } = await enter("account-of-ada");
  if (page.status !== 200 || page.url.pathname !== "/inbox" || !page.html.includes("ada@example.com")) {
    fail(`ada did not get in with ${algorithm}: ${page.status} ${page.url}\n${page.html}`);
  }
}
console.log("oidc-provider: a person who is listed gets in, with four algorithms");

for (const [account, words] of [
  ["account-of-eve", "does not log in here"],
  ["another-account-of-ada", "does not log in here"],
  ["account-of-mallory", "did not name an e-mail address"],
]) {
  const { page } = await enter(account);
  if (page.status !== 403 || !page.html.includes(words)) fail(`${account} was not refused: ${page.status}\n${page.html}`);
}
const person = new Person();
await person.open(`${placet}/login`);
await person.send("/login/openid");
const cancel = /href="([^"]*\/abort)"/.exec(person.page.html)?.[1] ?? fail(`there is no way to cancel:\n${person.page.html}`);
await person.open(new URL(cancel, person.page.url));
if (person.page.status !== 403 || !person.page.html.includes("access_denied")) fail(`a person who cancels is told:\n${person.page.html}`);
console.log("oidc-provider: three accounts and one person who cancels are refused");

// A login that must be recent: the issuer asks a person again who is logged in there, and says when that was.
const ada = await enter("account-of-ada");
await ada.open(`${placet}/login?fresh=1`);
await ada.send("/login/openid");
if (ada.page.url.origin !== issuer || !ada.page.html.includes('name="login"')) fail(`the issuer does not ask again:\n${ada.page.html}`);
await ada.send("login", { login: "account-of-ada", password: "any" });
if (ada.page.url.origin === issuer) await ada.send("consent");
if (ada.page.status !== 200 || ada.page.url.pathname !== "/inbox") fail(`ada did not get in again: ${ada.page.url}\n${ada.page.html}`);
const [before, recent] = (await events()).filter(({ event_type }) => event_type === "session.began").slice(-2).map(({ payload }) => payload);
const minutes = (new Date(recent.recent_until) - new Date(recent.auth_time)) / 60_000;
const age = (Date.now() - new Date(recent.auth_time)) / 1_000;
if (minutes !== 5 || age > 60) fail(`the login is not recent: ${JSON.stringify(recent)}`);
if (before.recent_until && before.auth_time >= recent.auth_time) fail(`the person was not asked again: ${JSON.stringify([before, recent])}`);
console.log("oidc-provider: a login that must be recent asks the person again, and says when it was");

const told = await events();
const ofType = (type) => told.filter(({ event_type }) => event_type === type);
const began = ofType("session.began").map(({ payload }) => payload.method);
if (began.length !== 6 || began.some((method) => method !== "openid")) fail(`the sessions began so: ${began}`);
const [bound, ...more] = ofType("identity.bound").map(({ payload }) => payload);
if (more.length || bound.issuer !== issuer || bound.subject !== "account-of-ada") fail(`bound: ${JSON.stringify(bound)}`);
const members = ofType("group.changed").at(-1).payload.members.join(", ");
if (members !== "ada@example.com, bob@example.com") fail(`the group follows the issuer so: ${members}`);
console.log("oidc-provider: the log has one account, six sessions and the group");
