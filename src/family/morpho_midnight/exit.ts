import { type Address, toFunctionSelector, zeroAddress } from 'viem'
import { encodeBytes, encodeCall } from '../../chain/call/words.ts'
import { explainBy, type HoldingExit, type HoldingStep, repayDebt } from '../exit.ts'
import { computeWithdrawableCollateral } from './math/withdrawal.ts'
import type { HeldMarket } from './read/position.ts'

const MARKET = '(uint256,address,address,(address,uint256,uint256,address)[],uint256,uint256,address,address)'
const UPDATE = toFunctionSelector(`updatePosition(${MARKET},address)`)
const REPAY = toFunctionSelector(`repay(${MARKET},uint256,address,address,bytes)`)
const WITHDRAW = toFunctionSelector(`withdraw(${MARKET},uint256,address,address)`)
const WITHDRAW_COLLATERAL = toFunctionSelector(`withdrawCollateral(${MARKET},uint256,uint256,address,address)`)
const CREDIT = toFunctionSelector('credit(bytes32,address)')
/** Where the units are in the data of `withdraw`, bytes. */
const UNITS_AT = 4 + 32
/** Digits of the offset that `abi.encode` writes before a struct, with `0x`. */
const OFFSET_DIGITS = 2 + 64

/** Refusals by the errors of Midnight; a pot of less than the units makes a subtraction panic. */
const explain = explainBy({
  'Panic 17': 'no_liquidity',
  [toFunctionSelector('UnhealthyBorrower()')]: 'health',
})

/**
 * How a position in a market is taken out: its debt is repaid at par, then its credit is withdrawn, all of it that is there
 * after losses and fees or else what borrowers have repaid, and each collateral.
 */
export function exitMarket(
  held: HeldMarket,
  { wallet, midnight }: Readonly<Record<'wallet' | 'midnight', Address>>,
): HoldingExit {
  const { marketId, terms, debt, credit, withdrawable, loan, collaterals } = held
  const market = { digits: terms.encoded.slice(OFFSET_DIGITS) }
  const call = (...args: Parameters<typeof encodeCall>) => ({ to: midnight, data: encodeCall(...args) })

  function repay(): HoldingStep {
    const spending = call(REPAY, market, debt, wallet, zeroAddress, encodeBytes(''))
    return repayDebt({ token: loan.address, debt, spender: midnight }, { call: spending })
  }

  function withdraw(): HoldingStep[] {
    const lent = { kind: 'supplied', parts: ['lent'], tokens: [loan.address], isFree: true } as const
    const take = (units: bigint) => call(WITHDRAW, market, units, wallet, wallet)
    const patch = { at: UNITS_AT, from: midnight, question: encodeCall(CREDIT, marketId, wallet) }
    const all: HoldingStep = { ...lent, calls: [call(UPDATE, market, wallet), { ...take(credit), patch }] }
    if (withdrawable === 0n || withdrawable >= credit) return [all]
    return [all, { ...lent, isFallback: true, because: 'no_liquidity', calls: [take(withdrawable)] }]
  }

  function withdrawCollateral(collateral: HeldMarket['collaterals'][number]): HoldingStep[] {
    const { index, amount, token } = collateral
    const step = (assets: bigint): HoldingStep => ({
      kind: 'supplied',
      parts: [`collateral-${index}`],
      tokens: [token.address],
      calls: [call(WITHDRAW_COLLATERAL, market, BigInt(index), assets, wallet, wallet)],
    })
    const { amount: free = 0n } = computeWithdrawableCollateral(held, collateral) ?? {}
    if (free === 0n) return [step(amount)]
    const { calls: rest } = step(amount - free)
    return [step(amount), { ...step(free), isFallback: true, because: 'health', rest }]
  }

  return {
    position: { family: 'morpho-midnight', market_id: marketId },
    steps: [
      ...(debt === 0n ? [] : [repay()]),
      ...(credit === 0n ? [] : withdraw()),
      ...collaterals.flatMap(withdrawCollateral),
    ],
    parties: [midnight, ...collaterals.map(({ index }) => terms.collaterals[index]?.oracle ?? midnight)],
    explain,
  }
}
