import { type Address, zeroAddress } from 'viem'
import type { PinnedBlock } from '../../../../chain/block.ts'
import type { LensAccess } from '../../../../chain/call/lens.ts'
import type { Pair } from '../../../../finance/math/pnl/flow.ts'
import type { PricedToken } from '../../../../finance/token/priced_token.ts'
import { createSpamFilter } from '../../../../finance/token/spam.ts'
import { runCooperatively } from '../../../../lib/async/cooperative.ts'
import { mapChunks } from '../../../../lib/async/parallel.ts'
import type { Work } from '../../../../lib/async/work.ts'
import type { FamilyServices } from '../../../contract.ts'
import type {
  ConfirmedFigures,
  FigureForecast,
  FigureForecaster,
  FigureValue,
  Watcher,
  WatchSubject,
  WatchTarget,
} from '../../../watch.ts'
import { readTargetByLens } from '../../targets.ts'
import { computeFigure, createFigureFormulas, toConfirmedFigures, WATCHED_UNKNOWN } from '../../watched.ts'
import { createWithdrawnReader } from '../../withdrawn.ts'
import type { EnumerableDeployment, EnumerableExchange } from '../exchange.ts'
import type { EnumerableProtocol } from '../mod.ts'
import type { PositionRefs } from '../read/abi.ts'
import { interpret, type Position } from '../read/position.ts'
import { type LensQueryContext, readSelected, toInterpretOptions } from '../read/queries.ts'
import { createPositionReader } from '../read/read.ts'
import { createChangeFilter, decodeLoggedFlows, getPositionKey, listChangedPositions } from './logs.ts'

/** Positions of one read, as many as one call holds, and concurrent reads. */
const CHUNKS = { size: 500, runningMax: 3 } as const

/** Creates a reader of an exchange's positions for triggers; `protocol` is made of the exchange. */
export function createWatcher(
  {
    exchange,
    protocol,
  }: {
    readonly exchange: EnumerableExchange
    readonly protocol: EnumerableProtocol
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
    work: Work,
  ): Promise<NamedPositionsRead> {
    const target = toTarget(watchTarget)
    const refs = named.map(({ deployment, tokenId }) => ({ manager: target.deployments.indexOf(deployment), tokenId }))
    const context = { target, classifyToken, isPriced: true }
    if (refs.length === 0) return { positions: new Map(), gone: new Set() }
    const read = (lens: LensAccess) => readNamed(lens, { refs, block: watchTarget.block }, context)
    return await readTargetByLens(target, { ...exchange.lens, clock, read }, work)
  }

  /** Reads positions with all inputs of their figures. */
  async function readWhole(
    named: readonly Pick<Position, 'deployment' | 'tokenId'>[],
    watchTarget: WatchTarget,
    work: Work,
  ): Promise<readonly (ConfirmedFigures | 'gone')[]> {
    const { positions, gone } = await readPositions(named, watchTarget, work)
    const positionList = [...positions.values()]
    const [priced, withdrawn] = await Promise.all([
      reader.readFull(positionList, { targets: [toTarget(watchTarget)], reads: [watchTarget], work }),
      readWithdrawn(positionList, { client: watchTarget.client, block: watchTarget.block.number }, work),
    ])
    const confirmed = new Map(
      [...positions.keys()].map((key, index) => {
        const full = priced[index]
        if (full === undefined) return [key, WATCHED_UNKNOWN]
        const memo: WatchedPosition = { position: full.position, withdrawn: withdrawn[index] }
        return [key, toConfirmedFigures(createFigureFormulas(protocol, memo.position, memo), memo)]
      }),
    )
    return named.map(({ deployment, tokenId }) => {
      const key = getPositionKey(deployment.manager, tokenId)
      return gone.has(key) ? 'gone' : (confirmed.get(key) ?? WATCHED_UNKNOWN)
    })
  }

  return {
    chainIds: new Set(reader.targets.keys()),
    async confirm(subjects, target, work) {
      const managers = new Map(getDeployments(target.client.chain.id).map((each) => [each.manager.toLowerCase(), each]))
      const requested = new Map<string, Pick<Position, 'deployment' | 'tokenId'>>()
      for (const { manager_address = '', token_id = '' } of subjects) {
        const deployment = managers.get(manager_address.toLowerCase())
        if (deployment === undefined) continue
        requested.set(getPositionKey(manager_address, token_id), { deployment, tokenId: BigInt(token_id) })
      }
      const read = (chunk: readonly Pick<Position, 'deployment' | 'tokenId'>[], within: Work) =>
        readWhole(chunk, target, within)
      const confirmed = await mapChunks([...requested.values()], CHUNKS, read, work)
      const confirmedByKey = new Map([...requested.keys()].map((key, index) => [key, confirmed[index]]))
      return subjects.map((subject) => confirmedByKey.get(getSubjectKey(subject)) ?? 'gone')
    },
    forecaster: createForecaster({ protocol, deployments, read: readPositions }),
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

/** A position, and the withdrawn principal among its owed amounts; undefined if not known. */
interface WatchedPosition {
  readonly position: Position
  readonly withdrawn: Pair<bigint> | undefined
}

/** The fee rule of the exchange. */
type FeeRule = Pick<EnumerableProtocol, 'computeHeldAmounts' | 'splitOwed'>

/** Reads positions by manager and id. */
type ReadNamed = (
  names: readonly Pick<Position, 'deployment' | 'tokenId'>[],
  target: WatchTarget,
  work: Work,
) => Promise<NamedPositionsRead>

/** Pool and tokens that all positions of a pool share at a block. */
interface PoolNow extends Pick<Position, 'pool' | 'token0' | 'token1'> {}

/** Figures that depend only on the pool's price or tick. */
const BY_PRICE: ReadonlySet<string> = new Set(['in_range', 'is_active', 'distance_to_edge_percentage'])

/**
 * Creates a forecaster of positions' figures from their pools; it reads one position of each pool. It cannot see the
 * earnings of a range that the price crossed and left again within one block.
 */
function createForecaster(options: {
  readonly protocol: FeeRule
  readonly deployments: ReadonlyMap<number, readonly EnumerableDeployment[]>
  readonly read: ReadNamed
}): FigureForecaster {
  const { protocol, deployments, read } = options
  const getDeployments = (chainId: number) => deployments.get(chainId) ?? []
  return {
    async readShared(memos, target, work) {
      const samples = new Map<Address, Position>()
      for (const memo of memos as Iterable<WatchedPosition | undefined>) {
        if (memo !== undefined) samples.set(memo.position.pool.address, memo.position)
      }
      const { positions } = await read([...samples.values()], target, work)
      return createForecast(protocol, new Map([...positions.values()].map((each) => [each.pool.address, each])))
    },
    filters: (chainId) => [createChangeFilter(getDeployments(chainId))],
    toTouchedCheck(logs, chainId) {
      const changed = listChangedPositions(logs, getDeployments(chainId))
      return ({ manager_address = '', token_id = '' }) =>
        changed.size > 0 && changed.has(getPositionKey(manager_address, token_id))
    },
  }
}

function createForecast(protocol: FeeRule, pools: ReadonlyMap<Address, PoolNow>): FigureForecast {
  return {
    estimate(memo, figure) {
      const watched = memo as WatchedPosition | undefined
      const now = watched === undefined ? undefined : pools.get(watched.position.pool.address)
      return watched === undefined || now === undefined ? undefined : forecast(protocol, { watched, now }, figure)
    },
  }
}

/** Computes a figure of an unchanged position with the current state of its pool. */
function forecast(
  protocol: FeeRule,
  { watched: { position, withdrawn }, now }: { readonly watched: WatchedPosition; readonly now: PoolNow },
  figure: string,
): FigureValue {
  if (!BY_PRICE.has(figure) && !isComparable(position, now)) return undefined
  const moved = { ...position, pool: now.pool, token0: now.token0, token1: now.token1 }
  return computeFigure(createFigureFormulas(protocol, moved, { withdrawn }), figure)
}

/**
 * False if the price crossed an edge, because the counters there changed; or if a token was priced by a pool, because
 * that takes a read of its own.
 */
function isComparable({ pool, tickLower, tickUpper, ...was }: Position, now: PoolNow): boolean {
  const getSide = (tick: number): string => `${tick < tickLower}${tick < tickUpper}`
  const isPriced = (before: PricedToken, after: PricedToken): boolean =>
    (before.price === undefined) === (after.price === undefined)
  return (
    getSide(pool.tick) === getSide(now.pool.tick) &&
    isPriced(was.token0, now.token0) &&
    isPriced(was.token1, now.token1)
  )
}

/** Positions that were read, by `getPositionKey`. */
interface NamedPositionsRead {
  readonly positions: ReadonlyMap<string, Position>
  /** Positions unknown to a manager that answers. */
  readonly gone: ReadonlySet<string>
}

/** Reads positions by id, regardless of owner, at a block. */
async function readNamed(
  lens: LensAccess,
  { refs, block }: { readonly refs: PositionRefs; readonly block: PinnedBlock },
  context: LensQueryContext,
): Promise<NamedPositionsRead> {
  const { deployments } = context.target
  const raw = await readSelected(lens, { owner: zeroAddress, refs, block }, context)
  const { positions } = await runCooperatively(interpret(raw, toInterpretOptions(context, 'included')))
  const gone = raw.broken.filter(
    ({ part, manager }) => part === 'position' && raw.managers[manager]?.balance !== undefined,
  )
  return {
    positions: new Map(positions.map((each) => [getPositionKey(each.deployment.manager, each.tokenId), each])),
    gone: new Set(gone.map(({ manager, tokenId }) => getPositionKey(deployments[manager]?.manager ?? '', tokenId))),
  }
}
