import { useEffect, useRef, useState } from '../../lib/view.ts'
import type { Part } from './plan.ts'
import type { Outcome } from './polling.tsx'
import { pollAnswer } from './polling.tsx'

export type RequestedPart = Part & { answer: Outcome }

/**
 * Requests every part of a plan once, and repeats it on `again` or while its answer is pending. Aborts the requests of
 * a part that leaves the plan.
 */
export function useAnswers(
  plan: readonly Part[],
  key: string,
): {
  parts: readonly RequestedPart[]
  /** Another object with each answer. */
  version: object
  again: (...paths: readonly string[]) => void
} {
  const [answers, setAnswers] = useState<Record<string, RequestedPart['answer']>>({})
  const running = useRef<Map<string, AbortController>>(new Map())
  const paths = plan.map(({ path }) => path)

  function start(path: string) {
    running.current.get(path)?.abort()
    const controller = new AbortController()
    const { signal } = controller
    running.current.set(path, controller)
    const onAnswer = (answer: RequestedPart['answer']) => setAnswers((before) => ({ ...before, [path]: answer }))
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
    version: answers,
    // Hides the old answer of a part that returns to the plan until its new request has started.
    parts: plan.map((part) => ({ ...part, answer: running.current.has(part.path) ? answers[part.path] : undefined })),
    again(...retried) {
      setAnswers((before) => ({ ...before, ...Object.fromEntries(retried.map((path) => [path, undefined])) }))
      for (const path of retried) start(path)
    },
  }
}
