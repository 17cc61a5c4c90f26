// Unlocks the answers to a long question when its end was in view, above the bar at the bottom.
"use strict";
new IntersectionObserver(([end], watch) => {
  if (!end.isIntersecting) return;
  watch.disconnect();
  for (const lock of document.querySelectorAll(".lock")) lock.remove();
  for (const button of document.querySelectorAll("[disabled]")) button.disabled = false;
}, { rootMargin: "0px 0px -60px" }).observe(document.getElementById("end"));
