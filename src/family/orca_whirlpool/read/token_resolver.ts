import type { SolanaSession } from '../../../chain/solana/client.ts'
import type { ListedTokenAccount } from '../../../chain/solana/searches.ts'
import { TOKEN_PROGRAM } from '../../../chain/solana/token.ts'
import { mapCooperatively, yieldToEventLoop } from '../../../lib/async/cooperative.ts'
import { chunk } from '../../../lib/async/parallel.ts'
import {
  type AccountCache,
  type Accounts,
  decodeAccount,
  deriveBundleAddress,
  derivePositionAddress,
} from './account_cache.ts'
import type { PositionItem, TokenSubject } from './item.ts'
import type { AccountsCheck } from './layout.ts'

/** Tokens whose addresses are derived in one turn of the event loop: four addresses each, at 0.1 ms and more at first. */
const TOKENS_IN_TURN = 3
/** Positions of bundles whose addresses are derived in one turn. */
const INDEXES_IN_TURN = 48
/** Mints of one round of requests; the results of a round are cached even if a later round fails. */
const MINTS_IN_ROUND = 500
/** An address that only received SOL is owned by the system program and has no data. */
const SYSTEM_PROGRAM = '11111111111111111111111111111111'

type Token = Pick<ListedTokenAccount, 'address' | 'mint' | 'program' | 'amount'>

/** Creates a resolver of tokens to positions, which reads the accounts of each token once. */
export function createTokenResolver({
  programs,
  cache,
  check,
}: {
  readonly programs: readonly string[]
  readonly cache: AccountCache
  readonly check: AccountsCheck
}) {
  /** Lists the accounts that a token may stand for. Only tokens of the first token program have bundles. */
  function listCandidates({ mint, program: tokenProgram }: Token): TokenSubject[] {
    return programs.flatMap((program): TokenSubject[] => {
      const position = { kind: 'position', program, address: derivePositionAddress(program, mint) } as const
      if (tokenProgram !== TOKEN_PROGRAM) return [position]
      return [position, { kind: 'bundle', program, address: deriveBundleAddress(program, mint) }]
    })
  }

  /** Caches what a token stands for: an account of a program, or `none` if all candidates are unused addresses. */
  function rememberSubject(mint: string, candidates: readonly TokenSubject[], accounts: Accounts): void {
    const subject = candidates.find(({ kind, program, address }) => {
      const account = accounts.get(address)
      return account?.owner === program && decodeAccount(account)[kind]?.mint === mint
    })
    const isFree = ({ address }: TokenSubject) => {
      const account = accounts.get(address)
      return account === null || account?.owner === SYSTEM_PROGRAM
    }
    if (subject !== undefined) cache.noteSubject(mint, subject)
    else if (candidates.every(isFree)) cache.noteSubject(mint, 'none')
  }

  /**
   * Resolves the tokens of one unit that are not cached, `max` at most, at a slot not before that of their list. Returns
   * the newest slot, and the number of tokens beyond the maximum: they are left to later calls.
   */
  async function resolve(
    session: SolanaSession,
    tokens: readonly Token[],
    { minSlot, max = Number.POSITIVE_INFINITY }: { readonly minSlot: bigint; readonly max?: number },
  ): Promise<{ readonly newest: bigint; readonly unresolved: number }> {
    const unknown = tokens.filter(({ amount, mint }) => amount === 1n && cache.getSubject(mint) === undefined)
    let newest = minSlot
    for (const round of chunk(unknown.slice(0, max), MINTS_IN_ROUND)) {
      await yieldToEventLoop()
      const candidates = await mapCooperatively(round, TOKENS_IN_TURN, listCandidates)
      const items = candidates.map((each) => each.map(({ address }) => address))
      const groups = await session.grouped(items, { minSlot, check, mayDiffer: true })
      for (const [index, { mint }] of round.entries()) {
        const [group, each] = [groups[index], candidates[index]]
        if (group !== undefined && each !== undefined) rememberSubject(mint, each, group.accounts)
      }
      for (const { slot, accounts } of new Set(groups)) {
        cache.learn(accounts)
        if (slot > newest) newest = slot
      }
    }
    return { newest, unresolved: Math.max(0, unknown.length - max) }
  }

  /** Gets what a token of one unit stands for, from the cache. */
  function getSubject({ amount, mint }: Token): TokenSubject | undefined {
    const subject = amount === 1n ? cache.getSubject(mint) : undefined
    return subject === 'none' ? undefined : subject
  }

  /** Counts the positions that tokens stand for, from the cache. */
  function countPositions(tokens: readonly Token[]): number {
    const getPositionCount = ({ kind, address }: TokenSubject) =>
      kind === 'position' ? 1 : (cache.getBundleIndexes(address) ?? []).length
    return tokens
      .map(getSubject)
      .reduce((sum, subject) => sum + (subject === undefined ? 0 : getPositionCount(subject)), 0)
  }

  /** Lists the positions that tokens stand for, from the cache; stops at the first token beyond `max` positions. */
  async function listItems(tokens: readonly Token[], max: number): Promise<PositionItem[]> {
    const items: PositionItem[] = []
    for (const token of tokens) {
      if (items.length > max) break
      const subject = getSubject(token)
      if (subject === undefined) continue
      const { address: account, program: tokenProgram, mint } = token
      const { kind, program, address } = subject
      const held = { address: account, program: tokenProgram, mint }
      if (kind === 'position') items.push({ program, address, held, bundle: undefined })
      else {
        for (const index of cache.getBundleIndexes(address) ?? []) {
          if (items.length % INDEXES_IN_TURN === INDEXES_IN_TURN - 1) await yieldToEventLoop()
          const bundledAddress = cache.getBundledPositionAddress(program, mint, index)
          items.push({ program, address: bundledAddress, held, bundle: { address, index } })
        }
      }
    }
    return items
  }

  return { resolve, countPositions, listItems }
}

/** Resolves tokens to positions. */
export type TokenResolver = ReturnType<typeof createTokenResolver>
