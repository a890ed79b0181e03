import type { RefObject } from 'preact'
import { onSessionEnd, requestPlane } from './account.ts'
import type { Answer, Failure } from './api.ts'
import { pollRepeatedly } from './poll.ts'
import type { ChangeRequest, Outcome } from './submission.ts'
import { createSubmission } from './submission.ts'
import { useEffect, useLayoutEffect, useRef, useState } from './view.ts'

/** Observes the width of an element in pixels; 0 until measured. */
export function useWidth(): [RefObject<HTMLDivElement | null>, number] {
  const ref = useRef<HTMLDivElement | null>(null)
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
 */
export function useOverflow(): [RefObject<HTMLDivElement | null>, boolean] {
  const ref = useRef<HTMLDivElement | null>(null)
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

/** Runs `work` whenever `inputs` change, after aborting the previous run. Returns a function that runs it again. */
export function useTask(work: ((signal: AbortSignal) => Promise<unknown>) | undefined, inputs: readonly unknown[]) {
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

/** Loads a value when `inputs` change or `again` is called. The previous value stays until the next one arrives. */
export function useLoaded<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
): { value: T | undefined; again: () => void } {
  const [value, setValue] = useState<T | undefined>(undefined)
  const again = useTask((signal) => load(signal).then(setValue), inputs)
  return { value, again }
}

export interface RequestState<Body = unknown> {
  readonly answer: Answer<Body> | Failure | undefined
  /** The answer for another path, until that for the current one has come. */
  readonly earlier?: Answer<Body> | undefined
  readonly again: () => void
}

/** Reads `path` of a plane with sessions, and again `everyMs` after each answer while the page is visible. */
export function useAnswer<Body = unknown>(path: string, everyMs?: number): RequestState<Body> {
  const [read, setRead] = useState<{ path: string; answer: Answer<Body> | Failure } | undefined>(undefined)
  const poll = (signal: AbortSignal) =>
    pollRepeatedly(() => requestPlane<Body>(path, { signal }), {
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
  const controller = useRef<AbortController | undefined>(undefined)
  useEffect(() => () => controller.current?.abort(), [])
  return () => {
    controller.current?.abort()
    controller.current = new AbortController()
    return controller.current.signal
  }
}

/** Sends changes, each filled form once, and keeps the last failure. `send`: the plane's by default. */
export function useSubmission(
  send: (
    path: string,
    options: Omit<ChangeRequest, 'path'> & { idempotencyKey: string },
  ) => Promise<Outcome> = requestPlane,
) {
  const [failure, setFailure] = useState<Failure | undefined>(undefined)
  const [busy, setBusy] = useState(0)
  const sender = useRef<ReturnType<typeof createSubmission> | undefined>(undefined)
  sender.current ??= createSubmission()
  const submission = sender.current
  /** Does nothing while the same request is under way. */
  const submit = async <Body = unknown>(request: ChangeRequest, onDone?: (answer: Answer<Body>) => void) => {
    const { path, ...options } = request
    setBusy((count) => count + 1)
    const outcome = await submission(request, (idempotencyKey) => send(path, { ...options, idempotencyKey }))
    setBusy((count) => count - 1)
    if (outcome === undefined) return
    setFailure(outcome.ok ? undefined : outcome)
    if (outcome.ok) onDone?.(outcome as Answer<Body>)
  }
  return { failure, isBusy: busy > 0, submit }
}

/** Calls `follow` at once, and whenever the fragment of the address changes. */
export function useHash(onHash: () => void) {
  useEffect(() => {
    addEventListener('hashchange', onHash)
    // The fragment may have changed before the listener was added.
    onHash()
    return () => removeEventListener('hashchange', onHash)
  }, [])
}

/**
 * Selects one of `count` points: the last one, until the pointer or an arrow key selects another. `indexAt`: index of
 * the point at a distance from the left edge.
 */
export function usePointSelection(count: number, indexAt: (left: number) => number) {
  const [at, setAt] = useState<number | undefined>(undefined)
  const index = Math.min(at ?? count - 1, count - 1)
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Readonly<Record<string, number>> = {
      ArrowLeft: -1,
      ArrowRight: 1,
      PageUp: -7,
      PageDown: 7,
      Home: -count,
      End: count,
    }
    const step = steps[event.key]
    if (step === undefined) return
    event.preventDefault()
    setAt(Math.min(Math.max(index + step, 0), count - 1))
  }
  const onPointerMove = (event: PointerEvent) => {
    const { left } = (event.currentTarget as Element).getBoundingClientRect()
    setAt(indexAt(event.clientX - left))
  }
  return { index, handlers: { onKeyDown, onPointerMove, onPointerDown: onPointerMove } }
}
