import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const SOURCES = [
  ...['actor.sol', 'cap_adapter.sol', 'feed.sol', 'phased_feed.sol', 'token.sol'],
  ...['hostile_token.sol', 'balance_token.sol', 'pancakeswap.sol', 'pawnshop.sol', 'vault.sol', 'hook.sol'],
  ...['shifted_manager.sol', 'resolver.sol', 'pool_trader.sol', 'bounded_aggregator.sol', 'mood_token.sol'],
  ...['stall.sol', 'masterchef.sol', 'slipstream.sol', 'slipstream_gauge.sol'],
]
export const ARTIFACT_PATH = join(import.meta.dir, 'artifact.json')

interface SolcOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[]
  readonly contracts: Record<
    string,
    Record<string, { readonly evm: { readonly bytecode: { readonly object: string } } }>
  >
}

const require = createRequire(import.meta.url)

/** Compiles the devnet's own contracts: name → creation code. Throws with the compiler's words if it refuses. */
export function compileContracts(): Record<string, string> {
  const solc = require('solc') as { compile(input: string): string }
  const output = JSON.parse(solc.compile(createInput())) as SolcOutput
  const failure = output.errors?.find((error) => error.severity === 'error')
  if (failure !== undefined) throw new Error(`Cannot compile the devnet's contracts: ${failure.formattedMessage}`)
  return Object.fromEntries(
    Object.values(output.contracts)
      .flatMap(Object.entries)
      .map(([name, contract]) => [name, `0x${contract.evm.bytecode.object}`]),
  )
}

/** Hashes the compiler's version and all that it is given: the same hash means the same outcome. */
export function hashCompilation(): string {
  const { version } = require('solc/package.json') as { readonly version: string }
  return createHash('sha256').update(version).update(createInput()).digest('hex')
}

function createInput(): string {
  return JSON.stringify({
    language: 'Solidity',
    sources: Object.fromEntries(
      SOURCES.map((file) => [file, { content: readFileSync(join(import.meta.dir, file), 'utf8') }]),
    ),
    settings: {
      evmVersion: 'cancun',
      optimizer: { enabled: true, runs: 200 },
      metadata: { bytecodeHash: 'none', appendCBOR: false },
      outputSelection: { '*': { '*': ['evm.bytecode.object'] } },
    },
  })
}

/** The committed text of the artifact. */
export function artifactText(contracts: Record<string, string>): string {
  return `${JSON.stringify(contracts, undefined, 2)}\n`
}

if (import.meta.main) await Bun.write(ARTIFACT_PATH, artifactText(compileContracts()))
