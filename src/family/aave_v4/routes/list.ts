import type { Route } from '../../../http/route/route.ts'
import { marketRoutes } from '../../lending/market_routes.ts'
import { presentReduced, presentWallet } from '../present/present.ts'
import { batchOutput, listOutput } from '../present/schema.ts'
import type { SpokeReader } from '../read/read.ts'
import type { AaveV4Spoke } from '../table.ts'
import { CHARGES, marketIdParameter, NAME, PROTOCOL } from './market.ts'

/** Creates the list and the batch; `chainIds` are all configured chains, with this family or without. */
export function createRoutes({
  chainIds,
  markets,
  reader,
}: {
  readonly chainIds: readonly number[]
  /** Names of the spokes on them. */
  readonly markets: ReadonlySet<string>
  readonly reader: () => SpokeReader
}): readonly Route[] {
  const protocol = {
    tool: PROTOCOL,
    name: NAME,
    operation: 'aave_v4',
    noun: 'spoke',
    summaries: {
      list:
        'Lists the positions of a wallet in Aave V4, one entry per chain, with its risk and yield in each spoke, where ' +
        'it has an account of its own.',
      batch: 'Lists health factor, net worth and net APY of many wallets in Aave V4, one entry per wallet and chain.',
    },
    charges: CHARGES,
    outputs: { list: listOutput, batch: batchOutput },
    getMarket: ({ name }: AaveV4Spoke) => name,
    presentWallet,
    presentReduced,
  } as const
  return marketRoutes(protocol, { chainIds, marketId: marketIdParameter(markets), reader })
}
