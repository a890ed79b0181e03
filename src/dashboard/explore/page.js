import { shortenAddress, walletKind } from '../lib/address.js'
import { onCharge } from '../lib/api.js'
import { readCatalog, SOLANA_CHAIN_ID } from '../lib/catalog.js'
import { useHash, useLoaded } from '../lib/hooks.js'
import { formatFragment, isPartOfView, listUnshown, parseView, WALLETS_MAX } from '../lib/link.js'
import { getStoredKey, rememberWallet, storeKey } from '../lib/session.js'
import { pluralize } from '../lib/time.js'
import { html, useEffect, useRef, useState } from '../lib/view.js'
import { EmptyState, ErrorNotice, LoadingNotice } from '../part/notice.js'
import { Shell } from '../part/shell.js'
import { KeyForm, WalletForm } from './form.js'
import { Wallets } from './wallets.js'

/**
 * Values that every part of a view uses.
 * @typedef {object} Context
 * @property {string} key
 * @property {import('../lib/catalog.js').Catalog} catalog
 * @property {import('../lib/link.js').WalletView} view
 * @property {Map<string, import('../lib/api.js').Answer>} paid answers that no part of the page pays for again, by path
 */

export function ExplorePage() {
  const [key, setKey] = useState(getStoredKey())
  const [view, setView] = useView()
  const { value: catalog, again } = useLoaded(readCatalog, [])
  const [charge, setCharge] = useState(
    /** @type {{ spent: number, remaining: string | undefined }} */ ({ spent: 0, remaining: undefined }),
  )
  useEffect(
    () => onCharge(({ charged, remaining }) => setCharge(({ spent }) => ({ spent: spent + charged, remaining }))),
    [],
  )
  // What was paid for stands as long as it is shown, by this key: another key and another wallet begin anew.
  const [round, setRound] = useState(0)
  const paidFor = useRef({ ...view, key, round })
  useEffect(() => {
    const { current: before } = paidFor
    const isKept = key === before.key && round === before.round && view.wallets.length > 0 && isPartOfView(view, before)
    paidFor.current = { ...view, key, round }
    if (!isKept) setCharge(({ remaining }) => ({ spent: 0, remaining }))
  }, [key, view.wallets.join(), view.asOf, round])
  useEffect(() => {
    document.title = [...view.wallets.map(shortenAddress), 'walletscope'].join(' · ')
  }, [view.wallets.join()])
  const changeKey = (/** @type {string | undefined} */ next) => {
    storeKey(next)
    setKey(next)
  }
  const aside =
    key !== undefined &&
    html`<${KeyState} value=${key} remaining=${charge.remaining} onForget=${() => changeKey(undefined)} />`
  return html`<${Shell} page="Explore" aside=${aside}>${content()}<//>`

  function content() {
    if (catalog === undefined) return html`<${LoadingNotice}>Loading chains and protocols<//>`
    if ('ok' in catalog) return html`<${ErrorNotice} failure=${catalog} onRetry=${again} />`
    const openWallets = (/** @type {readonly string[]} */ wallets, /** @type {string} */ asOf) => {
      for (const wallet of wallets) rememberWallet(wallet)
      // Moves the focus from the form to the results.
      document.getElementById('content')?.focus()
      // The same question again: the answers on the page may be old.
      if (isPartOfView({ wallets, asOf }, view) && wallets.length === view.wallets.length) setRound(round + 1)
      setView({ ...view, wallets, asOf, ...(wallets.join() === view.wallets.join() ? {} : { kamino: [] }) })
    }
    const form = (/** @type {boolean} */ large) =>
      html`<${WalletForm} apiKey=${key} wallets=${view.wallets} atTime=${catalog.atTime} asOf=${view.asOf} large=${large} onWallets=${openWallets} />`
    if (key === undefined)
      return html`<${Welcome} catalog=${catalog} wallets=${view.wallets}><${KeyForm} onKey=${changeKey} /><//>`
    const validWallets = view.wallets.filter((wallet) => walletKind(wallet) !== undefined)
    if (validWallets.length === 0) return html`<${Welcome} catalog=${catalog} wallets=${[]}>${form(true)}<//>`
    const unshown = listUnshown(location.hash, validWallets)
    return html`${form(false)}${unshown.length > 0 && html`<${Unshown} wallets=${unshown} all=${unshown.length + validWallets.length} />`}<${Wallets} key=${`${key} ${view.asOf} ${round}`} wallets=${validWallets} apiKey=${key} catalog=${catalog} view=${view} setView=${setView} spent=${charge.spent} />`
  }
}

/** Returns the view of the address and a function that changes it. @returns {[import('../lib/link.js').View, (view: import('../lib/link.js').View) => void]} */
function useView() {
  const [view, setView] = useState(parseView(location.hash))
  useHash(() => setView(parseView(location.hash)))
  return [
    view,
    (next) => {
      const fragment = formatFragment(next)
      // Adds a history entry, so that "back" returns to the previous view.
      if (fragment !== location.hash) history.pushState(null, '', fragment === '' ? location.pathname : fragment)
      setView(next)
    },
  ]
}

/** @param {{ catalog: import('../lib/catalog.js').Catalog, wallets: readonly string[], children: unknown }} props */
function Welcome({ catalog, wallets, children }) {
  const liquidityChains = catalog.liquidity.flatMap(({ chains }) => chains)
  const chains = new Set([...liquidityChains, ...catalog.aaveChains, ...(catalog.kamino ? [SOLANA_CHAIN_ID] : [])])
  const names = [...chains].map((id) => catalog.names.get(id) ?? `chain ${id}`)
  return html`<div class="welcome">
    <h1>What does this wallet <em>hold</em>, <em>earn</em>, <em>owe</em> and <em>risk</em>?</h1>
    <p class="lead">Every figure is read from the chain when you ask, at one block that it names.</p>
    ${wallets.length > 0 && html`<p class="lead">This link leads to ${wallets.map((wallet, index) => html`${index > 0 && ', '}<code>${shortenAddress(wallet)}</code>`)}. It opens with your key.</p>`}
    ${children}
    ${
      names.length === 0
        ? html`<${EmptyState} title="No chain is configured">The operator sets RPC_URL_1 and the like; see the README.<//>`
        : html`<p class="soft">Reads ${names.length > 8 ? `${names.length} chains` : names.join(', ')}. ${formatPrices(catalog.credits)}</p>`
    }
  </div>`
}

/** Wallets of the link that are not below. @param {{ wallets: readonly string[], all: number }} props */
function Unshown({ wallets, all }) {
  const names = wallets.map((wallet) =>
    walletKind(wallet) === undefined ? wallet.slice(0, 64) : shortenAddress(wallet),
  )
  return html`<${EmptyState} title=${`${wallets.length} of ${all} wallets ${wallets.length === 1 ? 'is' : 'are'} not shown`}>${names.join(', ')}: a view shows at most ${WALLETS_MAX} wallets, each by its whole address.<//>`
}

/** Formats the prices of reading a wallet as sentences. @param {import('../lib/catalog.js').Catalog['credits']} credits */
function formatPrices({ position, flows, portfolio, days, row, aave, morpho, kaminoList, name }) {
  const worth = `${pluralize(portfolio, 'credit')} for what it is worth there and ${days} for its days`
  return `A wallet costs ${pluralize(position, 'credit')} for each open position and ${row} for each row that is not counted, ${flows} for the flows of a position that is scrolled to; for each chain ${worth}, ${aave} with Aave and ${morpho} with Morpho, and on Solana ${kaminoList} with Kamino. An ENS name costs ${name}. Nothing found costs nothing.`
}

/** @param {{ value: string, remaining: string | undefined, onForget: () => void }} props */
function KeyState({ value, remaining, onForget }) {
  return html`<span class="key-state">
    ${remaining !== undefined && html`<span><b>${BigInt(remaining).toLocaleString('en')}</b> credits left</span>`}
    <span class="soft">key …${value.slice(-4)}</span>
    <button type="button" class="small" onClick=${onForget}>Forget key</button>
  </span>`
}
