import type { SolanaSession } from '../../../chain/solana/client.ts'
import { decodeMint } from '../../../chain/solana/token/mint.ts'
import { deriveAssociatedTokenAddress, TOKEN_PROGRAMS } from '../../../chain/solana/token/program.ts'
import { yieldToEventLoop } from '../../../lib/async/cooperative.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { createLru } from '../../../lib/lru.ts'
import type { OrcaPosition } from '../math/position.ts'
import { type AccountCache, type Accounts, decodeAccount } from './account_cache.ts'
import { deriveBundleAddress, derivePositionAddress } from './address.ts'
import type { AccountsCheck } from './check.ts'
import { findHeldToken } from './interpret.ts'
import type { PositionItem, PositionToken, ReadDepth } from './item.ts'
import type { ItemsReader } from './items.ts'

const TRIES_MAX = 3
const REMEMBERED_MAX = 50_000
/** Places of a bundle whose addresses are derived in one turn of the event loop. */
const PLACES_IN_TURN = 48

/** Which position is asked for. */
export interface SingleQuery {
  /** The mint of its token, or its address. */
  readonly id: string
  readonly wallet: string
  readonly isFull: boolean
}

/** A position of a wallet; or why there is none. */
export type SingleRead =
  | { readonly kind: 'found'; readonly position: OrcaPosition }
  | { readonly kind: 'absent'; readonly reason: 'none' | 'closed' | 'not_held' | 'bundle' }

/** A position that was found, not yet in whose account its token is. */
interface FoundPosition {
  readonly program: string
  readonly address: string
  readonly mint: string
  readonly isBundled: boolean
}

/** Makes a reader of single positions. It remembers where tokens are, to ask for all at once. */
export function createSingleReader(options: {
  readonly programs: readonly string[]
  readonly items: ItemsReader
  readonly known: AccountCache
  readonly check: AccountsCheck
}) {
  const { programs, items: reader, known, check } = options
  const remembered = createLru<PositionItem>({ entriesMax: REMEMBERED_MAX })

  /** What stands at the id, at the addresses derived from it, and in the wallet's usual accounts for it. */
  async function look(session: SolanaSession, { id, wallet }: SingleQuery, minSlot: bigint): Promise<PositionLookup> {
    const positions = programs.map((program) => ({ program, address: derivePositionAddress(program, id) }))
    const bundles = programs.map((program) => ({ program, address: deriveBundleAddress(program, id) }))
    const usual = TOKEN_PROGRAMS.map((program) => ({
      program,
      mint: id,
      address: deriveAssociatedTokenAddress(wallet, { mint: id, program }),
    }))
    const asked = [id, ...[...positions, ...bundles, ...usual].map(({ address }) => address)]
    const { slot, accounts: read } = await session.accounts(asked, { minSlot, check })
    const accounts: Accounts = new Map(asked.map((address, index) => [address, read[index] ?? null]))
    known.learn(accounts)
    const ownAt = (program: string, address: string) => {
      const account = accounts.get(address)
      return account?.owner === program ? decodeAccount(account) : undefined
    }

    const plain = positions.find(({ program, address }) => ownAt(program, address)?.position?.mint === id)
    const held = usual.find((each) => findHeldToken(accounts, each, wallet) !== undefined)
    if (plain !== undefined) return { slot, found: { ...plain, mint: id, isBundled: false }, held }
    const isBundle = [...bundles, ...programs.map((program) => ({ program, address: id }))].some(
      ({ program, address }) => ownAt(program, address)?.bundle !== undefined,
    )
    if (isBundle) return { slot, absent: 'bundle' }
    const account = accounts.get(id)
    const position = programs.map((program) => ownAt(program, id)?.position).find((each) => each !== undefined)
    if (account !== undefined && account !== null && position !== undefined) {
      const { mint } = position
      const isBundled = derivePositionAddress(account.owner, mint) !== id
      return { slot, found: { program: account.owner, address: id, mint, isBundled }, held: undefined }
    }
    const isMint = account !== undefined && account !== null && TOKEN_PROGRAMS.some((each) => each === account.owner)
    return { slot, absent: isMint && decodeMint(account.data)?.supply === 0n ? 'closed' : 'none' }
  }

  /** Where a position's token is in the wallet, and its place in a bundle; its pool is learned at the same time. */
  async function locate(
    session: SolanaSession,
    { found, held: usual }: { readonly found: FoundPosition; readonly held: PositionToken | undefined },
    { wallet, minSlot }: { readonly wallet: string; readonly minSlot: bigint },
  ): Promise<PositionItem | 'not_held' | 'changed'> {
    const { program, address, mint, isBundled } = found
    const bundle = isBundled ? deriveBundleAddress(program, mint) : undefined
    const pool = known.positionOf(address)?.pool
    const isPoolKnown = pool === undefined || known.poolOf(pool) !== undefined
    const wanted = [...(isPoolKnown ? [] : [pool]), ...(bundle === undefined ? [] : [bundle])]
    const [listed, read] = await Promise.all([
      usual === undefined ? session.tokenAccounts(wallet, { mint }, { minSlot }) : undefined,
      wanted.length === 0 ? undefined : session.accounts(wanted, { minSlot, check }),
    ])
    known.learn(new Map(wanted.map((each, index) => [each, read?.accounts[index] ?? null])))
    const held = usual ?? listed?.accounts.find(({ amount }) => amount === 1n)
    if (held === undefined) return 'not_held'
    if (bundle === undefined) return { program, address, held, bundle: undefined }
    for (const [index, place] of (known.placesOf(bundle) ?? []).entries()) {
      if (index % PLACES_IN_TURN === PLACES_IN_TURN - 1) await yieldToEventLoop()
      if (known.bundledOf(program, mint, place) === address)
        return { program, address, held, bundle: { address: bundle, place } }
    }
    return 'changed'
  }

  return async (session: SolanaSession, query: SingleQuery): Promise<SingleRead> => {
    const { id, wallet, isFull } = query
    const depth: ReadDepth = isFull ? 'full' : 'brief'
    const key = `${wallet}:${id}`
    let minSlot = 0n
    let because = 'it changed while it was read'

    /** The position if nothing changed since it was named. */
    async function readItem(item: PositionItem): Promise<SingleRead | undefined> {
      await reader.prepare(session, [item], minSlot)
      const read = await reader.read(session, [{ item, depth }], { wallet, minSlot })
      minSlot = read.newest
      const [only] = read.interpreted
      if (only?.kind === 'position') {
        remembered.set(key, item)
        return { kind: 'found', position: only.position }
      }
      if (only?.kind === 'unreadable') because = only.because
      return undefined
    }

    const before = remembered.get(key)
    const isReady = before !== undefined && !(isFull && !reader.hasPrices())
    const early = isReady ? await readItem(before) : undefined
    if (early !== undefined) return early
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const [looked] = await Promise.all([
        look(session, query, minSlot),
        isFull ? reader.learnPrices(session) : undefined,
      ])
      if ('absent' in looked) return { kind: 'absent', reason: looked.absent }
      minSlot = looked.slot
      const item = await locate(session, looked, { wallet, minSlot })
      if (item === 'not_held') return { kind: 'absent', reason: item }
      const read = item === 'changed' ? undefined : await readItem(item)
      if (read !== undefined) return read
    }
    throw new UpstreamError(`Cannot read position ${id}: ${because}`)
  }
}

/** What a first look shows, and at which slot. */
type PositionLookup =
  | { readonly slot: bigint; readonly found: FoundPosition; readonly held: PositionToken | undefined }
  | { readonly slot: bigint; readonly absent: 'none' | 'closed' | 'bundle' }
