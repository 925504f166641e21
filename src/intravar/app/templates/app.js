"use strict";
(() => {
  const find = (name) => document.getElementById(name);

  // A screen that goes on by itself is asked for again, and takes over what has changed.
  const going = find("going");
  if (going) {
    const look = async () => {
      try {
        const answer = await fetch(location.href);
        const text = await answer.text();
        const next = new DOMParser().parseFromString(text, "text/html");
        if (answer.url !== location.href) { location.replace(answer.url); return; }
        if (!next.getElementById("going")) {
          // What came is shown and not asked for again: it may have taken long.
          document.open();
          document.write(text);
          document.close();
          return;
        }
        for (const each of going.querySelectorAll("[id]")) {
          const now = next.getElementById(each.id);
          if (now && now.innerHTML !== each.innerHTML) each.replaceChildren(...now.childNodes);
          if (each.matches("progress[value]")) each.value = now.value;
        }
      } catch { find("said").textContent = "The app does not answer. Was it closed?"; }
      setTimeout(look, 500);
    };
    setTimeout(look, 300);
  }

  // Drop a file; it goes off at once.
  const drop = find("drop"), file = find("file");
  if (drop && file) {
    const over = (on) => drop.classList.toggle("over", on);
    document.addEventListener("dragover", (event) => { event.preventDefault(); over(true); });
    document.addEventListener("dragleave", () => over(false));
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      over(false);
      if (event.dataTransfer.files.length) {
        file.files = event.dataTransfer.files;
        find("upload").requestSubmit();
      }
    });
  }

  // Values to choose from, for the column that is chosen.
  const rows = [...document.querySelectorAll("tr[data-column]")];
  const offer = (select, list) => {
    const row = rows.find((each) => each.dataset.column === select.value);
    const values = row ? JSON.parse(row.dataset.levels) : [];
    list.replaceChildren(...values.map((value) => {
      const option = document.createElement("option");
      option.value = value;
      return option;
    }));
  };
  const offered = (select, list) => {
    if (!select || !list) return;
    offer(select, list);
    select.addEventListener("change", () => offer(select, list));
  };
  offered(find("decision"), find("values"));
  document.querySelectorAll(".condition").forEach((group, number) => {
    offered(group.querySelector("select"), find(`values-${number}`));
  });

  // What is downloaded may have to be made first.
  for (const each of document.querySelectorAll("[data-download]")) {
    each.addEventListener(each.tagName === "FORM" ? "submit" : "click", () => {
      find("making").textContent = "The file is being made and will be downloaded.";
      setTimeout(() => { find("making").textContent = ""; }, 8000);
    });
  }

  // Pairs are reviewed with single keys.
  const answers = document.querySelector(".answers");
  if (answers) {
    document.addEventListener("keydown", (event) => {
      if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
      const button = answers.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
      if (button) { event.preventDefault(); button.click(); }
    });
  }
})();
