import { onSessionEnd, requestPlane } from './account.js'
import { pollRepeatedly } from './poll.js'
import { createSubmission } from './submission.js'
import { useEffect, useLayoutEffect, useRef, useState } from './view.js'

/**
 * Observes the width of an element in pixels; 0 until measured.
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
 * Observes whether the content of an element overflows it: then the element must be focusable to scroll by keyboard.
 * @returns {[import('preact').RefObject<HTMLDivElement | null>, boolean]}
 */
export function useOverflow() {
  const ref = useRef(/** @type {HTMLDivElement | null} */ (null))
  const [isCut, setCut] = useState(false)
  useLayoutEffect(() => {
    const element = ref.current
    if (element === null) return undefined
    const measure = () =>
      setCut(element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight)
    measure()
    const observer = new ResizeObserver(measure)
    for (const each of [element, ...element.children]) observer.observe(each)
    return () => observer.disconnect()
  }, [])
  return [ref, isCut]
}

/**
 * Runs `work` whenever `inputs` change, after aborting the previous run. Returns a function that runs it again.
 * @param {((signal: AbortSignal) => Promise<unknown>) | undefined} work
 * @param {readonly unknown[]} inputs
 */
export function useTask(work, inputs) {
  const [round, setRound] = useState(0)
  useEffect(() => {
    const controller = new AbortController()
    work?.(controller.signal).catch((error) => {
      if (!controller.signal.aborted) throw error
    })
    return () => controller.abort()
  }, [...inputs, round])
  return () => setRound((count) => count + 1)
}

/**
 * Loads a value when `inputs` change or `again` is called. The previous value stays until the next one arrives.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} load
 * @param {readonly unknown[]} inputs
 * @returns {{ value: T | undefined, again: () => void }}
 */
export function useLoaded(load, inputs) {
  const [value, setValue] = useState(/** @type {T | undefined} */ (undefined))
  const again = useTask((signal) => load(signal).then(setValue), inputs)
  return { value, again }
}

/**
 * `earlier`: the answer for another path, until that for the current one has come.
 * @template [Body=unknown]
 * @typedef {{ answer: import('./api.js').Answer<Body> | import('./api.js').Failure | undefined, earlier?: import('./api.js').Answer<Body> | undefined, again: () => void }} RequestState
 */

/**
 * Reads `path` of a plane with sessions, and again `everyMs` after each answer while the page is visible.
 * @template [Body=unknown]
 * @param {string} path
 * @param {number} [everyMs]
 * @returns {RequestState<Body>}
 */
export function useAnswer(path, everyMs) {
  const [read, setRead] = useState(
    /** @type {{ path: string, answer: import('./api.js').Answer<Body> | import('./api.js').Failure } | undefined} */ (
      undefined
    ),
  )
  const poll = (/** @type {AbortSignal} */ signal) =>
    pollRepeatedly(() => /** @type {Promise<NonNullable<typeof read>['answer']>} */ (requestPlane(path, { signal })), {
      everyMs,
      signal,
      isVisible: () => document.visibilityState === 'visible',
      onAnswer: (answer) => setRead({ path, answer }),
    })
  const again = useTask(poll, [path, everyMs])
  if (read === undefined || read.path === path) return { answer: read?.answer, again }
  return { answer: undefined, earlier: read.answer.ok ? read.answer : undefined, again }
}

/** Returns true once a plane has refused the session of this tab: from then on it refuses each request. */
export function useSessionEnd() {
  const [isEnded, setEnded] = useState(false)
  useEffect(() => onSessionEnd(() => setEnded(true)), [])
  return isEnded
}

/**
 * Returns a function that starts work of a part of the page: the signal ends the work before it, and fires when the part
 * leaves.
 */
export function useSignal() {
  const controller = useRef(/** @type {AbortController | undefined} */ (undefined))
  useEffect(() => () => controller.current?.abort(), [])
  return () => {
    controller.current?.abort()
    controller.current = new AbortController()
    return controller.current.signal
  }
}

/**
 * Sends changes, each filled form once, and keeps the last failure.
 * @param {(path: string, options: Omit<import('./submission.js').ChangeRequest, 'path'> & { idempotencyKey: string }) => Promise<import('./submission.js').Outcome>} [send] the plane's by default
 */
export function useSubmission(send = requestPlane) {
  const [failure, setFailure] = useState(/** @type {import('./api.js').Failure | undefined} */ (undefined))
  const [busy, setBusy] = useState(0)
  const sender = useRef(/** @type {ReturnType<typeof createSubmission> | undefined} */ (undefined))
  sender.current ??= createSubmission()
  const submission = sender.current
  /**
   * Does nothing while the same request is under way.
   * @template [Body=unknown]
   * @param {import('./submission.js').ChangeRequest} request
   * @param {(answer: import('./api.js').Answer<Body>) => void} [onDone]
   */
  const submit = async (request, onDone) => {
    const { path, ...options } = request
    setBusy((count) => count + 1)
    const outcome = await submission(request, (idempotencyKey) => send(path, { ...options, idempotencyKey }))
    setBusy((count) => count - 1)
    if (outcome === undefined) return
    setFailure(outcome.ok ? undefined : outcome)
    if (outcome.ok) onDone?.(/** @type {import('./api.js').Answer<Body>} */ (outcome))
  }
  return { failure, isBusy: busy > 0, submit }
}

/**
 * Calls `follow` at once, and whenever the fragment of the address changes.
 * @param {() => void} onHash
 */
export function useHash(onHash) {
  useEffect(() => {
    addEventListener('hashchange', onHash)
    // The fragment may have changed before the listener was added.
    onHash()
    return () => removeEventListener('hashchange', onHash)
  }, [])
}

/**
 * Selects one of `count` points: the last one, until the pointer or an arrow key selects another.
 * @param {number} count
 * @param {(left: number) => number} indexAt index of the point at a distance from the left edge
 */
export function usePointSelection(count, indexAt) {
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
  return { index, handlers: { onKeyDown, onPointerMove, onPointerDown: onPointerMove } }
}
