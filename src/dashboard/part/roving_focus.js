import { useEffect, useRef } from '../lib/view.js'

/** @type {Readonly<Record<string, number>>} */
const STEPS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }
/** Cards that are listened to. @type {WeakSet<Element>} */
const known = new WeakSet()

/**
 * All figures, links and buttons of a card are one stop of the Tab key: arrow keys, Home and End walk between them. Outside
 * of a card each is a stop of its own. Properties for a figure, link or fold.
 */
export function useRovingFocus() {
  const ref = useRef(/** @type {HTMLElement | null} */ (null))
  useEffect(() => {
    const card = ref.current?.closest('.card')
    if (!card) return undefined
    listen(card)
    hold(card)
    // Another takes its place once it has left.
    return () => queueMicrotask(() => hold(card))
  }, [])
  return { ref, 'data-rove': '' }
}

/** @param {Element} card */
function listen(card) {
  if (known.has(card)) return
  known.add(card)
  card.addEventListener('focusin', ({ target }) => {
    if (target instanceof HTMLElement && stopsOf(card).includes(target)) hold(card, target)
  })
  card.addEventListener('keydown', (event) => {
    const { key, target } = /** @type {KeyboardEvent} */ (event)
    const stops = stopsOf(card)
    const at = stops.indexOf(/** @type {HTMLElement} */ (target))
    const step = { ...STEPS, Home: -at, End: stops.length - 1 - at }[key]
    if (at === -1 || step === undefined) return
    event.preventDefault()
    stops[(at + step + stops.length) % stops.length]?.focus()
  })
}

/** What a form asks for is reached by Tab, as everywhere. @param {Element} card @returns {HTMLElement[]} */
function stopsOf(card) {
  const all = /** @type {HTMLElement[]} */ ([...card.querySelectorAll('a[href], button, summary')])
  return all.filter((each) => each.closest('form, dialog, .fields') === null && each.checkVisibility())
}

/** Keeps one stop of a card in the order of the Tab key. @param {Element} card @param {HTMLElement} [wanted] */
function hold(card, wanted) {
  const stops = stopsOf(card)
  const held = wanted ?? stops.find((each) => each.dataset.rove === 'here') ?? stops[0]
  for (const each of stops) {
    each.tabIndex = each === held ? 0 : -1
    each.dataset.rove = each === held ? 'here' : ''
  }
}
