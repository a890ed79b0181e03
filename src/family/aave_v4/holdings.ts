import type { Address } from 'viem'
import { ContractUnresponsiveError } from '../../chain/rpc/client.ts'
import type { HoldingsReader } from '../holding.ts'
import { exitAccount } from './exit.ts'
import { toHoldings } from './present/holdings.ts'
import { outlookSpokes } from './present/outlook.ts'
import type { RawRead } from './read/abi.ts'
import { type CompleteAccount, completeAccounts, interpret } from './read/position.ts'
import type { SpokeReader } from './read/read.ts'
import type { AaveV4Spoke } from './table.ts'

/** Creates the reader of a wallet's supplies and debts as rows of a portfolio. */
export function createHoldingsReader(reader: SpokeReader): HoldingsReader {
  return {
    chainIds: new Set(reader.targets.keys()),
    async open(wallet, { client, block }, work) {
      const configured = reader.targets.get(client.chain.id)
      if (configured === undefined) return undefined
      const dated = { ...configured, client, ...(block && { block }) }
      const deployed = await reader.past.filterDeployed(dated, work)
      if (deployed.length === 0) return undefined
      return async ({ endpoint, block: at }, within) => {
        const { read, spokes } = await reader.past.readDeployed(
          { ...dated, deployments: deployed },
          async ({ deployments }) => {
            const target = { client, deployments, ...(at && { block: at }) }
            return { read: await reader.ask(endpoint, target, [wallet], within), spokes: deployments }
          },
          within,
        )
        const accounts = completeAccounts(read, { spokes, wallets: [wallet] }).map(({ spoke, account }) => {
          if (typeof account === 'string') throw new ContractUnresponsiveError(`spoke "${spoke.name}": ${account}`)
          return { wallet, spoke, account }
        })
        return {
          block: read.block,
          rows: accounts.flatMap(toHoldings),
          ownTokens: [],
          notRead: listUnread(read, configured.deployments),
          listOutlooks: () => outlookSpokes(interpret(read, { spokes, wallets: [wallet] })),
          listExits: () => accounts.map(exitAccount),
          lenders: listHubs(accounts),
        }
      }
    },
  }
}

/** Hubs hold the tokens of all spokes. */
function listHubs(accounts: readonly CompleteAccount[]): Address[] {
  return [...new Set(accounts.flatMap(({ account }) => account.assets.map(({ reserve }) => reserve.hub)))]
}

/** Says which spokes of the chain are not read: those that its access manager names and this release does not know. */
function listUnread({ named = [] }: RawRead, known: readonly AaveV4Spoke[]): string[] {
  const addresses = new Set(known.map(({ address }) => address))
  const others = named.filter((spoke) => !addresses.has(spoke))
  // A manager that names none of the known spokes names them by a role that is not known either.
  if (others.length === named.length) return ['debts in spokes of aave-v4 that were added since this release']
  return others.map((spoke) => `debts in aave-v4 spoke ${spoke}, which this release does not know`)
}
