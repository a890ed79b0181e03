import { type Address, toFunctionSelector } from 'viem'
import { encodeCall } from '../../chain/call/words.ts'
import { UINT256_MAX } from '../../lib/number/fixed_point.ts'
import { explainBy, type HoldingExit, type HoldingStep, type RefusalTable, repayDebt } from '../exit.ts'
import type { Holding } from '../holding.ts'
import type { RawRead, RawReserve, RawReserveTokens } from './read/abi.ts'
import type { AaveV3Deployment } from './table.ts'

const GET_POOL = toFunctionSelector('getPool()')
const REPAY = toFunctionSelector('repay(address,uint256,uint256,address)')
const WITHDRAW = toFunctionSelector('withdraw(address,uint256,address)')
/** Rate modes of debts. */
const [STABLE, VARIABLE] = [1n, 2n]

/** Refusals by the numbers of 3.0, and by the errors of 3.6. */
const REFUSALS: RefusalTable = {
  27: 'paused',
  29: 'paused',
  [toFunctionSelector('ReserveInactive()')]: 'paused',
  [toFunctionSelector('ReservePaused()')]: 'paused',
  35: 'health',
  57: 'health',
  [toFunctionSelector('HealthFactorLowerThanLiquidationThreshold()')]: 'health',
  [toFunctionSelector('LtvValidationFailed()')]: 'health',
}
const explainAny = explainBy(REFUSALS)
/** An overflow is what the withdrawal from a reserve without the money ends in. */
const explainWithdrawal = explainBy({ ...REFUSALS, 'Panic 17': 'no_liquidity' })
const explain: HoldingExit['explain'] = (reason, kind) =>
  kind === 'supplied' ? explainWithdrawal(reason) : explainAny(reason)

/** How a wallet's accounts are taken out, one a market: all debts are repaid, then all supplies withdrawn. */
export function exitAccounts(
  read: RawRead & { readonly tokens: readonly RawReserveTokens[] },
  {
    wallet,
    deployments,
    rows,
  }: {
    readonly wallet: Address
    readonly deployments: readonly AaveV3Deployment[]
    readonly rows: readonly Holding[]
  },
): HoldingExit[] {
  return read.accounts.flatMap(({ market, holdings }): HoldingExit[] => {
    const deployment = deployments[market]
    if (deployment === undefined) return []
    const { poolAddressesProvider: provider } = deployment
    const position = { family: 'aave-v3', market_id: deployment.market }
    const repayments: HoldingStep[] = []
    const withdrawals: HoldingStep[] = []
    for (const { reserve: id, supplied, variableDebt, stableDebt } of holdings) {
      const reserve = read.reserves.find((each) => each.market === market && each.id === id)
      if (reserve === undefined) continue
      for (const [mode, debt] of [
        [VARIABLE, variableDebt],
        [STABLE, stableDebt],
      ] as const) {
        if (debt > 0n) repayments.push(repay(reserve, { wallet, provider, mode, debt }))
      }
      if (supplied === 0n) continue
      const { withdrawable } = findSupply(rows, { asset: reserve.asset, market: deployment.market }) ?? {}
      const free = withdrawable?.limitedBy === 'health' ? (withdrawable.amount ?? 0n) : 0n
      withdrawals.push(...withdraw(reserve, { wallet, provider, supplied, repaid: variableDebt + stableDebt, free }))
    }
    const parties = read.tokens.filter((each) => each.market === market).map(({ supplyToken }) => supplyToken)
    return [{ position, steps: [...repayments, ...withdrawals], parties: [provider, ...parties], explain }]
  })
}

function findSupply(rows: readonly Holding[], { asset, market }: { readonly asset: Address; readonly market: string }) {
  return rows.find(({ kind, token, position }) => {
    return kind === 'supplied' && token.address === asset && position['market_id'] === market
  })
}

function repay(
  { asset }: RawReserve,
  { wallet, provider, mode, debt }: Readonly<Record<'wallet' | 'provider', Address> & Record<'mode' | 'debt', bigint>>,
): HoldingStep {
  // The spender is the pool, which the provider names.
  return repayDebt(
    { token: asset, debt, spender: UINT256_MAX },
    {
      call: { to: provider, getter: GET_POOL, data: encodeCall(REPAY, asset, UINT256_MAX, mode, wallet) },
      patch: { at: 4, from: provider, question: GET_POOL },
    },
  )
}

/** All of it; else what the reserve has, with what was repaid; else what the debts leave free. */
function withdraw(
  { asset, withdrawable }: RawReserve,
  {
    wallet,
    provider,
    supplied,
    repaid,
    free,
  }: Readonly<Record<'wallet' | 'provider', Address> & Record<'supplied' | 'repaid' | 'free', bigint>>,
): HoldingStep[] {
  const toStep = (amount: bigint) => ({
    kind: 'supplied' as const,
    tokens: [asset],
    calls: [{ to: provider, getter: GET_POOL, data: encodeCall(WITHDRAW, asset, amount, wallet) }],
  })
  const isPart = (amount: bigint) => amount > 0n && amount < supplied
  const available = [...new Set([withdrawable + repaid, withdrawable])].filter(isPart)
  return [
    toStep(UINT256_MAX),
    ...available.map((amount) => ({ ...toStep(amount), isFallback: true, because: 'no_liquidity' as const })),
    ...(isPart(free) ? [{ ...toStep(free), isFallback: true, because: 'health' as const }] : []),
  ]
}
