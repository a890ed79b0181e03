import { expect, test } from 'bun:test'
import { decodeMint, getTransferFee } from '../../../../src/chain/solana/token.ts'
import { collectable, computeOwed, computeWithdrawal } from '../../../../src/family/orca_whirlpool/math/figures.ts'
import {
  deriveBundleAddress,
  deriveBundledPositionAddress,
  derivePositionAddress,
  deriveTickArrayAddress,
} from '../../../../src/family/orca_whirlpool/read/account_cache.ts'
import {
  decodeBundle,
  decodePool,
  decodePosition,
  decodeTick,
} from '../../../../src/family/orca_whirlpool/read/layout.ts'
import { afterTransferFee } from '../../../../src/finance/math/transfer.ts'
import { WHIRLPOOL } from '../../../support/orca.ts'
import { ORCA_CASES, type OrcaCase, orcaAccounts } from '../../../support/orca_vectors.ts'

/** Figures that the reader and the formulas compute from a state's accounts. */
function computeExpected(state: OrcaCase): OrcaCase['expected'] {
  const { addresses } = state
  const accounts = orcaAccounts(state)
  const data = (address: string) => accounts[address]?.data ?? new Uint8Array()
  const pool = decodePool(data(addresses.pool))
  const position = decodePosition(data(addresses.position))
  if (pool === undefined || position === undefined) throw new Error('Expected a pool and a position')
  const readTick = (array: string, tick: number) =>
    decodeTick(data(array), { pool: addresses.pool, tickSpacing: pool.tickSpacing, tick })
  const lower = readTick(addresses.lowerArray, position.tickLower)
  const upper = readTick(addresses.upperArray, position.tickUpper)
  const ticks = lower && upper && { lower, upper }
  const owed = computeOwed(pool, position, { ticks, nowSec: BigInt(state.unixTs) })
  const received = (mint: string, amount: bigint) => {
    const token = decodeMint(data(mint))
    const fee = token && getTransferFee(token, BigInt(state.epoch))
    return fee === undefined ? amount : afterTransferFee(amount, fee)
  }
  const { amount0, amount1 } = computeWithdrawal(pool, position)
  const isRefused = state.expected.amountA === null
  const paid = (amount: bigint) => (isRefused ? null : amount.toString())
  return {
    feeA: owed.feeA.toString(),
    feeB: owed.feeB.toString(),
    rewards: owed.rewards.map(String),
    amountA: paid(amount0),
    amountB: paid(amount1),
    receivedA: paid(received(pool.mintA, amount0)),
    receivedB: paid(received(pool.mintB, amount1)),
    receivedFeeA: received(pool.mintA, owed.feeA).toString(),
    receivedFeeB: received(pool.mintB, owed.feeB).toString(),
    receivedRewards: owed.rewards.map((reward, index) =>
      received(pool.rewards[index]?.mint ?? '', collectable(reward, BigInt(state.rewardVaults[index] ?? 0))).toString(),
    ),
  }
}

test.each(ORCA_CASES)('$name: every figure equals what the program wrote and paid', (state) => {
  expect(computeExpected(state)).toEqual(state.expected)
})

test.each(ORCA_CASES)('$name: every derived address equals the program’s', (state) => {
  const { addresses, pool, position, bundleIndex } = state
  const { positionMint: mint } = addresses
  if (addresses.bundle === null) expect(derivePositionAddress(WHIRLPOOL, mint)).toBe(addresses.position)
  else {
    expect(deriveBundleAddress(WHIRLPOOL, mint)).toBe(addresses.bundle)
    expect(deriveBundledPositionAddress(WHIRLPOOL, mint, bundleIndex ?? -1)).toBe(addresses.position)
    const data = orcaAccounts(state)[addresses.bundle]?.data ?? new Uint8Array()
    expect(decodeBundle(data)).toEqual({ mint, indexes: [bundleIndex ?? -1] })
  }
  const place = { pool: addresses.pool, tickSpacing: pool.tickSpacing }
  expect(deriveTickArrayAddress(WHIRLPOOL, { ...place, tick: position.lower })).toBe(addresses.lowerArray)
  expect(deriveTickArrayAddress(WHIRLPOOL, { ...place, tick: position.upper })).toBe(addresses.upperArray)
})

test('the vectors cover every rule', () => {
  const names = ORCA_CASES.map(({ name }) => name)
  for (const rule of ['fee-overflow', 'owed-wraps', 'reward-overflow', 'pool-empty', 'at-upper-crossed', 'splash'])
    expect(names).toContain(`edge/${rule}`)
  expect(ORCA_CASES.length).toBe(45)
})
