// The `markdown` block. The library's own pads every line with spaces, which makes lists loose and code grow a margin.
import { useMemo } from "react";
import ReactMarkdown from "react-markdown";
import remarkGfm from "remark-gfm";
import { withEmoji } from "./text.jsx";

const COMPONENTS = {
  a: ({ href, children }) => <a href={href} target="_blank" rel="noreferrer noopener">{children}</a>,
  // Slack shows an image in a markdown block as a link to it.
  img: ({ src, alt }) => <a href={src} target="_blank" rel="noreferrer noopener">{alt || src}</a>,
  table: ({ children }) => <div className="table"><table>{children}</table></div>,
};
for (const tag of ["p", "li", "td", "th", "strong", "em", "h1", "h2", "h3", "h4", "h5", "h6"]) {
  COMPONENTS[tag] = ({ node, children, ...props }) => {
    const Tag = tag;
    return <Tag {...props}>{emojiIn(children)}</Tag>;
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
