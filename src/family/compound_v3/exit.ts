import { type Address, toFunctionSelector } from 'viem'
import { encodeCall } from '../../chain/call/words.ts'
import { UINT256_MAX } from '../../lib/number/fixed_point.ts'
import { explainBy, type HoldingExit, type HoldingStep, type RefusalTable, repayDebt } from '../exit.ts'
import { computeWithdrawableCollateral } from './math/withdrawal.ts'
import { PARTS } from './present/holdings.ts'
import type { Position } from './read/position.ts'

const SUPPLY = toFunctionSelector('supply(address,uint256)')
const WITHDRAW = toFunctionSelector('withdraw(address,uint256)')
const CLAIM = toFunctionSelector('claim(address,address,bool)')

/** Refusals by the errors of Comet. */
const REFUSALS: RefusalTable = {
  [toFunctionSelector('Paused()')]: 'paused',
  [toFunctionSelector('NotCollateralized()')]: 'health',
  [toFunctionSelector('TransferInFailed()')]: 'token_refuses',
}
const explainAny = explainBy(REFUSALS)
/** A market that lacks the token is refused by the token. */
const explainWithdrawal = explainBy({
  ...REFUSALS,
  [toFunctionSelector('TransferOutFailed()')]: 'no_liquidity',
  [toFunctionSelector('ERC20InsufficientBalance(address,uint256,uint256)')]: 'no_liquidity',
  'ERC20: transfer amount exceeds balance': 'no_liquidity',
})
const explain: HoldingExit['explain'] = (reason, kind) =>
  kind === 'supplied' ? explainWithdrawal(reason) : explainAny(reason)

/** How a position is taken out: its debt is repaid, then everything supplied withdrawn, then its rewards claimed. */
export function exitPosition(position: Position, wallet: Address): HoldingExit {
  const { market, deployment, base, supplied, owed, collaterals, idle, reward } = position
  const { comet, rewards } = deployment

  function withdraw(token: Address, amount: bigint, part: 'base' | 'collateral'): HoldingStep {
    const call = { to: comet, data: encodeCall(WITHDRAW, token, amount) }
    return { kind: 'supplied', parts: [PARTS[part]], tokens: [token], isFree: part === 'base', calls: [call] }
  }

  /** All of it; else what the market has. */
  function withdrawBase(): HoldingStep[] {
    const all = withdraw(base.address, UINT256_MAX, 'base')
    if (idle === 0n || idle >= supplied) return [all]
    return [all, { ...withdraw(base.address, idle, 'base'), isFallback: true, because: 'no_liquidity' }]
  }

  /** All of it; else what the debt leaves free. */
  function withdrawCollateral(collateral: Position['collaterals'][number]): HoldingStep[] {
    const { token, amount } = collateral
    const all = withdraw(token.address, amount, 'collateral')
    const { amount: free = 0n } = computeWithdrawableCollateral(position, collateral) ?? {}
    if (free === 0n) return [all]
    const { calls: rest } = withdraw(token.address, amount - free, 'collateral')
    return [all, { ...withdraw(token.address, free, 'collateral'), isFallback: true, because: 'health', rest }]
  }

  function claim(token: Address, to: Address): HoldingStep {
    const call = { to, data: encodeCall(CLAIM, comet, wallet, 1n) }
    return { kind: 'supplied', parts: [PARTS.rewards], tokens: [token], isFree: true, calls: [call] }
  }

  function repay(): HoldingStep {
    const call = { to: comet, data: encodeCall(SUPPLY, base.address, UINT256_MAX) }
    return { ...repayDebt({ token: base.address, debt: owed, spender: comet }, { call }), parts: [PARTS.base] }
  }

  return {
    position: { family: 'compound-v3', market_id: market },
    steps: [
      ...(owed === 0n ? [] : [repay()]),
      ...(supplied === 0n ? [] : withdrawBase()),
      ...collaterals.flatMap(withdrawCollateral),
      ...(typeof reward === 'object' && rewards !== undefined ? [claim(reward.token.address, rewards)] : []),
    ],
    parties: [comet],
    explain,
  }
}
