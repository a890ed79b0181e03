import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Address } from 'viem'
import type { FullPosition } from '../../../../src/family/liquidity/protocol.ts'
import { positionRoute } from '../../../../src/family/liquidity/routes/position.ts'
import { computeTotalHeld, type Withdrawal } from '../../../../src/family/uniswap_v4/math/figures.ts'
import { PROTOCOL } from '../../../../src/family/uniswap_v4/protocol.ts'
import type { Position } from '../../../../src/family/uniswap_v4/read/position.ts'
import { UnavailableError } from '../../../../src/lib/error.ts'
import { TOKENS, toWalletAddress } from '../../../devnet/addresses.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import type { HostileKind } from '../../../devnet/hostile.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import { fullRange, rangeAround } from '../../../devnet/ticks.ts'
import { UNISWAP_V4 } from '../../../devnet/uniswap_v4/addresses.ts'
import type { UniswapV4 } from '../../../devnet/uniswap_v4/mod.ts'
import { bankCalls, HOOKS } from '../../../devnet/uniswap_v4/place.ts'
import { liquidityWorth, type V4PoolOf } from '../../../devnet/uniswap_v4/pools.ts'
import { callRoute } from '../../../support/call_route.ts'
import { countedClient, patient } from '../../../support/family/uniswap_v3/support.ts'
import { createFindEveryId, createTestReader } from './support.ts'

const BUILD_LIMIT_MS = 120_000
const OWNER = toWalletAddress('v4 odd tokens')
const BURNED = toWalletAddress('v4 tokens that burn gas')
const SORTS = {
  listed: ['bytes32', 'decimals0', 'decimals36', 'hugeSymbol', 'lyingSymbol', 'emptySymbol', 'invalidUtf8'],
  spam: ['link', 'claimReward', 'linkInSymbol', 'control', 'bidi'],
  unreadable: ['bare', 'decimals255', 'wideDecimals', 'gasBurner', 'reverting', 'removed'],
} as const satisfies Record<string, readonly HostileKind[]>
/** Positions of the token that burns gas. */
const BURNING = 20
const PLAIN = ['plain', 'feeTaking'] as const

let devnet: Devnet
let v4: UniswapV4
const ids = new Map<HostileKind, bigint>()
const pools = new Map<bigint, V4PoolOf>()
/** Positions in pools of honest tokens, of each wallet. */
let honest: readonly bigint[]

beforeAll(async () => {
  devnet = await startDevnet()
  v4 = await devnet.uniswapV4()
  const { positions } = await devnet.hostile()
  const kinds = Object.values(SORTS).flat()
  const tokens = kinds.map((kind) => positions[kind].token)
  // Its code is put back for as long as the position is made.
  const code = await devnet.rpc.call('eth_getCode', positions.decimals0.token, 'latest')
  await devnet.rpc.call('anvil_setCode', positions.removed.token, code)
  await devnet.send(tokens.flatMap(bankCalls))
  const oddPools = await v4.createPools(
    tokens.map((address, index) => ({
      currencies: [{ address, decimals: 18, usd: 3_000 }, TOKENS.weth],
      fee: 3_000,
      tickSpacing: 60,
      // A withdrawal of some is executed.
      ...(index % 2 === 0 && { hooks: HOOKS.feeTaking }),
    })),
  )
  const odd = oddPools.map((pool) => ({ pool, ...fullRange(pool), liquidity: 10n ** 15n }))
  const burning = odd[kinds.indexOf('gasBurner')]
  if (burning === undefined) throw new Error('Cannot find the pool of the token that burns gas')
  const plain = PLAIN.map((name) => {
    const pool = v4.pools[name]
    const range = rangeAround(pool, -900, 900)
    return { pool, ...range, liquidity: liquidityWorth(pool, { ...range, usd: 1_000 }) }
  })
  const requests = [
    ...odd.map((request) => ({ ...request, recipient: OWNER })),
    ...plain.map((request) => ({ ...request, recipient: OWNER })),
    ...Array.from({ length: BURNING }, () => ({ ...burning, recipient: BURNED })),
    ...plain.map((request) => ({ ...request, recipient: BURNED })),
  ]
  const minted = await v4.mintMany(requests)
  for (const [index, { pool }] of requests.entries()) pools.set(minted[index] ?? 0n, pool)
  for (const [index, kind] of kinds.entries()) ids.set(kind, minted[index] ?? 0n)
  honest = [...minted.slice(kinds.length, kinds.length + plain.length), ...minted.slice(-plain.length)]
  await devnet.rpc.call('anvil_setCode', positions.removed.token, '0x')
}, BUILD_LIMIT_MS)
afterAll(async () => {
  await devnet?.stop()
})

function reading() {
  const { client, requests } = countedClient(createDevnetChain(devnet))
  const { reader, places } = createTestReader(client, { find: createFindEveryId(devnet) })
  const read = async (wallet: Address) => {
    const reads = await reader.readWallet(wallet, { targets: places, isFull: true, work: patient })
    const [{ positions: listed, spams, unreadable } = { positions: [], spams: [], unreadable: [] }] = reads
    const positions = listed.map((each) => each.whole())
    const figures = await reader.readFull(positions, { targets: places, reads, work: patient })
    return { positions, spams, unreadable, figures }
  }
  return { read, reader, requests }
}

/** Holds each position's figures to what its burn pays in fact. */
async function expectPaid(figures: readonly FullPosition<Position, Withdrawal>[]): Promise<void> {
  const changes = figures.map(({ position: { tokenId, owner } }) => {
    const pool = pools.get(tokenId)
    if (pool === undefined) throw new Error(`Cannot find the pool of position ${tokenId}`)
    return { pool, owner, tokenId }
  })
  const paid = await v4.realBurns(changes)
  const said = figures.map(({ position, withdrawal }) =>
    withdrawal === undefined ? computeTotalHeld(position) : 'paid' in withdrawal ? withdrawal.paid : null,
  )
  expect(said).toEqual(paid)
}

test('odd tokens are listed, spam or unreadable, none is lost, and listed figures are exact', async () => {
  const { positions, spams, unreadable, figures } = await reading().read(OWNER)
  const getIds = (kinds: readonly HostileKind[]) => kinds.map((kind) => ids.get(kind) ?? 0n)
  const found = (each: readonly { readonly tokenId: bigint }[]) => each.map(({ tokenId }) => tokenId).sort()
  expect(found(positions)).toEqual([...getIds(SORTS.listed), ...honest.slice(0, PLAIN.length)].sort())
  expect(found(spams)).toEqual(getIds(SORTS.spam).sort())
  expect(found(unreadable)).toEqual(getIds(SORTS.unreadable).sort())
  expect(figures.filter(({ withdrawal }) => withdrawal !== undefined).length).toBeGreaterThan(3)
  await expectPaid(figures)
})

test(`a wallet of ${BURNING} positions in a token that burns gas is read whole, in few requests`, async () => {
  const { read, requests } = reading()
  await read(BURNED)
  requests.length = 0
  const { positions, unreadable, figures } = await read(BURNED)
  expect(positions.map(({ tokenId }) => tokenId)).toEqual(honest.slice(PLAIN.length))
  expect(unreadable).toHaveLength(BURNING)
  expect(requests.length).toBeLessThanOrEqual(2)
  await expectPaid(figures)
})

test('a position whose token has no readable decimals answers 503 with the reason', async () => {
  const { reader } = reading()
  const lives = () => {
    throw new Error('Expected no question about a life')
  }
  const one = positionRoute(PROTOCOL, { chainIds: [1], reader: () => reader, histories: lives })
  for (const kind of ['decimals255', 'gasBurner', 'removed'] as const) {
    const id = String(ids.get(kind))
    const failure = await callRoute(one, { params: { id } }).then(String, (error: unknown) => error)
    expect(failure).toBeInstanceOf(UnavailableError)
    expect(String(failure)).toContain(`Cannot decode position ${id} of manager ${UNISWAP_V4.positionManager}`)
  }
})
