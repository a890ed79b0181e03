import { useEffect, useRef, useState } from '../../lib/view.js'
import { pollAnswer } from './polling.js'

/**
 * @typedef {import('./plan.js').Part} Part
 * @typedef {Part & { answer: import('./polling.js').Outcome }} AskedPart
 */

/**
 * Asks every part of a plan, each once, and again when told to or while it is being prepared. A part that leaves the plan is asked no more.
 * @param {readonly Part[]} plan
 * @param {string} key
 * @returns {{ parts: readonly AskedPart[], again: (...paths: readonly string[]) => void }}
 */
export function useAnswers(plan, key) {
  const [answers, setAnswers] = useState(/** @type {Record<string, AskedPart['answer']>} */ ({}))
  const running = useRef(/** @type {Map<string, AbortController>} */ (new Map()))
  const paths = plan.map(({ path }) => path)

  /** @param {string} path */
  function start(path) {
    running.current.get(path)?.abort()
    const leaving = new AbortController()
    const { signal } = leaving
    running.current.set(path, leaving)
    /** @param {AskedPart['answer']} answer */
    const onAnswer = (answer) => setAnswers((before) => ({ ...before, [path]: answer }))
    const part = plan.find((each) => each.path === path)
    // Neither contract lists what a wallet has: it is looked for at first.
    const triesMax = part?.protocol === 'uniswap-v4' || part?.family === 'morpho' ? undefined : 1
    pollAnswer(path, { key, signal, triesMax, onAnswer }).catch((error) => {
      if (!signal.aborted) throw error
    })
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
    again(...asked) {
      setAnswers((before) => ({ ...before, ...Object.fromEntries(asked.map((path) => [path, undefined])) }))
      for (const path of asked) start(path)
    },
  }
}
