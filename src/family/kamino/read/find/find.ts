import type { SolanaSession } from '../../../../chain/solana/client.ts'
import { MethodRefusedError } from '../../../../chain/solana/error.ts'
import { CodedError } from '../../../../lib/error.ts'
import { decodeBase58Address } from '../../../../lib/text/base58.ts'
import { decodeAccount } from '../accounts/account_cache.ts'
import { ACCOUNT_KINDS, OBLIGATION_OWNER_AT } from '../accounts/layout.ts'
import { createDeriver } from './derive.ts'
import type { FoundObligations } from './find_result.ts'

const { size, discriminator } = ACCOUNT_KINDS.obligation
/** Obligations that a wallet may have. Only its owner opens them. */
const OBLIGATIONS_MAX = 500

/** Makes a finder of wallets' obligations: by a search if an endpoint offers it, else at addresses that can be derived. */
export function createFinder(options: Parameters<typeof createDeriver>[0]) {
  const { program, known } = options
  const derive = createDeriver(options)

  /** All of one wallet, by a search of the program's accounts; undefined if no endpoint offers it. */
  async function search(
    session: SolanaSession,
    wallet: string,
    minSlot: bigint,
  ): Promise<FoundObligations | undefined> {
    const holds = [
      { at: 0, bytes: new Uint8Array(Buffer.from(discriminator, 'hex')) },
      { at: OBLIGATION_OWNER_AT, bytes: decodeBase58Address(wallet) },
    ]
    try {
      const { slot, accounts } = await session.programAccounts({ program, size, holds }, { minSlot })
      known.learn(new Map(accounts.map((account) => [account.address, account])))
      const targets = accounts.flatMap((account) => {
        const { obligation } = decodeAccount(account)
        return obligation === undefined ? [] : [{ address: account.address, market: obligation.market, wallet }]
      })
      return checked(wallet, { targets, oldest: slot, newest: slot, by: 'search' })
    } catch (error) {
      if (error instanceof MethodRefusedError) return undefined
      throw error
    }
  }

  return {
    search,
    /** Those of many wallets, in their order, of the most usual seeds alone. */
    derive: (
      session: SolanaSession,
      wallets: readonly string[],
      asked: MarketNarrowing & { readonly minSlot: bigint },
    ) => derive(session, wallets, { breadth: 'brief', ...asked }),
    /** Those of one wallet, by a search if there is one, at a slot not before `minSlot`. */
    async find(
      session: SolanaSession,
      { wallet, market }: MarketNarrowing & { readonly wallet: string },
      minSlot: bigint,
    ): Promise<FoundObligations> {
      const found = await search(session, wallet, minSlot)
      if (found !== undefined) return found
      const [derived] = await derive(session, [wallet], { breadth: 'whole', market, minSlot })
      return checked(wallet, derived as FoundObligations)
    },
  }
}

/** Where obligations are derived: in this market alone, or in all that are known. A search finds those of all. */
interface MarketNarrowing {
  readonly market: string | undefined
}

function checked(wallet: string, found: FoundObligations): FoundObligations {
  if (found.targets.length <= OBLIGATIONS_MAX) return found
  const message = `Cannot read the obligations of wallet ${wallet}: it has more than ${OBLIGATIONS_MAX}`
  throw new CodedError('INVALID_PARAMETER', message)
}

/** Finds wallets' obligations. */
export type Finder = ReturnType<typeof createFinder>
