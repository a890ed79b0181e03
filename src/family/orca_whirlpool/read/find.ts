import type { SolanaSession } from '../../../chain/solana/client.ts'
import { decodeMint, deriveAssociatedTokenAddress, TOKEN_PROGRAMS } from '../../../chain/solana/token.ts'
import { yieldToEventLoop } from '../../../lib/async/cooperative.ts'
import type { AccountQuery } from '../../liquidity/protocol.ts'
import {
  type AccountCache,
  type Accounts,
  decodeAccount,
  deriveBundleAddress,
  derivePositionAddress,
} from './account_cache.ts'
import { findHeldToken } from './interpret.ts'
import type { PositionItem, PositionToken } from './item.ts'
import type { AccountsCheck } from './layout.ts'

/** Positions of a bundle whose addresses are derived in one turn of the event loop. */
const INDEXES_IN_TURN = 48

/** Why there is no such position of the wallet; `bundle`: the id is of many. */
export type OrcaAbsence = 'none' | 'closed' | 'not_held' | 'bundle'

/** A position whose token account is not located yet. */
interface FoundPosition {
  readonly program: string
  readonly address: string
  readonly mint: string
  readonly isBundled: boolean
}

/** Outcome of a search, and the slot of its first request. */
type ItemSearch = { readonly slot: bigint } & (
  | { readonly item: PositionItem | 'changed' }
  | { readonly absent: OrcaAbsence }
)

/** Creates a finder of a wallet's position by its id, in two requests, three for a position in a bundle. */
export function createItemFinder(options: {
  readonly programs: readonly string[]
  readonly cache: AccountCache
  readonly check: AccountsCheck
}) {
  const { programs, cache, check } = options

  /** Reads the id, the addresses derived from it, and the wallet's associated token accounts for it. */
  async function lookUp(
    session: SolanaSession,
    { id, wallet }: Pick<AccountQuery, 'id' | 'wallet'>,
    minSlot: bigint,
  ): Promise<PositionLookup> {
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

  return async (
    session: SolanaSession,
    query: Pick<AccountQuery, 'id' | 'wallet'>,
    minSlot: bigint,
  ): Promise<ItemSearch> => {
    const lookup = await lookUp(session, query, minSlot)
    if ('absent' in lookup) return lookup
    const { slot } = lookup
    const item = await locate(session, lookup, { wallet: query.wallet, minSlot: slot })
    return item === 'not_held' ? { slot, absent: item } : { slot, item }
  }
}

/** Finds positions by their ids. */
export type ItemFinder = ReturnType<typeof createItemFinder>

/** Result of the first request for an id, at a slot. */
type PositionLookup =
  | { readonly slot: bigint; readonly position: FoundPosition; readonly held: PositionToken | undefined }
  | { readonly slot: bigint; readonly absent: 'none' | 'closed' | 'bundle' }
