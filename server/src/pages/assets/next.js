// Opens the question that waits next by a key, unless the reader has switched off the keys of the inbox. It decides nothing.
"use strict";
document.addEventListener("keydown", (event) => {
  const next = document.getElementById("next"), { key, target } = event;
  if (!next || key.toLowerCase() !== "n" || event.defaultPrevented || event.isComposing) return;
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input:not([type=checkbox]),select,textarea")) return;
  try {
    if (localStorage.getItem("placet.keys") === "off") return;
  } catch (error) {
    // Without storage the keys cannot be switched off for longer than the page of the inbox.
    return;
  }
  event.preventDefault();
  next.click();
});
