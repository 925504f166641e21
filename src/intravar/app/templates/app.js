"use strict";
(() => {
  const find = (name) => document.getElementById(name);

  // A screen whose answer is not there yet asks again until it is.
  if (find("waiting")) {
    const look = async () => {
      try {
        const answer = await fetch(location.href);
        if (answer.status !== 202) {
          if (answer.url === location.href) location.reload(); else location.replace(answer.url);
          return;
        }
      } catch { find("waiting").textContent = "The app does not answer. Was it closed?"; }
      setTimeout(look, 400);
    };
    setTimeout(look, 300);
  }

  // How the measurement goes on.
  const run = find("run");
  if (run && ["running", "stopping"].includes(run.dataset.state)) {
    const show = async () => {
      try {
        const told = await (await fetch("/run/state")).json();
        if (!["running", "stopping"].includes(told.state)) { location.reload(); return; }
        find("bar").value = told.share;
        const last = told.steps[told.steps.length - 1];
        find("now").textContent = last ? last.words : "starting";
        const left = told.state === "stopping" ? "Stopping" : `About ${told.left} left`;
        const words = told.parts ? `${told.parts}. ${left}` : left;
        if (find("left").textContent !== words) find("left").textContent = words;
        find("steps").replaceChildren(...told.steps.map((step) => {
          const line = document.createElement("li");
          line.append(step.words);
          if (step.took) {
            const took = document.createElement("span");
            took.className = "soft";
            took.textContent = ` ${step.took}`;
            line.append(took);
          }
          return line;
        }));
      } catch { find("left").textContent = "The app does not answer. Was it closed?"; }
      setTimeout(show, 500);
    };
    setTimeout(show, 300);
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
