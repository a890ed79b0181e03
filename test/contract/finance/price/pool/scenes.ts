import { TOKENS } from '../../../../devnet/addresses.ts'
import { type Asked, ask, type EndpointFaults } from './asked.ts'
import { type Placed, type Side, type Stage, type StagedPool, World } from './stage.ts'

/** What an answer has to be: factors of the right price, a holder's dollars; several values if chance decides. */
export interface Expected {
  /** `none`: no price. A pair is a range. */
  readonly asset: number | 'none' | readonly [number, number]
  readonly debt?: number | 'none' | readonly [number, number]
  /** Dollars of a holder of 4,000 tokens. */
  readonly holder?: number | readonly [number, number]
  /** Dollars that all of the token counts at most. */
  readonly bound?: number
  /** Undefined if chance decides: the looks are where the hash of the block puts them. */
  readonly marks?: readonly string[]
}

/** One answer of a scene. */
export interface Observation {
  readonly label: string
  readonly asked: Asked
  readonly expected: Expected
  /** Dollars that the attacker lost. */
  readonly cost?: number
}

export interface Scene {
  readonly name: string
  play(stage: Stage, side: Side): Promise<Observation[]>
}

const { usdc } = TOKENS
const SWAP_ALL = 1e12

export interface Honest {
  readonly world: World
  readonly pool: StagedPool
  readonly tick: number
}

/** A token at 2 dollars with an honest pool of so many dollars on its quote side, an hour old. */
export async function honest(
  stage: Stage,
  side: Side,
  dollars: number,
  options: { readonly width?: number; readonly fee?: number; readonly observations?: number } = {},
): Promise<Honest> {
  const { width, fee = 3_000, observations = 1 } = options
  const world = await World.create(stage, side)
  const pool = await world.pool(usdc, fee, 2, observations)
  const tick = world.tick(2, usdc)
  if (width === undefined) await world.full(world.honest, pool, dollars)
  else await world.add(world.honest, pool, tick - width, tick + width, dollars)
  await stage.mine(60, 60)
  return { world, pool, tick }
}

export const halfHour = (stage: Stage) => stage.mine(31, 60)
export const through = (dollars = 8_000, marks: readonly string[] = []): Expected => ({
  asset: 1,
  debt: 1,
  holder: dollars,
  marks,
})

/** Of a pool of 20,000 dollars, all of which counts as thin: it pays 5,858 down to half the price. */
export const SMALL = through(5_858, ['thin'])

export async function observe(
  world: World,
  label: string,
  expected: Expected,
  options: { readonly faults?: EndpointFaults; readonly cost?: number; readonly blockTimeMs?: number } = {},
): Promise<Observation> {
  const asked = await ask(world, options.faults, options.blockTimeMs)
  return { label, asked, expected, ...(options.cost === undefined ? {} : { cost: options.cost }) }
}

export async function placeBeside(
  { world }: Pick<Honest, 'world'>,
  {
    usd,
    dollars,
    low,
    high,
    fee = 100,
    observations = 20,
  }: {
    readonly usd: number
    readonly dollars: number
    readonly low: number
    readonly high: number
    readonly fee?: number
    readonly observations?: number
  },
): Promise<{ readonly pool: StagedPool; readonly tick: number; readonly placed: Placed }> {
  const pool = await world.pool(usdc, fee, usd, observations)
  const tick = world.tick(usd, usdc)
  return { pool, tick, placed: await world.add(world.attacker, pool, tick + low, tick + high, dollars) }
}

const BESIDE = [
  [20_000, 1_300, SMALL, 5_858],
  [100_000, 2_700, through(), 8_000],
  [2_000_000, 51_500, through(), 8_000],
] as const

export const SCENES: readonly Scene[] = [
  {
    name: '0 nature: full range',
    async play(stage, side) {
      const sizes = [
        [20_000, SMALL],
        [40_000, through()],
        [100_000, through()],
        [2_000_000, through()],
      ] as const
      const seen: Observation[] = []
      for (const [dollars, expected] of sizes) {
        const { world } = await honest(stage, side, dollars)
        seen.push(await observe(world, `${dollars} dollars`, expected))
      }
      return seen
    },
  },
  {
    name: '1 an empty tier with 102,000 dollars far below its price',
    async play(stage, side) {
      const scene = await honest(stage, side, 100_000)
      await placeBeside(scene, { usd: 20, dollars: 102_000, low: -100_000, high: -99_000, fee: 500 })
      await halfHour(stage)
      return [await observe(scene.world, 'half an hour later', through())]
    },
  },
  {
    name: '2 the same nearer, and 50 dollars at the tick',
    async play(stage, side) {
      const scene = await honest(stage, side, 100_000)
      const { pool, tick } = await placeBeside(scene, { usd: 20, dollars: 102_000, low: -7_000, high: -600, fee: 500 })
      await scene.world.add(scene.world.attacker, pool, tick - 20, tick + 20, 50)
      await halfHour(stage)
      return [await observe(scene.world, 'half an hour later', through())]
    },
  },
  {
    name: '3 100 dollars in few ticks at ten times the price',
    async play(stage, side) {
      const seen: Observation[] = []
      for (const [dollars, , expected] of BESIDE) {
        for (const ticks of [1, 10]) {
          const scene = await honest(stage, side, dollars)
          await placeBeside(scene, { usd: 20, dollars: 100, low: -ticks, high: ticks + 1 })
          await halfHour(stage)
          seen.push(await observe(scene.world, `${ticks} ticks beside ${dollars}`, expected))
        }
      }
      return seen
    },
  },
  {
    name: '4, 5 both sides at ten times the price',
    async play(stage, side) {
      const seen: Observation[] = []
      for (const [dollars, stake, expected] of BESIDE) {
        for (const isArbitraged of [false, true]) {
          const scene = await honest(stage, side, dollars)
          const { world } = scene
          const before = await world.worth(world.attacker)
          const { pool, placed } = await placeBeside(scene, { usd: 20, dollars: stake, low: -300, high: 301 })
          await stage.mine(1, 12)
          if (isArbitraged) await world.arbitrage(pool)
          await halfHour(stage)
          const false10 = { asset: 10, debt: 10, holder: Math.min(stake, 80_000), marks: [] }
          const label = `${stake} beside ${dollars}${isArbitraged ? ', arbitraged' : ''}`
          const observation = await observe(world, label, isArbitraged ? expected : false10)
          await world.take(placed)
          seen.push({ ...observation, cost: before - (await world.worth(world.attacker)) })
        }
      }
      return seen
    },
  },
  {
    name: '6 bids alone at a hundredth, nothing for sale',
    async play(stage, side) {
      const seen: Observation[] = []
      for (const [dollars, stake, expected] of BESIDE) {
        const scene = await honest(stage, side, dollars)
        const { world } = scene
        const before = await world.worth(world.attacker)
        const { pool, tick, placed } = await placeBeside(scene, {
          usd: 0.02,
          dollars: stake,
          low: -300,
          high: 1,
          observations: 1,
        })
        const root = world.root(tick + 1 - 1e-6)
        await world.swapTo(world.attacker, pool, { root, isRise: true })
        await stage.mine(1, 12)
        await world.arbitrage(pool, 0.1)
        await halfHour(stage)
        const observation = await observe(world, `${stake} beside ${dollars}`, expected)
        await world.take(placed)
        seen.push({ ...observation, cost: before - (await world.worth(world.attacker)) })
      }
      return seen
    },
  },
  {
    name: '7 both sides at a hundredth',
    async play(stage, side) {
      const seen: Observation[] = []
      for (const [dollars, stake, expected] of BESIDE) {
        for (const isArbitraged of [false, true]) {
          const scene = await honest(stage, side, dollars)
          const { world } = scene
          const before = await world.worth(world.attacker)
          const { pool, placed } = await placeBeside(scene, { usd: 0.02, dollars: stake, low: -300, high: 301 })
          await stage.mine(1, 12)
          if (isArbitraged) await world.arbitrage(pool, 2)
          await halfHour(stage)
          const low = { asset: 0.01, debt: 0.01, holder: 80, marks: [] }
          const label = `${stake} beside ${dollars}${isArbitraged ? ', arbitraged' : ''}`
          const observation = await observe(world, label, isArbitraged ? expected : low)
          await world.take(placed)
          seen.push({ ...observation, cost: before - (await world.worth(world.attacker)) })
        }
      }
      return seen
    },
  },
  {
    name: '8 honest liquidity near the price alone',
    async play(stage, side) {
      const seen: Observation[] = []
      for (const [width, fee] of [
        [50, 500],
        [10, 100],
      ] as const) {
        const { world } = await honest(stage, side, 50_000, { width, fee })
        seen.push(await observe(world, `±${width} ticks`, through()))
      }
      return seen
    },
  },
  {
    name: '9 the same, out of range for a while',
    async play(stage, side) {
      const seen: Observation[] = []
      for (const outSec of [600, 12]) {
        const { world, pool } = await honest(stage, side, 50_000, { width: 50, fee: 500, observations: 200 })
        world.usd = 2.03
        await world.push(world.arbitrageur, pool, 2.03)
        await stage.mine(outSec / 12, 12)
        world.usd = 2
        await world.push(world.arbitrageur, pool, 2)
        await stage.mine(50, 12)
        seen.push(await observe(world, `for ${outSec} seconds`, through()))
      }
      return seen
    },
  },
  {
    name: '10, 26 a narrow honest pool pushed out for single blocks, own pool at a hundredth',
    async play(stage, side) {
      const seen: Observation[] = []
      for (const times of [1, 4, 6, 8]) {
        const scene = await honest(stage, side, 50_000, { width: 50, fee: 500, observations: 300 })
        const { world, pool } = scene
        const before = await world.worth(world.attacker)
        const { placed } = await placeBeside(scene, { usd: 0.02, dollars: 1_300, low: -300, high: 301 })
        await stage.mine(150 - times * 13, 12)
        for (let round = 0; round < times; round++) {
          await world.push(world.attacker, pool, SWAP_ALL)
          await stage.mine(1, 12)
          await world.push(world.attacker, pool, 2)
          await stage.mine(12, 12)
        }
        const lost = { asset: 0.01, debt: 1, holder: 80, marks: ['disputed'] }
        const observation = await observe(world, `${times} times`, times < 6 ? through() : lost)
        await world.take(placed)
        seen.push({ ...observation, cost: before - (await world.worth(world.attacker)) })
      }
      return seen
    },
  },
  {
    name: '11 a sale in the block that is read',
    async play(stage, side) {
      const seen: Observation[] = []
      for (const [dollars, to, options] of [
        [100_000, 1.88, { observations: 200 }],
        [50_000, 1.5, { width: 50, fee: 500, observations: 200 }],
      ] as const) {
        const { world, pool } = await honest(stage, side, dollars, options)
        const before = await world.worth(world.attacker)
        await world.push(world.attacker, pool, to)
        const observation = await observe(world, `down to ${to}`, through())
        await world.push(world.attacker, pool, 2)
        seen.push({ ...observation, cost: before - (await world.worth(world.attacker)) })
      }
      return seen
    },
  },
  {
    name: '12 one observation, overwritten by swaps',
    async play(stage, side) {
      const seen: Observation[] = []
      for (const everySec of [2, 12]) {
        const { world, pool } = await honest(stage, side, 100_000)
        for (let swap = 0; swap < 8; swap++) {
          await world.push(world.arbitrageur, pool, swap % 2 === 1 ? 2 : 2.01)
          await stage.mine(Math.floor(2_400 / everySec / 8), everySec)
        }
        await world.push(world.arbitrageur, pool, 2.01)
        await stage.mine(1, everySec)
        await world.push(world.arbitrageur, pool, 2)
        const blockTimeMs = everySec * 1_000
        seen.push(await observe(world, `blocks of ${everySec} s`, through(), { blockTimeMs }))
        const faults = { keepsBlocks: 128 }
        seen.push(await observe(world, `blocks of ${everySec} s, 128 states`, through(), { blockTimeMs, faults }))
      }
      return seen
    },
  },
  {
    name: '13 the same, no past state, four times the price in this block',
    async play(stage, side) {
      const { world, pool } = await honest(stage, side, 100_000)
      const before = await world.worth(world.attacker)
      await world.push(world.attacker, pool, 2.01)
      await stage.mine(1, 12)
      await world.push(world.attacker, pool, 8)
      const observation = await observe(world, 'by logs', through(), { faults: { keepsBlocks: 0 } })
      const noLogs = { keepsBlocks: 0, hasNoLogs: true }
      const young = { asset: 4, debt: 4, holder: 0, marks: ['young'] }
      const blind = await observe(world, 'without logs', young, { faults: noLogs })
      await world.push(world.attacker, pool, 2)
      return [{ ...observation, cost: before - (await world.worth(world.attacker)) }, blind]
    },
  },
  {
    name: '14 5,000 dollars at the known moments 0, 10, 20, 30 minutes ago, 1 dollar between',
    async play(stage, side) {
      const scene = await honest(stage, side, 100_000)
      const { world } = scene
      const { pool, tick } = await placeBeside(scene, { usd: 20, dollars: 1, low: -20, high: 20, observations: 1 })
      await stage.mine(50, 12)
      for (let round = 0; round < 3; round++) {
        const placed = await world.add(world.attacker, pool, tick - 300, tick + 301, 5_000)
        await stage.mine(1, 12)
        await world.take(placed)
        await stage.mine(49, 12)
      }
      await world.push(world.attacker, pool, 20.001)
      await world.add(world.attacker, pool, tick - 300, tick + 301, 5_000)
      return [await observe(world, 'now', through())]
    },
  },
  {
    name: '15 few dollars for half an hour, 6,000 in the block that is read',
    async play(stage, side) {
      const seen: Observation[] = []
      for (const dollars of [5, 25]) {
        const scene = await honest(stage, side, 100_000)
        const { world } = scene
        const { pool, tick } = await placeBeside(scene, { usd: 20, dollars, low: -1, high: 1 })
        await halfHour(stage)
        await world.add(world.attacker, pool, tick - 400, tick + 401, 6_000)
        seen.push(await observe(world, `${dollars} dollars`, through()))
      }
      return seen
    },
  },
  {
    name: '16 a crash of 60 % in a minute: right is 0.4',
    async play(stage, side) {
      const { world, pool } = await honest(stage, side, 100_000, { observations: 200 })
      for (let step = 1; step <= 5; step++) {
        await world.push(world.honest, pool, 2 * 0.4 ** (step / 5))
        await stage.mine(1, 12)
      }
      const moved = (asset: number): Expected => ({ asset: [asset - 0.02, asset + 0.02], debt: 1, marks: ['moved'] })
      const fallen: Expected = { asset: 0.4, debt: 0.4, holder: 3_200, marks: [] }
      const moments = [
        [0, '0', moved(0.896)],
        [60, '1 min', moved(0.746)],
        [120, '3 min', moved(0.517)],
        [120, '5 min', moved(0.4)],
        [600, '15 min', fallen],
        [960, '31 min', fallen],
      ] as const
      const seen: Observation[] = []
      for (const [seconds, label, expected] of moments) {
        await stage.mine(seconds / 12, 12)
        seen.push(await observe(world, label, expected))
      }
      return seen
    },
  },
  {
    name: '16b a narrow pool sold through for good: no bids stand any more',
    async play(stage, side) {
      const { world, pool } = await honest(stage, side, 50_000, { width: 50, fee: 500, observations: 200 })
      await world.push(world.honest, pool, 0.8)
      const gone: Expected = { asset: 'none', marks: ['gone'] }
      const seen = [await observe(world, '0', through())]
      await stage.mine(25, 12)
      // Chance decides whether the second look, too, is later than the sale.
      seen.push(await observe(world, '5 min', { asset: 1, debt: 1, holder: [0, 8_000] }))
      await stage.mine(55, 12)
      seen.push(await observe(world, '16 min', gone))
      await stage.mine(75, 12)
      seen.push(await observe(world, '31 min', gone))
      return seen
    },
  },
]
