import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Address } from 'viem'
import { BANK, TOKENS, walletOf } from '../devnet/addresses.ts'
import { chainOf } from '../devnet/chain.ts'
import { type Devnet, startDevnet } from '../devnet/mod.ts'
import { codeOf, deploy, mintCall, transferCall } from '../finance/token/balance/world.ts'
import { allRows, countedClient, createPortfolio, figuresOf, listing } from './support.ts'

const WALLET = walletOf('odd portfolio')
/** What `OddBalance` does: burns all gas, reverts, answers a mebibyte, 31 bytes, nothing, writes. */
const SILENT = [0, 1, 2, 3, 4, 5]
const BURNERS = 20
const { usdc, weth } = TOKENS

let devnet: Devnet
let silent: readonly Address[]
/** The wallet has some of each: a mebibyte of name and symbol, a revert or all gas burnt when asked for them. */
let held: readonly Address[]

beforeAll(async () => {
  devnet = await startDevnet({ chainId: 10 })
  silent = await deploy(devnet, [
    ...SILENT.map((kind) => codeOf('OddBalance', kind)),
    ...Array.from({ length: BURNERS }, () => codeOf('OddBalance', 0)),
  ])
  held = await deploy(
    devnet,
    (['HugeSymbolToken', 'RevertingToken', 'GasBurnerToken'] as const).map((name) => codeOf(name)),
  )
  await devnet.send([
    transferCall(usdc.address, { from: BANK, to: WALLET, value: 1_234_567_890n }),
    transferCall(weth.address, { from: BANK, to: WALLET, value: 10n ** 18n }),
    ...held.map((token) => mintCall(token, WALLET, 10n ** 18n)),
  ])
}, 60_000)

afterAll(() => devnet?.stop())

test('tokens that burn gas, revert or answer a mebibyte cost the others nothing, in as many requests', async () => {
  const query = `wallet=${WALLET}&chain_id=10`
  const lookWith = async (tokens: readonly Address[]) => {
    const { client, requests } = countedClient(listing(chainOf(devnet), tokens))
    const portfolio = createPortfolio([client])
    const answer = await portfolio.balance(query)
    const figures = figuresOf(answer)
    const asked = requests.length
    const { coverage } = answer.reply.data as { readonly coverage: { readonly not_read: readonly string[] } }
    return { figures, asked, notRead: coverage.not_read, rows: await allRows(portfolio, query) }
  }
  const plain = await lookWith([])
  expect(plain.figures.rows).toMatchObject({ counted: 2, unpriced: 0 })
  expect(plain.figures.net).toBeGreaterThan(1_234_000_000n)
  const odd = await lookWith([...silent, ...held])
  expect({ ...odd.figures, rows: 0 }).toEqual({ ...plain.figures, rows: 0 })
  expect(odd.rows.filter(({ counted }) => counted)).toEqual(plain.rows)
  const others = odd.rows.filter(({ counted }) => !counted)
  expect(others.map(({ token }) => token.id).sort()).toEqual([...held].sort())
  expect(odd.asked).toBe(plain.asked)
  // Five are named, and the number of the others.
  expect(odd.notRead.filter((each) => each.includes('does not say what the wallet has'))).toHaveLength(5)
  expect(odd.notRead).toContain(`chain 10: ${silent.length - 5} more tokens and positions that do not answer`)
}, 30_000)
