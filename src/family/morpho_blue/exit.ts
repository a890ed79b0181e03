import { type Address, toFunctionSelector } from 'viem'
import { encodeBytes, encodeCall } from '../../chain/call/words.ts'
import { UINT256_MAX } from '../../lib/number/fixed_point.ts'
import { explainBy, type HoldingExit, type HoldingStep, repayDebt } from '../exit.ts'
import { computeIdleLiquidity } from './math/market.ts'
import { computeWithdrawableCollateral } from './math/withdrawal.ts'
import type { HeldMarket } from './read/position.ts'

const PARAMS = '(address,address,address,address,uint256)'
const ACCRUE = toFunctionSelector(`accrueInterest(${PARAMS})`)
const REPAY = toFunctionSelector(`repay(${PARAMS},uint256,uint256,address,bytes)`)
const WITHDRAW = toFunctionSelector(`withdraw(${PARAMS},uint256,uint256,address,address)`)
const WITHDRAW_COLLATERAL = toFunctionSelector(`withdrawCollateral(${PARAMS},uint256,address,address)`)
const POSITION = toFunctionSelector('position(bytes32,address)')
/** Where the shares are in the data of `withdraw`, bytes. */
const SHARES_AT = 4 + 6 * 32

/** Refusals by Morpho's `ErrorsLib`. */
const explain = explainBy({
  'insufficient liquidity': 'no_liquidity',
  'insufficient collateral': 'health',
  'transfer reverted': 'token_refuses',
  'transferFrom reverted': 'token_refuses',
  'transfer returned false': 'token_refuses',
  'transferFrom returned false': 'token_refuses',
})

/**
 * How a position in a market is taken out: its debt is repaid, then what was lent is withdrawn, all shares that are there
 * after interest or else what the market holds idle, and the collateral.
 */
export function exitMarket(
  held: HeldMarket,
  { wallet, morpho }: Readonly<Record<'wallet' | 'morpho', Address>>,
): HoldingExit {
  const { marketId, params, market, supplied, owed, borrowShares, collateral, loan } = held
  const words = [params.loanToken, params.collateralToken, params.oracle, params.irm, params.lltv] as const
  const lent = { kind: 'supplied', parts: ['lent'], tokens: [loan.address], isFree: true } as const
  const secured = { kind: 'supplied', parts: ['collateral'], tokens: [params.collateralToken] } as const
  const toLent = (assets: bigint, shares: bigint) => encodeCall(WITHDRAW, ...words, assets, shares, wallet, wallet)
  const toCollateral = (amount: bigint) => encodeCall(WITHDRAW_COLLATERAL, ...words, amount, wallet, wallet)

  function repay(): HoldingStep {
    const data = encodeCall(REPAY, ...words, 0n, borrowShares, wallet, encodeBytes(''))
    return repayDebt({ token: loan.address, debt: owed, spender: morpho }, { call: { to: morpho, data } })
  }

  function withdrawLent(): HoldingStep[] {
    const accrue = { to: morpho, data: encodeCall(ACCRUE, ...words) }
    const patch = { at: SHARES_AT, from: morpho, question: encodeCall(POSITION, marketId, wallet) }
    const idle = computeIdleLiquidity(market)
    const available = [...new Set([idle + owed, idle])].filter((amount) => amount > 0n && amount < supplied)
    const parts = available.map((amount): HoldingStep => {
      return { ...lent, isFallback: true, because: 'no_liquidity', calls: [{ to: morpho, data: toLent(amount, 0n) }] }
    })
    return [{ ...lent, calls: [accrue, { to: morpho, data: toLent(0n, UINT256_MAX), patch }] }, ...parts]
  }

  function withdrawCollateral(): HoldingStep[] {
    const all: HoldingStep = { ...secured, calls: [{ to: morpho, data: toCollateral(collateral) }] }
    const free = computeWithdrawableCollateral(held)?.amount ?? 0n
    if (free === 0n || free >= collateral) return [all]
    const take = (amount: bigint) => [{ to: morpho, data: toCollateral(amount) }]
    return [all, { ...secured, calls: take(free), isFallback: true, because: 'health', rest: take(collateral - free) }]
  }

  const steps = [
    ...(owed === 0n ? [] : [repay()]),
    ...(supplied === 0n ? [] : withdrawLent()),
    ...(collateral === 0n ? [] : withdrawCollateral()),
  ]
  return {
    position: { family: 'morpho-blue', market_id: marketId },
    steps,
    parties: [params.oracle, params.irm],
    explain,
  }
}
