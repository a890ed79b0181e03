import { useEffect, useRef } from '../lib/view.ts'

const STEPS: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }
/** Cards that have listeners. */
const listening = new WeakSet<Element>()

/**
 * Returns properties that make all figures, links and buttons of a card one stop of the Tab key: arrow keys, Home and
 * End move between them. Outside of a card each is a stop of its own.
 */
export function useRovingFocus<Stop extends HTMLElement>() {
  const ref = useRef<Stop | null>(null)
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

function listen(card: Element) {
  if (listening.has(card)) return
  listening.add(card)
  card.addEventListener('focusin', ({ target }) => {
    if (target instanceof HTMLElement && listStops(card).includes(target)) keepStop(card, target)
  })
  card.addEventListener('keydown', (event) => {
    const { key, target } = event as KeyboardEvent
    const stops = listStops(card)
    const at = stops.indexOf(target as HTMLElement)
    const step = { ...STEPS, Home: -at, End: stops.length - 1 - at }[key]
    if (at === -1 || step === undefined) return
    event.preventDefault()
    stops[(at + step + stops.length) % stops.length]?.focus()
  })
}

/** Lists the visible stops of a card. Elements of forms and dialogs stay regular stops. */
function listStops(card: Element): HTMLElement[] {
  const all = [...card.querySelectorAll('a[href], button, summary')] as HTMLElement[]
  return all.filter((each) => each.closest('form, dialog, .fields') === null && each.checkVisibility())
}

/** Keeps exactly one element of a card in the order of the Tab key. */
function keepStop(card: Element, preferred?: HTMLElement) {
  const stops = listStops(card)
  const current = preferred ?? stops.find((each) => each.dataset['rove'] === 'here') ?? stops[0]
  for (const each of stops) {
    each.tabIndex = each === current ? 0 : -1
    each.dataset['rove'] = each === current ? 'here' : ''
  }
}
