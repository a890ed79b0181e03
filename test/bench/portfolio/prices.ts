import { encodeLook, encodeSearch, type PoolRow } from '../../../src/finance/price/pool/abi.ts'
import { INTERVALS, WINDOW_SEC } from '../../../src/finance/price/pool/depth.ts'
import { LENS_RUNTIME } from '../../../src/finance/price/pool/lens_artifact.ts'
import { getPriceSources } from '../../../src/finance/price/price_sources.ts'
import { estimateGas, QUOTES } from '../../contract/finance/price/pool/world.ts'
import { TOKENS, UNISWAP_V3 } from '../../devnet/addresses.ts'
import { cpuUs } from '../cpu.ts'
import { printNote, printTable } from '../table.ts'
import { AWAY_MS, type Bench, balancePath, burst, createTarget, kb, over, type Rows, tell } from './portfolio.ts'
import { createChainRow } from './scene.ts'

const TOKENS_HELD = 200

/** What prices by pools add to the portfolio of a wallet with 200 tokens: the same wallet with feeds, and without. */
export async function benchPrices({ quick }: { readonly quick: boolean }): Promise<void> {
  const rows = await over({ days: 1, quick, manyCount: TOKENS_HELD }, async (bench) => [
    ...(await compare(bench)),
    ...(await gas(bench)),
  ])
  printTable(['prices by pools', 'measured', 'ratio'], rows)
  printNote(
    `a wallet with ${TOKENS_HELD} tokens, each with one pool of 12 candidates; every answer read anew; endpoint ${AWAY_MS} ms away, its answers remembered; CPU at no distance`,
  )
}

async function compare(bench: Bench): Promise<Rows> {
  const { scene, quick, serve } = bench
  const durationMs = quick ? 1_000 : 4_000
  const measure = async (feeds: Parameters<typeof createChainRow>[0]) => {
    const service = await serve(createChainRow(feeds))
    const target = createTarget(service, balancePath(scene.wallets.many))
    await tell(bench, 0)
    await burst(bench, target, { connections: 1, durationMs })
    const before = cpuUs([service.pid]) ?? Number.NaN
    const warm = await burst(bench, target, { connections: 1, durationMs })
    const cpuMs = ((cpuUs([service.pid]) ?? Number.NaN) - before) / warm.answers / 1_000
    await tell(bench, AWAY_MS)
    const { answers, p50Ms } = await burst(bench, target, { connections: 1, durationMs })
    const { requests, sentBytes, answeredBytes } = await tell(bench, 0)
    // The answer to the last request comes after the time is up.
    const each = (sum: number) => sum / (answers + 1)
    return {
      cpuMs,
      p50Ms,
      requests: each(requests),
      sentBytes: each(sentBytes),
      answeredBytes: each(answeredBytes),
    }
  }
  const [without, pools] = [await measure(scene.manyTokens.map(({ token }) => token)), await measure([])]
  const compared = (name: string, of: (figures: typeof pools) => number, show: (value: number) => string) =>
    [
      name,
      `${show(of(without))} with feeds, ${show(of(pools))} by pools`,
      `× ${(of(pools) / of(without)).toFixed(1)}`,
    ] as const
  return [
    compared(
      'requests',
      ({ requests }) => requests,
      (value) => value.toFixed(0),
    ),
    compared('kB asked', ({ sentBytes }) => sentBytes, kb),
    compared('kB answered', ({ answeredBytes }) => answeredBytes, kb),
    compared(
      'p50 alone, ms',
      ({ p50Ms }) => p50Ms,
      (value) => value.toFixed(1),
    ),
    compared(
      'CPU of an answer, ms',
      ({ cpuMs }) => cpuMs,
      (value) => value.toFixed(2),
    ),
  ]
}

async function gas({ scene }: Bench): Promise<Rows> {
  const { devnet, chain, manyTokens } = scene
  const quotes = QUOTES.map(({ address }) => address)
  const search = { factory: UNISWAP_V3.factory, quotes, prices: getPriceSources(chain) }
  const pools = manyTokens.map(({ token, pool }): PoolRow => {
    return { pool: pool.address, quote: TOKENS.usdc.address, tier: 2, isToken1: pool.token1 === token }
  })
  const tokens = manyTokens.map(({ token }) => token)
  const look = (points: number) =>
    estimateGas(devnet, LENS_RUNTIME, encodeLook(pools, { points, windowSec: WINDOW_SEC }))
  const format = (value: number) => (value / manyTokens.length).toFixed(0)
  return [
    [
      'gas a token: search for pools',
      format(await estimateGas(devnet, LENS_RUNTIME, encodeSearch(search, tokens))),
      '',
    ],
    ['gas a token: its pool now, 13 moments', format(await look(INTERVALS + 1)), ''],
    ['gas a token: its pool at an earlier block', format(await look(1)), ''],
  ]
}
