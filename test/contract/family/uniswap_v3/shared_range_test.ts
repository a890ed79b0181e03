import { beforeAll, expect, test } from 'bun:test'
import { LENS_MODES, type LensMode } from '../../../../src/chain/call/lens.ts'
import { computeHeldAmounts } from '../../../../src/family/uniswap_v3/math/figures.ts'
import { BANK, TOKENS, toWalletAddress } from '../../../devnet/addresses.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { fundBank, tokenCreationCode } from '../../../devnet/contracts.ts'
import { type Devnet, sharedDevnet } from '../../../devnet/mod.ts'
import { collectCall, swapCall } from '../../../devnet/uniswap_v3_calls.ts'
import { countedClient, createTestReader, patient, toWhole } from '../../../support/family/uniswap_v3/support.ts'

const BUSY = toWalletAddress('collects often')
const PATIENT = toWalletAddress('collects once')
const RANGE = { tickLower: -600, tickUpper: 600 }
const ROUNDS = 30

let devnet: Devnet
let tokenId: bigint
let liquidity: bigint

beforeAll(async () => {
  devnet = await sharedDevnet()
  const [receipt] = await devnet.send([
    { from: BANK, data: tokenCreationCode({ name: 'Only range', symbol: 'ONLY', decimals: 18 }) },
  ])
  const tokenA = receipt?.contractAddress
  if (tokenA === undefined || tokenA === null) throw new Error('Cannot deploy a token')
  await devnet.send(fundBank(tokenA))
  const [tokenB, unit] = [TOKENS.weth.address, 10n ** 18n]
  // The only liquidity of its pool, so that each touch rounds down what it alone earned.
  const pool = await devnet.v3.createPool({ tokenA, tokenB, fee: 10_000, amountA: unit, amountB: unit })
  const mint = (recipient: typeof BUSY) => ({ pool, ...RANGE, amount0: unit / 3n, amount1: unit / 3n, recipient })
  const [busy, held] = await devnet.v3.mintMany([BUSY, PATIENT].map(mint))
  if (busy === undefined || held === undefined) throw new Error('Cannot mint')
  ;({ tokenId, liquidity } = held)
  for (let round = 0; round < ROUNDS; round++) {
    // Fees that two equal ids cannot halve.
    const amountIn = 1_000_000_000_000_007n + BigInt(round) * 100n
    await devnet.send([
      swapCall({ pool, tokenIn: pool.token0, amountIn }),
      swapCall({ pool, tokenIn: pool.token1, amountIn }),
      collectCall({ tokenId: busy.tokenId, owner: BUSY }),
    ])
  }
}, 120_000)

/** Compares the position with what a collect pays; returns the units of token0 that the pool lacks of the manager's. */
async function compareWithCollect(mode: LensMode): Promise<bigint> {
  const { client } = countedClient(createDevnetChain(devnet))
  const { reader, targets } = createTestReader(client, { mode })
  const [read] = await reader.readWallet(PATIENT, { targets, signal: patient })
  const [position] = toWhole(read?.positions ?? [])
  if (position === undefined) throw new Error('Cannot read the position')
  const { amount0, amount1 } = await devnet.v3.staticCollect(tokenId, read?.block.number)
  const { owed, counted } = computeHeldAmounts(position)
  expect({ tokenId: position.tokenId, owed }).toEqual({ tokenId, owed: { amount0, amount1 } })
  return counted.amount0 - owed.amount0
}

test.each(LENS_MODES)(
  'a position is owed what the pool pays, which is less than its manager counts, by %s',
  async (mode) => {
    const lacking = await compareWithCollect(mode)
    expect(lacking).toBeGreaterThan(0n)
    expect(lacking).toBeLessThanOrEqual(BigInt(ROUNDS))
  },
)

test('a position without liquidity is owed what the pool has settled before', async () => {
  await devnet.v3.decreaseLiquidity({ tokenId, owner: PATIENT, liquidity })
  for (const mode of LENS_MODES) expect(await compareWithCollect(mode)).toBeGreaterThan(0n)
})
