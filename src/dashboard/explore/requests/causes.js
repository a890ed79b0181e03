import { chainName } from '../../lib/catalog.js'
import { pluralize } from '../../lib/time.js'
import { html } from '../../lib/view.js'
import { ErrorNotice } from '../../part/notice.js'
import { FAMILY_NAMES, partName } from './plan.js'
import { isPending } from './polling.js'

/**
 * @typedef {import('./answers.js').AskedPart} AskedPart
 * @typedef {AskedPart & { answer: import('../../lib/api.js').Failure }} FailedPart
 */

/**
 * Why parts failed, each cause once.
 * @typedef {object} Causes
 * @property {readonly (readonly FailedPart[])[]} asking what is wrong with the question or with who asks, whatever the chain
 * @property {readonly FailedPart[]} chains what chains that are away could not answer
 */

/** @param {readonly AskedPart[]} parts @returns {Causes} */
export function groupCauses(parts) {
  const failed = parts.flatMap((part) => {
    const { answer } = part
    return answer?.ok === false && answer.code !== 'NOT_FOUND' && !isPending(answer) ? [{ ...part, answer }] : []
  })
  /** @type {Map<string, FailedPart[]>} */
  const asking = new Map()
  for (const part of failed) {
    const { status, code, message } = part.answer
    if (status >= 500) continue
    const cause = status === 400 ? message : code
    asking.set(cause, [...(asking.get(cause) ?? []), part])
  }
  return { asking: [...asking.values()], chains: failed.filter(({ answer }) => answer.status >= 500) }
}

/**
 * A notice for each cause.
 * @param {{ causes: Causes, parts: readonly AskedPart[], catalog: import('../../lib/catalog.js').Catalog, again: (paths: readonly string[]) => void }} props
 */
export function Notices({ causes: { asking, chains }, parts, catalog, again }) {
  return html`
    ${asking.map((failed) => {
      const retry = () => again(failed.map(({ path }) => path))
      const title = failed.length === parts.length ? 'The wallet' : pluralize(failed.length, 'part')
      return html`<${ErrorNotice} failure=${failed[0]?.answer} title=${`${title} could not be read`} onRetry=${retry} />`
    })}
    ${chains.length > 0 && html`<${Away} failed=${chains} parts=${parts} catalog=${catalog} again=${again} />`}
  `
}

/**
 * All chains that are away in one line.
 * @param {{ failed: readonly FailedPart[], parts: readonly AskedPart[], catalog: import('../../lib/catalog.js').Catalog, again: (paths: readonly string[]) => void }} props
 */
function Away({ failed, parts, catalog, again }) {
  const ids = [...new Set(failed.map(({ chainId }) => chainId))]
  const names = ids.map((id) => {
    const mine = failed.filter(({ chainId }) => chainId === id)
    if (mine.length === parts.filter(({ chainId }) => chainId === id).length) return chainName(catalog, id)
    const families = [...new Set(mine.map(({ family }) => FAMILY_NAMES[family]))]
    return `${chainName(catalog, id)} (${families.join(', ')})`
  })
  const what = ids.length === 1 ? `${names[0]} could not be read` : `${ids.length} chains could not be read`
  return html`<div class="notice trouble away" role="alert">
    <p><b>${what}</b>${ids.length > 1 && html`<span>${names.join(', ')}</span>`}
      <button type="button" class="small" onClick=${() => again(failed.map(({ path }) => path))}>${failed.length > 1 ? 'Try all again' : 'Try again'}</button></p>
    <details><summary>Why, and what helps</summary>
      <ul>
        ${failed.map(
          (part) => html`<li>${partName(catalog, part)}, ${FAMILY_NAMES[part.family]}: ${part.answer.message}
            <code>${part.answer.status} ${part.answer.code}</code> <code>${part.answer.requestId}</code></li>`,
        )}
      </ul>
      <p class="soft">The chain or its endpoint cannot answer right now; nothing was charged. The operator sees which with walletscope doctor.</p>
    </details>
  </div>`
}
