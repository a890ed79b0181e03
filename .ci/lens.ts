/**
 * Compiles the lens contracts beside the readers that use them. Without arguments it writes `lens_artifact.ts`; with
 * `--check` it fails if the committed bytecode is not what the source compiles to.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Glob } from 'bun'
import solc from 'solc'

const ROOT = join(import.meta.dir, '..')

/** Largest code that may stand at an address, EIP-170. */
const RUNTIME_BYTES_MAX = 24_576

interface SolcOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[]
  readonly contracts?: Readonly<
    Record<
      string,
      Readonly<Record<string, { readonly evm: { readonly deployedBytecode: { readonly object: string } } }>>
    >
  >
}

/** The text of `lens_artifact.ts` for the source as it is now. */
function compileLens(folder: string): string {
  const path = `${folder}/lens.sol`
  const paths = [
    path,
    ...['chain', 'finance', 'family/liquidity'].flatMap((room) => [...new Glob(`src/${room}/**/*.sol`).scanSync(ROOT)]),
  ].sort()
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries(paths.map((each) => [each, { content: readFileSync(join(ROOT, each), 'utf8') }])),
    settings: {
      // No opcode younger than every chain served, no metadata that would tie the bytes to a comment.
      evmVersion: 'paris',
      viaIR: true,
      optimizer: { enabled: true, runs: 10_000 },
      metadata: { bytecodeHash: 'none', appendCBOR: false },
      debug: { revertStrings: 'strip' },
      // The other sources of a room have lenses too, and each takes a second.
      outputSelection: { [path]: { Lens: ['evm.deployedBytecode.object'] } },
    },
  }
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as SolcOutput
  if (output.errors?.length) throw new Error(output.errors.map((error) => error.formattedMessage).join('\n'))
  const code = output.contracts?.[path]?.['Lens']?.evm.deployedBytecode.object
  if (!code) throw new Error(`Cannot compile ${path}: expected a contract named Lens`)
  const bytes = code.length / 2
  if (bytes > RUNTIME_BYTES_MAX) throw new Error(`Cannot use ${path}: ${bytes} bytes of code`)
  return `// Made by \`bun run lens\` from lens.sol with solc ${solc.version()}. Do not edit.

/** Runtime code of the lens: ${bytes} bytes. */
export const LENS_RUNTIME =
  '0x${code}'
`
}

/** Folders that have a lens; a made-up exchange of the tests has one too. */
function folders(): string[] {
  const paths = ['src/**/lens.sol', 'test/contract/family/*/read/lens.sol'].flatMap((pattern) => [
    ...new Glob(pattern).scanSync(ROOT),
  ])
  return paths.map((path) => path.replace(/\/lens\.sol$/, '')).sort()
}

if (import.meta.main) {
  const check = process.argv.includes('--check')
  for (const folder of folders()) {
    const compiled = compileLens(folder)
    const path = join(ROOT, folder, 'lens_artifact.ts')
    if (!check) writeFileSync(path, compiled)
    else if (readFileSync(path, 'utf8') !== compiled) {
      console.error(`${folder}/lens_artifact.ts is not what lens.sol compiles to: run \`bun run lens\``)
      process.exit(1)
    }
    console.log(`${folder}: ${compiled.match(/: (\d+) bytes/)?.[1]} bytes of runtime code`)
  }
}
