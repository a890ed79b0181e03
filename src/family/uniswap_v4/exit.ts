import { type Hex, toFunctionSelector } from 'viem'
import { decodeAddress, encodeBytes, encodeCall, encodeList } from '../../chain/call/words.ts'
import { UINT256_MAX } from '../../lib/number/fixed_point.ts'
import type { HoldingStep, Refusal } from '../exit.ts'
import { listSuspects, type PositionExit } from '../liquidity/exit.ts'
import { mayChangeWithdrawal } from './math/hooks.ts'
import type { Position } from './read/position.ts'

const MODIFY = toFunctionSelector('modifyLiquidities(bytes,uint256)')
/** Actions.sol: BURN_POSITION or DECREASE_LIQUIDITY, and TAKE_PAIR. ActionConstants.sol: MSG_SENDER. */
const BURN_ACTIONS = '0311'
const FEES_ACTIONS = '0111'
const TO_SENDER = 1n
/** CustomRevert.sol: which contract refused, and how. */
const WRAPPED_ERROR = toFunctionSelector('WrappedError(address,bytes4,bytes,bytes)')
const INVALID_HOOK_RESPONSE = toFunctionSelector('InvalidHookResponse()')

/** Burns the position, with empty hook data; if the hook or a token does not let it, takes the fees. */
export function exitPosition(position: Position): PositionExit {
  const { tokenId, token0, token1, pool, deployment } = position
  const tokens = [token0.address, token1.address]
  const take = encodeCall('0x', ...tokens, TO_SENDER)
  const toStep = (actions: string, parameters: Hex): Pick<HoldingStep, 'kind' | 'tokens' | 'calls'> => {
    const list = encodeList([parameters, take].map((each) => encodeBytes(each.slice(2))))
    const unlockData = encodeCall('0x', encodeBytes(actions), list)
    const data = encodeCall(MODIFY, encodeBytes(unlockData.slice(2)), UINT256_MAX)
    return { kind: 'liquidity', tokens, calls: [{ to: deployment.positionManager, data }] }
  }
  return {
    steps: [
      toStep(BURN_ACTIONS, encodeCall('0x', tokenId, 0n, 0n, encodeBytes(''))),
      {
        ...toStep(FEES_ACTIONS, encodeCall('0x', tokenId, 0n, 0n, 0n, encodeBytes(''))),
        parts: ['fees'],
        isFallback: true,
      },
    ],
    parties: [deployment.poolManager, pool.hooks],
    suspects: [...(mayChangeWithdrawal(pool.hooks) ? [pool.hooks] : []), ...listSuspects(position)],
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
