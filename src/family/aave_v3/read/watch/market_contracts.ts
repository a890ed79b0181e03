import { ContractUnresponsiveError } from '../../../../chain/rpc/client.ts'
import type { FinanceClient } from '../../../../finance/chain.ts'
import type { EventsPlace } from '../../../../finance/lending/read_events.ts'
import { createCache } from '../../../../lib/async/cache.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { UnavailableError } from '../../../../lib/error.ts'
import type { LendingTarget } from '../../event/target.ts'
import type { AaveV3Deployment } from '../../table/deployments.ts'
import { createMarketReader } from '../read_market.ts'

/** Reserves are listed, and a market's contracts change, rarely; whatever is missed, a sweep finds. */
const KNOWN_MS = 3_600_000
/** What does not answer is asked again after a while. */
const SILENT_MS = 60_000
const MARKETS_MAX = 1_000

/** The contracts of a market, as far as watching needs them. */
export type MarketFacts = EventsPlace<LendingTarget>

/** Knows which contracts are a market's. */
export type MarketContracts = ReturnType<typeof createMarketContracts>

/** Makes it with an empty memory. */
export function createMarketContracts(clock: Clock) {
  const markets = createMarketReader(clock)
  const cache = createCache<MarketFacts | undefined>({ clock, entriesMax: MARKETS_MAX })
  const known = new Map<number, readonly LendingTarget[]>()

  async function factsOf(client: FinanceClient, deployment: AaveV3Deployment, signal: AbortSignal) {
    try {
      const { place, asker } = await markets.read(client, deployment, signal)
      return { value: { place, asker }, lifeMs: KNOWN_MS }
    } catch (error) {
      if (error instanceof UnavailableError && error.cause instanceof ContractUnresponsiveError)
        return { value: undefined, lifeMs: SILENT_MS }
      throw error
    }
  }

  return {
    /** The markets that answer, by name; asks once in an hour. Throws `UnavailableError`. */
    async of(
      client: FinanceClient,
      deployments: readonly AaveV3Deployment[],
      signal: AbortSignal,
    ): Promise<ReadonlyMap<string, MarketFacts>> {
      const found = await Promise.all(
        deployments.map(async (deployment) => {
          const key = `${client.chain.id}:${deployment.poolAddressesProvider}`
          const read = (shared: AbortSignal) => factsOf(client, deployment, shared)
          return [deployment.market, await cache.get({ key, read }, signal)] as const
        }),
      )
      const facts = new Map(found.flatMap(([market, each]) => (each === undefined ? [] : [[market, each] as const])))
      known.set(
        client.chain.id,
        [...facts.values()].map(({ place }) => place),
      )
      return facts
    },
    /** The places of those that were told last, without asking. */
    last: (chainId: number): readonly LendingTarget[] => known.get(chainId) ?? [],
  }
}
