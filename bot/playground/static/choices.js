// Ratings and menus of a message. The renderer draws them without roles, and what is chosen goes nowhere; the rest is here.
const RATINGS = ".slack_blocks_to_jsx__feedback_buttons_element";
const MENU = ".slack_blocks_to_jsx__overflow_menu_element";
const ENTRY = `${MENU} [tabindex]`;

// `onChoose` gets the element's node and which of its choices it was, from 0.
export function followChoices(list, onChoose) {
  // Before the renderer sees the click: it removes a menu's entries.
  list.addEventListener("click", (event) => choose(event.target), { capture: true });
  // After the renderer has drawn or removed the entries.
  list.addEventListener("click", (event) => setTimeout(toggled, 0, event.target.closest(`${MENU} > button`)));
  list.addEventListener("keydown", (event) => {
    const entry = event.target.closest(ENTRY);
    if (entry && key(event.key, entry)) event.preventDefault();
  });

  function choose(target) {
    const rating = target.closest(`${RATINGS} button`);
    const entry = target.closest(ENTRY);
    const chosen = rating ?? entry;
    if (!chosen) return;
    if (rating) press(rating);
    onChoose(chosen.closest(rating ? RATINGS : MENU), [...chosen.parentElement.children].indexOf(chosen));
    if (entry) focusLater(entry.closest(MENU).querySelector("button"));
  }
}

// Which of the two was chosen stays to be seen, as in Slack.
function press(rating) {
  for (const one of rating.parentElement.children) one.setAttribute("aria-pressed", String(one === rating));
}

function toggled(button) {
  if (!button) return;
  const entries = [...button.parentElement.querySelectorAll("[tabindex]")];
  button.setAttribute("aria-haspopup", "menu");
  button.setAttribute("aria-expanded", String(entries.length > 0));
  entries[0]?.parentElement.setAttribute("role", "menu");
  for (const entry of entries) entry.setAttribute("role", "menuitem");
  entries[0]?.focus();
}

function key(name, entry) {
  const entries = [...entry.parentElement.children];
  const step = { ArrowDown: 1, ArrowUp: -1 }[name];
  if (step) entries.at((entries.indexOf(entry) + step) % entries.length).focus();
  else if (name === "Enter" || name === " ") entry.click();
  else if (name === "Escape") close(entry.closest(MENU).querySelector("button"));
  else return false;
  return true;
}

function close(button) {
  button.click();
  button.focus();
}

function focusLater(button) {
  setTimeout(() => {
    button.setAttribute("aria-expanded", "false");
    button.focus();
  });
}
