import { SOLANA_CHAIN_ID } from '../lib/catalog.js'
import { isPositive, sumDollars } from '../lib/decimal.js'
import { pluralize } from '../lib/time.js'
import { classes, html } from '../lib/view.js'
import { DefinitionList, Usd } from '../part/figure.js'
import { FAMILY_NAMES, partName } from './requests/plan.js'

/**
 * What was found so far, added up, and how far the asking is.
 * @param {{ label: string, parts: readonly import('./requests/answers.js').AskedPart[], waited: readonly import('./requests/answers.js').AskedPart[], catalog: import('../lib/catalog.js').Catalog, spent: number | undefined }} props `waited`: what is being prepared
 */
export function Summary({ label, parts, waited, catalog, spent }) {
  const { liquidity, fees, withdrawn, mixed, netWorths, obligations, unpriced, barred, unseen } = figuresOf(parts)
  const answered = parts.filter(({ answer }) => answer !== undefined).length
  const failed = parts.filter(
    (part) => part.answer?.ok === false && part.answer.code !== 'NOT_FOUND' && !waited.includes(part),
  ).length
  const isAsked = answered < parts.length || waited.length > 0
  const wasRead = (/** @type {string} */ family) => parts.some((part) => part.family === family && part.answer?.ok)
  const wasAllRead = parts.every(({ family }) => !['liquidity', 'aave', 'kamino'].includes(family) || wasRead(family))
  const evm = parts.some(({ chainId }) => chainId !== SOLANA_CHAIN_ID)
  const lending = evm ? 'Aave' : 'Kamino'
  const blocks = new Set(
    parts.flatMap(({ answer }) => (answer?.ok ? answer.asOf : [])).map((each) => `${each.chainId}:${each.block}`),
  )
  return html`<section class="summary" aria-label=${label}>
    <div class="total">
      <p class="total-name">Open liquidity and ${lending}, net</p><p class="total-value"><${Sum} values=${[...liquidity, ...netWorths]} isAsked=${isAsked} known=${wasAllRead} /></p>
      <p class="soft">
        ${answered < parts.length ? 'So far, ' : ''}read at ${pluralize(blocks.size, 'block')}${spent !== undefined && ` for ${pluralize(spent, 'credit')}`}.
        ${unpriced > 0 && html` ${pluralize(unpriced, 'position')} without a price ${unpriced === 1 ? 'is' : 'are'} not in it.`}
        ${barred > 0 && html` ${pluralize(barred, 'position')} without a known withdrawal ${barred === 1 ? 'is' : 'are'} not in it.`}
        ${unseen > 0 && html` ${pluralize(unseen, 'position')} not shown yet ${unseen === 1 ? 'is' : 'are'} not in it.`}
        ${failed > 0 && html` <b class="bad">${pluralize(failed, 'part')} could not be read, so this is not all.</b>`}
      </p>
    </div>
    <${DefinitionList} rows=${[
      ['Liquidity', html`<${Sum} values=${liquidity} isAsked=${isAsked} known=${wasRead('liquidity')} />`],
      [
        'of it uncollected fees',
        html`<${Sum} values=${fees} isAsked=${isAsked} known=${wasRead('liquidity') && (fees.length > 0 || mixed.length === 0)} />`,
      ],
      ...(isPositive(sumDollars(withdrawn))
        ? [['of it withdrawn, not collected', html`<${Usd} value=${sumDollars(withdrawn)} />`]]
        : []),
      ...(mixed.length > 0 ? [['of it either, not told apart', html`<${Usd} value=${sumDollars(mixed)} />`]] : []),
      [
        `${lending} collateral − debt`,
        html`<${Sum} values=${netWorths} isAsked=${isAsked} known=${wasRead(evm ? 'aave' : 'kamino')} />`,
      ],
      ...(evm ? [] : [['Kamino obligations', obligations]]),
    ]} />
    <${Progress} parts=${parts} waited=${waited} catalog=${catalog} answered=${answered} />
  </section>`
}

/** What a wallet has in its positions, as far as it was read. @param {readonly import('./requests/answers.js').AskedPart[]} parts */
export function computeTotal(parts) {
  const { liquidity, netWorths } = figuresOf(parts)
  return { net: sumDollars([...liquidity, ...netWorths]), isWhole: parts.every(({ answer }) => answer?.ok) }
}

/** The sum of what was read; nothing read is not zero. @param {{ values: readonly string[], known: boolean, isAsked: boolean }} props */
function Sum({ values, known, isAsked }) {
  if (known) return html`<${Usd} value=${sumDollars(values)} />`
  return isAsked
    ? html`<i class="skeleton-figure"><span class="visually-hidden">being read</span></i>`
    : html`<span class="absent">not read</span>`
}

/** @param {readonly import('./requests/answers.js').AskedPart[]} parts */
function figuresOf(parts) {
  const bodies = (/** @type {string} */ family) =>
    parts.flatMap((part) => (part.family === family && part.answer?.ok ? [part.answer.body] : []))
  const lists = /** @type {import('../lib/shapes.d.ts').PositionList[]} */ (bodies('liquidity'))
  const markets = /** @type {import('../lib/shapes.d.ts').AaveList[]} */ ([...bodies('aave'), ...bodies('kamino')])
  const lent = markets.flatMap(({ data }) => data.flatMap((each) => each.positions))
  const positions = /** @type {import('../lib/shapes.d.ts').FullPosition[]} */ (lists.flatMap(({ data }) => data))
  const priced = positions.filter(({ usd }) => usd.total !== null)
  const barred = positions.filter(({ withdrawable_error: error }) => error).length
  const firstPages = lists.flatMap(({ pagination }) => (pagination.page === 1 ? [pagination.total] : []))
  return {
    unseen: firstPages.reduce((sum, total) => sum + total, 0) - positions.length,
    liquidity: priced.flatMap(({ usd }) => usd.total ?? []),
    fees: priced.flatMap(({ usd }) => usd.uncollected_fees ?? []),
    withdrawn: priced.flatMap(({ usd }) => usd.withdrawn_principal ?? []),
    // Without its history nobody knows what of a position's uncollected sum is fees.
    mixed: priced.flatMap(({ usd, uncollected_fees: fees }) =>
      fees === null ? [usd.total ?? '0', `-${usd.amounts}`] : [],
    ),
    netWorths: lent.map(({ netWorthUSD }) => netWorthUSD),
    obligations: lent.length,
    barred,
    unpriced: positions.length - priced.length - barred,
  }
}

/**
 * Every part with its state.
 * @param {{ parts: readonly import('./requests/answers.js').AskedPart[], waited: readonly import('./requests/answers.js').AskedPart[], catalog: import('../lib/catalog.js').Catalog, answered: number }} props
 */
function Progress({ parts, waited, catalog, answered }) {
  const families = [...new Set(parts.map(({ family }) => family))]
  return html`<div class="progress">
    <p class="progress-line">
      <progress max=${parts.length} value=${answered} aria-label="Parts answered"></progress>
      <span role="status">${answered} of ${parts.length} answered</span>
    </p>
    ${families.map(
      (family) => html`<p class="chips">
        <span class="chips-name">${FAMILY_NAMES[family]}</span>
        <span><${Chips} parts=${parts.filter((part) => part.family === family)} waited=${waited} catalog=${catalog} /></span>
      </p>`,
    )}
  </div>`
}

/** Parts that failed are one chip: a notice names them. @param {{ parts: readonly import('./requests/answers.js').AskedPart[], waited: readonly import('./requests/answers.js').AskedPart[], catalog: import('../lib/catalog.js').Catalog }} props */
function Chips({ parts, waited, catalog }) {
  const states = parts.map((part) => ({
    name: partName(catalog, part),
    ...(waited.includes(part) ? { kind: 'asking', text: 'being prepared' } : stateOf(part)),
  }))
  const failed = states.filter(({ kind }) => kind === 'failed')
  const [first] = failed
  return html`
    ${states.filter(({ kind }) => kind !== 'failed').map(({ name, kind, text }) => html`<span class=${classes('chip', kind)}>${name}<i>${text}</i></span>`)}
    ${first && html`<span class="chip failed">${failed.length === 1 ? first.name : `${failed.length} others`}<i>failed</i></span>`}`
}

/** Positions of an answer. @param {import('./requests/plan.js').Part['family']} family @param {unknown} body */
function countOf(family, body) {
  if (family === 'obligation') return 1
  const list = /** @type {import('../lib/shapes.d.ts').AaveList | import('../lib/shapes.d.ts').PositionList} */ (body)
  if (!['aave', 'morpho', 'kamino'].includes(family)) return list.pagination.total
  return /** @type {import('../lib/shapes.d.ts').AaveList} */ (list).data.flatMap((each) => each.positions).length
}

/** @param {import('./requests/answers.js').AskedPart} part */
function stateOf({ family, answer }) {
  if (answer === undefined) return { kind: 'asking', text: 'asking' }
  if (!answer.ok && answer.code === 'NOT_FOUND') return { kind: 'nothing', text: 'nothing' }
  if (!answer.ok) return { kind: 'failed', text: 'failed' }
  const count = countOf(family, answer.body)
  return count === 0 ? { kind: 'nothing', text: 'nothing' } : { kind: 'found', text: String(count) }
}
