import type { ComponentChildren } from 'preact'
import { isWallet, shortenAddress, walletKind } from '../lib/address.ts'
import type { Answer } from '../lib/api.ts'
import { onCharge } from '../lib/api.ts'
import type { Catalog } from '../lib/catalog.ts'
import { readCatalog, SOLANA_CHAIN_ID } from '../lib/catalog.ts'
import { useHash, useLoaded } from '../lib/hooks.ts'
import type { View, WalletView } from '../lib/link.ts'
import { formatFragment, isPartOfView, listUnshown, parseView, WALLETS_MAX } from '../lib/link.ts'
import { getStoredKey, rememberWallet, storeKey } from '../lib/session.ts'
import { pluralize } from '../lib/time.ts'
import { useEffect, useRef, useState } from '../lib/view.ts'
import { EmptyState, ErrorNotice, LoadingNotice } from '../part/notice.tsx'
import { Shell } from '../part/shell.tsx'
import { KeyForm, WalletForm } from './form.tsx'
import { ASSETS_MAX, PAGE_SIZE } from './requests/plan.ts'
import type { Messages } from './trigger/messages.tsx'
import { MessagesPanel, useMessages } from './trigger/messages.tsx'
import { Wallets } from './wallets.tsx'

/** Values that every part of a view uses. */
export interface Context {
  readonly key: string
  readonly catalog: Catalog
  readonly view: WalletView
  /** Answers that no part of the page pays for again, by path. */
  readonly paid: Map<string, Answer>
  /** Readings that a button asked for, see `usePress`. */
  readonly pressed: Set<string>
  readonly messages: Messages
}

export function ExplorePage() {
  const [key, setKey] = useState(getStoredKey())
  const { view, setView, isChosen, choose } = useView()
  const { value: catalog, again } = useLoaded(readCatalog, [])
  const messages = useMessages(key)
  const [charge, setCharge] = useState<{ spent: number; remaining: string | undefined }>({
    spent: 0,
    remaining: undefined,
  })
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
  const changeKey = (next: string | undefined) => {
    storeKey(next)
    setKey(next)
    if (next !== undefined) choose()
  }
  const aside = key !== undefined && (
    <KeyState value={key} remaining={charge.remaining} onForget={() => changeKey(undefined)} />
  )
  return (
    <Shell page="Explore" aside={aside}>
      {content()}
    </Shell>
  )

  function content() {
    if (catalog === undefined) return <LoadingNotice>Loading chains and protocols</LoadingNotice>
    if ('ok' in catalog) return <ErrorNotice failure={catalog} onRetry={again} />
    const openWallets = (wallets: readonly string[], asOf: string) => {
      for (const wallet of wallets) rememberWallet(wallet)
      // Moves the focus from the form to the results.
      document.getElementById('content')?.focus()
      // The same question again: the answers on the page may be old.
      if (isPartOfView({ wallets, asOf }, view) && wallets.length === view.wallets.length) setRound(round + 1)
      setView({ ...view, wallets, asOf, ...(wallets.join() === view.wallets.join() ? {} : { kamino: [] }) })
    }
    if (key === undefined)
      return (
        <Welcome catalog={catalog} wallets={view.wallets} opens="It opens with your key.">
          <KeyForm onKey={changeKey} />
        </Welcome>
      )
    const form = (large: boolean) => (
      <WalletForm
        apiKey={key}
        wallets={view.wallets}
        atTime={catalog.atTime}
        asOf={view.asOf}
        getNowSec={catalog.getNowSec}
        large={large}
        prices={large ? undefined : formatPrices(catalog.credits)}
        onWallets={openWallets}
      />
    )
    const validWallets = view.wallets.filter((wallet) => isWallet(wallet))
    if (validWallets.length === 0)
      return (
        <Welcome catalog={catalog} wallets={[]}>
          {form(true)}
        </Welcome>
      )
    if (!isChosen)
      return (
        <Welcome catalog={catalog} wallets={validWallets} obligations={view.kamino.length}>
          <p>
            <button type="button" class="main" onClick={choose}>
              {validWallets.length === 1 ? 'Read it' : 'Read them'}
            </button>
          </p>
          {form(true)}
        </Welcome>
      )
    const unshown = listUnshown(location.hash, validWallets)
    return (
      <>
        {form(false)}
        {unshown.length > 0 && <Unshown wallets={unshown} all={unshown.length + validWallets.length} />}
        <Wallets
          key={`${key} ${view.asOf} ${round}`}
          wallets={validWallets}
          apiKey={key}
          catalog={catalog}
          view={view}
          setView={setView}
          spent={charge.spent}
          messages={messages}
        />
        {catalog.watchable.size > 0 && <MessagesPanel messages={messages} credits={catalog.credits.messages} />}
      </>
    )
  }
}

/** True if a view has nothing that another one does not show. */
function asksNothing(view: View, before: View) {
  const isKept = view.target === before.target && view.kamino.every((pair) => before.kamino.includes(pair))
  return view.wallets.length > 0 && isKept && isPartOfView(view, before)
}

/**
 * Returns the view of the address, and functions that change and choose it. A view is chosen by a press in this page: an
 * address alone, which any link may hold, spends nothing.
 */
function useView() {
  const [{ view, isChosen }, setState] = useState({ view: parseView(location.hash), isChosen: false })
  useHash(() => {
    const view = parseView(location.hash)
    setState((before) => ({
      view,
      isChosen: before.isChosen && asksNothing(view, before.view),
    }))
  })
  return {
    view,
    isChosen,
    choose: () => setState((before) => ({ ...before, isChosen: true })),
    setView(next: View) {
      const fragment = formatFragment(next)
      // Adds a history entry, so that "back" returns to the previous view.
      if (fragment !== location.hash) history.pushState(null, '', fragment === '' ? location.pathname : fragment)
      setState({ view: next, isChosen: true })
    },
  }
}

interface WelcomeProps {
  readonly catalog: Catalog
  readonly wallets: readonly string[]
  /** Of Kamino, that the link names. */
  readonly obligations?: number
  /** What reads the wallets of the link, if that is no button below. */
  readonly opens?: string
  readonly children: ComponentChildren
}

function Welcome({ catalog, wallets, obligations = 0, opens, children }: WelcomeProps) {
  const liquidityChains = catalog.liquidity.flatMap(({ chains }) => chains)
  const chains = new Set([...liquidityChains, ...catalog.aaveChains, ...(catalog.kamino ? [SOLANA_CHAIN_ID] : [])])
  const names = [...chains].sort((a, b) => a - b).map((id) => catalog.names.get(id) ?? `chain ${id}`)
  return (
    <div class="welcome">
      <h1>
        What does this wallet <em>hold</em>, <em>earn</em>, <em>owe</em> and <em>risk</em>?
      </h1>
      <p class="lead">Every figure is read from the chain when you ask, at one block that it names.</p>
      {wallets.length > 0 && (
        <p class="lead">
          This link leads to{' '}
          {wallets.map((wallet, index) => (
            <>
              {index > 0 && ', '}
              <code>{shortenAddress(wallet)}</code>
            </>
          ))}
          . {opens}
        </p>
      )}
      {children}
      {names.length === 0 ? (
        <EmptyState title="No chain is configured">
          The operator sets RPC_URL_1 and the like; see the README.
        </EmptyState>
      ) : (
        <p class="soft">
          Reads {names.length > 8 ? `${names.length} chains` : joinWords(names)}. {formatShortPrice(catalog.credits)}
          {obligations > 0 && ` ${formatObligationsPrice(obligations, catalog.credits)}`}
        </p>
      )}
      {names.length > 0 && (
        <details class="soft">
          <summary>Prices</summary>
          {formatPrices(catalog.credits)}
        </details>
      )}
    </div>
  )
}

/** Joins words as a sentence does: `Ethereum, Base and Solana`. */
function joinWords(words: readonly string[]) {
  const last = words.at(-1) ?? ''
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} and ${last}`
}

/** Wallets of the link that are not below. */
function Unshown({ wallets, all }: { wallets: readonly string[]; all: number }) {
  const names = wallets.map((wallet) =>
    walletKind(wallet) === undefined ? wallet.slice(0, 64) : shortenAddress(wallet),
  )
  return (
    <EmptyState title={`${wallets.length} of ${all} wallets ${wallets.length === 1 ? 'is' : 'are'} not shown`}>
      {names.join(', ')}: a view shows at most {WALLETS_MAX} wallets, each by its whole address.
    </EmptyState>
  )
}

/** Credits for what a wallet is worth on a chain, and was: there the overview counts what it has as three parts, its changes as one. */
function sumWorthCredits({ portfolio, overview }: Catalog['credits']) {
  return portfolio + 4 * overview
}

/** Formats about what a look costs as a sentence. */
function formatShortPrice(credits: Catalog['credits']) {
  return `A look costs about ${pluralize(sumWorthCredits(credits), 'credit')} a chain that the wallet uses and ${credits.position} a position; an empty wallet is free.`
}

/** Formats the prices of reading a wallet as sentences. */
function formatPrices(credits: Catalog['credits']) {
  const { position, row, aave, morpho, kaminoList, name } = credits
  const worth = `${pluralize(sumWorthCredits(credits), 'credit')} for what it is worth there and was`
  return `A wallet costs ${pluralize(position, 'credit')} for each of its first ${PAGE_SIZE} open positions of each exchange on a chain; for each chain ${worth}, ${Math.max(aave, morpho)} with each lending protocol that it uses, and on Solana ${kaminoList} with Kamino; ${row} for each of its first ${ASSETS_MAX} tokens and parts of positions. An ENS name costs ${name}. Nothing found costs nothing, nor does what has not changed since the last look in this tab. Histories, days and further rows have buttons of their own, which say their price.`
}

function formatObligationsPrice(count: number, { kamino }: Catalog['credits']) {
  const named =
    count === 1 ? 'The obligation that the link names costs' : `The ${count} obligations that the link names cost`
  return `${named} up to ${pluralize(count * kamino, 'credit')} more.`
}

interface KeyStateProps {
  readonly value: string
  readonly remaining: string | undefined
  readonly onForget: () => void
}

function KeyState({ value, remaining, onForget }: KeyStateProps) {
  return (
    <span class="key-state">
      {remaining !== undefined && (
        <span>
          <b>{BigInt(remaining).toLocaleString('en')}</b> credits left
        </span>
      )}
      <span class="soft">key …{value.slice(-4)}</span>
      <button type="button" class="small" onClick={onForget}>
        Forget key
      </button>
    </span>
  )
}
