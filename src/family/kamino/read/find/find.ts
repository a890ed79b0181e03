import type { AccountKind } from '../../../../chain/solana/bytes.ts'
import type { SolanaSession } from '../../../../chain/solana/client.ts'
import { MethodRefusedError } from '../../../../chain/solana/error.ts'
import { CodedError } from '../../../../lib/error.ts'
import { decodeBase58Address } from '../../../../lib/text/base58.ts'
import { decodeAccount, type TicketTarget } from '../accounts/account_cache.ts'
import { ACCOUNT_KINDS, OBLIGATION_OWNER_OFFSET, TICKET_OWNER_OFFSET } from '../accounts/layout.ts'
import { createDeriver } from './derive.ts'
import type { FoundObligations } from './find_result.ts'

/** Highest number of obligations of a wallet. Only the owner opens them, so spam cannot reach it. */
const OBLIGATIONS_MAX = 500

/** Creates a finder of wallets' obligations: by a search if an endpoint offers it, else at derived addresses. */
export function createFinder(options: Parameters<typeof createDeriver>[0]) {
  const { program, cache } = options
  const derive = createDeriver(options)

  /** Finds all accounts of a kind that a wallet owns; undefined if no endpoint searches the program's accounts. */
  async function searchOwned(
    session: SolanaSession,
    wallet: string,
    { kind, ownerAt, minSlot }: { readonly kind: AccountKind; readonly ownerAt: number; readonly minSlot: bigint },
  ) {
    const { size, discriminator } = kind
    const holds = [
      { at: 0, bytes: new Uint8Array(Buffer.from(discriminator, 'hex')) },
      { at: ownerAt, bytes: decodeBase58Address(wallet) },
    ]
    try {
      return await session.programAccounts({ program, size, holds }, { minSlot })
    } catch (error) {
      if (error instanceof MethodRefusedError) return undefined
      throw error
    }
  }

  /** Finds all obligations of a wallet by a search of the program's accounts; undefined if no endpoint offers it. */
  async function search(
    session: SolanaSession,
    wallet: string,
    minSlot: bigint,
  ): Promise<FoundObligations | undefined> {
    const kind = ACCOUNT_KINDS.obligation
    const found = await searchOwned(session, wallet, { kind, ownerAt: OBLIGATION_OWNER_OFFSET, minSlot })
    if (found === undefined) return undefined
    const { slot, accounts } = found
    cache.learn(new Map(accounts.map((account) => [account.address, account])))
    const targets = accounts.flatMap((account) => {
      const { obligation } = decodeAccount(account)
      return obligation === undefined ? [] : [{ address: account.address, market: obligation.market, wallet }]
    })
    return checkCount(wallet, { targets, oldest: slot, newest: slot, by: 'search' })
  }

  return {
    search,
    /** Finds all tickets of a wallet with collateral; undefined if no endpoint searches the program's accounts. */
    async searchTickets(session: SolanaSession, wallet: string, minSlot: bigint): Promise<FoundTickets | undefined> {
      const found = await searchOwned(session, wallet, {
        kind: ACCOUNT_KINDS.ticket,
        ownerAt: TICKET_OWNER_OFFSET,
        minSlot,
      })
      const tickets = found?.accounts.flatMap((account) => {
        const { ticket } = decodeAccount(account)
        const isEmpty = ticket === undefined || ticket.collateralAmount === 0n
        return isEmpty ? [] : [{ address: account.address, reserve: ticket.reserve }]
      })
      return found && tickets && { tickets, slot: found.slot }
    },
    /** Finds obligations of many wallets, in their order, at addresses of the most usual seeds only. */
    derive: (
      session: SolanaSession,
      wallets: readonly string[],
      query: MarketNarrowing & { readonly minSlot: bigint },
    ) => derive(session, wallets, { breadth: 'brief', ...query }),
    /** Finds obligations of one wallet at a slot not before `minSlot`, by a search if an endpoint offers it. */
    async find(
      session: SolanaSession,
      { wallet, market }: MarketNarrowing & { readonly wallet: string },
      minSlot: bigint,
    ): Promise<FoundObligations> {
      const searched = await search(session, wallet, minSlot)
      if (searched !== undefined) return searched
      const [derived] = await derive(session, [wallet], { breadth: 'whole', market, minSlot })
      return checkCount(wallet, derived as FoundObligations)
    },
  }
}

/** A wallet's tickets as they stood at a slot. */
export interface FoundTickets {
  readonly tickets: readonly TicketTarget[]
  readonly slot: bigint
}

/** Restricts derived addresses to one market; undefined: all known markets. A search always covers all markets. */
interface MarketNarrowing {
  readonly market: string | undefined
}

function checkCount(wallet: string, obligations: FoundObligations): FoundObligations {
  if (obligations.targets.length <= OBLIGATIONS_MAX) return obligations
  const message = `Cannot read the obligations of wallet ${wallet}: it has more than ${OBLIGATIONS_MAX}`
  throw new CodedError('INVALID_PARAMETER', message)
}

/** Finds wallets' obligations. */
export type Finder = ReturnType<typeof createFinder>
