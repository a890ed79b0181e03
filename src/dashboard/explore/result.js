import { walletKind } from '../lib/address.js'
import { pluralize } from '../lib/time.js'
import { html, useEffect, useState } from '../lib/view.js'
import { Choice } from '../part/field.js'
import { Guard } from '../part/guard.js'
import { EmptyState } from '../part/notice.js'
import { AavePart } from './lending/aave.js'
import { KaminoAdded, KaminoPart } from './lending/kamino.js'
import { MorphoPart } from './lending/morpho.js'
import { LiquidityBar } from './liquidity/bar.js'
import { HistoriesOffer } from './liquidity/histories.js'
import { AS_LISTED } from './liquidity/order.js'
import { LiquidityParts } from './liquidity/part.js'
import { Portfolio } from './portfolio/portfolio.js'
import { useAnswers } from './requests/answers.js'
import { groupCauses, Notices } from './requests/causes.js'
import { createPlan } from './requests/plan.js'
import { isPending } from './requests/polling.js'
import { EmptyFamilies, Section } from './section.js'
import { Summary } from './summary.js'
import { computeTotal } from './total.js'

/** @typedef {import('./requests/answers.js').RequestedPart} RequestedPart */

/**
 * All parts of one wallet.
 * @param {{ context: import('./page.js').Context, setView: (view: import('../lib/link.js').View) => void, spent: number | undefined, targetCredits: number, onTotal: (total: import('./wallets.js').Total) => void }} props `spent`: credits, if this wallet alone is shown; `targetCredits`: of all wallets
 */
export function Result({ context, setView, spent, targetCredits, onTotal }) {
  const { catalog, view, key } = context
  const [more, setMore] = useState(/** @type {Record<string, number>} */ ({}))
  const pages = (/** @type {import('./requests/plan.js').ListKey} */ list) =>
    (list.family === 'closed' ? 0 : 1) + (more[formatListKey(list)] ?? 0)
  const [order, setOrder] = useState(AS_LISTED)
  const { parts, again } = useAnswers(createPlan(view, catalog, pages), key)
  const [round, setRound] = useState(0)
  const [presses, setPresses] = useState(0)
  const causes = groupCauses(parts)
  const total = computeTotal(parts)
  useEffect(() => onTotal(total), [total.net, total.state, total.missing, total.targetCredits])
  const pending = parts.filter(({ answer }) => isPending(answer))
  const listParts = (/** @type {RequestedPart['family']} */ family) => parts.filter((part) => part.family === family)
  const add = (/** @type {import('./requests/plan.js').ListKey} */ list) => () =>
    setMore({ ...more, [formatListKey(list)]: (more[formatListKey(list)] ?? 0) + 1 })
  /** Returns the actions of a list's last page: load the next page, and closed positions if none are shown. */
  const getOffers = (/** @type {RequestedPart} */ part) => {
    if (listParts(part.family).findLast((each) => formatListKey(each) === formatListKey(part))?.path !== part.path)
      return {}
    const { family, protocol, chainId } = /** @type {import('./requests/plan.js').ListKey} */ (part)
    const closed = /** @type {const} */ ({ family: 'closed', protocol, chainId })
    const hasNoClosed = family === 'liquidity' && pages(closed) === 0
    return { onMore: add({ family, protocol, chainId }), ...(hasNoClosed && { onClosed: add(closed) }) }
  }
  const evm = walletKind(view.wallet) === 'evm'
  // Endpoints of Solana keep no past state.
  const summed = evm || (view.asOf === '' && (catalog.kamino || listParts('liquidity').length > 0))
  const retry = (/** @type {readonly string[]} */ paths) => {
    again(...paths)
    setRound(round + 1)
  }
  const notices = html`<${Notices} causes=${causes} parts=${parts} catalog=${catalog} again=${retry} />`
  if (parts.length > 0 && causes.refusals.flat().length === parts.length) return notices
  const codes = new Set(causes.refusals.flat().map(({ answer }) => answer.code))
  const isSettled = parts.every(({ answer }) => answer !== undefined)
  /** Returns true if a notice shows this failure already. */
  const isReported = (/** @type {import('../lib/api.js').Failure} */ { code, status }) =>
    !isSettled || codes.has(code) || (status >= 500 && causes.outages.length === parts.length)
  const target = html`<${Target} view=${view} credits=${targetCredits} setView=${setView} />`
  const liquidity = [...listParts('liquidity'), ...listParts('closed')]
  const each =
    (/** @type {(part: RequestedPart) => unknown} */ draw) => (/** @type {readonly RequestedPart[]} */ results) =>
      results.map(draw)
  /** Families in order; `draw` renders the parts that have results. */
  const families = [
    {
      title: 'Liquidity',
      parts: liquidity,
      lead: html`<${LiquidityBar} parts=${liquidity} order=${order} onOrder=${setOrder} />
        <${HistoriesOffer} parts=${liquidity} order=${order} context=${context} onPress=${() => setPresses(presses + 1)} />`,
      draw: (results) =>
        html`<${LiquidityParts} parts=${results} context=${context} order=${order} getOffers=${getOffers} />`,
    },
    {
      title: 'Aave V3',
      parts: listParts('aave'),
      aside: target,
      draw: each((part) => html`<${AavePart} key=${part.path} part=${part} context=${context} />`),
    },
    {
      title: 'Morpho Blue',
      parts: listParts('morpho'),
      draw: each((part) => html`<${MorphoPart} key=${part.path} part=${part} context=${context} />`),
    },
    {
      title: 'Kamino',
      parts: listParts('kamino'),
      aside: target,
      draw: each((part) => html`<${KaminoPart} key=${part.path} part=${part} context=${context} />`),
    },
  ]
  return html`
    ${notices}
    ${parts.length > 0 && html`<${Summary} label=${view.label('Summary')} parts=${parts} pending=${pending} catalog=${catalog} spent=${spent} />`}
    ${summed && catalog.portfolio && html`<${Guard}><${Portfolio} context=${context} round=${round} isReported=${isReported} /><//>`}
    ${families.map(({ title, parts: ownParts, aside, lead, draw }) => html`<${Guard} key=${title}><${Section} title=${title} label=${view.label(title)} parts=${ownParts} catalog=${catalog} aside=${aside} lead=${lead}>${draw}<//><//>`)}
    ${!evm && html`<${Solana} lists=${listParts('kamino')} added=${listParts('obligation')} context=${context} setView=${setView} />`}
    <${EmptyFamilies} families=${families} catalog=${catalog} />
  `
}

/** @param {{ family: string, protocol?: string, chainId: number }} list */
function formatListKey({ family, protocol, chainId }) {
  return `${family} ${protocol} ${chainId}`
}

/**
 * Selector of the health factor that the safe amounts keep. Its button reads them again, for the price that it names.
 * @param {{ view: import('../lib/link.js').WalletView, credits: number, setView: (view: import('../lib/link.js').View) => void }} props
 */
function Target({ view, credits, setView }) {
  const [chosen, setChosen] = useState(view.target)
  useEffect(() => setChosen(view.target), [view.target])
  const options = [...new Set([view.target, '1.1', '1.25', '1.5', '2', '3'])]
  return html`<div class="target-choice">
    <${Choice} label="Safe amounts keep a health factor of" value=${chosen} options=${options} onValue=${setChosen} />
    ${chosen !== view.target && html`<button type="button" class="small" onClick=${() => setView({ ...view, target: chosen })}>Read them again <i>${pluralize(credits, 'credit')}</i></button>`}
  </div>`
}

/**
 * Notices about Solana, and added Kamino obligations.
 * @param {{ lists: readonly RequestedPart[], added: readonly RequestedPart[], context: import('./page.js').Context, setView: (view: import('../lib/link.js').View) => void }} props
 */
function Solana({ lists, added, context, setView }) {
  const { view, catalog } = context
  if (!catalog.kamino) {
    return html`<${EmptyState} title="Solana is not served here">The operator sets SOLANA_RPC_URL to serve it.<//>`
  }
  if (view.asOf !== '') {
    return html`<section class="family" aria-label=${view.label('Kamino')}>
      <div class="family-head"><h2>Kamino</h2></div>
      <${EmptyState} title="Not shown as of a past moment">Solana's endpoints keep no past, so Kamino can only be read as it is now. Nothing was asked.
        <p class="more"><button type="button" onClick=${() => setView({ ...view, asOf: '' })}>Look at now</button></p><//>
    </section>`
  }
  return html`<${KaminoAdded} lists=${lists} parts=${added} context=${context} setView=${setView} />`
}
