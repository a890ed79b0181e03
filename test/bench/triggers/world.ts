import type { Address } from 'viem'
import type { Database } from '../../../src/db/database.ts'
import type { WatchSubject } from '../../../src/family/watch.ts'
import { formatRational, rational } from '../../../src/lib/number/rational.ts'
import { borrowCall, supplyCall } from '../../devnet/aave_v3/calls.ts'
import type { AaveDevnet } from '../../devnet/aave_v3/mod.ts'
import { rawUsd } from '../../devnet/aave_v3/scenario.ts'
import { toWalletAddress, UNISWAP_V3 } from '../../devnet/addresses.ts'
import type { Devnet } from '../../devnet/mod.ts'
import { inWideBlocks } from '../../devnet/wide_blocks.ts'

/*
 * What the triggers of the benchmark watch: wallets of Aave with the same debt and nearly the same collateral, so that
 * one price moves them all; positions of Uniswap; and wallets that have nothing.
 */

const WAD = 10n ** 18n
const COLLATERAL_USD = 1_000
const DEBT_USD = 400
const PAGE = 5_000

/** How many of each kind. */
export interface Sizes {
  readonly borrowers: number
  readonly positions: number
  /** Triggers of each borrower, and of each position. */
  readonly triggersEach: number
  /** Wallets with nothing, a trigger each. */
  readonly empty: number
}

/** A trigger as it is inserted. */
export interface WorldRequest {
  readonly family: string
  readonly subject: WatchSubject
  readonly clause: Readonly<Record<string, string | boolean>>
  /** Where it is armed again; null if it needs no level. */
  readonly clear: string | null
}

/** Wallets that borrow against ether, and the health factor of each, in 10^-18. */
export interface Borrowers {
  readonly wallets: readonly Address[]
  readonly healthFactors: readonly bigint[]
}

export async function makeBorrowers({ rpc, send }: Devnet, aave: AaveDevnet, count: number): Promise<Borrowers> {
  const wallets = Array.from({ length: count }, (_, index) => toWalletAddress(`bench trigger ${index}`))
  const market = 'main'
  const supplies = wallets.map((wallet, index) =>
    supplyCall({ market, wallet, asset: 'weth', amount: rawUsd('weth', COLLATERAL_USD + index / 10) }),
  )
  const borrows = wallets.map((wallet) =>
    borrowCall({ market, wallet, asset: 'usdc', amount: rawUsd('usdc', DEBT_USD) }),
  )
  // More than all of them borrow.
  const lent = supplyCall({
    market,
    wallet: toWalletAddress('bench trigger lender'),
    asset: 'usdc',
    amount: rawUsd('usdc', 2 * DEBT_USD * count),
  })
  await inWideBlocks(rpc, async () => {
    await send([lent, ...supplies])
    await send(borrows)
  })
  const data = await aave.getUserAccountDataMany(market, wallets)
  return { wallets, healthFactors: data.map(({ healthFactor }) => healthFactor) }
}

/**
 * Triggers that are far from firing. A fall of the price of ether by 30.5 percent fires nine of each borrower, if each has
 * 49 or more: their levels are 0.30, 0.31 and so on of its health factor.
 */
export function farTriggers(
  { wallets, healthFactors }: Borrowers,
  tokenIds: readonly bigint[],
  { triggersEach, empty }: Sizes,
): WorldRequest[] {
  const each = Array.from({ length: triggersEach }, (_, at) => BigInt(at))
  const lent = wallets.flatMap((wallet, index) =>
    each.map((at) => lending(wallet, formatLevel(healthFactors[index] ?? 0n, 300n + 10n * (at % 49n)))),
  )
  const held = tokenIds.flatMap((tokenId) =>
    each.map((at): WorldRequest => {
      const below = at % 2n === 0n
      const clause = below
        ? { figure: 'value_usd', below: `0.0${1n + at}` }
        : { figure: 'distance_to_edge_percentage', above: `${100_000n + at}` }
      const subject = { token_id: String(tokenId), manager_address: UNISWAP_V3.manager }
      return { family: 'uniswap-v3', subject, clause, clear: below ? '1' : '100' }
    }),
  )
  const none = Array.from({ length: empty }, (_, index) =>
    lending(toWalletAddress(`bench trigger of nobody ${index}`), '1.05'),
  )
  return [...lent, ...held, ...none]
}

/** One trigger of each borrower within a hundredth of its health factor: from 0.990 to 0.999 of it. */
export function nearTriggers({ wallets, healthFactors }: Borrowers): WorldRequest[] {
  return wallets.map((wallet, index) =>
    lending(wallet, formatLevel(healthFactors[index] ?? 0n, 990n + BigInt(index % 10))),
  )
}

function lending(wallet: Address, below: string): WorldRequest {
  const subject = { wallet, market_id: 'main' }
  return { family: 'aave-v3', subject, clause: { figure: 'health_factor', below }, clear: below }
}

/** So many thousandths of a health factor. */
function formatLevel(healthFactor: bigint, thousandths: bigint): string {
  return formatRational(rational(healthFactor * thousandths, WAD * 1_000n), { digits: 8 })
}

/** Inserts triggers as the route does, spread over webhooks. */
export async function insertTriggers(
  db: Database,
  wanted: readonly WorldRequest[],
  of: { readonly organizationId: string; readonly prefix: string; readonly webhooks: readonly string[] },
): Promise<void> {
  const { organizationId, prefix, webhooks } = of
  for (let from = 0; from < wanted.length; from += PAGE) {
    const page = wanted.slice(from, from + PAGE)
    await db.run(
      `with made as (
         insert into watch (organization_id, id, chain_id, family, subject, clause, clear, webhook_id, api_key_id)
         select $1, u.id, 1, u.family, u.subject::jsonb, u.clause::jsonb, nullif(u.clear, '')::numeric, u.webhook,
           (select id from api_key where organization_id = $1 limit 1)
         from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
           u (id, family, subject, clause, clear, webhook)
         returning organization_id, id
       )
       insert into watch_state (organization_id, id) select organization_id, id from made`,
      [
        organizationId,
        page.map((_, index) => `trg_${prefix}${String(from + index).padStart(6, '0')}`),
        page.map(({ family }) => family),
        page.map(({ subject }) => JSON.stringify(subject)),
        page.map(({ clause }) => JSON.stringify(clause)),
        page.map(({ clear }) => clear ?? ''),
        page.map((_, index) => webhooks[index % webhooks.length] ?? ''),
      ],
      { lane: 'background', deadlineMs: 60_000 },
    )
  }
}
