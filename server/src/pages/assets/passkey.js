// Has a passkey sign what a form says, before the form is sent. It decides nothing: the server verifies the signature.
"use strict";
(() => {
  const LASTS = 300000;
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
  const text = (part) =>
    btoa(String.fromCharCode(...new Uint8Array(part))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  const keys = (ids) => ids.map((id) => ({ type: "public-key", id: bytes(id) }));
  let busy = false;

  // The answer in the form, without the signature.
  function said(form, button) {
    const data = new FormData(form);
    if (button && button.name) data.append(button.name, button.value);
    for (const input of form.querySelectorAll("input[data-signed]")) data.delete(input.name);
    return new URLSearchParams(data).toString();
  }

  function put(form, name, part) {
    let input = form.querySelector(`input[name="${name}"]`);
    if (!input) {
      input = Object.assign(document.createElement("input"), { type: "hidden", name });
      input.dataset.signed = "";
      form.append(input);
    }
    input.value = text(part);
  }

  async function sign(form, asked) {
    const challenge = bytes(asked.challenge), timeout = LASTS;
    if (asked.passkeys.length) {
      const publicKey = { challenge, timeout, rpId: asked.rp_id, allowCredentials: keys(asked.passkeys), userVerification: "required" };
      const { rawId, response } = await navigator.credentials.get({ publicKey });
      put(form, "credential_id", rawId);
      put(form, "authenticator_data", response.authenticatorData);
      put(form, "client_data_json", response.clientDataJSON);
      put(form, "signature", response.signature);
    }
    if (asked.user) {
      const { response } = await navigator.credentials.create({ publicKey: {
        challenge, timeout, attestation: "none",
        rp: { id: asked.rp_id, name: "Placet" },
        user: { id: bytes(asked.user.id), name: asked.user.name, displayName: asked.user.name },
        pubKeyCredParams: asked.algorithms.map((alg) => ({ type: "public-key", alg })),
        excludeCredentials: keys(asked.passkeys),
        authenticatorSelection: { residentKey: "preferred", userVerification: "required" },
      } });
      put(form, "new_authenticator_data", response.getAuthenticatorData());
      put(form, "new_client_data_json", response.clientDataJSON);
    }
  }

  async function submit(event) {
    const form = event.target, button = event.submitter, body = said(form, button);
    // An answer that is taken back needs no signature, and neither does a draft, a change of who answers or the rest of a text.
    if (form.dataset.ready === body || (button && (["take_back", "draft", "take", "hand"].includes(button.name) || button.matches("[formaction],[aria-disabled]")))) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (busy) return;
    const told = document.getElementById("unsigned");
    busy = told.hidden = true;
    try {
      // If the server gives no challenge, the form is sent as it is, and the page that comes back says why.
      const asked = await fetch(form.dataset.challenge, { method: "POST", body: new URLSearchParams(body), cache: "no-store" })
        .then((answer) => answer.ok && answer.json(), () => null);
      if (asked) await sign(form, asked);
      form.dataset.ready = body;
      form.requestSubmit(button);
    } catch {
      told.hidden = false;
      told.scrollIntoView();
    }
    busy = false;
  }
  // The page says that it cannot ask for a passkey, until a script runs that can.
  if (!window.PublicKeyCredential) return;
  document.getElementById("unasked").hidden = true;
  for (const form of document.querySelectorAll("form[data-challenge]")) form.addEventListener("submit", submit, true);
})();
