import { beforeAll, expect, test } from 'bun:test'
import { createHoldingsReader } from '../../../../src/family/liquidity/holdings.ts'
import { computeHeldAmounts } from '../../../../src/family/uniswap_v4/math/figures.ts'
import { PROTOCOL } from '../../../../src/family/uniswap_v4/protocol.ts'
import type { FindOwnedIds } from '../../../../src/family/uniswap_v4/read/ownership.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { type Devnet, sharedDevnet } from '../../../devnet/mod.ts'
import { rangeAround } from '../../../devnet/ticks.ts'
import type { UniswapV4 } from '../../../devnet/uniswap_v4/mod.ts'
import { liquidityWorth, type V4PoolName } from '../../../devnet/uniswap_v4/pools.ts'
import { countedClient, patient } from '../../../support/family/uniswap_v3/support.ts'
import { readHoldings } from '../../../support/holdings.ts'
import { createFindEveryId, createTestReader } from './support.ts'

const OWNER = toWalletAddress('v4 holdings owner')
const NAMES = ['plain', 'native', 'feeTaking', 'forbidding'] as const

let devnet: Devnet
let v4: UniswapV4
const ids = new Map<V4PoolName, bigint>()

beforeAll(async () => {
  devnet = await sharedDevnet()
  v4 = await devnet.uniswapV4()
  const minted = await v4.mintMany(
    NAMES.map((name) => {
      const pool = v4.pools[name]
      const range = rangeAround(pool, -900, 900)
      return { pool, ...range, liquidity: liquidityWorth(pool, { ...range, usd: 1_000 }), recipient: OWNER }
    }),
  )
  for (const [index, name] of NAMES.entries()) ids.set(name, minted[index] ?? 0n)
}, 120_000)

function setUp({ find = createFindEveryId(devnet) }: { readonly find?: FindOwnedIds } = {}) {
  const { client, requests } = countedClient(createDevnetChain(devnet))
  const { reader, places } = createTestReader(client, { find })
  return {
    client,
    requests,
    reader,
    places,
    holdings: createHoldingsReader(PROTOCOL, { reader, readWithdrawn: async () => [] }),
  }
}

test('a portfolio has what the pool owes, or at most that if a withdrawal with a hook pays less', async () => {
  const { client, reader, places, holdings } = setUp()
  const held = await readHoldings(holdings, client, { wallet: OWNER })
  expect([held?.omitted, held?.notRead]).toEqual([undefined, []])
  const [read] = await reader.readWallet(OWNER, { targets: places, work: patient })
  const readRows = (name: V4PoolName) =>
    (held?.rows ?? [])
      .filter(({ position }) => position['token_id'] === String(ids.get(name)))
      .map(({ token, amount, position, refused }) => ({
        token: token.address,
        amount,
        part: position['part'],
        reason: refused?.reason,
      }))
  for (const name of ['plain', 'native', 'forbidding'] as const) {
    const position = read?.positions.find(({ tokenId }) => tokenId === ids.get(name))?.whole()
    if (position === undefined) throw new Error(`Cannot find ${name}`)
    const { principal } = computeHeldAmounts(position)
    const reason = name === 'forbidding' ? 'withdrawal_reverts' : undefined
    const sides = [
      { token: position.token0.address, amount: principal.amount0, part: 'principal', reason },
      { token: position.token1.address, amount: principal.amount1, part: 'principal', reason },
    ]
    // Swaps of other files on the shared chain may have taken one side.
    const rows = sides.filter(({ amount }) => amount > 0n)
    expect<object[]>(readRows(name).filter(({ part }) => part === 'principal')).toEqual(rows)
  }
  const forbidden = held?.rows.filter(({ position }) => position['token_id'] === String(ids.get('forbidding'))) ?? []
  for (const { position, refused, withdrawable } of forbidden) {
    const isFees = position['part'] === 'fees'
    expect(refused?.reason).toBe(isFees ? undefined : 'withdrawal_reverts')
    expect(withdrawable).toEqual(isFees ? undefined : { amount: 0n, limitedBy: 'hook' })
  }
  const pool = v4.pools.feeTaking
  const [paid] = await v4.realBurns([{ pool, tokenId: ids.get('feeTaking') ?? 0n, owner: OWNER }])
  expect(readRows('feeTaking')).toEqual([
    { token: pool.currencies[0].address, amount: paid?.amount0 ?? 0n, part: 'withdrawable', reason: undefined },
    { token: pool.currencies[1].address, amount: paid?.amount1 ?? 0n, part: 'withdrawable', reason: undefined },
  ])
})

test('a wallet without positions takes one call, and of more than are summed the first ones are read', async () => {
  const { client, requests, holdings } = setUp({ find: async () => [...ids.values()] })
  const none = await readHoldings(holdings, client, { wallet: toWalletAddress('v4 holds nothing') })
  expect([none?.rows, none?.omitted, requests]).toEqual([[], undefined, ['eth_call']])
  const many = await readHoldings(holdings, client, { wallet: OWNER, positionsMax: 3 })
  expect(many?.omitted).toEqual({ family: 'uniswap-v4', kind: 'liquidity', count: 1 })
  const all = await readHoldings(holdings, client, { wallet: OWNER })
  const listIds = (rows = many?.rows) => [...new Set(rows?.map(({ position }) => position['token_id']))]
  expect(listIds()).toEqual(listIds(all?.rows).slice(0, 3))
})
