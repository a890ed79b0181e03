import { describeUncertainty } from '../lib/submission.js'
import { pluralize } from '../lib/time.js'
import { html } from '../lib/view.js'

/** Advice by error code. @type {Record<string, string>} */
export const ADVICE = {
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

/**
 * Error with advice and a retry button.
 * @param {{ failure: import('../lib/api.js').Failure, title?: string, advice?: string, onRetry?: () => void }} props
 */
export function ErrorNotice({ failure, title, advice = ADVICE[failure.code], onRetry }) {
  return html`<div class="notice trouble" role="alert">
    <p class="notice-title">${title ?? 'This could not be read'}</p>
    <p>${failure.message}</p>
    ${advice && html`<p class="soft">${advice}</p>`}
    <p class="notice-end">
      <code>${failure.status === 0 ? failure.code : `${failure.status} ${failure.code}`}</code>
      ${failure.requestId && html`<code>${failure.requestId}</code>`}
      ${onRetry && html`<button type="button" class="small" onClick=${onRetry}>Try again</button>`}
    </p>
  </div>`
}

/**
 * Error of a change. Unless it is known that the change was not made, `refused` is not shown.
 * @param {{ failure: import('../lib/api.js').Failure, refused: string }} props
 */
export function ChangeError({ failure, refused }) {
  const { title, advice } = describeUncertainty(failure) ?? { title: refused }
  return html`<${ErrorNotice} failure=${failure} title=${title} advice=${advice} />`
}

/**
 * Notice in place of an empty result.
 * @param {{ title: string, children?: unknown }} props
 */
export function EmptyState({ title, children }) {
  return html`<div class="notice empty">
    <p class="notice-title">${title}</p>
    ${children && html`<div class="soft">${children}</div>`}
  </div>`
}

/**
 * Renders a loaded answer, a loading notice, or its failure.
 * @template Body
 * @param {{ request: import('../lib/hooks.js').RequestState<Body>, waiting: string, children: (body: Body) => unknown }} props
 */
export function LoadedAnswer({ request: { answer, again }, waiting, children }) {
  if (answer === undefined) return html`<${LoadingNotice}>${waiting}<//>`
  if (!answer.ok) return html`<${ErrorNotice} failure=${answer} onRetry=${again} />`
  return children(answer.body)
}

/** @param {{ children: unknown }} props */
export function LoadingNotice({ children }) {
  return html`<p class="waiting" role="status"><span class="spinner" aria-hidden="true"></span>${children}</p>`
}

/** Placeholder of content that is loading. @param {{ children: unknown }} props description of the content */
export function Skeleton({ children }) {
  return html`<div class="skeleton" role="status"><p>${children}</p><i></i><i></i><i></i></div>`
}

/**
 * Progress of a pending answer, as text and as a bar.
 * @param {{ what: string, progress: import('../lib/api.js').Progress }} props
 */
export function ProgressNotice({ what, progress: { percent, left } }) {
  return html`<div class="preparing">
    <p role="status">${what} <span class="soft">${formatProgress(percent, left)}</span></p>
    <progress max="100" value=${percent === 0 ? undefined : percent} aria-label=${`${what}: how much is read`}></progress>
  </div>`
}

/** @param {number} percent @param {import('../lib/api.js').Progress['left']} left */
function formatProgress(percent, left) {
  if (left !== undefined) return `${percent} % read, ${pluralize(left.count, left.unit.replace(/s$/, ''))} left`
  return percent === 0 ? 'is being read for the first time' : `${percent} % read, the newest blocks are left`
}
