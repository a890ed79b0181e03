import type { ComponentChildren } from 'preact'
import type { Failure, Progress } from '../lib/api.ts'
import type { RequestState } from '../lib/hooks.ts'
import { describeUncertainty } from '../lib/submission.ts'
import { pluralize } from '../lib/time.ts'

/** Advice by error code. */
export const ADVICE: Record<string, string> = {
  INVALID_API_KEY: 'Check that the whole key was pasted. If it was revoked, ask for another one.',
  ACCOUNT_SUSPENDED:
    'The operator has suspended this organization. Its keys and credits work again once it is restored.',
  ORGANIZATION_NOT_FOUND: 'The organization of this key was deleted. Ask the operator for a key of another one.',
  INSUFFICIENT_CREDITS: 'Nothing was charged. Ask the operator to grant credits: walletscope credits grant.',
  ENDPOINT_DISABLED: 'The operator has switched this part off. Everything else still answers.',
  FEATURE_DISABLED: 'The operator has switched this feature off. Everything else still answers.',
  RATE_LIMIT_EXCEEDED: 'Other callers of this organization use up its requests. Try again in a few seconds.',
  SERVICE_UNAVAILABLE: 'The chain or its endpoint cannot answer right now. Try again; nothing was charged.',
  UPSTREAM_ERROR: 'An endpoint gave an unusable answer. Try again; nothing was charged.',
  API_ENDPOINT_NOT_CONFIGURED: 'The operator has configured no endpoint that this could be read from.',
  NO_ANSWER: 'Check that the service runs and that this machine reaches it.',
  NOT_FOUND: 'Check the address and the chain: there is nothing here to show.',
  INTERNAL_ERROR: 'This is a fault of the service. Its log has the details under the request id.',
}

interface ErrorNoticeProps {
  readonly failure: Failure
  readonly title?: string
  readonly advice?: string | undefined
  readonly onRetry?: () => void
}

/** Error with advice and a retry button, unless the request itself is refused: it would be again. */
export function ErrorNotice({ failure, title, advice = ADVICE[failure.code], onRetry }: ErrorNoticeProps) {
  return (
    <div class="notice trouble" role="alert">
      <p class="notice-title">{title ?? 'This could not be read'}</p>
      <p>{failure.message}</p>
      {advice && <p class="soft">{advice}</p>}
      <p class="notice-end">
        <code>{failure.status === 0 ? failure.code : `${failure.status} ${failure.code}`}</code>
        {failure.requestId && <code>{failure.requestId}</code>}
        {onRetry && failure.status !== 400 && (
          <button type="button" class="small" onClick={onRetry}>
            Try again
          </button>
        )}
      </p>
    </div>
  )
}

/** Error of a change. Unless it is known that the change was not made, `refused` is not shown. */
export function ChangeError({ failure, refused }: { failure: Failure; refused: string }) {
  const { title, advice } = describeUncertainty(failure) ?? { title: refused }
  return <ErrorNotice failure={failure} title={title} advice={advice} />
}

/** Notice in place of an empty result. */
export function EmptyState({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="notice empty">
      <p class="notice-title">{title}</p>
      {children && <div class="soft">{children}</div>}
    </div>
  )
}

interface LoadedAnswerProps<Body> {
  readonly request: RequestState<Body>
  readonly waiting: string
  readonly children: (body: Body) => ComponentChildren
}

/** Renders a loaded answer, a loading notice, or its failure. */
export function LoadedAnswer<Body>({ request: { answer, again }, waiting, children }: LoadedAnswerProps<Body>) {
  if (answer === undefined) return <LoadingNotice>{waiting}</LoadingNotice>
  if (!answer.ok) return <ErrorNotice failure={answer} onRetry={again} />
  return children(answer.body)
}

export function LoadingNotice({ children }: { children: ComponentChildren }) {
  return (
    <p class="waiting" role="status">
      <span class="spinner" aria-hidden="true" />
      {children}
    </p>
  )
}

/** Placeholder of content that is loading, with a description of it. */
export function Skeleton({ children }: { children: ComponentChildren }) {
  return (
    <div class="skeleton" role="status">
      <p>{children}</p>
      <i />
      <i />
      <i />
    </div>
  )
}

/** Progress of a pending answer, as text and as a bar. */
export function ProgressNotice({ what, progress: { percent, left } }: { what: string; progress: Progress }) {
  return (
    <div class="preparing">
      <p role="status">
        {what} <span class="soft">{formatProgress(percent, left)}</span>
      </p>
      <progress max="100" value={percent === 0 ? undefined : percent} aria-label={`${what}: how much is read`} />
    </div>
  )
}

function formatProgress(percent: number, left: Progress['left']) {
  if (left !== undefined) return `${percent} % read, ${pluralize(left.count, left.unit.replace(/s$/, ''))} left`
  return percent === 0 ? 'is being read for the first time' : `${percent} % read, the newest blocks are left`
}
