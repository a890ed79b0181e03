import { beforeAll, describe, expect, test } from 'bun:test'
import type { Address, Hex } from 'viem'
import { decodeLens, encodeRead } from '../../../../src/family/aave_v3/read/abi.ts'
import { LENS_RUNTIME } from '../../../../src/family/aave_v3/read/lens_artifact.ts'
import { UpstreamError } from '../../../../src/lib/error.ts'
import type { AaveDevnet } from '../../../devnet/aave_v3/mod.ts'
import { sharedAave } from '../../../devnet/aave_v3/shared.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import type { Devnet } from '../../../devnet/mod.ts'
import { DEPLOYMENTS } from './support.ts'

const AT = '0x0000000000000000000000000000000000aa7e57'
const PROVIDERS = DEPLOYMENTS.map(({ poolAddressesProvider }) => poolAddressesProvider)

let devnet: Devnet
let aave: AaveDevnet
let question: Parameters<typeof encodeRead>[0]

beforeAll(async () => {
  const shared = await sharedAave()
  devnet = shared.devnet
  aave = shared.aave
  question = { providers: PROVIDERS, wallets: Object.values(aave.wallets), bytesMax: 1_000_000 }
}, 120_000)

async function call(data: Hex, gas = 50_000_000) {
  const request = { to: AT, data, gas: `0x${gas.toString(16)}` }
  return devnet.rpc.call<Hex>('eth_call', request, 'latest', { [AT]: { code: LENS_RUNTIME } })
}

describe('the lens', () => {
  // `bun run lens --check` checks that the artifact is compiled from its source.
  test('is small enough to be a contract’s code', () => {
    expect(LENS_RUNTIME.length / 2 - 1).toBeLessThanOrEqual(24_576)
  })

  test('returns the block it ran at, and the version of each market', async () => {
    const { block, markets, taken } = decodeLens(await call(encodeRead(question)))
    const latest = await devnet.client.getBlock()
    expect(block).toEqual({
      chainId: 1,
      number: latest.number,
      timestampSec: latest.timestamp,
      parentHash: latest.parentHash,
    })
    expect(taken).toBe(question.wallets.length)
    const current = { liquidEModes: true, zeroLtvEModes: true, isolatedEModes: false }
    const old = { liquidEModes: false, zeroLtvEModes: false, isolatedEModes: false }
    const sentinel = { refusesLoans: false, delaysLiquidations: false }
    expect(markets.map(({ lenders: _, ...market }) => market)).toEqual(
      [current, current, current, old].map((features) => ({ answered: true, unit: 10n ** 8n, features, sentinel })),
    )
    expect(markets.map(({ lenders }) => lenders.length > 0)).toEqual([true, true, true, true])
  })

  test('writes each reserve and category once, and only those that a wallet holds', async () => {
    const read = decodeLens(await call(encodeRead(question)))
    for (const facts of [read.reserves, read.categories]) {
      const keys = facts.map(({ market, id }) => `${market}:${id}`)
      expect(new Set(keys).size).toBe(keys.length)
    }
    const { lidoOnly, empty } = aave.wallets
    const few = decodeLens(await call(encodeRead({ ...question, wallets: [empty, lidoOnly] })))
    expect({ markets: few.reserves.map(({ market }) => market), taken: few.taken }).toEqual({
      markets: [1, 1],
      taken: 2,
    })
    const none = decodeLens(await call(encodeRead({ ...question, wallets: [empty] })))
    expect({ reserves: none.reserves, accounts: none.accounts }).toEqual({ reserves: [], accounts: [] })
  })

  test('ends a page between two wallets before gas or bytes run out, and what it has is right', async () => {
    const whole = decodeLens(await call(encodeRead(question)))
    const seen = new Set<number>()
    for (const gas of [5_000_000, 6_000_000, 8_000_000, 10_000_000, 14_000_000]) {
      const page = decodeLens(await call(encodeRead(question), gas))
      seen.add(page.taken)
      expect(page.accounts).toEqual(whole.accounts.filter(({ wallet }) => wallet < page.taken))
      expect(page.broken).toEqual([])
    }
    expect(seen.size).toBeGreaterThan(2)
    for (const bytesMax of [1_000, 3_000, 9_000]) {
      const answer = await call(encodeRead({ ...question, bytesMax }))
      const page = decodeLens(answer)
      expect(answer.length / 2 - 1).toBeLessThanOrEqual(bytesMax)
      expect(page.taken).toBeLessThan(whole.taken)
      expect(page.accounts).toEqual(whole.accounts.filter(({ wallet }) => wallet < page.taken))
    }
  })

  test('costs a wallet at most 5,000 gas a reserve beyond what it holds, so that hundreds fit in a call', async () => {
    const measureGas = async (wallets: readonly Address[]): Promise<number> => {
      const { gasUsed } = await devnet.rpc.call<{ readonly gasUsed: Hex }>(
        'debug_traceCall',
        { to: AT, data: encodeRead({ ...question, wallets }), gas: '0x2faf080' },
        'latest',
        { stateOverrides: { [AT]: { code: LENS_RUNTIME } }, tracer: 'callTracer', tracerConfig: { onlyTopCall: true } },
      )
      return Number(gasUsed)
    }
    const strangers = Array.from({ length: 21 }, (_, index) => toWalletAddress(`aave stranger ${index}`))
    const reserves = Object.values(aave.markets).flatMap((market) => market.reserves).length
    const [one, many] = [await measureGas(strangers.slice(0, 1)), await measureGas(strangers)]
    const each = (many - one) / 20 / reserves
    expect(each).toBeGreaterThan(1_000)
    expect(each).toBeLessThan(5_000)
  })

  test('marks a market that does not answer, and reads the others', async () => {
    const providers = [toWalletAddress('no market'), ...PROVIDERS]
    const read = decodeLens(await call(encodeRead({ ...question, providers })))
    const whole = decodeLens(await call(encodeRead(question)))
    expect(read.markets.map(({ answered }) => answered)).toEqual([false, true, true, true, true])
    expect(read.accounts).toEqual(whole.accounts.map((each) => ({ ...each, market: each.market + 1 })))
  })
})

describe('decodeLens()', () => {
  test('throws UpstreamError for every answer that is cut, continued or of another layout', async () => {
    const answer = await call(encodeRead({ ...question, wallets: [aave.wallets.emode] }))
    const ends = new Set<number>()
    for (let end = 2; end < answer.length; end += 2) {
      try {
        // A cut between two records leaves a shorter answer that is well-formed.
        decodeLens(answer.slice(0, end) as Hex)
        ends.add(end)
      } catch (error) {
        expect(error).toBeInstanceOf(UpstreamError)
      }
    }
    expect(ends.size).toBeLessThan(10)
    for (const wrong of ['0x', '0x02', `${answer}ff`, answer.replace(/^0x01/, '0x02')] as Hex[]) {
      expect(() => decodeLens(wrong)).toThrow(UpstreamError)
    }
  })

  test('throws UpstreamError for an account of a wallet beyond the page', async () => {
    const answer = await call(encodeRead({ ...question, wallets: [aave.wallets.emode] }))
    // u32 wallets taken, after 1 + 3 * 8 + 32 bytes.
    const at = 2 + 57 * 2
    expect(answer.slice(at, at + 8)).toBe('00000001')
    expect(() => decodeLens(`${answer.slice(0, at)}00000000${answer.slice(at + 8)}` as Hex)).toThrow(UpstreamError)
  })
})
