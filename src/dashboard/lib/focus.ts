/** Elements that take the focus of a button that has left them. */
const REFUGES = '.card, section, main'

/**
 * Keeps the focus near an element that leaves the page while it has it, as a button does that deletes its own row: else the
 * reader of a keyboard would begin again at the top. Returns a function that stops it.
 */
export function keepFocus(root: HTMLElement) {
  /** The element that had the focus last, and those around it. */
  let around: HTMLElement[] = []
  const onFocus = ({ target }: Event) => {
    around = []
    for (let each = target as HTMLElement | null; each !== null; each = each.parentElement) around.push(each)
  }
  const observer = new MutationObserver(() => {
    if (document.activeElement !== document.body || around[0] === undefined || around[0].isConnected) return
    const refuge = around.find((each) => each.isConnected && each.matches(REFUGES))
    if (refuge?.hasAttribute('tabindex') === false) refuge.tabIndex = -1
    refuge?.focus({ preventScroll: true })
  })
  root.addEventListener('focusin', onFocus)
  observer.observe(root, { childList: true, subtree: true })
  return () => {
    root.removeEventListener('focusin', onFocus)
    observer.disconnect()
  }
}
