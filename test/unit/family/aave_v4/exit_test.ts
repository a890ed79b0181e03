import { expect, test } from 'bun:test'
import { IHubV4_ABI, ISpokeV4_ABI } from '@aave-dao/aave-address-book/abis'
import { type Address, encodeFunctionData, maxUint256, toFunctionSelector } from 'viem'
import { exitAccount } from '../../../../src/family/aave_v4/exit.ts'
import type { Asset } from '../../../../src/family/aave_v4/math/account.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'

const [WALLET, SPOKE, HUB, TOKEN] = ['wallet', 'spoke', 'hub', 'token'].map(toWalletAddress) as [
  Address,
  Address,
  Address,
  Address,
]
const RAY = 10n ** 27n
const CONFIG = { collateralFactorBps: 8_000n, liquidationBonusBps: 10_500n }

/** A reserve of which a wallet has so much, at a price of one dollar and one token a share. */
function createAsset(id: number, { supplied = 0n, drawn = 0n, liquidity = 10n ** 12n }): Asset {
  return {
    reserveId: id,
    isCollateral: supplied > 0n,
    isBorrowing: drawn > 0n,
    hasAnswered: true,
    key: 0,
    own: CONFIG,
    supplied,
    drawn,
    premium: 0n,
    suppliedShares: supplied,
    drawnShares: drawn,
    premiumShares: 0n,
    premiumOffsetRay: 0n,
    reserve: {
      spoke: 0,
      id,
      hub: HUB,
      assetId: id,
      decimals: 6,
      collateralRiskBps: 0n,
      isPaused: false,
      latestKey: 0,
      latest: CONFIG,
      price: 100_000_000n,
      token: { address: TOKEN, decimals: 6, symbol: undefined, name: undefined },
      asset: {
        revision: 1,
        liquidity,
        addedShares: 10n ** 12n,
        drawnShares: 0n,
        premiumShares: 0n,
        feeBps: 0n,
        drawnRateRay: 0n,
        drawnIndexRay: RAY,
        addedAssets: 10n ** 12n,
        spoke: {
          drawnShares: 0n,
          premiumShares: 0n,
          premiumThresholdBps: 2n ** 24n - 1n,
          isActive: true,
          isHalted: false,
        },
      },
    },
  }
}

function createExit(assets: readonly Asset[]) {
  const terms = { revision: 1, liquidation: undefined, lends: true }
  const account = { terms, riskPremiumBps: 0n, data: undefined, assets }
  return exitAccount({ wallet: WALLET, spoke: { name: 'main', address: SPOKE, startBlock: 1 }, account })
}

const encode = (functionName: 'withdraw' | 'repay', id: bigint, amount: bigint) =>
  encodeFunctionData({ abi: ISpokeV4_ABI, functionName, args: [id, amount, WALLET] })

test('an account repays all of its debts, then withdraws all of its supplies, each of its own reserve', () => {
  const { position, steps } = createExit([
    createAsset(3, { supplied: 1_000n }),
    createAsset(7, { drawn: 400n }),
    createAsset(9, { supplied: 50n }),
  ])
  expect(position).toEqual({ family: 'aave-v4', market_id: 'main' })
  const told = steps.map(({ kind, parts, isFallback = false, calls }) => [kind, parts, isFallback, calls.at(-1)?.data])
  expect(told.slice(0, 2)).toEqual([
    ['borrowed', [`${HUB}-7`], false, encode('repay', 7n, maxUint256)],
    ['supplied', [`${HUB}-3`], false, encode('withdraw', 3n, maxUint256)],
  ])
  expect(told.at(-1)).toEqual(['supplied', [`${HUB}-9`], false, encode('withdraw', 9n, maxUint256)])
  expect(steps[0]?.loan?.amount).toBeGreaterThan(400n)
})

test('what cannot be paid or is held by a debt is withdrawn in part, less each time', () => {
  const { steps } = createExit([createAsset(3, { supplied: 1_000n, liquidity: 300n }), createAsset(7, { drawn: 400n })])
  // 400 of debt need 500 of collateral at 80 %: 500 would be free, and the hub has 300.
  const amounts = steps.slice(1).map(({ because, calls }) => [because, calls.at(-1)?.data])
  expect(amounts).toEqual([
    [undefined, encode('withdraw', 3n, maxUint256)],
    ['no_liquidity', encode('withdraw', 3n, 300n)],
  ])
  const held = createExit([createAsset(3, { supplied: 1_000n }), createAsset(7, { drawn: 400n })]).steps
  expect(held.slice(1).map(({ because, calls }) => [because, calls.at(-1)?.data])).toEqual([
    [undefined, encode('withdraw', 3n, maxUint256)],
    ['health', encode('withdraw', 3n, 500n)],
  ])
})

test('every refusal that it explains is an error of the contracts', () => {
  const { explain } = createExit([])
  const errors = [...ISpokeV4_ABI, ...IHubV4_ABI].filter(({ type }) => type === 'error') as unknown as readonly {
    readonly name: string
    readonly inputs: readonly { readonly type: string }[]
  }[]
  const explained = errors.flatMap(({ name, inputs }) => {
    const refusal = explain(toFunctionSelector(`${name}(${inputs.map(({ type }) => type).join()})`))
    return refusal === undefined ? [] : [[name, refusal]]
  })
  expect(Object.fromEntries(explained)).toEqual({
    ReservePaused: 'paused',
    SpokeNotActive: 'paused',
    SpokeHalted: 'paused',
    InsufficientLiquidity: 'no_liquidity',
    HealthFactorBelowThreshold: 'health',
    InvalidPremiumChange: 'health',
  })
})
