import type { SolanaSession } from '../../../chain/solana/client.ts'
import type { ListedTokenAccount } from '../../../chain/solana/searches.ts'
import { TOKEN_PROGRAM } from '../../../chain/solana/token/program.ts'
import { chunk } from '../../../lib/async/chunk.ts'
import { mapCooperatively, yieldToEventLoop } from '../../../lib/async/cooperative.ts'
import { type AccountCache, type Accounts, decodeAccount } from './account_cache.ts'
import { deriveBundleAddress, derivePositionAddress } from './address.ts'
import type { AccountsCheck } from './check.ts'
import type { PositionItem, TokenSubject } from './item.ts'

/** Tokens whose addresses are derived in one turn of the event loop: four addresses each, at 0.1 ms and more at first. */
const TOKENS_IN_TURN = 3
/** Places of bundles whose addresses are derived in one turn. */
const PLACES_IN_TURN = 48
/** Mints of one round of requests; what a round shows is remembered even if a later one fails. */
const MINTS_IN_ROUND = 500
/** Anybody can send money to an address: its account is then this program's, and empty. */
const SYSTEM_PROGRAM = '11111111111111111111111111111111'

type Token = Pick<ListedTokenAccount, 'address' | 'mint' | 'program' | 'amount'>

/** Makes a namer of positions, which asks about each token once. */
export function createTokenResolver({
  programs,
  known,
  check,
}: {
  readonly programs: readonly string[]
  readonly known: AccountCache
  readonly check: AccountsCheck
}) {
  /** What a token may stand for. Only the first token program has bundles. */
  function candidatesOf({ mint, program: tokenProgram }: Token): TokenSubject[] {
    return programs.flatMap((program): TokenSubject[] => {
      const position = { kind: 'position', program, address: derivePositionAddress(program, mint) } as const
      if (tokenProgram !== TOKEN_PROGRAM) return [position]
      return [position, { kind: 'bundle', program, address: deriveBundleAddress(program, mint) }]
    })
  }

  /** Notes what a token stands for; nothing unless the accounts are as the program, or nobody, leaves them. */
  function note(mint: string, candidates: readonly TokenSubject[], accounts: Accounts): void {
    const found = candidates.find(({ kind, program, address }) => {
      const account = accounts.get(address)
      return account?.owner === program && decodeAccount(account)[kind]?.mint === mint
    })
    const isFree = ({ address }: TokenSubject) => {
      const account = accounts.get(address)
      return account === null || account?.owner === SYSTEM_PROGRAM
    }
    if (found !== undefined) known.noteSubject(mint, found)
    else if (candidates.every(isFree)) known.noteSubject(mint, 'none')
  }

  /**
   * Asks what tokens of one unit stand for that are not known, at a slot not before that of their list. Gives the
   * newest slot.
   */
  async function name(session: SolanaSession, tokens: readonly Token[], minSlot: bigint): Promise<bigint> {
    const unknown = tokens.filter(({ amount, mint }) => amount === 1n && known.subjectOf(mint) === undefined)
    let newest = minSlot
    for (const round of chunk(unknown, MINTS_IN_ROUND)) {
      await yieldToEventLoop()
      const candidates = await mapCooperatively(round, TOKENS_IN_TURN, candidatesOf)
      const items = candidates.map((each) => each.map(({ address }) => address))
      const groups = await session.grouped(items, { minSlot, check, mayDiffer: true })
      for (const [index, { mint }] of round.entries()) {
        const [group, each] = [groups[index], candidates[index]]
        if (group !== undefined && each !== undefined) note(mint, each, group.accounts)
      }
      for (const { slot, accounts } of new Set(groups)) {
        known.learn(accounts)
        if (slot > newest) newest = slot
      }
    }
    return newest
  }

  /** What a token of one unit stands for, as far as that is known. */
  function subjectOf({ amount, mint }: Token): TokenSubject | undefined {
    const subject = amount === 1n ? known.subjectOf(mint) : undefined
    return subject === 'none' ? undefined : subject
  }

  /** How many positions tokens stand for, as far as that is known. */
  function count(tokens: readonly Token[]): number {
    const numberOf = ({ kind, address }: TokenSubject) =>
      kind === 'position' ? 1 : (known.placesOf(address) ?? []).length
    return tokens.map(subjectOf).reduce((sum, subject) => sum + (subject === undefined ? 0 : numberOf(subject)), 0)
  }

  /** The positions that tokens stand for, as far as that is known; no further bundle beyond `max`. */
  async function itemsOf(tokens: readonly Token[], max: number): Promise<PositionItem[]> {
    const items: PositionItem[] = []
    for (const token of tokens) {
      if (items.length > max) break
      const subject = subjectOf(token)
      if (subject === undefined) continue
      const { address: account, program: tokenProgram, mint } = token
      const { kind, program, address } = subject
      const held = { address: account, program: tokenProgram, mint }
      if (kind === 'position') items.push({ program, address, held, bundle: undefined })
      else {
        for (const place of known.placesOf(address) ?? []) {
          if (items.length % PLACES_IN_TURN === PLACES_IN_TURN - 1) await yieldToEventLoop()
          const own = known.bundledOf(program, mint, place)
          items.push({ program, address: own, held, bundle: { address, place } })
        }
      }
    }
    return items
  }

  return { name, count, itemsOf }
}

/** Names positions. */
export type TokenResolver = ReturnType<typeof createTokenResolver>
