// Moves through the inbox by keys, shows a question beside the list, counts down, and keeps the list up to date. It answers no question.
"use strict";
(() => {
  const EVERY = 15000, MINUTE = 60000;
  const one = (css, within = document) => within.querySelector(css);
  const all = (css, within = document) => [...within.querySelectorAll(css)];
  const page = one("#page");
  if (!page) return;
  const words = page.dataset, spoken = one("#news"), out = one("#out"), lost = one("#lost");
  const asks = () => one("#asks"), rows = () => all("#asks > li");
  let here = null, mark = one("#inbox").dataset.mark, ended = false, looking = false, again = false, heard = 0;

  // Settings of this browser. Without storage they last as long as the page.
  const kept = (name, value) => {
    try {
      if (value === undefined) return localStorage.getItem(name);
      localStorage.setItem(name, value);
    } catch (error) {
      return null;
    }
  };

  // Time.
  function count() {
    for (const left of all(".chip[data-left]")) {
      left.zero ??= performance.now() + +left.dataset.left;
      const ms = left.zero - performance.now();
      left.textContent = ms > 0 ? words.text.replace("{}", inWords(ms, words)) : words.over;
      if (ms < 15 * MINUTE) left.closest("li").classList.add("soon");
    }
  }

  // The pane beside the list, in a wide window: the question's own page, with the form that its own address takes.
  const pane = one("#pane"), nothing = pane.firstElementChild, wide = matchMedia("(min-width:75rem)");
  // The parts in which something was typed, by the address of the question: they come back as they were left.
  const begun = new Map();
  let beside = null, goal = null, turns = 0, rest = 0;
  const fit = () => {
    page.classList.toggle("desk", wide.matches);
    pane.hidden = !wide.matches;
  };
  wide.onchange = fit;
  fit();
  pane.oninput = () => begun.set(beside, pane.firstElementChild);

  function part(html, path) {
    // The style of the page is here already, and this page allows no other.
    const fresh = new DOMParser().parseFromString(html.replace(/<style>[^]*?<\/style>/, ""), "text/html");
    const main = one("main", fresh), part = document.createElement("div");
    const title = main && one("h1", main);
    if (!title) return null;
    part.className = main.className;
    part.scripts = all("script", fresh).map((script) => script.getAttribute("src"));
    part.append(...main.childNodes);
    title.setAttribute("aria-level", "2");
    title.tabIndex = -1;
    for (const [css, name] of [["a[href^='?']", "href"], ["button[formaction^='?']", "formaction"]])
      for (const found of all(css, part)) found.setAttribute(name, path + found.getAttribute(name));
    return part;
  }

  async function bring(path) {
    const own = ++turns;
    beside = path;
    for (const item of all("#asks .item"))
      if (item.pathname === path) item.setAttribute("aria-current", "true");
      else item.removeAttribute("aria-current");
    pane.replaceChildren();
    let found = begun.get(path);
    if (!found) {
      try {
        const answer = await fetch(path, { cache: "no-store", redirect: "manual" });
        found = answer.ok ? part(await answer.text(), path) : null;
      } catch (error) {
        found = null;
      }
    }
    if (own !== turns) return;
    if (!found) {
      // The page itself says why.
      if (goal) return location.assign(goal.href);
      beside = null;
      return pane.replaceChildren(nothing);
    }
    pane.replaceChildren(found);
    pane.scrollTop = 0;
    for (const src of found.scripts)
      if (!one(`head script[src="${src}"]`)) found.append(Object.assign(document.createElement("script"), { src }));
    dispatchEvent(new Event("times"));
    reach();
  }

  // Goes to the part of the pane to which a link leads.
  function reach() {
    if (!goal || !pane.contains(one("h1", pane))) return;
    const to = goal.hash && one(goal.hash, pane);
    goal = null;
    (to && !to.disabled ? to : one("h1", pane)).focus();
  }
  function turn(link, goes) {
    goal = goes ? link : null;
    if (link.pathname === beside) reach();
    else bring(link.pathname);
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("#asks a[href^='/questions/']");
    if (!link || !wide.matches || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    clearTimeout(rest);
    turn(link, true);
  });

  // The row with the focus, that of the question beside the list, or the last one that had the focus.
  function current() {
    const focused = document.activeElement.closest?.("#asks > li");
    if (focused) return focused;
    if (beside && wide.matches) return rows().find((li) => one(".item", li).pathname === beside);
    return here?.isConnected ? here : null;
  }
  // The parts of the row at which the keys work. A key never answers another question than the one that is read: without a current row
  // it takes the first one only while no question is beside the list.
  function parts(css) {
    const row = current() ?? (beside && wide.matches ? null : rows()[0]);
    return row ? all(css, row) : [];
  }
  function move(step) {
    const list = rows(), from = current();
    const at = from ? Math.min(Math.max(list.indexOf(from) + step, 0), list.length - 1) : 0;
    const to = list[at];
    if (!to) return;
    one(".item", to).focus();
    to.scrollIntoView({ block: "nearest" });
    // A question is brought when the reader stays at it.
    clearTimeout(rest);
    rest = setTimeout(() => wide.matches && turn(one(".item", to)), 150);
  }
  const press = (link) => link && link.click();
  const keys = {
    j: () => move(1),
    k: () => move(-1),
    e: () => press(parts("summary")[0]),
    a: () => press(parts("[data-says=yes]")[0]),
    r: () => press(parts("[data-says=no]")[0]),
    c: () => press(parts(".claim")[0]),
    enter: () => press(parts(".item")[0]),
    x: () => press(parts(".pick input")[0]),
    b: () => press(one("#together:not([hidden]) button")),
    "/": () => one("#words").focus(),
    "?": () => {
      const help = one("#keys");
      help.open = !help.open;
      one("summary", help).focus();
    },
  };
  const use = one("#usekeys");
  use.checked = kept("placet.keys") !== "off";
  use.onchange = () => kept("placet.keys", use.checked ? "on" : "off");
  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || target.closest("input:not([type=checkbox]),select,textarea")) return;
    // The help can always be opened: it holds the switch.
    if (!use.checked && key !== "?") return;
    // Links, buttons and folded parts have an Enter of their own.
    if (key === "Enter" && target.closest("a,button,summary")) return;
    const act = /^[1-9]$/.test(key) ? () => press(parts(".choose a")[key - 1]) : keys[key.toLowerCase()];
    if (!act || (!rows().length && !"/?".includes(key))) return;
    event.preventDefault();
    act();
  });
  const chosen = one("#chosen"), together = one("#together");
  function tell() {
    const count = all(".pick :checked").length;
    if (together) together.hidden = !one(".pick input:enabled");
    if (chosen) chosen.textContent = count ? chosen.dataset.text.replace("{}", count) : "";
  }
  document.addEventListener("change", (event) => event.target.closest(".pick") && tell());
  document.addEventListener("focusin", (event) => {
    const at = event.target.closest("#asks > li");
    if (!at) return;
    here = at;
    // A question that has gone leaves at the next move, so that nothing slides away under a finger.
    for (const gone of all("#asks > .gone")) if (gone !== at) gone.remove();
  });

  // Puts a list from the server in place of the old one, row by row: a row that has the focus or is unfolded stays as it is.
  function show(html) {
    const fresh = one("#inbox", new DOMParser().parseFromString(html, "text/html"));
    if (!fresh) return;
    const ids = new Set(all("#asks > li", fresh).map((li) => li.id));
    let arrived = 0, departed = 0, before = asks().firstElementChild;
    // Behind the last row that both lists have, a row may only have moved to the next page, or come from there.
    const had = rows(), has = all("#asks > li", fresh), next = "#more a";
    const known = new Set(had.map((li) => li.id));
    const end = had.findLastIndex((li) => ids.has(li.id)), start = has.findLastIndex((li) => known.has(li.id));
    const moved = one(next, fresh) ? had.slice(end + 1) : [], came = one(next) ? has.slice(start + 1) : [];
    for (const li of had) {
      if (ids.has(li.id) || li.classList.contains("gone")) continue;
      if (moved.includes(li) && li !== here) {
        li.remove();
        continue;
      }
      departed++;
      // The script of the question beside the list asks what became of it.
      if (one(".item", li).pathname === beside) dispatchEvent(new Event("focus"));
      li.classList.add("gone");
      const said = document.createElement("p");
      said.className = "small gone-note";
      said.textContent = words.gone;
      one(".meta", li).replaceWith(said);
      for (const box of all(".pick input", li)) box.checked = !(box.disabled = true);
    }
    for (const li of all("#asks > li", fresh)) {
      const old = document.getElementById(li.id);
      if (old && old.isConnected && !old.classList.contains("gone")) {
        const meta = one(".meta", old);
        if (!meta.contains(document.activeElement)) meta.replaceWith(one(".meta", li));
        old.classList.toggle("again", li.classList.contains("again"));
        before = old.nextElementSibling;
        continue;
      }
      if (old && before === old) before = old.nextElementSibling;
      old?.remove();
      if (here === old) here = li;
      if (!came.includes(li)) arrived++;
      asks().insertBefore(document.adoptNode(li), before);
    }
    for (const part of ["#tabs", "#sum", "#none", "#more"]) {
      const old = one(part);
      if (!old.contains(document.activeElement)) old.replaceWith(document.adoptNode(one(part, fresh)));
    }
    tell();
    mark = fresh.dataset.mark;
    document.title = fresh.dataset.title;
    count();
    dispatchEvent(new Event("times"));
    const say = (text, number) => (number ? text.replace("{}", number) : "");
    const text = [say(words.arrived, arrived), say(words.departed, departed)].filter(Boolean).join(". ");
    if (text) spoken.textContent = text;
    if (arrived) notice(say(words.arrived, arrived));
  }

  async function look() {
    if (ended) return;
    if (looking) return (again = true);
    looking = true;
    try {
      const headers = { "If-None-Match": `"${mark}"` };
      const answer = await fetch("/inbox/list" + location.search, { headers, cache: "no-store", redirect: "manual" });
      heard = performance.now();
      lost.hidden = answer.status < 500;
      if (answer.status === 401) end();
      else if (answer.ok) show(await answer.text());
    } catch (error) {
      lost.hidden = false;
    }
    looking = false;
    if (again) {
      again = false;
      look();
    }
  }
  function end() {
    ended = true;
    out.hidden = false;
    stream?.close();
  }

  // The server says when the list has changed; without its stream the script asks now and then.
  let stream = null;
  function listen() {
    if (ended || stream || document.hidden || !window.EventSource) return;
    stream = new EventSource("/inbox/live" + location.search);
    stream.addEventListener("list", (event) => {
      heard = performance.now();
      if (event.data !== mark) look();
      else lost.hidden = true;
    });
    stream.onerror = () => look();
  }
  // A browser has six connections to one server. A page that no person sees gives its own back, and asks now and then.
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) look();
    else stream?.close();
    if (document.hidden) stream = null;
    listen();
  });
  setInterval(() => {
    count();
    const open = stream && stream.readyState === 1;
    if (!open && performance.now() - heard >= EVERY) look();
    if (stream && stream.readyState === 2 && !ended) {
      stream = null;
      listen();
    }
  }, 5000);

  // Notices on the desktop, only where the reader asks for them.
  const button = one("#notify");
  const wants = () => kept("placet.notify") === "on" && window.Notification?.permission === "granted";
  function notice(text) {
    if (!wants() || !document.hidden) return;
    new Notification("Placet", { body: text, tag: "placet-inbox" }).onclick = () => window.focus();
  }
  button.parentElement.hidden = one("#notifyh").hidden = !window.Notification;
  const state = () => button.setAttribute("aria-pressed", wants());
  button.onclick = async () => {
    if (wants()) kept("placet.notify", "off");
    else if ((await Notification.requestPermission()) === "granted") kept("placet.notify", "on");
    state();
  };
  state();
  one("#tools").hidden = false;
  count();
  listen();
  onpageshow = (shown) => shown.persisted && location.reload();
  for (const back of ["online", "visibilitychange"]) addEventListener(back, () => document.hidden || look());
})();
