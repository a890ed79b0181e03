import type { FinanceClient } from '../../finance/chain.ts'
import type { Clock } from '../../lib/clock.ts'
import { addLiquidityRows, type Holding, type HoldingsReader } from '../holding.ts'
import type { PositionOutlook } from '../outlook.ts'
import { exitPair, toPlace } from './exit.ts'
import { computeShare } from './math.ts'
import { type HeldPair, readPairs } from './read/read.ts'
import type { UniswapV2Factory } from './table.ts'

/**
 * Creates the reader of a wallet's liquidity in pairs as rows of a portfolio. State does not list them: it reads those
 * among the tokens that the caller names.
 */
export function createHoldingsReader({
  clients,
  deployments,
  clock,
}: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly deployments: ReadonlyMap<number, readonly UniswapV2Factory[]>
  readonly clock: Clock
}): HoldingsReader {
  return {
    chainIds: new Set([...deployments.keys()].filter((id) => clients.has(id))),
    async open(wallet, { client: { chain }, block, named = [] }) {
      const factories = (deployments.get(chain.id) ?? []).map(({ factory }) => factory)
      if (named.length === 0 || factories.length === 0) return undefined
      const query = { factories, tokens: named, wallet }
      return async ({ endpoint, block: at = block }, within) => {
        const read = await readPairs({ endpoint, chain, block: at, clock }, query, within)
        return {
          block: read.block,
          rows: read.pairs.flatMap(toHoldings),
          ownTokens: read.pairs.map(({ pair }) => pair),
          notRead: read.unreadable.map((pair) => `liquidity in pair ${pair}, a token of which has no usable decimals`),
          listOutlooks: () => read.pairs.map(outlookPair),
          listExits: () => read.pairs.map((held) => exitPair(held, wallet)),
        }
      }
    },
  }
}

function toHoldings(held: HeldPair): Holding[] {
  const rows: Holding[] = []
  const amounts = computeShare(held)
  const isDust = amounts.amount0 === 0n || amounts.amount1 === 0n
  const refused = isDust ? ({ reason: 'withdrawal_reverts', detail: DUST } as const) : undefined
  const withdrawable = isDust ? ({ amount: 0n, limitedBy: 'liquidity' } as const) : undefined
  addLiquidityRows(rows, held, { amounts, position: toPlace(held), refused, withdrawable })
  return rows
}

const DUST = 'The pair burns no liquidity that is worth nothing of one of its tokens'

/** Says what liquidity earns: fees are in its amounts, and state does not tell them apart. */
function outlookPair(held: HeldPair): PositionOutlook {
  const what = `fees of pair ${held.pair} of uniswap-v2`
  return {
    position: toPlace(held),
    code: 'uniswap_v2',
    toDo: [],
    untold: [{ what, why: 'They grow the amounts, and state does not tell them apart' }],
  }
}
