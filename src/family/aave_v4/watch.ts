import type { Address } from 'viem'
import { ContractUnresponsiveError } from '../../chain/rpc/client.ts'
import { allOrAbort, mapChunks } from '../../lib/async/parallel.ts'
import type { Work } from '../../lib/async/work.ts'
import { UnavailableError } from '../../lib/error.ts'
import { groupBy } from '../../lib/group_by.ts'
import { WATCHED_UNKNOWN } from '../lending/watched.ts'
import type { ConfirmedFigures, Watcher, WatchTarget } from '../watch.ts'
import { EMPTY_CONFIRMED, toConfirmedFigures } from './present/present.ts'
import { createSpokeReader } from './read/read.ts'
import type { AaveV4Spoke } from './table.ts'

/** Wallets of one reading, as many as a batch of the routes may have, and concurrent readings. */
const PIECES = { size: 500, runningMax: 3 } as const

/** Wallets to read in a spoke. */
interface WatchedSpoke {
  readonly spoke: AaveV4Spoke
  readonly wallets: readonly Address[]
}

/**
 * Creates the reader of wallets in spokes, for triggers. It reads each of them at every block: prices, risk premiums and
 * collateral factors change a health factor without an event that names its wallet, and interest does without any.
 */
export function createWatcher(options: Parameters<typeof createSpokeReader>[0]): Watcher {
  const reader = createSpokeReader(options)

  async function readSpoke({ spoke, wallets }: WatchedSpoke, { client, block }: WatchTarget, work: Work) {
    const targets = [{ client, deployments: [spoke], block, priority: 'background' as const }]
    const [read] = await reader.read(wallets, { targets, work })
    const positions = new Map((read?.wallets ?? []).map(({ wallet, positions: [position] }) => [wallet, position]))
    const unvalued = new Set((read?.unanswerable ?? []).map(({ wallet }) => wallet))
    return wallets.map((wallet): readonly [string, ConfirmedFigures] => {
      const position = positions.get(wallet)
      if (position !== undefined) return [getKey(spoke.name, wallet), toConfirmedFigures(position)]
      return [getKey(spoke.name, wallet), unvalued.has(wallet) ? WATCHED_UNKNOWN : EMPTY_CONFIRMED]
    })
  }

  async function confirmSpoke({ spoke, wallets }: WatchedSpoke, target: WatchTarget, work: Work) {
    try {
      const read = (piece: readonly Address[], within: Work) => readSpoke({ spoke, wallets: piece }, target, within)
      return await mapChunks(wallets, PIECES, read, work)
    } catch (error) {
      // A spoke that does not answer does not stop the others.
      if (!(error instanceof UnavailableError) || !(error.cause instanceof ContractUnresponsiveError)) throw error
      return wallets.map((wallet) => [getKey(spoke.name, wallet), WATCHED_UNKNOWN] as const)
    }
  }

  return {
    chainIds: new Set(reader.targets.keys()),
    async confirm(subjects, target, work) {
      const spokes = reader.targets.get(target.client.chain.id)?.deployments ?? []
      const bySpoke = groupBy(subjects, ({ market_id }) => market_id)
      const tasks = spokes.map((spoke) => (shared: Work) => {
        const wallets = [...new Set((bySpoke.get(spoke.name) ?? []).map(({ wallet }) => wallet as Address))]
        return confirmSpoke({ spoke, wallets }, target, shared)
      })
      const figures = new Map((await allOrAbort(tasks, work)).flat())
      return subjects.map(({ market_id = '', wallet = '' }) => figures.get(getKey(market_id, wallet)) ?? 'gone')
    },
  }
}

function getKey(market: string, wallet: string): string {
  return `${market}:${wallet.toLowerCase()}`
}
