import { expect, test } from 'bun:test'
import { erc20Abi } from 'viem'
import { TOKENS } from '../../../../devnet/addresses.ts'
import { createRandom } from '../../../../devnet/random.ts'
import { caseCount, IS_FULL } from '../../../../support/cases.ts'
import { ask } from './asked.ts'
import { POOL_ABI, type StagedPool, startStage, World } from './stage.ts'

/** Random worlds of each kind. */
const WORLDS = caseCount(84, 1)
/** Worlds of one chain: more of them make its blocks slow. */
const WORLDS_PER_CHAIN = 7
const { usdc } = TOKENS
/** What the rule before this one demanded of the richest pool: US dollars in it, and ticks between its price and mean. */
const FORMER_USD_MIN = 50_000
const FORMER_TICKS_MAX = 500
/** A price is right within a tenth. */
const TOLERANCE = 0.1

type Random = ReturnType<typeof createRandom>
const between = (random: Random, low: number, high: number) => low + random.below(high - low)

/** Honest pools of one token, and what happened to them. */
const KINDS: Readonly<Record<string, (world: World, random: Random) => Promise<void>>> = {
  async narrow(world, random) {
    const pool = await world.pool(usdc, 500, 2, 5)
    const [tick, width] = [world.tick(2, usdc), between(random, 20, 400)]
    await world.add(world.honest, pool, tick - width, tick + width, between(random, 20_000, 100_000))
    await world.stage.mine(60, 60)
  },
  async thin(world, random) {
    await world.full(world.honest, await world.pool(usdc, 3_000, 2, 5), between(random, 1_000, 30_000))
    await world.stage.mine(60, 60)
  },
  /** One observation, overwritten by a trade. */
  async young(world, random) {
    const pool = await world.pool(usdc, 3_000, 2)
    await world.full(world.honest, pool, between(random, 60_000, 500_000))
    await world.stage.mine(60, 60)
    await world.push(world.arbitrageur, pool, 2.01)
    await world.stage.mine(between(random, 1, 20), 12)
  },
  /** Narrow liquidity that its owner places anew every ten minutes. */
  async 're-centred'(world, random) {
    const pool = await world.pool(usdc, 500, 2, 20)
    const tick = world.tick(2, usdc)
    const dollars = between(random, 20_000, 100_000)
    for (let round = 0; round < 5; round++) {
      const placed = await world.add(world.honest, pool, tick - 100, tick + 100, dollars)
      await world.stage.mine(10, 60)
      if (round < 4) await world.take(placed)
    }
  },
  async crashed(world, random) {
    const pool = await world.pool(usdc, 3_000, 2, 60)
    await world.full(world.honest, pool, between(random, 60_000, 500_000))
    await world.stage.mine(60, 60)
    world.usd = between(random, 40, 120) / 100
    await world.push(world.arbitrageur, pool, world.usd)
    await world.stage.mine(between(random, 6, 10), 60)
  },
  /** It rose out of the range of all liquidity: bids alone. */
  async risen(world, random) {
    const pool = await world.pool(usdc, 3_000, 2, 60)
    const tick = world.tick(2, usdc)
    await world.add(world.honest, pool, tick - 10_000, tick + 600, between(random, 60_000, 500_000))
    world.usd = 2 * 1.0001 ** 600
    await world.push(world.arbitrageur, pool, 2.2)
    await world.stage.mine(between(random, 40, 60), 60)
  },
}

/** True if the former rule had the right price: of the richest pool, which had to remember half an hour. */
async function hadFormerPrice({ stage: { client }, usd, side }: World, { address, quote }: StagedPool) {
  const balance = { address: quote.address, abi: erc20Abi, functionName: 'balanceOf', args: [address] } as const
  const dollars = (Number(await client.readContract(balance)) / 10 ** quote.decimals) * quote.usd
  const asked = { address, abi: POOL_ABI } as const
  const sums = await client
    .readContract({ ...asked, functionName: 'observe', args: [[1_800, 0]] })
    .catch(() => undefined)
  const [, tick] = await client.readContract({ ...asked, functionName: 'slot0' })
  const [first, last] = sums?.[0] ?? []
  if (first === undefined || last === undefined || dollars < FORMER_USD_MIN) return false
  const mean = Number(last - first) / 1_800
  if (Math.abs(tick - mean) > FORMER_TICKS_MAX) return false
  const price = 1.0001 ** (side === 'token0' ? mean : -mean) * 10 ** (18 - quote.decimals) * quote.usd
  return Math.abs(price / usd - 1) <= TOLERANCE
}

/** What both rules told of worlds of one kind. */
interface Found {
  former: number
  right: number
  readonly marks: Set<string>
}

async function examine(world: World, found: Found): Promise<void> {
  const [pool] = world.pools
  if (pool !== undefined && (await hadFormerPrice(world, pool))) found.former++
  const { asset, marks } = await ask(world)
  if (asset !== undefined && Math.abs(asset - 1) <= TOLERANCE) found.right++
  for (const mark of marks) found.marks.add(mark)
}

async function examineWorlds(play: (world: World, random: Random) => Promise<void>): Promise<Found> {
  const found: Found = { former: 0, right: 0, marks: new Set() }
  for (let seed = 0; seed < WORLDS; seed += WORLDS_PER_CHAIN) {
    const stage = await startStage()
    try {
      for (let no = seed; no < Math.min(WORLDS, seed + WORLDS_PER_CHAIN); no++) {
        const world = await World.create(stage, no % 2 === 0 ? 'token0' : 'token1')
        await play(world, createRandom(1_000 + no))
        await examine(world, found)
      }
    } finally {
      await stage.anvil.stop()
    }
  }
  return found
}

test.each(Object.entries(KINDS))(
  `the price of an honest pool that is %s is right in ${WORLDS} random worlds`,
  async (kind, play) => {
    const { former, right, marks } = await examineWorlds(play)
    if (process.env['TELL'] !== undefined)
      process.stdout.write(`| ${kind} | ${WORLDS} | ${former} | ${right} | ${[...marks].sort().join()} |\n`)
    expect(right).toBe(WORLDS)
  },
  IS_FULL ? 600_000 : 60_000,
)
