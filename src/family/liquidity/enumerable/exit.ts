import { type Address, type Hex, size, toFunctionSelector } from 'viem'
import type { StepOutcome } from '../../../chain/call/exit/step.ts'
import { decodeWord, encodeBytes, encodeCall, encodeList } from '../../../chain/call/words.ts'
import type { PricedToken } from '../../../finance/token/priced_token.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { UINT256_MAX } from '../../../lib/number/fixed_point.ts'
import { explainBy, type HoldingStep } from '../../exit.ts'
import { listSuspects, type PositionExit } from '../exit.ts'
import type { Custodian } from '../protocol.ts'

const DECREASE = toFunctionSelector('decreaseLiquidity((uint256,uint128,uint256,uint256,uint256))')
const COLLECT = toFunctionSelector('collect((uint256,address,uint128,uint128))')
const MULTICALL = toFunctionSelector('multicall(bytes[])')
/** Parts that the manager pays; rewards, of the same token too, come from its custodian. */
const COLLECTED = ['principal', 'fees', 'withdrawn', 'owed']
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
    parts: COLLECTED,
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
  const steps = [...(liquidity === 0n ? [] : [decrease]), collect(UINT128_MAX, UINT128_MAX, false)]
  return {
    steps: [...(custody?.steps ?? []), ...steps, collect(UINT128_MAX, 0n, true), collect(0n, UINT128_MAX, true)],
    parties: [position.pool.address, ...(custodian ? [deployment.manager] : [])],
    suspects: listSuspects(position),
    // A custodian's steps are no calls of the manager.
    ...(custody === undefined && {
      ownCall: {
        to,
        encode: () => encodeCall(MULTICALL, encodeList(steps.flatMap(({ calls }) => calls.map(toItem)))),
        decode: (answer: Hex) => [...decodeCollected(answer, steps), SKIPPED, SKIPPED],
      },
    }),
    explain,
  }
}

const SKIPPED = { kind: 'skipped' } as const

function toItem({ data }: HoldingStep['calls'][number]) {
  return encodeBytes(data.slice(2))
}

/** The manager answers each call; the last, `collect`, with both amounts, which are the last words. */
function decodeCollected(answer: Hex, steps: readonly HoldingStep[]): StepOutcome[] {
  const count = Math.floor(size(answer) / 32)
  if (count < 2) throw new UpstreamError('Cannot decode what a manager collects')
  const amounts = [decodeWord(answer, count - 2), decodeWord(answer, count - 1)]
  return steps.map(({ tokens }) => ({ kind: 'done', deltas: tokens.length === 0 ? [] : amounts, lent: undefined }))
}
