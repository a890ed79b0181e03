import { SCENARIO_SEC } from '../../devnet/aave_v3/scenario.ts'
import { toWalletAddress } from '../../devnet/addresses.ts'
import { startDevnet } from '../../devnet/mod.ts'
import type { Service } from '../../devnet/service.ts'
import { environment, startMetered } from '../answers/service.ts'
import { type Child, startChild } from '../child.ts'
import { type Phase, runPhase } from '../phase.ts'
import { median, printNote, printTable } from '../table.ts'
import { type Version, versions } from './versions.ts'

const SIZES = [1, 300] as const
const MORPHO_SEC = 3 * 86_400
const CALLERS = 16
const ROUNDS = 8
const PHASE_MS = 350
/** A service runs for days: its code is compiled before it is measured. */
const WARM_UP_MS = 4_000

/** Whole answers, each read anew, of this version and of another one, in short phases that alternate. */
export async function compareAnswers(): Promise<void> {
  const children: Child[] = []
  const services = new Map<Version['name'], Service>()
  const devnet = await startDevnet({ ageSec: SCENARIO_SEC + MORPHO_SEC })
  try {
    const start = (file: string, env: Readonly<Record<string, string>> = {}) => {
      const child = startChild(file, env)
      children.push(child)
      return child
    }
    const paths: [name: string, path: string][] = []
    for (const size of SIZES) {
      const wallet = toWalletAddress(`bench of ${size}`)
      await devnet.mintMany(wallet, size)
      paths.push([`${size} positions`, `/v1/positions/uniswap-v3?wallet=${wallet}`])
    }
    const { wallets } = await devnet.aave()
    paths.push(['Aave, 1 wallet', `/v1/lending/aave-v3?wallet=${wallets.everywhere}`])

    const far = start('answers/far.ts', { BENCH_TARGET: devnet.rpcUrl })
    const { url } = await far.read<{ url: string }>()
    const generator = start('load.ts')
    for (const { name, root } of await versions()) {
      services.set(name, await startMetered(await environment({ url, row: { blockTimeMs: 0 } }), { root }))
    }

    const phase = ({ url, apiKey, pid }: Service, path: string, durationMs: number): Promise<Phase> =>
      runPhase(generator, pid, {
        port: Number(new URL(url).port),
        path,
        keys: [apiKey],
        connections: CALLERS,
        durationMs,
      })

    const rows: string[][] = []
    for (const [name, path] of paths) {
      const phases: Record<Version['name'], Phase[]> = { old: [], new: [] }
      for (const service of services.values()) await phase(service, path, WARM_UP_MS / SIZES.length)
      for (let round = 0; round < ROUNDS; round++) {
        const all = [...services]
        for (const [version, service] of round % 2 === 0 ? all : all.reverse()) {
          phases[version].push(await phase(service, path, PHASE_MS))
        }
      }
      const ratio = median(phases.new.map(({ cpuUs }, round) => cpuUs / (phases.old[round]?.cpuUs ?? 0)))
      const of = (version: Version['name'], figure: keyof Phase) => median(phases[version].map((each) => each[figure]))
      const figures = [of('old', 'perSecond'), of('new', 'perSecond'), of('old', 'cpuUs'), of('new', 'cpuUs')]
      rows.push([name, ...figures.map((figure) => figure.toFixed(0)), ratio.toFixed(2)])
    }
    printTable(['cold answer', 'old/s', 'new/s', 'CPU µs old', 'new', 'new ÷ old'], rows)
    printNote(`medians of ${ROUNDS} phases of each in turn; ${CALLERS} callers; the endpoint answers at once`)
  } finally {
    await Promise.all([...services.values()].map((service) => service.stop()))
    await Promise.all(children.map((child) => child.stop()))
    await devnet.stop()
  }
}
