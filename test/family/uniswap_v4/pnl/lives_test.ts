import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { zeroAddress } from 'viem'
import { presentPnl } from '../../../../src/finance/liquidity/present.ts'
import { profitOf } from '../../../../src/finance/liquidity/profit.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import { buildV4Lives, type V4Life, type V4Lives } from '../../../devnet/uniswap_v4/life.ts'
import type { UniswapV4 } from '../../../devnet/uniswap_v4/mod.ts'
import { secondOpinion } from '../../../finance/math/pnl/second_opinion.ts'
import { createLifeProcesses } from './scene.ts'
import { type ActTruth, flowsOfTruths, holdingOf, pricesAt, truthsOfActs, UNFED } from './truth.ts'

const LIMIT_MS = 240_000
const AGE_SEC = 120 * 86_400
const NOBODY = { because: 'nobody is asked' }

let devnet: Devnet
let v4: UniswapV4
let lives: V4Lives
let truths: readonly ActTruth[]
let processes: ReturnType<typeof createLifeProcesses>

beforeAll(async () => {
  devnet = await startDevnet({ ageSec: AGE_SEC })
  processes = createLifeProcesses(devnet)
  v4 = await devnet.uniswapV4()
  lives = await buildV4Lives(v4, { seed: 21, rounds: 52 })
  truths = await truthsOfActs(devnet, lives)
}, LIMIT_MS)
afterAll(async () => {
  await processes.close()
  await devnet.stop()
})

const isTold = ({ pool }: V4Life) => (Number.parseInt(pool.key.hooks.slice(-4), 16) & 0b11) === 0
/** Whoever burns a position that is empty changes no liquidity. */
const ofLife = ({ tokenId }: V4Life) =>
  truths.filter((truth) => truth.tokenId === tokenId && (truth.kind !== 'burn' || truth.delta !== 0n))

describe('lives of V4 positions', () => {
  test('are of every kind', () => {
    expect(truths.length).toBeGreaterThan(300)
    for (const kind of ['mint', 'increase', 'decrease', 'collect', 'burn'] as const) {
      expect([kind, truths.filter((truth) => truth.kind === kind).length > 20]).toEqual([kind, true])
    }
    expect(lives.positions.some(({ pool }) => pool.key.currency0 === zeroAddress)).toBe(true)
    expect(truths.filter(({ fees }) => fees[0] + fees[1] > 0n).length).toBeGreaterThan(50)
  })

  test(
    'have flows that pay what the owner’s balances changed by, to the wei',
    async () => {
      const { read } = await processes.start()
      let compared = 0
      for (const life of lives.positions.filter(isTold)) {
        const told = await read(life, lives.blockNumber)
        const flows = told?.flows.map(({ row }) => row) ?? []
        const acts = ofLife(life)
        expect(new Set(flows.map(({ block }) => block))).toEqual(
          new Set(acts.map(({ blockNumber }) => Number(blockNumber))),
        )
        for (const { blockNumber, paid, kind } of acts) {
          const here = flows.filter(({ block }) => block === Number(blockNumber))
          const sum = (key: 'amount0' | 'amount1') =>
            here.reduce(
              (all, row) => all + (row.kind === 'collect' ? row[key] : row.kind === 'increase' ? -row[key] : 0n),
              0n,
            )
          expect([life.tokenId, kind, sum('amount0'), sum('amount1')]).toEqual([life.tokenId, kind, ...paid])
          compared++
        }
      }
      expect(compared).toBeGreaterThan(250)
    },
    LIMIT_MS,
  )

  test(
    'have the profit and loss of another implementation in all figures',
    async () => {
      const { read } = await processes.start()
      const block = lives.blockNumber
      const { timestamp } = await devnet.client.getBlock({ blockNumber: block })
      for (const life of lives.positions.filter(isTold)) {
        const told = await read(life, lives.blockNumber)
        if (told === undefined) throw new Error(`Cannot read the life of ${life.tokenId}`)
        const { liquidity, sqrtPriceX96, principal, fees } = await holdingOf(devnet, life, block)
        const acts = ofLife(life)
        const last = acts.at(-1)
        if (last === undefined) throw new Error('Cannot find its acts')
        const own = life.pool.currencies.map(({ address, usd }) =>
          UNFED.includes(address) ? NOBODY : ({ units: BigInt(usd), scale: 0, source: 'feed' } as const),
        )
        const [own0 = NOBODY, own1 = NOBODY] = own
        const state = {
          liquidity,
          sqrtPriceX96,
          principal,
          owed: fees,
          timestampSec: timestamp,
          own: [own0, own1] as const,
        }
        const profit = await profitOf(told, life.isBurned ? undefined : state)
        if (!('figures' in profit)) throw new Error(JSON.stringify(profit))
        const isOver = liquidity === 0n
        const valuation = {
          timeSec: isOver ? last.timeSec : timestamp,
          prices: pricesAt(life, isOver ? last.sqrtPriceX96 : sqrtPriceX96, UNFED),
          principal,
          fees,
        }
        const expected = secondOpinion(flowsOfTruths(acts, life, UNFED), valuation)
        const shown = presentPnl(profit, { tokenId: life.tokenId, chainId: 1 })
        expect(shown).toEqual({ token_id: String(life.tokenId), chain_id: 1, ...expected, is_closed: isOver })
      }
    },
    LIMIT_MS,
  )
})
