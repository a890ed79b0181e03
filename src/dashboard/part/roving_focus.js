import { useEffect, useRef } from '../lib/view.js'

/** @type {Readonly<Record<string, number>>} */
const STEPS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }
/** Cards that have listeners. @type {WeakSet<Element>} */
const listening = new WeakSet()

/**
 * Returns properties that make all figures, links and buttons of a card one stop of the Tab key: arrow keys, Home and End move
 * between them. Outside of a card each is a stop of its own.
 */
export function useRovingFocus() {
  const ref = useRef(/** @type {HTMLElement | null} */ (null))
  useEffect(() => {
    const card = ref.current?.closest('.card')
    if (!card) return undefined
    listen(card)
    keepStop(card)
    // Another element becomes the stop after this one was removed.
    return () => queueMicrotask(() => keepStop(card))
  }, [])
  return { ref, 'data-rove': '' }
}

/** @param {Element} card */
function listen(card) {
  if (listening.has(card)) return
  listening.add(card)
  card.addEventListener('focusin', ({ target }) => {
    if (target instanceof HTMLElement && listStops(card).includes(target)) keepStop(card, target)
  })
  card.addEventListener('keydown', (event) => {
    const { key, target } = /** @type {KeyboardEvent} */ (event)
    const stops = listStops(card)
    const at = stops.indexOf(/** @type {HTMLElement} */ (target))
    const step = { ...STEPS, Home: -at, End: stops.length - 1 - at }[key]
    if (at === -1 || step === undefined) return
    event.preventDefault()
    stops[(at + step + stops.length) % stops.length]?.focus()
  })
}

/** Lists the visible stops of a card. Elements of forms and dialogs stay regular stops. @param {Element} card @returns {HTMLElement[]} */
function listStops(card) {
  const all = /** @type {HTMLElement[]} */ ([...card.querySelectorAll('a[href], button, summary')])
  return all.filter((each) => each.closest('form, dialog, .fields') === null && each.checkVisibility())
}

/** Keeps exactly one element of a card in the order of the Tab key. @param {Element} card @param {HTMLElement} [preferred] */
function keepStop(card, preferred) {
  const stops = listStops(card)
  const current = preferred ?? stops.find((each) => each.dataset.rove === 'here') ?? stops[0]
  for (const each of stops) {
    each.tabIndex = each === current ? 0 : -1
    each.dataset.rove = each === current ? 'here' : ''
  }
}
