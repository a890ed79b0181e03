import type { HoldingsReader } from '../../holding.ts'
import { holdingsOf } from '../present/holdings.ts'
import type { EnteredReader } from './entered.ts'
import type { PositionReader } from './read.ts'

/**
 * Reads all that a wallet has in markets as rows of a portfolio. Its markets are known up to where history ends: one that
 * is first entered in the blocks that come while the chain is asked is in the next answer.
 */
export function createHoldingsReader(options: {
  readonly reader: PositionReader
  readonly entered: EnteredReader
}): HoldingsReader {
  const { reader, entered } = options
  return {
    chainIds: new Set(reader.places.keys()),
    async open(wallet, { client, block }, signal) {
      const known = reader.places.get(client.chain.id)
      if (known === undefined) return undefined
      const place = { ...known, ...(block && { block }) }
      const deployments = await reader.past.standing(place, signal)
      if (deployments.length === 0) return undefined
      const { marketIds } = await entered.markets(place, wallet, signal)
      const spamTokens = new Set<string>(client.chain.spamTokens)
      return async ({ endpoint, block: at, positionsMax }, within) => {
        const asked = { wallet, marketIds: marketIds.length > positionsMax ? [] : marketIds }
        const read = await reader.ask(endpoint, { client, deployments, asked, ...(at && { block: at }) }, within)
        const held = read.markets.flatMap((each) => {
          if (each.kind === 'absent') return []
          return each.kind === 'position' ? each.position : each.held
        })
        return {
          block: read.block,
          rows: held.flatMap((each) => holdingsOf(each, spamTokens)),
          positions: marketIds.length > positionsMax ? marketIds.length : held.length,
          ownTokens: [],
          notRead: [],
        }
      }
    },
  }
}
