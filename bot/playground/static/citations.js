// The Tab key reaches only one of an answer's citations, such as [3]; the arrow keys go from one to the next.
const MARKER = /^\[\d+\]$/;

export function gatherCitations(body) {
  const links = citationsIn(body);
  const current = links.find((link) => link.tabIndex === 0 && link.hasAttribute("aria-describedby")) ?? links[0];
  for (const link of links) {
    link.classList.add("citation");
    link.setAttribute("aria-label", `Source ${link.textContent.slice(1, -1)}`);
    link.setAttribute("aria-describedby", "citations-hint");
    link.tabIndex = link === current ? 0 : -1;
  }
}

function citationsIn(body) {
  return [...body.querySelectorAll("a[href]")].filter((link) => MARKER.test(link.textContent));
}

document.querySelector("#messages").addEventListener("keydown", (event) => {
  if (!event.target.matches?.("a.citation") || event.ctrlKey || event.metaKey || event.altKey) return;
  const links = citationsIn(event.target.closest(".body"));
  const [before, after] = [links.indexOf(event.target) - 1, links.indexOf(event.target) + 1];
  const keys = { Home: 0, End: links.length - 1, ArrowLeft: before, ArrowUp: before, ArrowRight: after, ArrowDown: after };
  if (!(event.key in keys)) return;
  event.preventDefault();
  links[keys[event.key]]?.focus();
});

// The citation that has the focus becomes the one that the Tab key reaches.
document.querySelector("#messages").addEventListener("focusin", ({ target }) => {
  if (!target.matches?.("a.citation") || target.tabIndex === 0) return;
  for (const link of citationsIn(target.closest(".body"))) link.tabIndex = link === target ? 0 : -1;
});
