/* A click on a heading sorts by its column, up first and then down. */
function onSort(table, sort) {
  for (const button of table.querySelectorAll("th button")) {
    button.addEventListener("click", () => {
      const heading = button.closest("th");
      const up = heading.getAttribute("aria-sort") !== "ascending";
      for (const each of table.querySelectorAll("th")) each.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      sort(heading.cellIndex, up);
    });
  }
}

/* A table that stands in the page is sorted and searched there. */
(() => {
  const table = document.getElementById("physicians");
  if (!table || document.getElementById("rows")) return;
  const body = table.tBodies[0];
  const status = document.getElementById("status");
  const value = (row, column) => {
    const { dataset, textContent } = row.cells[column];
    if (dataset.value === undefined) return textContent;
    if (dataset.value === "") return null;
    return Number.isNaN(Number(dataset.value)) ? dataset.value : Number(dataset.value);
  };
  onSort(table, (column, up) => {
    const keyed = [...body.rows].map((row) => [value(row, column), row]);
    keyed.sort(([x], [y]) => {
      if (x === null || y === null) return (x === null) - (y === null);
      const numbers = typeof x === "number" && typeof y === "number";
      const order = numbers ? x - y : String(x).localeCompare(String(y));
      return up ? order : -order;
    });
    body.append(...keyed.map(([, row]) => row));
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
/* Of a very long one, packed as JSON, some rows are shown at a time. */
const rowOf = (() => {
  const rows = document.getElementById("rows");
  if (!rows) return null;
  const table = document.getElementById("physicians");
  const body = table.tBodies[0];
  const { size, who, shown, columns } = JSON.parse(rows.textContent);
  const n = who.length;
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
    line.dataset.p = who[row];
    if (!shown[row]) line.className = "none";
    columns.forEach(({ name, kind, texts, at: places }, at) => {
      const cell = line.insertCell();
      cell.dataset.name = name;
      cell.textContent = texts[places[row]];
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
      chosen = order.filter((row) => hits.some((hit, at) => hit[columns[at].at[row]]));
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
  onSort(table, (column, up) => {
    const { at: keys, empty } = columns[column];
    order = order.slice().sort((a, b) => {
      const [x, y] = [keys[a], keys[b]];
      if (x >= empty || y >= empty) return (x >= empty) - (y >= empty);
      return up ? x - y : y - x;
    });
    choose();
  });
  tell();
  return (p) => {
    const row = who.indexOf(Number(p));
    return row < 0 ? null : made(row);
  };
})();
/* A name or a mark that is pressed is lit everywhere. */
(() => {
  if (!document.getElementById("physicians")) return;
  const rows = new Map();
  const look = () => {
    rows.clear();
    for (const row of document.querySelectorAll("#physicians tbody tr")) rows.set(row.dataset.p, row);
  };
  look();
  const rowWith = (p) => (rowOf && rowOf(p)) || rows.get(p);
  const headings = [...document.querySelectorAll("#physicians th")].map((th) => th.textContent);
  const picked = document.getElementById("picked");
  const clear = document.getElementById("clear");
  const tip = document.getElementById("tip");
  const told = (p) => {
    const row = rowWith(p);
    if (!row) return "";
    const cells = [...row.cells].map((cell) => cell.textContent.trim());
    const parts = cells.slice(1, 6).map((text, n) => `${headings[n + 1]} ${text}`);
    return `${cells[0]}: ${parts.filter((text) => !text.endsWith(" –")).join(", ")}`;
  };
  const name = (p) => {
    const row = rowWith(p);
    return row ? row.cells[0].textContent.trim() : "";
  };
  /* Where physicians are counted in bins, the one who is lit gets a mark. */
  const find = (p) => {
    for (const finder of document.querySelectorAll(".finder")) {
      finder.replaceChildren();
      const row = p !== null && rowWith(p);
      if (!row || finder.ownerSVGElement.querySelector(`[data-p="${p}"]`)) continue;
      const { x, y, ...along } = finder.dataset;
      const [a, b] = [[x, along.left, along.across], [y, along.bottom, along.up]].map(([column, from, per]) => {
        const cell = row.querySelector(`[data-name="${column}"]`);
        return Number(from) + Number(per) * (column ? parseFloat(cell && cell.textContent.replaceAll(",", "")) : 0);
      });
      if (Number.isNaN(a) || Number.isNaN(b)) continue;
      const mark = document.createElementNS("http://www.w3.org/2000/svg", "circle");
      for (const [key, value] of Object.entries({ cx: a, cy: b, r: 6, "data-p": p })) mark.setAttribute(key, value);
      finder.append(mark);
    }
  };
  let lit = null;
  const light = (p) => {
    for (const each of document.querySelectorAll(".lit")) each.classList.remove("lit");
    lit = p === lit ? null : p;
    picked.textContent = lit === null ? "" : name(lit);
    clear.hidden = lit === null;
    find(lit);
    if (lit === null) return;
    for (const each of document.querySelectorAll(`[data-p="${lit}"]`)) {
      each.classList.add("lit");
      if (each.tagName === "circle") each.parentNode.append(each);
    }
  };
  clear.addEventListener("click", () => light(lit));
  const idle = window.requestIdleCallback || ((run) => window.setTimeout(run, 1));
  const pressable = () => {
    for (const place of document.querySelectorAll("#physicians td:first-child, .named strong")) {
      if (place.querySelector("button")) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...place.childNodes);
      place.append(button);
    }
  };
  idle(pressable);
  document.addEventListener("rows", () => {
    look();
    pressable();
    if (lit !== null && rows.has(lit)) rows.get(lit).classList.add("lit");
  });
  document.addEventListener("click", (event) => {
    const found = event.target.closest("circle[data-p], td:first-child button, .named button");
    if (found) light(found.closest("[data-p]").dataset.p);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && lit !== null) light(lit);
  });
  document.addEventListener("pointerover", (event) => {
    const mark = event.target.closest("svg circle, svg rect");
    const title = mark && mark.querySelector("title");
    if (title) {
      mark.dataset.tip = title.textContent;
      title.remove();
    }
    const text = mark && (mark.dataset.tip || (mark.dataset.p && told(mark.dataset.p)));
    tip.hidden = !text;
    if (text) tip.textContent = text;
  });
  document.addEventListener("pointermove", (event) => {
    if (tip.hidden) return;
    const left = Math.min(event.clientX + 12, window.innerWidth - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(8, left)}px`;
    const below = event.clientY + 16;
    const fits = below + tip.offsetHeight < window.innerHeight;
    tip.style.top = `${fits ? below : event.clientY - tip.offsetHeight - 10}px`;
  });
})();
