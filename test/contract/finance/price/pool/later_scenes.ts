import { TOKENS } from '../../../../devnet/addresses.ts'
import { ask } from './asked.ts'
import {
  type Expected,
  halfHour,
  honest,
  type Observation,
  observe,
  placeBeside,
  type Scene,
  through,
} from './scenes.ts'
import { type Placed, World } from './stage.ts'

const { usdc, weth, dai } = TOKENS
const GONE = { asset: 'none', marks: ['gone'] } as const

/** The scenes of the second half of the table of attacks. */
export const SCENES: readonly Scene[] = [
  {
    name: '17 two pools 3 % apart',
    async play(stage, side) {
      const { world } = await honest(stage, side, 100_000)
      const pool = await world.pool(weth, 3_000, 2.06)
      await world.full(world.honest, pool, 99_000)
      await halfHour(stage)
      const first = await observe(world, 'the first is deeper', through())
      await world.full(world.honest, pool, 3_000)
      await halfHour(stage)
      const other = { asset: 1.03, debt: 1.03, holder: 8_240, marks: [] }
      return [first, await observe(world, 'the other one is deeper', other)]
    },
  },
  {
    name: '18 nine pools of 30,000',
    async play(stage, side) {
      const world = await World.create(stage, side)
      let count = 0
      for (const quote of [usdc, weth, dai]) {
        for (const fee of [500, 3_000, 10_000]) {
          await world.full(world.honest, await world.pool(quote, fee, 2 * (1 + (count++ % 3) * 0.002)), 30_000)
        }
      }
      await halfHour(stage)
      return [await observe(world, 'together', through())]
    },
  },
  {
    name: "19 a stranger's deeper pool at +30 %, arbitraged every 6 minutes",
    async play(stage, side) {
      const { world } = await honest(stage, side, 100_000)
      const pool = await world.pool(dai, 500, 2.6)
      const tick = world.tick(2.6, dai)
      const before = await world.worth(world.attacker)
      const placed = await world.add(world.attacker, pool, tick - 100, tick + 100, 3_000)
      for (let round = 0; round < 5; round++) {
        await stage.mine(6, 60)
        await world.arbitrage(pool)
      }
      const observation = await observe(world, 'half an hour later', through())
      await world.take(placed)
      return [{ ...observation, cost: before - (await world.worth(world.attacker)) }]
    },
  },
  {
    name: '20 a million dollars of bids in the honest pool, one block',
    async play(stage, side) {
      const { world, pool, tick } = await honest(stage, side, 100_000, { observations: 50 })
      await world.add(world.attacker, pool, tick - 6_900, tick + 600, 1_000_000)
      return [await observe(world, 'in that block', { ...through(), bound: 29_289 })]
    },
  },
  {
    name: '21 a token with a tax on transfers',
    async play(stage, side) {
      const world = await World.create(stage, side, 500)
      const pool = await world.pool(usdc, 3_000, 2)
      // The pool refuses a payment that arrives short.
      const minted = await world.full(world.honest, pool, 100_000).then(
        () => 'minted',
        () => 'refused',
      )
      await halfHour(stage)
      return [await observe(world, `a plain mint is ${minted}`, { asset: 'none', marks: ['gone'] })]
    },
  },
  {
    name: '22 an own token, 60,000 of own bids',
    async play(stage, side) {
      const world = await World.create(stage, side)
      const pool = await world.pool(usdc, 100, 2)
      const tick = world.tick(2, usdc)
      await world.add(world.attacker, pool, tick - 500, tick + 500, 60_000)
      await halfHour(stage)
      return [await observe(world, 'all of the token', { ...through(), bound: 60_000 })]
    },
  },
  {
    name: '23 swaps overwrite 1 or 8 observations of 2,000,000 dollars',
    async play(stage, side) {
      const seen: Observation[] = []
      for (const observations of [1, 8]) {
        const { world, pool } = await honest(stage, side, 2_000_000, { observations })
        const before = await world.worth(world.attacker)
        for (let swap = 0; swap < observations + 2 - (observations % 2); swap++) {
          await stage.mine(1, 12)
          await world.push(world.attacker, pool, swap % 2 === 1 ? 2 : 2.0004)
        }
        await stage.mine(1, 12)
        const cost = before - (await world.worth(world.attacker))
        seen.push(await observe(world, `${observations}`, through(), { cost }))
        seen.push(await observe(world, `${observations}, by logs`, through(), { faults: { keepsBlocks: 0 } }))
      }
      return seen
    },
  },
  {
    name: '24 all liquidity is withdrawn',
    async play(stage, side) {
      const world = await World.create(stage, side)
      const pool = await world.pool(usdc, 3_000, 2, 100)
      const placed = await world.full(world.honest, pool, 100_000)
      await stage.mine(40, 60)
      await world.take(placed)
      await stage.mine(1, 12)
      // Of a look twelve seconds and less before: one time in fifty it, too, finds nothing.
      const after = await observe(world, 'a block later', { asset: 1, debt: 1, holder: [0, 8_000] })
      await stage.mine(18, 60)
      const gone = await observe(world, '18 minutes later', GONE)
      await stage.mine(16, 60)
      return [after, gone, await observe(world, '34 minutes later', GONE)]
    },
  },
  {
    name: '25 risen out of all ranges: bids alone',
    async play(stage, side) {
      const { world, pool } = await honest(stage, side, 50_000, { width: 50, fee: 500, observations: 50 })
      await world.push(world.honest, pool, 2.5)
      await halfHour(stage)
      return [await observe(world, 'the best bid', { asset: 1.004, debt: 1.004, holder: 8_034, marks: ['one_sided'] })]
    },
  },
  {
    name: '27 both sides at ten times the price for less than half an hour',
    async play(stage, side) {
      const seen: Observation[] = []
      for (const minutes of [10, 16, 20]) {
        const scene = await honest(stage, side, 100_000)
        const { world } = scene
        const { pool, tick } = await placeBeside(scene, { usd: 20, dollars: 1, low: -20, high: 20, observations: 300 })
        await stage.mine(40, 60)
        await world.add(world.attacker, pool, tick - 300, tick + 301, 2_700)
        await stage.mine(minutes, 60)
        const early = { asset: 1, debt: minutes < 12 ? 1 : ([1, 10] as const), holder: 8_000 }
        const late = { asset: [1, 10] as const, debt: 10, holder: [2_700, 8_000] as const }
        seen.push(await observe(world, `${minutes} minutes`, minutes < 18 ? early : late))
      }
      return seen
    },
  },
  {
    name: '28, 29 the honest pool is held elsewhere',
    async play(stage, side) {
      const seen: Observation[] = []
      for (const [to, blocks, expected] of [
        [1, 1, { asset: [0.96, 0.99], debt: 1 }],
        [1, 5, { asset: [0.84, 0.9], debt: 1, marks: ['moved'] }],
        [4, 5, { asset: 1, debt: [1.12, 1.19], holder: 8_000, marks: ['moved'] }],
        [8, 151, { asset: 4, debt: 4, holder: 32_000, marks: [] }],
      ] as const) {
        const { world, pool } = await honest(stage, side, 100_000, { observations: 300 })
        const before = await world.worth(world.attacker)
        await world.push(world.attacker, pool, to)
        await (blocks > 100 ? halfHour(stage) : stage.mine(blocks, 12))
        const observation = await observe(world, `at ${to} for ${blocks} blocks`, expected)
        await world.push(world.attacker, pool, 2)
        seen.push({ ...observation, cost: before - (await world.worth(world.attacker)) })
      }
      return seen
    },
  },
  {
    name: '30 bids alone at a hundredth, asks in the block that is read',
    async play(stage, side) {
      const scene = await honest(stage, side, 100_000)
      const { world } = scene
      const { pool, tick } = await placeBeside(scene, { usd: 0.02, dollars: 2_700, low: -300, high: 1 })
      await halfHour(stage)
      await world.add(world.attacker, pool, tick + 1, tick + 300, 2_700)
      return [await observe(world, 'now', through())]
    },
  },
  {
    name: '31 600 dollars on both sides at a hundredth, arbitraged',
    async play(stage, side) {
      const scene = await honest(stage, side, 20_000)
      const { world } = scene
      const { pool } = await placeBeside(scene, { usd: 0.02, dollars: 600, low: -300, high: 301 })
      await stage.mine(1, 12)
      await world.arbitrage(pool, 2)
      await halfHour(stage)
      return [await observe(world, 'half an hour later', through(5_858, ['thin']))]
    },
  },
  {
    name: '33, 35 25 dollars standing, 6,000 in some blocks of ten, the block chosen afterwards',
    async play(stage, side) {
      const seen: Observation[] = []
      for (const on of [1, 4]) {
        const scene = await honest(stage, side, 100_000)
        const { world } = scene
        const { pool, tick } = await placeBeside(scene, { usd: 20, dollars: 25, low: -1, high: 1, observations: 300 })
        await stage.mine(40, 60)
        const stood: { readonly from: bigint; readonly to: bigint }[] = []
        for (let round = 0; round < 24; round++) {
          const placed: Placed = await world.add(world.attacker, pool, tick - 400, tick + 401, 6_000)
          const from = await stage.client.getBlockNumber()
          await stage.mine(on - 1, 12)
          stood.push({ from, to: from + BigInt(on - 1) })
          if (round >= 18) seen.push(await observeChosen(world, stood, `${on} of ten, round ${round}`))
          await world.take(placed)
          await stage.mine(9 - on, 12)
        }
      }
      return seen
    },
  },
  {
    name: '34 the same as 15, without past states',
    async play(stage, side) {
      const scene = await honest(stage, side, 100_000)
      const { world } = scene
      const { pool, tick } = await placeBeside(scene, { usd: 20, dollars: 25, low: -1, high: 1, observations: 300 })
      await stage.mine(40, 60)
      await world.add(world.attacker, pool, tick - 400, tick + 401, 6_000)
      const faults = { keepsBlocks: 0 }
      const first = await observe(world, 'by logs', through(), { faults })
      const grown = await honest(stage, side, 100_000, { observations: 300 })
      await grown.world.push(grown.world.arbitrageur, grown.pool, 2.01)
      await stage.mine(6, 60)
      await grown.world.full(grown.world.honest, grown.pool, 50_000)
      await stage.mine(1, 12)
      return [first, await observe(grown.world, 'an honest pool with half more since a block', through(), { faults })]
    },
  },
  {
    name: '36 ±1 % of liquidity, set anew every ten minutes while the price rises',
    async play(stage, side) {
      const { world, pool, tick } = await honest(stage, side, 1, { fee: 500, observations: 300 })
      let placed = await world.add(world.honest, pool, tick - 100, tick + 100, 50_000)
      for (let round = 0; round < 8; round++) {
        await stage.mine(10, 60)
        world.usd *= 1.008
        await world.push(world.arbitrageur, pool, world.usd)
        await world.take(placed)
        const at = world.tick(world.usd, usdc)
        placed = await world.add(world.honest, pool, at - 100, at + 100, 50_000)
      }
      await stage.mine(5, 12)
      const faults = { keepsBlocks: 0 }
      return [
        await observe(world, 'by states', { asset: [0.965, 1], debt: [0.98, 1.01], holder: [8_200, 8_530], marks: [] }),
        await observe(
          world,
          'by logs',
          { asset: [0.965, 1], debt: [0.98, 1.01], holder: [0, 10], marks: ['thin'] },
          { faults },
        ),
      ]
    },
  },
  {
    name: 'gift: a worthless token with a pool of its own counts no more than the pool pays',
    async play(stage, side) {
      const world = await World.create(stage, side)
      const pool = await world.pool(usdc, 3_000, 2)
      const tick = world.tick(2, usdc)
      // Dollars where nobody sells into them, as in the first finding.
      await world.add(world.attacker, pool, tick - 100_000, tick - 99_000, 102_000)
      await halfHour(stage)
      const empty = await observe(world, 'dollars far below the price', GONE)
      await world.add(world.attacker, pool, tick - 300, tick + 301, 50)
      await halfHour(stage)
      const thin = { asset: 1, debt: 1, holder: [0, 51] as const, marks: ['thin'] }
      return [empty, await observe(world, 'and 50 dollars at the price', thin)]
    },
  },
  {
    name: '32 a quote token without a feed, moved to ten times its price, has no voice',
    async play(stage, side) {
      // The token has to be on its side of the quote token, too: later tokens have higher addresses.
      const first = await honest(stage, side, 100_000)
      const second = await honest(stage, side, 100_000)
      const [scene, quoteScene] = side === 'token0' ? [first, second] : [second, first]
      const [{ world }, other] = [scene, quoteScene.world]
      const quote = { address: other.token, decimals: 18, usd: 2 }
      const trader = await stage.newTrader([world.token, other.token])
      await world.full(trader, await world.pool(quote, 500, 2), 500_000)
      await other.push(other.attacker, quoteScene.pool, 20)
      await halfHour(stage)
      const moved = { asset: 10, debt: 10, holder: 80_000, marks: [] }
      return [
        await observe(other, 'the quote token itself', moved),
        await observe(world, 'beside an honest pool, which is five times less deep', { ...through(), bound: 29_289 }),
      ]
    },
  },
]

/** Asks in a block in which the dollars stand, and expects from the earlier blocks that are looked at who is fooled. */
async function observeChosen(
  world: World,
  stood: readonly { readonly from: bigint; readonly to: bigint }[],
  label: string,
): Promise<Observation> {
  const looks = new Set<bigint>()
  const onRequest = (method: string, [, at]: readonly unknown[]) => {
    if (method === 'eth_call' && typeof at === 'string' && at.startsWith('0x')) looks.add(BigInt(at))
  }
  const asked = await ask(world, { onRequest })
  const hits = [...looks].filter((look) => stood.some(({ from, to }) => look >= from && look <= to)).length
  const isFooled = hits >= 2
  const fooled: Expected = { asset: 10, debt: 10, holder: 6_025, marks: [] }
  return { label: `${label}, ${hits} of ${looks.size} looks`, asked, expected: isFooled ? fooled : through() }
}
