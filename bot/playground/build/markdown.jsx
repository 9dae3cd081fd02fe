// The `markdown` block. The library's component pads every line with spaces, which loosens lists and indents code.
import { useMemo } from "react";
import ReactMarkdown from "react-markdown";
import remarkGfm from "remark-gfm";
import { withEmoji } from "./text.jsx";

// A cell with digits and signs only, such as "12 500" or "-3.5 %", stays on one line.
const NUMBER = /^[^\p{L}]{1,24}$/u;
const COMPONENTS = {
  a: ({ href, children }) => <a href={href} target="_blank" rel="noreferrer noopener">{children}</a>,
  // Slack shows an image in a markdown block as a link to it.
  img: ({ src, alt }) => <a href={src} target="_blank" rel="noreferrer noopener">{alt || src}</a>,
  // A table scrolls sideways; the keyboard can scroll it only if it can have the focus.
  table: ({ children }) => (
    <div className="table" role="group" aria-label="Table" tabIndex={0} dir="auto"><table>{children}</table></div>
  ),
  // The items inside have no direction of their own; if they had, `dir="auto"` would ignore their text.
  ul: ({ node, children, ...props }) => <ul {...props} dir="auto">{children}</ul>,
  ol: ({ node, children, ...props }) => <ol {...props} dir="auto">{children}</ol>,
  blockquote: ({ node, children, ...props }) => <blockquote {...props} dir="auto">{children}</blockquote>,
  input: ({ node, ...props }) => <input {...props} aria-label={props.checked ? "Done" : "Not done"} />,
};
for (const tag of ["p", "li", "td", "th", "strong", "em", "h1", "h2", "h3", "h4", "h5", "h6"]) {
  COMPONENTS[tag] = ({ node, children, ...props }) => {
    const Tag = tag;
    const number = tag === "td" && typeof children === "string" && NUMBER.test(children) ? "number" : undefined;
    return <Tag className={number} {...props}>{emojiIn(children)}</Tag>;
  };
}

export function Markdown({ data }) {
  const plugins = useMemo(() => [[remarkGfm, { singleTilde: false }]], []);
  return (
    <div id={data.block_id} className="markdown">
      <ReactMarkdown remarkPlugins={plugins} components={COMPONENTS}>{data.text}</ReactMarkdown>
    </div>
  );
}

function emojiIn(children) {
  const list = Array.isArray(children) ? children : [children];
  return list.map((child) => (typeof child === "string" ? withEmoji(child) : child));
}
