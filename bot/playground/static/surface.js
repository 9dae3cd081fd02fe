// The blocks of a view, and what a person has entered in them. A block that did not change keeps its node, so an update
// of the view keeps the cursor and the typed text.
import { confirmed } from "./confirm.js";
import { make } from "./dom.js";
import { createField, rawOf } from "./fields.js";
import { discard, render } from "./renderer.js";

// The selector of tables, which scroll sideways; they can have the focus, so the keyboard scrolls them, too.
export const TABLES = ".slack_blocks_to_jsx__table";

// `name` is the prefix of the ids in this surface; `onPress` gets {block_id, action_id, value}.
export function createSurface(container, { state, name, onPress }) {
  let parts = new Map(); // block_id -> {json, node, fields: Map(action_id -> {field, type}), say}

  function show({ view, state: entered, errors = {} }) {
    const focused = document.activeElement?.closest("[data-field]");
    const had = container.contains(focused) ? focused.dataset.field : null;
    const before = values();
    const known = parts;
    parts = new Map(view.blocks.map((block) => [block.block_id, keepOrMake(block, { known, entered, before })]));
    for (const [id, part] of known) if (parts.get(id) !== part) part.drop();
    place([...parts.values()].map(({ node }) => node));
    for (const [id, part] of parts) part.say(errors[id] ?? "");
    if (had && !container.contains(document.activeElement)) (find(had) ?? container).focus();
  }

  // Moves only nodes that are not in their place, since a node that is moved loses the focus.
  function place(nodes) {
    nodes.forEach((node, at) => {
      if (container.children[at] !== node) container.insertBefore(node, container.children[at] ?? null);
    });
  }

  function keepOrMake(block, { known, entered, before }) {
    const json = JSON.stringify(block);
    const old = known.get(block.block_id);
    if (old?.json === json) return old;
    const part = partOf(block);
    for (const [actionId, { field, type }] of part.fields) {
      const same = old?.fields.get(actionId)?.type === type;
      const typed = same ? before[block.block_id]?.[actionId] : undefined;
      field.write?.(typed ?? rawOf(entered[block.block_id]?.[actionId]));
    }
    return { ...part, json };
  }

  function partOf(block) {
    const node = make("div", { className: `block ${block.type}` });
    const fields = new Map();
    const add = (element, more) => {
      const key = `${name}-${block.block_id}-${element.action_id}`;
      const field = createField(element, { id: key, ...sources(), ...reactions(block, element, fields), ...more });
      field.control.dataset.field = key;
      fields.set(element.action_id, { field, type: element.type });
      return field;
    };
    const draw = (drawn) => {
      const inner = make("div", { className: "drawn" });
      render(inner, [drawn]);
      inner.querySelectorAll(TABLES).forEach((table) => (table.tabIndex = 0));
      return inner;
    };
    let say = () => {};
    if (block.type === "input") say = fillInput(node, block, add);
    else if (block.type === "actions") node.append(...block.elements.map((element) => add(element).node));
    else if (block.accessory && block.accessory.type !== "image") {
      const { accessory, ...section } = block;
      const text = draw(section);
      text.id = `${name}-${block.block_id}-text`;
      const field = add(accessory, accessory.type === "button" ? {} : { label: text.id });
      node.append(text, field.node);
      if (accessory.type === "button") field.control.setAttribute("aria-describedby", text.id);
    } else node.append(draw(block));
    const drop = () => {
      node.querySelectorAll(".drawn, label").forEach(discard);
      node.remove();
    };
    return { node, fields, say, drop };
  }

  function fillInput(node, block, add) {
    const id = `${name}-${block.block_id}`;
    const label = make("label", { id: `${id}-label` }, block.label.text + (block.optional ? " (optional)" : ""));
    const field = add(block.element, { label: label.id });
    label.htmlFor = field.control.id;
    node.append(label, field.node);
    const hint = make("p", { id: `${id}-hint`, className: "hint", hidden: !block.hint }, block.hint?.text ?? "");
    const error = make("p", { id: `${id}-error`, className: "error", hidden: true, role: "alert" });
    node.append(hint, error);
    field.control.setAttribute("aria-describedby", `${hint.id} ${error.id}`);
    // ARIA does not allow `aria-required` for a group of checkboxes.
    if (!block.optional && field.control.role !== "group") field.control.setAttribute("aria-required", "true");
    return (text) => {
      error.textContent = text;
      error.hidden = !text;
      field.control.setAttribute("aria-invalid", String(Boolean(text)));
    };
  }

  function sources() {
    const channels = state.channels.map(({ id, title: text, is_im: direct }) => ({ text: { text }, value: id, direct }));
    return { channels, people: state.people.map(({ id, name: text }) => ({ text: { text }, value: id })) };
  }

  // An element of an input block reports changes only if the block sets `dispatch_action`.
  function reactions(block, element, fields) {
    const press = async (value) => {
      if (await confirmed(element.confirm)) onPress({ block_id: block.block_id, action_id: element.action_id, value });
    };
    const reports = block.type !== "input" || block.dispatch_action;
    const current = () => fields.get(element.action_id).field.read();
    return {
      onPick: press,
      onChange: () => reports && press(current()),
      onEnter: () => reports && (press(current()), true),
    };
  }

  function find(key) {
    return container.querySelector(`[data-field="${CSS.escape(key)}"]`);
  }

  function values() {
    const read = ([id, { fields }]) => {
      const stateful = [...fields].filter(([, { field }]) => field.read);
      return [id, Object.fromEntries(stateful.map(([actionId, { field }]) => [actionId, field.read()]))];
    };
    return Object.fromEntries([...parts].map(read).filter(([, entered]) => Object.keys(entered).length));
  }

  function clear() {
    for (const part of parts.values()) part.drop();
    parts = new Map();
  }

  // Focuses the first input with an error; without errors, the input with `focus_on_load`, or else the first input.
  function focus({ view, errors = {} }) {
    const inputs = view.blocks.filter(({ type }) => type === "input");
    const first =
      inputs.find(({ block_id: id }) => errors[id]) ??
      inputs.find(({ element }) => element.focus_on_load) ??
      (Object.keys(errors).length ? null : inputs[0]);
    const control = first && find(`${name}-${first.block_id}-${first.element.action_id}`);
    (control?.querySelector("input") ?? control ?? container).focus();
  }

  return { show, values, clear, focus };
}
