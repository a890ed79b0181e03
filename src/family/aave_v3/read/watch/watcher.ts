import type { Address } from 'viem'
import { ContractUnresponsiveError } from '../../../../chain/rpc/client.ts'
import { WATCHED_UNKNOWN } from '../../../../finance/lending/watched.ts'
import { allOrAbort } from '../../../../lib/async/all_or_abort.ts'
import { mapChunks } from '../../../../lib/async/chunk.ts'
import { UnavailableError } from '../../../../lib/error.ts'
import { groupBy } from '../../../../lib/group_by.ts'
import type { ConfirmedFigures, SubjectEvent, Watcher, WatchTarget } from '../../../watch.ts'
import { createChangeFilter, listEvents } from '../../event/watch.ts'
import { EMPTY_CONFIRMED, toConfirmedFigures } from '../../present/watched.ts'
import type { AaveV3Deployment } from '../../table/deployments.ts'
import { createLendingReader } from '../read.ts'
import { createForecaster } from './forecaster.ts'
import { createMarketContracts } from './market_contracts.ts'

/** Wallets of one reading, as many as a batch of the routes may have, and readings at the same time. */
const PIECES = { size: 500, running: 3 } as const

/** So many wallets leave with what others ask about the block. */
const TOGETHER_MAX = 160

/** Reads wallets in markets for triggers. */
export function createWatcher(options: Parameters<typeof createLendingReader>[0]): Watcher {
  const { deployments, clock } = options
  const reader = createLendingReader(options)
  const markets = createMarketContracts(clock)

  /** What wallets have in one market, in their order. */
  async function readMarket(
    deployment: AaveV3Deployment,
    { wallets, place: { client, block } }: { readonly wallets: readonly Address[]; readonly place: WatchTarget },
    signal: AbortSignal,
  ): Promise<ConfirmedFigures[]> {
    const together = wallets.length <= TOGETHER_MAX && { together: true as const }
    const places = [{ client, deployments: [deployment], block, priority: 'background' as const, ...together }]
    const [read] = await reader.read(wallets, { places, signal })
    const held = new Map((read?.wallets ?? []).map(({ wallet, positions: [position] }) => [wallet, position]))
    const unknown = new Set((read?.unanswerable ?? []).map(({ wallet }) => wallet))
    return wallets.map((wallet) => {
      const position = held.get(wallet)
      if (position !== undefined) return toConfirmedFigures(position)
      return unknown.has(wallet) ? WATCHED_UNKNOWN : EMPTY_CONFIRMED
    })
  }

  async function confirmIn(
    deployment: AaveV3Deployment,
    { wallets, place }: { readonly wallets: readonly Address[]; readonly place: WatchTarget },
    signal: AbortSignal,
  ): Promise<readonly (readonly [string, ConfirmedFigures])[]> {
    try {
      const read = (piece: readonly Address[], within: AbortSignal) =>
        readMarket(deployment, { wallets: piece, place }, within)
      const confirmed = await mapChunks(wallets, PIECES, read, signal)
      return wallets.map((wallet, index) => [keyOf(deployment.market, wallet), confirmed[index] ?? WATCHED_UNKNOWN])
    } catch (error) {
      // A market that does not answer stops no other one.
      if (!(error instanceof UnavailableError) || !(error.cause instanceof ContractUnresponsiveError)) throw error
      return wallets.map((wallet) => [keyOf(deployment.market, wallet), WATCHED_UNKNOWN])
    }
  }

  return {
    chainIds: new Set(reader.places.keys()),
    async confirm(subjects, place, signal) {
      const here = reader.places.get(place.client.chain.id)?.deployments ?? []
      const byMarket = groupBy(subjects, ({ market_id }) => market_id)
      const tasks = here.map((deployment) => (shared: AbortSignal) => {
        const asked = byMarket.get(deployment.market) ?? []
        const wallets = [...new Set(asked.map(({ wallet }) => wallet as Address))]
        return confirmIn(deployment, { wallets, place }, shared)
      })
      const found = new Map((await allOrAbort(tasks, signal)).flat())
      return subjects.map(({ market_id = '', wallet = '' }) => found.get(keyOf(market_id, wallet)) ?? 'gone')
    },
    screen: createForecaster({ deployments, markets, clock }),
    events: {
      filters: (chainId) => [createChangeFilter(markets.last(chainId))],
      async happenings(logs, subjects, { client }, signal) {
        if (logs.length === 0) return []
        const facts = await markets.of(client, deployments.get(client.chain.id) ?? [], signal)
        const byKey = new Map(
          subjects.map((subject) => [keyOf(subject['market_id'] ?? '', subject['wallet'] ?? ''), subject]),
        )
        const byPlace = new Map(logs.map((log) => [`${log.blockNumber}:${log.logIndex}`, log]))
        const found = [...facts].flatMap(([market, { place }]) =>
          listEvents(place, logs).flatMap(({ wallet, kind: type, block, ...event }): SubjectEvent[] => {
            const subject = byKey.get(keyOf(market, wallet))
            const log = byPlace.get(`${block}:${event.logIndex}`)
            if (subject === undefined || log === undefined) return []
            const { blockNumber, blockHash, transactionHash, logIndex } = log
            return [{ subject, type, blockNumber, blockHash, transactionHash, logIndex }]
          }),
        )
        return found.sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex)
      },
    },
  }
}

function keyOf(market: string, wallet: string): string {
  return `${market}:${wallet.toLowerCase()}`
}
