import { allOrAbort, mapChunks } from '../../lib/async/parallel.ts'
import type { Work } from '../../lib/async/work.ts'
import type { FamilyServices } from '../contract.ts'
import { createFigureFormulas, toConfirmedFigures, WATCHED_UNKNOWN } from '../liquidity/watched.ts'
import type { ConfirmedFigures, Watcher, WatchSubject, WatchTarget } from '../watch.ts'
import { createEventFilter, listChangeEvents } from './event.ts'
import { mayChangeWithdrawal } from './math/hooks.ts'
import { PROTOCOL } from './protocol.ts'
import { createNamedReader } from './read/named.ts'
import type { Position } from './read/position.ts'
import type { UniswapV4Deployment } from './table.ts'

/** Positions of one request, and concurrent ones. */
const CHUNKS = { size: 100, runningMax: 3 } as const

/** Positions whose withdrawals are executed in one read, those of each owner in a call of their own. */
const HOOKED_CHUNKS = { size: 25, runningMax: 2 } as const

/** Creates a reader of positions for triggers. There is no forecaster: positions are confirmed at each block. */
export function createWatcher(
  options: Pick<FamilyServices, 'clients' | 'clock' | 'firstBlocks' | 'testimony'> & {
    readonly deployments: ReadonlyMap<number, UniswapV4Deployment>
  },
): Watcher {
  const { deployments, clock } = options
  const listed = new Map([...deployments].map(([chainId, each]) => [chainId, [each]] as const))
  const reader = PROTOCOL.createReader({ ...options, deployments: listed })
  const readNamed = createNamedReader(clock)

  async function readWhole(
    tokenIds: readonly bigint[],
    { client, block }: WatchTarget,
    work: Work,
  ): Promise<readonly (ConfirmedFigures | 'gone')[]> {
    const target = {
      client,
      deployments: listed.get(client.chain.id) ?? [],
      block,
      priority: 'background' as const,
      isBundled: true as const,
    }
    const reads = await readNamed(tokenIds, target, work)
    const positions = reads.flatMap((each) => (typeof each === 'string' ? [] : [each]))
    const readFull = (some: readonly Position[], within: Work) =>
      reader.readFull(some, { targets: [target], reads: [{ block }], work: within })
    const plain = positions.filter(({ pool }) => !mayChangeWithdrawal(pool.hooks))
    const hooked = positions.filter(({ pool }) => mayChangeWithdrawal(pool.hooks))
    const tasks = [
      (within: Work) => readFull(plain, within),
      (within: Work) => mapChunks(hooked, HOOKED_CHUNKS, readFull, within),
    ]
    const full = (await allOrAbort(tasks, work)).flat()
    const confirmed = new Map(
      full.map(({ position, withdrawal }) => {
        return [position.tokenId, toConfirmedFigures(createFigureFormulas(PROTOCOL, position, { withdrawal }))]
      }),
    )
    return reads.map((each, index) =>
      each === 'none' ? 'gone' : (confirmed.get(tokenIds[index] ?? -1n) ?? WATCHED_UNKNOWN),
    )
  }

  return {
    chainIds: new Set(reader.targets.keys()),
    async confirm(subjects, target, work) {
      const isServed = createManagerCheck(deployments.get(target.client.chain.id))
      const tokenIds = [...new Set(subjects.filter(isServed).map(({ token_id = '' }) => BigInt(token_id)))]
      const read = (chunk: readonly bigint[], within: Work) => readWhole(chunk, target, within)
      const found = await mapChunks(tokenIds, CHUNKS, read, work)
      const foundById = new Map(tokenIds.map((id, index) => [id, found[index]]))
      return subjects.map((subject) => {
        return (isServed(subject) ? foundById.get(BigInt(subject['token_id'] ?? '')) : undefined) ?? 'gone'
      })
    },
    events: {
      filters(chainId) {
        const deployment = deployments.get(chainId)
        return deployment === undefined ? [] : [createEventFilter(deployment)]
      },
      async read(logs, subjects, { client }) {
        const deployment = deployments.get(client.chain.id)
        if (deployment === undefined) return []
        const served = subjects.filter(createManagerCheck(deployment))
        const subjectsById = new Map(served.map((subject) => [BigInt(subject['token_id'] ?? ''), subject]))
        return listChangeEvents(logs, deployment).flatMap(({ tokenId, type, log }) => {
          const subject = subjectsById.get(tokenId)
          if (subject === undefined) return []
          const { blockNumber, blockHash, transactionHash, logIndex } = log
          return [{ subject, type, blockNumber, blockHash, transactionHash, logIndex }]
        })
      },
    },
  }
}

/** Creates a check whether a subject is a position of the manager: a stored one may be of another configuration. */
function createManagerCheck(deployment: UniswapV4Deployment | undefined): (subject: WatchSubject) => boolean {
  const manager = deployment?.positionManager.toLowerCase()
  return ({ manager_address = '' }) => manager_address.toLowerCase() === manager
}
