import { existsSync } from 'node:fs'
import { mkdir, rename } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Glob } from 'bun'
import type { Hex } from 'viem'
import { withProcessLock } from '../../support/process_lock.ts'
import { spawnSupervised } from '../supervised.ts'

const require = createRequire(import.meta.url)
const COMPILER = 'solc'
/** Permit2 asks for 0.8.17 alone, which is one more compiler for a contract that no later one compiles differently. */
const PRAGMA = 'pragma solidity 0.8.17;'
const CACHE = join(import.meta.dir, '../../../.cache/permit2')

interface SolcOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[]
  readonly contracts: Record<
    string,
    Record<string, { readonly evm: { readonly bytecode: { readonly object: string } } }>
  >
}

/**
 * Permit2's creation code, compiled once on this machine from the sources inside v4-periphery, by a process of its own,
 * because the compiler meddles with the process it runs in.
 */
export async function permit2CreationCode(): Promise<Hex> {
  const path = cachePath()
  if (!existsSync(path)) await withProcessLock('permit2', () => (existsSync(path) ? undefined : compileInChild()))
  return (await Bun.file(path).text()) as Hex
}

async function compileInChild(): Promise<void> {
  const status = await spawnSupervised([process.execPath, import.meta.path], { stderr: 'inherit' }).exited
  if (status !== 0) throw new Error(`Cannot compile Permit2: the compiler exited with status ${status}`)
}

function cachePath(): string {
  const versions = ['@uniswap/v4-periphery', COMPILER].map((name) => require(`${name}/package.json`).version)
  return join(CACHE, `${versions.join('-')}.hex`)
}

/** Every file of Permit2 and of the library it imports, by the name it is imported under. */
async function sources(): Promise<Record<string, { readonly content: string }>> {
  const root = join(dirname(require.resolve('@uniswap/v4-periphery/package.json')), 'lib/permit2')
  const read = (folder: string, prefix: string) =>
    Promise.all(
      [...new Glob('**/*.sol').scanSync(join(root, folder))].map(async (path) => {
        const content = (await Bun.file(join(root, folder, path)).text()).replace(PRAGMA, 'pragma solidity >=0.8.17;')
        return [`${prefix}/${path}`, { content }] as const
      }),
    )
  return Object.fromEntries([
    ...(await read('src', 'permit2')),
    ...(await read('lib/solmate/src/tokens', 'solmate/src/tokens')),
    ...(await read('lib/solmate/src/utils', 'solmate/src/utils')),
  ])
}

if (import.meta.main) {
  const input = {
    language: 'Solidity',
    sources: await sources(),
    settings: {
      optimizer: { enabled: true, runs: 200 },
      viaIR: true,
      metadata: { bytecodeHash: 'none', appendCBOR: false },
      outputSelection: { 'permit2/Permit2.sol': { Permit2: ['evm.bytecode.object'] } },
    },
  }
  const solc = require(COMPILER) as { compile(input: string): string }
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as SolcOutput
  const failures = output.errors?.filter(({ severity }) => severity === 'error') ?? []
  if (failures.length > 0) throw new Error(failures.map(({ formattedMessage }) => formattedMessage).join('\n'))
  const code = output.contracts['permit2/Permit2.sol']?.['Permit2']?.evm.bytecode.object
  await mkdir(CACHE, { recursive: true })
  const draft = join(CACHE, `${process.pid}.draft`)
  await Bun.write(draft, `0x${code}`)
  // Renamed into place: who reads it while it is written must not get a part.
  await rename(draft, cachePath())
  // The compiler leaves listeners behind that would keep this process.
  process.exit(0)
}
