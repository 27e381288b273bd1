// What the theme leaves out for keyboards and screen readers.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  for (const each of document.querySelectorAll(".md-typeset table:not([class]), .md-typeset pre, " +
                                               ".md-search__scrollwrap, .md-sidebar__scrollwrap"))
    each.tabIndex = 0;
});
