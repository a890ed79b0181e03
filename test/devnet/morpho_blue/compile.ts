import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Hex } from 'viem'
import { withProcessLock } from '../../support/process_lock.ts'
import { spawnSupervised } from '../supervised.ts'

/** Contracts that are compiled: Morpho's own, and ours that stand around it. */
export type MorphoContract = 'Morpho' | 'AdaptiveCurve' | 'LinearIrm' | 'Oracle'

const require = createRequire(import.meta.url)
/** Holds the one compiler that `Morpho.sol` allows. */
const COMPILER = 'solc0819'
const CACHE = join(import.meta.dir, '../../../.cache/morpho_blue')

interface SolcOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[]
  readonly contracts: Record<
    string,
    Record<string, { readonly evm: { readonly bytecode: { readonly object: string } } }>
  >
}

/**
 * Creation code by name. Compiling takes six seconds, once: the outcome is kept under `.cache` by the hash of compiler
 * and sources, and it is done by a process of its own, because the compiler meddles with the process it runs in.
 */
export async function morphoContracts(): Promise<Readonly<Record<MorphoContract, Hex>>> {
  const { path } = compilation()
  if (!existsSync(path)) await withProcessLock('morpho_blue', () => compileInChild(path))
  return (await Bun.file(path).json()) as Record<MorphoContract, Hex>
}

async function compileInChild(path: string): Promise<void> {
  if (existsSync(path)) return
  const status = await spawnSupervised([process.execPath, import.meta.path], { stderr: 'inherit' }).exited
  if (status !== 0) throw new Error(`Cannot compile Morpho: the compiler exited with status ${status}`)
}

function compilation(): { readonly path: string; readonly input: string } {
  const input = JSON.stringify({
    language: 'Solidity',
    sources: sources(),
    settings: {
      optimizer: { enabled: true, runs: 200 },
      metadata: { bytecodeHash: 'none', appendCBOR: false },
      outputSelection: { '*': { '*': ['evm.bytecode.object'] } },
    },
  })
  const { version } = require(`${COMPILER}/package.json`) as { readonly version: string }
  const hash = createHash('sha256').update(version).update(input).digest('hex').slice(0, 32)
  return { path: join(CACHE, `${hash}.json`), input }
}

/** Every file of the package, so that imports resolve without asking the disk, and our own. */
function sources(): Record<string, { readonly content: string }> {
  const name = '@morpho-org/morpho-blue'
  const root = dirname(require.resolve(`${name}/package.json`))
  const files = ['src', 'src/interfaces', 'src/libraries'].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((file) => file.endsWith('.sol'))
      .map((file) => [`${name}/${folder}/${file}`, join(root, folder, file)] as const),
  )
  const own = ['irm.sol', 'oracle.sol'].map((file) => [file, join(import.meta.dir, 'contract', file)] as const)
  return Object.fromEntries([...files, ...own].map(([key, path]) => [key, { content: readFileSync(path, 'utf8') }]))
}

if (import.meta.main) {
  const { path, input } = compilation()
  const solc = require(COMPILER) as { compile(input: string): string }
  const output = JSON.parse(solc.compile(input)) as SolcOutput
  const failures = output.errors?.filter(({ severity }) => severity === 'error') ?? []
  if (failures.length > 0) throw new Error(failures.map(({ formattedMessage }) => formattedMessage).join('\n'))
  const wanted: readonly string[] = ['Morpho', 'AdaptiveCurve', 'LinearIrm', 'Oracle']
  const codes = Object.values(output.contracts)
    .flatMap(Object.entries)
    .filter(([name]) => wanted.includes(name))
    .map(([name, { evm }]) => [name, `0x${evm.bytecode.object}`])
  mkdirSync(CACHE, { recursive: true })
  // Two processes may compile at the same time: the last rename writes the same content.
  const temporary = `${path}.${process.pid}`
  writeFileSync(temporary, JSON.stringify(Object.fromEntries(codes)))
  renameSync(temporary, path)
  // The compiler leaves listeners behind that would keep this process.
  process.exit(0)
}
