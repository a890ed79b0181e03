import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Hex } from 'viem'
import { withProcessLock } from '../../support/process_lock.ts'
import { spawnSupervised } from '../supervised.ts'

const require = createRequire(import.meta.url)
const COMPILER = 'solc'
const CACHE = join(import.meta.dir, '../../../.cache/vaults')
/** Where the files of packages are, by how their names begin: OpenZeppelin's inside a package of Uniswap. */
const PACKAGES = [
  ['@openzeppelin/contracts/', '@uniswap/v4-periphery', 'lib/v4-core/lib/openzeppelin-contracts/contracts'],
  ['@morpho-org/morpho-blue/', '@morpho-org/morpho-blue', ''],
] as const

/** Contracts that are compiled by file: OpenZeppelin's vault and token, and vaults of ours on top of it. */
const WANTED = {
  '@openzeppelin/contracts/mocks/token/ERC4626Mock.sol': ['ERC4626Mock'],
  '@openzeppelin/contracts/mocks/token/ERC20Mock.sol': ['ERC20Mock'],
  'silo_vault.sol': ['SiloVault'],
  'morpho_vaults.sol': ['MorphoRegistry', 'QueueVault', 'AdapterVault'],
} as const
type VaultContract = (typeof WANTED)[keyof typeof WANTED][number]

interface SolcOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[]
  readonly contracts: Record<
    string,
    Record<string, { readonly evm: { readonly bytecode: { readonly object: string } } }>
  >
}

/**
 * Creation code by name, compiled once on this machine from the sources inside v4-periphery, by a process of its own,
 * because the compiler meddles with the process it runs in.
 */
export async function vaultContracts(): Promise<Readonly<Record<VaultContract, Hex>>> {
  const { path } = createCompilation()
  if (!existsSync(path)) await withProcessLock('vaults', () => compileInChild(path))
  return (await Bun.file(path).json()) as Record<VaultContract, Hex>
}

async function compileInChild(path: string): Promise<void> {
  if (existsSync(path)) return
  const status = await spawnSupervised([process.execPath, import.meta.path], { stderr: 'inherit' }).exited
  if (status !== 0) throw new Error(`Cannot compile the vaults: the compiler exited with status ${status}`)
}

/** The files of these contracts and all that they import, by the name they are imported under. */
function listSources(): Record<string, { readonly content: string }> {
  const sources: Record<string, { readonly content: string }> = {}
  const add = (name: string): void => {
    if (name in sources) return
    const content = readFileSync(findSource(name), 'utf8')
    sources[name] = { content }
    for (const [, imported = ''] of content.matchAll(/^import [^;]*["'](.*)["'];/gm)) {
      add(imported.startsWith('.') ? join(dirname(name), imported) : imported)
    }
  }
  for (const name of Object.keys(WANTED)) add(name)
  return sources
}

function findSource(name: string): string {
  const found = PACKAGES.find(([prefix]) => name.startsWith(prefix))
  if (found === undefined) return join(import.meta.dir, 'contract', name)
  const [prefix, owner, folder] = found
  return join(dirname(require.resolve(`${owner}/package.json`)), folder, name.slice(prefix.length))
}

function createCompilation(): { readonly path: string; readonly input: string } {
  const outputSelection = Object.fromEntries(
    Object.entries(WANTED).map(([file, names]) => [
      file,
      Object.fromEntries(names.map((name) => [name, ['evm.bytecode.object']])),
    ]),
  )
  const input = JSON.stringify({
    language: 'Solidity',
    sources: listSources(),
    settings: {
      evmVersion: 'cancun',
      optimizer: { enabled: true, runs: 200 },
      metadata: { bytecodeHash: 'none', appendCBOR: false },
      outputSelection,
    },
  })
  const { version } = require(`${COMPILER}/package.json`) as { readonly version: string }
  const hash = createHash('sha256').update(version).update(input).digest('hex').slice(0, 32)
  return { path: join(CACHE, `${hash}.json`), input }
}

if (import.meta.main) {
  const { path, input } = createCompilation()
  const solc = require(COMPILER) as { compile(input: string): string }
  const output = JSON.parse(solc.compile(input)) as SolcOutput
  const failures = output.errors?.filter(({ severity }) => severity === 'error') ?? []
  if (failures.length > 0) throw new Error(failures.map(({ formattedMessage }) => formattedMessage).join('\n'))
  const codes = Object.entries(WANTED).flatMap(([file, names]) =>
    names.map((name) => [name, `0x${output.contracts[file]?.[name]?.evm.bytecode.object}`]),
  )
  mkdirSync(CACHE, { recursive: true })
  // Renamed into place: a reader while it is written must not get a part.
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, JSON.stringify(Object.fromEntries(codes)))
  renameSync(draft, path)
  // The compiler leaves listeners behind that would keep this process.
  process.exit(0)
}
