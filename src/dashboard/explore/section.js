import { html } from '../lib/view.js'
import { ExplorerLink, explorerName } from '../part/explorer_link.js'
import { ProgressNotice, Skeleton } from '../part/notice.js'
import { Provenance } from '../part/provenance.js'
import { AnswerSource } from './receipt.js'
import { formatPartName } from './requests/plan.js'
import { isPending } from './requests/polling.js'

/** @typedef {import('./requests/answers.js').RequestedPart} RequestedPart */

/** @param {RequestedPart} part */
function isEmpty({ answer }) {
  if (answer?.ok !== true) return false
  const { data, counts } =
    /** @type {{ data: readonly unknown[], counts?: import('../lib/shapes.d.ts').PositionCounts }} */ (answer.body)
  return data.length === 0 && (counts?.total ?? 0) === 0 && (counts?.spams.length ?? 0) === 0
}

/** Returns true if a part has results or may still get some. @param {readonly RequestedPart[]} parts */
function hasSomething(parts) {
  return parts.some((part) => part.answer === undefined || isPending(part.answer) || (part.answer.ok && !isEmpty(part)))
}

/**
 * Section of a family: results, pending parts, and parts without results. Renders nothing if no part has results. The child
 * draws the parts that have some.
 * @param {{ title: string, label: string, parts: readonly RequestedPart[], catalog: import('../lib/catalog.js').Catalog, aside?: unknown, lead?: unknown, children: (results: readonly RequestedPart[]) => unknown }} props
 */
export function Section({ title, label, parts, catalog, aside, lead, children }) {
  if (!hasSomething(parts)) return null
  const empty = parts.filter(isEmpty)
  const pending = parts.filter(({ answer }) => answer === undefined)
  const results = parts.filter((part) => part.answer?.ok && !isEmpty(part))
  return html`<section class="family" aria-label=${label}>
    <div class="family-head"><h2>${title}</h2>${aside}</div>
    ${lead}
    ${parts.map((part) => part.answer?.ok === false && part.answer.progress && html`<${ProgressNotice} what=${`${title} on ${formatPartName(catalog, part)}`} progress=${part.answer.progress} />`)}
    ${results.length > 0 && children(results)}
    ${pending.length > 0 && results.length === 0 && html`<${Skeleton}>Reading ${pending.map((part) => formatPartName(catalog, part)).join(', ')}<//>`}
    ${empty.length > 0 && html`<${EmptyNotice} title=${`Nothing on ${joinNames(empty, catalog)}`} parts=${empty} catalog=${catalog} />`}
  </section>`
}

/**
 * Families without any result, shown after all others.
 * @param {{ families: readonly { title: string, parts: readonly RequestedPart[] }[], catalog: import('../lib/catalog.js').Catalog }} props
 */
export function EmptyFamilies({ families, catalog }) {
  const empty = families
    .filter(({ parts }) => parts.length > 0 && !hasSomething(parts))
    .map(({ title, parts }) => ({ title, parts: parts.filter(isEmpty) }))
    .filter(({ parts }) => parts.length > 0)
  if (empty.length === 0) return null
  const names = empty.map(({ title, parts }) => `${title} (${joinNames(parts, catalog)})`)
  return html`<${EmptyNotice} title=${`Nothing in ${names.join(', ')}`} parts=${empty.flatMap(({ parts }) => parts)} catalog=${catalog} />`
}

/** @param {readonly RequestedPart[]} parts @param {import('../lib/catalog.js').Catalog} catalog */
function joinNames(parts, catalog) {
  return parts.map((part) => formatPartName(catalog, part)).join(', ')
}

/**
 * Heading of the results on one chain, with a link to the wallet in the chain's explorer.
 * @param {{ part: RequestedPart, context: import('./page.js').Context, children?: unknown }} props
 */
export function PartHead({ part, context: { catalog, view }, children }) {
  const site = explorerName(catalog, part.chainId)
  return html`<div class="part-head">
    <h3>${formatPartName(catalog, part)}${children}</h3>
    ${site && html`<${ExplorerLink} catalog=${catalog} chainId=${part.chainId} id=${view.wallet} label="the wallet">${site}<//>`}
  </div>`
}

/**
 * Positions of a lending protocol on one chain. The child draws each with its figures.
 * @param {{ part: RequestedPart, context: import('./page.js').Context, children: (position: unknown, figures: unknown, wallet: string) => unknown }} props
 */
export function LendingPart({ part, context, children }) {
  const { answer } = part
  if (!answer?.ok) return null
  const { data } =
    /** @type {{ data: readonly { wallet: string, positions: readonly unknown[], calculations: readonly unknown[] }[] }} */ (
      answer.body
    )
  return html`<div class="part">
    <${PartHead} part=${part} context=${context} />
    <div class="stack">
      ${data.map(({ wallet, positions, calculations }) => positions.map((each, index) => children(each, calculations[index], wallet)))}
    </div>
    <${AnswerSource} answer=${answer} context=${context} />
  </div>`
}

/** Parts without results, and their provenance. @param {{ title: string, parts: readonly RequestedPart[], catalog: import('../lib/catalog.js').Catalog }} props */
function EmptyNotice({ title, parts, catalog }) {
  return html`<details class="nothing-on">
    <summary>${title}</summary>
    ${parts.map(({ answer }) => answer?.ok && html`<${Provenance} answer=${answer} catalog=${catalog} />`)}
  </details>`
}
