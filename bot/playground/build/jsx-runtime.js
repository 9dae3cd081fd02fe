// Checks every element that the renderer makes, whichever library makes it: replaces the library's text components by
// our own, and lets nothing remote or executable through.
import { Fragment, jsx as create, jsxs as createAll } from "react/jsx-runtime";
import { Text } from "./text.jsx";
import { Markdown } from "./markdown.jsx";

export { Fragment };
export const jsx = (type, props, key) => make(create, type, props, key);
export const jsxs = (type, props, key) => make(createAll, type, props, key);

const INSTEAD = { mrkdwn: Text, plain_text: Text, markdown: Markdown };
const REMOTE = new Set(["img", "iframe", "video", "audio", "object", "embed", "script", "style", "link", "form"]);

function make(how, type, props, key) {
  if (typeof type === "function") {
    const ours = INSTEAD[props.data?.type];
    return how(ours && type !== ours ? ours : type, withSafeUrl(props), key);
  }
  if (REMOTE.has(type)) return create("span", { children: props.alt ?? "" }, key);
  if (type === "a" && !isWeb(props.href)) return create("span", { children: props.children }, key);
  return how(type, props, key);
}

// A button with an address opens the address by script, so it is checked here, too.
function withSafeUrl(props) {
  if (props.data?.type !== "button" || !props.data.url || isWeb(props.data.url)) return props;
  return { ...props, data: { ...props.data, url: undefined } };
}

function isWeb(address) {
  return /^https?:\/\//i.test(address ?? "");
}
