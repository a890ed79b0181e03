import type { Address, Hex } from 'viem'
import { mapChunks } from '../../lib/async/parallel.ts'
import type { Work } from '../../lib/async/work.ts'
import { UnavailableError } from '../../lib/error.ts'
import { groupBy } from '../../lib/group_by.ts'
import { WATCHED_UNKNOWN } from '../lending/watched.ts'
import type { ConfirmedFigures, Watcher, WatchTarget } from '../watch.ts'
import { EMPTY_FIGURES, toConfirmedFigures } from './present.ts'
import type { MarketRead } from './read/position.ts'
import { createPositionReader } from './read/read.ts'

/** Wallets that are read concurrently: their calls are bundled, eight in each request. */
const PIECES = { size: 64, runningMax: 1 } as const
/** Time for one wallet over all attempts. */
const BUDGET_MS = 4_500

/** A wallet and its watched markets. */
interface WatchedMarkets {
  readonly wallet: Address
  readonly marketIds: readonly Hex[]
}

/**
 * Creates the reader of wallets in markets, for triggers. It reads each of them at every block: oracles change a health
 * factor without an event that names its wallet, and time makes a debt due without any.
 */
export function createWatcher(options: Parameters<typeof createPositionReader>[0]): Watcher {
  const reader = createPositionReader(options)

  async function readWallet(watched: WatchedMarkets, { client, block }: WatchTarget, work: Work) {
    const configured = reader.targets.get(client.chain.id)
    if (configured === undefined) return []
    const { markets } = await client.read(
      (endpoint, within) => reader.ask(endpoint, { ...configured, client, block, walletQuery: watched }, within),
      { work, budgetMs: BUDGET_MS, past: block, priority: 'background', isBundled: true },
    )
    return watched.marketIds.map((id, index) => [getKey(id, watched.wallet), toFigures(markets[index])] as const)
  }

  /** A wallet whose market contradicts itself does not stop the others; if all wallets fail, the chain has failed. */
  async function readWallets(watched: readonly WatchedMarkets[], target: WatchTarget, work: Work) {
    const outcomes = await Promise.allSettled(watched.map((each) => readWallet(each, target, work)))
    const failures = outcomes.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []))
    const severe = failures.find((reason) => !(reason instanceof UnavailableError))
    if (severe !== undefined || failures.length === watched.length) throw severe ?? failures[0]
    return outcomes.map((end) => (end.status === 'fulfilled' ? end.value : []))
  }

  return {
    chainIds: new Set(reader.targets.keys()),
    async confirm(subjects, target, work) {
      const watched = [...groupBy(subjects, ({ wallet = '' }) => wallet)].map(([wallet, own]) => ({
        wallet: wallet as Address,
        marketIds: [...new Set(own.map(({ market_id }) => market_id as Hex))],
      }))
      const read = (piece: readonly WatchedMarkets[], within: Work) => readWallets(piece, target, within)
      const figures = new Map((await mapChunks(watched, PIECES, read, work)).flat())
      return subjects.map(
        ({ market_id = '', wallet = '' }) => figures.get(getKey(market_id, wallet)) ?? WATCHED_UNKNOWN,
      )
    },
  }
}

function toFigures(read: MarketRead | undefined): ConfirmedFigures | 'gone' {
  if (read === undefined) return WATCHED_UNKNOWN
  if (read === 'no_market') return 'gone'
  return read === 'no_position' ? EMPTY_FIGURES : toConfirmedFigures(read)
}

function getKey(marketId: string, wallet: string): string {
  return `${marketId}:${wallet.toLowerCase()}`
}
