import { ContractUnresponsiveError } from '../../chain/rpc/client.ts'
import type { HoldingsReader } from '../holding.ts'
import { getMarketTokens, toHoldings } from './present/holdings.ts'
import type { LendingReader } from './read/read.ts'

/** Reads all that a wallet supplies and owes as rows of a portfolio. */
export function createHoldingsReader(reader: Pick<LendingReader, 'places' | 'past' | 'askNamed'>): HoldingsReader {
  return {
    chainIds: new Set(reader.places.keys()),
    async open(wallet, { client, block }, signal) {
      const known = reader.places.get(client.chain.id)
      if (known === undefined) return undefined
      const deployments = await reader.past.standing({ ...known, ...(block && { block }) }, signal)
      if (deployments.length === 0) return undefined
      return async ({ endpoint, block: at }, within) => {
        const place = { client, deployments, ...(at && { block: at }) }
        const read = await reader.askNamed(endpoint, { ...place, wallet }, within)
        const [broken] = read.broken
        if (broken !== undefined) {
          const market = deployments[broken.market]?.market
          throw new ContractUnresponsiveError(`market "${market}" does not tell the wallet's ${broken.part}`)
        }
        return {
          block: read.block,
          rows: toHoldings(read, deployments),
          positions: read.accounts.length,
          ownTokens: getMarketTokens(read),
          notRead: [],
        }
      }
    },
  }
}
