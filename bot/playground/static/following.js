// Scrolls while messages arrive and grow, to the end of the channel or of the thread in which the reader wrote. The
// first line of the message to read stays in view. After the reader has scrolled away, what is in view stays in view.
const NEAR = 120;
const newer = document.querySelector("#newer");

export function createFollowing(list) {
  let thread = null; // the `ts` of the followed thread's first message
  let end = true;
  let start = null; // the message whose first line stays in view
  let asked = false; // whether `start` is the last question, or the first message after it; otherwise it is the newest
  let unseen = null; // the first message that arrived out of view
  let ours = 0; // where this module scrolled to last; at any other place, the reader has scrolled

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

  // After a click or a submitted form, the newest message is the answer.
  function acted() {
    asked = false;
  }

  // Stops following, so that what is in view now stays in view.
  function stay() {
    [thread, end, start, ours] = [null, false, null, list.scrollTop];
  }

  // Changes the list, then scrolls to the followed end; if none is followed, keeps the first message in view in place.
  function keep(change) {
    notice();
    const anchor = end || thread ? null : firstInView();
    const before = anchor?.getBoundingClientRect().top;
    const next = start?.nextElementSibling;
    change();
    if (start && !start.isConnected) start = next; // the message was removed, so the next one takes its place
    if (anchor?.isConnected) scrollTo(list.scrollTop + anchor.getBoundingClientRect().top - before);
    catchUp();
  }

  function catchUp() {
    if (end) showUpTo(list.scrollHeight);
    else if (thread) showEndOfThread();
    offer();
  }

  // Shows the button for new messages until the first of them is in view.
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

  // Notices whether the reader has scrolled since `scrollTo` did, and if so, decides what to follow.
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

  // A message counts as in view if at least its author's name and a line can be seen.
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
