// Tells times in the reader's own zone.
{
  const two = "2-digit", year = "numeric";
  const tell = () => {
    const now = new Date();
    for (const time of document.querySelectorAll("time")) {
      const at = new Date(time.dateTime), said = time.textContent;
      const day = /\d [A-Z][a-z]/.test(said) || at.toDateString() !== now.toDateString();
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
