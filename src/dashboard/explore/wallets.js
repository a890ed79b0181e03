import { shortenAddress, walletKind } from '../lib/address.js'
import { getStoredName } from '../lib/session.js'
import { pluralize } from '../lib/time.js'
import { html, useRef, useState } from '../lib/view.js'
import { Copy } from '../part/copy.js'
import { DefinitionList, Usd } from '../part/figure.js'
import { Result } from './result.js'
import { sumTotals } from './total.js'

/** @typedef {import('./total.js').Total} Total */

/**
 * The wallets of a view, one below the other. Several wallets have a common total first.
 * @param {{ wallets: readonly string[], apiKey: string, catalog: import('../lib/catalog.js').Catalog, view: import('../lib/link.js').View, setView: (view: import('../lib/link.js').View) => void, spent: number }} props
 */
export function Wallets({ wallets, apiKey, catalog, view, setView, spent }) {
  const [totals, setTotals] = useState(/** @type {Readonly<Record<string, Total>>} */ ({}))
  const paid = useRef(new Map()).current
  const pressed = useRef(new Set()).current
  const isOne = wallets.length === 1
  const onTotal = (/** @type {string} */ wallet) => (/** @type {Total} */ total) =>
    setTotals((before) => ({ ...before, [wallet]: total }))
  const createView = (/** @type {string} */ wallet) => ({
    ...view,
    wallet,
    label: (/** @type {string} */ name) => (isOne ? name : `${name} of ${shortenAddress(wallet)}`),
  })
  const targetCredits = wallets.reduce((sum, wallet) => sum + (totals[wallet]?.targetCredits ?? 0), 0)
  const sections = wallets.map((wallet) => {
    const context = { key: apiKey, catalog, view: createView(wallet), paid, pressed }
    const remove = () => setView({ ...view, wallets: wallets.filter((each) => each !== wallet) })
    return html`<div class="wallet" key=${wallet}>
      <${Title} wallet=${wallet} view=${view} onRemove=${isOne ? undefined : remove} />
      <${Result} context=${context} setView=${setView} spent=${isOne ? spent : undefined} targetCredits=${targetCredits} onTotal=${onTotal(wallet)} />
    </div>`
  })
  return html`${!isOne && html`<${Together} wallets=${wallets} totals=${totals} spent=${spent} isPast=${view.asOf !== ''} />`}${sections}`
}

/** @param {{ wallets: readonly string[], totals: Readonly<Record<string, Total>>, spent: number, isPast: boolean }} props */
function Together({ wallets, totals, spent, isPast }) {
  const { net, isLoading, unread, partial, missing } = sumTotals(wallets.map((wallet) => totals[wallet]))
  const drawNet = (/** @type {string} */ wallet) => {
    const total = totals[wallet]
    if (total?.net !== undefined) return html`<${Usd} value=${total.net} />`
    if (total === undefined || total.state === 'loading') return html`<span class="absent">being read</span>`
    const isSolanaPast = isPast && walletKind(wallet) === 'solana'
    return html`<span class="absent">${isSolanaPast ? 'not shown as of a past moment' : 'not read'}</span>`
  }
  return html`<section class="summary together" aria-label="All wallets">
    <div class="total">
      <h1 class="total-name">${pluralize(wallets.length, 'wallet')}, net</h1>
      <p class="total-value">${net === undefined ? html`<span class="absent">${isLoading ? 'being read' : 'not read'}</span>` : html`<${Usd} value=${net} />`}</p>
      <p class="soft"><${CopyLink} /> ${isLoading ? 'So far, ' : ''}for ${pluralize(spent, 'credit')}.
        ${unread > 0 && html` <b class="bad">${pluralize(unread, 'wallet')} ${unread === 1 ? 'is' : 'are'} not in it.</b>`}
        ${partial > 0 && html` <b class="bad">Not all of ${pluralize(partial, 'wallet')} could be read.</b>`}
        ${missing > 0 && html` ${pluralize(missing, 'position')} ${missing === 1 ? 'is' : 'are'} not in it.`}
      </p>
    </div>
    <${DefinitionList} rows=${wallets.map((wallet) => [html`<span class="mono">${shortenAddress(wallet)}</span> ${getStoredName(wallet)}`, drawNet(wallet)])} />
  </section>`
}

function CopyLink() {
  return html`<${Copy} class="small" text=${location.href} label="Copy link to this view">Copy link<//>`
}

/** @param {{ wallet: string, view: import('../lib/link.js').View, onRemove?: () => void }} props */
function Title({ wallet, view: { asOf }, onRemove }) {
  const name = html`<span class="title-long">${wallet}</span><span class="title-short" aria-hidden="true">${shortenAddress(wallet)}</span>`
  const ensName = getStoredName(wallet)
  return html`<div class="title">
    ${onRemove ? html`<h2 class="mono">${name}</h2>` : html`<h1 class="mono">${name}</h1>`}
    <${Copy} text=${wallet} label="Copy the wallet" />
    ${ensName && html`<span class="ens-name">${ensName}</span>`}
    ${onRemove ? html`<button type="button" class="small" onClick=${onRemove} aria-label=${`Leave out ${shortenAddress(wallet)}`}>Leave out</button>` : html`<${CopyLink} />`}
    ${asOf !== '' && html`<span class="badge warn">as of ${asOf.replace('T', ' ').replace('Z', ' UTC')}</span>`}
  </div>`
}
