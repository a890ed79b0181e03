import type { Address, Hex } from 'viem'
import { mapChunks } from '../../../../lib/async/chunk.ts'
import { UnavailableError } from '../../../../lib/error.ts'
import { groupBy } from '../../../../lib/group_by.ts'
import { WATCHED_UNKNOWN } from '../../../lending/watched.ts'
import type { ConfirmedFigures, Watcher, WatchTarget } from '../../../watch.ts'
import { getPositionKey } from '../../event/watch.ts'
import { EMPTY_CONFIRMED, toConfirmedFigures } from '../../present/watched.ts'
import type { MarketRead } from '../position.ts'
import { createPositionReader } from '../read.ts'
import { createForecaster } from './forecaster.ts'

/** Wallets that are read concurrently: their calls are bundled, eight in each request. */
const PIECES = { size: 64, runningMax: 1 } as const
/** Time for one wallet over all attempts. */
const BUDGET_MS = 4_500

/** A wallet and its watched markets. */
interface WatchedMarkets {
  readonly wallet: Address
  readonly marketIds: readonly Hex[]
}

/** Creates the reader of wallets in markets, for triggers. */
export function createWatcher(options: Parameters<typeof createPositionReader>[0]): Watcher {
  const { deployments } = options
  const reader = createPositionReader(options)

  async function readWallet(watched: WatchedMarkets, { client, block }: WatchTarget, signal: AbortSignal) {
    const deployment = deployments.get(client.chain.id)
    if (deployment === undefined) return []
    const target = { client, deployments: [deployment], block }
    const { markets } = await client.read(
      (endpoint, within) => reader.ask(endpoint, { ...target, walletQuery: watched }, within),
      {
        signal,
        budgetMs: BUDGET_MS,
        past: block,
        priority: 'background',
        isBundled: true,
      },
    )
    return watched.marketIds.map(
      (id, index) => [getPositionKey(id, watched.wallet), toFigures(markets[index])] as const,
    )
  }

  /** A wallet whose market contradicts itself does not stop the others; if all wallets fail, the chain has failed. */
  async function readWallets(watched: readonly WatchedMarkets[], target: WatchTarget, signal: AbortSignal) {
    const outcomes = await Promise.allSettled(watched.map((each) => readWallet(each, target, signal)))
    const failures = outcomes.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []))
    const severe = failures.find((reason) => !(reason instanceof UnavailableError))
    if (severe !== undefined || failures.length === watched.length) throw severe ?? failures[0]
    return outcomes.map((end) => (end.status === 'fulfilled' ? end.value : []))
  }

  return {
    chainIds: new Set(reader.targets.keys()),
    async confirm(subjects, target, signal) {
      const wallets = groupBy(subjects, ({ wallet = '' }) => wallet)
      const watched = [...wallets].map(([wallet, own]) => ({
        wallet: wallet as Address,
        marketIds: [...new Set(own.map(({ market_id }) => market_id as Hex))],
      }))
      const read = (piece: readonly WatchedMarkets[], within: AbortSignal) => readWallets(piece, target, within)
      const figuresByKey = new Map((await mapChunks(watched, PIECES, read, signal)).flat())
      return subjects.map(
        ({ market_id = '', wallet = '' }) => figuresByKey.get(getPositionKey(market_id, wallet)) ?? WATCHED_UNKNOWN,
      )
    },
    forecaster: createForecaster({ deployments, reader }),
  }
}

function toFigures(read: MarketRead | undefined): ConfirmedFigures | 'gone' {
  if (read === undefined) return WATCHED_UNKNOWN
  if (read.kind !== 'absent') return toConfirmedFigures(read)
  return read.reason === 'no_market' ? 'gone' : EMPTY_CONFIRMED
}
