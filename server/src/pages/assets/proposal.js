// Shows what a person changes in a proposed action, while it is typed. It decides nothing.
"use strict";
(() => {
  const box = document.getElementById("changes"), form = box && box.closest("form");
  if (!form) return;
  const { yes, no, none } = box.dataset;
  const trimmed = (text) => text.replace(/\r\n?/g, "\n").trim();

  function said({ field, kind }) {
    const own = [...form.elements].filter(({ name }) => name === field || (kind === "many" && name.startsWith(field + "/")));
    const ticked = own.filter((control) => control.checked);
    if (kind === "boolean") return ticked.length ? yes : no;
    if (kind === "many") return ticked.map((control) => control.dataset.sends).join(", ");
    const one = own.some((control) => control.type === "radio") ? ticked[0] : own[0];
    return one ? trimmed(one.value) : "";
  }

  function show() {
    let any = false;
    for (const row of box.querySelectorAll("[data-field]")) {
      const now = said(row.dataset), same = now === row.dataset.was;
      row.hidden = same;
      any = any || !same;
      row.querySelector("ins").textContent = now || none;
    }
    box.hidden = !any;
  }
  form.elements.shown.value = "live";
  form.addEventListener("input", show);
  form.addEventListener("change", show);
  show();
})();
