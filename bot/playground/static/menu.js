// A button that opens a menu: arrow keys go through the entries; Escape and Tab close the menu and focus the button.
import { button as made, make } from "./dom.js";

let opened = null; // {button, menu}

// `entries` returns what the menu offers now: [{label, onPick}].
export function attachMenu(button, entries) {
  button.setAttribute("aria-haspopup", "menu");
  button.setAttribute("aria-expanded", "false");
  button.addEventListener("click", (event) => {
    event.stopPropagation(); // the renderer would open a menu of its own
    if (opened?.button === button) close();
    else open(button, entries());
  });
}

function open(button, entries) {
  close();
  const label = button.getAttribute("aria-label") ?? button.textContent;
  const menu = make("div", { className: "menu", role: "menu", "aria-label": label }, ...entries.map(entryOf));
  menu.addEventListener("keydown", (event) => key(event, menu));
  menu.addEventListener("focusout", ({ relatedTarget }) => {
    if (!menu.contains(relatedTarget) && relatedTarget !== button) close();
  });
  button.closest("dialog, main").append(menu);
  button.setAttribute("aria-expanded", "true");
  opened = { button, menu };
  place(button, menu);
  menu.firstElementChild?.focus();
}

function entryOf({ label, onPick }) {
  const pick = () => {
    dismiss();
    onPick();
  };
  return made(label, pick, { tabIndex: -1, role: "menuitem" });
}

function key(event, menu) {
  const entries = [...menu.children];
  const at = entries.indexOf(document.activeElement);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
  if (next !== undefined) entries.at(next % entries.length).focus();
  else if (event.key === "Escape" || event.key === "Tab") dismiss();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

function dismiss() {
  const { button } = opened;
  close();
  button.focus();
}

function close() {
  if (!opened) return;
  const { button, menu } = opened;
  opened = null; // first: removing the menu moves the focus, which calls `close` again
  menu.remove();
  button.setAttribute("aria-expanded", "false");
}

// Places the menu below the button, or above it if there is no room below, and inside the window.
function place(button, menu) {
  const at = button.getBoundingClientRect();
  const { width, height } = menu.getBoundingClientRect();
  const below = at.bottom + 4 + height <= window.innerHeight;
  menu.style.top = `${Math.max(4, below ? at.bottom + 4 : at.top - 4 - height)}px`;
  menu.style.left = `${Math.max(4, Math.min(at.left, window.innerWidth - width - 8))}px`;
}

document.addEventListener("pointerdown", ({ target }) => {
  if (opened && !opened.menu.contains(target) && !opened.button.contains(target)) close();
});
document.addEventListener("scroll", ({ target }) => opened && !opened.menu.contains(target) && close(), true);
