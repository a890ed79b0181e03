import { type LensAccess, readByLens } from '../../chain/call/lens.ts'
import { createSpamFilter } from '../../finance/token/spam_filter.ts'
import type { Clock } from '../../lib/clock.ts'
import type { HoldingsReader } from '../holding.ts'
import { toHoldings } from './present/holdings.ts'
import { LENS, readHeld } from './read/queries.ts'
import type { PositionReader } from './read/read.ts'

/** Reads all positions of a wallet as rows of a portfolio. */
export function createHoldingsReader(options: {
  readonly reader: Pick<PositionReader, 'places' | 'past'>
  readonly clock: Clock
}): HoldingsReader {
  const { reader, clock } = options
  const { judge } = createSpamFilter()
  return {
    chainIds: new Set(reader.places.keys()),
    async open(wallet, { client, block }, signal) {
      const known = reader.places.get(client.chain.id)
      if (known === undefined) return undefined
      const deployments = await reader.past.standing({ ...known, ...(block && { block }) }, signal)
      if (deployments.length === 0) return undefined
      return async ({ endpoint, block: at, positionsMax }, within) => {
        const question = { wallet, wholeMax: positionsMax }
        const asked = { place: { client, deployments }, judge, isPriced: true }
        const lens = { ...LENS, chainId: client.chain.id, at, clock }
        const ask = (access: LensAccess) => readHeld(access, question, asked)
        const { count, read } = await readByLens(endpoint, { ...lens, read: ask }, within)
        const { positions, unreadable } = read
        return {
          block: read.block,
          rows: toHoldings(positions),
          positions: count,
          ownTokens: [],
          notRead: unreadable.map(({ manager, tokenId, because }) => `position ${tokenId} of ${manager}: ${because}`),
        }
      }
    },
  }
}
