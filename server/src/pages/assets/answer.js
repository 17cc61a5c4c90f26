// Counts down, and shows changes that happened elsewhere. It decides nothing.
"use strict";
(() => {
  const EVERY = 15e3, MINUTE = 6e4;
  const one = (css) => document.querySelector(css);
  const page = one("#live"), gone = one("#gone"), form = one("#answer-form");
  if (!page) return;
  const left = one(".left"), bar = one(".bar"), spoken = one("#spoken"), words = page.dataset;
  let zero = words.left ? performance.now() + +words.left : null, whole = +words.window;
  let said = null, asked = -Infinity, pause = EVERY, timer = 0, heard = false, late = false, ended = false, sent = false;

  function count() {
    if (zero === null || ended) return;
    const ms = Math.max(0, zero - performance.now());
    const text = left.textContent = words.text.replace("{}", inWords(ms, words));
    one(".decide").classList.toggle("soon", ms <= 15 * MINUTE || ms * 4 <= whole);
    const rest = Math.ceil(Math.min(1, ms / whole) * 100);
    bar.firstElementChild.setAttribute("width", rest + "%");
    bar.setAttribute("aria-label", words.rest.replace("{}", rest));
    const mark = [1, 5, 15].find((m) => ms <= m * MINUTE) || Infinity;
    if (said !== null && mark < said) spoken.textContent = text;
    said = mark;
    if (!ms && !late) ask();
    late = !ms;
  }

  function end(how) {
    ended = true;
    page.hidden = false;
    if (how !== "away") left.textContent = words.closed;
    spoken.textContent = one("#live h3").textContent = words[how] || words.other;
    // `disabled` is not used, because it would take the focus away.
    for (const button of form ? form.elements : []) if (button.type === "submit") button.setAttribute("aria-disabled", "true");
  }

  // Asks the server for the state of the question and shows it, or shows that the server does not answer.
  async function look() {
    try {
      const answer = await fetch(words.from + "/state", { credentials: "same-origin", cache: "no-store" });
      if (answer.status < 502) heard = gone.hidden = true;
      if (!answer.ok) throw answer.status;
      const state = await answer.json(), to = state.deadline;
      pause = EVERY;
      if (sent || !page.isConnected) return;
      // Other people answer now. A page without a form was made for a reader who answers nothing.
      if (state.ended || form && state.others) return end(state.ended || "away");
      if (to && to.at !== words.at) {
        // People got more time.
        for (const time of document.querySelectorAll(`time[datetime="${words.at}"]`))
          Object.assign(time, { dateTime: to.at, textContent: to.text });
        dispatchEvent(new Event("times"));
        words.at = to.at;
        whole = to.window_ms;
      }
      if (to) zero = performance.now() + state.left_ms;
      count();
    } catch (error) {
      if (!(error < 502)) gone.hidden = false;
      pause = Math.min(pause * 2, MINUTE);
    }
  }

  const backs = ["focus", "online", "visibilitychange"];
  async function ask() {
    // In the inbox, another question may have taken the place of this one.
    if (!page.isConnected) for (const back of backs) removeEventListener(back, ask);
    if (ended || !page.isConnected || sent || document.hidden) return;
    clearTimeout(timer);
    // The script asks at most every two seconds, however many events call this function.
    const wait = asked + 2000 - performance.now();
    if (wait > 0) return (timer = setTimeout(ask, wait));
    asked = performance.now();
    await look();
    timer = setTimeout(ask, pause);
  }

  if (form) form.onsubmit = async (event) => {
    if (ended) return event.preventDefault();
    // If the server has never answered this script, the form is sent as if there were no script.
    if (sent || !heard || !form.requestSubmit) return (sent = true);
    event.preventDefault();
    await look();
    if (sent || !gone.hidden || ended) return gone.scrollIntoView();
    sent = true;
    form.requestSubmit(event.submitter);
  };
  count();
  const tick = setInterval(() => (page.isConnected ? count() : clearInterval(tick)), 1000);
  ask();
  onpageshow = (shown) => shown.persisted && location.reload();
  for (const back of backs) addEventListener(back, ask);
})();
