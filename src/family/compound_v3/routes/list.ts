import type { Route } from '../../../http/route/route.ts'
import { marketRoutes } from '../../lending/market_routes.ts'
import { presentReduced, presentWallet } from '../present/present.ts'
import { batchOutput, listOutput } from '../present/schema.ts'
import type { CometReader } from '../read/read.ts'
import type { CompoundV3Market } from '../table.ts'
import { CHARGES, marketIdParameter, PROTOCOL } from './market.ts'

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
