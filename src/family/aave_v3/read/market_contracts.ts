import { ContractUnresponsiveError } from '../../../chain/rpc/client.ts'
import type { FinanceClient } from '../../../finance/chain.ts'
import { createCache } from '../../../lib/async/cache.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UnavailableError } from '../../../lib/error.ts'
import type { EventsTarget } from '../../lending/read_events.ts'
import type { LendingTarget } from '../event/target.ts'
import type { AaveV3Deployment } from '../table.ts'
import { createMarketReader } from './read_market.ts'

/** Listings of reserves and changes of a market's contracts are rare; a sweep finds subjects missed meanwhile. */
const KNOWN_MS = 3_600_000
/** Time before a market that does not answer is read again. */
const SILENT_MS = 60_000
const MARKETS_MAX = 1_000

/** The contracts of a market that watching needs. */
export type MarketFacts = EventsTarget<LendingTarget>

/** Cached contracts of the markets. */
export type MarketContracts = ReturnType<typeof createMarketContracts>

/** Creates it with an empty cache. */
export function createMarketContracts(clock: Clock) {
  const markets = createMarketReader(clock)
  const cache = createCache<MarketFacts | undefined>({ clock, entriesMax: MARKETS_MAX })
  const lastTargets = new Map<number, readonly LendingTarget[]>()

  async function readFacts(client: FinanceClient, deployment: AaveV3Deployment, work: Work) {
    try {
      const { target, source } = await markets.read(client, deployment, work)
      return { value: { target, source }, lifeMs: KNOWN_MS }
    } catch (error) {
      if (error instanceof UnavailableError && error.cause instanceof ContractUnresponsiveError)
        return { value: undefined, lifeMs: SILENT_MS }
      throw error
    }
  }

  return {
    /** The markets that answer, by name; reads them once an hour. Throws `UnavailableError`. */
    async read(
      client: FinanceClient,
      deployments: readonly AaveV3Deployment[],
      work: Work,
    ): Promise<ReadonlyMap<string, MarketFacts>> {
      const entries = await Promise.all(
        deployments.map(async (deployment) => {
          const key = `${client.chain.id}:${deployment.poolAddressesProvider}`
          const read = (shared: Work) => readFacts(client, deployment, shared)
          return [deployment.market, await cache.get({ key, read }, work)] as const
        }),
      )
      const facts = new Map(entries.flatMap(([market, each]) => (each === undefined ? [] : [[market, each] as const])))
      lastTargets.set(
        client.chain.id,
        [...facts.values()].map(({ target }) => target),
      )
      return facts
    },
    /** The targets of the last result, from memory. */
    getLastTargets: (chainId: number): readonly LendingTarget[] => lastTargets.get(chainId) ?? [],
  }
}
