import { SOLANA_CHAIN_ID } from '../lib/catalog.js'
import { isPositive, sumDollars } from '../lib/decimal.js'
import { formatMoment, pluralize } from '../lib/time.js'
import { classes, html } from '../lib/view.js'
import { DefinitionList, Usd } from '../part/figure.js'
import { FAMILY_NAMES, formatPartName } from './requests/plan.js'
import { collectFigures, sumCredits } from './total.js'

/**
 * Totals of the results so far, and the progress of the requests.
 * @param {{ label: string, parts: readonly import('./requests/answers.js').RequestedPart[], pending: readonly import('./requests/answers.js').RequestedPart[], catalog: import('../lib/catalog.js').Catalog, spent: number | undefined }} props `pending`: parts that the service is preparing
 */
export function Summary({ label, parts, pending, catalog, spent }) {
  const { liquidity, fees, withdrawn, mixed, netWorths, obligations, added, unpriced, barred, notLoaded } =
    collectFigures(parts)
  const answered = parts.filter(({ answer }) => answer !== undefined).length
  const failed = parts.filter(
    (part) => part.answer?.ok === false && part.answer.code !== 'NOT_FOUND' && !pending.includes(part),
  ).length
  const isLoading = answered < parts.length || pending.length > 0
  const wasRead = (/** @type {string} */ family) => parts.some((part) => part.family === family && part.answer?.ok)
  const wasAllRead = parts.every(({ family }) => !['liquidity', 'aave', 'kamino'].includes(family) || wasRead(family))
  const evm = parts.some(({ chainId }) => chainId !== SOLANA_CHAIN_ID)
  const lending = evm ? 'Aave' : 'Kamino'
  const blocks = new Set(
    parts.flatMap(({ answer }) => (answer?.ok ? answer.asOf : [])).map((each) => `${each.chainId}:${each.block}`),
  )
  const times = parts.flatMap(({ answer }) => (answer?.ok ? [answer.atSec] : []))
  return html`<section class="summary" aria-label=${label}>
    <div class="total">
      <p class="total-name">Open liquidity and ${lending}, net</p><p class="total-value"><${Sum} values=${[...liquidity, ...netWorths]} isLoading=${isLoading} isKnown=${wasAllRead} /></p>
      <p class="soft">
        ${answered < parts.length ? 'So far, ' : ''}read at ${pluralize(blocks.size, 'block')}${times.length > 0 && `, ${formatMoment(Math.min(...times))}`}, ${spent === undefined ? `its lists for ${pluralize(sumCredits(parts), 'credit')}` : `for ${pluralize(spent, 'credit')}`}.
        ${unpriced > 0 && html` ${pluralize(unpriced, 'position')} without a price ${unpriced === 1 ? 'is' : 'are'} not in it.`}
        ${barred > 0 && html` ${pluralize(barred, 'position')} without a known withdrawal ${barred === 1 ? 'is' : 'are'} not in it.`}
        ${notLoaded > 0 && html` ${pluralize(notLoaded, 'position')} not shown yet ${notLoaded === 1 ? 'is' : 'are'} not in it.`}
        ${added > 0 && html` ${pluralize(added, 'added obligation')} ${added === 1 ? 'is' : 'are'} not in it.`}
        ${failed > 0 && html` <b class="bad">${pluralize(failed, 'part')} could not be read, so this is not all.</b>`}
      </p>
    </div>
    <${DefinitionList} rows=${[
      ['Liquidity', html`<${Sum} values=${liquidity} isLoading=${isLoading} isKnown=${wasRead('liquidity')} />`],
      [
        'of it uncollected fees',
        html`<${Sum} values=${fees} isLoading=${isLoading} isKnown=${wasRead('liquidity') && (fees.length > 0 || mixed.length === 0)} />`,
      ],
      ...(isPositive(sumDollars(withdrawn))
        ? [['of it withdrawn, not collected', html`<${Usd} value=${sumDollars(withdrawn)} />`]]
        : []),
      ...(mixed.length > 0 ? [['of it either, not separated', html`<${Usd} value=${sumDollars(mixed)} />`]] : []),
      [
        `${lending} collateral − debt`,
        html`<${Sum} values=${netWorths} isLoading=${isLoading} isKnown=${wasRead(evm ? 'aave' : 'kamino')} />`,
      ],
      ...(evm ? [] : [['Kamino obligations', wasRead('kamino') ? obligations : 'unknown']]),
    ]} />
    <${Progress} parts=${parts} pending=${pending} catalog=${catalog} answered=${answered} />
  </section>`
}

/** Sum of loaded figures; shows no zero if none was loaded. @param {{ values: readonly string[], isKnown: boolean, isLoading: boolean }} props */
function Sum({ values, isKnown, isLoading }) {
  if (isKnown) return html`<${Usd} value=${sumDollars(values)} />`
  return isLoading
    ? html`<i class="skeleton-figure"><span class="visually-hidden">being read</span></i>`
    : html`<span class="absent">not read</span>`
}

/**
 * All parts with their states.
 * @param {{ parts: readonly import('./requests/answers.js').RequestedPart[], pending: readonly import('./requests/answers.js').RequestedPart[], catalog: import('../lib/catalog.js').Catalog, answered: number }} props
 */
function Progress({ parts, pending, catalog, answered }) {
  const families = [...new Set(parts.map(({ family }) => family))]
  return html`<div class="progress">
    <p class="progress-line">
      <progress max=${parts.length} value=${answered} aria-label="Parts answered"></progress>
      <span role="status">${answered} of ${parts.length} answered</span>
    </p>
    ${families.map(
      (family) => html`<p class="chips">
        <span class="chips-name">${FAMILY_NAMES[family]}</span>
        <span><${Chips} parts=${parts.filter((part) => part.family === family)} pending=${pending} catalog=${catalog} /></span>
      </p>`,
    )}
  </div>`
}

/** Chips of a family's parts. Failed parts share one chip, because a notice lists them. @param {{ parts: readonly import('./requests/answers.js').RequestedPart[], pending: readonly import('./requests/answers.js').RequestedPart[], catalog: import('../lib/catalog.js').Catalog }} props */
function Chips({ parts, pending, catalog }) {
  const states = parts.map((part) => ({
    name: formatPartName(catalog, part),
    ...(pending.includes(part) ? { kind: 'asking', text: 'pending' } : toState(part)),
  }))
  const failed = states.filter(({ kind }) => kind === 'failed')
  const [first] = failed
  return html`
    ${states.filter(({ kind }) => kind !== 'failed').map(({ name, kind, text }) => html`<span class=${classes('chip', kind)}>${name}<i>${text}</i></span>`)}
    ${first && html`<span class="chip failed">${failed.length === 1 ? first.name : `${failed.length} others`}<i>failed</i></span>`}`
}

/** Counts the positions of an answer. @param {import('./requests/plan.js').Part['family']} family @param {unknown} body */
function countPositions(family, body) {
  if (family === 'obligation') return 1
  const list = /** @type {import('../lib/shapes.d.ts').AaveList | import('../lib/shapes.d.ts').PositionList} */ (body)
  if (!['aave', 'morpho', 'kamino'].includes(family)) return list.pagination.total
  return /** @type {import('../lib/shapes.d.ts').AaveList} */ (list).data.flatMap((each) => each.positions).length
}

/** @param {import('./requests/answers.js').RequestedPart} part */
function toState({ family, answer }) {
  if (answer === undefined) return { kind: 'asking', text: 'loading' }
  if (!answer.ok && answer.code === 'NOT_FOUND') return { kind: 'nothing', text: 'nothing' }
  if (!answer.ok) return { kind: 'failed', text: 'failed' }
  const count = countPositions(family, answer.body)
  return count === 0 ? { kind: 'nothing', text: 'nothing' } : { kind: 'found', text: String(count) }
}
