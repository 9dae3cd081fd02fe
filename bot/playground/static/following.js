// What stays in view while messages arrive and grow: the end of the channel, or the end of the thread that was written
// in, but never so that what is to be read begins above. Anyone who scrolls away is left where they are.
const NEAR = 120;
const newer = document.querySelector("#newer");

export function createFollowing(list) {
  let thread = null; // the `ts` of the followed thread's first message
  let end = true;
  let start = null; // the message whose first line stays in view
  let asked = false; // whether that is what was just asked, or the first message after it; otherwise it is the newest
  let unseen = null; // the first message that arrived out of view
  let ours = 0; // where we scrolled to last: any other place is the reader's own choice

  function follow(message) {
    [thread, end, start, asked] = [message.dataset.thread, isLast(message), message, true];
    catchUp();
  }

  function followEnd({ asking = false } = {}) {
    [thread, end, start, asked] = [null, true, null, asking];
    catchUp();
  }

  function arrived(message) {
    if (!asked || !start?.isConnected) start = message;
    if (newer.hidden) unseen = message;
  }

  // What a person does is answered by the newest message.
  function acted() {
    asked = false;
  }

  // Keeps what is in view now where it is.
  function stay() {
    [thread, end, start, ours] = [null, false, null, list.scrollTop];
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
    if (end) showUpTo(list.scrollHeight);
    else if (thread) showEndOfThread();
    offer();
  }

  // Says that there is something new, until it is in view.
  function offer() {
    if (!unseen?.isConnected || unseen.hidden || inView(unseen)) unseen = null;
    newer.hidden = !unseen;
  }

  function showEndOfThread() {
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
    offer();
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

  // What is seen of a message is its name and a line at least.
  function inView(message) {
    const [view, at] = [list.getBoundingClientRect(), message.getBoundingClientRect()];
    return at.bottom > view.top && at.top + 50 < view.bottom;
  }

  newer.addEventListener("click", () => {
    unseen.scrollIntoView();
    list.focus({ preventScroll: true });
  });
  list.addEventListener("scroll", notice, { passive: true });
  new ResizeObserver(catchUp).observe(list);

  return { follow, followEnd, arrived, acted, keep, stay };
}
