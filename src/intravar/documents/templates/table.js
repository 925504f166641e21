(() => {
  if (document.getElementById("rows")) return;
  const table = document.getElementById("physicians");
  const body = table.tBodies[0];
  const status = document.getElementById("status");
  const value = (row, column) => {
    const { dataset, textContent } = row.cells[column];
    if (dataset.value === undefined) return textContent;
    if (dataset.value === "") return null;
    return Number.isNaN(Number(dataset.value)) ? dataset.value : Number(dataset.value);
  };
  for (const button of table.querySelectorAll("th button")) {
    button.addEventListener("click", () => {
      const heading = button.closest("th");
      const up = heading.getAttribute("aria-sort") !== "ascending";
      for (const each of table.querySelectorAll("th")) each.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      const keyed = [...body.rows].map((row) => [value(row, heading.cellIndex), row]);
      keyed.sort(([x], [y]) => {
        if (x === null || y === null) return (x === null) - (y === null);
        const numbers = typeof x === "number" && typeof y === "number";
        const order = numbers ? x - y : String(x).localeCompare(String(y));
        return up ? order : -order;
      });
      body.append(...keyed.map(([, row]) => row));
    });
  }
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
