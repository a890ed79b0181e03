import { beforeAll, describe, expect, test } from 'bun:test'
import { type Address, type Hex, zeroAddress } from 'viem'
import {
  decodeLens as decode,
  decodeList,
  encodeList,
  encodeNamed,
} from '../../../../src/family/uniswap_v4/read/abi.ts'
import { LENS_RUNTIME } from '../../../../src/family/uniswap_v4/read/lens_artifact.ts'
import type { PriceSources } from '../../../../src/finance/price/price_sources.ts'
import { UpstreamError } from '../../../../src/lib/error.ts'
import { TOKENS, toWalletAddress } from '../../../devnet/addresses.ts'
import { type Devnet, sharedDevnet } from '../../../devnet/mod.ts'
import { rangeAround } from '../../../devnet/ticks.ts'
import { burnCall, decreaseCall } from '../../../devnet/uniswap_v4/calls.ts'
import type { UniswapV4 } from '../../../devnet/uniswap_v4/mod.ts'
import { liquidityWorth } from '../../../devnet/uniswap_v4/pools.ts'
import { atOnce, BURNING_ORACLE } from '../../../support/family/uniswap_v3/support.ts'
import { DEPLOYMENT } from './support.ts'

const AT = '0x00000000000000000000000000000000000057a7'
const PRICES: PriceSources = {
  feeds: Object.values(TOKENS).map(({ address, feed }) => ({ token: address, feed })),
  wrappers: [{ token: zeroAddress, kind: 'same', of: TOKENS.weth.address }],
  aaveOracle: undefined,
}
const SUBJECT = { deployment: DEPLOYMENT, prices: PRICES }
const WALLET = toWalletAddress('v4 lens')
const OTHER = toWalletAddress('v4 lens other')
const COUNT = 300
const BYTES_MAX = 1_000_000

let devnet: Devnet
let v4: UniswapV4
let ids: readonly bigint[]
let burned: bigint
let closed: bigint

beforeAll(async () => {
  devnet = await sharedDevnet()
  v4 = await devnet.uniswapV4()
  ids = await mint(WALLET, COUNT)
  const pool = v4.pools.plain
  const range = rangeAround(pool, -600, 600)
  const liquidity = liquidityWorth(pool, { ...range, usd: 50 })
  const [gone = 0n, empty = 0n] = await v4.mintMany(Array(3).fill({ pool, ...range, liquidity, recipient: OTHER }))
  burned = gone
  closed = empty
  await devnet.send([
    burnCall({ pool, tokenId: gone, owner: OTHER }),
    decreaseCall({ pool, tokenId: empty, owner: OTHER, liquidity }),
  ])
}, 120_000)

async function mint(recipient: Address, count: number): Promise<bigint[]> {
  const pools = Object.values(v4.pools)
  return v4.mintMany(
    Array.from({ length: count }, (_, index) => {
      const pool = pools[index % pools.length] ?? v4.pools.plain
      const range = rangeAround(pool, -600 - index * 7, 600 + index * 11)
      return { pool, ...range, liquidity: liquidityWorth(pool, { ...range, usd: 50 }), recipient }
    }),
  )
}

const decodeLens = (answer: Hex, asked = ids) => atOnce(decode(answer, asked))

async function call(data: Hex, gas = 50_000_000) {
  const request = { to: AT, data, gas: `0x${gas.toString(16)}` }
  return devnet.rpc.call<Hex>('eth_call', request, 'latest', { [AT]: { code: LENS_RUNTIME } })
}

const list = (
  asked: readonly bigint[],
  options: { wallet?: Address; bytesMax?: number; prices?: PriceSources } = {},
) => {
  const { wallet = WALLET, bytesMax = BYTES_MAX, prices = PRICES } = options
  return encodeList({ ...SUBJECT, prices }, { wallet, ids: asked, bytesMax })
}

/** What a call of the lens costs. */
async function measureGas(data: Hex): Promise<number> {
  const { gasUsed } = await devnet.rpc.call<{ readonly gasUsed: Hex }>(
    'debug_traceCall',
    { to: AT, data, gas: '0x2faf080' },
    'latest',
    { stateOverrides: { [AT]: { code: LENS_RUNTIME } }, tracer: 'callTracer', tracerConfig: { onlyTopCall: true } },
  )
  return Number(gasUsed)
}

describe('the lens', () => {
  test('answers the block it ran at, and how many positions the wallet owns, with and without ids', async () => {
    const latest = await devnet.client.getBlock()
    for (const asked of [[], ids.slice(0, 3)]) {
      const { block, manager, balance, taken } = decodeLens(await call(list(asked)))
      expect(block).toEqual({
        chainId: 1,
        number: latest.number,
        timestampSec: latest.timestamp,
        parentHash: latest.parentHash,
      })
      expect({ manager, balance, taken }).toEqual({ manager: 'answers', balance: BigInt(COUNT), taken: asked.length })
    }
  })

  test('reads only ids that the wallet owns, and skips foreign, burned, unminted and impossible ones', async () => {
    const strange = [0n, 1n, burned, burned + 1n, 10n ** 30n, 2n ** 256n - 1n]
    const asked = [...strange, ...ids.slice(0, 2)]
    const { positions, broken, taken } = decodeLens(await call(list(asked)), asked)
    const own = positions.map(({ tokenId }) => tokenId)
    expect({ taken, broken, own }).toEqual({ taken: 8, broken: [], own: ids.slice(0, 2) })
    expect(decodeLens(await call(list(strange.slice(0, 4)))).positions).toEqual([])
    expect(decodeLens(await call(list(ids.slice(0, 5), { wallet: OTHER }))).positions).toEqual([])
    expect(decodeLens(await call(list(ids.slice(0, 5), { wallet: zeroAddress }))).positions).toEqual([])
  })

  test('costs at most 26,000 gas and 260 bytes a position at 100 or more, in seven pools and with all prices', async () => {
    for (const count of [100, 200, 300]) {
      const data = list(ids.slice(0, count))
      const gas = (await measureGas(data)) / count
      expect([count, gas > 18_000, gas]).toEqual([count, true, Math.min(gas, 26_000)])
      expect((await call(data)).length / 2 / count).toBeLessThan(260)
    }
  })

  test('ends a page early, whole to the last record, if bytes or gas run short', async () => {
    const whole = decodeLens(await call(list(ids))).positions
    expect(whole).toHaveLength(COUNT)
    for (const bytesMax of [2_000, 4_000, 8_000, 20_000]) {
      const answer = await call(list(ids, { bytesMax }))
      const { taken, positions } = decodeLens(answer)
      expect(answer.length / 2 - 1).toBeLessThanOrEqual(bytesMax)
      expect(taken).toBeLessThan(COUNT)
      expect(positions).toEqual(whole.slice(0, taken))
    }
    for (const gas of [1_300_000, 2_500_000, 4_000_000]) {
      const { taken, positions } = decodeLens(await call(list(ids), gas))
      expect(taken).toBeLessThan(COUNT)
      expect(positions).toEqual(whole.slice(0, taken))
    }
  })

  test('ends a page early if an oracle burns all gas that it may, and gets through every id', async () => {
    const aaveOracle = toWalletAddress('v4 burning oracle')
    await devnet.client.setCode({ address: aaveOracle, bytecode: BURNING_ORACLE })
    const prices = { ...PRICES, feeds: [], aaveOracle }
    let from = 0
    for (let pages = 0; from < 20; pages++) {
      const { taken, positions } = decodeLens(await call(list(ids.slice(from, 20), { prices }), 16_000_000))
      expect(taken).toBeGreaterThan(0)
      expect(positions).toHaveLength(taken)
      from += taken
      expect(pages).toBeLessThan(20)
    }
  })

  test('reads one position with its owner, and nothing for an id without an owner', async () => {
    const one = async (id: bigint) =>
      decodeLens(await call(encodeNamed(SUBJECT, { ids: [id], bytesMax: BYTES_MAX })), [id])
    const [id = 0n] = ids
    const found = await one(id)
    expect(found.positions.map(({ owner, tokenId }) => [owner, tokenId])).toEqual([[WALLET, id]])
    for (const none of [0n, burned, 10n ** 30n, 2n ** 256n - 1n]) {
      const { positions, broken, manager, taken } = await one(none)
      expect({ positions, broken, manager, taken }).toEqual({ positions: [], broken: [], manager: 'answers', taken: 1 })
    }
  })

  test('reads positions by their ids, each with its owner, in one call, for at most 26,000 gas each', async () => {
    const strange = [0n, burned, 10n ** 30n, 2n ** 256n - 1n]
    const asked = [...strange, ...ids.slice(0, 200), closed]
    const data = encodeNamed(SUBJECT, { ids: asked, bytesMax: BYTES_MAX })
    const { positions, broken, taken } = decodeLens(await call(data), asked)
    expect({ taken, broken }).toEqual({ taken: asked.length, broken: [] })
    expect(positions.map(({ owner, tokenId }) => [owner, tokenId])).toEqual([
      ...ids.slice(0, 200).map((id) => [WALLET, id]),
      [OTHER, closed],
    ])
    // But for owners, the wallet's own list is the same.
    const listed = decodeLens(await call(list(ids.slice(0, 200)))).positions
    expect(positions.slice(0, 200)).toEqual(listed.map((each) => ({ ...each, owner: WALLET })))
    expect((await measureGas(data)) / asked.length).toBeLessThan(26_000)
    for (const bytesMax of [4_000, 8_000]) {
      const answer = await call(encodeNamed(SUBJECT, { ids, bytesMax }))
      const page = decodeLens(answer)
      expect(answer.length / 2 - 1).toBeLessThanOrEqual(bytesMax)
      expect([page.taken > 0, page.taken < COUNT, page.positions.length]).toEqual([true, true, page.taken])
    }
  })

  test('distinguishes a missing manager, a silent one, and a pool manager with false answers', async () => {
    const ask = async (deployment: Partial<typeof DEPLOYMENT>) => {
      const subject = { ...SUBJECT, deployment: { ...DEPLOYMENT, ...deployment } }
      const { manager, positions, broken } = decodeLens(
        await call(encodeList(subject, { wallet: WALLET, ids: ids.slice(0, 1), bytesMax: BYTES_MAX })),
      )
      return { manager, positions: positions.length, broken }
    }
    expect(await ask({ positionManager: toWalletAddress('nowhere') })).toEqual({
      manager: 'absent',
      positions: 0,
      broken: [],
    })
    expect(await ask({ positionManager: TOKENS.usdc.feed })).toEqual({ manager: 'silent', positions: 0, broken: [] })
    for (const poolManager of [toWalletAddress('nowhere'), TOKENS.usdc.feed]) {
      expect(await ask({ poolManager })).toEqual({
        manager: 'answers',
        positions: 0,
        broken: [{ tokenId: ids[0] ?? 0n, part: 'pool' }],
      })
    }
  })
})

describe('decodeLens()', () => {
  test('refuses an answer that is cut anywhere, or continued, or of another layout', async () => {
    for (const answer of [
      await call(list(ids.slice(0, 2))),
      await call(encodeNamed(SUBJECT, { ids: ids.slice(0, 1), bytesMax: BYTES_MAX })),
    ]) {
      for (let end = 2; end < answer.length; end += 2) {
        const cut = answer.slice(0, end) as Hex
        expect(() => decodeLens(cut)).toThrow(UpstreamError)
      }
      expect(() => decodeLens(`${answer}00` as Hex)).toThrow('bytes follow the end record')
      expect(() => decodeLens(`0x02${answer.slice(4)}`)).toThrow('unknown layout')
    }
    expect(() => decodeLens('0x')).toThrow('cut short')
  })

  test('refuses an answer about an id that was not requested', async () => {
    const answer = await call(list(ids.slice(0, 2)))
    expect(() => decodeLens(answer, ids.slice(0, 1))).toThrow('was not taken')
    expect(() => atOnce(decodeList(answer, ids.slice(0, 1)))).toThrow('was not taken')
  })
})

describe('decodeList()', () => {
  test('decodes open and closed positions like decodeLens(), once each is decoded in full', async () => {
    const wallets = [
      { wallet: WALLET, asked: ids },
      { wallet: OTHER, asked: [burned, closed, closed + 1n] },
    ]
    for (const { wallet, asked } of wallets) {
      const answer = await call(list(asked, { wallet }))
      const { positions, ...read } = decodeLens(answer, asked)
      const { positions: listed, ...rest } = atOnce(decodeList(answer, asked))
      expect(rest).toEqual(read)
      expect(listed.map((each) => each.whole())).toEqual([...positions])
      expect(listed.map(({ whole: _, ...brief }) => brief)).toEqual(
        positions.map(({ tokenId, pool, liquidity }) => ({ tokenId, pool, liquidity })),
      )
      expect(positions.map(({ growth }) => growth === undefined)).toEqual(
        positions.map(({ tokenId }) => tokenId === closed),
      )
    }
  })

  test('refuses an answer that is cut anywhere, before any position is decoded in full', async () => {
    const answer = await call(list(ids.slice(0, 2)))
    for (let end = 2; end < answer.length; end += 2) {
      expect(() => atOnce(decodeList(answer.slice(0, end) as Hex, ids))).toThrow(UpstreamError)
    }
  })
})
