import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, concatHex, type Hex, toFunctionSelector, toHex } from 'viem'
import { LENS_RUNTIME } from '../../../src/chain/call/exit/lens_artifact.ts'
import { createChainClient } from '../../../src/chain/evm/evm_client.ts'
import type { FinanceClient } from '../../../src/finance/chain.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { BANK, TOKENS, toWalletAddress } from '../../devnet/addresses.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { amounts, usdToRaw } from '../../devnet/scenario.ts'
import { rangeAround } from '../../devnet/ticks.ts'
import type { Pool } from '../../devnet/uniswap_v3_calls.ts'
import { createHurriedClock } from '../../support/test_clock.ts'
import { newPool, newToken, pass, pooledChain } from '../finance/price/pool/world.ts'
import { mintCall, transferCall } from '../finance/token/balance/world.ts'
import { createPortfolio, listing } from './support.ts'

const WALLET = toWalletAddress('sells beside hostile ones')
const USDC = TOKENS.usdc.address
const HOSTILE = 3
/** More than used up their gas before others are left out of a call, and one that is honest. */
const TOKENS_ODD = 12
/** Half of what a node grants a call if nothing else is said. */
const GAS = 25_000_000
const HELD = 10n ** 20n

const TRANSFER = toFunctionSelector('transfer(address,uint256)')
const SWAP = toFunctionSelector('swap(address,bool,int256,uint160,bytes)')

/** What a contract does when it is called to move tokens, as code behind a `JUMPDEST` at byte 59. */
const MOODS = {
  loops: '0x603b56',
  reverts: '0x5f5ffd',
  revertsMebibyte: '0x621000005ffd',
  returnsMebibyte: '0x621000005ff3',
  /** Answers two zeros, and moves nothing. */
  lies: '0x60405ff3',
} as const
type Mood = keyof typeof MOODS

const BLOCKED_BY: Readonly<Record<Mood, Readonly<Record<'tokens' | 'pools', string>>>> = {
  loops: { tokens: 'too_costly', pools: 'too_costly' },
  reverts: { tokens: 'unsupported', pools: 'unsupported' },
  revertsMebibyte: { tokens: 'too_costly', pools: 'too_costly' },
  returnsMebibyte: { tokens: 'too_costly', pools: 'too_costly' },
  lies: { tokens: 'token_refuses', pools: 'no_liquidity' },
}

let devnet: Devnet
/** Tokens that pools alone price, each with the pool in which it is sold. */
const odd: { token: Address; pool: Pool }[] = []

beforeAll(async () => {
  devnet = await startDevnet({ chainId: 10 })
  for (let index = 0; index < TOKENS_ODD; index++) {
    const token = await newToken(devnet, 18)
    const pool = await newPool(devnet, { address: token, decimals: 18, usd: 2 }, { dollars: 1_000_000 })
    odd.push({ token, pool })
  }
  const { weth, dai } = TOKENS
  await devnet.send([
    ...[weth, dai].map((token) =>
      transferCall(token.address, { from: BANK, to: WALLET, value: usdToRaw(token, 3_000) }),
    ),
    ...odd.map(({ token }) => mintCall(token, WALLET, HELD)),
  ])
  const own = Object.values(devnet.pools).filter(({ token0, token1 }) => [token0, token1].includes(weth.address))
  const mints = own.map((pool) => ({ pool, ...amounts(pool, 900) }))
  for (const { pool } of odd) mints.push({ pool, amount0: 10n ** 9n, amount1: 10n ** 9n })
  await devnet.v3.mintMany(mints.map((mint) => ({ ...mint, ...rangeAround(mint.pool, -600, 600), recipient: WALLET })))
  // An hour for pools to have a price.
  await pass(devnet, 3_600)
}, 60_000)

afterAll(() => devnet?.stop())

interface Sold {
  readonly token: { readonly id: Address }
  readonly brings: { readonly raw: string } | null
  readonly blocked_by: string | null
}

/** Asks the route over an endpoint that grants little gas. */
async function ask() {
  const calls: string[] = []
  const limit = (url: string, init: RequestInit): Promise<Response> => {
    const request = JSON.parse(String(init.body)) as { readonly method: string; readonly params: readonly object[] }
    const [call, ...others] = request.params
    if (request.method !== 'eth_call') return fetch(url, init)
    if (JSON.stringify(others[1] ?? '').includes(LENS_RUNTIME)) calls.push(request.method)
    const params = [{ ...call, gas: toHex(GAS) }, ...others]
    const headers = { 'content-type': 'application/json' }
    return fetch(url, { method: 'POST', headers, body: JSON.stringify({ ...request, params }) })
  }
  const chain = listing(
    pooledChain(devnet),
    odd.map(({ token }) => token),
  )
  const client: FinanceClient = createChainClient({ chain, clock: createHurriedClock(), log: silentLog, fetch: limit })
  const { reply } = await createPortfolio([client]).exit(`wallet=${WALLET}&chain_id=10&sell_into=${USDC}`)
  const { sale } = reply.data as { readonly sale?: { readonly sold: readonly Sold[] } }
  if (sale === undefined) throw new Error('Expected a sale')
  const isOdd = ({ token: { id } }: Sold) => odd.slice(0, HOSTILE).some(({ token }) => token === id)
  const [hostile, rest] = [true, false].map((is) => sale.sold.filter((each) => isOdd(each) === is))
  return { hostile: hostile ?? [], rest: rest ?? [], calls: calls.length }
}

/** Runs with contracts that are in a mood whenever they are called so; else each is what it was. */
async function inMood<T>(
  mood: Mood,
  { selector, at }: { readonly selector: Hex; readonly at: readonly Address[] },
  run: () => Promise<T>,
): Promise<T> {
  const snapshot = await devnet.rpc.call<Hex>('evm_snapshot')
  try {
    for (const [index, address] of at.entries()) {
      const code = await devnet.rpc.call<Hex>('eth_getCode', address, 'latest')
      const original = toWalletAddress(`code of hostile contract ${index}`)
      await devnet.rpc.call('anvil_setCode', original, code)
      await devnet.rpc.call('anvil_setCode', address, createMoodyCode(mood, { selector, original }))
    }
    await devnet.rpc.call('evm_mine')
    return await run()
  } finally {
    await devnet.rpc.call('evm_revert', snapshot)
  }
}

/** Code that delegates every call to the original, but those of one function. */
function createMoodyCode(
  mood: Mood,
  { selector, original }: { readonly selector: Hex; readonly original: Address },
): Hex {
  return concatHex([
    // The first four bytes of the data are compared with the selector.
    ...(['0x5f3560e01c63', selector, '0x14603b57'] as const),
    // The data is copied and delegated, and what comes back is answered or reverted with.
    ...(['0x365f5f375f5f365f73', original, '0x5af43d5f5f3e6037573d5ffd5b3d5ff3'] as const),
    ...(['0x5b', MOODS[mood]] as const),
  ])
}

let plain: Awaited<ReturnType<typeof ask>>

test('where nothing is hostile, all of it is sold', async () => {
  plain = await ask()
  expect(plain.hostile.map(({ blocked_by }) => blocked_by)).toEqual(Array(HOSTILE).fill(null))
  expect(plain.rest.map(({ blocked_by }) => blocked_by)).toEqual(plain.rest.map(() => null))
  expect(plain.rest.length).toBeGreaterThan(1)
})

for (const mood of Object.keys(MOODS) as Mood[]) {
  for (const [name, selector] of [
    ['tokens', TRANSFER],
    ['pools', SWAP],
  ] as const) {
    const deed = name === 'tokens' ? 'transfer' : 'swap'
    test(`beside ${HOSTILE} ${name} whose ${deed} ${mood}, the rest is sold for as much, in as many calls`, async () => {
      const at = odd.slice(0, HOSTILE).map(({ token, pool }) => (name === 'tokens' ? token : pool.address))
      const { hostile, rest, calls } = await inMood(mood, { selector, at }, ask)
      expect(hostile.map(({ brings, blocked_by }) => ({ brings, blocked_by }))).toEqual(
        at.map(() => ({ brings: null, blocked_by: BLOCKED_BY[mood][name] })),
      )
      expect(rest).toEqual(plain.rest)
      expect(calls).toBe(plain.calls)
    })
  }
}

test(`beside ${TOKENS_ODD - 1} tokens that loop the honest one is sold for as much, in few calls more`, async () => {
  const at = odd.slice(0, -1).map(({ token }) => token)
  const { hostile, rest, calls } = await inMood('loops', { selector: TRANSFER, at }, ask)
  const sold = [...hostile, ...rest]
  const find = (list: readonly Sold[], isHostile: boolean) =>
    list.filter(({ token: { id } }) => at.includes(id) === isHostile)
  expect(new Set(find(sold, true).map(({ brings, blocked_by }) => `${brings} ${blocked_by}`))).toEqual(
    new Set(['null too_costly']),
  )
  expect(find(sold, false)).toEqual(find([...plain.hostile, ...plain.rest], false))
  expect(find(sold, false).map(({ token: { id } }) => id)).toContain(odd.at(-1)?.token ?? '0x')
  // Two of another sale, and those in which their positions use up the gas.
  expect(calls).toBeLessThanOrEqual(plain.calls + 4)
})
