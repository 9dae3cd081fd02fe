// Emoji by Slack's names. The few that the app itself uses are drawn here, so that they show without an emoji font.
import { get, has } from "node-emoji";

export const EMOJI = /:([a-z0-9_+'-]+):/;

const DRAWN = {
  warning: () => (
    <>
      <path d="M10 2 19 18H1Z" fill="#fc3" stroke="#d99a00" strokeLinejoin="round" />
      <path d="M10 8v5M10 15.2v.3" stroke="#4a3500" strokeWidth="2" strokeLinecap="round" />
    </>
  ),
  mag: () => (
    <>
      <circle cx="8" cy="8" r="5.5" fill="#bfe3ff" stroke="#4a6b85" strokeWidth="2" />
      <path d="m12.5 12.5 5 5" stroke="#4a6b85" strokeWidth="3" strokeLinecap="round" />
    </>
  ),
  white_check_mark: () => (
    <>
      <rect x="1" y="1" width="18" height="18" rx="4" fill="#2ea44f" />
      <path d="m5 10.5 3.5 3.5L15 6.5" fill="none" stroke="#fff" strokeWidth="2.5" strokeLinecap="round" />
    </>
  ),
  x: () => <path d="m4 4 12 12M16 4 4 16" stroke="#e01e5a" strokeWidth="3.5" strokeLinecap="round" />,
};

export function Emoji({ name }) {
  if (Object.hasOwn(DRAWN, name)) {
    return <svg className="emoji" role="img" aria-label={name} viewBox="0 0 20 20">{DRAWN[name]()}</svg>;
  }
  return has(name) ? <span role="img" aria-label={name}>{get(name)}</span> : `:${name}:`;
}
