import { toHex } from 'viem'
import { toWalletAddress } from '../devnet/addresses.ts'
import { startDevnet } from '../devnet/mod.ts'
import type { Service } from '../devnet/service.ts'
import { startFaultyRpc } from '../support/rpc.ts'
import type { FarCounts } from './answers/far.ts'
import { environment, startMetered } from './answers/service.ts'
import { type Child, offer, startChild } from './child.ts'
import { cpuUs } from './cpu.ts'
import type { LoadResult } from './load.ts'
import { median, printNote, printTable } from './table.ts'

const LATENCY_MS = 50
const SIZES = [10, 25] as const
const CALLERS = [1, 16, 100] as const
/** Blocks after the mints, so that they are final. */
const FINAL_BLOCKS = 100
const PENDING_TRIES = 100
/** Most requests in a row and in all, and CPU milliseconds of an answer of 25 rows; answers a second of one process. */
const TARGETS = { seen: [3, 12], fresh: [4, 30], cpuMs: 8, perSecond: 120 } as const

/**
 * Measures a wallet's list with `full=true`, of which all history is stored: README's first question. Requests are those
 * of one answer, in a block that the service has seen and in a new one; `--latency=` says how far away the endpoint is.
 */
export async function benchFull({ quick }: { readonly quick: boolean }): Promise<void> {
  const latencyMs = Number(process.argv.find((word) => word.startsWith('--latency='))?.slice(10) ?? LATENCY_MS)
  const rounds = quick ? 2 : 9
  const devnet = await startDevnet()
  const rpc = await startFaultyRpc(devnet.rpcUrl)
  const children: Child[] = []
  const services: Service[] = []
  const start = (file: string, env: Readonly<Record<string, string>> = {}) => {
    const child = startChild(file, env)
    children.push(child)
    return child
  }
  try {
    const wallets: [number, string][] = []
    for (const size of SIZES) {
      const wallet = toWalletAddress(`full list of ${size}`)
      await devnet.mintMany(wallet, size)
      wallets.push([size, wallet])
    }
    await devnet.rpc.call('anvil_mine', toHex(FINAL_BLOCKS))
    const serve = async (url: string) => {
      const service = await startMetered(await environment({ url, row: { blockTimeMs: 0 } }))
      services.push(service)
      return service
    }
    const near = await serve(rpc.url)
    const path = (wallet: string) => `/v1/positions/uniswap-v3?wallet=${wallet}&full=true&limit=25`
    const ask = async ({ url, apiKey }: Service, wallet: string) => {
      const response = await fetch(url + path(wallet), { headers: { authorization: `Bearer ${apiKey}` } })
      const text = await response.text()
      if (response.status !== 200) throw new Error(`Cannot measure a full list: ${response.status} ${text}`)
      return text
    }
    const complete = async (service: Service, wallet: string) => {
      for (let tries = 0; (await ask(service, wallet)).includes('"pending"'); tries++) {
        if (tries > PENDING_TRIES) throw new Error('Cannot measure a full list: its history stays incomplete')
      }
    }
    for (const [, wallet] of wallets) await complete(near, wallet)
    rpc.rule(() => ({ kind: 'delay', ms: latencyMs }))
    const look = async (wallet: string) => {
      rpc.reset()
      const [beginMs, cpuBefore] = [performance.now(), cpuUs([near.pid]) ?? Number.NaN]
      await ask(near, wallet)
      const tookMs = performance.now() - beginMs
      return {
        tookMs,
        cpuMs: ((cpuUs([near.pid]) ?? Number.NaN) - cpuBefore) / 1_000,
        depth: rpc.depth(),
        count: rpc.seen.length,
      }
    }
    const rows: string[][] = []
    for (const [size, wallet] of wallets) {
      const looks = { seen: [] as Awaited<ReturnType<typeof look>>[], fresh: [] as Awaited<ReturnType<typeof look>>[] }
      for (let round = 0; round < rounds; round++) {
        await devnet.rpc.call('anvil_mine', toHex(1))
        looks.fresh.push(await look(wallet))
        looks.seen.push(await look(wallet))
      }
      for (const kind of ['seen', 'fresh'] as const) {
        const of = (key: 'tookMs' | 'cpuMs' | 'depth' | 'count') => median(looks[kind].map((each) => each[key]))
        const [depth, count] = TARGETS[kind]
        rows.push([
          ...[String(size), kind === 'seen' ? 'seen' : 'new', of('depth').toFixed(0), String(depth)],
          ...[of('count').toFixed(0), String(count), of('tookMs').toFixed(0), of('cpuMs').toFixed(1)],
        ])
      }
    }
    printNote(`## A list with \`full=true\`, everything stored, endpoint ${latencyMs} ms away`)
    printTable(['rows', 'block', 'in a row', 'bar', 'requests', 'bar', 'ms', 'CPU ms'], rows)

    const far = start('answers/far.ts', { BENCH_TARGET: devnet.rpcUrl })
    const service = await serve((await far.read<{ url: string }>()).url)
    for (const [, wallet] of wallets) await complete(service, wallet)
    const generator = start('load.ts')
    const loads: string[][] = []
    for (const [size, wallet] of wallets) {
      for (const connections of CALLERS) {
        far.write({ delayMs: latencyMs })
        await far.read<FarCounts>()
        const before = cpuUs([service.pid]) ?? Number.NaN
        const job = { path: path(wallet), port: Number(new URL(service.url).port), keys: [service.apiKey], connections }
        const result: LoadResult = await offer(generator, { ...job, durationMs: quick ? 1_000 : 5_000 })
        const all = Object.values(result.statuses).reduce((sum, count) => sum + count, 0)
        if (result.statuses['200'] !== all)
          throw new Error(`Cannot measure a full list: ${JSON.stringify(result.statuses)}`)
        far.write({ delayMs: 0 })
        const { requests } = await far.read<FarCounts>()
        const cpuMs = ((cpuUs([service.pid]) ?? Number.NaN) - before) / all / 1_000
        loads.push([
          ...[String(size), String(connections), ((result.answers / result.elapsedMs) * 1_000).toFixed(0)],
          ...[result.p50Ms.toFixed(0), result.p99Ms.toFixed(0), cpuMs.toFixed(1), (requests / all).toFixed(1)],
        ])
      }
    }
    printTable(['rows', 'callers', 'answers/s', 'p50 ms', 'p99 ms', 'CPU ms', 'requests'], loads)
    printNote(`Bars of 25 rows: ${TARGETS.cpuMs} ms of CPU, ${TARGETS.perSecond} answers a second by one process.`)
  } finally {
    await Promise.all(services.map((service) => service.stop()))
    await Promise.all(children.map((child) => child.stop()))
    await rpc.stop()
    await devnet.stop()
  }
}
