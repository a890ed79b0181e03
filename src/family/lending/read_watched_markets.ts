import type { Address, Hex } from 'viem'
import { ContractUnresponsiveError } from '../../chain/rpc/client.ts'
import type { HistoryLog, LogFilter } from '../../history/stream.ts'
import { allOrAbort, mapChunks } from '../../lib/async/parallel.ts'
import type { Work } from '../../lib/async/work.ts'
import { UnavailableError } from '../../lib/error.ts'
import { groupBy } from '../../lib/group_by.ts'
import type { FamilyTarget } from '../moment.ts'
import type { ConfirmedFigures, SubjectEvent, Watcher, WatchTarget } from '../watch.ts'
import type { LendingEventType } from './lending_event.ts'
import type { MarketRead } from './market_routes.ts'
import { createWatchedLending, EMPTY_LENDING, WATCHED_UNKNOWN } from './watched.ts'

/** Wallets of one reading, as many as a batch of the routes may have, and concurrent readings. */
const PIECES = { size: 500, runningMax: 3 } as const

/** Figures of a wallet without a position in a market. */
const EMPTY_CONFIRMED = createWatchedLending(EMPTY_LENDING)

/** What the reader of a protocol is to its watcher. */
interface WatchedProtocol<Deployment, Position> {
  readonly reader: {
    readonly targets: ReadonlyMap<number, FamilyTarget<Deployment>>
    read(
      wallets: readonly Address[],
      options: { readonly targets: readonly FamilyTarget<Deployment>[]; readonly work: Work },
    ): Promise<readonly MarketRead<Position>[]>
  }
  readonly getMarket: (deployment: Deployment) => string
  readonly toConfirmedFigures: (position: Position) => ConfirmedFigures
  readonly events: {
    /** Filters for all logs of a market that tell an event of a wallet. */
    readonly createFilters: (deployment: Deployment) => readonly LogFilter[]
    /** Events that answers show, of all wallets; logs of other contracts are ignored. */
    readonly list: (deployment: Deployment, logs: readonly HistoryLog[]) => readonly WatchedEvent[]
  }
}

/** An event of a wallet in a market; `wallet` in lower case. */
interface WatchedEvent extends Pick<HistoryLog, 'blockNumber' | 'logIndex'> {
  readonly wallet: Hex
  readonly type: LendingEventType
}

/** Wallets to read in a market. */
interface WatchedMarket<Deployment> {
  readonly deployment: Deployment
  readonly wallets: readonly Address[]
}

/**
 * Creates the reader of wallets that have an account in each market, for triggers. It reads each of them at every block:
 * prices, terms and rates change a health factor without an event that names its wallet, and interest does without any.
 */
export function createMarketWatcher<Deployment, Position>(protocol: WatchedProtocol<Deployment, Position>): Watcher {
  const { reader, getMarket, toConfirmedFigures, events } = protocol
  const getDeployments = (chainId: number) => reader.targets.get(chainId)?.deployments ?? []

  async function readMarket(
    { deployment, wallets }: WatchedMarket<Deployment>,
    { client, block }: WatchTarget,
    work: Work,
  ) {
    const market = getMarket(deployment)
    const targets = [{ client, deployments: [deployment], block, priority: 'background' as const }]
    const [read] = await reader.read(wallets, { targets, work })
    const positions = new Map((read?.wallets ?? []).map(({ wallet, positions: [position] }) => [wallet, position]))
    const unvalued = new Set((read?.unanswerable ?? []).map(({ wallet }) => wallet))
    return wallets.map((wallet): readonly [string, ConfirmedFigures] => {
      const position = positions.get(wallet)
      if (position !== undefined) return [getKey(market, wallet), toConfirmedFigures(position)]
      return [getKey(market, wallet), unvalued.has(wallet) ? WATCHED_UNKNOWN : EMPTY_CONFIRMED]
    })
  }

  async function confirmMarket({ deployment, wallets }: WatchedMarket<Deployment>, target: WatchTarget, work: Work) {
    try {
      const read = (piece: readonly Address[], within: Work) =>
        readMarket({ deployment, wallets: piece }, target, within)
      return await mapChunks(wallets, PIECES, read, work)
    } catch (error) {
      // A market that does not answer does not stop the others.
      if (!(error instanceof UnavailableError) || !(error.cause instanceof ContractUnresponsiveError)) throw error
      return wallets.map((wallet) => [getKey(getMarket(deployment), wallet), WATCHED_UNKNOWN] as const)
    }
  }

  return {
    chainIds: new Set(reader.targets.keys()),
    async confirm(subjects, target, work) {
      const deployments = getDeployments(target.client.chain.id)
      const byMarket = groupBy(subjects, ({ market_id }) => market_id)
      const tasks = deployments.map((deployment) => (shared: Work) => {
        const own = byMarket.get(getMarket(deployment)) ?? []
        const wallets = [...new Set(own.map(({ wallet }) => wallet as Address))]
        return confirmMarket({ deployment, wallets }, target, shared)
      })
      const figures = new Map((await allOrAbort(tasks, work)).flat())
      return subjects.map(({ market_id = '', wallet = '' }) => figures.get(getKey(market_id, wallet)) ?? 'gone')
    },
    events: {
      filters: (chainId) => getDeployments(chainId).flatMap(events.createFilters),
      read(logs, subjects, { client }) {
        const byKey = new Map(subjects.map((each) => [getKey(each['market_id'] ?? '', each['wallet'] ?? ''), each]))
        const byPlace = new Map(logs.map((log) => [getPlace(log), log]))
        const found = getDeployments(client.chain.id).flatMap((deployment) =>
          events.list(deployment, logs).flatMap((event): SubjectEvent[] => {
            const subject = byKey.get(getKey(getMarket(deployment), event.wallet))
            const log = byPlace.get(getPlace(event))
            if (subject === undefined || log === undefined) return []
            const { blockNumber, blockHash, transactionHash, logIndex } = log
            return [{ subject, type: event.type, blockNumber, blockHash, transactionHash, logIndex }]
          }),
        )
        const sorted = found.sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex)
        return Promise.resolve(sorted)
      },
    },
  }
}

function getPlace({ blockNumber, logIndex }: Pick<HistoryLog, 'blockNumber' | 'logIndex'>): string {
  return `${blockNumber}:${logIndex}`
}

function getKey(market: string, wallet: string): string {
  return `${market}:${wallet.toLowerCase()}`
}
