import * as v from 'valibot'
import { checksumAddress, zeroAddress } from 'viem'
import { evmAddress, withFull } from '../../finance/figure.ts'
import type { TokenAmounts } from '../../finance/math/liquidity.ts'
import { withWords } from '../../lib/text/text_format.ts'
import type { HoldingExclusion } from '../holding.ts'
import { presentAmounts } from '../liquidity/present.ts'
import type { FigureContext, FullPosition, HeldPart } from '../liquidity/protocol.ts'
import {
  amounts,
  buildOutputs,
  integerText,
  LISTED_PNL_STATUS,
  pnlFigures,
  positionToken,
  rangeFigures,
  reward,
  unsignedText,
  usdFigures,
  usdOrNullText,
  WORTH,
} from '../liquidity/schema.ts'
import { computeCountedAmounts, computeHeldAmounts, computeTakenFees, type Withdrawal } from './math/figures.ts'
import { getHookPermissions, HOOK_PERMISSIONS, isDynamicFee, needsWithdrawal } from './math/hooks.ts'
import type { Position } from './read/position.ts'

const hooks = v.strictObject({
  address: withWords('Its contract', evmAddress),
  permissions: v.pipe(
    v.array(v.picklist(HOOK_PERMISSIONS)),
    v.description("What the low 14 bits of its address let it do, from bit 13 down; names as in Uniswap's Hooks.sol"),
  ),
})

const pool = {
  id: v.pipe(v.string(), v.regex(/^0x[0-9a-f]{64}$/), v.description('Hash of what identifies the pool, 32 bytes')),
  tick: withWords('Current tick', integerText),
  feeTier: v.pipe(unsignedText, v.description('The fee in force, hundredths of a bip')),
  isDynamicFee: v.pipe(v.boolean(), v.description('Whether the hook may change the fee')),
  protocolFee: v.pipe(
    unsignedText,
    v.description("As the pool keeps it: the protocol's share of swaps of token0, plus 4096 times that of token1"),
  ),
  tickSpacing: withWords('Ticks between those that a range may end at', integerText),
  hooks: v.pipe(v.nullable(hooks), v.description('Null without a hook')),
}

/** Success bodies, without `request_id`. */
export const OUTPUTS = buildOutputs({
  name: 'UniswapV4',
  pool,
  tokens: [v.pipe(positionToken, v.description('The native token is the zero address')), positionToken],
  code: v.literal('uniswap_v4'),
  getFigures: () => ({
    amounts: withFull(amounts, 'what the pool owes for all liquidity, in raw units and whole tokens'),
    uncollected_fees: withFull(amounts, 'what any change of the position would pay besides'),
    withdrawable: withFull(
      v.nullable(amounts),
      'only if the hook sees withdrawals: what a complete one paid when it was executed in this reading; null with the reason in withdrawable_error',
    ),
    withdrawable_error: withFull(
      v.nullable(v.picklist(['reverts', 'unsupported'])),
      'reverts: the withdrawal does; unsupported: no endpoint executes it',
    ),
    rewards: withFull(v.array(reward), 'always empty: no contract is read that pays for these positions'),
    ...rangeFigures,
    ...pnlFigures(LISTED_PNL_STATUS),
    usd: usdFigures(
      { amounts: withWords(WORTH, usdOrNullText), uncollected_fees: withWords(WORTH, usdOrNullText) },
      'US dollars, null if one of the tokens has no price; total is amounts and fees, or of each token no more than withdrawable',
    ),
  }),
})

/** Presents the pool of a position. */
export function presentPool({ pool }: Position) {
  const { id, tick, fee, protocolFee, tickSpacing, hooks } = pool
  return {
    id,
    tick: tick.toString(),
    feeTier: fee.toString(),
    isDynamicFee: isDynamicFee(pool),
    protocolFee: protocolFee.toString(),
    tickSpacing: tickSpacing.toString(),
    hooks:
      hooks === zeroAddress ? null : { address: checksumAddress(hooks), permissions: [...getHookPermissions(hooks)] },
  }
}

/** Presents an executed withdrawal; nothing if the pool's hook is not called by withdrawals. */
export function presentWithdrawal({ position, withdrawal }: FullPosition<Position, Withdrawal>) {
  if (withdrawal === undefined) return {}
  if ('error' in withdrawal) return { withdrawable: null, withdrawable_error: withdrawal.error }
  const { paid } = withdrawal
  const { token0, token1 } = position
  return { withdrawable: presentAmounts([paid.amount0, paid.amount1], [token0, token1]), withdrawable_error: null }
}

/**
 * Figures that depend on an executed withdrawal. The withdrawal runs with replaced code at the owner's address, while a
 * record holds calls of lenses at their own addresses.
 */
const WITHDRAWAL_FIELDS = ['withdrawable', 'withdrawable_error', 'usd.total']

/** Lists the figures of a position that no receipt covers. */
export function listUncoveredFields(position: Position): readonly string[] {
  return needsWithdrawal(position) ? WITHDRAWAL_FIELDS : []
}

/**
 * Lists what a position holds: principal and fees, or the amounts that a withdrawal pays if the pool's hook is called by
 * withdrawals. Behind a hook that forbids removal the fees count that can be taken alone.
 */
export function toHeldParts(position: Position, { withdrawal }: FigureContext<Withdrawal>): readonly HeldPart[] {
  const { principal, fees } = computeHeldAmounts(position)
  if (withdrawal === undefined) {
    return [
      { part: 'principal', amounts: principal },
      { part: 'fees', amounts: fees },
    ]
  }
  if ('paid' in withdrawal) {
    const amounts = computeCountedAmounts({ principal, fees }, withdrawal) ?? withdrawal.paid
    return [{ part: 'withdrawable', amounts }]
  }
  const { error } = withdrawal
  const amount = error === 'reverts' ? 0n : undefined
  const limits = { refused: EXCLUSIONS[error], withdrawable: { amount, limitedBy: 'hook' } } as const
  const taken = computeTakenFees({ fees }, withdrawal.fees)
  return [
    { part: 'principal', amounts: principal, ...limits },
    { part: 'fees', amounts: taken },
    { part: 'fees', amounts: subtractAmounts(fees, taken), ...limits },
  ]
}

function subtractAmounts(all: TokenAmounts, part: TokenAmounts): TokenAmounts {
  return { amount0: all.amount0 - part.amount0, amount1: all.amount1 - part.amount1 }
}

const EXCLUSIONS: Readonly<Record<'reverts' | 'unsupported', HoldingExclusion>> = {
  reverts: { reason: 'withdrawal_reverts', detail: "The pool's hook does not let it be withdrawn" },
  unsupported: {
    reason: 'withdrawal_reverts',
    detail: "The pool's hook sees withdrawals, and no endpoint shows what one would pay",
  },
}
