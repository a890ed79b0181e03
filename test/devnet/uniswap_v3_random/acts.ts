import { type Address, zeroAddress } from 'viem'
import type { Random } from '../random.ts'
import type { Transaction } from '../transaction.ts'
import {
  burnCall,
  collectCall,
  decreaseLiquidityCall,
  increaseLiquidityCall,
  multicall,
  transferCall,
} from '../uniswap_v3_calls.ts'
import { amountsWorth, type RandomPool } from './pools.ts'

/** A position whose life goes on. */
export interface ActivePosition {
  readonly tokenId: bigint
  readonly owner: Address
  readonly pool: RandomPool
  readonly liquidity: bigint
}

/** What happens to a position in a round. */
interface Act {
  readonly transactions: readonly Transaction[]
  readonly owner?: Address
  readonly isBurned?: boolean
}

/** What is owed never reaches this. */
const SOME_MAX = 1_000_000n

/** What one owner, or a stranger who adds liquidity, does in one round: often nothing. */
export function randomAct(random: Random, living: ActivePosition, wallets: readonly Address[]): Act {
  const { tokenId, owner, pool, liquidity } = living
  const id = { tokenId, owner }
  const part = (liquidity * BigInt(1 + random.below(999))) / 1_000n
  const grow = () => increaseLiquidityCall({ tokenId, ...amountsWorth(pool, random.pick([2, 90, 4_000])) })
  const withdraw = (amount: bigint) => (amount > 0n ? [decreaseLiquidityCall({ ...id, liquidity: amount })] : [])
  const collect = collectCall(id)
  switch (random.below(24)) {
    case 0:
    case 1:
      return { transactions: [collect] }
    case 2: {
      const some = { amount0Max: BigInt(1 + random.below(1_000)) * SOME_MAX, amount1Max: 1n + BigInt(random.below(9)) }
      return { transactions: [collectCall({ ...id, ...some })] }
    }
    case 3:
      return { transactions: withdraw(part) }
    case 4:
      return { transactions: withdraw(liquidity) }
    case 5:
    case 6:
      return { transactions: [grow()] }
    case 7:
      // Compounding: fees come out, and the same and more goes in at once.
      return { transactions: [collect, grow()] }
    case 8: {
      const [first] = withdraw(part)
      return first === undefined ? { transactions: [] } : { transactions: [multicall([first, collect])] }
    }
    case 9: {
      const [first] = withdraw(liquidity)
      return first === undefined ? { transactions: [collect] } : { transactions: [multicall([first, collect])] }
    }
    case 10:
      return { transactions: [collectCall({ ...id, recipient: zeroAddress })] }
    case 11: {
      const to = random.pick(wallets)
      return { transactions: [transferCall({ ...id, to })], owner: to }
    }
    case 12:
      if (random.below(3) > 0) return { transactions: [] }
      return { transactions: [...withdraw(liquidity), collect, burnCall(id)], isBurned: true }
    default:
      return { transactions: [] }
  }
}
