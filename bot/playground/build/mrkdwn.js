// Parses Slack's mrkdwn into a list of nodes. https://docs.slack.dev/messaging/formatting-message-text
// The library uses a Markdown parser instead, which loses headings, rules and `[x](y)`; Slack shows them as they are.

import { nameOf } from "./names.js";

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

// Returns the nodes of fenced code, of quoted lines, and of all other text.
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

// Returns the node for `<…>`: a mention, a date or a link; anything else is shown as it is written.
function special(target, label) {
  const shown = unescape(label ?? "");
  if (!/^(?:[@#!]|[a-z][a-z0-9+.-]*:)/i.test(target)) return `<${unescape(target)}>`;
  if (/^[@#]/.test(target)) return { type: "mention", text: target[0] + (shown || nameOf(target.slice(1))) };
  if (target.startsWith("!date^")) return momentOf(target, shown);
  if (target.startsWith("!")) return { type: "mention", text: shown || "@" + target.slice(1) };
  const url = unescape(target);
  return { type: "link", url, children: [shown || url] };
}

// Returns a moment in the reader's own time zone and language; the fallback if the date is malformed.
// https://docs.slack.dev/messaging/formatting-message-text#date-formatting
function momentOf(target, fallback) {
  const [, seconds, format = "", url] = target.split("^");
  const date = new Date(Number(seconds) * 1000);
  if (!/^\d{1,12}$/.test(seconds) || Number.isNaN(date.getTime())) return fallback;
  const text = format.replace(/\{(\w+)\}/g, (token, name) => shownAs(name, date) ?? token);
  if (!text || /\{\w+\}/.test(text)) return fallback;
  const moment = { type: "moment", iso: date.toISOString(), text, fallback };
  return url ? { type: "link", url: unescape(url), children: [moment] } : moment;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const FORMATS = {
  date_num: { year: "numeric", month: "2-digit", day: "2-digit" },
  date_slash: { year: "numeric", month: "2-digit", day: "2-digit" },
  date: { year: "numeric", month: "long", day: "numeric" },
  date_short: { year: "numeric", month: "short", day: "numeric" },
  date_long: { weekday: "long", year: "numeric", month: "long", day: "numeric" },
  time: { hour: "numeric", minute: "2-digit" },
  time_secs: { hour: "numeric", minute: "2-digit", second: "2-digit" },
};

function shownAs(name, date) {
  const plain = name.replace(/_pretty$/, "");
  const near = plain !== name && nearby(date);
  if (near) return near;
  return FORMATS[plain] && new Intl.DateTimeFormat(undefined, FORMATS[plain]).format(date);
}

// Returns "today", "yesterday" or "tomorrow" in the reader's language; empty for any other day.
function nearby(date) {
  const midnight = (moment) => new Date(moment.getFullYear(), moment.getMonth(), moment.getDate()).getTime();
  const days = Math.round((midnight(date) - midnight(new Date())) / DAY_MS);
  return Math.abs(days) > 1 ? "" : new Intl.RelativeTimeFormat(undefined, { numeric: "auto" }).format(days, "day");
}
