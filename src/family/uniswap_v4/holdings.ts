import type { PinnedBlock } from '../../chain/block.ts'
import { readByLens } from '../../chain/call/lens.ts'
import { readLatestBlock } from '../../chain/evm/read_block.ts'
import { createSpamFilter } from '../../finance/token/spam_filter.ts'
import { mapCooperatively } from '../../lib/async/cooperative.ts'
import type { Clock } from '../../lib/clock.ts'
import { countOmitted, type HoldingsReader } from '../holding.ts'
import { listEmptied } from '../liquidity/targets.ts'
import { toHoldings } from './present/holdings.ts'
import { getDeployment, LENS, readOwned } from './read/queries.ts'
import type { PositionReader } from './read/read.ts'
import { readCompleteWithdrawals } from './read/withdrawals.ts'

/** Ids that are asked for each position of the maximum: those that the wallet does not own any more are among them. */
const CANDIDATES_PER_POSITION = 4
/** Positions that are decoded in one step. */
const STEP_POSITIONS = 200

/** Creates a reader of all positions of a wallet as rows of a portfolio. */
export function createHoldingsReader(options: {
  readonly reader: Pick<PositionReader, 'targets' | 'past' | 'readAllOwned'>
  readonly clock: Clock
}): HoldingsReader {
  const { reader, clock } = options
  const { classify: classifyToken } = createSpamFilter()
  return {
    chainIds: new Set(reader.targets.keys()),
    async open(wallet, { client, block }, signal) {
      const target = reader.targets.get(client.chain.id)
      if (target === undefined) return undefined
      const deployments = await reader.past.filterDeployed({ ...target, ...(block && { block }) }, signal)
      if (deployments.length === 0) return undefined
      const { chain } = client
      const deployment = getDeployment(target)
      return async ({ endpoint, block: at, positionsMax }, within) => {
        const lensContext = { chain, deployment, classifyToken, spam: 'included' } as const
        const read = (ids: readonly bigint[], pinned: PinnedBlock | undefined) => {
          const candidates = ids.slice(0, CANDIDATES_PER_POSITION * positionsMax)
          const query = { wallet, ids: candidates, positionsMax: Number.MAX_SAFE_INTEGER }
          const lens = { ...LENS, chainId: chain.id, at: pinned, clock }
          return readByLens(endpoint, { ...lens, read: (access) => readOwned(access, query, lensContext) }, within)
        }
        const pin = () => readLatestBlock(endpoint, chain.id, within)
        const { balance, read: list } = await reader.readAllOwned(
          { wallet, client, deployment, positionsMax, takesFirst: true },
          { block: at, read, pin },
          within,
        )
        const positions = await mapCooperatively(list.positions.slice(0, positionsMax), STEP_POSITIONS, (each) =>
          each.whole(),
        )
        const withdrawalContext = { endpoint, chainId: chain.id, clock, block: list.block, known: new Map() }
        const withdrawals = await readCompleteWithdrawals(positions, withdrawalContext, within)
        return {
          block: list.block,
          rows: positions.flatMap((position) => toHoldings(position, withdrawals.get(position))),
          ...countOmitted({ family: 'uniswap-v4', kind: 'liquidity', count: Number(balance) }, positionsMax),
          ownTokens: [],
          emptied: listEmptied(positions),
          notRead: list.unreadable.map(
            ({ manager, tokenId, reason }) => `position ${tokenId} of ${manager}: ${reason}`,
          ),
        }
      }
    },
  }
}
