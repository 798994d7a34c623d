"use strict";
// Shows the entries that have every word that is searched for, in their names first.
const search = document.getElementById("search");
const nothing = document.getElementById("nothing");
const sections = [...document.querySelectorAll("main > section")].map((section, index) => ({
  section,
  contents: document.querySelectorAll("nav > details")[index],
  articles: [...section.querySelectorAll("article")].map((article) => {
    const shown = article.cloneNode(true);
    shown.querySelectorAll(".source").forEach((source) => source.remove());
    const ids = [...article.querySelectorAll(".entry")].map((entry) => entry.id);
    return { article, ids, text: shown.textContent.toLowerCase() };
  }),
}));
const items = new Map([...document.querySelectorAll("nav li")].map((item) => [item.firstChild.hash.slice(1), item]));

function show() {
  const words = search.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
  let found = 0;
  for (const { section, contents, articles } of sections) {
    let here = 0;
    for (const { article, ids, text } of articles) {
      const names = ids.filter((id) => words.every((word) => id.toLowerCase().includes(word)));
      const matches = names.length > 0 || words.every((word) => text.includes(word));
      article.hidden = !matches;
      for (const id of ids) {
        items.get(id).hidden = !(names.length > 0 ? names.includes(id) : matches);
      }
      here += matches ? 1 : 0;
    }
    section.hidden = contents.hidden = here === 0 && words.length > 0;
    found += here;
  }
  nothing.hidden = found > 0 || words.length === 0;
}

search.addEventListener("input", show);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== search) {
    event.preventDefault();
    search.focus();
  } else if (event.key === "Escape" && document.activeElement === search) {
    search.value = "";
    show();
    search.blur();
  } else if (event.key === "Enter" && document.activeElement === search) {
    const first = [...items.values()].find((item) => !item.hidden && !item.closest("details").hidden);
    if (first !== undefined) first.firstChild.click();
  }
});
// What a link leads to is shown, even if the search has hidden it.
window.addEventListener("hashchange", () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target !== null && target.closest("[hidden]") !== null) {
    search.value = "";
    show();
    target.scrollIntoView();
  }
});
