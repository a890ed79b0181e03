import { shortenAddress, walletKind } from '../../lib/address.js'
import { chainName } from '../../lib/catalog.js'
import { formatRatioAsPercent, formatSignificant } from '../../lib/decimal.js'
import { pluralize } from '../../lib/time.js'
import { classes, html, useState } from '../../lib/view.js'
import { Copy } from '../../part/copy.js'
import { ExplorerLink } from '../../part/explorer_link.js'
import { Usd } from '../../part/figure.js'
import { AnswerSource } from '../receipt.js'
import { PAGE_SIZE } from '../requests/plan.js'
import { PartHead } from '../section.js'
import { TriggerBell } from '../trigger/bell.js'
import { Bounds } from './at_bounds.js'
import { Holdings } from './holdings.js'
import { sortPositions } from './order.js'
import { ProfitAndLoss } from './pnl.js'
import { PositionHistory } from './position_history.js'
import { RangePicture } from './range.js'
import { computePriceRoom, getTicks, isFullRange } from './scale.js'

/** @type {Record<string, string>} */
const PROTOCOLS = {
  uniswap_v3: 'Uniswap V3',
  pancakeswap_v3: 'PancakeSwap V3',
  sushiswap_v3: 'SushiSwap V3',
  projectx_v3: 'Project X',
  uniswap_v4: 'Uniswap V4',
  orca_whirlpool: 'Orca',
}

/** @typedef {import('../../lib/shapes.d.ts').Position} Position */
/** @typedef {import('../../lib/shapes.d.ts').PositionList} List */
/** @typedef {import('../requests/answers.js').RequestedPart} RequestedPart */
/** @typedef {{ onMore?: () => void, onClosed?: () => void }} Offers actions below a part */

/**
 * The positions of all answers: as listed below the heading of each chain, else sorted over all chains. Cards are siblings
 * either way, so each keeps its state when the order changes.
 * @param {{ parts: readonly RequestedPart[], context: import('../page.js').Context, order: import('./order.js').Order, getOffers: (part: RequestedPart) => Offers }} props
 */
export function LiquidityParts({ parts, context, order, getOffers }) {
  const isListed = order.by === 'listed'
  const findServed = (/** @type {RequestedPart} */ { protocol }) =>
    context.catalog.liquidity.find((each) => each.protocol === protocol)
  const answers = parts.flatMap((part) => {
    const served = findServed(part)
    return part.answer?.ok && served ? [{ part, served, list: /** @type {List} */ (part.answer.body) }] : []
  })
  const answersByPosition = new Map(answers.flatMap((each) => each.list.data.map((position) => [position, each])))
  const cards = (/** @type {readonly Position[]} */ positions) =>
    sortPositions(positions, order).map((position) => {
      const { part, served } = /** @type {typeof answers[number]} */ (answersByPosition.get(position))
      const key = `${part.path} ${position.manager_address}:${position.token_id}`
      return html`<${PositionCard} key=${key} position=${position} served=${served} context=${context} atSec=${part.answer?.ok ? part.answer.atSec : 0} chain=${isListed ? undefined : chainName(context.catalog, part.chainId)} />`
    })
  const sections = answers.flatMap(({ part, served, list }) => [
    html`<div class="across" key=${`${part.path} head`}><${PartHead} part=${part} context=${context}>${part.family === 'closed' && ', closed'}${list.pagination.page > 1 && html` <span class="soft">page ${list.pagination.page}</span>`}<//></div>`,
    ...(isListed ? cards(list.data) : []),
    html`<${PartFoot} key=${`${part.path} foot`} part=${part} list=${list} served=${served} context=${context} ...${getOffers(part)} />`,
  ])
  const sorted = () => [
    html`<div class="across part-head" key="sorted"><h3>All chains</h3></div>`,
    ...cards([...answersByPosition.keys()]),
  ]
  return html`<div class="cards">${isListed ? sections : [...sorted(), ...sections]}</div>`
}

/**
 * End of a part: positions left out, buttons for more positions, and the provenance.
 * @param {{ part: RequestedPart, list: List, served: import('../../lib/catalog.js').Liquidity, context: import('../page.js').Context } & Offers} props
 */
function PartFoot({ part: { answer }, list: { counts, pagination }, served: { credits }, context, onMore, onClosed }) {
  const left = pagination.total - pagination.page * PAGE_SIZE
  return html`<div class="across part">
    <${LeftOut} counts=${counts} />
    <p class="more">
      ${onMore && left > 0 && html`<button type="button" onClick=${onMore}>Show ${Math.min(left, PAGE_SIZE)} of ${left} more <i>${pluralize(credits.open, 'credit')} each</i></button>`}
      ${onClosed && counts.totalInactive > 0 && html`<button type="button" onClick=${onClosed}>Show ${counts.totalInactive} closed <i>${pluralize(credits.closed, 'credit')} each</i></button>`}
    </p>
    ${answer?.ok && html`<${AnswerSource} answer=${answer} context=${context} />`}
  </div>`
}

/** @param {{ counts: import('../../lib/shapes.d.ts').PositionCounts }} props spam, and positions that could not be decoded */
function LeftOut({ counts: { errors, spams } }) {
  if (errors === 0 && spams.length === 0) return null
  return html`<details class="left-out">
    <summary>
      ${spams.length > 0 && html`${pluralize(spams.length, 'position')} left out as spam. `}
      ${errors > 0 && html`${pluralize(errors, 'position')} could not be decoded.`}
    </summary>
    <ul>
      ${spams.map((spam) => html`<li><b>#${spam.token_id}</b> ${spam.reason}</li>`)}
    </ul>
  </details>`
}

/** What a custodian does, by its kind. @type {Record<string, string>} */
const CUSTODIANS = { masterchef: 'Staked, and paid in CAKE' }

/** @param {{ position: Position, served: import('../../lib/catalog.js').Liquidity, context: import('../page.js').Context, atSec: number, chain?: string }} props `atSec`: when the position was read; `chain`: its name, if no heading shows it */
function PositionCard({ position, served, context, atSec, chain }) {
  const { position_state: state, in_range: inRange, usd, prices } = position
  const { token0, token1 } = state
  // Show the direction in which the price is above one: it is easier to read.
  const [inverse, setInverse] = useState(prices !== undefined && Number(prices.current) < 1)
  const [base, quote] = inverse ? [token1, token0] : [token0, token1]
  const [pnl, setPnl] = useState(position.pnl ?? undefined)
  const status = !position.is_active ? ['closed', 'Closed'] : inRange ? ['good', 'In range'] : ['warn', 'Out of range']
  return html`<article class="card position" aria-label=${`Position ${position.token_id}, ${token0.symbol} and ${token1.symbol}`}>
    <header>
      <h4>${token0.symbol} <span class="soft">/</span> ${token1.symbol}</h4>
      <span class=${classes('badge', status[0])}>${status[1]}</span>
      <p class="soft">${PROTOCOLS[state.protocol.code] ?? state.protocol.code}${chain && ` on ${chain}`} · ${formatRatioAsPercent(feeRatio(state.pool.feeTier))} fee${state.pool.isDynamicFee && ' now, set by the hook'} · <span title=${position.token_id}>#${shortenAddress(position.token_id)}</span>${isContract(state.pool.id) && html` · <${ExplorerLink} catalog=${context.catalog} chainId=${state.chain.id} id=${state.pool.id}>Pool<//>`}</p>
      ${usd && html`<p class="card-value">${position.withdrawable_error ? html`<span class="absent">not counted</span>` : html`<${Usd} value=${usd.total} />`}</p>`}
    </header>
    ${state.custodian && html`<p class="soft">${CUSTODIANS[state.custodian.kind] ?? 'Held for its owner'} by <${ExplorerLink} catalog=${context.catalog} chainId=${state.chain.id} id=${state.custodian.address} label="what holds it"><span class="mono">${shortenAddress(state.custodian.address)}</span><//></p>`}
    ${state.pool.hooks && html`<${Hook} hooks=${state.pool.hooks} chainId=${state.chain.id} catalog=${context.catalog} />`}
    ${
      prices &&
      html`<p class="picture-title">
          <span>${quote.symbol} per ${base.symbol}</span>
          <button type="button" class="small" onClick=${() => setInverse(!inverse)} aria-label=${`Flip to ${base.symbol} per ${quote.symbol}`}>Flip</button>
        </p>
        <${RangePicture} position=${position} inverse=${inverse} />
        <${Room} position=${position} inverse=${inverse} base=${base.symbol} />
        ${!isFullRange(state) && html`<${TriggerBell} watched=${toWatched(position, served)} context=${context} />`}
        <${Bounds} position=${position} inverse=${inverse} />
        <${Holdings} position=${position} />`
    }
    ${!prices && html`<p class="soft">Ticks ${formatSignificant(state.tickLower)} to ${formatSignificant(state.tickUpper)}. It has no liquidity any more.</p>`}
    <${ProfitAndLoss} position=${position} served=${served} context=${context} onFigures=${setPnl} />
    <${PositionHistory} position=${position} pnl=${pnl} served=${served} context=${context} atSec=${atSec} />
  </article>`
}

/** Hook contract of the pool, and its permissions. @param {{ hooks: import('../../lib/shapes.d.ts').Hooks, chainId: number, catalog: import('../../lib/catalog.js').Catalog }} props */
function Hook({ hooks: { address, permissions }, chainId, catalog }) {
  return html`<p class="soft hook">Hook <${ExplorerLink} catalog=${catalog} chainId=${chainId} id=${address} label="the hook"><span class="mono">${shortenAddress(address)}</span><//> <${Copy} class="small" text=${address} label="Copy the hook" />
    ${permissions.length === 0 ? 'without a permission' : `with ${permissions.join(', ')}`}</p>`
}

/** Returns false for a pool of Uniswap V4, which is no contract: its id is a hash. @param {string} id */
function isContract(id) {
  return walletKind(id) !== undefined
}

/** Converts hundredths of a basis point to a ratio. @param {string} feeTier */
function feeRatio(feeTier) {
  const digits = feeTier.padStart(7, '0')
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`
}

/**
 * @param {import('../../lib/shapes.d.ts').Position} position
 * @param {import('../../lib/catalog.js').Liquidity} served
 * @returns {import('../trigger/bell.js').Watched}
 */
function toWatched({ position_state: { chain }, token_id, manager_address, in_range }, { protocol }) {
  return {
    chainId: chain.id,
    family: protocol,
    subject: { token_id, manager_address },
    name: `Position #${shortenAddress(token_id)}`,
    figure: 'in_range',
    value: in_range === true,
  }
}

/** Price moves until the position leaves or enters its range. @param {{ position: import('../../lib/shapes.d.ts').Position, inverse: boolean, base: string }} props */
function Room({ position, inverse, base }) {
  const { position_state: state, in_range: inRange } = position
  if (isFullRange(state)) return html`<p class="room soft">Earns at every price.</p>`
  const ticks = getTicks({ position, inverse })
  const { down, up } = computePriceRoom(ticks)
  const share = (/** @type {number} */ ratio) => formatRatioAsPercent(Math.abs(ratio).toFixed(6), 1)
  if (inRange) return html`<p class="room soft">Earns until ${base} falls ${share(down)} or rises ${share(up)}.</p>`
  return html`<p class="room soft">Earns nothing until ${base} ${ticks.current < ticks.lower ? `rises ${share(down)}` : `falls ${share(up)}`}.</p>`
}
