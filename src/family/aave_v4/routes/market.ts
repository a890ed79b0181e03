import * as v from 'valibot'
import { documented, evmAddress } from '../../../http/request/input.ts'
import type { Charge } from '../../../http/route/charge.ts'
import { LENDING_FIGURES } from '../../lending/watched.ts'
import type { Watchable } from '../../watch.ts'
import type { AaveV4Deployment } from '../table.ts'

/** Name of the family in errors. */
export const NAME = 'Aave V4'

/** Schema of a spoke on any configured chain, by its name. */
export function marketIdParameter(names: ReadonlySet<string>) {
  const expected = `expected one of ${[...names].map((name) => `"${name}"`).join(', ')}`
  return v.pipe(
    v.string(expected),
    // If no spoke is configured, every name passes: the route answers that none is configured.
    v.check((text) => names.size === 0 || names.has(text), expected),
    documented({ type: 'string', description: 'Name of a spoke.', examples: ['main'] }),
  )
}

const BEFORE_PAGES = 'counted before pagination'

/** Charges of the family's routes. */
export const CHARGES = {
  list: { credits: 15, per: 'chain on which the wallet has a position', terms: BEFORE_PAGES },
  batch: {
    credits: 15,
    per: 'wallet and chain with a position',
    many: { from: 100, credits: 12 },
    terms: BEFORE_PAGES,
  },
} satisfies Record<string, Charge>

/** The family as tools for agents name it. */
export const PROTOCOL = { code: 'aave-v4', name: 'Aave V4' }

/** The spoke of a subject if the caller does not name one. */
const MARKET_DEFAULT = 'main'

/** Creates the description of the family's subject: a wallet in a spoke. */
export function createWatchable(settings: ReadonlyMap<number, AaveV4Deployment>): Watchable {
  return {
    subject(chainId) {
      const markets = new Set((settings.get(chainId)?.spokes ?? []).map(({ name }) => name))
      return v.strictObject({ wallet: evmAddress, market_id: v.optional(marketIdParameter(markets), MARKET_DEFAULT) })
    },
    figures: LENDING_FIGURES,
    events: [],
    answerPath: ({ wallet, market_id }, chainId, blockNumber) =>
      `/v1/lending/aave-v4?wallet=${wallet}&chain_id=${chainId}&market_id=${market_id}&at_block=${blockNumber}`,
  }
}
