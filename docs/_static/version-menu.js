// Make the version in the header a menu of links to this page in other versions.
document.addEventListener("DOMContentLoaded", () => {
  const versions = window.documentationVersions;
  if (versions.length < 2) return;
  const root = document.documentElement.dataset.content_root;
  for (const place of document.querySelectorAll(".version-menu")) {
    const { version, page } = place.dataset;
    const menu = document.createElement("details");
    const summary = menu.appendChild(document.createElement("summary"));
    summary.textContent = place.textContent.trim();
    summary.setAttribute("aria-label", `Version ${summary.textContent}, choose another`);
    const list = menu.appendChild(document.createElement("ul"));
    for (const other of versions) {
      const link = document.createElement("a");
      link.textContent = other.title;
      link.href = `${root}../${other.folder}/${other.pages.includes(page) ? page : "index"}.html`;
      if (other.version === version) link.setAttribute("aria-current", "true");
      list.appendChild(document.createElement("li")).appendChild(link);
    }
    menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      menu.open = false;
      summary.focus();
    });
    place.replaceChildren(menu);
  }
});
