// Shows text objects: `plain_text` as it is, apart from emoji; `mrkdwn` with its formatting.
import { Emoji, EMOJI } from "./emoji.jsx";
import { parse } from "./mrkdwn.js";

export function Text({ data, className = "" }) {
  if (data.type === "plain_text") {
    return <span className={`${className} plain-text`}>{withEmoji(data.text)}</span>;
  }
  return <div className={`${className} mrkdwn`}>{parse(data.text, data).map(show)}</div>;
}

export function withEmoji(text) {
  return text.split(EMOJI).map((part, index) => (index % 2 ? <Emoji key={index} name={part} /> : part));
}

function show(node, key) {
  if (typeof node === "string") return node;
  const children = node.children?.map(show);
  switch (node.type) {
    case "lines": return <span key={key}>{children}</span>;
    case "quote": return <blockquote key={key}>{children}</blockquote>;
    case "pre": return <pre key={key}>{node.text}</pre>;
    case "code": return <code key={key}>{node.text}</code>;
    case "mention": return <span key={key} className="mention">{node.text}</span>;
    case "moment": return <time key={key} dateTime={node.iso} title={node.fallback}>{node.text}</time>;
    case "emoji": return <Emoji key={key} name={node.name} />;
    case "link": return <a key={key} href={node.url} target="_blank" rel="noreferrer noopener">{children}</a>;
    default: return <node.type key={key}>{children}</node.type>;
  }
}
