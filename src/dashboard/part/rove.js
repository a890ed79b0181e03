import { useEffect, useRef } from '../lib/view.js'

/** @type {Readonly<Record<string, number>>} */
const STEPS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }

/**
 * All figures and links of a card are one stop of the Tab key: arrow keys, Home and End walk between them. Outside of a
 * card each is a stop of its own. Properties for such an element.
 */
export function useRove() {
  const ref = useRef(/** @type {HTMLElement | null} */ (null))
  useEffect(() => {
    const group = ref.current?.closest('.card')
    if (!group) return undefined
    hold(group)
    // Another takes its place once it has left.
    return () => queueMicrotask(() => hold(group))
  }, [])
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    const group = ref.current?.closest('.card')
    if (!group || !ref.current) return
    const stops = stopsOf(group)
    const at = stops.indexOf(ref.current)
    const step = { ...STEPS, Home: -at, End: stops.length - 1 - at }[event.key]
    if (step === undefined) return
    event.preventDefault()
    stops[(at + step + stops.length) % stops.length]?.focus()
  }
  const onFocus = () => {
    const group = ref.current?.closest('.card')
    if (group) hold(group, ref.current)
  }
  return { ref, onKeyDown, onFocus, 'data-rove': '' }
}

/** @param {Element} group @returns {HTMLElement[]} */
function stopsOf(group) {
  return /** @type {HTMLElement[]} */ ([...group.querySelectorAll('[data-rove]')])
}

/** Keeps one stop of a group in the order of the Tab key. @param {Element} group @param {HTMLElement | null} [wanted] */
function hold(group, wanted) {
  const stops = stopsOf(group)
  const held = wanted ?? stops.find((each) => each.dataset.rove === 'here') ?? stops[0]
  for (const each of stops) {
    each.tabIndex = each === held ? 0 : -1
    each.dataset.rove = each === held ? 'here' : ''
  }
}
