import { requestApi } from '../../lib/api.js'
import { useTask } from '../../lib/hooks.js'
import { delay } from '../../lib/time.js'
import { html, useState } from '../../lib/view.js'
import { ErrorNotice, ProgressNotice, Skeleton } from '../../part/notice.js'
import { AnswerSource } from '../receipt.js'

/** Requests for a pending answer at most. */
const ATTEMPTS_MAX = 40
const WAIT_MAX_SEC = 15
/** Retries of a 503 that is not pending: most are temporary. */
const RETRIES_MAX = 3

/**
 * @template [Body=unknown]
 * @typedef {import('../../lib/api.js').Answer<Body> | import('../../lib/api.js').Failure | undefined} Outcome
 */

/** Returns true if the service is preparing the answer, so that the page polls it. @param {Outcome} answer */
export function isPending(answer) {
  return answer?.ok === false && answer.progress !== undefined
}

/**
 * Requests `path`, and repeats the request while the answer is pending. An answer in `paid` is not requested again, except by
 * `again`.
 * @template [Body=unknown]
 * @param {string | undefined} path undefined: no request
 * @param {string} key
 * @param {{ attemptsMax?: number, paid?: Map<string, import('../../lib/api.js').Answer> }} [options] `paid`: answers by path, which outlive the part of the page that shows them
 * @returns {{ answer: Outcome<Body>, again: () => void }}
 */
export function usePolledAnswer(path = '', key, { attemptsMax = ATTEMPTS_MAX, paid } = {}) {
  const [answer, setAnswer] = useState(/** @type {Outcome<Body>} */ (undefined))
  const poll = async (/** @type {AbortSignal} */ signal) => {
    const kept = /** @type {Outcome<Body>} */ (paid?.get(path))
    if (kept !== undefined) return setAnswer(kept)
    const onAnswer = (/** @type {NonNullable<Outcome<Body>>} */ next) => {
      if (next.ok) paid?.set(path, next)
      setAnswer(next)
    }
    return pollAnswer(path, { key, signal, attemptsMax, onAnswer })
  }
  const pollAgain = useTask(path === '' ? undefined : poll, [path, key])
  const again = () => {
    paid?.delete(path)
    // Keep the last success until the next answer.
    setAnswer((before) => (before?.ok ? before : undefined))
    pollAgain()
  }
  return { answer, again }
}

/**
 * Calls `onAnswer` with every answer, the last one without progress. Rejects only when `signal` fires.
 * @template [Body=unknown]
 * @param {string} path
 * @param {{ key: string, signal: AbortSignal, attemptsMax?: number, onAnswer: (answer: NonNullable<Outcome<Body>>) => void }} options
 */
export async function pollAnswer(path, { key, signal, attemptsMax = ATTEMPTS_MAX, onAnswer }) {
  for (let attempts = 1, retries = 0; ; attempts++) {
    /** @type {import('../../lib/api.js').Answer<Body> | import('../../lib/api.js').Failure} */
    const answer = await requestApi(path, { key, signal })
    const isLast = attempts === attemptsMax
    onAnswer(answer.ok || !isLast ? answer : { ...answer, progress: undefined })
    if (answer.ok || answer.status !== 503 || isLast) return
    if (!isPending(answer) && ++retries > RETRIES_MAX) return
    await delay(Math.min(answer.retryAfterSec ?? 1, WAIT_MAX_SEC) * 1000, signal)
  }
}

/**
 * Renders a polled answer, its progress, or its failure.
 * @param {{ request: { answer: Outcome, again: () => void }, what: string, render: (answer: import('../../lib/api.js').Answer) => unknown, context: import('../receipt.js').RequestContext }} props
 */
export function PolledAnswer({ request: { answer, again }, what, render, context }) {
  if (answer === undefined) return html`<${Skeleton}>${what}<//>`
  if (!answer.ok && answer.progress) return html`<${ProgressNotice} what=${what} progress=${answer.progress} />`
  if (!answer.ok)
    return html`<${ErrorNotice} failure=${answer} title=${`${what} could not be read`} onRetry=${again} />`
  return html`${render(answer)}<${AnswerSource} answer=${answer} context=${context} />`
}
