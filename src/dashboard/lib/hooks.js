import { useEffect, useLayoutEffect, useRef, useState } from './view.js'

/**
 * Width of an element in pixels, followed; 0 until it is known.
 * @returns {[import('preact').RefObject<HTMLDivElement | null>, number]}
 */
export function useWidth() {
  const ref = useRef(/** @type {HTMLDivElement | null} */ (null))
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const element = ref.current
    if (element === null) return undefined
    const measure = () => setWidth(Math.floor(element.clientWidth))
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return [ref, width]
}

/**
 * What `load` answers, asked again when `inputs` change or `again` is called; what came before stays until then.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} load
 * @param {readonly unknown[]} inputs
 * @returns {{ value: T | undefined, loading: boolean, again: () => void }}
 */
export function useLoaded(load, inputs) {
  const [state, setState] = useState({ value: /** @type {T | undefined} */ (undefined), loading: true })
  const [round, setRound] = useState(0)
  useEffect(() => {
    const leaving = new AbortController()
    setState((before) => ({ ...before, loading: true }))
    load(leaving.signal).then(
      (value) => setState({ value, loading: false }),
      (error) => {
        if (!leaving.signal.aborted) throw error
      },
    )
    return () => leaving.abort()
  }, [...inputs, round])
  return { ...state, again: () => setRound((count) => count + 1) }
}

/**
 * Which of `count` points is looked at: the last one, until the pointer or an arrow key chooses another.
 * @param {number} count
 * @param {(left: number) => number} indexAt the point at a distance from the left edge
 */
export function useWalk(count, indexAt) {
  const [at, setAt] = useState(/** @type {number | undefined} */ (undefined))
  const index = Math.min(at ?? count - 1, count - 1)
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -7, PageDown: 7, Home: -count, End: count }
    const step = steps[event.key]
    if (step === undefined) return
    event.preventDefault()
    setAt(Math.min(Math.max(index + step, 0), count - 1))
  }
  const onPointerMove = (/** @type {PointerEvent} */ event) => {
    const { left } = /** @type {Element} */ (event.currentTarget).getBoundingClientRect()
    setAt(indexAt(event.clientX - left))
  }
  return { index, walking: { onKeyDown, onPointerMove, onPointerDown: onPointerMove } }
}
