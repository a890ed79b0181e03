import { createRequire } from 'node:module'
import { concatHex, type Hex } from 'viem'
import ours from './contract/artifact.json'

interface Artifact {
  /** Hardhat's has the code itself, Foundry's an object around it. */
  readonly bytecode: string | { readonly object: string }
  readonly linkReferences?: Record<
    string,
    Record<string, readonly { readonly start: number; readonly length: number }[]>
  >
}

export type OwnContract = keyof typeof ours

const require = createRequire(import.meta.url)

/** Creation code of a contract of ours, with encoded constructor arguments. */
export function ownCreationCode(name: OwnContract, args: Hex = '0x'): Hex {
  return concatHex([ours[name] as Hex, args])
}

/** Creation code from a package's artifact, of Hardhat or Foundry; every library it links to is `library`. */
export async function packageCreationCode(
  path: string,
  { args = '0x', library }: { readonly args?: Hex; readonly library?: Hex } = {},
): Promise<Hex> {
  const artifact = (await Bun.file(require.resolve(path)).json()) as Artifact
  const positions = Object.values(artifact.linkReferences ?? {}).flatMap((file) => Object.values(file).flat())
  let code = typeof artifact.bytecode === 'string' ? artifact.bytecode : artifact.bytecode.object
  for (const { start, length } of positions) {
    if (library === undefined) throw new Error(`Cannot link ${path}: it needs a library`)
    const from = 2 + start * 2
    code = code.slice(0, from) + library.slice(2).toLowerCase() + code.slice(from + length * 2)
  }
  return concatHex([code as Hex, args])
}
