import { type Address, toFunctionSelector } from 'viem'
import { encodeCall } from '../../../chain/call/words.ts'
import type { PricedToken } from '../../../finance/token/priced_token.ts'
import { UINT256_MAX } from '../../../lib/number/fixed_point.ts'
import { explainBy, type HoldingStep } from '../../exit.ts'
import { listSuspects, type PositionExit } from '../exit.ts'
import type { Custodian } from '../protocol.ts'

const DECREASE = toFunctionSelector('decreaseLiquidity((uint256,uint128,uint256,uint256,uint256))')
const COLLECT = toFunctionSelector('collect((uint256,address,uint128,uint128))')
const UINT128_MAX = 2n ** 128n - 1n

/** `NonfungiblePositionManager` and `UniswapV3Pool` have one text for a token that refuses: that of `TransferHelper`. */
const explain = explainBy({ TF: 'token_refuses', ST: 'token_refuses' })

interface ExitedPosition {
  readonly tokenId: bigint
  readonly liquidity: bigint
  readonly owner: Address
  readonly custodian?: Custodian | undefined
  readonly rewards?: readonly { readonly token: PricedToken }[]
  readonly token0: PricedToken
  readonly token1: PricedToken
  readonly deployment: { readonly manager: Address }
  readonly pool: { readonly address: Address }
}

/** How a position leaves its custodian: what its owner calls first, and what it withdraws and collects from then. */
interface CustodyExit {
  readonly steps: readonly HoldingStep[]
  /** Answers the manager's `decreaseLiquidity` and `collect`. */
  readonly to: Address
}

/** Tells how a position leaves its custodian. */
export type ExitCustody = (position: ExitedPosition & { readonly custodian: Custodian }) => CustodyExit

/**
 * Withdraws all liquidity, then collects both tokens; if that fails, one of them. What a manager still owes is paid even
 * where nothing can be withdrawn. What a custodian pays comes first.
 */
export function exitPosition(position: ExitedPosition, exitCustody?: ExitCustody): PositionExit {
  const { tokenId, liquidity, owner, token0, token1, deployment, custodian } = position
  const custody = custodian && exitCustody?.({ ...position, custodian })
  const to = custody?.to ?? deployment.manager
  const collect = (amount0: bigint, amount1: bigint, isFallback: boolean): HoldingStep => ({
    kind: 'liquidity',
    tokens: [token0.address, token1.address],
    isFallback,
    calls: [{ to, data: encodeCall(COLLECT, tokenId, owner, amount0, amount1) }],
  })
  const decrease: HoldingStep = {
    kind: 'liquidity',
    parts: ['principal'],
    tokens: [],
    calls: [{ to, data: encodeCall(DECREASE, tokenId, liquidity, 0n, 0n, UINT256_MAX) }],
  }
  return {
    steps: [
      ...(custody?.steps ?? []),
      ...(liquidity === 0n ? [] : [decrease]),
      collect(UINT128_MAX, UINT128_MAX, false),
      collect(UINT128_MAX, 0n, true),
      collect(0n, UINT128_MAX, true),
    ],
    parties: [position.pool.address, ...(custodian ? [deployment.manager] : [])],
    suspects: listSuspects(position),
    explain,
  }
}
