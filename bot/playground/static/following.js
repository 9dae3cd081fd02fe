// What stays in view while messages arrive and grow: the end of the channel, or the end of the thread that was written
// in, but never so that what is to be read begins above. Anyone who scrolls away is left where they are.
const NEAR = 120;

export function createFollowing(list) {
  let thread = null; // the `ts` of the followed thread's first message
  let end = true;
  let start = null; // the message whose first line stays in view
  let asked = false; // whether that is what was just asked, or the first message after it; otherwise it is the newest
  let ours = 0; // where we scrolled to last: any other place is the reader's own choice

  function follow(message) {
    thread = message.dataset.thread;
    end = isLast(message);
    start = message;
    asked = true;
    catchUp();
  }

  function followEnd({ asking = false } = {}) {
    thread = null;
    end = true;
    start = null;
    asked = asking;
    catchUp();
  }

  function arrived(message) {
    if (!asked || !start?.isConnected) start = message;
  }

  // Keeps what is in view now where it is.
  function stay() {
    thread = null;
    end = false;
    start = null;
    ours = list.scrollTop;
  }

  // Changes the list, and then shows what is followed, or else keeps what is being read where it is.
  function keep(change) {
    notice();
    const anchor = end || thread ? null : firstInView();
    const before = anchor?.getBoundingClientRect().top;
    const next = start?.nextElementSibling;
    change();
    if (start && !start.isConnected) start = next; // it gave way to what follows it
    if (anchor?.isConnected) scrollTo(list.scrollTop + anchor.getBoundingClientRect().top - before);
    catchUp();
  }

  function catchUp() {
    if (end) return showUpTo(list.scrollHeight);
    const last = lastOfThread();
    if (!last) return;
    const [view, at] = [list.getBoundingClientRect(), last.getBoundingClientRect()];
    if (at.bottom > view.bottom || at.bottom < view.top) showUpTo(list.scrollTop + at.bottom - view.bottom);
  }

  function showUpTo(top) {
    const known = start?.isConnected && !start.hidden;
    const first = known ? list.scrollTop + start.getBoundingClientRect().top - list.getBoundingClientRect().top : top;
    scrollTo(Math.min(top, first));
  }

  function scrollTo(top) {
    list.scrollTop = top;
    ours = list.scrollTop;
  }

  // Notes where the reader went since we scrolled last.
  function notice() {
    if (Math.abs(list.scrollTop - ours) < 2) return;
    ours = list.scrollTop;
    start = null;
    asked = false;
    end = list.scrollHeight - list.scrollTop - list.clientHeight < NEAR;
    if (!end && thread && !nearlyInView(lastOfThread())) thread = null;
  }

  function lastOfThread() {
    return thread && [...list.querySelectorAll(`article[data-thread="${thread}"]:not([hidden])`)].at(-1);
  }

  function isLast(message) {
    return [...list.querySelectorAll("article:not([hidden])")].at(-1) === message;
  }

  function firstInView() {
    const top = list.getBoundingClientRect().top;
    return [...list.querySelectorAll("article:not([hidden])")].find((one) => one.getBoundingClientRect().bottom > top);
  }

  function nearlyInView(message) {
    const [view, at] = [list.getBoundingClientRect(), message?.getBoundingClientRect()];
    return Boolean(at) && at.bottom > view.top && at.bottom < view.bottom + NEAR;
  }

  list.addEventListener("scroll", notice, { passive: true });
  new ResizeObserver(catchUp).observe(list);

  return { follow, followEnd, arrived, keep, stay };
}
