import { beforeAll, describe, expect, test } from 'bun:test'
import { type Address, getAddress, zeroAddress } from 'viem'
import { LENS_MODES } from '../../../../../src/chain/call/lens.ts'
import type { FinanceClient } from '../../../../../src/finance/chain.ts'
import { UnavailableError } from '../../../../../src/lib/error.ts'
import { BANK, TOKENS } from '../../../../devnet/addresses.ts'
import { type Devnet, sharedDevnet } from '../../../../devnet/mod.ts'
import { type FaultyRpc, startFaultyRpc } from '../../../../support/rpc.ts'
import { createClient, createCode, deploy, listedChain, mintCall, newestBlock, read, walletAt } from './world.ts'

/** Numbers that `OddBalance` takes. */
const ODD = {
  burner: 0,
  reverting: 1,
  megabyte: 2,
  short: 3,
  empty: 4,
  writer: 5,
  byGas: 6,
  byCaller: 7,
  most: 8,
  long: 9,
}

const WALLET = walletAt(0)
const NOBODY = walletAt(1)
const { weth, usdc, dai, wbtc, usdt } = TOKENS

let devnet: Devnet
let odd: Readonly<Record<keyof typeof ODD, Address>>
let plain: readonly Address[]

beforeAll(async () => {
  devnet = await sharedDevnet()
  const kinds = Object.keys(ODD) as (keyof typeof ODD)[]
  const addresses = await deploy(devnet, [
    ...kinds.map((kind) => createCode('OddBalance', ODD[kind])),
    ...['Bytes32Token' as const, 'HugeSymbolToken' as const, 'RevertingToken' as const, 'GasBurnerToken' as const].map(
      (name) => createCode(name),
    ),
  ])
  odd = Object.fromEntries(kinds.map((kind, index) => [kind, addresses[index]])) as typeof odd
  plain = addresses.slice(kinds.length)
  await devnet.send([
    mintCall(usdc.address, WALLET, 1_234_567n),
    mintCall(wbtc.address, WALLET, 5n),
    ...plain.map((token, index) => mintCall(token, WALLET, BigInt(index + 1))),
  ])
  await devnet.rpc.call('anvil_setBalance', WALLET, '0xde0b6b3a7640000')
}, 60_000)

function clientWith(tokens: readonly Address[], url = devnet.rpcUrl): FinanceClient {
  return createClient(listedChain(devnet, tokens, { rpcUrls: [url] }))
}

async function withProxy<T>(work: (proxy: FaultyRpc) => Promise<T>): Promise<T> {
  const proxy = await startFaultyRpc(devnet.rpcUrl)
  try {
    return await work(proxy)
  } finally {
    await proxy.stop()
  }
}

/** Rows as a test writes them: address, amount and price in words. */
function toRows({ rows }: Awaited<ReturnType<typeof read>>) {
  return rows.map(({ token, raw, isListed, price }) => ({
    token: token.address,
    raw,
    isListed,
    price: price.kind === 'price' ? Number(price.price.units) / 10 ** price.price.scale : price.because,
  }))
}

describe('readBalances()', () => {
  test.each(LENS_MODES)(
    'gives what is not zero, the native token first, with its facts and price, by %s',
    async (way) => {
      const client = clientWith([dai.address, usdc.address, weth.address, wbtc.address])
      const found = await read(client, { wallet: WALLET, others: [plain[0] ?? '0x', usdc.address, zeroAddress], way })
      expect(toRows(found)).toEqual([
        { token: zeroAddress, raw: 10n ** 18n, isListed: true, price: 3_000 },
        { token: usdc.address, raw: 1_234_567n, isListed: true, price: 1 },
        { token: wbtc.address, raw: 5n, isListed: true, price: 90_000 },
        { token: plain[0] ?? '0x', raw: 1n, isListed: false, price: 'no source of its price is configured' },
      ])
      const [native, , bitcoin, maker] = found.rows
      expect(native?.token).toMatchObject({ symbol: 'ETH', name: 'ETH', decimals: 18 })
      expect(bitcoin?.token).toMatchObject({ symbol: 'WBTC', name: 'Wrapped BTC', decimals: 8 })
      expect(maker?.token).toMatchObject({ symbol: 'MKR', name: 'Maker', decimals: 18 })
      expect(found.silent).toEqual([])
      expect(found.tokensAsked).toBe(6)
      expect(found.block).toMatchObject({ chainId: 1 })
    },
  )

  test('returns no rows for a wallet without tokens, and for accounts without code', async () => {
    const client = clientWith([walletAt(7), usdc.address])
    expect(await read(client, { wallet: NOBODY, others: [walletAt(8)] })).toMatchObject({
      rows: [],
      silent: [],
      tokensAsked: 4,
    })
  })

  test.each(LENS_MODES)(
    'reads the others’ rows beside tokens that burn, revert, flood or answer by mood, by %s',
    async (way) => {
      const hostile = Object.values(odd)
      const tokens = [usdc.address, ...hostile, ...plain, wbtc.address]
      const found = await read(clientWith(tokens), { wallet: WALLET, way })
      const rows = new Map(found.rows.map((row) => [row.token.address, row]))
      for (const [token, raw] of [
        [usdc.address, 1_234_567n],
        [wbtc.address, 5n],
        [plain[3], 4n],
      ] as const) {
        expect(rows.get(token ?? '0x')?.raw).toBe(raw)
      }
      expect(rows.get(odd.most)?.raw).toBe(2n ** 256n - 1n)
      expect(rows.get(odd.long)?.raw).toBe(9n)
      expect(rows.get(odd.byGas)?.raw).toBe(1n)
      expect(found.silent).toEqual([odd.burner, odd.reverting, odd.megabyte, odd.short, odd.empty, odd.writer])
      // Their names and symbols are hostile.
      const facts = plain.map((token) => rows.get(token)?.token).map((token) => [token?.symbol, token?.decimals])
      expect(facts).toEqual([
        ['MKR', 18],
        ['', 18],
        ['', undefined],
        ['', undefined],
      ])
    },
  )

  test('twenty burners among 400 tokens cost three million gas, and 239 of them fit one call', async () => {
    const burners = Array.from({ length: 239 }, () => odd.burner)
    const some = Array.from({ length: 400 }, (_, index) => (index % 20 === 0 ? odd.burner : usdc.address))
    await withProxy(async (proxy) => {
      for (const tokens of [some, burners]) {
        proxy.reset()
        const found = await read(clientWith(tokens, proxy.url), { wallet: NOBODY })
        expect(found.silent).toHaveLength(tokens.filter((each) => each === odd.burner).length)
        expect(proxy.seen.filter(({ method }) => method === 'eth_call')).toHaveLength(1)
      }
    })
  })

  test('reads in pages at one block what one call does not hold: 2,000 burners, or 3,000 tokens without overrides', async () => {
    const burners = Array.from({ length: 2_000 }, (_, index) => (index === 1_999 ? usdc.address : odd.burner))
    const many = Array.from({ length: 3_000 }, (_, index) => (index % 1_000 === 999 ? wbtc.address : walletAt(index)))
    await withProxy(async (proxy) => {
      const all = await read(clientWith(burners, proxy.url), { wallet: WALLET })
      expect(toRows(all).map(({ raw }) => raw)).toEqual([10n ** 18n, 1_234_567n])
      expect(all.silent).toHaveLength(1_999)
      const calls = proxy.seen.filter(({ method }) => method === 'eth_call')
      expect(calls.length).toBeGreaterThan(5)
      proxy.reset()
      proxy.rule(() => ({ kind: 'no_overrides', how: 'refuse' }))
      const found = await read(clientWith(many, proxy.url), { wallet: WALLET })
      expect(toRows(found).map(({ raw }) => raw)).toEqual([10n ** 18n, 5n, 5n, 5n])
      const pages = proxy.seen.filter(({ method, params }) => method === 'eth_call' && params.length === 2)
      expect(pages).toHaveLength(2)
      for (const { params } of pages) {
        const [{ data }] = params as [{ data: string }]
        expect(data.length / 2 - 1).toBeLessThanOrEqual(49_152)
      }
    })
  }, 30_000)

  test('reads a token once that is listed and requested, and never the native token as a contract', async () => {
    const eee = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'
    const found = await read(clientWith([usdc.address]), {
      wallet: WALLET,
      others: [usdc.address, eee, usdt.address, usdt.address],
    })
    expect(found.tokensAsked).toBe(3)
  })

  test('reads a past block, before and after a token was deployed', async () => {
    const client = clientWith([])
    const before = await newestBlock(client)
    const [late] = await deploy(devnet, [createCode('Bytes32Token')])
    const token = late ?? zeroAddress
    await devnet.send([mintCall(token, NOBODY, 77n)])
    const after = await newestBlock(client)
    await devnet.send([mintCall(token, NOBODY, 1n)])
    const raws = async (block: typeof before | undefined) =>
      (await read(client, { wallet: NOBODY, others: [token], ...(block === undefined ? {} : { block }) })).rows.map(
        ({ raw }) => raw,
      )
    expect(await raws(before)).toEqual([])
    expect(await raws(after)).toEqual([77n])
    expect(await raws(undefined)).toEqual([78n])
  })

  test('throws for an endpoint that cuts the answer, or answers from another block', async () => {
    await withProxy(async (proxy) => {
      const client = clientWith([usdc.address], proxy.url)
      const block = await newestBlock(client)
      const cut = (result: unknown) => (typeof result === 'string' ? result.slice(0, -6) : result)
      proxy.rule(({ method }) => (method === 'eth_call' ? { kind: 'change', change: cut } : undefined))
      await expect(read(client, { wallet: WALLET })).rejects.toThrow(UnavailableError)
      proxy.rule(() => undefined)
      await devnet.send([mintCall(dai.address, NOBODY, 1n)])
      const older = { ...block, number: block.number - 1n }
      await expect(read(client, { wallet: WALLET, block: older })).rejects.toThrow(UnavailableError)
      expect((await read(client, { wallet: getAddress(BANK) })).rows.length).toBe(2)
    })
  })
})
