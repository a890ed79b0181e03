import { html } from '../lib/view.js'
import { ExplorerLink, explorerName } from '../part/explorer_link.js'
import { ProgressNotice, Skeleton } from '../part/notice.js'
import { Provenance } from '../part/provenance.js'
import { AnswerSource } from './receipt.js'
import { partName } from './requests/plan.js'
import { isPending } from './requests/polling.js'

/** @typedef {import('./requests/answers.js').AskedPart} AskedPart */

/** @param {AskedPart} part */
function isEmpty({ answer }) {
  if (answer?.ok !== true) return false
  const { data, counts } =
    /** @type {{ data: readonly unknown[], counts?: import('../lib/shapes.d.ts').PositionCounts }} */ (answer.body)
  return data.length === 0 && (counts?.total ?? 0) === 0 && (counts?.spams.length ?? 0) === 0
}

/** True if there is something to show, or may be. @param {readonly AskedPart[]} parts */
function hasSomething(parts) {
  return parts.some((part) => part.answer === undefined || isPending(part.answer) || (part.answer.ok && !isEmpty(part)))
}

/**
 * A family: what was found and what is waited for, and where nothing was; nothing at all if nothing was found. Its child
 * draws the parts that have something.
 * @param {{ title: string, label: string, parts: readonly AskedPart[], catalog: import('../lib/catalog.js').Catalog, aside?: unknown, lead?: unknown, children: (found: readonly AskedPart[]) => unknown }} props
 */
export function Section({ title, label, parts, catalog, aside, lead, children }) {
  if (!hasSomething(parts)) return null
  const empty = parts.filter(isEmpty)
  const asked = parts.filter(({ answer }) => answer === undefined)
  const found = parts.filter((part) => part.answer?.ok && !isEmpty(part))
  return html`<section class="family" aria-label=${label}>
    <div class="family-head"><h2>${title}</h2>${aside}</div>
    ${lead}
    ${parts.map((part) => part.answer?.ok === false && part.answer.progress && html`<${ProgressNotice} what=${`${title} on ${partName(catalog, part)}`} progress=${part.answer.progress} />`)}
    ${found.length > 0 && children(found)}
    ${asked.length > 0 && found.length === 0 && html`<${Skeleton}>Asking ${asked.map((part) => partName(catalog, part)).join(', ')}<//>`}
    ${empty.length > 0 && html`<${Nothing} title=${`Nothing on ${named(empty, catalog)}`} parts=${empty} catalog=${catalog} />`}
  </section>`
}

/**
 * Families in which nothing was found, behind all others.
 * @param {{ families: readonly { title: string, parts: readonly AskedPart[] }[], catalog: import('../lib/catalog.js').Catalog }} props
 */
export function EmptyFamilies({ families, catalog }) {
  const empty = families
    .filter(({ parts }) => parts.length > 0 && !hasSomething(parts))
    .map(({ title, parts }) => ({ title, parts: parts.filter(isEmpty) }))
    .filter(({ parts }) => parts.length > 0)
  if (empty.length === 0) return null
  const names = empty.map(({ title, parts }) => `${title} (${named(parts, catalog)})`)
  return html`<${Nothing} title=${`Nothing in ${names.join(', ')}`} parts=${empty.flatMap(({ parts }) => parts)} catalog=${catalog} />`
}

/** @param {readonly AskedPart[]} parts @param {import('../lib/catalog.js').Catalog} catalog */
function named(parts, catalog) {
  return parts.map((part) => partName(catalog, part)).join(', ')
}

/**
 * Heading of what was found on one chain, with the wallet as the chain's explorer shows it.
 * @param {{ part: AskedPart, context: import('./page.js').Context, children?: unknown }} props
 */
export function PartHead({ part, context: { catalog, view }, children }) {
  const site = explorerName(catalog, part.chainId)
  return html`<div class="part-head">
    <h3>${partName(catalog, part)}${children}</h3>
    ${site && html`<${ExplorerLink} catalog=${catalog} chainId=${part.chainId} id=${view.wallet} label="the wallet">${site}<//>`}
  </div>`
}

/**
 * The positions of a lending protocol on one chain, each drawn with its figures by its child.
 * @param {{ part: AskedPart, context: import('./page.js').Context, children: (position: unknown, figures: unknown, wallet: string) => unknown }} props
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

/** Where nothing was, and how that was read. @param {{ title: string, parts: readonly AskedPart[], catalog: import('../lib/catalog.js').Catalog }} props */
function Nothing({ title, parts, catalog }) {
  return html`<details class="nothing-on">
    <summary>${title}</summary>
    ${parts.map(({ answer }) => answer?.ok && html`<${Provenance} answer=${answer} catalog=${catalog} />`)}
  </details>`
}
