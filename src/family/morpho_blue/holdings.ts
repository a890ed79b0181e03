import type { Hex } from 'viem'
import type { HoldingsReader, HoldingsRequest } from '../holding.ts'
import { toHoldings } from './present/holdings.ts'
import type { EnteredMarketsReader, PendingMarkets } from './read/entered_markets.ts'
import type { PositionReader } from './read/read.ts'

/**
 * Reads all that a wallet has in markets as rows of a portfolio. At the newest block those that are stored are read
 * while history goes on to its end, and once more if that has others. A market that is first entered in the blocks that
 * come meanwhile is in the next answer.
 */
export function createHoldingsReader(options: {
  readonly reader: PositionReader
  readonly entered: EnteredMarketsReader
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
      const begun: PendingMarkets =
        block === undefined
          ? await entered.foresee(place, wallet, signal)
          : { stored: undefined, all: entered.markets(place, wallet, signal) }
      let best = begun.stored ?? (await begun.all).marketIds
      const spamTokens = new Set<string>(client.chain.spamTokens)
      const ask = async (
        marketIds: readonly Hex[],
        { endpoint, block: at, positionsMax }: HoldingsRequest,
        within: AbortSignal,
      ) => {
        const isTooLong = marketIds.length > positionsMax
        const asked = { wallet, marketIds: isTooLong ? [] : marketIds }
        const read = await reader.ask(endpoint, { client, deployments, asked, ...(at && { block: at }) }, within)
        const held = read.markets.flatMap((each) => {
          if (each.kind === 'absent') return []
          return each.kind === 'position' ? each.position : each.held
        })
        return {
          block: read.block,
          rows: held.flatMap((each) => toHoldings(each, spamTokens)),
          positions: isTooLong ? marketIds.length : held.length,
          ownTokens: [],
          notRead: [],
        }
      }
      return async (request, within) => {
        const asked = best
        const [held, { marketIds }] = await Promise.all([ask(asked, request, within), begun.all])
        best = marketIds
        return marketIds.join() === asked.join() ? held : await ask(marketIds, request, within)
      }
    },
  }
}
