import { createBlockCache, type Fresh } from '../../../chain/block_cache.ts'
import { LENS_WAYS, type LensAccess, type LensWay, ladderOf, readByRung } from '../../../chain/call/lens.ts'
import type { FinanceClient } from '../../../finance/chain.ts'
import { priceSourcesOf } from '../../../finance/price/price_sources.ts'
import type { Clock } from '../../../lib/clock.ts'
import { createPastPlaces, type PastPlaces } from '../../past.ts'
import { type FamilyPlace, placesOf, readingOf } from '../../place.ts'
import type { MorphoBlueDeployment } from '../table/deployments.ts'
import { decodeLens, encodeRead, type PositionKey } from './abi.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'
import { interpret, type PositionRead } from './position.ts'
import type { RawRead } from './state.ts'

/** Time for one position over all tries. */
const BUDGET_MS = 4_000
/** Positions that are kept until the next block. */
const CACHE_ENTRIES_MAX = 10_000

/** Where a chain's markets are read; its one deployment is Morpho. */
type MorphoBluePlace = FamilyPlace<MorphoBlueDeployment>

/** Reads positions in Morpho's markets. */
export interface PositionReader {
  /** Chains that have this family, by id. */
  readonly places: ReadonlyMap<number, MorphoBluePlace>
  readonly past: PastPlaces<MorphoBlueDeployment>
  /**
   * One wallet's position in one market (its id in lower case) and everything that its figures depend on, at one block,
   * in one request if the endpoint overrides state. Throws `UnavailableError` that names the chain.
   */
  read(place: MorphoBluePlace, asked: AskedPosition, signal: AbortSignal): Promise<Fresh<PositionRead>>
}

type AskedPosition = Omit<PositionKey, 'morpho'>

/** Makes a reader over the chains that are configured and have Morpho. `ways` narrows the ways of reading. */
export function createPositionReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly deployments: ReadonlyMap<number, MorphoBlueDeployment>
  readonly clock: Clock
  readonly ways?: readonly LensWay[]
}): PositionReader {
  const { clients, deployments, clock, ways = LENS_WAYS } = options
  const places = placesOf(clients, new Map([...deployments].map(([id, deployment]) => [id, [deployment]])))
  const cache = createBlockCache<PositionRead>({ clock, entriesMax: CACHE_ENTRIES_MAX })

  return {
    places,
    past: createPastPlaces<MorphoBlueDeployment>({ name: 'Morpho Blue', clock, contractOf: ({ morpho }) => morpho }),
    read(place, asked, signal) {
      const { client, block } = place
      const { chain } = client
      const question = questionOf(place, asked)
      const byLens = async ({ call, at, observeBlock }: LensAccess): Promise<RawRead> => {
        const data = encodeRead(question, priceSourcesOf(chain.prices))
        const raw = decodeLens(await call({ data, block: at ?? 'latest', isLight: true }))
        observeBlock(raw.block)
        return raw
      }
      const read = (shared: AbortSignal): Promise<PositionRead> =>
        client.read(
          async (endpoint, attemptSignal) => {
            const rungs = ladderOf({ ways, endpoint, chainId: chain.id, at: block, runtime: LENS_RUNTIME, byLens })
            const raw = await readByRung(endpoint, { topic: 'morpho_blue', rungs, clock }, attemptSignal)
            return interpret(raw, { chain, question })
          },
          { signal: shared, budgetMs: BUDGET_MS, ...readingOf(place) },
        )
      return cache.reuse({ ...keptAs(place, question), read }, signal)
    },
  }
}

function questionOf({ client, deployments: [deployment] }: MorphoBluePlace, asked: AskedPosition): PositionKey {
  if (deployment === undefined) throw new Error(`Cannot read chain ${client.chain.id}: it has no Morpho`)
  return { morpho: deployment.morpho, ...asked }
}

/** Under which chain and key a reading is kept. */
function keptAs({ client, block }: MorphoBluePlace, { morpho, marketId, wallet }: PositionKey) {
  return { chain: client.chain, key: `morpho_blue:${block?.hash ?? ''}:${morpho}:${marketId}:${wallet}` }
}
