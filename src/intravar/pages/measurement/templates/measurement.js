(() => {
  const table = document.getElementById("physicians");
  if (!table) return;
  const body = table.tBodies[0];
  const status = document.getElementById("status");
  const value = (row, column) => {
    const cell = row.cells[column];
    const number = Number(cell.dataset.value);
    if (cell.dataset.value === "") return null;
    return cell.dataset.value === undefined || Number.isNaN(number) ? cell.textContent : number;
  };
  table.querySelectorAll("th button").forEach((button) => {
    button.addEventListener("click", () => {
      const heading = button.closest("th");
      const up = heading.getAttribute("aria-sort") !== "ascending";
      table.querySelectorAll("th").forEach((each) => each.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...body.rows].sort((a, b) => {
        const x = value(a, heading.cellIndex);
        const y = value(b, heading.cellIndex);
        if (x === null || y === null) return (x === null) - (y === null);
        const order = typeof x === "number" && typeof y === "number"
          ? x - y : String(x).localeCompare(String(y));
        return up ? order : -order;
      });
      body.append(...rows);
    });
  });
  const filter = document.getElementById("filter");
  filter.addEventListener("input", () => {
    const wanted = filter.value.trim().toLowerCase();
    let shown = 0;
    for (const row of body.rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
      if (!row.hidden) shown += 1;
    }
    status.textContent = `${shown} of ${body.rows.length} ${table.dataset.several}`;
  });
})();
