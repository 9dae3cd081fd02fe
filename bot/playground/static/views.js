// The modal, with its stack of views, and the app's home tab: shows what the server sends, and sends what people enter.
import { createSurface } from "./surface.js";
import { post } from "./wire.js";

const dialog = document.querySelector("#modal");
const form = dialog.querySelector("form");
const title = document.querySelector("#modal-title");
const blocks = dialog.querySelector(".blocks");
const failure = dialog.querySelector(".failure");
const waiting = dialog.querySelector(".waiting");
const [back, dismiss] = dialog.querySelectorAll("header button");
const [cancel, submit] = dialog.querySelectorAll("footer button");
const home = document.querySelector("#home");

export function createViews({ state, onSubmit }) {
  let top = null; // the visible view of the modal
  let depth = 0;
  const entered = new Map(); // view id -> what was entered, for the views below the top
  const modal = createSurface(blocks, { state, name: "modal", onPress: press });
  const pressHome = (what) => tell("press", published, { ...what, values: tab.values() });
  const tab = createSurface(home.querySelector(".blocks"), { state, name: "home", onPress: pressHome });
  let published = null;

  function change({ stack, home: shown }) {
    published = shown;
    showHome();
    const next = stack.at(-1) ?? null;
    depth = stack.length;
    for (const id of entered.keys()) if (!stack.some((view) => view.id === id)) entered.delete(id);
    if (next) showModal(next);
    else hideModal();
  }

  function showHome() {
    home.querySelector(".nothing").hidden = Boolean(published);
    if (published) tab.show(published);
    else tab.clear();
  }

  function showModal(next) {
    const isOther = next.id !== top?.id;
    const isNews = isOther || next.hash !== top.hash || next.errors !== top.errors;
    if (isOther && top) entered.set(top.id, modal.values());
    if (isOther) modal.clear();
    const { view } = next;
    title.textContent = view.title.text;
    back.hidden = depth < 2;
    cancel.textContent = view.close?.text ?? (depth < 2 ? "Cancel" : "Back");
    submit.hidden = !view.submit;
    submit.textContent = view.submit?.text ?? "";
    failure.textContent = next.failure;
    modal.show(isOther ? withEntered(next) : next);
    top = next;
    if (!dialog.open) dialog.showModal();
    if (isOther) blocks.scrollTop = 0;
    if (isOther || (isNews && Object.keys(next.errors).length)) modal.focus(next);
  }

  // Returns a view with what was typed into it before another view covered it.
  function withEntered(next) {
    const typed = entered.get(next.id) ?? {};
    const merged = structuredClone(next.state);
    for (const [block, fields] of Object.entries(typed)) {
      for (const [action, value] of Object.entries(fields)) {
        if (merged[block]?.[action]) merged[block][action] = { type: merged[block][action].type, value };
      }
    }
    return { ...next, state: merged };
  }

  function hideModal() {
    top = null;
    modal.clear();
    if (!dialog.open) return;
    dialog.close(); // returns the focus to the element that had it before
    const focused = document.activeElement === document.body ? document.querySelector("#input") : document.activeElement;
    focused.blur(); // otherwise, a field that had the focus before the dialog would accept no text
    focused.focus({ preventScroll: true });
  }

  function tell(what, view, body) {
    return view && post(what, { channel: state.channel, view_id: view.id, ...body });
  }

  function press(what) {
    const values = modal.values();
    busy(() => tell("press", top, { ...what, values }));
  }

  async function busy(work, button) {
    if (form.ariaBusy === "true") return;
    form.ariaBusy = "true";
    button?.setAttribute("aria-disabled", "true"); // a `disabled` button would lose the focus
    waiting.textContent = "Waiting for the app …";
    await work();
    waiting.textContent = "";
    button?.removeAttribute("aria-disabled");
    form.ariaBusy = "false";
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!top?.view.submit) return;
    const [view, values] = [top, modal.values()];
    onSubmit();
    busy(() => tell("submit", view, { values }), submit);
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit(submit);
  });
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault(); // the modal closes when the server says so
    tell("close", top, { clear: true });
  });
  dismiss.addEventListener("click", () => tell("close", top, { clear: true }));
  back.addEventListener("click", () => tell("close", top, { clear: false }));
  cancel.addEventListener("click", () => tell("close", top, { clear: false }));

  return { change };
}
