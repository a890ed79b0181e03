import { type Hex, toFunctionSelector } from 'viem'
import { decodeAddress } from '../../chain/call/words.ts'
import type { Refusal } from '../exit.ts'
import type { PositionExit } from '../liquidity/exit.ts'
import type { Position } from './read/position.ts'
import { toWithdrawalTerms, withdrawPosition } from './read/withdrawal.ts'

/** CustomRevert.sol: which contract refused, and how. */
const WRAPPED_ERROR = toFunctionSelector('WrappedError(address,bytes4,bytes,bytes)')
const INVALID_HOOK_RESPONSE = toFunctionSelector('InvalidHookResponse()')

/** Takes out a position: all of it, or else its fees. */
export function exitPosition(position: Position): PositionExit {
  const { steps, ...unit } = withdrawPosition(toWithdrawalTerms(position), position.deployment)
  const [burn, fees] = steps
  const kind = 'liquidity'
  return {
    ...unit,
    steps: [
      { ...burn, kind },
      { ...fees, kind, parts: ['fees'] },
    ],
    explain: (reason) => explain(reason, position),
  }
}

/** V4 wraps a refusal in the address of who refused. */
function explain(reason: Hex, { pool, token0, token1 }: Position): Refusal | undefined {
  if (reason.startsWith(INVALID_HOOK_RESPONSE)) return 'hook_forbids'
  if (!reason.startsWith(WRAPPED_ERROR) || reason.length < 74) return undefined
  const refuser = decodeAddress(`0x${reason.slice(10)}`, 0).toLowerCase()
  if (refuser === pool.hooks.toLowerCase()) return 'hook_forbids'
  return [token0, token1].some(({ address }) => address.toLowerCase() === refuser) ? 'token_refuses' : undefined
}
