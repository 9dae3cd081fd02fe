// Ratings and menus of a message: the renderer draws their buttons, and this module handles the choices.
import { attachMenu } from "./menu.js";

const RATINGS = ".slack_blocks_to_jsx__feedback_buttons_element";
const MENU = ".slack_blocks_to_jsx__overflow_menu_element";

// `optionsOf` returns the options of a menu's node; `onChoose` gets the node and the index of the chosen option.
export function attachMenus(body, { optionsOf, onChoose }) {
  for (const button of body.querySelectorAll(`${MENU} > button:not([aria-haspopup])`)) {
    const node = button.parentElement;
    attachMenu(button, () => optionsOf(node).map(({ text }, at) => ({ label: text.text, onPick: () => onChoose(node, at) })));
  }
}

// Returns the rating that a button belongs to, and the index of the button in it; marks the button as pressed. Returns
// null for other elements.
export function rated(target) {
  const chosen = target.closest(`${RATINGS} button`);
  if (!chosen) return null;
  const both = [...chosen.parentElement.children];
  for (const one of both) one.setAttribute("aria-pressed", String(one === chosen));
  return [chosen.closest(RATINGS), both.indexOf(chosen)];
}
