/** Compiles the units named by its arguments and writes them to its standard output, as JSON. */
import { createRequire } from 'node:module'
import type { Compiled } from './compile.ts'
import { ALL_UNITS, type AnyUnitName, getSourceName, inputFor } from './sources.ts'

interface SolcOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[]
  readonly contracts?: Readonly<
    Record<string, Readonly<Record<string, { readonly evm: { readonly bytecode: Bytecode } }>>>
  >
}

type Bytecode = { readonly object: string } & Pick<Compiled, 'linkReferences'>

const units = process.argv.slice(2).filter((name): name is AnyUnitName => name in ALL_UNITS)
const solc = createRequire(import.meta.url)('solc') as { compile(input: string): string }
const { errors = [], contracts } = JSON.parse(solc.compile(JSON.stringify(inputFor(units)))) as SolcOutput
const failure = errors.find((error) => error.severity === 'error')
if (failure !== undefined) throw new Error(`Cannot compile Aave V3: ${failure.formattedMessage}`)

const compiled = units.map((unit): [AnyUnitName, Compiled] => {
  const bytecode = contracts?.[getSourceName(unit)]?.[unit]?.evm.bytecode
  if (bytecode === undefined) throw new Error(`Cannot compile Aave V3: ${unit} is not in its source`)
  return [unit, { bytecode: `0x${bytecode.object}`, linkReferences: bytecode.linkReferences }]
})
await Bun.write(Bun.stdout, JSON.stringify(Object.fromEntries(compiled)))
// The compiler leaves listeners behind that would keep this process.
process.exit(0)
