import { ContractUnresponsiveError } from '../../chain/rpc/client.ts'
import type { HoldingsReader } from '../holding.ts'
import { exitAccounts } from './exit.ts'
import { getMarketTokens, toHoldings } from './present/holdings.ts'
import { outlookPools } from './present/outlook.ts'
import { interpret } from './read/position.ts'
import type { LendingReader } from './read/read.ts'

/** Creates the reader of a wallet's supplies and debts as rows of a portfolio. */
export function createHoldingsReader(reader: Pick<LendingReader, 'targets' | 'past' | 'askNamed'>): HoldingsReader {
  return {
    chainIds: new Set(reader.targets.keys()),
    async open(wallet, { client, block }, work) {
      const configured = reader.targets.get(client.chain.id)
      if (configured === undefined) return undefined
      const dated = { ...configured, client, ...(block && { block }) }
      const deployed = await reader.past.filterDeployed(dated, work)
      if (deployed.length === 0) return undefined
      return async ({ endpoint, block: at }, within) => {
        const { read, deployments } = await reader.past.readDeployed(
          { ...dated, deployments: deployed },
          async ({ deployments }) => {
            const target = { client, deployments, ...(at && { block: at }) }
            return { read: await reader.askNamed(endpoint, { ...target, wallet }, within), deployments }
          },
          within,
        )
        const [broken] = read.broken
        if (broken !== undefined) {
          const market = deployments[broken.market]?.market
          throw new ContractUnresponsiveError(`market "${market}" does not return the wallet's ${broken.part}`)
        }
        const rows = toHoldings(read, deployments)
        return {
          block: read.block,
          rows,
          ownTokens: getMarketTokens(read),
          notRead: [],
          listOutlooks: () => outlookPools(interpret(read, { deployments, wallets: [wallet] })),
          listExits: () => exitAccounts(read, { wallet, deployments, rows }),
          lenders: read.tokens.map(({ supplyToken }) => supplyToken),
        }
      }
    },
  }
}
