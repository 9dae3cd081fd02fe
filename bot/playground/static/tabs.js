// The two tabs of the direct message with the app: its home, and the messages.
import { post } from "./wire.js";

const list = document.querySelector("#tabs");
const tabs = [...list.querySelectorAll("button")];
const home = document.querySelector("#home");
const conversation = document.querySelector("#conversation");

export function createTabs({ state }) {
  let channel = null; // the id of the channel that is shown

  // Only the direct message has tabs, and only if the app has a home.
  function show() {
    list.hidden = !state.here.is_im || !state.home_tab;
    if (channel !== state.channel) select("messages"); // after a lost connection, the tab stays
    channel = state.channel;
  }

  function select(name) {
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", String(tab.dataset.tab === name));
      tab.tabIndex = tab.dataset.tab === name ? 0 : -1;
    }
    home.hidden = name !== "home";
    conversation.hidden = name === "home";
  }

  function open(tab) {
    select(tab.dataset.tab);
    tab.focus();
    post("open", { channel: state.channel, tab: tab.dataset.tab });
  }

  for (const tab of tabs) tab.addEventListener("click", () => open(tab));
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    open(tabs.at((tabs.indexOf(event.target) + step) % tabs.length));
  });

  return { show };
}
