import * as v from 'valibot'
import { type Address, getAddress, isAddress } from 'viem'
import type { FinanceChain } from '../finance/chain.ts'
import { createTokenList, LISTED_MAX, type NamedTokens } from '../finance/token/list/list.ts'
import { formatIssue } from './chains_file.ts'
import { splitList } from './lists.ts'
import { describeReadError } from './read_file.ts'
import type { VariableName } from './variables.ts'

/** Maximum mistakes of one file to list; the others are counted. */
const NAMED_MAX = 5

/** The used part of the Token Lists format; names and symbols of tokens are read on chain. */
const tokenList = v.object({
  name: v.pipe(v.string(), v.nonEmpty('expected 1 to 64 characters'), v.maxLength(64, 'expected 1 to 64 characters')),
  version: v.optional(v.object({ major: v.number(), minor: v.number(), patch: v.number() })),
  tokens: v.array(v.object({ chainId: v.pipe(v.number(), v.safeInteger()), address: v.string() })),
})

/** Sources for files that variables name. */
export interface FileSources {
  readonly getVariable: (name: VariableName) => string | undefined
  readonly readFile: (path: string) => string
  readonly mistakes: string[]
}

/** Tokens of one file by chain id. */
interface TokenListFile {
  readonly name: string
  readonly tokens: ReadonlyMap<number, readonly Address[]>
}

/**
 * Adds the tokens of the files in `TOKEN_LISTS`, in the format of tokenlists.org, to their chains. Ignores tokens of
 * other chains. Adds errors of each file to `mistakes`.
 */
export function withTokenLists(
  chains: readonly FinanceChain[],
  { getVariable, readFile, mistakes }: FileSources,
): readonly FinanceChain[] {
  const served = new Set(chains.map(({ id }) => id))
  const lists = splitList(getVariable('TOKEN_LISTS') ?? '').flatMap((path, index) => {
    const list = readList(() => readFile(path), served)
    if (!Array.isArray(list)) return [list]
    mistakes.push(...limitMistakes(list).map((mistake) => `TOKEN_LISTS: file ${index + 1}: ${mistake}`))
    return []
  })
  return chains.map((chain) => {
    const addedTokens = lists.flatMap(({ name, tokens }): NamedTokens[] => {
      const addresses = tokens.get(chain.id) ?? []
      return addresses.length === 0 ? [] : [{ name, addresses }]
    })
    const { tokens: currentTokens } = chain
    const tokens =
      addedTokens.length === 0 ? currentTokens : createTokenList(chain, [...currentTokens.added, ...addedTokens])
    const count = tokens.addresses.length
    if (count > LISTED_MAX) {
      mistakes.push(
        `TOKEN_LISTS, CHAINS_FILE: expected at most ${LISTED_MAX} tokens of chain ${chain.id}, got ${count}`,
      )
    }
    return tokens === currentTokens ? chain : { ...chain, tokens }
  })
}

/** Reads the list of a file, or returns its mistakes. */
function readList(readText: () => string, served: ReadonlySet<number>): TokenListFile | string[] {
  let text: string
  try {
    text = readText()
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
  const addressesByChain = new Map<number, Address[]>()
  for (const [index, { chainId, address }] of tokens.entries()) {
    if (!served.has(chainId)) continue
    if (!isAddress(address)) {
      mistakes.push(`tokens.${index}.address: expected an EVM address, with a valid checksum if any`)
      continue
    }
    const addresses = addressesByChain.get(chainId) ?? []
    addresses.push(getAddress(address))
    addressesByChain.set(chainId, addresses)
  }
  if (mistakes.length > 0) return mistakes
  const versionText = version === undefined ? '' : ` ${version.major}.${version.minor}.${version.patch}`
  return { name: `${name}${versionText}`, tokens: addressesByChain }
}

function limitMistakes(mistakes: readonly string[]): readonly string[] {
  const more = mistakes.length - NAMED_MAX
  return more <= 0 ? mistakes : [...mistakes.slice(0, NAMED_MAX), `${more} more mistakes of this kind`]
}
