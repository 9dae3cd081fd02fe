// The interactive elements of a view: their appearance, and the values that a person has entered.
// A field is {node, control, read, write}: `control` gets the focus, `read` returns the raw value for the server.
import { button as made, make } from "./dom.js";
import { attachMenu } from "./menu.js";
import { render } from "./renderer.js";

// `context` is {id, label, channels, people, onChange, onEnter, onPick}; `label` is the id of the field's label, if it
// has one. Buttons and overflow menus have no value: they pass the person's choice to `onPick`.
export function createField(element, context) {
  const field = (MAKERS[element.type] ?? unknown)(element, context);
  field.control.id = context.id;
  if (context.label) field.control.setAttribute("aria-labelledby", context.label);
  else if (element.type !== "button") field.control.setAttribute("aria-label", nameOf(element));
  return field;
}

// Returns the raw value in an element's state, which comes from the server.
export function rawOf(state) {
  const value = Object.entries(state ?? {}).find(([name]) => name !== "type")?.[1];
  return Array.isArray(value) ? value.map((one) => one.value ?? one) : (value?.value ?? value ?? null);
}

const PUBLIC = { filter: { include: ["public"] } };

const MAKERS = {
  button,
  overflow,
  plain_text_input: (element, context) => (element.multiline ? textarea(element) : typed(element, context)),
  number_input: (element, context) => typed(element, context, "decimal"),
  url_text_input: (element, context) => typed(element, context, "url"),
  email_text_input: (element, context) => typed(element, context, "email"),
  datepicker: (element, context) => picker(element, context, "date"),
  timepicker: (element, context) => picker(element, context, "time"),
  datetimepicker: moment,
  static_select: (element, context) => menu(element, context, groupsOf(element)),
  multi_static_select: (element, context) => choices(element, context, groupsOf(element).flatMap((one) => one.options)),
  checkboxes: (element, context) => choices(element, context, element.options),
  radio_buttons: (element, context) => choices(element, context, element.options, "radio"),
  users_select: (element, context) => menu(element, context, [{ options: context.people }]),
  multi_users_select: (element, context) => choices(element, context, context.people),
  conversations_select: (element, context) => menu(element, context, [{ options: conversations(element, context) }]),
  multi_conversations_select: (element, context) => choices(element, context, conversations(element, context)),
  channels_select: (element, context) => menu(element, context, [{ options: conversations(PUBLIC, context) }]),
  multi_channels_select: (element, context) => choices(element, context, conversations(PUBLIC, context)),
};

function button(element, { onPick }) {
  const press = () => {
    if (/^https?:\/\//i.test(element.url ?? "")) window.open(element.url, "_blank", "noopener,noreferrer");
    onPick(null);
  };
  const ariaLabel = element.accessibility_label ?? null;
  const node = made(element.text.text, press, { className: `element ${element.style ?? ""}`, ariaLabel });
  return { node, control: node };
}

function overflow(element, { onPick }) {
  const opener = made("⋯", null, { className: "element overflow" });
  attachMenu(opener, () => element.options.map(({ text, value }) => ({ label: text.text, onPick: () => onPick(value) })));
  return { node: make("span", {}, opener), control: opener };
}

function typed(element, { onEnter }, inputMode = "") {
  const placeholder = element.placeholder?.text ?? "";
  const node = make("input", { type: "text", dir: "auto", inputMode, placeholder });
  node.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing && onEnter?.()) event.preventDefault();
  });
  return single(node);
}

function textarea(element) {
  return single(make("textarea", { rows: 4, dir: "auto", placeholder: element.placeholder?.text ?? "" }));
}

function picker(element, { onChange }, type) {
  const node = make("input", { type, onchange: onChange });
  if (!element.timezone) return single(node);
  return { ...single(node), node: make("span", {}, node, " ", make("small", {}, element.timezone)) };
}

function moment(element, { onChange }) {
  const node = make("input", { type: "datetime-local", onchange: onChange });
  const written = (seconds) => new Date((seconds - new Date(seconds * 1000).getTimezoneOffset() * 60) * 1000);
  return {
    ...single(node),
    read: () => (node.value ? String(Date.parse(node.value) / 1000) : null),
    write: (seconds) => (node.value = seconds ? written(Number(seconds)).toISOString().slice(0, 16) : ""),
  };
}

function single(node) {
  return { node, control: node, read: () => node.value || null, write: (value) => (node.value = value ?? "") };
}

function menu(element, { onChange }, groups) {
  const empty = optionOf({ text: { text: element.placeholder?.text ?? "Choose" }, value: "" });
  return single(make("select", { onchange: onChange }, empty, ...groups.flatMap(groupOf)));
}

function groupOf({ label, options }) {
  const entries = options.map(optionOf);
  return label ? make("optgroup", { label: label.text }, ...entries) : entries;
}

function optionOf({ text, value }) {
  return make("option", { value }, text.text);
}

function choices(element, { id, onChange }, options, type = "checkbox") {
  const node = make("div", { className: "choices", tabIndex: -1, role: type === "radio" ? "radiogroup" : "group" });
  const inputs = options.map(({ text, value, description }, index) => {
    const input = make("input", { type, name: id, value, id: `${id}-${index}`, onchange: onChange });
    const label = make("label", { htmlFor: input.id });
    const about = description ? [{ type: "context", elements: [description] }] : [];
    render(label, [{ type: "section", text }, ...about]);
    node.append(make("div", {}, input, label));
    return input;
  });
  const chosen = () => inputs.filter((input) => input.checked).map((input) => input.value);
  return {
    node,
    control: node,
    read: () => (type === "radio" ? (chosen()[0] ?? null) : chosen()),
    write: (value) => inputs.forEach((input) => (input.checked = [value].flat().includes(input.value))),
  };
}

function unknown(element) {
  const node = make("p", {}, `The playground does not show ${element.type}.`);
  return { node, control: node };
}

function groupsOf({ options, option_groups: groups }) {
  return groups ?? [{ options }];
}

function conversations({ filter }, { channels }) {
  const kinds = filter?.include;
  return channels.filter(({ direct }) => !kinds || kinds.includes(direct ? "im" : "public"));
}

function nameOf({ type, placeholder }) {
  return placeholder?.text ?? (type === "overflow" ? "More" : "Choose");
}
