import { chainName } from '../lib/catalog.js'
import { sumDollars } from '../lib/decimal.js'
import { counted } from '../lib/time.js'
import { classes, html } from '../lib/view.js'
import { Facts, Usd } from '../part/figure.js'

/**
 * What was found so far, added up, and how far the asking is.
 * @param {{ parts: readonly import('./asking.js').AskedPart[], catalog: import('../lib/catalog.js').Catalog, spent: number }} props
 */
export function Summary({ parts, catalog, spent }) {
  const { liquidity, fees, netWorths, unpriced } = figuresOf(parts)
  const total = sumDollars([...liquidity, ...netWorths])
  const answered = parts.filter(({ answer }) => answer !== undefined).length
  const failed = parts.filter(({ answer }) => answer?.ok === false && answer.code !== 'NOT_FOUND').length
  const evm = parts.some(({ family }) => family !== 'kamino')
  const blocks = new Set(
    parts.flatMap(({ answer }) => (answer?.ok ? answer.asOf : [])).map((each) => `${each.chainId}:${each.block}`),
  )
  return html`<section class="summary" aria-label="Summary">
    <div class="total">
      ${evm && html`<p class="total-name">Liquidity and Aave, net</p><p class="total-value"><${Usd} value=${total} /></p>`}
      ${!evm && html`<p class="total-name">Kamino obligations</p><p class="total-value">${new Set(parts.map(({ id }) => id)).size}</p>`}
      <p class="soft">
        ${answered < parts.length ? 'So far, ' : ''}read at ${counted(blocks.size, 'block')} for ${counted(spent, 'credit')}.
        ${unpriced > 0 && html` ${counted(unpriced, 'position')} without a price ${unpriced === 1 ? 'is' : 'are'} not in it.`}
        ${failed > 0 && html` <b class="bad">${counted(failed, 'part')} could not be read, so this is not all.</b>`}
      </p>
    </div>
    ${
      evm &&
      html`<${Facts} rows=${[
        ['Liquidity', html`<${Usd} value=${sumDollars(liquidity)} />`],
        ['of it uncollected fees', html`<${Usd} value=${sumDollars(fees)} />`],
        ['Aave collateral − debt', html`<${Usd} value=${sumDollars(netWorths)} />`],
      ]} />`
    }
    <${Progress} parts=${parts} catalog=${catalog} answered=${answered} />
  </section>`
}

/** @param {readonly import('./asking.js').AskedPart[]} parts */
function figuresOf(parts) {
  const bodies = (/** @type {string} */ family) =>
    parts.flatMap((part) => (part.family === family && part.answer?.ok ? part.answer.body.data : []))
  const positions = bodies('liquidity')
  const priced = positions.filter(({ usd }) => usd.total !== null)
  return {
    liquidity: priced.map(({ usd }) => usd.total),
    fees: priced.map(({ usd }) => usd.uncollected_fees),
    netWorths: bodies('aave').flatMap((each) => each.positions.map((/** @type {any} */ one) => one.netWorthUSD)),
    unpriced: positions.length - priced.length,
  }
}

/** @type {Record<string, string>} */
const FAMILY_NAMES = {
  liquidity: 'Uniswap V3',
  closed: 'Closed',
  aave: 'Aave V3',
  morpho: 'Morpho Blue',
  kamino: 'Kamino',
}

/**
 * Every part with its state.
 * @param {{ parts: readonly import('./asking.js').AskedPart[], catalog: import('../lib/catalog.js').Catalog, answered: number }} props
 */
function Progress({ parts, catalog, answered }) {
  const families = [...new Set(parts.map(({ family }) => family))]
  return html`<div class="progress">
    <p class="progress-line">
      <progress max=${parts.length} value=${answered} aria-label="Parts answered"></progress>
      <span role="status">${answered} of ${parts.length} answered</span>
    </p>
    ${families.map(
      (family) => html`<p class="chips">
        <span class="chips-name">${FAMILY_NAMES[family]}</span>
        ${parts
          .filter((part) => part.family === family)
          .map(
            (part) =>
              html`<span class=${classes('chip', stateOf(part).kind)}>${chainName(catalog, part.chainId)}<i>${stateOf(part).text}</i></span>`,
          )}
      </p>`,
    )}
  </div>`
}

/** @param {import('./asking.js').AskedPart} part */
function stateOf({ family, answer }) {
  if (answer === undefined) return { kind: 'asking', text: 'asking' }
  if (!answer.ok && answer.code === 'NOT_FOUND') return { kind: 'nothing', text: 'nothing' }
  if (!answer.ok) return { kind: 'failed', text: 'failed' }
  const { data, pagination } = answer.body
  const count =
    pagination === undefined
      ? 1
      : family === 'aave'
        ? data.flatMap((/** @type {any} */ each) => each.positions).length
        : pagination.total
  return count === 0 ? { kind: 'nothing', text: 'nothing' } : { kind: 'found', text: String(count) }
}
