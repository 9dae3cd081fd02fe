// Slack's mrkdwn as a list of nodes. https://docs.slack.dev/messaging/formatting-message-text
// The library hands it to a Markdown parser, which eats headings, rules and `[x](y)` that Slack shows as they are.

const ENTITIES = { "&lt;": "<", "&gt;": ">", "&amp;": "&" };
const inside = (mark) => `(?:<[^<>\\n]*>|[^${mark}<\\n])+`;
const styled = (mark) => `(?<![\\p{L}\\p{N}${mark}])${mark}(?![\\s${mark}])(${inside(mark)})(?<!\\s)${mark}(?![\\p{L}\\p{N}${mark}])`;
const INLINE = new RegExp(
  [
    "`([^`\\n]+)`",
    "<([^<>|\\n]+)(?:\\|([^<>\\n]*))?>",
    styled("\\*"),
    styled("_"),
    styled("~"),
    ":([a-z0-9_+'-]+):",
    "(https?://(?:(?!&[lg]t;)[^\\s<>|])+(?<![.,;:!?)\\]}'\"]))",
  ].join("|"),
  "giu",
);

export function unescape(text) {
  return text.replace(/&(?:lt|gt|amp);/g, (entity) => ENTITIES[entity]);
}

// Blocks: fenced code, quoted lines, everything else.
export function parse(text, { verbatim = false } = {}) {
  return text.split(/```\n?([\s\S]+?)\n?```\n?/).flatMap((part, index) => {
    if (index % 2) return [{ type: "pre", text: unescape(part) }];
    return part ? quotesAndLines(part, verbatim) : [];
  });
}

function quotesAndLines(text, verbatim) {
  const runs = text.split(/((?:^(?:&gt;|>).*(?:\n|$))+)/m).filter(Boolean);
  return runs.map((run) =>
    /^(?:&gt;|>)/.test(run)
      ? { type: "quote", children: inline(run.replace(/^(?:&gt;|>) ?/gm, "").replace(/\n$/, ""), verbatim) }
      : { type: "lines", children: inline(run, verbatim) },
  );
}

function inline(text, verbatim) {
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    const node = nodeOf(match, verbatim);
    if (!node) continue;
    if (match.index > end) nodes.push(unescape(text.slice(end, match.index)));
    nodes.push(node);
    end = match.index + match[0].length;
  }
  if (end < text.length) nodes.push(unescape(text.slice(end)));
  return nodes;
}

function nodeOf([, code, target, label, bold, italic, struck, emoji, url], verbatim) {
  if (code) return { type: "code", text: unescape(code) };
  if (target) return special(target, label);
  if (bold) return { type: "strong", children: inline(bold, verbatim) };
  if (italic) return { type: "em", children: inline(italic, verbatim) };
  if (struck) return { type: "del", children: inline(struck, verbatim) };
  if (emoji) return { type: "emoji", name: emoji.toLowerCase() };
  return verbatim ? null : { type: "link", url: unescape(url), children: [unescape(url)] };
}

// `<…>`: a mention, a date or a link; anything else is what it looks like.
function special(target, label) {
  const shown = unescape(label ?? "");
  if (!/^(?:[@#!]|[a-z][a-z0-9+.-]*:)/i.test(target)) return `<${unescape(target)}>`;
  if (/^[@#]/.test(target)) return { type: "mention", text: shown ? target[0] + shown : target };
  if (target.startsWith("!date")) return shown;
  if (target.startsWith("!")) return { type: "mention", text: shown || "@" + target.slice(1) };
  const url = unescape(target);
  return { type: "link", url, children: [shown || url] };
}
