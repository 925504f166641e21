const rowOf = (() => {
  const table = document.getElementById("physicians");
  const body = table.tBodies[0];
  const { n, size, who, shown, columns } = JSON.parse(document.getElementById("rows").textContent);
  const unpacked = ({ digits, at }) => {
    const found = new Int32Array(n);
    if (digits) for (let i = 0; i < n; i += 1) found[i] = parseInt(at.slice(i * digits, (i + 1) * digits), 36);
    return found;
  };
  const people = unpacked(who);
  const reported = unpacked(shown);
  const places = columns.map(unpacked);
  let order = Int32Array.from({ length: n }, (_, row) => row);
  let chosen = order;
  let first = 0;
  let wanted = "";
  const [before, after, place, status, filter] = ["before", "after", "place", "status", "filter"].map(
    (id) => document.getElementById(id),
  );
  const count = (number) => number.toLocaleString("en");
  const made = (row) => {
    const line = document.createElement("tr");
    line.dataset.p = people[row];
    if (!reported[row]) line.className = "none";
    columns.forEach(({ name, kind, texts }, at) => {
      const cell = line.insertCell();
      cell.dataset.name = name;
      cell.textContent = texts[places[at][row]];
      cell.className = kind || (at === 0 && cell.textContent.length < 20 ? "whole" : "");
    });
    return line;
  };
  const tell = () => {
    const last = Math.min(first + size, chosen.length);
    before.disabled = first === 0;
    after.disabled = last === chosen.length;
    place.textContent = last ? `${count(first + 1)} to ${count(last)} of ${count(chosen.length)}` : "nobody";
  };
  const show = (from) => {
    first = from;
    body.replaceChildren(...Array.from(chosen.subarray(first, first + size), made));
    table.closest(".scroll").scrollTop = 0;
    tell();
    document.dispatchEvent(new Event("rows"));
  };
  const choose = () => {
    if (wanted) {
      const hits = columns.map(({ texts }) => texts.map((text) => text.toLowerCase().includes(wanted)));
      chosen = order.filter((row) => hits.some((hit, at) => hit[places[at][row]]));
    } else chosen = order;
    show(0);
  };
  before.addEventListener("click", () => show(Math.max(0, first - size)));
  after.addEventListener("click", () => show(first + size));
  filter.addEventListener("input", () => {
    wanted = filter.value.trim().toLowerCase();
    choose();
    status.textContent = `${count(chosen.length)} of ${count(n)} ${table.dataset.several}`;
  });
  for (const button of table.querySelectorAll("th button")) {
    button.addEventListener("click", () => {
      const heading = button.closest("th");
      const up = heading.getAttribute("aria-sort") !== "ascending";
      for (const each of table.querySelectorAll("th")) each.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      const keys = places[heading.cellIndex];
      const { empty } = columns[heading.cellIndex];
      order = order.slice().sort((a, b) => {
        const [x, y] = [keys[a], keys[b]];
        if (x >= empty || y >= empty) return (x >= empty) - (y >= empty);
        return up ? x - y : y - x;
      });
      choose();
    });
  }
  tell();
  return (p) => {
    const row = people.indexOf(Number(p));
    return row < 0 ? null : made(row);
  };
})();
