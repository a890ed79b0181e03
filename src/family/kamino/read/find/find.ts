import type { SolanaAccounts } from '../../../../chain/solana/accounts.ts'
import type { SolanaSession } from '../../../../chain/solana/client.ts'
import { RefusedMethodError } from '../../../../chain/solana/error.ts'
import type { KaminoMarket } from '../../../../finance/price/table/kamino.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { CodedError } from '../../../../lib/error.ts'
import type { Known } from '../known.ts'
import { createDeriver } from './derive.ts'
import type { FoundObligations } from './found.ts'
import { createSearch } from './search.ts'

/** Obligations that a wallet may have. Only its owner opens them. */
const OBLIGATIONS_MAX = 500

/** What a finder is made with. */
interface FinderOptions {
  readonly program: string
  readonly rows: readonly KaminoMarket[]
  readonly known: Known
  readonly check: (answer: SolanaAccounts) => void
  readonly clock: Clock
}

/** Makes a finder of wallets' obligations: by a search if an endpoint offers it, else at addresses that can be derived. */
export function createFinder(options: FinderOptions) {
  const search = createSearch(options)
  const derive = createDeriver(options)

  /** Those of one wallet, found at a slot not before `minSlot`. A named market narrows what is derived. */
  async function find(
    session: SolanaSession,
    { wallet, market }: { readonly wallet: string; readonly market: string | undefined },
    minSlot: bigint,
  ): Promise<FoundObligations> {
    try {
      return checked(wallet, await search(session, wallet, minSlot))
    } catch (error) {
      if (!(error instanceof RefusedMethodError)) throw error
    }
    const [found] = await derive(session, [wallet], { breadth: 'whole', market, minSlot })
    return checked(wallet, found as FoundObligations)
  }

  return { find }
}

function checked(wallet: string, found: FoundObligations): FoundObligations {
  if (found.targets.length <= OBLIGATIONS_MAX) return found
  const message = `Cannot read the obligations of wallet ${wallet}: it has more than ${OBLIGATIONS_MAX}`
  throw new CodedError('INVALID_PARAMETER', message)
}

/** Finds wallets' obligations. */
export type Finder = ReturnType<typeof createFinder>
