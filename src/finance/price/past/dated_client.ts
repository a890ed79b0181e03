import type { FinanceClient, UsdFeed } from '../../chain.ts'

/** The longest heartbeat that a feed of the table has had, seconds. */
export const PAST_HEARTBEAT_SEC = 86_400

const datedClients = new WeakMap<FinanceClient, FinanceClient>()

/**
 * Returns the client for reads that name their moment: a block, a time, a midnight, a flow. Heartbeats are those of
 * today, and feeds have become quicker: a round counts at a past block as long as the slowest feed would have let it,
 * so that prices depend on the block and the feed's row alone. Live reads keep the heartbeats of today.
 */
export function toDatedClient<Client extends FinanceClient>(client: Client): Client {
  const known = datedClients.get(client)
  if (known !== undefined) return known as Client
  const { chain } = client
  const toDatedFeed = ([token, { feed, heartbeatSec }]: [string, UsdFeed]) =>
    [token, { feed, heartbeatSec: Math.max(heartbeatSec, PAST_HEARTBEAT_SEC) }] as const
  const usdFeeds = Object.fromEntries(Object.entries(chain.prices.usdFeeds).map(toDatedFeed))
  const dated: Client = { ...client, chain: { ...chain, prices: { ...chain.prices, usdFeeds } } }
  datedClients.set(client, dated)
  // The moment of a dated read is dated already.
  datedClients.set(dated, dated)
  return dated
}
