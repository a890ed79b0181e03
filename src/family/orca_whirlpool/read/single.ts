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
/** Positions of a bundle whose addresses are derived in one turn of the event loop. */
const INDEXES_IN_TURN = 48

/** The requested position. */
export interface SingleQuery {
  /** Mint of the position's token, or address of the position. */
  readonly id: string
  readonly wallet: string
  readonly isFull: boolean
}

/** A position of a wallet, or why there is none. */
export type SingleRead =
  | { readonly kind: 'found'; readonly position: OrcaPosition }
  | { readonly kind: 'absent'; readonly reason: 'none' | 'closed' | 'not_held' | 'bundle' }

/** A position whose token account is not located yet. */
interface FoundPosition {
  readonly program: string
  readonly address: string
  readonly mint: string
  readonly isBundled: boolean
}

/** Creates a reader of single positions, which caches token accounts so that the next read takes one request. */
export function createSingleReader(options: {
  readonly programs: readonly string[]
  readonly items: ItemsReader
  readonly cache: AccountCache
  readonly check: AccountsCheck
}) {
  const { programs, items: reader, cache, check } = options
  const rememberedItems = createLru<PositionItem>({ entriesMax: REMEMBERED_MAX })

  /** Reads the id, the addresses derived from it, and the wallet's associated token accounts for it. */
  async function lookUp(session: SolanaSession, { id, wallet }: SingleQuery, minSlot: bigint): Promise<PositionLookup> {
    const positions = programs.map((program) => ({ program, address: derivePositionAddress(program, id) }))
    const bundles = programs.map((program) => ({ program, address: deriveBundleAddress(program, id) }))
    const usualAccounts = TOKEN_PROGRAMS.map((program) => ({
      program,
      mint: id,
      address: deriveAssociatedTokenAddress(wallet, { mint: id, program }),
    }))
    const addresses = [id, ...[...positions, ...bundles, ...usualAccounts].map(({ address }) => address)]
    const { slot, accounts: results } = await session.accounts(addresses, { minSlot, check })
    const accounts: Accounts = new Map(addresses.map((address, index) => [address, results[index] ?? null]))
    cache.learn(accounts)
    const findOwn = (program: string, address: string) => {
      const account = accounts.get(address)
      return account?.owner === program ? decodeAccount(account) : undefined
    }

    const plain = positions.find(({ program, address }) => findOwn(program, address)?.position?.mint === id)
    const held = usualAccounts.find((each) => findHeldToken(accounts, each, wallet) !== undefined)
    if (plain !== undefined) return { slot, position: { ...plain, mint: id, isBundled: false }, held }
    const isBundle = [...bundles, ...programs.map((program) => ({ program, address: id }))].some(
      ({ program, address }) => findOwn(program, address)?.bundle !== undefined,
    )
    if (isBundle) return { slot, absent: 'bundle' }
    const account = accounts.get(id)
    const position = programs.map((program) => findOwn(program, id)?.position).find((each) => each !== undefined)
    if (account !== undefined && account !== null && position !== undefined) {
      const { mint } = position
      const isBundled = derivePositionAddress(account.owner, mint) !== id
      return { slot, position: { program: account.owner, address: id, mint, isBundled }, held: undefined }
    }
    const isMint = account !== undefined && account !== null && TOKEN_PROGRAMS.some((each) => each === account.owner)
    return { slot, absent: isMint && decodeMint(account.data)?.supply === 0n ? 'closed' : 'none' }
  }

  /** Locates a position's token in the wallet and its index in a bundle, and reads its pool if it is not cached. */
  async function locate(
    session: SolanaSession,
    { position, held: usual }: { readonly position: FoundPosition; readonly held: PositionToken | undefined },
    { wallet, minSlot }: { readonly wallet: string; readonly minSlot: bigint },
  ): Promise<PositionItem | 'not_held' | 'changed'> {
    const { program, address, mint, isBundled } = position
    const bundle = isBundled ? deriveBundleAddress(program, mint) : undefined
    const pool = cache.getPosition(address)?.pool
    const isPoolKnown = pool === undefined || cache.getPool(pool) !== undefined
    const addresses = [...(isPoolKnown ? [] : [pool]), ...(bundle === undefined ? [] : [bundle])]
    const [listed, read] = await Promise.all([
      usual === undefined ? session.tokenAccounts(wallet, { mint }, { minSlot }) : undefined,
      addresses.length === 0 ? undefined : session.accounts(addresses, { minSlot, check }),
    ])
    cache.learn(new Map(addresses.map((each, index) => [each, read?.accounts[index] ?? null])))
    const held = usual ?? listed?.accounts.find(({ amount }) => amount === 1n)
    if (held === undefined) return 'not_held'
    if (bundle === undefined) return { program, address, held, bundle: undefined }
    for (const [index, bundleIndex] of (cache.getBundleIndexes(bundle) ?? []).entries()) {
      if (index % INDEXES_IN_TURN === INDEXES_IN_TURN - 1) await yieldToEventLoop()
      if (cache.getBundledPositionAddress(program, mint, bundleIndex) === address)
        return { program, address, held, bundle: { address: bundle, index: bundleIndex } }
    }
    return 'changed'
  }

  return async (session: SolanaSession, query: SingleQuery): Promise<SingleRead> => {
    const { id, wallet, isFull } = query
    const depth: ReadDepth = isFull ? 'full' : 'brief'
    const key = `${wallet}:${id}`
    let minSlot = 0n
    let reason = 'it changed while it was read'

    /** Reads the position; undefined if it changed or cannot be decoded. */
    async function readItem(item: PositionItem): Promise<SingleRead | undefined> {
      await reader.prepare(session, [item], minSlot)
      const read = await reader.read(session, [{ item, depth }], { wallet, minSlot })
      minSlot = read.newest
      const [interpretation] = read.interpreted
      if (interpretation?.kind === 'position') {
        rememberedItems.set(key, item)
        return { kind: 'found', position: interpretation.position }
      }
      if (interpretation?.kind === 'unreadable') reason = interpretation.reason
      return undefined
    }

    const remembered = rememberedItems.get(key)
    const isReady = remembered !== undefined && !(isFull && !reader.hasPrices())
    const early = isReady ? await readItem(remembered) : undefined
    if (early !== undefined) return early
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const [lookup] = await Promise.all([
        lookUp(session, query, minSlot),
        isFull ? reader.learnPrices(session) : undefined,
      ])
      if ('absent' in lookup) return { kind: 'absent', reason: lookup.absent }
      minSlot = lookup.slot
      const item = await locate(session, lookup, { wallet, minSlot })
      if (item === 'not_held') return { kind: 'absent', reason: item }
      const read = item === 'changed' ? undefined : await readItem(item)
      if (read !== undefined) return read
    }
    throw new UpstreamError(`Cannot read position ${id}: ${reason}`)
  }
}

/** Result of the first request for an id, at a slot. */
type PositionLookup =
  | { readonly slot: bigint; readonly position: FoundPosition; readonly held: PositionToken | undefined }
  | { readonly slot: bigint; readonly absent: 'none' | 'closed' | 'bundle' }
