(() => {
  const rows = new Map();
  const look = () => {
    rows.clear();
    for (const row of document.querySelectorAll("#physicians tbody tr")) rows.set(row.dataset.p, row);
  };
  look();
  const rowWith = (p) => (typeof rowOf === "function" && rowOf(p)) || rows.get(p);
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
