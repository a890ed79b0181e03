import { expect, test } from 'bun:test'
import { TOKENS } from '../../../../devnet/addresses.ts'
import { createRandom } from '../../../../devnet/random.ts'
import { caseCount, IS_FULL } from '../../../../support/cases.ts'
import { ask } from './asked.ts'
import { judge, lookTimes, type SecondOpinion } from './second_opinion.ts'
import { type Placed, POOL_ABI, type Stage, startStage, World } from './stage.ts'

const WORLDS = caseCount(250, 15)
/** Worlds of one chain: more of them make its blocks slow. */
const WORLDS_PER_CHAIN = 5
const QUOTES = [TOKENS.usdc, TOKENS.weth, TOKENS.dai] as const
const FEES = [100, 500, 3_000, 10_000] as const
/** Doubles have 16 digits, of which sums of the oracle and roots take some. */
const TOLERANCE = 1e-6

type Random = ReturnType<typeof createRandom>

const pick = <T>(random: Random, values: readonly T[]): T => {
  const value = values[random.below(values.length)]
  if (value === undefined) throw new Error('There is nothing to pick')
  return value
}

/** Pools of honest and hostile owners with a past of an hour: some deep, some narrow, some moved, some withdrawn. */
async function build(stage: Stage, random: Random): Promise<{ readonly world: World; readonly placed: Placed[] }> {
  const world = await World.create(stage, random.below(2) === 0 ? 'token0' : 'token1')
  const placed: Placed[] = []
  const candidates = QUOTES.flatMap((quote) => FEES.map((fee) => ({ quote, fee })))
  for (let count = 1 + random.below(4); count > 0; count--) {
    const [candidate] = candidates.splice(random.below(candidates.length), 1)
    if (candidate === undefined) break
    const { quote, fee } = candidate
    const usd = 2 * pick(random, [1, 1, 1, 0.99, 1.02, 1.2, 10, 0.01])
    const pool = await world.pool(quote, fee, usd, pick(random, [1, 1, 5, 100]))
    const tick = world.tick(usd, quote)
    const dollars = pick(random, [5, 90, 3_000, 40_000, 500_000])
    const trader = pick(random, [world.honest, world.attacker])
    const width = pick(random, [pool.spacing, 60, 400, 4_000, 800_000])
    placed.push(await world.add(trader, pool, tick - width - pool.spacing, tick + width + pool.spacing, dollars))
    if (random.below(4) === 0) placed.push(await world.add(trader, pool, tick - 5_000, tick - 300, dollars * 3))
    if (random.below(3) === 0) await stage.mine(random.below(30), 60)
  }
  await stage.mine(pick(random, [5, 20, 40]), 60)
  for (let acts = random.below(10); acts > 0; acts--) {
    const pool = pick(random, world.pools)
    const spot = await world.spotUsd(pool)
    const own = placed.filter((each) => each.pool === pool)
    const act = random.below(5)
    if (act < 3) await world.push(world.arbitrageur, pool, spot * pick(random, [0.9, 0.99, 1.003, 1.02, 1.3, 3]))
    else if (act === 3 && own.length > 0) {
      const [first] = own
      if (first !== undefined) await world.take(first).catch(() => undefined)
    } else
      placed.push(
        await world.add(
          world.honest,
          pool,
          world.tick(spot, pool.quote) - 600,
          world.tick(spot, pool.quote) + 600,
          2_000,
        ),
      )
    await stage.mine(random.below(8), pick(random, [12, 60, 120]))
  }
  return { world, placed }
}

function findDifferences(asked: Awaited<ReturnType<typeof ask>>, theirs: SecondOpinion, usd: number): string[] {
  const differs = (a: number | undefined, b: number | undefined) =>
    a === undefined || b === undefined
      ? a !== b
      : Math.abs(a - b) > TOLERANCE * Math.max(Math.abs(a), Math.abs(b), 1e-9)
  const pairs = [
    ['price', asked.asset === undefined ? undefined : asked.asset * usd, theirs.price],
    ['debt price', asked.debt === undefined ? undefined : asked.debt * usd, theirs.debtPrice],
    ['bound', asked.bound, theirs.bound],
  ] as const
  return [
    ...pairs.filter(([, a, b]) => differs(a, b)).map(([name, a, b]) => `${name} ${a}, expected ${b}`),
    ...(asked.marks.join() === theirs.marks.join() ? [] : [`marks ${asked.marks}, expected ${theirs.marks}`]),
  ]
}

test(
  `${WORLDS} random worlds of pools have the prices that a second reckoning from their state has`,
  async () => {
    const faults: string[] = []
    /** Worlds by mark of their price. */
    const kinds = new Map<string, number>()
    for (let seed = 0; seed < WORLDS; seed += WORLDS_PER_CHAIN) {
      const stage = await startStage()
      try {
        for (let offset = 0; offset < WORLDS_PER_CHAIN; offset++) {
          const { world, placed } = await build(stage, createRandom(seed + offset))
          const head = await stage.client.getBlock()
          const { asked, heights } = await askNoting(world)
          const isStartRead = await forgets(stage, world.pools, head.number)
          const looks = await findLooks(stage, head, { heights, isStartRead })
          const theirs = await judge(world, { placed, head: head.number, ...looks })
          if (theirs.margin > 1e-9) {
            const differences = findDifferences(asked, theirs, world.usd)
            faults.push(...differences.map((each) => `world ${seed + offset}: ${each}`))
          }
          for (const kind of theirs.marks.length === 0 ? ['plain'] : theirs.marks)
            kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
        }
      } finally {
        await stage.anvil.stop()
      }
    }
    if (process.env['TELL'] !== undefined) process.stdout.write(`${JSON.stringify([...kinds])}\n`)
    expect(faults).toEqual([])
    for (const kind of ['plain', 'thin', 'gone']) expect(kinds.get(kind) ?? 0).toBeGreaterThan(0)
  },
  IS_FULL ? 3_600_000 : 300_000,
)

/** Asks for the price, and notes the heights of its calls in their order. */
async function askNoting(world: World) {
  const heights: bigint[] = []
  const asked = await ask(world, {
    onRequest(method, params) {
      const at = params?.[1]
      if (method === 'eth_call' && typeof at === 'string') heights.push(BigInt(at))
    },
  })
  return { asked, heights }
}

/** Blocks in which a chain's search for a moment ends, if its first guess is more than a minute away. */
const TOLERANCE_SEC = 60

/**
 * The block that each moment demands: the first guess if that is within a minute, else the last block at or before the
 * moment. Guesses come first, in the order of the moments, that of the window's start before them if it was read.
 */
async function findLooks(
  { client }: Stage,
  head: { readonly hash: `0x${string}`; readonly timestamp: bigint; readonly number: bigint },
  { heights, isStartRead }: { readonly heights: readonly bigint[]; readonly isStartRead: boolean },
) {
  const moments = [...(isStartRead ? [Number(head.timestamp) - 1_800] : []), ...lookTimes(head)]
  if (heights.length === 0) return { looks: [], start: undefined }
  const blocks = await Promise.all(
    moments.map(async (timeSec, index) => {
      const guess = await client.getBlock({ blockNumber: heights[index] ?? 0n })
      if (Math.abs(Number(guess.timestamp) - timeSec) <= TOLERANCE_SEC) return guess.number
      let last = head
      while (last.number > 0n && Number(last.timestamp) > timeSec)
        last = await client.getBlock({ blockNumber: last.number - 1n })
      return last.number
    }),
  )
  return isStartRead ? { looks: blocks.slice(1), start: blocks[0] } : { looks: blocks, start: undefined }
}

/** True if a pool's oracle has lost the start of the window, so that it is read from that block. */
async function forgets({ client }: Stage, pools: World['pools'], blockNumber: bigint): Promise<boolean> {
  const remembered = await Promise.all(
    pools.map(({ address }) =>
      client.readContract({ address, abi: POOL_ABI, functionName: 'observe', args: [[1_800]], blockNumber }).then(
        () => true,
        () => false,
      ),
    ),
  )
  return remembered.includes(false)
}
