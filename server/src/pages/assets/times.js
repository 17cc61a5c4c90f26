// Tells times in the reader's own zone, and how long a time is, in the words of a page.
function inWords(ms, words) {
  const unit = (count, name) => (count ? words[name].replace("{}", count) : "");
  const mins = Math.round(ms / 6e4), hours = Math.round(mins / 60);
  if (ms < 6e4) return words.seconds.replace("{}", Math.floor(ms / 1000));
  const [first, rest] = mins < 2880
    ? [unit(Math.floor(mins / 60), "hours"), unit(mins % 60, "minutes")]
    : [unit(Math.floor(hours / 24), "days"), unit(hours % 24, "hours")];
  return first + (first && rest && " ") + rest;
}
{
  const two = "2-digit", year = "numeric";
  const tell = () => {
    const now = new Date();
    for (const time of document.querySelectorAll("time")) {
      const at = new Date(time.dateTime), said = time.textContent;
      const day = /\d\.? [A-Z]\p{Ll}/u.test(said) || at.toDateString() !== now.toDateString();
      time.textContent = at.toLocaleString(document.documentElement.lang + "-GB", {
        ...(day && { weekday: "short", day: year, month: "short" }),
        ...(at.getFullYear() !== now.getFullYear() && { year }),
        ...(/:\d\d:/.test(said) && { second: two }),
        hour: two, minute: two, timeZoneName: "short",
      });
    }
    for (const note of document.querySelectorAll(".utc")) note.hidden = true;
  };
  tell();
  addEventListener("times", tell);
}
