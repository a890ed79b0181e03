import type { ComponentChildren } from 'preact'
import type { Answer, Failure } from '../../lib/api.ts'
import { requestApi } from '../../lib/api.ts'
import { useTask } from '../../lib/hooks.ts'
import { delay } from '../../lib/time.ts'
import { useState } from '../../lib/view.ts'
import { ErrorNotice, ProgressNotice, Skeleton } from '../../part/notice.tsx'
import type { RequestContext } from '../receipt.tsx'
import { AnswerSource } from '../receipt.tsx'

/** Requests for a pending answer at most. */
const ATTEMPTS_MAX = 40
const WAIT_MAX_SEC = 15
/** Retries of a 503 that is not pending: most are temporary. */
const RETRIES_MAX = 3

export type Outcome<Body = unknown> = Answer<Body> | Failure | undefined

/** Returns true if the service is preparing the answer, so that the page polls it. */
export function isPending(answer: Outcome) {
  return answer?.ok === false && answer.progress !== undefined
}

interface PolledRequest<Body> {
  readonly answer: Outcome<Body>
  readonly again: () => void
}

interface PolledAnswerOptions {
  readonly attemptsMax?: number
  readonly paid?: Map<string, Answer>
}

/**
 * Requests `path`, and repeats the request while the answer is pending. An answer in `paid` is not requested again,
 * except by `again`. Without `path` there is no request. `paid`: answers by path, which outlive the part of the page that
 * shows them.
 */
export function usePolledAnswer<Body = unknown>(
  path: string | undefined = '',
  key: string,
  { attemptsMax = ATTEMPTS_MAX, paid }: PolledAnswerOptions = {},
): PolledRequest<Body> {
  const [answer, setAnswer] = useState<Outcome<Body>>(undefined)
  const poll = async (signal: AbortSignal) => {
    const kept = paid?.get(path) as Outcome<Body>
    if (kept !== undefined) return setAnswer(kept)
    const onAnswer = (next: NonNullable<Outcome<Body>>) => {
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

interface PollAnswerOptions<Body = unknown> {
  readonly key: string
  readonly signal: AbortSignal
  readonly attemptsMax?: number | undefined
  readonly onAnswer: (answer: NonNullable<Outcome<Body>>) => void
}

/** Calls `onAnswer` with every answer, the last one without progress. Rejects only when `signal` fires. */
export async function pollAnswer<Body = unknown>(
  path: string,
  { key, signal, attemptsMax = ATTEMPTS_MAX, onAnswer }: PollAnswerOptions<Body>,
) {
  for (let attempts = 1, retries = 0; ; attempts++) {
    const answer = await requestApi<Body>(path, { key, signal })
    const isLast = attempts === attemptsMax
    onAnswer(answer.ok || !isLast ? answer : { ...answer, progress: undefined })
    if (answer.ok || answer.status !== 503 || isLast) return
    if (!isPending(answer) && ++retries > RETRIES_MAX) return
    await delay(Math.min(answer.retryAfterSec ?? 1, WAIT_MAX_SEC) * 1000, signal)
  }
}

interface PolledAnswerProps<Body> {
  readonly request: PolledRequest<Body>
  readonly what: string
  readonly render: (answer: Answer<Body>) => ComponentChildren
  readonly context: RequestContext
}

/** Renders a polled answer, its progress, or its failure. */
export function PolledAnswer<Body>({ request: { answer, again }, what, render, context }: PolledAnswerProps<Body>) {
  if (answer === undefined) return <Skeleton>{what}</Skeleton>
  if (!answer.ok && answer.progress) return <ProgressNotice what={what} progress={answer.progress} />
  if (!answer.ok) return <ErrorNotice failure={answer} title={`${what} could not be read`} onRetry={again} />
  return (
    <>
      {render(answer)}
      <AnswerSource answer={answer} context={context} />
    </>
  )
}
