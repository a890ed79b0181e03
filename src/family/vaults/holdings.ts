import type { HoldingsReader } from '../holding.ts'
import { exitVault } from './exit.ts'
import { outlookVault, toHoldings } from './present/holdings.ts'
import { nameVaults, type VaultReader } from './read/read.ts'

/** Creates the reader of what a wallet has in vaults as rows of a portfolio. */
export function createHoldingsReader(reader: VaultReader): HoldingsReader {
  return {
    chainIds: new Set(reader.targets.keys()),
    async open(wallet, { client, block, named }) {
      const configured = reader.targets.get(client.chain.id)
      const target = configured && nameVaults(configured, named)
      if (target === undefined) return undefined
      const dated = { ...target, client, ...(block && { block }) }
      return async ({ endpoint, block: at }, within) => {
        const pinned = { ...dated, ...(at && { block: at }) }
        const { block: readAt, positions, silent } = await reader.ask(endpoint, pinned, [wallet], within)
        return {
          block: readAt,
          rows: positions.flatMap(toHoldings),
          // What is in a silo only leaves no shares in the wallet.
          ownTokens: positions.map(({ listed }) => listed.address),
          notRead: silent.map(({ listed }) => `vault ${listed.address}, which does not answer`),
          listOutlooks: () => positions.map(outlookVault),
          listExits: () => positions.map((each) => exitVault(each, wallet)),
        }
      }
    },
  }
}
