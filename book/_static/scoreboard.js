// Search and filters for the scoreboard. The page is whole without them.
document.addEventListener("DOMContentLoaded", () => {
  const board = document.querySelector("section#scoreboard");
  if (!board) return;
  const rows = [...board.querySelectorAll("table.table tbody tr")].map((line) => {
    const part = line.closest("section#scoreboard > section");
    const [verdict, , evidence] = [...line.cells].map((cell) => cell.textContent.trim());
    return {
      line,
      text: line.textContent.toLowerCase(),
      verdict,
      evidence: evidence.split(/[,;]/)[0],
      part: part ? part.querySelector("h2").firstChild.textContent : "",
    };
  });
  const choice = (name, words) => {
    const values = [...new Set(rows.map((row) => row[name]))];
    const label = document.createElement("label");
    label.append(words, " ");
    const select = document.createElement("select");
    select.setAttribute("aria-label", words);
    select.append(new Option("all", ""), ...values.map((value) => new Option(value, value)));
    label.append(select);
    return { name, label, control: select };
  };
  const search = document.createElement("label");
  const box = document.createElement("input");
  box.type = "search";
  search.append("Search ", box);
  const choices = [choice("part", "Part"), choice("verdict", "Verdict"), choice("evidence", "Evidence")];
  const count = document.createElement("span");
  count.setAttribute("role", "status");
  const bar = document.createElement("form");
  bar.className = "scoreboard-bar";
  bar.setAttribute("aria-label", "Filter the rows");
  bar.append(search, ...choices.map((one) => one.label), count);
  bar.addEventListener("submit", (event) => event.preventDefault());
  board.querySelector(":scope > section").before(bar);
  const update = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const kept =
        words.every((word) => row.text.includes(word)) &&
        choices.every(({ name, control }) => !control.value || row[name] === control.value);
      row.line.hidden = !kept;
      shown += kept;
    }
    for (const section of [...board.querySelectorAll("section section"), ...board.querySelectorAll(":scope > section")]) {
      section.hidden = !section.querySelector("tbody tr:not([hidden])");
    }
    count.textContent = `${shown} of ${rows.length} rows`;
  };
  bar.addEventListener("input", update);
  update();
});
