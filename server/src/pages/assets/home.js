// Looks for new mails: loads this page again and takes the changing part from it.
"use strict";
(() => {
  const EVERY = 2000;
  const live = document.getElementById("live"), news = document.getElementById("news");
  if (!live || !window.fetch) return;
  let busy = false, mails = live.dataset.mails, served;
  async function look() {
    if (busy || document.hidden) return;
    busy = true;
    try {
      const answer = await fetch("/", { cache: "no-store" });
      if (!answer.ok) throw answer.status;
      const next = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("live");
      // The page lacks this part if the server was started anew with another database, or if the cookie is gone.
      if (!next) return location.reload();
      if (next.innerHTML !== served) {
        const here = live.contains(document.activeElement) && document.activeElement.getAttribute("href");
        news.textContent = next.dataset.mails === mails ? "" : live.dataset.news;
        mails = next.dataset.mails;
        served = next.innerHTML;
        live.replaceChildren(...next.childNodes);
        dispatchEvent(new Event("times"));
        if (here) live.querySelector(`a[href="${here}"]`)?.focus();
      }
      document.getElementById("gone").hidden = true;
    } catch {
      document.getElementById("gone").hidden = false;
    }
    busy = false;
  }
  setInterval(look, EVERY);
  document.addEventListener("visibilitychange", look);
})();
