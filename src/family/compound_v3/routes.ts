import * as v from 'valibot'
import { documented, evmAddress } from '../../http/request/input.ts'
import type { Charge } from '../../http/route/charge.ts'
import type { Route } from '../../http/route/route.ts'
import { marketRoutes } from '../lending/market_routes.ts'
import { LENDING_FIGURES } from '../lending/watched.ts'
import type { Watchable } from '../watch.ts'
import { presentReduced, presentWallet } from './present/present.ts'
import { batchOutput, listOutput } from './present/schema.ts'
import type { CometReader } from './read/read.ts'
import type { CompoundV3Market } from './table.ts'

/** Schema of a market on any configured chain, by its name. */
function marketIdParameter(names: ReadonlySet<string>) {
  const expected = `expected one of ${[...names].map((name) => `"${name}"`).join(', ')}`
  return v.pipe(
    v.string(expected),
    // If no market is configured, every name passes: the route answers that none is configured.
    v.check((text) => names.size === 0 || names.has(text), expected),
    documented({ type: 'string', description: 'Market of Compound V3, by its base token.', examples: ['usdc'] }),
  )
}

const BEFORE_PAGES = 'counted before pagination'

/** Charges of the family's routes. */
const CHARGES = {
  list: { credits: 15, per: 'chain on which the wallet has a position', terms: BEFORE_PAGES },
  batch: {
    credits: 15,
    per: 'wallet and chain with a position',
    many: { from: 100, credits: 12 },
    terms: BEFORE_PAGES,
  },
} satisfies Record<string, Charge>

/** The family as tools for agents name it. */
const PROTOCOL = { code: 'compound-v3', name: 'Compound V3' }

/** Creates the description of the family's subject: a wallet in a market, which has no default. */
export function createWatchable(settings: ReadonlyMap<number, readonly CompoundV3Market[]>): Watchable {
  return {
    subject(chainId) {
      const markets = new Set((settings.get(chainId) ?? []).map(({ market }) => market))
      return v.strictObject({ wallet: evmAddress, market_id: marketIdParameter(markets) })
    },
    figures: LENDING_FIGURES,
    events: [],
    answerPath: ({ wallet, market_id }, chainId, blockNumber) =>
      `/v1/lending/compound-v3?wallet=${wallet}&chain_id=${chainId}&market_id=${market_id}&at_block=${blockNumber}`,
  }
}

/** Creates the list and the batch; `chainIds` are all configured chains, with this family or without. */
export function createRoutes({
  chainIds,
  markets,
  reader,
}: {
  readonly chainIds: readonly number[]
  /** Names of the markets on them. */
  readonly markets: ReadonlySet<string>
  readonly reader: () => CometReader
}): readonly Route[] {
  const protocol = {
    tool: PROTOCOL,
    name: PROTOCOL.name,
    operation: 'compound_v3',
    noun: 'market',
    summaries: {
      list:
        'Lists the positions of a wallet in Compound V3, one entry per chain, with its risk, yield and rewards in each ' +
        'market, where it has an account of its own.',
      batch:
        'Lists health factor, net worth and net APY of many wallets in Compound V3, one entry per wallet and chain.',
    },
    charges: CHARGES,
    outputs: { list: listOutput, batch: batchOutput },
    getMarket: ({ market }: CompoundV3Market) => market,
    presentWallet,
    presentReduced,
  } as const
  return marketRoutes(protocol, { chainIds, marketId: marketIdParameter(markets), reader })
}
