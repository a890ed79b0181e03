import { expect, test } from 'bun:test'
import { type Address, encodeFunctionData, maxUint256, parseAbi, toFunctionSelector } from 'viem'
import { exitPosition } from '../../../../src/family/compound_v3/exit.ts'
import type { Position } from '../../../../src/family/compound_v3/read/position.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'

const ABI = parseAbi([
  'function supply(address asset, uint256 amount)',
  'function withdraw(address asset, uint256 amount)',
  'function claim(address comet, address src, bool shouldAccrue)',
])
const [WALLET, COMET, REWARDS, BASE, WETH, COMP] = ['wallet', 'comet', 'rewards', 'base', 'weth', 'comp'].map(
  toWalletAddress,
) as [Address, Address, Address, Address, Address, Address]
const WAD = 10n ** 18n
const USDC = 10n ** 6n

function createToken(address: Address, decimals: number) {
  const price = { kind: 'price', price: { units: 1n, scale: 0, source: 'feed' } } as const
  return { address, symbol: 'TOK', name: 'Token', decimals, asWritten: { symbol: 'TOK', name: 'Token' }, price }
}

/** A position of 2 WETH of collateral at 1,000 dollars, with a debt or a supply, and rewards. */
function createPosition(more: Partial<Position>): Position {
  const deployment = { market: 'usdc', comet: COMET, rewards: REWARDS, startBlock: 0 }
  const weth = { scale: WAD, borrowFactorWad: WAD / 2n, liquidateFactorWad: (6n * WAD) / 10n }
  return {
    market: deployment.market,
    deployment,
    base: createToken(BASE, 6),
    terms: {
      baseScale: USDC,
      supplyRateWad: 0n,
      borrowRateWad: 0n,
      supplySpeed: 0n,
      borrowSpeed: 0n,
      trackingIndexScale: 1n,
      minForRewards: 0n,
    },
    price: 10n ** 8n,
    supplied: 0n,
    owed: 0n,
    storedOwed: 0n,
    isBorrower: false,
    collaterals: [{ ...weth, token: createToken(WETH, 18), amount: 2n * WAD, price: 1_000n * 10n ** 8n }],
    reward: { token: createToken(COMP, 18), amount: WAD, funds: WAD },
    idle: 10n ** 12n,
    isWithdrawPaused: false,
    isAbsorbPaused: false,
    ...more,
  }
}

const encode = (functionName: 'supply' | 'withdraw' | 'claim', ...args: readonly unknown[]) =>
  encodeFunctionData({ abi: ABI, functionName, args } as never)

test('a borrower repays, takes all collateral or what the debt leaves free, and claims', () => {
  const owed = 500n * USDC
  const { steps, position } = exitPosition(createPosition({ owed, storedOwed: owed, isBorrower: true }), WALLET)
  expect(position).toEqual({ family: 'compound-v3', market_id: 'usdc' })
  expect(steps.map(({ kind, tokens, parts, because }) => [kind, tokens, parts, because])).toEqual([
    ['borrowed', [BASE], ['base'], undefined],
    ['supplied', [WETH], ['collateral'], undefined],
    ['supplied', [WETH], ['collateral'], 'health'],
    ['supplied', [COMP], ['rewards'], undefined],
  ])
  expect(steps.map(({ calls }) => calls.at(-1))).toEqual([
    { to: COMET, data: encode('supply', BASE, maxUint256) },
    { to: COMET, data: encode('withdraw', WETH, 2n * WAD) },
    // 500 dollars are half of 1,000, which one token is worth.
    { to: COMET, data: encode('withdraw', WETH, WAD) },
    { to: REWARDS, data: encode('claim', COMET, WALLET, true) },
  ])
  expect(steps[0]?.loan?.token).toBe(BASE)
  expect(steps[0]?.loan?.amount).toBeGreaterThan(owed)
})

test('a lender takes all of it or what the market has', () => {
  const lender = createPosition({ supplied: 900n * USDC, idle: 700n * USDC, collaterals: [], reward: undefined })
  const { steps } = exitPosition(lender, WALLET)
  expect(steps.map(({ calls, because, isFree }) => [calls[0]?.data, because, isFree])).toEqual([
    [encode('withdraw', BASE, maxUint256), undefined, true],
    [encode('withdraw', BASE, 700n * USDC), 'no_liquidity', true],
  ])
  for (const idle of [0n, 900n * USDC]) expect(exitPosition({ ...lender, idle }, WALLET).steps).toHaveLength(1)
})

test('refusals of the market and of tokens are told apart', () => {
  const { explain } = exitPosition(createPosition({}), WALLET)
  expect(explain(toFunctionSelector('Paused()'), 'supplied')).toBe('paused')
  expect(explain(toFunctionSelector('NotCollateralized()'), 'supplied')).toBe('health')
  expect(explain(toFunctionSelector('TransferOutFailed()'), 'supplied')).toBe('no_liquidity')
  expect(explain(toFunctionSelector('TransferInFailed()'), 'borrowed')).toBe('token_refuses')
  expect(explain('0x12345678', 'supplied')).toBeUndefined()
})
