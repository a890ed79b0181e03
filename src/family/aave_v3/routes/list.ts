import type { Route } from '../../../http/route/route.ts'
import { marketRoutes } from '../../lending/market_routes.ts'
import { presentReduced, presentWallet } from '../present/present.ts'
import { batchOutput, listOutput } from '../present/schema.ts'
import type { LendingReader } from '../read/read.ts'
import type { AaveV3Deployment } from '../table.ts'
import { CHARGES, marketIdParameter, NAME, PROTOCOL } from './market.ts'

/** Creates the list and the batch; `chainIds` are all configured chains, with this family or without. */
export function createRoutes({
  chainIds,
  markets,
  reader,
}: {
  readonly chainIds: readonly number[]
  /** Names of the markets on them. */
  readonly markets: ReadonlySet<string>
  readonly reader: () => LendingReader
}): readonly Route[] {
  const protocol = {
    tool: PROTOCOL,
    name: NAME,
    operation: 'aave',
    noun: 'market',
    summaries: {
      list: 'Lists the lending positions of a wallet, one entry per chain, with its risk and yield in each market.',
      batch: 'Lists health factor, net worth and net APY of many wallets, one entry per wallet and chain.',
    },
    charges: CHARGES,
    outputs: { list: listOutput, batch: batchOutput },
    getMarket: ({ market }: AaveV3Deployment) => market,
    hasParts: true,
    presentWallet,
    presentReduced,
  } as const
  return marketRoutes(protocol, { chainIds, marketId: marketIdParameter(markets), reader })
}
