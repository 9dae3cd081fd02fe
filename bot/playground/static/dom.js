// Makes an element; names that are no properties of the element become attributes.
export function make(tag, properties, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (name in node) node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

export function button(label, onclick, properties) {
  return make("button", { type: "button", onclick, ...properties }, label);
}
