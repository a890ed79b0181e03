import type { LensAccess } from '../../../../chain/call/lens.ts'
import { createSpamFilter } from '../../../../finance/token/spam_filter.ts'
import { mapChunks } from '../../../../lib/async/chunk.ts'
import type { FamilyServices } from '../../../contract.ts'
import type { ConfirmedFigures, Watcher, WatchSubject, WatchTarget } from '../../../watch.ts'
import type { LiquidityProtocol } from '../../protocol.ts'
import { readTargetByLens } from '../../targets.ts'
import { createWithdrawnReader } from '../../withdrawn.ts'
import type { EnumerableDeployment, EnumerableExchange } from '../exchange.ts'
import type { BriefPosition, Position } from '../read/position.ts'
import { createPositionReader } from '../read/read.ts'
import { toConfirmedFigures, WATCHED_UNKNOWN } from './figures.ts'
import { createForecaster } from './forecaster.ts'
import { createChangeFilter, decodeLoggedFlows, getPositionKey } from './logs.ts'
import { type NamedPositionsRead, readNamed } from './read_named.ts'

/** Positions of one read, as many as one call holds, and concurrent reads. */
const CHUNKS = { size: 500, runningMax: 3 } as const

/** Creates a reader of an exchange's positions for triggers; `protocol` is made of the exchange. */
export function createWatcher(
  {
    exchange,
    protocol,
  }: {
    readonly exchange: EnumerableExchange
    readonly protocol: LiquidityProtocol<EnumerableDeployment, BriefPosition, Position, never>
  },
  options: Pick<FamilyServices, 'clients' | 'clock' | 'db' | 'history'> & {
    readonly deployments: ReadonlyMap<number, readonly EnumerableDeployment[]>
  },
): Watcher {
  const { deployments, clock } = options
  const reader = createPositionReader(exchange, options)
  const { classify: classifyToken } = createSpamFilter()
  const readWithdrawn = createWithdrawnReader(protocol, options)
  const getDeployments = (chainId: number) => deployments.get(chainId) ?? []

  const toTarget = ({ client, block }: WatchTarget) => ({
    client,
    deployments: getDeployments(client.chain.id),
    block,
    priority: 'background' as const,
    isBundled: true as const,
  })

  async function readPositions(
    named: readonly Pick<Position, 'deployment' | 'tokenId'>[],
    watchTarget: WatchTarget,
    signal: AbortSignal,
  ): Promise<NamedPositionsRead> {
    const target = toTarget(watchTarget)
    const refs = named.map(({ deployment, tokenId }) => ({ manager: target.deployments.indexOf(deployment), tokenId }))
    const context = { target, classifyToken, isPriced: true }
    if (refs.length === 0) return { positions: new Map(), gone: new Set() }
    const read = (lens: LensAccess) => readNamed(lens, { refs, block: watchTarget.block }, context)
    return await readTargetByLens(target, { ...exchange.lens, clock, read }, signal)
  }

  /** Reads positions with all inputs of their figures. */
  async function readWhole(
    named: readonly Pick<Position, 'deployment' | 'tokenId'>[],
    watchTarget: WatchTarget,
    signal: AbortSignal,
  ): Promise<readonly (ConfirmedFigures | 'gone')[]> {
    const { positions, gone } = await readPositions(named, watchTarget, signal)
    const positionList = [...positions.values()]
    const [priced, withdrawn] = await Promise.all([
      reader.readFull(positionList, { targets: [toTarget(watchTarget)], reads: [watchTarget], signal }),
      readWithdrawn(positionList, { client: watchTarget.client, block: watchTarget.block.number }, signal),
    ])
    const confirmed = new Map(
      [...positions.keys()].map((key, index) => {
        const full = priced[index]
        return [key, full && toConfirmedFigures({ position: full.position, withdrawn: withdrawn[index] })]
      }),
    )
    return named.map(({ deployment, tokenId }) => {
      const key = getPositionKey(deployment.manager, tokenId)
      return gone.has(key) ? 'gone' : (confirmed.get(key) ?? WATCHED_UNKNOWN)
    })
  }

  return {
    chainIds: new Set(reader.targets.keys()),
    async confirm(subjects, target, signal) {
      const managers = new Map(getDeployments(target.client.chain.id).map((each) => [each.manager.toLowerCase(), each]))
      const requested = new Map<string, Pick<Position, 'deployment' | 'tokenId'>>()
      for (const { manager_address = '', token_id = '' } of subjects) {
        const deployment = managers.get(manager_address.toLowerCase())
        if (deployment === undefined) continue
        requested.set(getPositionKey(manager_address, token_id), { deployment, tokenId: BigInt(token_id) })
      }
      const read = (chunk: readonly Pick<Position, 'deployment' | 'tokenId'>[], within: AbortSignal) =>
        readWhole(chunk, target, within)
      const confirmed = await mapChunks([...requested.values()], CHUNKS, read, signal)
      const confirmedByKey = new Map([...requested.keys()].map((key, index) => [key, confirmed[index]]))
      return subjects.map((subject) => confirmedByKey.get(getSubjectKey(subject)) ?? 'gone')
    },
    forecaster: createForecaster({ deployments, read: readPositions }),
    events: {
      filters: (chainId) => [createChangeFilter(getDeployments(chainId))],
      async read(logs, subjects, { client }) {
        const subjectsByKey = new Map(subjects.map((subject) => [getSubjectKey(subject), subject]))
        return decodeLoggedFlows(logs, getDeployments(client.chain.id)).flatMap(({ key, kind, log }) => {
          const subject = subjectsByKey.get(key)
          if (subject === undefined) return []
          const { blockNumber, blockHash, transactionHash, logIndex } = log
          return { subject, type: kind, blockNumber, blockHash, transactionHash, logIndex }
        })
      },
    },
  }
}

function getSubjectKey({ manager_address = '', token_id = '' }: WatchSubject): string {
  return getPositionKey(manager_address, token_id)
}
