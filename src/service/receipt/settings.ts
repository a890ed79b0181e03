import type { ConfiguredFamily, Family } from '../../family/family.ts'
import { FINANCE_CHAINS, type FinanceChain } from '../../finance/chain.ts'
import { memoize } from '../../lib/memoize.ts'
import { chainFromRow, HEARTBEAT_SEC_DEFAULT, parseChainsFile } from '../config/chains_file.ts'

/** The part of a configuration that decided figures: chains in the words of `CHAINS_FILE`, without URLs. */
export interface ReceiptSettings {
  chains: Record<string, unknown>[]
}

/** What settings mean. */
export interface ParsedReceiptSettings {
  readonly family: ConfiguredFamily
  readonly chains: ReadonlyMap<number, FinanceChain>
}

/** In place of URLs, which settings never have: a port that nothing listens on, and nothing asks. */
const NO_URL = 'http://127.0.0.1:9'

/** The settings that decided what a family answers about these chains; without `prices` what needs none of them. */
export function toReceiptSettings(
  family: ConfiguredFamily,
  chains: readonly FinanceChain[],
  { prices }: { readonly prices: boolean },
): ReceiptSettings {
  return {
    chains: chains.map((chain) => ({
      ...(family.hasOwnPrices ? { id: chain.id, name: chain.name } : rowOf(chain, prices)),
      ...family.rowOf(chain.id),
    })),
  }
}

/** What settings mean for a family; the mistakes in them if they have any. */
export function parseReceiptSettings(
  family: Family,
  { chains }: ReceiptSettings,
): ParsedReceiptSettings | { readonly mistakes: readonly string[] } {
  if (chains.some((row) => 'rpcUrls' in row)) return { mistakes: ['they name endpoints'] }
  const text = JSON.stringify({ chains: chains.map((row) => ({ ...row, rpcUrls: [NO_URL] })) })
  const { rows, mistakes } = parseChainsFile(text, [family])
  const configured = family.configure(new Map(rows.map((row) => [row.id, row])))
  const all = [...mistakes, ...configured.mistakes]
  if (all.length > 0) return { mistakes: all }
  return { family: configured, chains: new Map(rows.map((row) => [row.id, chainFromRow(row, nativeOnly(row.id))])) }
}

/** What is built in of a chain and no configuration changes: what its currency is called in full. */
function nativeOnly(id: number): FinanceChain | undefined {
  const { name, nativeCurrency } = FINANCE_CHAINS.find((chain) => chain.id === id) ?? {}
  if (name === undefined || nativeCurrency === undefined) return undefined
  const { wrapped: _, ...currency } = nativeCurrency
  const settable = { rpcUrls: [], prices: { usdFeeds: {}, stablecoins: [] }, spamTokens: [] }
  return { id, name, nativeCurrency: currency, reuseMs: 0, finality: { depth: 0 }, tokens: NO_TOKENS, ...settable }
}

const NO_TOKENS: FinanceChain['tokens'] = { addresses: [], names: [], added: [] }

/** A chain's row, which `chainFromRow` reads without a built-in one. */
function rowOf(chain: FinanceChain, hasPrices: boolean): Readonly<Record<string, unknown>> {
  const { id, name, nativeCurrency: { symbol } = {}, blockTimeMs, spamTokens } = chain
  return {
    id,
    name,
    ...(symbol === undefined ? {} : { nativeSymbol: symbol }),
    // Where a search for the block of a time looks first.
    ...(blockTimeMs === undefined ? {} : { blockTimeMs }),
    ...(hasPrices ? { prices: pricesOf(chain) } : {}),
    ...(spamTokens.length === 0 ? {} : { spamTokens }),
  }
}

const pricesOf = memoize(({ nativeCurrency: { wrapped } = {}, prices }: FinanceChain): object => {
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
