import { useEffect, useRef, useState } from '../../lib/view.js'
import { pollAnswer } from './polling.js'

/**
 * @typedef {import('./plan.js').Part} Part
 * @typedef {Part & { answer: import('./polling.js').Outcome }} RequestedPart
 */

/**
 * Requests every part of a plan once, and repeats it on `again` or while its answer is pending. Aborts the requests of a part
 * that leaves the plan.
 * @param {readonly Part[]} plan
 * @param {string} key
 * @returns {{ parts: readonly RequestedPart[], again: (...paths: readonly string[]) => void }}
 */
export function useAnswers(plan, key) {
  const [answers, setAnswers] = useState(/** @type {Record<string, RequestedPart['answer']>} */ ({}))
  const running = useRef(/** @type {Map<string, AbortController>} */ (new Map()))
  const paths = plan.map(({ path }) => path)

  /** @param {string} path */
  function start(path) {
    running.current.get(path)?.abort()
    const controller = new AbortController()
    const { signal } = controller
    running.current.set(path, controller)
    /** @param {RequestedPart['answer']} answer */
    const onAnswer = (answer) => setAnswers((before) => ({ ...before, [path]: answer }))
    const part = plan.find((each) => each.path === path)
    // Neither contract lists a wallet's positions: the first answer waits for the service's search.
    const attemptsMax = part?.protocol === 'uniswap-v4' || part?.family === 'morpho' ? undefined : 1
    pollAnswer(path, { key, signal, attemptsMax, onAnswer }).catch((error) => {
      if (!signal.aborted) throw error
    })
  }

  useEffect(() => {
    for (const [path, controller] of running.current) {
      if (paths.includes(path)) continue
      controller.abort()
      running.current.delete(path)
    }
    for (const path of paths) if (!running.current.has(path)) start(path)
  }, [paths.join(' '), key])

  useEffect(
    () => () => {
      for (const controller of running.current.values()) controller.abort()
      running.current.clear()
    },
    [],
  )

  return {
    // Hides the old answer of a part that returns to the plan until its new request has started.
    parts: plan.map((part) => ({ ...part, answer: running.current.has(part.path) ? answers[part.path] : undefined })),
    again(...retried) {
      setAnswers((before) => ({ ...before, ...Object.fromEntries(retried.map((path) => [path, undefined])) }))
      for (const path of retried) start(path)
    },
  }
}
