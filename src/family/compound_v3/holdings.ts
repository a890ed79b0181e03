import type { HoldingsReader } from '../holding.ts'
import { exitPosition } from './exit.ts'
import { toHoldings } from './present/holdings.ts'
import { outlookMarket } from './present/outlook.ts'
import type { CometReader } from './read/read.ts'

/** Creates the reader of a wallet's positions as rows of a portfolio. */
export function createHoldingsReader(reader: CometReader): HoldingsReader {
  return {
    chainIds: new Set(reader.targets.keys()),
    async open(wallet, { client, block }, work) {
      const configured = reader.targets.get(client.chain.id)
      if (configured === undefined) return undefined
      const dated = { ...configured, client, ...(block && { block }) }
      const deployments = await reader.past.filterDeployed(dated, work)
      if (deployments.length === 0) return undefined
      return async ({ endpoint, block: at }, within) => {
        const { read, markets } = await reader.past.readDeployed(
          { ...dated, deployments },
          async ({ deployments: standing }) => {
            const target = { client, deployments: standing, ...(at && { block: at }) }
            return { read: await reader.ask(endpoint, target, [wallet], within), markets: standing }
          },
          within,
        )
        const positions = read.wallets.flatMap((each) => each.positions)
        const comets = markets.map(({ comet }) => comet)
        return {
          block: read.block,
          rows: positions.flatMap(toHoldings),
          // A market is the token of what is supplied to it.
          ownTokens: comets,
          notRead: positions
            .filter(({ reward }) => reward === 'unknown')
            .map(({ market }) => `rewards of compound-v3 market ${market}, whose contract does not answer`),
          listOutlooks: () => positions.map((each) => outlookMarket(each, read.block.timestampSec)),
          listExits: () => positions.map((each) => exitPosition(each, wallet)),
          lenders: comets,
        }
      }
    },
  }
}
