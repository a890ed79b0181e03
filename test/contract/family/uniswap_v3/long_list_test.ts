import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Address, encodeFunctionData, parseAbi } from 'viem'
import { TABLE_PIECE_ROWS } from '../../../../src/http/limits.ts'
import { BANK, TOKENS, toWalletAddress, UNISWAP_V3 } from '../../../devnet/addresses.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { fundBank, tokenCreationCode } from '../../../devnet/contracts.ts'
import { mintSpamPositions } from '../../../devnet/mint_spam.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import { amounts } from '../../../devnet/scenario.ts'
import { fullRange } from '../../../devnet/ticks.ts'
import type { Pool } from '../../../devnet/uniswap_v3_calls.ts'
import { callRoute } from '../../../support/call_route.ts'
import { caseCount, IS_FULL } from '../../../support/cases.ts'
import { countedClient, createTestReader, DEPLOYMENT, patient } from '../../../support/family/uniswap_v3/support.ts'
import { type Answer, ask, createRoutes, getIds } from './ask.ts'

const MAILED = caseCount(10_000, 2_000)
const OWN = 60
const CLOSED = 15
/** More pools than the lens tracks in one page: five seconds of Anvil, so with `SEEDS=full` alone. */
const POOLS = 520
/** Requests: the first page of whole positions at the latest block, and the header of the block of all other pages. */
const LATEST_AND_PIN = 2
const FACTORY_ABI = parseAbi(['function enableFeeAmount(uint24 fee, int24 tickSpacing)'])

const victim = toWalletAddress('victim')
const scattered = toWalletAddress('owner of a position in each of many pools')

let devnet: Devnet
let own: readonly bigint[]
let closed: readonly bigint[]
let unreadable: bigint

/** This file has its own chain, because thousands of positions would slow down other tests. */
beforeAll(async () => {
  devnet = await startDevnet()
  const before = await devnet.mintMany(victim, OWN / 2)
  const spam = await deployPool({ name: 'Claim your reward', symbol: 'GIFT', decimals: 18 })
  await mintSpamPositions(devnet, { wallet: victim, pool: spam, count: MAILED })
  // The wallet has positions of its own after the spam.
  own = [...before, ...(await devnet.mintMany(victim, OWN / 2))]
  closed = own.filter((_, index) => index % (OWN / CLOSED) === 0)
  for (const stored of await devnet.v3.readPositions(closed)) await devnet.v3.decreaseLiquidity({ ...stored })
  const odd = await deployPool({ name: 'Most decimals', symbol: 'FINEST', decimals: 255 })
  unreadable = (
    await devnet.v3.mint({ pool: odd, amount0: 1_000n, amount1: 1_000n, ...fullRange(odd), recipient: victim })
  ).tokenId
}, 180_000)

afterAll(async () => {
  await devnet.stop()
})

/** Deploys a pool of a new token and WETH. */
async function deployPool(says: Parameters<typeof tokenCreationCode>[0]): Promise<Pool> {
  const [receipt] = await devnet.send([{ from: BANK, data: tokenCreationCode(says) }])
  const token = receipt?.contractAddress
  if (token === undefined || token === null) throw new Error('Cannot deploy a token')
  await devnet.send(fundBank(token))
  const amount = 10n ** 18n
  return await devnet.v3.createPool({
    tokenA: token,
    tokenB: TOKENS.weth.address,
    fee: 3000,
    amountA: amount,
    amountB: amount,
  })
}

function createListRoute() {
  return createRoutes([countedClient(createDevnetChain(devnet)).client], [DEPLOYMENT]).list
}

/** Creates the list's route, with its requests to the node; `reuseMs` is how long it may reuse an answer. */
function listing(reuseMs = 0) {
  const { client, requests } = countedClient(createDevnetChain(devnet, { reuseMs }))
  const { list } = createRoutes([client], [DEPLOYMENT])
  return { list: (query: string): Promise<Answer> => ask(list, `wallet=${victim}${query}`), requests }
}

describe('a wallet to which thousands of spam positions were mailed', () => {
  test('is listed page by page, with the exact counts', async () => {
    const { list } = listing(600_000_000)
    const balance = await devnet.client.readContract({
      address: UNISWAP_V3.manager,
      abi: parseAbi(['function balanceOf(address) view returns (uint256)']),
      functionName: 'balanceOf',
      args: [victim],
    })
    expect(balance).toBe(BigInt(MAILED + OWN + 1))
    const counts = { totalActive: OWN - CLOSED, totalInactive: CLOSED, total: OWN, errors: 1 }
    const open = own.filter((id) => !closed.includes(id)).map(String)
    const found: string[] = []
    for (let page = 1; page <= 6; page++) {
      const answer = await list(`&full=true&limit=10&page=${page}`)
      const { spams, ...others } = answer.reply.counts
      expect(others).toEqual({ ...counts, filtered: OWN - CLOSED })
      expect(spams).toHaveLength(1_000)
      expect(answer.reply.pagination).toMatchObject({ page, limit: 10, total: OWN - CLOSED })
      expect(answer.credits).toBe(15 * getIds(answer).length)
      found.push(...getIds(answer))
    }
    expect(found).toEqual(open)
    const whole = await callRoute(createListRoute(), {
      query: `wallet=${victim}`,
      rows: { page: 1, limit: TABLE_PIECE_ROWS },
    })
    expect((whole.reply.data as { token_id: string }[]).map(({ token_id }) => token_id)).toEqual(open)
    expect(whole.credits).toBe(2 * open.length)
    const inactive = await list('&status=inactive&limit=25')
    expect(inactive.reply.counts).toMatchObject({ ...counts, filtered: CLOSED })
    expect(getIds(inactive)).toEqual(closed.map(String))
  }, 120_000)

  test('takes one request per 2,000 positions, and one for each further page of the answer in the same block', async () => {
    const { list, requests } = listing(600_000_000)
    await list('&limit=10')
    expect(requests.length).toBe(LATEST_AND_PIN + Math.ceil((MAILED + OWN + 1) / 2_000) + 1)
    const before = requests.length
    await list('&limit=10&page=2')
    expect(requests.length).toBe(before + 1)
    await list('&limit=10&page=7')
    expect(requests.length).toBe(before + 1)
  }, 60_000)

  test('has each of its own positions in the list equal to the position by its id', async () => {
    const { client } = countedClient(createDevnetChain(devnet))
    const { reader, targets: places } = createTestReader(client)
    const reads = await reader.readWallet(victim, { targets: places, work: patient })
    const positions = reads.flatMap((read) => read.positions)
    expect(positions.map(({ tokenId }) => tokenId)).toEqual([...own])
    const whole = await reader.complete(victim, { reads, positions, work: patient })
    expect(whole.positions).toHaveLength(OWN)
    for (const position of whole.positions) {
      const [one] = await reader.readOne(position.tokenId, { targets: places, work: patient })
      expect(one?.positions).toEqual([position])
    }
    expect(reads[0]?.unreadable).toMatchObject([{ tokenId: unreadable }])
    expect(reads[0]?.spams).toHaveLength(MAILED)
  }, 60_000)

  test('is listed without override too, in smaller pages', async () => {
    const { client, requests } = countedClient(createDevnetChain(devnet))
    const { reader, targets: places } = createTestReader(client, { mode: 'deployless' })
    const [read] = await reader.readWallet(victim, { targets: places, work: patient })
    expect({ positions: read?.positions.length, spams: read?.spams.length }).toEqual({ positions: OWN, spams: MAILED })
    expect(requests.length).toBe(LATEST_AND_PIN + Math.ceil((MAILED + OWN + 1) / 200))
  }, 60_000)
})

test.if(IS_FULL)(
  'a list in more pools than fit in one page of it is read to its end',
  async () => {
    // Without thousands of positions, which the node would work out anew with each of its blocks.
    const devnet = await startDevnet()
    const fees = Array.from({ length: POOLS }, (_, index) => 20_000 + index)
    await devnet.send(
      fees.map((fee) => ({
        from: BANK,
        to: UNISWAP_V3.factory,
        data: encodeFunctionData({ abi: FACTORY_ABI, functionName: 'enableFeeAmount', args: [fee, 200] }),
      })),
    )
    const [tokenA, tokenB]: readonly Address[] = [TOKENS.usdc.address, TOKENS.dai.address]
    if (tokenA === undefined || tokenB === undefined) throw new Error('Cannot find two tokens')
    const pools = await devnet.v3.createPools(
      fees.map((fee) => ({ tokenA, tokenB, fee, amountA: 10n ** 6n, amountB: 10n ** 18n })),
    )
    const minted = await devnet.v3.mintMany(
      pools.map((pool) => ({ pool, ...fullRange(pool), ...amounts(pool, 1), recipient: scattered })),
    )
    const { client, requests } = countedClient(createDevnetChain(devnet))
    const { reader, targets: places } = createTestReader(client, { wholeMax: 0 })
    const reads = await reader.readWallet(scattered, { targets: places, work: patient })
    const positions = reads.flatMap((read) => read.positions)
    expect(positions.map(({ tokenId }) => tokenId)).toEqual(minted.map(({ tokenId }) => tokenId))
    // Two pages in brief.
    expect(requests).toHaveLength(LATEST_AND_PIN + 2)
    const whole = await reader.complete(scattered, { reads, positions: positions.slice(500), work: patient })
    expect(whole.positions.map(({ pool }) => pool.address)).toEqual(pools.slice(500).map(({ address }) => address))
    await devnet.stop()
  },
  120_000,
)
