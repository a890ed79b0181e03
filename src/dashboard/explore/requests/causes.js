import { chainName } from '../../lib/catalog.js'
import { pluralize } from '../../lib/time.js'
import { html } from '../../lib/view.js'
import { ErrorNotice } from '../../part/notice.js'
import { FAMILY_NAMES, formatPartName } from './plan.js'
import { isPending } from './polling.js'

/**
 * @typedef {import('./answers.js').RequestedPart} RequestedPart
 * @typedef {RequestedPart & { answer: import('../../lib/api.js').Failure }} FailedPart
 */

/**
 * Failed parts, grouped by cause.
 * @typedef {object} Causes
 * @property {readonly (readonly FailedPart[])[]} refusals refused requests (4xx), one group per cause
 * @property {readonly FailedPart[]} outages parts whose chain or endpoint is unavailable (5xx)
 */

/** @param {readonly RequestedPart[]} parts @returns {Causes} */
export function groupCauses(parts) {
  const failed = parts.flatMap((part) => {
    const { answer } = part
    return answer?.ok === false && answer.code !== 'NOT_FOUND' && !isPending(answer) ? [{ ...part, answer }] : []
  })
  /** @type {Map<string, FailedPart[]>} */
  const refusals = new Map()
  for (const part of failed) {
    const { status, code, message } = part.answer
    if (status >= 500) continue
    const cause = status === 400 ? message : code
    refusals.set(cause, [...(refusals.get(cause) ?? []), part])
  }
  return { refusals: [...refusals.values()], outages: failed.filter(({ answer }) => answer.status >= 500) }
}

/**
 * One notice per cause.
 * @param {{ causes: Causes, parts: readonly RequestedPart[], catalog: import('../../lib/catalog.js').Catalog, again: (paths: readonly string[]) => void }} props
 */
export function Notices({ causes: { refusals, outages }, parts, catalog, again }) {
  return html`
    ${refusals.map((failed) => {
      const retry = () => again(failed.map(({ path }) => path))
      const title = failed.length === parts.length ? 'The wallet' : pluralize(failed.length, 'part')
      return html`<${ErrorNotice} failure=${failed[0]?.answer} title=${`${title} could not be read`} onRetry=${retry} />`
    })}
    ${outages.length > 0 && html`<${Outages} failed=${outages} parts=${parts} catalog=${catalog} again=${again} />`}
  `
}

/**
 * All unavailable chains in one notice.
 * @param {{ failed: readonly FailedPart[], parts: readonly RequestedPart[], catalog: import('../../lib/catalog.js').Catalog, again: (paths: readonly string[]) => void }} props
 */
function Outages({ failed, parts, catalog, again }) {
  const ids = [...new Set(failed.map(({ chainId }) => chainId))]
  const names = ids.map((id) => {
    const ownFailures = failed.filter(({ chainId }) => chainId === id)
    if (ownFailures.length === parts.filter(({ chainId }) => chainId === id).length) return chainName(catalog, id)
    const families = [...new Set(ownFailures.map(({ family }) => FAMILY_NAMES[family]))]
    return `${chainName(catalog, id)} (${families.join(', ')})`
  })
  const what = ids.length === 1 ? `${names[0]} could not be read` : `${ids.length} chains could not be read`
  return html`<div class="notice trouble away" role="alert">
    <p><b>${what}</b>${ids.length > 1 && html`<span>${names.join(', ')}</span>`}
      <button type="button" class="small" onClick=${() => again(failed.map(({ path }) => path))}>${failed.length > 1 ? 'Try all again' : 'Try again'}</button></p>
    <details><summary>Why, and what helps</summary>
      <ul>
        ${failed.map(
          (part) => html`<li>${formatPartName(catalog, part)}, ${FAMILY_NAMES[part.family]}: ${part.answer.message}
            <code>${part.answer.status} ${part.answer.code}</code> <code>${part.answer.requestId}</code></li>`,
        )}
      </ul>
      <p class="soft">The chain or its endpoint cannot answer right now; nothing was charged. The operator sees which with walletscope doctor.</p>
    </details>
  </div>`
}
