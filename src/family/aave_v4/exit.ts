import { toFunctionSelector } from 'viem'
import { encodeCall } from '../../chain/call/words.ts'
import { minBigint, UINT256_MAX } from '../../lib/number/fixed_point.ts'
import { explainBy, type HoldingExit, type HoldingStep, type RefusalTable, repayDebt } from '../exit.ts'
import { type Asset, isOwed } from './math/account.ts'
import { computeWithdrawable } from './math/withdrawal.ts'
import { toPart } from './present/holdings.ts'
import type { CompleteAccount } from './read/position.ts'

const REPAY = toFunctionSelector('repay(uint256,uint256,address)')
const WITHDRAW = toFunctionSelector('withdraw(uint256,uint256,address)')

/** Refusals by the errors of `ISpoke` and `IHub`. */
const REFUSALS: RefusalTable = {
  [toFunctionSelector('ReservePaused()')]: 'paused',
  [toFunctionSelector('SpokeNotActive()')]: 'paused',
  [toFunctionSelector('SpokeHalted()')]: 'paused',
  [toFunctionSelector('InsufficientLiquidity(uint256)')]: 'no_liquidity',
  [toFunctionSelector('HealthFactorBelowThreshold()')]: 'health',
  [toFunctionSelector('InvalidPremiumChange()')]: 'health',
}
const explain = explainBy(REFUSALS)

/** How a wallet's account in a spoke is taken out: all debts are repaid, then all supplies withdrawn. */
export function exitAccount({ wallet, spoke, account }: CompleteAccount): HoldingExit {
  const debts = account.assets.filter(isOwed)
  const supplies = account.assets.filter(({ supplied }) => supplied > 0n)

  function repay(asset: Asset): HoldingStep {
    const { drawn, premium, reserve } = asset
    const data = encodeCall(REPAY, BigInt(reserve.id), UINT256_MAX, wallet)
    const token = reserve.token.address
    const call = { to: spoke.address, data }
    const step = repayDebt({ token, debt: drawn + premium, spender: spoke.address }, { call })
    return { ...step, parts: [toPart(asset)] }
  }

  /** All of it; else what the hub has, with what was repaid; else what the debts leave free. */
  function withdraw(asset: Asset): HoldingStep[] {
    const { supplied, drawn, premium, reserve } = asset
    const step = (amount: bigint): HoldingStep => ({
      kind: 'supplied',
      parts: [toPart(asset)],
      tokens: [reserve.token.address],
      isFree: !asset.isCollateral,
      calls: [{ to: spoke.address, data: encodeCall(WITHDRAW, BigInt(reserve.id), amount, wallet) }],
    })
    const { liquidity } = reserve.asset
    const payable = [liquidity + drawn + premium, liquidity].filter((amount) => amount > 0n && amount < supplied)
    const { amount: alone = 0n, limitedBy } = computeWithdrawable(account, asset) ?? {}
    const free = limitedBy === 'health' ? minBigint(alone, supplied) : 0n
    return [
      step(UINT256_MAX),
      ...[...new Set(payable)].map((amount): HoldingStep => {
        return { ...step(amount), isFallback: true, because: 'no_liquidity' }
      }),
      ...(free === 0n ? [] : [{ ...step(free), isFallback: true, because: 'health' } as const]),
    ]
  }

  return {
    position: { family: 'aave-v4', market_id: spoke.name },
    steps: [...debts.map(repay), ...supplies.flatMap(withdraw)],
    parties: [spoke.address, ...account.assets.map(({ reserve }) => reserve.hub)],
    explain,
  }
}
