import type { SolanaAccount } from '../../../chain/solana/accounts.ts'
import { createSolanaTokens } from '../../../finance/token/solana_tokens.ts'
import type { Clock } from '../../../lib/clock.ts'
import { createLru } from '../../../lib/lru.ts'
import { memoize } from '../../../lib/memoize.ts'
import type { Whirlpool, WhirlpoolPosition } from '../math/state.ts'
import { arrayStart } from '../math/tick.ts'
import { deriveBundledPositionAddress, deriveTickArrayAddress } from './address.ts'
import type { TokenSubject } from './item.ts'
import { decodeBundle, decodePool, decodePosition } from './layout.ts'

/** What is remembered of each kind; beyond that the oldest are forgotten. */
const SUBJECTS_MAX = 200_000
const POSITIONS_MAX = 50_000
const POOLS_MAX = 10_000
const ADDRESSES_MAX = 100_000

/** Accounts of one slot, by address. */
export type Accounts = ReadonlyMap<string, SolanaAccount | null>

/** What never changes of a pool, and its rewards, of which there may be more later. */
type PoolFacts = Pick<Whirlpool, 'tickSpacing' | 'mintA' | 'mintB' | 'rewards'>

/** What was last seen of a position: its pool never changes, its range may while it is empty. */
type PositionFacts = Pick<WhirlpoolPosition, 'pool' | 'tickLower' | 'tickUpper' | 'liquidity'>

/** What earlier readings have shown, to ask for all that an answer needs at once. */
export type AccountCache = ReturnType<typeof createAccountCache>

/** Makes an empty memory of what these programs' accounts show. */
export function createAccountCache(programs: readonly string[], clock: Clock) {
  const subjects = createLru<TokenSubject | 'none'>({ entriesMax: SUBJECTS_MAX })
  const positions = createLru<PositionFacts>({ entriesMax: POSITIONS_MAX })
  const bundles = createLru<readonly number[]>({ entriesMax: POSITIONS_MAX })
  const pools = createLru<PoolFacts>({ entriesMax: POOLS_MAX })
  const addresses = createLru<string>({ entriesMax: ADDRESSES_MAX })

  function derived(key: string, derive: () => string): string {
    const before = addresses.get(key)
    if (before !== undefined) return before
    const address = derive()
    addresses.set(key, address)
    return address
  }

  return {
    /** What a token stands for; `none` if for no position, which it never will: opening one makes its token. */
    subjectOf: subjects.get,
    noteSubject: subjects.set,
    positionOf: positions.get,
    placesOf: bundles.get,
    poolOf: pools.get,
    tokens: createSolanaTokens(clock),
    /** Notes what accounts show. */
    learn(accounts: Accounts): void {
      for (const [address, account] of accounts) {
        if (account === null || !programs.includes(account.owner)) continue
        const { position, pool, bundle } = decodeAccount(account)
        if (position !== undefined) positions.set(address, position)
        if (pool !== undefined) pools.set(address, pool)
        if (bundle !== undefined) bundles.set(address, bundle.places)
      }
    },
    arrayOf: (program: string, pool: string, { tickSpacing, tick }: { tickSpacing: number; tick: number }) =>
      derived(`${pool}:${arrayStart(tick, tickSpacing)}`, () =>
        deriveTickArrayAddress(program, { pool, tickSpacing, tick }),
      ),
    bundledOf: (program: string, mint: string, place: number) =>
      derived(`${program}:${mint}:${place}`, () => deriveBundledPositionAddress(program, mint, place)),
  }
}

/** What an account of one of the programs is, read once. */
export const decodeAccount = memoize(({ data }: SolanaAccount) => ({
  position: decodePosition(data),
  pool: decodePool(data),
  bundle: decodeBundle(data),
}))
