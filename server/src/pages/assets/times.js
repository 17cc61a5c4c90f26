// Tells times in the reader's own zone, which the page names or the browser knows, and how long a time is, in the words of a page.
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
  const two = "2-digit", year = "numeric", { lang, dataset } = document.documentElement;
  // The date, for comparison: year-month-day.
  const date = (at, timeZone) => at.toLocaleDateString("sv", { timeZone });
  let timeZone = dataset.zone;
  // A browser may know fewer zones than the server. Then it tells its own, and says so behind each time.
  try { date(new Date(), timeZone); } catch { timeZone = undefined; }
  const tell = () => {
    const today = date(new Date(), timeZone);
    for (const time of document.querySelectorAll("time")) {
      const at = new Date(time.dateTime), said = time.textContent;
      const day = /\d\.? [A-Z]\p{Ll}/u.test(said) || date(at, timeZone) !== today;
      time.textContent = at.toLocaleString(lang + "-GB", {
        timeZone,
        ...(day && { weekday: "short", day: year, month: "short" }),
        ...(date(at, timeZone).slice(0, 4) !== today.slice(0, 4) && { year }),
        ...(/:\d\d:/.test(said) && { second: two }),
        hour: two, minute: two, timeZoneName: "short",
      });
    }
    for (const note of document.querySelectorAll(".utc")) note.hidden = true;
  };
  tell();
  addEventListener("times", tell);
}
