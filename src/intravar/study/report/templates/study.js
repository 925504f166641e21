(() => {
  const find = (id) => document.getElementById(id);
  const data = JSON.parse(find("data").textContent);
  const root = document.documentElement;
  let picked = null; // { condition, physician }

  // --- figures ---

  const plots = [...document.querySelectorAll(".plot[data-condition]")];
  const light = (plot) => {
    const { condition } = plot.dataset;
    const here = picked !== null && picked.condition === condition;
    const who = here ? data.physicians[condition].physician.indexOf(picked.physician) : -1;
    plot.classList.toggle("picking", here);
    for (const mark of plot.querySelectorAll("[data-p]")) {
      mark.classList.toggle("chosen", Number(mark.dataset.p) === who);
    }
  };
  for (const plot of plots) {
    plot.addEventListener("click", (event) => {
      const mark = event.target.closest("[data-p]");
      if (mark === null) return;
      const { condition } = plot.dataset;
      toggle(condition, data.physicians[condition].physician[Number(mark.dataset.p)]);
    });
  }

  // --- the physicians ---

  const conditions = Object.keys(data.physicians);
  const which = find("which");
  const group = find("group");
  const wanted = find("name");
  const table = find("physician-table");
  const intervals = find("intervals");
  const labels = Object.fromEntries(data.methods.map((m) => [m.name, m.label]));
  let sorting = { column: 0, down: false };

  const text = (number, digits) =>
    number === null ? "—" : number.toFixed(digits).replace("-", "−");

  const columnsOf = (found) => [
    { heading: "Physician", values: found.physician, kind: "name" },
    { heading: "Group", values: found.group, kind: "count" },
    { heading: "Patients", values: found.n_patients, kind: "count" },
    { heading: "D*", values: found.d_star, kind: "score" },
    { heading: "Oracle", values: found.oracle, kind: "score" },
    ...Object.entries(found.scores).map(([method, values]) => ({
      heading: labels[method], values, kind: "score",
      low: found.low[method], high: found.high[method],
    })),
  ];

  const compare = (a, b) => {
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1; // undefined goes last
    const order = typeof a === "string" ? a.localeCompare(b, undefined, { numeric: true }) : a - b;
    return sorting.down ? -order : order;
  };

  const heading = (column, position) => {
    const cell = document.createElement("th");
    cell.scope = "col";
    const button = document.createElement("button");
    button.type = "button";
    button.append(Object.assign(document.createElement("bdi"), { textContent: column.heading }));
    button.addEventListener("click", () => {
      sorting = { column: position, down: sorting.column === position && !sorting.down };
      show();
      table.querySelectorAll("thead button")[position].focus();
    });
    if (sorting.column === position) {
      cell.setAttribute("aria-sort", sorting.down ? "descending" : "ascending");
    }
    cell.append(button);
    return cell;
  };

  const bodyCell = (column, i, condition) => {
    const value = column.values[i];
    if (column.kind === "name") {
      const cell = document.createElement("th");
      cell.scope = "row";
      const button = document.createElement("button");
      const lit = isPicked(condition, value);
      button.type = "button";
      button.setAttribute("aria-pressed", String(lit));
      button.append(Object.assign(document.createElement("bdi"), { textContent: value }));
      button.addEventListener("click", () => toggle(condition, value));
      cell.append(button);
      return cell;
    }
    const cell = document.createElement("td");
    if (value === null) cell.textContent = "—";
    else if (column.kind === "count") cell.textContent = value.toLocaleString("en");
    else {
      const number = document.createElement("data");
      number.value = String(value);
      number.textContent = text(value, 3);
      cell.append(number);
      if (intervals.checked && column.low && column.low[i] !== null) {
        const around = document.createElement("span");
        around.className = "interval below";
        around.textContent = `[${text(column.low[i], 3)}, ${text(column.high[i], 3)}]`;
        cell.append(around);
      }
    }
    return cell;
  };

  const isPicked = (condition, physician) =>
    picked !== null && picked.condition === condition && picked.physician === physician;

  const show = () => {
    const condition = conditions[Number(which.value)];
    const found = data.physicians[condition];
    const columns = columnsOf(found);
    if (sorting.column >= columns.length) sorting = { column: 0, down: false };
    const head = document.createElement("tr");
    head.append(...columns.map(heading));
    const needle = wanted.value.trim().toLowerCase();
    const chosen = found.physician
      .map((_, i) => i)
      .filter((i) => group.value === "" || String(found.group[i]) === group.value)
      .filter((i) => found.physician[i].toLowerCase().includes(needle))
      .sort((a, b) => {
        const { values } = columns[sorting.column];
        return compare(values[a], values[b]) || a - b;
      });
    const body = chosen.map((i) => {
      const row = document.createElement("tr");
      if (isPicked(condition, found.physician[i])) row.className = "lit";
      row.append(...columns.map((column) => bodyCell(column, i, condition)));
      return row;
    });
    table.tHead.replaceChildren(head);
    table.tBodies[0].replaceChildren(...body);
    find("count").textContent = `${chosen.length} of ${found.physician.length} physicians`;
  };

  const listGroups = () => {
    const found = data.physicians[conditions[Number(which.value)]];
    const names = [...new Set(found.group)].filter((g) => g !== null).sort((a, b) => a - b);
    group.replaceChildren(new Option("all", ""), ...names.map((g) => new Option(g, g)));
    group.parentElement.hidden = names.length < 2;
  };

  const toggle = (condition, physician) => {
    picked = isPicked(condition, physician) ? null : { condition, physician };
    find("lit-note").hidden = picked === null;
    find("lit-name").textContent = picked === null ? "" : `${physician} (${condition})`;
    if (picked !== null && conditions[Number(which.value)] !== condition) {
      which.value = String(conditions.indexOf(condition));
      listGroups();
    }
    const name = document.activeElement && document.activeElement.closest("tbody th button");
    const held = name ? name.textContent : null;
    show();
    if (held !== null) {
      const again = [...table.querySelectorAll("tbody th button")];
      const same = again.find((button) => button.textContent === held);
      if (same) same.focus();
    }
    plots.forEach(light);
  };

  find("unpick").addEventListener("click", () => {
    if (picked) toggle(picked.condition, picked.physician);
    find("theme").focus();
  });
  which.addEventListener("change", () => { group.value = ""; listGroups(); show(); });
  group.addEventListener("change", show);
  intervals.addEventListener("change", show);
  const anyLow = Object.values(data.physicians).some((found) =>
    Object.values(found.low).some((values) => values.some((value) => value !== null)));
  intervals.parentElement.hidden = !anyLow;
  wanted.addEventListener("input", show);
  document.querySelector(".filters").addEventListener("submit", (event) => event.preventDefault());
  listGroups();
  show();
  root.dataset.ready = "yes";
})();
