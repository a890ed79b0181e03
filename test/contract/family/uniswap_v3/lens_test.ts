import { beforeAll, describe, expect, test } from 'bun:test'
import { type Hex, zeroAddress } from 'viem'
import { listHolders } from '../../../../src/family/liquidity/enumerable/exchange.ts'
import {
  decodeLens as decode,
  decodeList,
  decodeScan,
  encodeList,
  encodeOne,
  encodeScan,
  encodeSome,
  type RawBrief,
} from '../../../../src/family/liquidity/enumerable/read/abi.ts'
import { LENS_RUNTIME } from '../../../../src/family/uniswap_v3/read/lens_artifact.ts'
import type { PriceSources } from '../../../../src/finance/price/price_sources.ts'
import { UpstreamError } from '../../../../src/lib/error.ts'
import { TOKENS, toWalletAddress } from '../../../devnet/addresses.ts'
import { type Devnet, sharedDevnet } from '../../../devnet/mod.ts'
import { AAVE_PRICES } from '../../../devnet/morpho_blue/mod.ts'
import { atOnce, BURNING_ORACLE, DEPLOYMENT } from '../../../support/family/uniswap_v3/support.ts'

const AT = '0x00000000000000000000000000000000000057a7'
const PRICES: PriceSources = {
  feeds: Object.values(TOKENS).map(({ address, feed }) => ({ token: address, feed })),
  wrappers: [],
  aaveOracle: undefined,
}
const SUBJECT = { holders: listHolders({ deployments: [DEPLOYMENT] }), prices: PRICES }
const WALLET = toWalletAddress('lens')
const COUNT = 60

let devnet: Devnet

beforeAll(async () => {
  devnet = await sharedDevnet()
  await devnet.mintMany(WALLET, COUNT)
}, 60_000)

const decodeLens = (answer: Hex) => atOnce(decode(answer))
const scan = (answer: Hex) => atOnce(decodeScan(answer))

async function call(data: Hex, gas = 50_000_000) {
  const request = { to: AT, data, gas: `0x${gas.toString(16)}` }
  return devnet.rpc.call<Hex>('eth_call', request, 'latest', { [AT]: { code: LENS_RUNTIME } })
}

/** Measures the gas of a call of the lens. */
async function measureGas(data: Hex): Promise<number> {
  const { gasUsed } = await devnet.rpc.call<{ readonly gasUsed: Hex }>(
    'debug_traceCall',
    { to: AT, data, gas: '0x2faf080' },
    'latest',
    { stateOverrides: { [AT]: { code: LENS_RUNTIME } }, tracer: 'callTracer', tracerConfig: { onlyTopCall: true } },
  )
  return Number(gasUsed)
}

const page = { wallet: WALLET, offset: 0, count: 500, bytesMax: 1_000_000, firstMax: 500 }

describe('the lens', () => {
  // `bun run lens --check` checks that the code is the compiled source.
  test('is small enough to be a contract’s code', () => {
    expect(LENS_RUNTIME.length / 2 - 1).toBeLessThanOrEqual(24_576)
  })

  test('returns the block it ran at', async () => {
    const { block } = decodeLens(await call(encodeList(SUBJECT, page)))
    const latest = await devnet.client.getBlock()
    expect(block).toEqual({
      chainId: 1,
      number: latest.number,
      timestampSec: latest.timestamp,
      parentHash: latest.parentHash,
    })
  })

  test('reads a price for each token that has a feed and is in the list, and for no other', async () => {
    const { tokens } = decodeLens(await call(encodeList(SUBJECT, page)))
    const [, ...others] = PRICES.feeds
    const fewer = { ...SUBJECT, prices: { ...PRICES, feeds: others } }
    const { tokens: less } = decodeLens(await call(encodeList(fewer, page)))
    expect(tokens.length).toBeGreaterThan(2)
    for (const { address, usd } of tokens) {
      expect(usd).toMatchObject({ rates: [], round: { decimals: 8 }, aave: undefined })
      const isFed = others.some(({ token }) => token === address)
      expect(less.find((each) => each.address === address)?.usd.round !== undefined).toBe(isFed)
    }
  })

  test('starts at any offset and stops at any count', async () => {
    const whole = decodeLens(await call(encodeList(SUBJECT, page)))
    const part = decodeLens(await call(encodeList(SUBJECT, { ...page, offset: 50, count: 7 })))
    expect(part.taken).toBe(7)
    expect(part.positions.map(({ tokenId }) => tokenId)).toEqual(
      whole.positions.slice(50, 57).map(({ tokenId }) => tokenId),
    )
    expect(decodeLens(await call(encodeList(SUBJECT, { ...page, offset: COUNT }))).taken).toBe(0)
  })

  test('reads several managers as one list', async () => {
    const twice = { ...SUBJECT, holders: listHolders({ deployments: [DEPLOYMENT, DEPLOYMENT] }) }
    const read = decodeLens(await call(encodeList(twice, { ...page, offset: COUNT - 2, count: 5 })))
    expect(read.managers).toEqual([{ balance: COUNT }, { balance: COUNT }])
    expect(read.positions.map(({ manager }) => manager)).toEqual([0, 0, 1, 1, 1])
    expect(read.pools.map(({ manager }) => manager)).toContain(1)
  })

  test('writes the first positions of each manager whole, with and without liquidity, and the others in brief', async () => {
    const { provider } = devnet.wallets
    const twice = { ...SUBJECT, holders: listHolders({ deployments: [DEPLOYMENT, DEPLOYMENT] }) }
    const readListed = async (firstMax: number) => {
      const answer = await call(encodeList(twice, { ...page, wallet: provider, firstMax }))
      return atOnce(decodeList(answer)).positions
    }
    const whole = await readListed(500)
    for (const firstMax of [0, 1, 3]) {
      const listed = await readListed(firstMax)
      expect(listed.map(toBrief)).toEqual(whole.map(toBrief))
      const seen = new Map<string, number>()
      for (const [index, each] of listed.entries()) {
        const kind = `${each.manager}:${each.liquidity > 0n}`
        const before = seen.get(kind) ?? 0
        seen.set(kind, before + 1)
        expect(each.whole?.()).toEqual(before < firstMax ? whole[index]?.whole?.() : undefined)
      }
      expect(seen.size).toBe(4)
      expect(Math.min(...seen.values())).toBeGreaterThan(1)
    }
  })

  test('ends a page early, whole to the last record, if bytes or gas run short', async () => {
    const whole = decodeLens(await call(encodeList(SUBJECT, page)))
    for (const bytesMax of [1_900, 3_000, 6_000, 12_000]) {
      const answer = await call(encodeList(SUBJECT, { ...page, bytesMax }))
      const { taken, positions } = decodeLens(answer)
      expect(answer.length / 2 - 1).toBeLessThanOrEqual(bytesMax)
      expect(taken).toBeLessThan(COUNT)
      expect(positions).toEqual(whole.positions.slice(0, taken))
    }
    for (const gas of [1_300_000, 2_500_000, 4_000_000]) {
      const { taken, positions } = decodeLens(await call(encodeList(SUBJECT, page), gas))
      expect(taken).toBeLessThan(COUNT)
      expect(positions).toEqual(whole.positions.slice(0, taken))
    }
  })

  test('costs at most 35,000 gas a position, with or without an oracle', async () => {
    const many = toWalletAddress('lens of 300')
    await devnet.mintMany(many, 300)
    const { aaveOracle } = await devnet.morpho()
    for (const prices of [PRICES, { ...PRICES, aaveOracle }, { ...PRICES, feeds: [], aaveOracle }]) {
      const data = encodeList({ ...SUBJECT, prices }, { ...page, wallet: many })
      const gas = await measureGas(data)
      expect(gas).toBeGreaterThan(5_000_000)
      expect(gas / 300).toBeLessThan(35_000)
    }
  }, 60_000)

  test('costs at most 22,000 gas a position in brief', async () => {
    const many = toWalletAddress('lens of 300')
    if ((await devnet.v3.readTokenIds(many)).length === 0) await devnet.mintMany(many, 300)
    const gas = await measureGas(encodeScan(SUBJECT, { ...page, wallet: many }))
    expect(gas).toBeGreaterThan(2_000_000)
    expect(gas / 300).toBeLessThan(22_000)
  }, 60_000)

  test('returns in brief the fields of the same positions, from any offset and within any bytes and gas', async () => {
    const whole = decodeLens(await call(encodeList(SUBJECT, page))).positions
    const brief = whole.map(({ tokenId, liquidity }) => ({ tokenId, liquidity }))
    const scanned = async (options: Partial<typeof page>, gas?: number) => {
      const { taken, positions } = scan(await call(encodeScan(SUBJECT, { ...page, ...options }), gas))
      expect(positions).toHaveLength(taken)
      return positions.map(({ tokenId, liquidity }) => ({ tokenId, liquidity }))
    }
    expect(await scanned({})).toEqual(brief)
    expect(await scanned({ offset: 50, count: 7 })).toEqual(brief.slice(50, 57))
    for (const [options, gas] of [[{ bytesMax: 3_000 }], [{}, 2_500_000], [{}, 1_600_000]] as const) {
      const part = await scanned(options, gas)
      expect(part.length).toBeGreaterThan(0)
      expect(part.length).toBeLessThan(COUNT)
      expect(part).toEqual(brief.slice(0, part.length))
    }
  })

  test('reads some positions by their ids, as many as bytes and gas allow, and marks missing ones', async () => {
    const whole = decodeLens(await call(encodeList(SUBJECT, page)))
    const picks = [5, 3, 40].map((at) => ({ manager: 0, tokenId: whole.positions[at]?.tokenId ?? 0n }))
    const some = (request: Partial<Parameters<typeof encodeSome>[1]>, gas?: number) =>
      call(encodeSome(SUBJECT, { owner: WALLET, refs: picks, bytesMax: page.bytesMax, ...request }), gas).then(
        decodeLens,
      )
    const found = await some({})
    const plain = ({ pool: _, ...position }: (typeof found.positions)[number]) => position
    expect(found.positions.map(plain)).toEqual([5, 3, 40].flatMap((at) => whole.positions.slice(at, at + 1)).map(plain))
    expect(found.managers).toHaveLength(1)
    for (const part of [await some({ bytesMax: 2_000 }), await some({}, 1_600_000)]) {
      expect(part.taken).toBeLessThan(3)
      expect(part.positions).toEqual(found.positions.slice(0, part.taken))
    }
    const { burned } = devnet.positions
    const { taken, broken } = await some({ refs: [{ manager: 0, tokenId: burned }, ...picks] })
    expect({ taken, broken }).toEqual({ taken: 4, broken: [{ manager: 0, tokenId: burned, part: 'position' }] })
  })

  test('reads the price of Aave’s oracle for tokens that it has a source for, and nothing of the others', async () => {
    const { aaveOracle } = await devnet.morpho()
    const { provider } = devnet.wallets
    const readPricesWith = async (prices: PriceSources) => {
      const { tokens } = decodeLens(
        await call(encodeList({ ...SUBJECT, prices: { ...prices, aaveOracle } }, { ...page, wallet: provider })),
      )
      expect(tokens.length).toBeGreaterThan(2)
      return Object.fromEntries(tokens.flatMap(({ address, usd }) => (usd.aave ? [[address, usd.aave.price]] : [])))
    }
    expect(await readPricesWith({ ...PRICES, feeds: [] })).toEqual({
      [TOKENS.usdc.address]: AAVE_PRICES.usdc,
      [TOKENS.dai.address]: AAVE_PRICES.dai,
    })
    // A feed takes precedence, so no other source is read.
    expect(await readPricesWith(PRICES)).toEqual({})
  })

  test('ends a page early if an oracle burns all its gas, and still reads every entry', async () => {
    const { wallet } = await devnet.hostile()
    const aaveOracle = toWalletAddress('burning oracle')
    await devnet.client.setCode({ address: aaveOracle, bytecode: BURNING_ORACLE })
    const burnt = { ...SUBJECT, prices: { ...PRICES, feeds: [], aaveOracle } }
    const whole = decodeLens(await call(encodeList(SUBJECT, { ...page, wallet })))
    expect(decodeLens(await call(encodeList(burnt, { ...page, wallet }))).taken).toBe(whole.taken)
    const ids: bigint[] = []
    for (let pages = 0; ids.length < whole.taken; pages++) {
      const part = decodeLens(await call(encodeList(burnt, { ...page, wallet, offset: ids.length }), 10_000_000))
      expect(part.taken).toBeGreaterThan(0)
      expect(new Set(part.tokens.map(({ usd }) => usd.aave?.price ?? 'none'))).toEqual(new Set(['none']))
      ids.push(...part.positions.map(({ tokenId }) => tokenId))
      expect(pages).toBeLessThan(whole.taken)
    }
    expect(ids).toEqual(whole.positions.map(({ tokenId }) => tokenId))
  }, 20_000)

  test('reads positions with 10 million gas, whatever sources of prices and custodians there are', async () => {
    const { aaveOracle } = await devnet.morpho()
    const custodians = [{ kind: 'masterchef', address: toWalletAddress('masterchef'), startBlock: 0 }] as const
    const [rich] = PRICES.feeds
    const subject = {
      holders: listHolders({ deployments: [{ ...DEPLOYMENT, custodians }] }),
      prices: {
        feeds: PRICES.feeds,
        wrappers: [{ token: zeroAddress, kind: 'erc4626', of: TOKENS.weth.address }],
        aaveOracle,
        sequencerFeed: rich?.feed,
      },
    } as const
    const { provider } = devnet.wallets
    for (const wallet of [WALLET, provider]) {
      const whole = decodeLens(await call(encodeList(subject, { ...page, wallet })))
      const ids: bigint[] = []
      for (let pages = 0; ids.length < whole.taken; pages++) {
        const list = encodeList(subject, { ...page, wallet, offset: ids.length })
        const part = decodeLens(await call(list, 10_000_000))
        expect(part.tokens).toEqual(
          whole.tokens.filter(({ address }) => part.tokens.some((each) => each.address === address)),
        )
        ids.push(...part.positions.map(({ tokenId }) => tokenId))
        expect(pages).toBeLessThan(3)
      }
      expect(ids).toEqual(whole.positions.map(({ tokenId }) => tokenId))
    }
    const { inRange } = devnet.positions
    const one = await call(encodeOne(subject, inRange))
    expect(await call(encodeOne(subject, inRange), 10_000_000)).toBe(one)
  })

  test('finds an id, its owner included, and writes nothing about an id that does not exist', async () => {
    const { inRange, burned } = devnet.positions
    const found = decodeLens(await call(encodeOne(SUBJECT, inRange)))
    expect(found.positions.map(({ tokenId, owner }) => ({ tokenId, owner }))).toEqual([
      { tokenId: inRange, owner: devnet.wallets.provider },
    ])
    for (const id of [burned, 0n, 2n ** 256n - 1n]) {
      const read = decodeLens(await call(encodeOne(SUBJECT, id)))
      expect({ ...read, block: undefined }).toMatchObject({ taken: 0, positions: [], broken: [] })
    }
  })
})

describe('decodeLens()', () => {
  test('refuses an answer that is cut anywhere, or continued, or of another layout', async () => {
    const answer = await call(encodeList(SUBJECT, { ...page, count: 2 }))
    const { length } = decodeLens(answer).positions
    expect(length).toBe(2)
    for (let end = 2; end < answer.length; end += 26) {
      const cut = answer.slice(0, end) as Hex
      expect(() => decodeLens(cut)).toThrow(UpstreamError)
    }
    expect(() => decodeLens(`${answer}00` as Hex)).toThrow('unknown record')
    expect(() => decodeLens(`0x02${answer.slice(4)}`)).toThrow('unknown layout')
    expect(() => decodeLens('0x')).toThrow('cut short')
  })
})

describe('decodeList()', () => {
  test('returns what decodeLens() returns for open and closed positions, once each is decoded whole', async () => {
    for (const wallet of [WALLET, ...Object.values(devnet.wallets)]) {
      const answer = await call(encodeList(SUBJECT, { ...page, wallet }))
      const { positions, ...read } = decodeLens(answer)
      const { positions: listed, ...list } = atOnce(decodeList(answer))
      expect(list).toEqual(read)
      expect(listed.map((each) => ({ ...each.whole?.(), ...toBrief(each) }))).toEqual([...positions])
    }
  })

  test('refuses an answer that is cut anywhere, before any position is decoded', async () => {
    const answer = await call(encodeList(SUBJECT, { ...page, count: 2 }))
    for (let end = 2; end < answer.length; end += 26) {
      expect(() => atOnce(decodeList(answer.slice(0, end) as Hex))).toThrow(UpstreamError)
    }
  })
})

function toBrief({ manager, tokenId, pool, liquidity }: RawBrief): RawBrief {
  return { manager, tokenId, pool, liquidity }
}
