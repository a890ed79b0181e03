import { LENS_WAYS, type LensWay, readByRung } from '../../../chain/call/lens.ts'
import { createTokenJudge } from '../../../finance/token/spam/judge.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { HoldingsReader } from '../../holding.ts'
import { holdingsOf } from '../present/holdings.ts'
import { heldQuestion } from './questions.ts'
import type { PositionReader } from './read.ts'

/** Reads all positions of a wallet as rows of a portfolio. */
export function createHoldingsReader(options: {
  readonly reader: Pick<PositionReader, 'places' | 'past'>
  readonly clock: Clock
  readonly ways?: readonly LensWay[]
}): HoldingsReader {
  const { reader, clock, ways = LENS_WAYS } = options
  const { judge } = createTokenJudge()
  return {
    chainIds: new Set(reader.places.keys()),
    async open(wallet, { client, block }, signal) {
      const known = reader.places.get(client.chain.id)
      if (known === undefined) return undefined
      const deployments = await reader.past.standing({ ...known, ...(block && { block }) }, signal)
      if (deployments.length === 0) return undefined
      return async ({ endpoint, block, positionsMax }, within) => {
        const place = { client, deployments, ...(block && { block }) }
        const question = heldQuestion({ wallet, wholeMax: positionsMax }, { place, judge })
        const rungs = question.ladder(endpoint, ways)
        const { count, read } = await readByRung(endpoint, { topic: 'uniswap_v3', rungs, clock }, within)
        const { positions, unreadable } = read
        return {
          block: read.block,
          rows: positions.flatMap(holdingsOf),
          positions: count,
          ownTokens: [],
          notRead: unreadable.map(({ manager, tokenId, because }) => `position ${tokenId} of ${manager}: ${because}`),
        }
      }
    },
  }
}
