import { type Address, type Hex, toFunctionSelector } from 'viem'
import type { Block } from '../../../chain/block.ts'
import { EXIT_LENS, type UnitOutcome } from '../../../chain/call/exit/execute.ts'
import type { ExitStep, ExitUnit, StepOutcome } from '../../../chain/call/exit/step.ts'
import { tryUnitsAlone } from '../../../chain/call/exit/try_alone.ts'
import { type LensAccess, readByLens } from '../../../chain/call/lens.ts'
import { encodeBytes, encodeCall, encodeList } from '../../../chain/call/words.ts'
import { type Endpoint, RpcRefusedError } from '../../../chain/rpc/client.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UINT256_MAX } from '../../../lib/number/fixed_point.ts'
import { listSuspects } from '../../liquidity/exit.ts'
import type { Withdrawal } from '../math/figures.ts'
import { mayChangeWithdrawal } from '../math/hooks.ts'
import type { UniswapV4Deployment } from '../table.ts'
import type { Position } from './position.ts'

const MODIFY = toFunctionSelector('modifyLiquidities(bytes,uint256)')
/** Actions.sol: BURN_POSITION or DECREASE_LIQUIDITY, and TAKE_PAIR. ActionConstants.sol: MSG_SENDER. */
const BURN_ACTIONS = '0311'
const FEES_ACTIONS = '0111'
const TO_SENDER = 1n

/** Outcome of a withdrawal that no endpoint executes. */
export const UNSUPPORTED: Withdrawal = { error: 'unsupported' }

/** What a withdrawal of a position is made of. */
export interface WithdrawalTerms {
  readonly tokenId: bigint
  readonly tokens: readonly [Address, Address]
  readonly hooks: Address
  /** Contracts that may be hostile. */
  readonly suspects: readonly Address[]
}

/** A burn, and a fallback that takes the fees alone. */
interface WithdrawalUnit extends ExitUnit {
  readonly steps: readonly [burn: ExitStep, fees: ExitStep]
}

/** The endpoint that executes withdrawals. */
export interface WithdrawalTarget {
  readonly endpoint: Endpoint
  readonly chainId: number
  readonly clock: Clock
}

/** Positions of one owner, and the block to withdraw at; absent: the newest block. */
export interface WithdrawalQuery {
  readonly owner: Address
  readonly positions: readonly WithdrawalTerms[]
  readonly deployment: UniswapV4Deployment
  readonly block?: Block | undefined
}

/** Outcomes of withdrawals at one block. */
export interface Withdrawals {
  /** Undefined if no call was needed, or none was executed. */
  readonly block: Block | undefined
  readonly byId: ReadonlyMap<bigint, Withdrawal>
}

/** Picks what a withdrawal of a position is made of. */
export function toWithdrawalTerms(position: Position): WithdrawalTerms {
  const { tokenId, token0, token1, pool } = position
  const { hooks } = pool
  const suspects = [...(mayChangeWithdrawal(hooks) ? [hooks] : []), ...listSuspects(position)]
  return { tokenId, tokens: [token0.address, token1.address], hooks, suspects }
}

/** Burns the position, with empty hook data; if the hook or a token does not let it, takes the fees. */
export function withdrawPosition(
  { tokenId, tokens, hooks, suspects }: WithdrawalTerms,
  { positionManager, poolManager }: Pick<UniswapV4Deployment, 'positionManager' | 'poolManager'>,
): WithdrawalUnit {
  const take = encodeCall('0x', ...tokens, TO_SENDER)
  const toStep = (actions: string, parameters: Hex): ExitStep => {
    const list = encodeList([parameters, take].map((each) => encodeBytes(each.slice(2))))
    const unlockData = encodeCall('0x', encodeBytes(actions), list)
    const data = encodeCall(MODIFY, encodeBytes(unlockData.slice(2)), UINT256_MAX)
    return { tokens, calls: [{ to: positionManager, data }] }
  }
  return {
    steps: [
      toStep(BURN_ACTIONS, encodeCall('0x', tokenId, 0n, 0n, encodeBytes(''))),
      { ...toStep(FEES_ACTIONS, encodeCall('0x', tokenId, 0n, 0n, 0n, encodeBytes(''))), isFallback: true },
    ],
    parties: [poolManager, hooks],
    suspects,
  }
}

/**
 * Withdraws each position alone as its owner, and undoes it. If the endpoint does not override code, all are `unsupported`
 * and the block is undefined. Throws as `readByLens`.
 */
export async function readWithdrawals(
  { endpoint, chainId, clock }: WithdrawalTarget,
  { owner, positions, deployment, block }: WithdrawalQuery,
  work: Work,
): Promise<Withdrawals> {
  const toOutcomes = (toOutcome: (index: number) => Withdrawal) =>
    new Map(positions.map(({ tokenId }, index) => [tokenId, toOutcome(index)]))
  const units = positions.map((each) => withdrawPosition(each, deployment))
  const read = async (lens: LensAccess): Promise<Withdrawals> => {
    const tried = await tryUnitsAlone(lens, { wallet: owner, units, block })
    return { block: tried.block, byId: toOutcomes((index) => toWithdrawal(tried.units[index])) }
  }
  try {
    return await readByLens(endpoint, { ...EXIT_LENS, chainId, clock, read }, work)
  } catch (error) {
    if (!(error instanceof RpcRefusedError)) throw error
    return { block: undefined, byId: toOutcomes(() => UNSUPPORTED) }
  }
}

function toWithdrawal(outcome: UnitOutcome | undefined): Withdrawal {
  if (outcome?.kind !== 'run') return UNSUPPORTED
  const [burn, fees] = outcome.steps
  const paid = toPaid(burn)
  if (paid !== undefined) return { paid }
  if (burn?.kind !== 'reverted') return UNSUPPORTED
  const taken = toPaid(fees)
  return { error: 'reverts', ...(taken && { fees: taken }) }
}

/** What a step paid; undefined if it did not, or if it took something. */
function toPaid(step: StepOutcome | undefined) {
  if (step?.kind !== 'done') return undefined
  const [amount0 = 0n, amount1 = 0n] = step.deltas
  return amount0 < 0n || amount1 < 0n ? undefined : { amount0, amount1 }
}
