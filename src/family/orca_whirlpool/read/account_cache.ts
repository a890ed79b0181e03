import type { SolanaAccount } from '../../../chain/solana/accounts.ts'
import { deriveProgramAddress } from '../../../chain/solana/program_address.ts'
import { createSolanaTokens } from '../../../finance/token/solana_tokens.ts'
import type { Clock } from '../../../lib/clock.ts'
import { createLru } from '../../../lib/lru.ts'
import { memoize } from '../../../lib/memoize.ts'
import { decodeBase58Address } from '../../../lib/text/base58.ts'
import type { Whirlpool, WhirlpoolPosition } from '../math/state.ts'
import { arrayStart } from '../math/tick.ts'
import type { TokenSubject } from './item.ts'
import { decodeBundle, decodePool, decodePosition } from './layout.ts'

/** Derives the address of the position of a token. */
export function derivePositionAddress(program: string, mint: string): string {
  return deriveProgramAddress(program, ['position', decodeBase58Address(mint)])
}

/** Derives the address of the bundle of a token. */
export function deriveBundleAddress(program: string, mint: string): string {
  return deriveProgramAddress(program, ['position_bundle', decodeBase58Address(mint)])
}

/** Derives the address of a position in a bundle, by the mint of the bundle's token. */
export function deriveBundledPositionAddress(program: string, mint: string, index: number): string {
  return deriveProgramAddress(program, ['bundled_position', decodeBase58Address(mint), String(index)])
}

/** Derives the address of the tick array of a pool that contains a tick. */
export function deriveTickArrayAddress(
  program: string,
  { pool, tickSpacing, tick }: { readonly pool: string; readonly tickSpacing: number; readonly tick: number },
): string {
  return deriveProgramAddress(program, ['tick_array', decodeBase58Address(pool), String(arrayStart(tick, tickSpacing))])
}

/** Cached entries of each kind; beyond the limit the oldest are evicted. */
const SUBJECTS_MAX = 200_000
const POSITIONS_MAX = 50_000
const POOLS_MAX = 10_000
const ADDRESSES_MAX = 100_000

/** Accounts of one slot, by address. */
export type Accounts = ReadonlyMap<string, SolanaAccount | null>

/** Fields of a pool that never change, and its rewards, which may become more. */
type PoolFacts = Pick<Whirlpool, 'tickSpacing' | 'mintA' | 'mintB' | 'rewards'>

/** Last read fields of a position: its pool never changes, its range only while it is empty. */
type PositionFacts = Pick<WhirlpoolPosition, 'pool' | 'tickLower' | 'tickUpper' | 'liquidity'>

/** Cache of what earlier reads showed, so that one request can ask for all accounts of an answer. */
export type AccountCache = ReturnType<typeof createAccountCache>

/** Creates an empty cache of these programs' accounts. */
export function createAccountCache(programs: readonly string[], clock: Clock) {
  const subjects = createLru<TokenSubject | 'none'>({ entriesMax: SUBJECTS_MAX })
  const positions = createLru<PositionFacts>({ entriesMax: POSITIONS_MAX })
  const bundles = createLru<readonly number[]>({ entriesMax: POSITIONS_MAX })
  const pools = createLru<PoolFacts>({ entriesMax: POOLS_MAX })
  const addresses = createLru<string>({ entriesMax: ADDRESSES_MAX })

  function deriveOnce(key: string, derive: () => string): string {
    const cached = addresses.get(key)
    if (cached !== undefined) return cached
    const address = derive()
    addresses.set(key, address)
    return address
  }

  return {
    /** Gets what a token stands for; `none` is permanent, because opening a position creates its token. */
    getSubject: subjects.get,
    noteSubject: subjects.set,
    getPosition: positions.get,
    getBundleIndexes: bundles.get,
    getPool: pools.get,
    tokens: createSolanaTokens(clock),
    /** Stores what accounts show. */
    learn(accounts: Accounts): void {
      for (const [address, account] of accounts) {
        if (account === null || !programs.includes(account.owner)) continue
        const { position, pool, bundle } = decodeAccount(account)
        if (position !== undefined) positions.set(address, position)
        if (pool !== undefined) pools.set(address, pool)
        if (bundle !== undefined) bundles.set(address, bundle.indexes)
      }
    },
    getTickArrayAddress: (
      program: string,
      pool: string,
      { tickSpacing, tick }: { tickSpacing: number; tick: number },
    ) =>
      deriveOnce(`${pool}:${arrayStart(tick, tickSpacing)}`, () =>
        deriveTickArrayAddress(program, { pool, tickSpacing, tick }),
      ),
    getBundledPositionAddress: (program: string, mint: string, index: number) =>
      deriveOnce(`${program}:${mint}:${index}`, () => deriveBundledPositionAddress(program, mint, index)),
  }
}

/** Decodes an account of one of the programs, once. */
export const decodeAccount = memoize(({ data }: SolanaAccount) => ({
  position: decodePosition(data),
  pool: decodePool(data),
  bundle: decodeBundle(data),
}))
