"use strict";
(() => {
  const root = document.documentElement;
  for (const part of document.querySelectorAll(".needs-script")) part.hidden = false;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  document.getElementById("theme").addEventListener("click", () => {
    const now = root.dataset.theme || (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
  });
})();
