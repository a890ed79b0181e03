import { requestApi } from '../../lib/api.js'
import { useTask } from '../../lib/hooks.js'
import { delay } from '../../lib/time.js'
import { html, useState } from '../../lib/view.js'
import { ErrorNotice, ProgressNotice, Skeleton } from '../../part/notice.js'
import { AnswerSource } from '../receipt.js'

/** How often an answer that is being prepared is asked for again. */
const TRIES_MAX = 40
const WAIT_MAX_SEC = 15
/** How often one is asked for again that could not be given for another reason: most pass. */
const FAULTS_MAX = 3

/**
 * @template [Body=unknown]
 * @typedef {import('../../lib/api.js').Answer<Body> | import('../../lib/api.js').Failure | undefined} Outcome
 */

/** True if the answer is being prepared, and is asked for again. @param {Outcome} answer */
export function isPending(answer) {
  return answer?.ok === false && answer.progress !== undefined
}

/**
 * Asks, and asks again while the answer is being prepared.
 * @template [Body=unknown]
 * @param {string | undefined} path nothing is asked without
 * @param {string} key
 * @param {number} [triesMax]
 * @returns {{ answer: Outcome<Body>, again: () => void }}
 */
export function usePolledAnswer(path, key, triesMax = TRIES_MAX) {
  const [answer, setAnswer] = useState(/** @type {Outcome<Body>} */ (undefined))
  const asking = (/** @type {AbortSignal} */ signal) =>
    pollAnswer(path ?? '', { key, signal, triesMax, onAnswer: setAnswer })
  const askAgain = useTask(path === undefined ? undefined : asking, [path, key])
  const again = () => {
    // What was read stays until more comes.
    setAnswer((before) => (before?.ok ? before : undefined))
    askAgain()
  }
  return { answer, again }
}

/**
 * Gives every answer, the last one without progress. Rejects only when `signal` fires.
 * @template [Body=unknown]
 * @param {string} path
 * @param {{ key: string, signal: AbortSignal, triesMax?: number, onAnswer: (answer: NonNullable<Outcome<Body>>) => void }} options
 */
export async function pollAnswer(path, { key, signal, triesMax = TRIES_MAX, onAnswer }) {
  for (let tries = 1, faults = 0; ; tries++) {
    /** @type {import('../../lib/api.js').Answer<Body> | import('../../lib/api.js').Failure} */
    const found = await requestApi(path, { key, signal })
    const isLast = tries === triesMax
    onAnswer(found.ok || !isLast ? found : { ...found, progress: undefined })
    if (found.ok || found.status !== 503 || isLast) return
    if (!isPending(found) && ++faults > FAULTS_MAX) return
    await delay(Math.min(found.retryAfterSec ?? 1, WAIT_MAX_SEC) * 1000, signal)
  }
}

/**
 * What was asked patiently, once it is there.
 * @param {{ asked: { answer: Outcome, again: () => void }, what: string, render: (answer: import('../../lib/api.js').Answer) => unknown, context: import('../receipt.js').Asking }} props
 */
export function PolledAnswer({ asked: { answer, again }, what, render, context }) {
  if (answer === undefined) return html`<${Skeleton}>${what}<//>`
  if (!answer.ok && answer.progress) return html`<${ProgressNotice} what=${what} progress=${answer.progress} />`
  if (!answer.ok)
    return html`<${ErrorNotice} failure=${answer} title=${`${what} could not be read`} onRetry=${again} />`
  return html`${render(answer)}<${AnswerSource} answer=${answer} context=${context} />`
}
