import * as v from 'valibot'
import { type Address, getAddress, isAddress } from 'viem'
import type { FinanceChain } from '../../finance/chain.ts'
import { createTokenList, LISTED_MAX, type NamedTokens } from '../../finance/token/list/list.ts'
import { formatIssue } from './chains_file.ts'
import { splitList } from './lists.ts'
import { describeReadError } from './read_file.ts'
import type { VariableName } from './variables.ts'

/** Mistakes of one file that are named; of the rest the number is said. */
const NAMED_MAX = 5

/** As much of the Token Lists format as is used; what a token calls itself is read on chain. */
const tokenList = v.object({
  name: v.pipe(v.string(), v.nonEmpty('expected 1 to 64 characters'), v.maxLength(64, 'expected 1 to 64 characters')),
  version: v.optional(v.object({ major: v.number(), minor: v.number(), patch: v.number() })),
  tokens: v.array(v.object({ chainId: v.pipe(v.number(), v.safeInteger()), address: v.string() })),
})

/** What the files that variables name are read from. */
export interface FileSources {
  readonly given: (name: VariableName) => string | undefined
  readonly readFile: (path: string) => string
  readonly mistakes: string[]
}

/** Tokens of one file by chain id. */
interface ReadList {
  readonly name: string
  readonly tokens: ReadonlyMap<number, readonly Address[]>
}

/**
 * The chains with the tokens that the files of `TOKEN_LISTS` name there, in the format of tokenlists.org. Tokens of other
 * chains are ignored. Adds what is wrong with each file to `mistakes`.
 */
export function withTokenLists(
  chains: readonly FinanceChain[],
  { given, readFile, mistakes }: FileSources,
): readonly FinanceChain[] {
  const served = new Set(chains.map(({ id }) => id))
  const lists = splitList(given('TOKEN_LISTS') ?? '').flatMap((path, index) => {
    const read = readList(() => readFile(path), served)
    if (!Array.isArray(read)) return [read]
    mistakes.push(...shortened(read).map((mistake) => `TOKEN_LISTS: file ${index + 1}: ${mistake}`))
    return []
  })
  return chains.map((chain) => {
    const added = lists.flatMap(({ name, tokens }): NamedTokens[] => {
      const addresses = tokens.get(chain.id) ?? []
      return addresses.length === 0 ? [] : [{ name, addresses }]
    })
    const { tokens: known } = chain
    const tokens = added.length === 0 ? known : createTokenList(chain, [...known.added, ...added])
    const count = tokens.addresses.length
    if (count > LISTED_MAX) {
      mistakes.push(
        `TOKEN_LISTS, CHAINS_FILE: expected at most ${LISTED_MAX} tokens of chain ${chain.id}, got ${count}`,
      )
    }
    return tokens === known ? chain : { ...chain, tokens }
  })
}

/** The list in a file, or what is wrong with it. */
function readList(read: () => string, served: ReadonlySet<number>): ReadList | string[] {
  let text: string
  try {
    text = read()
  } catch (error) {
    return [describeReadError(error)]
  }
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return ['expected valid JSON']
  }
  const parsed = v.safeParse(tokenList, json)
  if (!parsed.success) return parsed.issues.map(formatIssue)
  const { name, version, tokens } = parsed.output
  const mistakes: string[] = []
  const byChain = new Map<number, Address[]>()
  for (const [index, { chainId, address }] of tokens.entries()) {
    if (!served.has(chainId)) continue
    if (!isAddress(address)) {
      mistakes.push(`tokens.${index}.address: expected an EVM address, with a right checksum if any`)
      continue
    }
    const addresses = byChain.get(chainId) ?? []
    addresses.push(getAddress(address))
    byChain.set(chainId, addresses)
  }
  if (mistakes.length > 0) return mistakes
  const numbers = version === undefined ? '' : ` ${version.major}.${version.minor}.${version.patch}`
  return { name: `${name}${numbers}`, tokens: byChain }
}

function shortened(mistakes: readonly string[]): readonly string[] {
  const more = mistakes.length - NAMED_MAX
  return more <= 0 ? mistakes : [...mistakes.slice(0, NAMED_MAX), `${more} more mistakes of this kind`]
}
