import { mkdir, rename } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { Hex } from 'viem'
import { withProcessLock } from '../../support/process_lock.ts'
import { spawnSupervised } from '../supervised.ts'
import {
  ALL_UNITS,
  type AnyUnitName,
  cacheKey,
  STATA_UNITS,
  type StataUnitName,
  UNITS,
  type UnitName,
} from './sources.ts'

/** Creation code, and where the addresses of libraries belong in it. */
export interface Compiled {
  readonly bytecode: string
  readonly linkReferences: Readonly<
    Record<string, Readonly<Record<string, readonly { readonly start: number; readonly length: number }[]>>>
  >
}

export type Artifacts = Readonly<Record<UnitName, Compiled>>

/** Starting one more compiler costs half a second of reading the same sources: beyond these it saves nothing. */
const PROCESSES_MAX = 4
const CACHE = join(import.meta.dir, '../../../.cache/aave_v3')
const CHILD = join(import.meta.dir, 'compile_child.ts')

/** Aave V3.6 as compiled once in this checkout; `onProgress` hears of it when that has to be done now. */
export function loadArtifacts(onProgress: (message: string) => void = () => undefined): Promise<Artifacts> {
  return load(Object.keys(UNITS) as UnitName[], onProgress)
}

/** What wraps aTokens, compiled apart, so that a market does not wait for it. */
export function loadStataArtifacts(): Promise<Readonly<Record<StataUnitName, Compiled>>> {
  return load(Object.keys(STATA_UNITS) as StataUnitName[], () => undefined)
}

async function load<U extends AnyUnitName>(
  units: readonly U[],
  onProgress: (message: string) => void,
): Promise<Record<U, Compiled>> {
  const path = join(CACHE, `${cacheKey(units)}.json`)
  const kept = await readKept<U>(path)
  return (
    kept ?? withProcessLock('aave_v3', async () => (await readKept<U>(path)) ?? compileAll(units, path, onProgress))
  )
}

async function readKept<U extends AnyUnitName>(path: string): Promise<Record<U, Compiled> | undefined> {
  const file = Bun.file(path)
  return (await file.exists()) ? ((await file.json()) as Record<U, Compiled>) : undefined
}

async function compileAll<U extends AnyUnitName>(
  units: readonly U[],
  path: string,
  onProgress: (message: string) => void,
): Promise<Record<U, Compiled>> {
  const processes = Math.min(PROCESSES_MAX, availableParallelism())
  onProgress(`Compiling Aave V3.6, once in this checkout: about ${Math.ceil(totalMs(units) / processes / 1000)} s`)
  const artifacts = await compile(units, processes)
  await mkdir(CACHE, { recursive: true })
  // Renamed into place: who reads it while it is written must not get a part.
  const draft = `${path}.${process.pid}`
  await Bun.write(draft, JSON.stringify(artifacts))
  await rename(draft, path)
  return artifacts
}

/** Compiles units side by side in child processes, so that this one stays free for other work. */
export async function compile<U extends AnyUnitName>(units: readonly U[], processes = 1): Promise<Record<U, Compiled>> {
  const parts = await Promise.all(divide(units, processes).map(compileInChild))
  return Object.assign({}, ...parts) as Record<U, Compiled>
}

async function compileInChild(units: readonly AnyUnitName[]): Promise<Record<string, Compiled>> {
  const child = spawnSupervised([process.execPath, CHILD, ...units], { stderr: 'inherit' })
  const output = await new Response(child.stdout).text()
  const status = await child.exited
  if (status !== 0) throw new Error(`Cannot compile Aave V3: the compiler exited with status ${status}`)
  return JSON.parse(output) as Record<string, Compiled>
}

/** Shares of about equal cost: the most expensive unit first, each to the smallest share so far. */
function divide<U extends AnyUnitName>(units: readonly U[], count: number): U[][] {
  const shares = Array.from({ length: Math.min(count, units.length) }, () => ({ costMs: 0, units: [] as U[] }))
  for (const unit of units.toSorted((a, b) => ALL_UNITS[b].costMs - ALL_UNITS[a].costMs)) {
    const least = shares.reduce((a, b) => (b.costMs < a.costMs ? b : a))
    least.units.push(unit)
    least.costMs += ALL_UNITS[unit].costMs
  }
  return shares.map((share) => share.units)
}

function totalMs(units: readonly AnyUnitName[]): number {
  return units.reduce((sum, unit) => sum + ALL_UNITS[unit].costMs, 0)
}

/** Creation code with its libraries linked: `libraries` by name. */
export function link({ bytecode, linkReferences }: Compiled, libraries: Readonly<Record<string, Hex>> = {}): Hex {
  let code = bytecode.replace(/^0x/, '')
  for (const [name, places] of Object.values(linkReferences).flatMap(Object.entries)) {
    const address = libraries[name]
    if (address === undefined) throw new Error(`Cannot link the library ${name}: it is not deployed`)
    for (const { start, length } of places) {
      code = code.slice(0, start * 2) + address.slice(2).toLowerCase() + code.slice((start + length) * 2)
    }
  }
  return `0x${code}`
}
