import { HEARTBEAT_SEC_DEFAULT, parseChainsFile, toFinanceChain, toServedChain } from '../config/chains_file.ts'
import { FINANCE_CHAINS, type FinanceChain } from '../finance/chain.ts'
import { memoize } from '../lib/memoize.ts'
import { type ConfiguredSubject, configureSubject, type Subject } from './subject.ts'

/** The part of a configuration that decided figures: chains in the format of `CHAINS_FILE`, without URLs. */
export interface ReceiptSettings {
  chains: Record<string, unknown>[]
}

/** Parsed settings. */
export interface ParsedReceiptSettings {
  readonly subject: ConfiguredSubject
  readonly chains: ReadonlyMap<number, FinanceChain>
}

/** Placeholder for URLs, which settings never have; it is never requested. */
const NO_URL = 'http://127.0.0.1:9'

/** Returns the settings that decided a subject's answer for these chains, with or without `prices`. */
export function toReceiptSettings(
  { families, hasOwnPrices, readsTokens }: ConfiguredSubject,
  chains: readonly FinanceChain[],
  { prices }: { readonly prices: boolean },
): ReceiptSettings {
  return {
    chains: chains.map((chain) => ({
      ...(hasOwnPrices ? { id: chain.id, name: chain.name } : toRow(chain, prices)),
      ...(readsTokens && toTokenSettings(chain)),
      ...Object.assign({}, ...families.map((family) => family.toRow(chain.id))),
    })),
  }
}

/** Parses settings for a subject; returns their mistakes if they have any. */
export function parseReceiptSettings(
  subject: Subject,
  { chains }: ReceiptSettings,
): ParsedReceiptSettings | { readonly mistakes: readonly string[] } {
  if (chains.some((row) => 'rpcUrls' in row)) return { mistakes: ['they name endpoints'] }
  const text = JSON.stringify({ chains: chains.map((row) => ({ ...row, rpcUrls: [NO_URL] })) })
  const { rows, mistakes } = parseChainsFile(text, subject.families)
  const configured = configureSubject(subject, new Map(rows.map((row) => [row.id, row])))
  const toChain = configured.subject.readsTokens ? toServedChain : toFinanceChain
  const all = [...mistakes, ...configured.mistakes]
  if (all.length > 0) return { mistakes: all }
  return {
    subject: configured.subject,
    chains: new Map(rows.map((row) => [row.id, toChain(row, toBuiltInBase(row.id))])),
  }
}

/** Returns a built-in chain with only the part that no configuration changes: its currency's full name. */
function toBuiltInBase(id: number): FinanceChain | undefined {
  const { name, nativeCurrency } = FINANCE_CHAINS.find((chain) => chain.id === id) ?? {}
  if (name === undefined || nativeCurrency === undefined) return undefined
  const { wrapped: _, ...currency } = nativeCurrency
  const settable = { rpcUrls: [], prices: { usdFeeds: {}, stablecoins: [] }, spamTokens: [] }
  return { id, name, nativeCurrency: currency, reuseMs: 0, finality: { depth: 0 }, tokens: NO_TOKENS, ...settable }
}

const NO_TOKENS: FinanceChain['tokens'] = { addresses: [], names: [], added: [] }

/** Converts a chain to a row that `toFinanceChain` reads without a built-in row. */
function toRow(chain: FinanceChain, hasPrices: boolean): Readonly<Record<string, unknown>> {
  const { id, name, nativeCurrency: { symbol } = {}, blockTimeMs, spamTokens } = chain
  return {
    id,
    name,
    ...(symbol === undefined ? {} : { nativeSymbol: symbol }),
    // The block time guides the search for the block of a time.
    ...(blockTimeMs === undefined ? {} : { blockTimeMs }),
    ...(hasPrices ? { prices: toPriceSettings(chain) } : {}),
    ...(spamTokens.length === 0 ? {} : { spamTokens }),
  }
}

/** What decides which tokens are read, and the dollars of a chain that borrows the price of its native token. */
function toTokenSettings(chain: FinanceChain): Readonly<Record<string, unknown>> {
  const { tokens, nativeDoubles, borrowedFeed } = chain
  const added = tokens.added.flatMap(({ addresses }) => addresses)
  return {
    ...(added.length === 0 ? {} : { tokens: added }),
    ...(nativeDoubles === undefined ? {} : { nativeDoubles }),
    ...(borrowedFeed && { prices: { ...toPriceSettings(chain), stablecoins: borrowedFeed.stablecoins } }),
  }
}

const toPriceSettings = memoize(({ nativeCurrency: { wrapped } = {}, prices }: FinanceChain): object => {
  const { wrappers = {}, usdFeeds, ...plain } = prices
  const feeds = Object.entries(usdFeeds).map(([token, each]) => [
    token,
    each.heartbeatSec === HEARTBEAT_SEC_DEFAULT ? each.feed : each,
  ])
  const wrapperRows = Object.entries(wrappers).map(([token, { kind, of }]) => ({ token, kind, of }))
  return {
    usdFeeds: Object.fromEntries(feeds),
    ...plain,
    ...(wrapped === undefined ? {} : { wrappedNative: wrapped }),
    ...(wrapperRows.length === 0 ? {} : { wrappers: wrapperRows }),
  }
})
