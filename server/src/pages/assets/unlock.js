// Unlocks the answers to a long question once each mark was in view, above the bar at the bottom of the window. A long
// text above the answers has a mark at its end, and so has a long text among them.
"use strict";
{
  const ends = new Set(document.querySelectorAll(".mark"));
  const watch = new IntersectionObserver((seen) => {
    const [last] = seen.filter((end) => end.isIntersecting && ends.delete(end.target)).slice(-1);
    if (!last || ends.size) return;
    watch.disconnect();
    const top = () => last.target.getBoundingClientRect().top, before = top();
    for (const lock of document.querySelectorAll(".lock"))
      if (lock.dataset.open) lock.textContent = lock.dataset.open;
      else lock.remove();
    const form = document.querySelector("#answer-form");
    for (const button of form ? form.elements : []) if (!button.hidden) button.disabled = false;
    // When the notes disappear, the page must not move below the reader's finger.
    scrollBy(0, top() - before);
  }, { rootMargin: "0px 0px -60px" });
  for (const end of ends) watch.observe(end);
}
