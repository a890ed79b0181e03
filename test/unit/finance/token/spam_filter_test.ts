import { describe, expect, test } from 'bun:test'
import { encodeAbiParameters, type Hex, toHex } from 'viem'
import { listHolders } from '../../../../src/family/liquidity/enumerable/exchange.ts'
import type { RawRead } from '../../../../src/family/liquidity/enumerable/read/abi.ts'
import { interpret } from '../../../../src/family/liquidity/enumerable/read/position.ts'
import type { FinanceChain } from '../../../../src/finance/chain.ts'
import { createSpamFilter } from '../../../../src/finance/token/spam.ts'
import type { RawToken } from '../../../../src/finance/token/token.ts'
import { runCooperatively } from '../../../../src/lib/async/cooperative.ts'
import { atOnce, DEPLOYMENT } from '../../../support/family/uniswap_v3/support.ts'

const CHAIN: FinanceChain = {
  id: 1,
  name: 'One',
  rpcUrls: [],
  reuseMs: 0,
  finality: { depth: 0 },
  prices: { usdFeeds: {}, stablecoins: [] },
  tokens: { addresses: [], names: [], added: [] },
  spamTokens: [],
}

function returned(text: string): Hex {
  return encodeAbiParameters([{ type: 'string' }], [text])
}

function raw(index: number, name = 'Ordinary'): RawToken {
  return { address: toHex(index + 1, { size: 20 }), decimals: 18, symbol: returned('X'), name: returned(name) }
}

describe('createSpamFilter()', () => {
  test('classifies a token once while its text is unchanged', () => {
    const { classify: judge } = createSpamFilter()
    const first = judge(raw(0), CHAIN)
    expect(first.spam).toBeUndefined()
    expect(judge(raw(0), CHAIN)).toBe(first)
  })

  test('classifies a token again when its text changes, and when it changes back', () => {
    const { classify: judge } = createSpamFilter()
    judge(raw(0), CHAIN)
    expect(judge(raw(0, 'Claim your reward'), CHAIN).spam).toContain('its name promises a reward')
    expect(judge({ ...raw(0), decimals: 6 }, CHAIN).token.decimals).toBe(6)
    expect(judge(raw(0), CHAIN)).toMatchObject({ spam: undefined, token: { decimals: 18 } })
  })

  test('distinguishes one address on two chains, and follows each chain’s operator list', () => {
    const { classify: judge } = createSpamFilter()
    expect(judge(raw(0), CHAIN).spam).toBeUndefined()
    expect(judge(raw(0), { ...CHAIN, id: 2, spamTokens: [raw(0).address] }).spam).toContain('operator')
    expect(judge(raw(0), CHAIN).spam).toBeUndefined()
  })

  test('evicts the least recently used tokens, so that spam cannot fill the memory', () => {
    const { classify: judge } = createSpamFilter()
    const [old, kept] = [judge(raw(0), CHAIN), judge(raw(1), CHAIN)]
    for (let index = 2; index < 10_000; index++) judge(raw(index), CHAIN)
    expect(judge(raw(1), CHAIN)).toBe(kept)
    judge(raw(10_000), CHAIN)
    expect(judge(raw(1), CHAIN)).toBe(kept)
    expect(judge(raw(0), CHAIN)).not.toBe(old)
  })
})

test('a list of a thousand hostile tokens does not block other requests', async () => {
  const tokens = Array.from({ length: 1_000 }, (_, index) => raw(index, `${'㏘'.repeat(80)}${index}`))
  const growth = { growth0: 0n, growth1: 0n }
  const amounts = { amount0: 0n, amount1: 0n }
  const read: RawRead = {
    block: { chainId: 1, number: 1n, timestampSec: 1n, parentHash: '0x00' },
    managers: [{ balance: 500 }],
    taken: 500,
    tokens: tokens.map((token) => ({ ...token, usd: { rates: [], round: undefined, aave: undefined } })),
    pools: Array.from({ length: 500 }, (_, index) => ({
      manager: 0,
      address: raw(index).address,
      token0: index * 2,
      token1: index * 2 + 1,
      fee: 500,
      sqrtPriceX96: 1n,
      tick: 0,
      global: growth,
    })),
    positions: Array.from({ length: 500 }, (_, pool) => ({
      manager: 0,
      tokenId: BigInt(pool),
      pool,
      liquidity: 0n,
      owner: raw(0).address,
      tickLower: 0,
      tickUpper: 1,
      insideLast: growth,
      owed: amounts,
      shared: { liquidity: 0n, insideLast: growth, owed: amounts },
      outside: undefined,
    })),
    broken: [],
    found: [],
    registries: [],
  }
  const options = {
    chain: CHAIN,
    holders: listHolders({ deployments: [DEPLOYMENT] }),
    isPriced: true,
    spam: 'apart',
  } as const
  let turns = 0
  let counting = true
  const count = () => {
    turns++
    if (counting) setImmediate(count)
  }
  setImmediate(count)
  const found = await runCooperatively(interpret(read, { ...options, classifyToken: createSpamFilter().classify }))
  counting = false
  expect(turns).toBeGreaterThan(25)
  expect(found.positions).toHaveLength(500)
  expect(found).toEqual(atOnce(interpret(read, { ...options, classifyToken: createSpamFilter().classify })))
})
