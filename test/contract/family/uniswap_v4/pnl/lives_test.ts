import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { zeroAddress } from 'viem'
import { type Devnet, startDevnet } from '../../../../devnet/mod.ts'
import type { UniswapV4 } from '../../../../devnet/uniswap_v4/mod.ts'
import {
  buildV4RandomPositions,
  type V4RandomPosition,
  type V4RandomPositions,
} from '../../../../devnet/uniswap_v4/random_positions.ts'
import { callRoute } from '../../../../support/call_route.ts'
import { caseCount } from '../../../../support/cases.ts'
import { secondOpinion } from '../../../../support/finance/math/pnl/second_opinion.ts'
import { askAbout, createLifeProcesses } from './scene.ts'
import { type ActTruth, flowsOfTruths, pricesAt, readHolding, truthsOfActs, UNFED } from './truth.ts'

const LIMIT_MS = 240_000
const AGE_SEC = 120 * 86_400
const ROUNDS = caseCount(52, 10)

let devnet: Devnet
let v4: UniswapV4
let lives: V4RandomPositions
let truths: readonly ActTruth[]
let processes: ReturnType<typeof createLifeProcesses>

beforeAll(async () => {
  devnet = await startDevnet({ ageSec: AGE_SEC })
  processes = createLifeProcesses(devnet)
  v4 = await devnet.uniswapV4()
  lives = await buildV4RandomPositions(v4, { seed: 21, rounds: ROUNDS })
  truths = await truthsOfActs(devnet, lives)
}, LIMIT_MS)
afterAll(async () => {
  await processes.close()
  await devnet.stop()
})

const isTold = ({ pool }: V4RandomPosition) => (Number.parseInt(pool.key.hooks.slice(-4), 16) & 0b11) === 0
const isEmpty = (life: V4RandomPosition) => ofLife(life).reduce((sum, { delta }) => sum + delta, 0n) === 0n
/** A burn of an empty position changes no liquidity. */
const ofLife = ({ tokenId }: V4RandomPosition) =>
  truths.filter((truth) => truth.tokenId === tokenId && (truth.kind !== 'burn' || truth.delta !== 0n))

describe('histories of V4 positions', () => {
  test('are of every kind', () => {
    expect(truths.length).toBeGreaterThan(ROUNDS * 5.77)
    for (const kind of ['mint', 'increase', 'decrease', 'collect', 'burn'] as const) {
      expect([kind, truths.filter((truth) => truth.kind === kind).length > ROUNDS * 0.385]).toEqual([kind, true])
    }
    expect(lives.positions.some(({ pool }) => pool.key.currency0 === zeroAddress)).toBe(true)
    expect(truths.filter(({ fees }) => fees[0] + fees[1] > 0n).length).toBeGreaterThan(ROUNDS * 0.962)
  })

  test(
    'have flows equal to the changes of the owner’s balances, to the wei',
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
      expect(compared).toBeGreaterThan(ROUNDS * 4.81)
    },
    LIMIT_MS,
  )

  test(
    'have the profit and loss that another implementation computes, in all figures',
    async () => {
      const { pnl } = await processes.start()
      const block = lives.blockNumber
      const { timestamp } = await devnet.client.getBlock({ blockNumber: block })
      for (const life of lives.positions.filter(isTold)) {
        const { liquidity, sqrtPriceX96, principal, fees } = await readHolding(devnet, life, block)
        const acts = ofLife(life)
        const last = acts.at(-1)
        if (last === undefined) throw new Error('Cannot find its acts')
        const isOver = liquidity === 0n
        const valuation = {
          timeSec: isOver ? last.timeSec : timestamp,
          prices: pricesAt(life, isOver ? last.sqrtPriceX96 : sqrtPriceX96, UNFED),
          principal,
          fees,
        }
        const expected = secondOpinion(flowsOfTruths(acts, life, UNFED), valuation)
        const { reply, credits } = await askAbout(pnl, life.tokenId)
        expect(credits).toBe(8)
        expect(reply.asOf).toMatchObject([{ chainId: 1, blockNumber: block }])
        expect(reply.data).toEqual({
          token_id: String(life.tokenId),
          chain_id: 1,
          ...expected,
          is_closed: isOver,
          pnl_with_rewards: expected.pnl_usd_value,
          pnl_with_rewards_missing: null,
        })
      }
    },
    LIMIT_MS,
  )

  test(
    'are listed newest first, a payment before the withdrawal that it pays, also after a burn',
    async () => {
      const { events } = await processes.start()
      for (const [index, life] of lives.positions.filter(isTold).entries()) {
        if (index % 5 !== 0) continue
        const listed: EventShown[] = []
        for (let page = 1; ; page++) {
          const { reply, credits } = await askAbout(events, life.tokenId, `limit=25&page=${page}`)
          expect(credits).toBe(1)
          listed.push(...(reply.data as unknown as EventShown[]))
          if (reply.pagination?.next_page === null) break
        }
        const flows = flowsOfTruths(ofLife(life), life, UNFED)
        expect(listed.map(({ type, amounts }) => [type, amounts.token0.raw, amounts.token1.raw])).toEqual(
          flows.toReversed().map(({ kind, amounts }) => [kind, ...amounts.map(String)] as [string, string, string]),
        )
        for (const { type, amounts, principal, fees, prices } of listed) {
          if (type !== 'collect') continue
          const sum = (token: 'token0' | 'token1') =>
            BigInt(principal?.[token].raw ?? -1) + BigInt(fees?.[token].raw ?? -1)
          expect([sum('token0'), sum('token1')]).toEqual([BigInt(amounts.token0.raw), BigInt(amounts.token1.raw)])
          const isNative = life.pool.key.currency0 === zeroAddress
          if (isNative && prices !== null) expect(prices.token0).toEqual({ usd: '3000', source: 'wrapper' })
        }
      }
    },
    LIMIT_MS,
  )

  test('are answered at a past block and absent before their mint, and burned ones need their chain', async () => {
    const { pnl, events } = await processes.start()
    const burned = lives.positions.find((life) => life.isBurned && isTold(life))
    const closed = lives.positions.find((life) => !life.isBurned && isTold(life) && isEmpty(life))
    const open = lives.positions.find((life) => !life.isBurned && isTold(life) && !isEmpty(life))
    const taken = lives.positions.find((life) => !life.isBurned && !isTold(life))
    if (burned === undefined || closed === undefined || open === undefined || taken === undefined) {
      throw new Error('Cannot test without such positions')
    }
    const alone = (id: bigint) => callRoute(pnl, { params: { id: String(id) }, query: '' })
    await expect(alone(burned.tokenId)).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('a burned one needs "chain_id"'),
    })
    expect((await askAbout(pnl, closed.tokenId, 'status=inactive')).credits).toBe(4)
    await expect(askAbout(pnl, open.tokenId, 'status=inactive')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(askAbout(pnl, 999_999n)).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('never existed'),
    })
    for (const route of [pnl, events]) {
      await expect(askAbout(route, taken.tokenId)).rejects.toMatchObject({
        code: 'NOT_FOUND',
        message: expect.stringContaining('hook of its pool'),
      })
    }
    const [first] = ofLife(burned)
    const at = Number(first?.blockNumber)
    const then = await askAbout(events, burned.tokenId, `at_block=${at}`)
    expect(then.reply.asOf).toMatchObject([{ chainId: 1, blockNumber: BigInt(at) }])
    expect((then.reply.data as unknown as EventShown[]).map(({ type }) => type)).toEqual(['increase'])
    await expect(askAbout(events, burned.tokenId, `at_block=${at - 1}`)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  }, 60_000)
})

/** An event in an answer. */
interface EventShown {
  readonly type: string
  readonly amounts: AmountsShown
  readonly principal?: AmountsShown
  readonly fees?: AmountsShown
  readonly prices: { readonly token0: object; readonly token1: object } | null
}

interface AmountsShown {
  readonly token0: { readonly raw: string }
  readonly token1: { readonly raw: string }
}
