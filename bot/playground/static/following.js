// What stays in view while messages arrive and grow: the end of the channel, or the end of the thread that was written
// in. Anyone who scrolls away is left where they are.
const NEAR = 120;

export function createFollowing(list) {
  let thread = null; // the `ts` of the followed thread's first message
  let end = true;
  let ours = 0; // where we scrolled to last: any other place is the reader's own choice

  function follow(message) {
    thread = message.dataset.thread;
    end = isLast(message);
    catchUp();
  }

  function followEnd() {
    thread = null;
    end = true;
    catchUp();
  }

  // Keeps what is in view now where it is.
  function stay() {
    thread = null;
    end = false;
    ours = list.scrollTop;
  }

  // Changes the list, and then shows what is followed, or else keeps what is being read where it is.
  function keep(change) {
    notice();
    const anchor = end || thread ? null : firstInView();
    const before = anchor?.getBoundingClientRect().top;
    change();
    if (anchor?.isConnected) scrollTo(list.scrollTop + anchor.getBoundingClientRect().top - before);
    catchUp();
  }

  function catchUp() {
    if (end) return scrollTo(list.scrollHeight);
    const last = lastOfThread();
    if (!last) return;
    const [view, at] = [list.getBoundingClientRect(), last.getBoundingClientRect()];
    if (at.bottom > view.bottom || at.bottom < view.top) scrollTo(list.scrollTop + at.bottom - view.bottom);
  }

  function scrollTo(top) {
    list.scrollTop = top;
    ours = list.scrollTop;
  }

  // Notes where the reader went since we scrolled last.
  function notice() {
    if (Math.abs(list.scrollTop - ours) < 2) return;
    ours = list.scrollTop;
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

  return { follow, followEnd, keep, stay };
}
