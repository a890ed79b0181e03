import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Address } from 'viem'
import { BANK, TOKENS, toWalletAddress } from '../../devnet/addresses.ts'
import { createDevnetChain } from '../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { startFaultyRpc } from '../../support/rpc.ts'
import { createCode, deploy, mintCall, transferCall } from '../finance/token/balance/world.ts'
import { allRows, countedClient, createPortfolio, listing, toFigures } from './support.ts'

const WALLET = toWalletAddress('odd portfolio')
/** What `OddBalance` does: burns all gas, reverts, answers a mebibyte, 31 bytes, nothing, writes. */
const SILENT = [0, 1, 2, 3, 4, 5]
const BURNERS = 20
/** Balances that depend on the gas and on the caller's address. */
const FICKLE = [6, 7]
const { usdc, weth } = TOKENS

let devnet: Devnet
let silent: readonly Address[]
let fickle: readonly Address[]
/** The wallet has some of each: a mebibyte of name and symbol, a revert or all gas burnt when asked for them. */
let held: readonly Address[]

beforeAll(async () => {
  devnet = await startDevnet({ chainId: 10 })
  silent = await deploy(devnet, [
    ...SILENT.map((kind) => createCode('OddBalance', kind)),
    ...Array.from({ length: BURNERS }, () => createCode('OddBalance', 0)),
  ])
  fickle = await deploy(
    devnet,
    FICKLE.map((kind) => createCode('OddBalance', kind)),
  )
  held = await deploy(
    devnet,
    (['HugeSymbolToken', 'RevertingToken', 'GasBurnerToken'] as const).map((name) => createCode(name)),
  )
  await devnet.send([
    transferCall(usdc.address, { from: BANK, to: WALLET, value: 1_234_567_890n }),
    transferCall(weth.address, { from: BANK, to: WALLET, value: 10n ** 18n }),
    ...held.map((token) => mintCall(token, WALLET, 10n ** 18n)),
  ])
}, 60_000)

afterAll(() => devnet?.stop())

/** What a wallet's portfolio says, with these tokens on the list too; `overrides` false: the endpoint takes no code. */
async function lookWith(tokens: readonly Address[], { overrides = true } = {}) {
  const endpoint = await startFaultyRpc(devnet.rpcUrl)
  try {
    if (!overrides) endpoint.rule(() => ({ kind: 'no_overrides', how: 'refuse' }))
    const chain = { ...listing(createDevnetChain(devnet), tokens), rpcUrls: [endpoint.url] }
    const { client, requests } = countedClient(chain)
    const portfolio = createPortfolio([client])
    const query = `wallet=${WALLET}&chain_id=10`
    const answer = await portfolio.balance(query)
    const figures = toFigures(answer)
    const asked = requests.length
    const { coverage } = answer.reply.data as { readonly coverage: { readonly not_read: readonly string[] } }
    return { figures, asked, notRead: coverage.not_read, rows: await allRows(portfolio, query) }
  } finally {
    await endpoint.stop()
  }
}

test('tokens that burn gas, revert or return a mebibyte do not affect the others or the number of requests', async () => {
  const plain = await lookWith([])
  expect(plain.figures.rows).toMatchObject({ counted: 2, unpriced: 0 })
  expect(plain.figures.net).toBeGreaterThan(1_234_000_000n)
  const odd = await lookWith([...silent, ...held])
  expect({ ...odd.figures, rows: 0 }).toEqual({ ...plain.figures, rows: 0 })
  expect(odd.rows.filter(({ counted }) => counted)).toEqual(plain.rows)
  const others = odd.rows.filter(({ counted }) => !counted)
  expect(others.map(({ token }) => token.id).sort()).toEqual([...held].sort())
  expect(odd.asked).toBe(plain.asked)
  // Five are named, and the rest are counted.
  expect(odd.notRead.filter((each) => each.includes('does not say what the wallet has'))).toHaveLength(5)
  expect(odd.notRead).toContain(`chain 10: ${silent.length - 5} more tokens and positions that do not answer`)
}, 30_000)

test.each([true, false])(
  'tokens that answer by their caller or by the gas that is left change nothing of the others, with overrides %p',
  async (overrides) => {
    const plain = await lookWith([], { overrides })
    const odd = await lookWith([...fickle, ...silent, ...held], { overrides })
    expect(plain.figures.net).toBeGreaterThan(1_234_000_000n)
    expect({ ...odd.figures, rows: 0 }).toEqual({ ...plain.figures, rows: 0 })
    expect(odd.rows.filter(({ counted }) => counted)).toEqual(plain.rows)
    // No source prices these tokens.
    const said = odd.rows.filter(({ token }) => fickle.includes(token.id))
    expect(said.map(({ token }) => token.id).sort()).toEqual([...fickle].sort())
    expect(said.map(({ reason }) => reason)).toEqual(['unpriced', 'unpriced'])
  },
  30_000,
)
