import type { LensAccess } from '../../../../chain/call/lens.ts'
import { createTimedHistories } from '../../../../finance/liquidity/position_history/timed_histories.ts'
import { createSpamFilter } from '../../../../finance/token/spam_filter.ts'
import { mapChunks } from '../../../../lib/async/chunk.ts'
import type { FamilyServices } from '../../../family.ts'
import { readTargetByLens } from '../../../managed_targets.ts'
import type { ConfirmedFigures, Watcher, WatchSubject, WatchTarget } from '../../../watch.ts'
import { createChangeFilter, decodeLoggedFlows, getPositionKey } from '../../event/watch.ts'
import { toConfirmedFigures, WATCHED_UNKNOWN } from '../../present/watched.ts'
import type { UniswapV3Deployment } from '../../table/deployments.ts'
import type { Position } from '../position.ts'
import { createUniswapV3HistoryReader } from '../position_history/reader.ts'
import { LENS } from '../queries.ts'
import { createPositionReader } from '../read.ts'
import { createForecaster } from './forecaster.ts'
import { type NamedPositionsRead, readNamed } from './read_named.ts'
import { createWithdrawnReader } from './withdrawn.ts'

/** Positions of one reading, as many as one call holds, and readings at the same time. */
const PIECES = { size: 500, running: 3 } as const

/** Reads positions for triggers. */
export function createWatcher(
  options: Pick<FamilyServices, 'clients' | 'clock' | 'db' | 'history'> & {
    readonly deployments: ReadonlyMap<number, readonly UniswapV3Deployment[]>
  },
): Watcher {
  const { deployments, clock } = options
  const reader = createPositionReader(options)
  const { judge } = createSpamFilter()
  const timedLives = createTimedHistories({ lives: createUniswapV3HistoryReader(options), clock })
  const withdrawnOf = createWithdrawnReader({ timedLives, clock })
  const here = (chainId: number) => deployments.get(chainId) ?? []

  const placeOf = ({ client, block }: WatchTarget) => ({
    client,
    deployments: here(client.chain.id),
    block,
    priority: 'background' as const,
    together: true as const,
  })

  async function readPicked(
    named: readonly Pick<Position, 'deployment' | 'tokenId'>[],
    at: WatchTarget,
    signal: AbortSignal,
  ): Promise<NamedPositionsRead> {
    const place = placeOf(at)
    const picks = named.map(({ deployment, tokenId }) => ({ manager: place.deployments.indexOf(deployment), tokenId }))
    const asked = { place, judge, isPriced: true }
    if (picks.length === 0) return { positions: new Map(), gone: new Set() }
    const read = (lens: LensAccess) => readNamed(lens, { picks, block: at.block }, asked)
    return await readTargetByLens(place, { ...LENS, clock, read }, signal)
  }

  /** The same with all that their figures need. */
  async function readWhole(
    named: readonly Pick<Position, 'deployment' | 'tokenId'>[],
    at: WatchTarget,
    signal: AbortSignal,
  ): Promise<readonly (ConfirmedFigures | 'gone')[]> {
    const { positions, gone } = await readPicked(named, at, signal)
    const found = [...positions.values()]
    const [priced, withdrawn] = await Promise.all([
      reader.priceByPools(found, { places: [placeOf(at)], reads: [at], signal }),
      withdrawnOf(found, { client: at.client, block: at.block.number }, signal),
    ])
    const confirmed = new Map(
      [...positions.keys()].map((name, index) => {
        const position = priced[index]
        return [name, position && toConfirmedFigures({ position, withdrawn: withdrawn[index] })]
      }),
    )
    return named.map(({ deployment, tokenId }) => {
      const name = getPositionKey(deployment.manager, tokenId)
      return gone.has(name) ? 'gone' : (confirmed.get(name) ?? WATCHED_UNKNOWN)
    })
  }

  return {
    chainIds: new Set(reader.places.keys()),
    async confirm(subjects, place, signal) {
      const managers = new Map(here(place.client.chain.id).map((each) => [each.manager.toLowerCase(), each]))
      const asked = new Map<string, Pick<Position, 'deployment' | 'tokenId'>>()
      for (const { manager_address = '', token_id = '' } of subjects) {
        const deployment = managers.get(manager_address.toLowerCase())
        if (deployment === undefined) continue
        asked.set(getPositionKey(manager_address, token_id), { deployment, tokenId: BigInt(token_id) })
      }
      const read = (piece: readonly Pick<Position, 'deployment' | 'tokenId'>[], within: AbortSignal) =>
        readWhole(piece, place, within)
      const confirmed = await mapChunks([...asked.values()], PIECES, read, signal)
      const found = new Map([...asked.keys()].map((name, index) => [name, confirmed[index]]))
      return subjects.map((subject) => found.get(nameIn(subject)) ?? 'gone')
    },
    screen: createForecaster({ deployments, read: readPicked }),
    events: {
      filters: (chainId) => [createChangeFilter(here(chainId))],
      async happenings(logs, subjects, { client }) {
        const byName = new Map(subjects.map((subject) => [nameIn(subject), subject]))
        return decodeLoggedFlows(logs, here(client.chain.id)).flatMap(({ name, kind, log }) => {
          const subject = byName.get(name)
          if (subject === undefined) return []
          const { blockNumber, blockHash, transactionHash, logIndex } = log
          return { subject, type: kind, blockNumber, blockHash, transactionHash, logIndex }
        })
      },
    },
  }
}

function nameIn({ manager_address = '', token_id = '' }: WatchSubject): string {
  return getPositionKey(manager_address, token_id)
}
