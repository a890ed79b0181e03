import { ask } from '../lib/api.js'
import { useEffect, useRef, useState } from '../lib/view.js'

/**
 * @typedef {import('./plan.js').Part} Part
 * @typedef {Part & { answer: import('../lib/api.js').Answer | import('../lib/api.js').Failure | undefined }} AskedPart
 */

/**
 * Asks every part of a plan, each once, and again when told to. A part that leaves the plan is asked no more.
 * @param {readonly Part[]} plan
 * @param {string} key
 * @returns {{ parts: readonly AskedPart[], again: (path: string) => void }}
 */
export function useAnswers(plan, key) {
  const [answers, setAnswers] = useState(/** @type {Record<string, AskedPart['answer']>} */ ({}))
  const running = useRef(/** @type {Map<string, AbortController>} */ (new Map()))
  const paths = plan.map(({ path }) => path)

  /** @param {string} path */
  function start(path) {
    const leaving = new AbortController()
    running.current.set(path, leaving)
    ask(path, { key, signal: leaving.signal }).then(
      (answer) => setAnswers((before) => ({ ...before, [path]: answer })),
      (error) => {
        if (!leaving.signal.aborted) throw error
      },
    )
  }

  useEffect(() => {
    for (const [path, leaving] of running.current) {
      if (paths.includes(path)) continue
      leaving.abort()
      running.current.delete(path)
    }
    for (const path of paths) if (!running.current.has(path)) start(path)
  }, [paths.join(' '), key])

  useEffect(
    () => () => {
      for (const leaving of running.current.values()) leaving.abort()
      running.current.clear()
    },
    [],
  )

  return {
    // An answer outlives its part only until the part is asked for again.
    parts: plan.map((part) => ({ ...part, answer: running.current.has(part.path) ? answers[part.path] : undefined })),
    again(path) {
      setAnswers((before) => ({ ...before, [path]: undefined }))
      start(path)
    },
  }
}
