import type { Address, Hex } from 'viem'
import { WATCHED_UNKNOWN } from '../../../../finance/lending/watched.ts'
import { mapChunks } from '../../../../lib/async/chunk.ts'
import { UnavailableError } from '../../../../lib/error.ts'
import { groupBy } from '../../../../lib/group_by.ts'
import type { ConfirmedFigures, Watcher, WatchTarget } from '../../../watch.ts'
import { getPositionKey } from '../../event/watch.ts'
import { EMPTY_CONFIRMED, toConfirmedFigures } from '../../present/watched.ts'
import type { MarketRead } from '../position.ts'
import { createPositionReader } from '../read.ts'
import { createForecaster } from './forecaster.ts'

/** Wallets that are read at the same time: their calls leave together, eight in each request. */
const PIECES = { size: 64, running: 1 } as const
/** Time for one wallet over all tries. */
const BUDGET_MS = 4_500

/** A wallet and the markets that are watched of it. */
interface WatchedMarkets {
  readonly wallet: Address
  readonly marketIds: readonly Hex[]
}

/** Reads wallets in markets for triggers. */
export function createWatcher(options: Parameters<typeof createPositionReader>[0]): Watcher {
  const { deployments } = options
  const reader = createPositionReader(options)

  async function readWallet(asked: WatchedMarkets, { client, block }: WatchTarget, signal: AbortSignal) {
    const deployment = deployments.get(client.chain.id)
    if (deployment === undefined) return []
    const place = { client, deployments: [deployment], block }
    const { markets } = await client.read((endpoint, within) => reader.ask(endpoint, { ...place, asked }, within), {
      signal,
      budgetMs: BUDGET_MS,
      past: block,
      priority: 'background',
      together: true,
    })
    return asked.marketIds.map((id, index) => [getPositionKey(id, asked.wallet), watchedOf(markets[index])] as const)
  }

  /** One wallet whose market contradicts itself stops no other; if all of them fail, it is the chain. */
  async function readWallets(asked: readonly WatchedMarkets[], place: WatchTarget, signal: AbortSignal) {
    const ends = await Promise.allSettled(asked.map((each) => readWallet(each, place, signal)))
    const failed = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []))
    const severe = failed.find((reason) => !(reason instanceof UnavailableError))
    if (severe !== undefined || failed.length === asked.length) throw severe ?? failed[0]
    return ends.map((end) => (end.status === 'fulfilled' ? end.value : []))
  }

  return {
    chainIds: new Set(reader.places.keys()),
    async confirm(subjects, place, signal) {
      const wallets = groupBy(subjects, ({ wallet = '' }) => wallet)
      const asked = [...wallets].map(([wallet, own]) => ({
        wallet: wallet as Address,
        marketIds: [...new Set(own.map(({ market_id }) => market_id as Hex))],
      }))
      const read = (piece: readonly WatchedMarkets[], within: AbortSignal) => readWallets(piece, place, within)
      const found = new Map((await mapChunks(asked, PIECES, read, signal)).flat())
      return subjects.map(
        ({ market_id = '', wallet = '' }) => found.get(getPositionKey(market_id, wallet)) ?? WATCHED_UNKNOWN,
      )
    },
    screen: createForecaster({ deployments, reader }),
  }
}

function watchedOf(read: MarketRead | undefined): ConfirmedFigures | 'gone' {
  if (read === undefined) return WATCHED_UNKNOWN
  if (read.kind !== 'absent') return toConfirmedFigures(read)
  return read.reason === 'no_market' ? 'gone' : EMPTY_CONFIRMED
}
