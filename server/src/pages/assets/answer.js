// Counts down, and says what changed elsewhere. It decides nothing.
"use strict";
(() => {
  const EVERY = 15000, AT_MOST = 120000, APART = 2000;
  const page = document.getElementById("live");
  const form = document.querySelector("form");
  if (!page || !form || !window.fetch) return;
  const left = document.querySelector(".left"), made = document.querySelector(".made");
  const bar = document.querySelector(".bar"), decide = document.querySelector(".decide");
  const spoken = document.getElementById("spoken");
  const words = page.dataset;
  let zero = words.left ? performance.now() + Number(words.left) : null;
  let whole = Number(words.window), said = null, asked = -Infinity, pause = EVERY, timer = 0, late = false, ended = false, sent = false;

  const number = (count, unit) => unit.replace("{}", count);
  function phrase(ms) {
    const all = Math.floor(ms / 60000), days = Math.floor(all / 1440);
    const hours = Math.floor(all / 60), minutes = all % 60;
    if (all < 1) return words.moment;
    if (hours < 1) return number(minutes, words.minutes);
    const [first, rest] = hours < 48
      ? [number(hours, words.hours), minutes && number(minutes, words.minutes)]
      : [number(days, words.days), hours % 24 && number(hours % 24, words.hours)];
    return rest ? first + " " + rest : first;
  }

  function count() {
    if (zero === null || ended) return;
    const ms = Math.max(0, zero - performance.now());
    const text = words.text.replace("{}", phrase(ms));
    if (left.textContent !== text) left.textContent = text;
    made.textContent = "";
    decide.classList.toggle("soon", ms <= 900000 || ms * 4 <= whole);
    const passed = Math.floor((1 - Math.min(1, ms / whole)) * 100);
    bar.firstElementChild.setAttribute("width", passed + "%");
    bar.setAttribute("aria-label", words.passed.replace("{}", passed));
    const mark = [1, 5, 15].find((minutes) => ms <= minutes * 60000) || Infinity;
    const due = Math.min(mark * 60000, ms + 1000);
    if (said !== null && mark < said) spoken.textContent = words.text.replace("{}", phrase(due));
    said = mark;
    if (ms === 0 && !late) ask();
    late = ms === 0;
  }

  function end(how) {
    ended = true;
    page.querySelector("h3").textContent = words[how] || words.other;
    page.hidden = false;
    left.textContent = words.closed;
    spoken.textContent = page.querySelector("h3").textContent;
    // Not `disabled`: that would take the focus away.
    for (const button of form.querySelectorAll("button")) button.setAttribute("aria-disabled", "true");
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  async function ask() {
    if (ended || sent || document.hidden) return;
    clearTimeout(timer);
    const since = performance.now() - asked;
    if (since < APART) {
      timer = setTimeout(ask, APART - since);
      return;
    }
    asked = performance.now();
    timer = setTimeout(ask, pause);
    try {
      const answer = await fetch(location.pathname + "/state", { credentials: "omit", cache: "no-store" });
      if (!answer.ok) throw answer.status;
      const state = await answer.json();
      pause = EVERY;
      if (sent) return;
      if (state.ended) return end(state.ended);
      const to = state.deadline;
      if (to && to.at !== words.at) {
        // More time.
        for (const time of document.querySelectorAll(`time[datetime="${words.at}"]`))
          Object.assign(time, { dateTime: to.at, textContent: to.text });
        words.at = to.at;
        whole = to.window_ms;
      }
      if (to) zero = performance.now() + state.left_ms;
      count();
    } catch {
      pause = Math.min(pause * 2, AT_MOST);
      clearTimeout(timer);
      timer = setTimeout(ask, pause);
    }
  }

  count();
  setInterval(count, 1000);
  timer = setTimeout(ask, pause);
  // One's own is no news.
  form.onsubmit = () => { sent = true; };
  onpageshow = (shown) => shown.persisted && location.reload();
  for (const back of ["focus", "online"]) addEventListener(back, ask);
  document.addEventListener("visibilitychange", ask);
})();
