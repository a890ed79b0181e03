import { type LensAccess, readByLens } from '../../chain/call/lens.ts'
import { createSpamFilter } from '../../finance/token/spam_filter.ts'
import type { Clock } from '../../lib/clock.ts'
import { countOmitted, type HoldingsReader } from '../holding.ts'
import { listEmptied } from '../liquidity/targets.ts'
import { toHoldings } from './present/holdings.ts'
import { isOwed, type WithdrawnReader } from './read/position_history/withdrawn.ts'
import { LENS, readHeld } from './read/queries.ts'
import type { PositionReader } from './read/read.ts'

/** Creates a reader of a wallet's positions as rows of a portfolio. */
export function createHoldingsReader(options: {
  readonly reader: Pick<PositionReader, 'targets' | 'past'>
  readonly readWithdrawn: WithdrawnReader
  readonly clock: Clock
}): HoldingsReader {
  const { reader, readWithdrawn, clock } = options
  const { classify: classifyToken } = createSpamFilter()
  return {
    chainIds: new Set(reader.targets.keys()),
    async open(wallet, { client, block }, signal) {
      const target = reader.targets.get(client.chain.id)
      if (target === undefined) return undefined
      const dated = { ...target, client, ...(block && { block }) }
      const deployed = await reader.past.filterDeployed(dated, signal)
      if (deployed.length === 0) return undefined
      return async ({ endpoint, block: pinned, positionsMax }, within) => {
        const query = { wallet, wholeMax: positionsMax }
        const lens = { ...LENS, chainId: client.chain.id, at: pinned, clock }
        const { count, read } = await reader.past.readDeployed(
          { ...dated, deployments: deployed },
          ({ deployments }) => {
            const context = { target: { client, deployments }, classifyToken, isPriced: true }
            const readPositions = (access: LensAccess) => readHeld(access, query, context)
            return readByLens(endpoint, { ...lens, read: readPositions }, within)
          },
          within,
        )
        const { unreadable } = read
        // The first page may hold more.
        const positions = read.positions.slice(0, positionsMax)
        const at = { client, block: read.block.number }
        return {
          block: read.block,
          rows: toHoldings(positions),
          ...(positions.some(isOwed) && {
            itemize: async (shared: AbortSignal) => toHoldings(positions, await readWithdrawn(positions, at, shared)),
          }),
          ...countOmitted({ family: 'uniswap-v3', kind: 'liquidity', count }, positionsMax),
          ownTokens: [],
          emptied: listEmptied(positions),
          notRead: unreadable.map(({ manager, tokenId, reason }) => `position ${tokenId} of ${manager}: ${reason}`),
        }
      }
    },
  }
}
